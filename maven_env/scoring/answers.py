"""Whether the answers are right, and whether their numbers come from somewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping

from maven_env.errors import MavenError
from maven_env.references import follow, is_reference, parse_reference
from maven_env.scoring.equivalence import is_same
from maven_env.scoring.grounding import Support
from maven_env.scoring.literals import constants
from maven_env.types import Checkpoint, Json, Problem

_QUANTITY = re.compile(
    r"\s*(\$\{[^{}]+\}|\([^()]*\)|[-+]?[\d.][\w.+-]*(?:/\d+)?)\s+([A-Za-z%°µμΩ][\w/*^.·°µμΩ()-]*)\s*"
)


def value_of(answer: Json, support: Support) -> Json:
    """Put the value for an answer that is a reference; None if the reference names nothing that is kept.

    A quantity, `{"value", "unit"}` or text such as `2.3 s`, may have a reference for its value.
    """
    if isinstance(answer, str) and (match := _QUANTITY.fullmatch(answer)):
        answer = {"value": match[1], "unit": match[2]}
    if isinstance(answer, Mapping) and set(answer) == {"value", "unit"}:
        return {"value": value_of(answer["value"], support), "unit": answer["unit"]}
    if isinstance(answer, list):
        return [value_of(item, support) for item in answer]
    if not is_reference(answer):
        return answer
    try:
        reference = parse_reference(answer.strip()[2:-1])
        artifact = support.artifacts[reference.step_id]
        return follow(artifact, reference.path) if artifact.ok else None
    except (MavenError, KeyError):
        return None


def is_right(problem: Problem, label: str, answers: Mapping[str, Json], support: Support) -> bool:
    """Return whether the value of an answer is right, whatever was done for it."""
    if label not in answers:
        return False
    truth = problem.reference.answers[label]
    value = value_of(answers[label], support)
    if truth.checkpoint is None:
        return is_same(truth.value, _word(value, problem, label), _WORD)
    point = problem.reference.canonical.checkpoints[truth.checkpoint]
    return is_same(truth.value, in_unit(value, point.unit), point)


def _word(value: Json, problem: Problem, label: str) -> Json:
    """Return a word as it was meant: true and false stand for yes and no where these are asked for."""
    question = next(q for q in problem.sub_questions if q.label == label)
    if isinstance(value, bool) and {"yes", "no"} <= set(question.vocabulary):
        return "yes" if value else "no"
    return value


_WORD = Checkpoint(step="", field="", form="choice", value=None)


def in_unit(value: Json, unit: str) -> Json:
    """Return the magnitude of a quantity `{"value", "unit"}` in `unit`; None if the dimensions differ."""
    if not (isinstance(value, Mapping) and set(value) == {"value", "unit"}):
        return value
    if value["unit"] == unit:
        return value["value"]
    from maven_env.tools.kinds import read_expr
    from maven_env.tools.units.quantities import unit_convert

    try:
        magnitude = read_expr(value["value"], lambda body: None)
        converted = unit_convert(magnitude, str(value["unit"]), unit)
    except MavenError:
        return None
    return converted.output["value"]


def unsupported(problem: Problem, answers: Mapping[str, Json], support: Support) -> int:
    """Count literal numeric answers that come from no grounded artifact; a small integer is no exception here."""
    count, known = 0, problem.reference.answers
    for label, value in answers.items():
        if label not in known or is_reference(value):
            continue
        literal = value_of(value, support) if isinstance(value, str) and _QUANTITY.fullmatch(value) else value
        if isinstance(literal, Mapping) and set(literal) == {"value", "unit"}:
            checkpoint = problem.reference.answers[label].checkpoint
            unit = "" if checkpoint is None else problem.reference.canonical.checkpoints[checkpoint].unit
            converted = in_unit(literal, unit)
            shown = [literal["value"], converted] if not is_reference(value) else []
            count += not any(_is_shown(item, support) for item in shown)
        else:
            count += not _is_shown(literal, support)
    return count


def _is_shown(value: Json, support: Support) -> bool:
    return all(support.source(constant.value) is not None for constant in constants(value))
