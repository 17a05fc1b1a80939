"""Terms of a series as waves exp(i*phase*n)*g(n), and their sizes far out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, Symbol, number_node
from maven_env.expressions.balls import ball, precision
from maven_env.tools.transforms.modes import Mode, added, times


@dataclass(frozen=True)
class Wave:
    """exp(i*phase*n) * g(n), the decay being part of g; phase as a ball in (-pi, pi], or None for 0."""

    g: Node
    phase: Any


def waves_of(found: list[Mode], index: str) -> list[Wave]:
    """Merge modes of equal phase."""
    from flint import arb

    groups: list[tuple[Any, list[Node]]] = []
    with precision(512):
        for mode in found:
            angle = ball(mode.phase, {}).real
            turns = (angle / (2 * arb.pi()) + arb(0.5)).floor()
            if not turns.is_exact():
                turns = (angle / (2 * arb.pi()) + arb(0.25)).floor()  # the phase is an odd multiple of pi
            angle = angle - 2 * arb.pi() * turns
            growth: Node = Call("exp", (times(mode.decay, Symbol(index)),))
            g = mode.factor if mode.decay == number_node(0) else times(growth, mode.factor)
            for known, members in groups:
                if abs(known - angle) < arb(2) ** -300 or abs(abs(known - angle) - 2 * arb.pi()) < arb(2) ** -300:
                    members.append(g)
                    break
            else:
                groups.append((angle, [g]))
        return [Wave(added(members), None if abs(a) < arb(2) ** -300 else a) for a, members in groups]


def size_at(node: Node, index: str, at: int) -> Any:
    """Return |node| at a far index as a ball of 60 bits or more, or None."""
    from flint import acb

    for work in (256, 1_024, 4_096):
        with precision(work):
            try:
                value = ball(node, {index: acb(at)})
            except (ToolError, ValueError, ZeroDivisionError, OverflowError):
                continue
            if value.is_finite() and (value.rel_accuracy_bits() > 40 or value == 0):
                return abs(value)
    return None
