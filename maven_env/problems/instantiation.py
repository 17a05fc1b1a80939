"""From template to problem: the statement, the given, and the reference made by running the declared paths."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from maven_env.artifacts import MemoryStore, given_artifact
from maven_env.errors import BadReference, TemplateError
from maven_env.expressions import to_text
from maven_env.problems.drawing import Draw, draw
from maven_env.problems.faults import Fault
from maven_env.problems.paths import exists_in, ordered, patched_rule, patched_steps
from maven_env.problems.template import Alternative as AlternativeRule
from maven_env.problems.template import Check as CheckRule
from maven_env.problems.template import Checkpoint as CheckpointRule
from maven_env.problems.template import Patch, Template, by_regime
from maven_env.references import follow, references_in
from maven_env.tools.toolbox import CallExecutor, Toolbox
from maven_env.types import (
    Accepted,
    Alternative,
    Answer,
    Artifact,
    Check,
    Checkpoint,
    Json,
    JsonObject,
    Path,
    PathStep,
    Problem,
    Reading,
    Reference,
    SubQuestion,
    ToolCall,
)

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?:/\d+)?")


def instantiate(
    template: Template, regime: str, seed: int | str, toolbox: CallExecutor | None = None, problem_id: str | None = None
) -> Problem:
    """Return the problem `id@version/regime/seed` with its reference.

    Raises TemplateError if the draw or a step of a declared path fails.
    """
    drawn = draw(template, regime, seed)
    return build(template, regime, drawn, toolbox or Toolbox(), problem_id or drawn.key)


def build(template: Template, regime: str, drawn: Draw, toolbox: CallExecutor, problem_id: str) -> Problem:
    """Return the problem of a draw: run every declared path that holds in `regime`.

    Raises TemplateError, with step and error, if a step fails, or if a checkpoint or a check finds nothing.
    """
    given = _given(template, drawn, problem_id)
    paths = {}
    for name, patch in {"canonical": Patch(), **template.paths}.items():
        if exists_in(patch.regimes, regime):
            run = run_patch(template, regime, given, patch, name, toolbox)
            for gap in run.gaps():
                raise TemplateError(f"template {template.id}: {drawn.key}: path {name}: {gap}")
            paths[name] = run.path
    statement = re.sub(r"\{(\w+)\}", lambda match: str(given.output[match[1]]), template.prompt).strip()
    answers = _answers(template, paths["canonical"])
    problem = Problem(
        problem_id=problem_id,
        key=drawn.key,
        title=template.title,
        domain=template.domain,
        regime=regime,
        statement=statement,
        sub_questions=tuple(_sub_question(template, label) for label in template.answers),
        given=given,
        meanings=_meanings(template),
        statement_numbers=tuple(_NUMBER.findall(re.sub(r"\{\w+\}", " ", template.prompt))),
        reference=Reference(paths, answers),
        digest="",
    )
    return _with_digest(problem)


class Run:
    """A patched path with the artifacts of its steps, failed ones too."""

    def __init__(self, path: Path, artifacts: Mapping[str, Artifact]) -> None:
        self.path = path
        self.artifacts = artifacts

    def gaps(self) -> Iterator[str]:
        """Yield what a declared path must not have: steps that failed, checkpoints and checks that find nothing."""
        for name, artifact in self.artifacts.items():
            if artifact.error is not None:
                error = artifact.error
                yield f"step {name!r} ({artifact.tool_id}) fails: {error.code}: {error.message}"
        for name, point in self.path.checkpoints.items():
            if point.value is None:
                yield f"checkpoint {name!r} finds nothing at {point.step}.{point.field}"
        for name, check in self.path.checks.items():
            if check.reading not in get_args(Reading):
                field = _value(self.artifacts, check.step, f"output.{check.field}")
                yield f"check {name!r} has no reading: {check.step}.output.{check.field} is {field!r}"


def run_patch(template: Template, regime: str, given: Artifact, patch: Patch, name: str, toolbox: CallExecutor) -> Run:
    """Apply a patch to the canonical steps and execute them in an order that the references allow.

    A checkpoint or reading that a failed step should have given is None. Raises TemplateError for a patch that makes no
    path.
    """
    try:
        steps = ordered(patched_steps(template, regime, patch))
    except Fault as fault:
        place = ".".join(map(str, fault.location))
        raise TemplateError(f"template {template.id}: {name}: {place}: {fault.reason}") from None
    store = MemoryStore(given.problem_id)
    store.put(given)
    artifacts: dict[str, Artifact] = {"given": given}
    path_steps: dict[str, PathStep] = {}
    for step_id, step in steps.items():
        artifact = toolbox.call(ToolCall(step.tool, step.input, step_id=step_id), store)
        store.put(artifact)
        artifacts[step_id] = artifact
        accept = tuple(Accepted(a.tool, a.field) for a in step.accept if exists_in(a.regimes, regime))
        path_steps[step_id] = PathStep(step.tool, step.input, artifact.resolved_input or {}, accept)
    checkpoints = {n: _checkpoint(r, patch.checkpoints.get(n, {}), artifacts) for n, r in template.checkpoints.items()}
    checks = {
        n: _check(patched_rule(r, patch.checks.get(n, {})), regime, artifacts, lambda call: toolbox.call(call, store))
        for n, r in template.checks.items()
        if exists_in(r.when, regime)
    }
    return Run(Path(name, path_steps, checkpoints, checks), artifacts)


def _value(artifacts: Mapping[str, Artifact], step: str, field: str) -> Json:
    artifact = artifacts.get(step)
    if artifact is None or not artifact.ok:
        return None
    try:
        return follow(artifact, field)
    except BadReference:
        return None


def _checkpoint(rule: CheckpointRule, change: dict[str, Any], artifacts: Mapping[str, Artifact]) -> Checkpoint:
    rule = patched_rule(rule, change)
    where = rule.target
    value = _value(artifacts, where.step_id, where.path)
    return Checkpoint(where.step_id, where.path, rule.form, value, rule.unit, rule.rtol, rule.atol)


def _check(
    rule: CheckRule, regime: str, artifacts: Mapping[str, Artifact], run: Callable[[ToolCall], Artifact]
) -> Check:
    value = _value(artifacts, rule.step, f"output.{rule.field}")
    reading: Any = rule.means.get(value) if rule.means and isinstance(value, str) else value
    accept = tuple(
        _alternative(a, run) for a in rule.accept if exists_in(a.regimes, regime) and _is_there(a, artifacts)
    )
    return Check(rule.step, reading, rule.field, rule.means, rule.settles, rule.then, accept)


def _is_there(rule: AlternativeRule, artifacts: Mapping[str, Artifact]) -> bool:
    """Return whether a path has what an alternative refers to; on some paths it has not."""
    return all(name in artifacts and artifacts[name].ok for name in references_in(rule.input))


def _alternative(rule: AlternativeRule, run: Callable[[ToolCall], Artifact]) -> Alternative:
    artifact = run(ToolCall(rule.tool, rule.input, step_id="alternative"))
    if artifact.error is not None or rule.field not in artifact.output:
        problem = artifact.error.message if artifact.error else f"it has no field {rule.field!r}"
        raise TemplateError(f"the alternative {rule.tool} of a check fails: {problem}")
    return Alternative(rule.tool, artifact.resolved_input or {}, rule.field, artifact.output[rule.field])


def expected_reading(template: Template, regime: str, check: str) -> str | None:
    """Return the reading that the template declares for a check in `regime`."""
    found: str | None = by_regime(template.checks[check].reads, regime)
    return found


def answers_on(template: Template, path: Path) -> dict[str, Answer]:
    """Return the answers that follow from a path, right or wrong: values of its checkpoints, words of its readings."""
    result: dict[str, Answer] = {}
    for label, rule in template.answers.items():
        by = rule.by or rule.unless
        check = by.check if by is not None and by.check in path.checks else None
        word = by.word(path.checks[check].reading) if by is not None and check is not None else None
        if word is not None or rule.checkpoint is None:
            result[label] = Answer(word, None, check, is_word=True)
        else:
            result[label] = Answer(path.checkpoints[rule.checkpoint].value, rule.checkpoint, check)
    return result


def _answers(template: Template, canonical: Path) -> dict[str, Answer]:
    answers = answers_on(template, canonical)
    silent = [label for label, answer in answers.items() if answer.value is None]
    if silent:
        raise TemplateError(f"template {template.id}: the canonical path gives no answer to {', '.join(silent)}")
    return answers


def _sub_question(template: Template, label: str) -> SubQuestion:
    rule = template.answers[label]
    if rule.by is not None or rule.checkpoint is None:
        return SubQuestion(label, "choice", "", rule.choice)
    point = template.checkpoints[rule.checkpoint]
    words = rule.unless.words if rule.unless else rule.choice
    return SubQuestion(label, point.form, point.unit, words, point.rtol, point.atol)


def _given(template: Template, drawn: Draw, problem_id: str) -> Artifact:
    names = template.public_names()
    units = {n: p.unit for n, p in template.parameters.items()} | {n: d.unit for n, d in template.derived.items()}
    return given_artifact(problem_id, {n: to_text(drawn.values[n]) for n in names}, {n: units[n] for n in names})


def _meanings(template: Template) -> dict[str, str]:
    """Return what each public quantity is; the agent is not told which are distractors."""
    meanings = {n: p.meaning for n, p in template.parameters.items()}
    meanings |= {n: d.meaning for n, d in template.derived.items()}
    return {name: meanings[name] for name in template.public_names() if meanings[name]}


def _with_digest(problem: Problem) -> Problem:
    from dataclasses import replace

    return replace(problem, digest=digest_of(problem))


def digest_of(problem: Problem) -> str:
    """Return the SHA-256 of everything that is exact in a problem; doubles differ between processors and stay out."""
    reference = problem.reference
    content = {
        "key": problem.key,
        "statement": problem.statement,
        "sub_questions": [[q.label, q.form, q.unit, list(q.vocabulary)] for q in problem.sub_questions],
        "given": [dict(problem.given.output), dict(problem.given.units)],
        "paths": {name: _digest_path(path) for name, path in reference.paths.items()},
        "answers": {label: _exact_only(answer.value) for label, answer in reference.answers.items()},
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _digest_path(path: Path) -> JsonObject:
    return {
        "steps": {n: [s.tool, dict(s.input), [[a.tool, a.field] for a in s.accept]] for n, s in path.steps.items()},
        "checkpoints": {
            n: [c.step, c.field, c.form, _exact_only(c.value), c.unit, c.rtol, c.atol]
            for n, c in path.checkpoints.items()
        },
        "checks": {n: [c.step, c.reading, c.field, list(c.settles), c.then] for n, c in path.checks.items()},
    }


def _exact_only(value: Json) -> Json:
    if isinstance(value, float):
        return "double"
    if isinstance(value, list | tuple):
        return [_exact_only(item) for item in value]
    return value
