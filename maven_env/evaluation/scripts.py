"""A declared path as the actions of an agent: calls with step ids and references, and the answers that follow."""

from __future__ import annotations

from collections.abc import Mapping

from maven_env.references import PATTERN
from maven_env.types import Answer, Completion, Json, Path, Problem, ToolCall


def calls_of(path: Path, prefix: str = "step-") -> list[ToolCall]:
    """Return the calls of a path; the steps' names become step-01, step-02, ... as an environment gives them."""
    ids = step_ids(path, prefix)
    return [ToolCall(step.tool, renamed(step.input, ids)) for step in path.steps.values()]


def step_ids(path: Path, prefix: str = "step-") -> dict[str, str]:
    return {name: f"{prefix}{number:02d}" for number, name in enumerate(path.steps, start=1)}


def renamed(value: Json, ids: Mapping[str, str]) -> Json:
    """Return a JSON value with other step ids in its references."""
    if isinstance(value, Mapping):
        return {key: renamed(item, ids) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, ids) for item in value]
    if not isinstance(value, str):
        return value

    def change(body: str) -> str:
        step, dot, rest = body.partition(".")
        return f"${{{ids.get(step, step)}{dot}{rest}}}"

    return PATTERN.sub(lambda match: change(match[1]), value)


def answers_by_reference(path: Path, answers: Mapping[str, Answer]) -> dict[str, Json]:
    """Return the answers of someone who took the path: references for values, words as they are."""
    ids = step_ids(path)
    result: dict[str, Json] = {}
    for label, answer in answers.items():
        if answer.is_word or answer.checkpoint is None:
            result[label] = answer.value
        else:
            point = path.checkpoints[answer.checkpoint]
            result[label] = f"${{{ids[point.step]}.{point.field}}}" if point.step in ids else answer.value
    return {label: value for label, value in result.items() if value is not None}


def script(problem: Problem, name: str = "canonical") -> list[ToolCall | Completion]:
    """Return all actions of a declared path, the end among them."""
    path = problem.reference.paths[name]
    return [*calls_of(path), Completion(answers_by_reference(path, problem.reference.answers))]


def literal_answers(problem: Problem) -> dict[str, Json]:
    """Return the right answers as literals."""
    return {label: answer.value for label, answer in problem.reference.answers.items()}
