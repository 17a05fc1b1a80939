"""A problem with its solution as text: for people who audit templates, never for agents."""

from __future__ import annotations

import json

from maven_env.artifacts import MemoryStore
from maven_env.problems import library
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Json, Problem, ToolCall


def draw_problem(problem: Problem) -> str:
    """Return statement, given, canonical trace with outputs, checks, answers, and the pitfalls of the template."""
    lines = [f"{problem.problem_id}  {problem.title}", f"{problem.key}", "", problem.statement, "", "Given"]
    for name, value in problem.given.output.items():
        meaning = problem.meanings.get(name, "")
        lines.append(
            f"  {name} = {value} {problem.given.units.get(name, '')}".rstrip() + (f"   {meaning}" if meaning else "")
        )
    lines += ["", "Canonical trace", *_trace(problem), "", "Checkpoints"]
    canonical = problem.reference.canonical
    for name, point in canonical.checkpoints.items():
        tolerance = f"rtol {point.rtol:g}" if point.rtol else f"atol {point.atol:g}" if point.atol else "exact"
        lines.append(f"  {name}: {_short(point.value)} {point.unit} ({point.form}, {tolerance})")
    lines += ["", "Checks"]
    for name, check in canonical.checks.items():
        settles = f", settles {', '.join(check.settles)}" if check.settles else ""
        lines.append(f"  {name}: {check.step} reads {check.reading}{settles}")
    lines += ["", "Answers"]
    lines += [f"  ({label}) {_short(answer.value)}" for label, answer in problem.reference.answers.items()]
    lines += ["", f"Paths: {', '.join(problem.reference.paths)}", "", "Pitfalls", *_pitfalls(problem)]
    return "\n".join(lines)


def _trace(problem: Problem) -> list[str]:
    store, toolbox, lines = MemoryStore(problem.problem_id), Toolbox(), []
    store.put(problem.given)
    for name, step in problem.reference.canonical.steps.items():
        artifact = toolbox.call(ToolCall(step.tool, step.input, step_id=name), store)
        store.put(artifact)
        lines.append(f"  {name}: {step.tool} {json.dumps(dict(step.input), ensure_ascii=False)}")
        outcome = artifact.output if artifact.error is None else artifact.error.to_json()
        lines.append(f"      -> {_short(json.dumps(dict(outcome), ensure_ascii=False), 400)}")
    return lines


def _pitfalls(problem: Problem) -> list[str]:
    lines = []
    for pitfall in library.template(problem.template_id).pitfalls:
        here = "" if problem.regime in pitfall.regimes else "  (not in this regime)"
        lines.append(
            f"  {pitfall.name} [{pitfall.kind}]{here}: breaks {', '.join(pitfall.breaks)}; remedy: {pitfall.remedy}"
        )
    return lines


def _short(value: Json, size: int = 160) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= size else text[: size - 3] + "..."
