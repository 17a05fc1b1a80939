"""An episode as text for a terminal: the problem, the steps with their verdicts, the score."""

from __future__ import annotations

import json

from maven_env.types import Artifact, Completion, Problem, Score, Step, ToolCall, Trace, Violation

WIDTH = 100


def draw_episode(problem: Problem, trace: Trace, score: Score) -> str:
    """Return the picture of an episode."""
    lines = [f"{problem.problem_id}  {problem.title}  ({problem.domain})", "-" * WIDTH, problem.statement, "-" * WIDTH]
    lines += [f"{number:3d}  {_line(step)}" for number, step in enumerate(trace.steps, start=1)]
    lines.append("-" * WIDTH)
    state = {None: "running", "completed": "completed", "budget": "out of steps"}[trace.ended]
    if score.total is None:
        lines.append(f"{state}; not judged")
    else:
        judged = {
            "tool use": (score.tool_use, 70),
            "correctness": (score.correctness, 20),
            "approach": (score.approach, 10),
        }
        parts = ", ".join(f"{name} {points:.1f}/{most}" for name, (points, most) in judged.items())
        lines.append(f"{state}; score {score.total:.1f}: {parts}{'; success' if score.success else ''}")
    return "\n".join(lines)


def _line(step: Step) -> str:
    match step.action:
        case Violation(kind, _, message):
            return _short(f"!  {kind}: {message}")
        case Completion(answers):
            return _short(f"=  PROBLEM_COMPLETED {json.dumps(dict(answers), ensure_ascii=False)}")
        case ToolCall(tool_id):
            return _short(f"{_mark(step.artifact)}  {tool_id}  {_outcome(step.artifact)}")


def _mark(artifact: Artifact | None) -> str:
    return "+" if artifact is not None and artifact.ok else "x"


def _outcome(artifact: Artifact | None) -> str:
    if artifact is None:
        return ""
    if artifact.error is not None:
        return f"{artifact.error.code}: {artifact.error.message}"
    verdict = artifact.output.get("verdict")
    shown = json.dumps(dict(artifact.output), ensure_ascii=False)
    return f"[{verdict}] {shown}" if verdict else f"{artifact.step_id} {shown}"


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
