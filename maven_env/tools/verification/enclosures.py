"""The signs of a function over an interval, certified by enclosing its range on ever smaller pieces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, rational_value, replace, walk
from maven_env.expressions.algebra.flint_rationals import as_fmpq
from maven_env.expressions.balls import MAX_BITS, Undecided, ball, is_real, precision
from maven_env.expressions.equality import equal
from maven_env.expressions.equality.agreement import ELEMENTARY
from maven_env.expressions.tree import ZERO
from maven_env.tools.verification.evidence import double, enclosed
from maven_env.tools.verification.polynomial_values import rational_function_of
from maven_env.tools.verification.rational_signs import SignPicture, signs_of_rational

_PIECES = 1_500  # of an interval
_WORK = 60_000  # operations over all pieces; special functions count as 400
_WIDTH_BITS = 24  # the smallest piece is 2^-24 of the interval
_BITS = 128
_FINE = 256


def exact_sign(node: Node) -> tuple[int | None, str]:
    """Return the sign of a closed real value, or None if it cannot be decided, and how it was found.

    Raises DOMAIN_ERROR if the value is undefined or not real.
    """
    exact = rational_value(node)
    if exact is not None:
        return (exact > 0) - (exact < 0), "exact rational arithmetic"
    failure: ToolError | None = None
    tried_zero = False
    bits = _BITS
    while bits <= MAX_BITS:
        try:
            found = enclosed(node, bits)
        except Undecided as error:
            failure, bits = error, bits * 4
            continue
        failure = None
        if not found.imag.contains(0):
            raise ToolError("DOMAIN_ERROR", "the value is not real, so it has no sign", "check re(...) or Abs(...)")
        if found.real > 0 or found.real < 0:
            if not found.imag == 0 and equal(_imaginary(node), ZERO) != "equal":
                raise ToolError("DOMAIN_ERROR", "the value cannot be shown to be real", "check re(...)")
            return (1 if found.real > 0 else -1), f"enclosed at {bits} bits"
        if not tried_zero and equal(node, ZERO) == "equal":
            return 0, "zero exactly"
        tried_zero = True
        bits *= 4
    if failure is not None:
        raise failure
    return None, f"the value cannot be told from zero at {MAX_BITS} bits"


def _imaginary(node: Node) -> Node:
    return Call("im", (node,))


# ---- intervals -------------------------------------------------------------------------------------------------------
def picture(node: Node, wrt: str, low: Node | None, high: Node | None) -> SignPicture:
    """Return the signs of `node` for low <= wrt <= high; None is an infinite end, which rational functions allow."""
    ends = [None if end is None else rational_value(end) for end in (low, high)]
    is_rational = all(end is None or value is not None for end, value in zip((low, high), ends, strict=True))
    function = rational_function_of(node, wrt) if is_rational else None
    if function is not None and function[1] != 0:
        return signs_of_rational(function, ends[0], ends[1])
    if low is None or high is None:
        return SignPicture(
            frozenset(), False, None, None, (), (), "an infinite interval is certified for rational functions only"
        )
    return _Subdivision(node, wrt, low, high).picture()


class _Subdivision:
    """Encloses the range on ever smaller pieces: directly, by the mean value, or by monotony and the ends."""

    def __init__(self, node: Node, wrt: str, low: Node, high: Node) -> None:
        self.node = node
        self.wrt = wrt
        with precision(_FINE):
            ends = [enclosed(end, _FINE).real for end in (low, high)]
        self.ends: tuple[Any, Any] = (ends[0], ends[1])
        self.nodes = {0: low, 1: high}
        self.signs: set[int] = set()
        self.values: list[tuple[float, float]] = []  # (x, value)
        self.undecided: list[tuple[Fraction, Fraction]] = []
        self.complete = True
        self.pieces = max(40, min(_PIECES, _WORK // _operations(node)))
        self._known: dict[Fraction, int | None] = {}

    def picture(self) -> SignPicture:
        stack = [(Fraction(0), Fraction(1))]
        pieces = 0
        decided: list[tuple[Fraction, int | None]] = []
        for share in (Fraction(k, 16) for k in range(17)):
            decided.append((share, self._at(share)))
        while stack:
            a, b = stack.pop()
            pieces += 1
            if self._settle(a, b):
                continue
            middle = (a + b) / 2
            sign = self._at(middle)
            decided.append((middle, sign))
            if b - a <= Fraction(1, 1 << _WIDTH_BITS) or pieces > self.pieces:
                self.complete = False
                self.undecided.append((a, b))
                if len(self.undecided) > 64:
                    break
                continue
            stack += [(middle, b), (a, middle)]
        return self._summary(decided)

    def _summary(self, decided: list[tuple[Fraction, int | None]]) -> SignPicture:
        known = sorted({share: sign for share, sign in decided if sign}.items())
        open_parts = _joined(self.undecided)
        turns = [(p, q) for (p, s), (q, t) in pairwise(known) if s != t]
        changes = [self._change(p, q) for p, q in turns if not any(a < q and p < b for a, b in open_parts)]
        values = [value for _, value in self.values]
        low, high = (min(values), max(values)) if values else (None, None)
        low, high = self._extreme(low, high)
        spans = tuple((self._double(a), self._double(b)) for a, b in open_parts[:8])
        evidence = "the range is enclosed by balls on pieces of the interval"
        if not self.complete:
            evidence += "; on some pieces the sign stays open"
        if 0 not in self.signs and {1, -1} <= self.signs and self.complete:
            self.signs.add(0)
        found = tuple(sorted(x for x in changes if x is not None))
        return SignPicture(frozenset(self.signs), self.complete, low, high, found, spans, evidence)

    # ---- pieces ---------------------------------------------------------------------------------------------------
    def _x(self, share: Fraction) -> Any:
        from flint import arb

        a, b = self.ends
        return a + (b - a) * arb(as_fmpq(share))

    def _double(self, share: Fraction) -> float:
        with precision(_FINE):
            return double(self._x(share))

    def _at(self, share: Fraction) -> int | None:
        """Return the certain sign at one point, and note the value."""
        if share in self._known:
            return self._known[share]
        sign: int | None = None
        end = self.nodes.get(int(share)) if share in (0, 1) else None
        if end is not None:
            try:
                sign, _ = exact_sign(replace(self.node, {self.wrt: end}))
            except Undecided:
                sign = None
        for bits in (_FINE, 4 * _FINE):
            with precision(bits):
                value = _enclosed(lambda: ball(self.node, {self.wrt: _acb(self._x(share))}))
                if value is None:
                    continue
                if not value.imag.contains(0):
                    raise ToolError(
                        "DOMAIN_ERROR", f"the value is not real at {self.wrt} = {double(self._x(share)):.6g}"
                    )
                self.values.append((double(self._x(share)), double(value.real)))
                sign = sign if sign is not None else 1 if value.real > 0 else -1 if value.real < 0 else None
                if sign is not None:
                    break
        if sign is not None:
            self.signs.add(sign)
        self._known[share] = sign
        return sign

    def _settle(self, a: Fraction, b: Fraction) -> bool:
        """Return whether the sign is certain on the whole piece."""
        with precision(_BITS):
            left, right = self._x(a), self._x(b)
            piece = left.union(right)
            value = _enclosed(lambda: ball(self.node, {self.wrt: _acb(piece)}))
            if value is not None and is_real(value) and not value.real.contains(0):
                self.signs.add(1 if value.real > 0 else -1)
                return True
            slope = _enclosed(lambda: _slope(self.node, self.wrt, piece))
            if slope is None or not is_real(slope):
                return False
            middle = self._x((a + b) / 2)
            centre = _enclosed(lambda: ball(self.node, {self.wrt: _acb(middle)}))
            if centre is not None:
                value = centre.real + slope.real * (piece - middle)
                if not value.contains(0):
                    self.signs.add(1 if value > 0 else -1)
                    return True
            if slope.real.contains(0):
                return False
        signs = (self._at(a), self._at(b))
        return None not in signs  # monotone: nothing else occurs between two known signs

    def _change(self, p: Fraction, q: Fraction) -> float | None:
        """Return a place between two shares of opposite sign, by bisection of certain signs."""
        start = self._known.get(p)
        for _ in range(70):
            middle = (p + q) / 2
            sign = self._at(middle)
            if not sign:
                return self._double(middle)
            p, q = (middle, q) if sign == start else (p, middle)
        return self._double((p + q) / 2)

    def _extreme(self, low: float | None, high: float | None) -> tuple[float | None, float | None]:
        """Refine the extreme values met by golden sections around their places."""
        if low is None or high is None:
            return low, high
        points = sorted(set(self.values))
        for pick, sense in ((low, 1), (high, -1)):
            i = next(k for k, (_, value) in enumerate(points) if value == pick)
            around = [points[max(i - 1, 0)][0], points[min(i + 1, len(points) - 1)][0]]
            found = self._golden(around[0], around[1], sense)
            if found is not None:
                low, high = (min(low, found), high) if sense > 0 else (low, max(high, found))
        return low, high

    def _golden(self, a: float, b: float, sense: int) -> float | None:
        def function(x: float) -> float:
            value = _enclosed(lambda: ball(self.node, {self.wrt: _acb(_arb(x))}))
            return math.inf if value is None else sense * double(value.real)

        ratio = (5**0.5 - 1) / 2
        with precision(64):
            c, d = b - ratio * (b - a), a + ratio * (b - a)
            f, g = function(c), function(d)
            for _ in range(60):
                if f < g:
                    b, d, g = d, c, f
                    c = b - ratio * (b - a)
                    f = function(c)
                else:
                    a, c, f = c, d, g
                    d = a + ratio * (b - a)
                    g = function(d)
        return self._polished((a + b) / 2)

    def _polished(self, place: float) -> float | None:
        """Return the value near `place` after Newton steps towards a zero of the derivative."""
        from maven_env.expressions.analysis.jets import jet

        with precision(_FINE):
            x = _arb(place)
            for _ in range(3):
                found = _listed(lambda: jet(self.node, {self.wrt: _acb(x)}, {self.wrt: _acb(_arb(1.0))}, 2))  # noqa: B023
                if found is None or found[2].contains(0):
                    break
                step = (found[1] / (2 * found[2])).real
                if not abs(step) < 1e-6 * (1 + abs(x)):
                    break
                x = (x - step).mid()
            value = _enclosed(lambda: ball(self.node, {self.wrt: _acb(x)}))
        return None if value is None else double(value.real)


def _operations(node: Node) -> int:
    return sum(400 if isinstance(part, Call) and part.function not in ELEMENTARY else 1 for part in walk(node))


def _arb(value: float) -> Any:
    from flint import arb

    return arb(value)


def _acb(value: Any) -> Any:
    from flint import acb

    return acb(value)


def _slope(node: Node, wrt: str, piece: Any) -> Any:
    from maven_env.expressions.analysis.jets import derivative_ball

    return derivative_ball(node, {wrt: _acb(piece)}, wrt)


def _enclosed(evaluate: Callable[[], Any]) -> Any | None:
    """Return a finite ball, or None where there is none; unknown symbols and functions still raise."""
    try:
        found = evaluate()
    except (Undecided, ValueError, ZeroDivisionError, OverflowError):
        return None
    except ToolError as error:
        if error.code != "DOMAIN_ERROR":
            raise
        return None
    return found if found.is_finite() else None


def _listed(evaluate: Callable[[], list[Any]]) -> list[Any] | None:
    try:
        return evaluate()
    except ToolError as error:
        if error.code != "DOMAIN_ERROR":
            raise
        return None


def _joined(spans: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    joined: list[tuple[Fraction, Fraction]] = []
    for a, b in sorted(spans):
        if joined and joined[-1][1] >= a:
            joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
        else:
            joined.append((a, b))
    return joined
