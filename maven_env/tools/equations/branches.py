"""Branches of solutions: a candidate with the period of its family, and the error where no exact method applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.algebra.kernels import Ratio, Ring
from maven_env.expressions.tree import Constant, Negative, Node, Sum
from maven_env.tools.equations.candidates import Candidate, by_powers

PI = Constant("pi")


@dataclass(frozen=True)
class Branch:
    """A candidate, and the period of the family that it stands for, if any."""

    candidate: Candidate
    period: Node | None = None


class Unsolved(ToolError):
    """The equation has a form that the exact methods do not cover; says nothing about its solutions."""

    def __init__(self, message: str, hint: str = "use find_all_roots or nsolve for numbers") -> None:
        super().__init__("UNSOLVED", message, hint)


def minus(a: Node, b: Node) -> Node:
    return Sum((a, Negative(b)))


def tidied(node: Node) -> Node:
    """Write a tree in the kernels' form, which multiplies numbers out and cancels; left alone where that fails."""
    try:
        ring = Ring()
        return ring.node(ring.ratio(node))
    except ToolError:
        return node


def linear_parts(node: Node, unknown: str) -> tuple[Ring, Any, Any, Any] | None:
    """Return (ring, a, b, c) with node = (a*unknown + b)/c and a, b, c without the unknown, None for other forms."""
    ring = Ring(unknown)
    ratio = ring.ratio(node)
    if ring.depends_polynomial(ratio.bottom) or ring.dependent() != [0]:
        return None
    parts = by_powers(ring, ratio.top, 0)
    return (ring, parts[1], parts[0], ratio.bottom) if len(parts) == 2 else None


def quotient_node(ring: Ring, top: Any, bottom: Any) -> Node:
    """Return the tree of a quotient of two polynomials."""
    return ring.node(ring.divide(Ratio(top, ring.one), Ratio(bottom, ring.one)))
