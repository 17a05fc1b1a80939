"""Whether the answers are right, and whether their numbers come from somewhere."""

from __future__ import annotations

from collections.abc import Mapping

from maven_env.errors import MavenError
from maven_env.references import follow, is_reference, parse_reference
from maven_env.scoring.equivalence import is_same
from maven_env.scoring.grounding import Support
from maven_env.scoring.literals import constants
from maven_env.types import Checkpoint, Json, Problem


def value_of(answer: Json, support: Support) -> Json:
    """Put the value for an answer that is a reference; None if the reference names nothing that is kept."""
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
        return is_same(truth.value, value, _WORD)
    point = problem.reference.canonical.checkpoints[truth.checkpoint]
    return is_same(truth.value, in_unit(value, point.unit), point)


_WORD = Checkpoint(step="", field="", form="choice", value=None)


def in_unit(value: Json, unit: str) -> Json:
    """Return the magnitude of a quantity `{"value", "unit"}` in `unit`; None if the dimensions differ."""
    if not (isinstance(value, Mapping) and set(value) == {"value", "unit"}):
        return value
    if value["unit"] == unit:
        return value["value"]
    from maven_env.tools.kinds import read_expr
    from maven_env.tools.units import unit_convert

    try:
        magnitude = read_expr(value["value"], lambda body: None)
        converted = unit_convert(magnitude, str(value["unit"]), unit)
    except MavenError:
        return None
    return converted.output["value"]


def unsupported(answers: Mapping[str, Json], known: frozenset[str], support: Support) -> int:
    """Count literal numeric answers that come from no grounded artifact; a small integer is no exception here."""
    count = 0
    for label, value in answers.items():
        if label in known and not is_reference(value):
            found = list(constants(value["value"] if isinstance(value, Mapping) and "value" in value else value))
            count += any(support.source(constant.value) is None for constant in found)
    return count
