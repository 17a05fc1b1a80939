"""Values of definite integrals to many digits, with proof or strong evidence that they converge.

The range is cut at the places where the integrand is not bounded. Between them python-flint integrates with rigorous
error bounds; towards each of them, or towards infinity, shells of half the width each are added, and the small rest is
taken by the tanh-sinh rule, whose terms must die away. How fast the integrand grows there decides on divergence first.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    replace,
    to_text,
)
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import ONE, ZERO
from maven_env.tools.calculus.corners import smooth_parts
from maven_env.tools.calculus.improper_ends import Diverges, Oscillates, Unsettled, classify, near, rest
from maven_env.tools.calculus.unbounded_places import (
    Place,
    critical_functions,
    end_place,
    singular_places,
)

__all__ = ["Diverges", "Oscillates", "Unsettled", "Value", "definite_value", "infinity"]

_SHELLS = 24  # halvings towards an improper end before the last rule
_EVALUATIONS = 40_000
_PROBES = 17


@dataclass(frozen=True)
class Value:
    """The value within a ball. `rigorous` if no rule without a proof was used. `places` are the singular points."""

    ball: Any  # acb
    rigorous: bool
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Piece:
    """An integral over a finite range; `is_open` marks a low end that stands for infinity."""

    node: Node
    low: Place
    high: Place
    is_open: bool = False


def definite_value(node: Node, wrt: str, low: Node, high: Node, bits: int = 80) -> Value:
    """Return the integral of `node` over a real range, limits possibly infinite, to about `bits`.

    Raises Diverges, or Unsettled (Oscillates) where no certain answer is found.
    """
    try:
        compile_analytic(node, wrt)
    except ToolError as error:
        raise Unsettled(error.message) from error
    sign, a, b = _ordered(low, high)
    if sign == 0:
        from flint import acb

        return Value(acb(0), True)
    total: Any = None
    rigorous, names = True, []
    for piece in _finite_pieces(node, wrt, a, b):
        for part in _without_corners(piece, wrt):
            value, certain, found = _over(part, wrt, bits)
            with precision(bits + 32):
                total = value if total is None else total + value
            rigorous = rigorous and certain
            names += found
    with precision(bits + 32):
        return Value(total if sign > 0 else -total, rigorous, tuple(dict.fromkeys(names)))


def infinity(node: Node) -> int:
    """Return 1 for oo, -1 for -oo, 0 for anything else."""
    match node:
        case Constant("oo"):
            return 1
        case Negative(Constant("oo")):
            return -1
        case _:
            return 0


def _ordered(low: Node, high: Node) -> tuple[int, Node, Node]:
    """Return the limits in ascending order and the sign that this brings; 0 for equal limits."""
    if infinity(low) or infinity(high):
        if infinity(low) == infinity(high):
            raise Unsettled("both limits are the same infinity")
        return (1, low, high) if infinity(low) < 0 or infinity(high) > 0 else (-1, high, low)
    with precision(512):
        try:
            gap = ball(high, {}) - ball(low, {})
        except (ToolError, ValueError, ZeroDivisionError) as error:
            raise Unsettled("a limit has no value") from error
        if not gap.imag.contains(0):
            raise Unsettled("the limits are not real")
        if gap.real > 0:
            return 1, low, high
        if gap.real < 0:
            return -1, high, low
    if low == high or gap == 0:
        return 0, low, high
    raise Unsettled("the limits cannot be told apart")


def _finite_pieces(node: Node, wrt: str, a: Node, b: Node) -> list[_Piece]:
    """Map infinite ranges to finite ones: x = c - 1 + 1/u beyond c."""
    x = Symbol(wrt)
    if not infinity(a) and not infinity(b):
        return [_Piece(node, end_place(a, -1), end_place(b, 1))]
    mirrored = replace(node, {wrt: Negative(x)})
    if infinity(a) and infinity(b):
        return [*_finite_pieces(node, wrt, ZERO, b), *_finite_pieces(mirrored, wrt, ZERO, b)]
    if infinity(a):
        return _finite_pieces(mirrored, wrt, Negative(b), Constant("oo"))
    moved = replace(node, {wrt: Sum((a, Quotient(ONE, x), Negative(ONE)))})
    low = Place("infinity", ZERO, -1)
    return [_Piece(Product((moved, Power(x, Negative(Number(Fraction(2)))))), low, Place(to_text(a), ONE, 1), True)]


def _without_corners(piece: _Piece, wrt: str) -> list[_Piece]:
    if piece.is_open:
        return [piece]
    return [_Piece(node, low, high) for node, low, high in smooth_parts(piece.node, wrt, piece.low, piece.high)]


def _over(piece: _Piece, wrt: str, bits: int) -> tuple[Any, bool, list[str]]:
    places = singular_places(piece.node, wrt, piece.low, piece.high, piece.is_open)
    if places is None:
        raise Unsettled("the places where the integrand is unbounded could not be located")
    if piece.is_open:
        places = [place if place.end else dataclasses.replace(place, name="a point of the range") for place in places]
    for place in places:
        for side in (1, -1):
            if side != place.end:
                classify(piece.node, wrt, place, side)
    if piece.is_open:
        _check_far(piece.node, wrt)
    cuts = [piece.low, *(place for place in places if place.end == 0), piece.high]
    improper = {id(place) for place in places}
    total, rigorous = None, True
    for left, right in pairwise(cuts):
        with precision(bits + 40):
            value, certain = _Between(piece, wrt, bits).value(left, right, id(left) in improper, id(right) in improper)
            total = value if total is None else total + value
        rigorous = rigorous and certain
    names = [place.name for place in places if not (piece.is_open and place.end == -1)]
    return total, rigorous, names


def _check_far(node: Node, wrt: str) -> None:
    """Refuse where a function that may cause singular points changes its sign far out, where no cells are enclosed."""
    from flint import acb, arb

    for function in critical_functions(node, wrt):
        signs = set()
        with precision(4_096):
            for depth in range(4, 40):
                try:
                    value = ball(function, {wrt: acb(arb(2) ** -depth)})
                except (ToolError, ValueError, ZeroDivisionError, OverflowError):
                    continue
                if value.imag == 0:
                    signs.add(1 if value.real > 0 else -1 if value.real < 0 else 0)
        if len(signs - {0}) > 1:
            raise Unsettled("a denominator, root or logarithm changes its sign far out")


class _Between:
    """The integral between two neighbouring places; works at the precision in force."""

    def __init__(self, piece: _Piece, wrt: str, bits: int) -> None:
        self.piece, self.wrt, self.bits = piece, wrt, bits
        self.left = _EVALUATIONS  # evaluations that may still be made
        self.extension = compile_analytic(piece.node, wrt)

    def value(self, start: Place, end: Place, start_improper: bool, end_improper: bool) -> tuple[Any, bool]:
        a, b = start.at(self.bits + 40).real, end.at(self.bits + 40).real
        width = b - a
        middle = (a + b) / 2 if start_improper and end_improper else a if end_improper else b
        self.scale = self._size(a, b)
        total: Any = None
        if not start_improper and not end_improper:
            return self._smooth(a, b), True
        for place, side, improper in ((start, 1, start_improper), (end, -1, end_improper)):
            if not improper:
                continue
            origin = a if side > 0 else b
            near_to = abs(middle - origin)
            part = self._towards(place, side, origin, near_to if near_to > 0 else width)
            total = part if total is None else total + part
        return total, False

    def _towards(self, place: Place, side: int, origin: Any, width: Any) -> Any:
        """Add shells of half the width each towards an improper end, then the rest."""
        from flint import arb

        total: Any = None
        for k in range(_SHELLS):
            outer, inner = width * arb(2) ** -k, width * arb(2) ** -(k + 1)
            value = (
                self._smooth(origin + inner, origin + outer)
                if side > 0
                else self._smooth(origin - outer, origin - inner)
            )
            total = value if total is None else total + value
            self.scale = arb.max(self.scale, abs(value).mid())
            if self.piece.is_open and k > 3 and self._has_died(place, side, inner):
                return total
        return total + rest(self.piece.node, self.wrt, place, side, inner, self.bits, self.scale)

    def _has_died(self, place: Place, side: int, width: Any) -> bool:
        """Return whether all that lies beyond is negligible: samples at ever larger scales fall steadily."""
        from flint import arb

        floor = self.scale * arb(2) ** -(self.bits + 16)
        before = floor
        for k in range(12):
            for share in (1.0, 0.83, 0.61):
                s = (width * share * arb(2) ** -k).mid()
                try:
                    value = near(self.piece.node, self.wrt, place, side, s, 256, 8)
                except Unsettled:
                    return False
                size = abs(value).upper() * s
                if not size <= before:
                    return False
            before = size
        return True

    def _size(self, a: Any, b: Any) -> Any:
        """Return a rough size of the integral of the absolute value."""
        from flint import acb, arb

        total = arb(0)
        for k in range(_PROBES):
            x = a + (b - a) * (k + arb(0.37)) / _PROBES
            value = self.extension(acb(x.mid()), False)
            if value.is_finite():
                total += abs(value).mid()
        return total * (b - a) / _PROBES

    def _smooth(self, a: Any, b: Any) -> Any:
        """Integrate rigorously where the integrand is bounded."""
        from flint import acb, arb

        def integrand(z: Any, analytic: bool) -> Any:
            self.left -= 1
            return acb("nan") if self.left < 0 else self.extension(z, analytic)

        goal = arb(2) ** -self.bits
        allowed = goal * self.scale if self.scale > 0 else arb(2) ** (-4 * self.bits)
        value = acb.integral(
            integrand, acb(a), acb(b), rel_tol=goal, abs_tol=allowed.mid(), eval_limit=_EVALUATIONS,
            depth_limit=2 * self.bits + 64,
        )  # fmt: skip
        if self.left < 0:
            raise Unsettled("the integral needs too many evaluations")
        if not value.is_finite():
            raise Unsettled("the integrand could not be bounded on a part of the range")
        if value.rel_accuracy_bits() < self.bits // 2 and not _radius(value) < arb(2) ** -(self.bits // 2) * self.scale:
            raise Unsettled("the accuracy aimed at was not reached")
        return value


def _radius(value: Any) -> Any:
    from flint import arb

    return arb.max(value.real.rad(), value.imag.rad())
