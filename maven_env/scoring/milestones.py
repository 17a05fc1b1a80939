"""Which milestones of a path an artifact realizes: checkpoints it delivers, required checks it executes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from maven_env.errors import BadReference
from maven_env.references import follow
from maven_env.scoring.equivalence import is_same
from maven_env.scoring.targets import settles
from maven_env.tools.registry import registry
from maven_env.types import Artifact, Check, Json, Path

WORDS = ("choice", "integer", "boolean")  # forms that can be guessed: they count only where the step delivered them
_SPREAD = 50  # elements of a list output that are looked at


def delivers(artifact: Artifact, path: Path, name: str) -> bool:
    """Return whether an artifact delivers a checkpoint: own or accepted tool, and the right value in its field."""
    point = path.checkpoints[name]
    step = path.steps.get(point.step)
    if step is None:
        return False
    own = point.field.removeprefix("output.").split("[")[0].split(".")[0]
    fields = [own] if artifact.tool_id == step.tool else []
    fields += [a.field for a in step.accept if a.tool == artifact.tool_id]
    places = [point.field.replace(own, field, 1) for field in fields]
    if point.form == "number" and evaluates(step.tool) and evaluates(artifact.tool_id):
        places += [f"output.{field}" for field in artifact.output]  # one evaluation is as good as another
    for place in places:
        try:
            value = follow(artifact, place)
        except BadReference:
            continue
        if is_same(point.value, value, point):
            return True
    return False


def executes(artifact: Artifact, path: Path, check: Check) -> bool:
    """Return whether an artifact is a required check with its right reading."""
    step = path.steps.get(check.step)
    return step is not None and settles(step.tool, step.resolved_input, artifact, check)


def holds(artifact: Artifact, path: Path, name: str) -> bool:
    """Return whether the value of a checkpoint stands anywhere in the output of an artifact."""
    point = path.checkpoints[name]
    return any(is_same(point.value, value, point) for value in _values(artifact))


def _values(artifact: Artifact) -> Iterator[Json]:
    for value in artifact.output.values():
        yield value
        if isinstance(value, list):
            yield from value[:_SPREAD]


def evaluates(tool_id: str) -> bool:
    """Return whether a tool only computes the value of an expression."""
    spec = registry().get(tool_id)
    return spec is not None and spec.evaluates


@lru_cache(maxsize=1_024)
def state_tools() -> frozenset[str]:
    """Return the tools that only look at the state; their calls cost nothing unless a path needs them."""
    return frozenset(spec.tool_id for spec in registry().values() if spec.kind == "state")
