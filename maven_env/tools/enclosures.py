"""The signs of a function over an interval, certified: polynomials by their real roots, all else by enclosing ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Node, rational_value, replace
from maven_env.expressions.balls import MAX_BITS, Undecided, ball, precision
from maven_env.expressions.equality import equal
from maven_env.expressions.numeric import float_of
from maven_env.expressions.tree import ZERO
from maven_env.tools.evidence import double, enclosed
from maven_env.tools.polynomial_values import rational_function_of, real_roots

_PIECES = 1_500  # of an interval
_WIDTH_BITS = 24  # the smallest piece is 2^-24 of the interval
_BITS = 128
_FINE = 256


@dataclass(frozen=True, slots=True)
class SignPicture:
    """The signs that surely occur, whether these are all, the extreme values met, and where the sign changes."""

    signs: frozenset[int]
    is_complete: bool
    low: float | None
    high: float | None
    changes: tuple[float, ...]
    undecided: tuple[tuple[float, float], ...]
    evidence: str


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
    from maven_env.expressions import Call

    return Call("im", (node,))


# ---- intervals -------------------------------------------------------------------------------------------------------
def picture(node: Node, wrt: str, low: Node | None, high: Node | None) -> SignPicture:
    """Return the signs of `node` for low <= wrt <= high; None is an infinite end, which rational functions allow."""
    ends = [None if end is None else rational_value(end) for end in (low, high)]
    is_rational = all(end is None or value is not None for end, value in zip((low, high), ends, strict=True))
    function = rational_function_of(node, wrt) if is_rational else None
    if function is not None and function[1] != 0:
        return _of_rational(node, wrt, function, ends[0], ends[1])
    if low is None or high is None:
        return SignPicture(
            frozenset(), False, None, None, (), (), "an infinite interval is certified for rational functions only"
        )
    return _Subdivision(node, wrt, low, high).picture()


def _of_rational(
    node: Node, wrt: str, function: tuple[Any, Any], low: Fraction | None, high: Fraction | None
) -> SignPicture:
    """The sign of p/q is that of p q, which changes at real roots of odd multiplicity."""
    top, bottom = function
    if top == 0:
        return SignPicture(frozenset((0,)), True, 0.0, 0.0, (), (), "zero identically")
    zeros = [(root, m, False) for root, m in (real_roots(top) if top.degree() > 0 else [])]
    poles = [(root, m, True) for root, m in (real_roots(bottom) if bottom.degree() > 0 else [])]
    inside, edges = [], []
    for root, multiplicity, is_pole in sorted([*zeros, *poles], key=lambda item: _middle(item[0])):
        place = _place(root, low, high, bottom if is_pole else top)
        if place:
            inside.append((root, multiplicity, is_pole))
        elif place == 0:
            edges.append(is_pole)
    if any(is_pole for _, _, is_pole in inside) or any(edges):
        places = [double(root) for root, _, is_pole in inside if is_pole]
        message = f"the function has poles in the interval: {places or 'at an end'}"
        raise ToolError("DOMAIN_ERROR", message, "take the pieces between the poles")
    signs = {0} if inside or edges else set()
    cuts = [low, *(_middle(root) for root, _, _ in inside), high]
    samples = [_between(a, b) for a, b in zip(cuts, cuts[1:], strict=False)]
    product = top * bottom
    signs |= {_sign(product, x) for x in samples}
    changes = tuple(double(root) for root, m, _ in inside if m % 2)
    critical = (
        (top.derivative() * bottom - top * bottom.derivative()) if top.degree() + bottom.degree() > 0 else top * 0
    )
    stops = [_middle(r) for r, _ in (real_roots(critical) if critical.degree() > 0 else [])]
    visited = [x for x in (low, high, *stops) if x is not None and _is_within(x, low, high)]
    values = [_value(top, bottom, x) for x in visited]
    if inside or edges:
        values.append(0.0)
    bounded = low is not None and high is not None
    least, most = (min(values), max(values)) if values and bounded else (None, None)
    return SignPicture(frozenset(signs), True, least, most, changes, (), "exact: real roots and their multiplicities")


def _middle(root: Any) -> Fraction:
    mantissa, exponent = root.mid().man_exp()
    mantissa, exponent = int(mantissa), int(exponent)
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def _fmpq(value: Fraction) -> Any:
    from flint import fmpq

    return fmpq(value.numerator, value.denominator)


def _place(root: Any, low: Fraction | None, high: Fraction | None, polynomial: Any) -> int:
    """Return 1 inside, 0 at an end, -1 outside."""
    from flint import arb

    for end, inward in ((low, 1), (high, -1)):
        if end is None:
            continue
        with precision(_FINE):
            gap = (root - arb(_fmpq(end))) * inward
            if gap < 0:
                return -1
            if gap.contains(0):
                if polynomial(_fmpq(end)) == 0:
                    return 0
                raise Undecided("a root lies too close to the end of the interval")
    return 1


def _between(a: Fraction | None, b: Fraction | None) -> Fraction:
    if a is None and b is None:
        return Fraction(0)
    if a is None:
        return (b or Fraction(0)) - 1
    return a + 1 if b is None else (a + b) / 2


def _is_within(x: Fraction, low: Fraction | None, high: Fraction | None) -> bool:
    return (low is None or x >= low) and (high is None or x <= high)


def _sign(polynomial: Any, x: Fraction) -> int:
    value = polynomial(_fmpq(x))
    return int(value > 0) - int(value < 0)


def _value(top: Any, bottom: Any, x: Fraction) -> float:
    value = top(_fmpq(x)) / bottom(_fmpq(x))
    return float_of(Fraction(int(value.p), int(value.q)))


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
            if b - a <= Fraction(1, 1 << _WIDTH_BITS) or pieces > _PIECES:
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
        turns = [(p, q) for (p, s), (q, t) in zip(known, known[1:], strict=False) if s != t]
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
        return a + (b - a) * arb(_fmpq(share))

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
            if value is not None and _is_real(value) and not value.real.contains(0):
                self.signs.add(1 if value.real > 0 else -1)
                return True
            slope = _enclosed(lambda: _slope(self.node, self.wrt, piece))
            if slope is None or not _is_real(slope):
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
        from maven_env.expressions.numeric import compile_real

        function = compile_real(self.node, (self.wrt,))
        ratio = (5**0.5 - 1) / 2
        try:
            c, d = b - ratio * (b - a), a + ratio * (b - a)
            f, g = sense * function(c), sense * function(d)
            for _ in range(60):
                if f < g:
                    b, d, g = d, c, f
                    c = b - ratio * (b - a)
                    f = sense * function(c)
                else:
                    a, c, f = c, d, g
                    d = a + ratio * (b - a)
                    g = sense * function(d)
        except ToolError:
            return None
        return self._polished((a + b) / 2)

    def _polished(self, place: float) -> float | None:
        """Return the value near `place` after Newton steps towards a zero of the derivative."""
        from maven_env.expressions.jets import jet

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


def _arb(value: float) -> Any:
    from flint import arb

    return arb(value)


def _acb(value: Any) -> Any:
    from flint import acb

    return acb(value)


def _is_real(value: Any) -> bool:
    return bool(value.imag == 0)


def _slope(node: Node, wrt: str, piece: Any) -> Any:
    from maven_env.expressions.jets import derivative_ball

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
