"""The steps of a path: those of a regime, a patch applied to them, in an order that the references allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from maven_env.problems.faults import Fault, fault_of
from maven_env.problems.template import Patch, Step, Template
from maven_env.references import references_in

Rule = TypeVar("Rule", bound=BaseModel)


def exists_in(when: tuple[str, ...] | None, regime: str) -> bool:
    """Return whether something with this `when` or `in` is there in `regime`; None means every regime."""
    return when is None or regime in when


def patched_steps(template: Template, regime: str, patch: Patch) -> dict[str, Step]:
    """Return the steps of `regime` with `patch` applied; a change of a step of other regimes says nothing.

    Raises Fault.
    """
    steps = {name: step for name, step in template.steps.items() if exists_in(step.when, regime)}
    for name, change in patch.steps.items():
        if name in template.steps and name not in steps:
            continue
        if change is None:
            steps.pop(name, None)
            continue
        try:
            steps[name] = patched_step(steps.get(name), change)
        except Fault as fault:
            raise fault.under("steps", name) from None
    return steps


def patched_step(old: Step | None, change: Mapping[str, Any]) -> Step:
    """Return a step with `change`: a change that names a tool replaces input and accept. Raises Fault."""
    merged: dict[str, Any] = {} if old is None else old.model_dump(by_alias=True)
    if "tool" in change:
        merged.pop("accept", None)
        merged.pop("input", None)
    elif old is None:
        raise Fault("a new step needs a tool and an input")
    changed = dict(change)
    if "tool" not in change and isinstance(changed.get("input"), dict):
        changed["input"] = merged["input"] | changed["input"]
    try:
        return Step.model_validate(merged | changed)
    except ValidationError as error:
        raise fault_of(error) from None


def patched_rule(rule: Rule, change: Mapping[str, Any]) -> Rule:
    """Return a checkpoint or check with single keys replaced. Raises Fault."""
    try:
        return type(rule).model_validate(rule.model_dump() | dict(change))
    except ValidationError as error:
        raise fault_of(error) from None


def ordered(steps: Mapping[str, Step]) -> dict[str, Step]:
    """Sort so that every reference points backwards; ties keep the order of the file.

    Raises Fault for a reference to a step that is not there, and for a circle.
    """
    needs = {name: [r for r in references_in(step.input) if r != "given"] for name, step in steps.items()}
    result: dict[str, Step] = {}
    waiting = dict(steps)
    while waiting:
        ready = next((name for name in waiting if set(needs[name]) <= set(result)), None)
        if ready is None:
            raise _disorder(waiting, needs)
        result[ready] = waiting.pop(ready)
    return result


def _disorder(waiting: Mapping[str, Step], needs: Mapping[str, list[str]]) -> Fault:
    for name in waiting:
        if missing := [r for r in needs[name] if r not in needs]:
            return Fault(f"refers to {missing[0]!r}, which is not there", "steps", name)
    circle = [next(iter(waiting))]
    while len(set(circle)) == len(circle):
        circle.append(next(r for r in needs[circle[-1]] if r in waiting))
    circle = circle[circle.index(circle[-1]) :]
    return Fault(f"the steps refer to each other in a circle: {' -> '.join(circle)}", "steps", circle[0])
