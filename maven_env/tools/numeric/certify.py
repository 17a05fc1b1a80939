"""Certified definite integrals: ball arithmetic on pieces, honest tails where the integrand or the range is infinite.

An interval is cut at the places where the integrand may be singular. A piece is integrated by `acb.integral`, whose
error is proved; where that fails, its ends are stretched, x = end + w*exp(-t), which turns algebraic and logarithmic
singularities into exponential decay; the tail beyond t = T is estimated from that decay with a large margin. Infinite
ranges are stretched likewise, x = a + exp(t).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Call, Constant, Negative, Node, Symbol, replace, walk
from maven_env.expressions.algebra.rational import factored
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.balls import ball, precision
from maven_env.tools.numeric.oscillation import has_waves, oscillating_half_line
from maven_env.tools.numeric.suspicious_places import singular_points

BUDGET = 120_000  # evaluations of one integral in all
EVALUATIONS = 6_000  # of one piece
_STRETCHED = 24_000  # of one piece that is stretched
_STEP_EVALUATIONS = 30_000  # of one piece with steps, such as floor
_PIECES = 40
_TIMES = tuple(1.5 * 1.4**k for k in range(23))  # where a tail may be cut off
_LONG = 800.0  # beyond it, only ends that need no more digits are integrated
_SLOWEST = 0.008  # rate of decay below which a tail is not trusted
_MARGIN = 30.0  # on an estimated tail


@dataclass
class _Tail:
    """What the stretched integrand does at the end: `cut`, where it may be cut off with an error of `error`."""

    cut: float | None
    error: float
    diverges: bool | None


def definite_integral(node: Node, variable: str, low: Node, high: Node, digits: int = 15) -> tuple[Any, float] | None:
    """Return (mid, radius) of the integral of `node` over `variable` from `low` to `high`, or None if not certain.

    `low` and `high` are closed trees, `oo` and `-oo` allowed; `mid` is an acb (`complex(mid)` gives a double), `radius`
    a bound of its error: proved for bounded analytic pieces, estimated with a wide margin for singular ends and
    infinite ranges. About `digits` digits of the largest piece are aimed at, and at least min(digits, 8) reached. A
    divergent integral gives None: ask `diverges`.
    """
    found = Integration(node, variable, low, high, digits).run()
    return None if found is None or isinstance(found, bool) else found


def diverges(node: Node, variable: str, low: Node, high: Node) -> bool | None:
    """Return whether the integral surely diverges (True) or converges (False); None if neither is certain.

    A pole inside the range diverges, whatever its principal value.
    """
    found = Integration(node, variable, low, high, 10).run()
    return None if found is None else found if isinstance(found, bool) else False


def is_infinite(node: Node) -> int:
    """Return 1 for oo, -1 for -oo, else 0."""
    if node == Constant("oo"):
        return 1
    return -1 if node == Negative(Constant("oo")) else 0


class Integration:
    """One integral: `run` gives its value, and `used` the evaluations that it took."""

    def __init__(self, node: Node, variable: str, low: Node, high: Node, digits: int) -> None:
        self.node = factored(node, variable)
        self.variable = variable
        self.low, self.high = low, high
        self.digits = digits
        self.bits = int(digits * 3.33) + 30
        steps = any(isinstance(part, Call) and part.function in ("floor", "ceiling") for part in walk(node))
        self.evaluations = _STEP_EVALUATIONS if steps else EVALUATIONS
        self.waves = has_waves(node, variable)
        self.scale = 0.0  # size of the integral of the absolute value
        self.used = 0  # evaluations so far
        self.function: Callable[[Any, bool], Any] = self.counted(compile_analytic(self.node, variable))

    def counted(self, function: Callable[[Any, bool], Any]) -> Callable[[Any, bool], Any]:
        """Count evaluations, and give nan once the budget is spent."""
        from flint import acb

        nowhere = acb("nan")

        def counting(z: Any, analytic: bool) -> Any:
            self.used += 1
            return function(z, analytic) if self.used <= BUDGET else nowhere

        return counting

    def run(self) -> tuple[Any, float] | bool | None:
        """Return (mid, radius), True for a divergent integral, or None."""
        try:
            with precision(max(4 * self.bits, 256)):
                points = self.points()
            if points is None:
                return None
            return self.total(points)
        except ToolError as error:
            if error.code in ("UNKNOWN_SYMBOL", "LIMIT_EXCEEDED"):
                raise
            return None

    def points(self) -> list[Any] | None:
        """Return the cut points in order as arb (None stands for an infinite end), or None if there are too many."""
        from flint import arb

        ends: list[Any] = []
        for end in (self.low, self.high):
            if is_infinite(end):
                ends.append(None)
                continue
            value = ball(end, {})
            if not value.imag == 0:
                raise ToolError("DOMAIN_ERROR", "the limits must be real")
            ends.append(value.real)
        self.sign = 1
        low, high = ends
        flipped = is_infinite(self.low) > 0 or is_infinite(self.high) < 0
        if low is not None and high is not None and low.overlaps(high):
            return []
        if flipped or (low is not None and high is not None and low > high):
            low, high, self.sign = high, low, -1
        inner = singular_points(self.node, self.variable, low, high)
        if inner is None or len(inner) > _PIECES:
            return None
        if low is None and high is None and not inner:
            inner = [arb(0)]
        return [low, *inner, high]

    def total(self, points: list[Any]) -> tuple[Any, float] | bool | None:
        from flint import acb

        if not points:
            return acb(0), 0.0
        with precision(self.bits):
            for low, high in pairwise(points):
                if low is not None and high is not None:
                    self.scale = max(self.scale, float(_scale(self.function, acb(low), acb(high)).abs_upper()))
        total, radius, largest = acb(0), 0.0, 0.0
        uncertain = False
        for low, high in pairwise(points):
            found = self.piece(low, high)
            if found is True:
                return True
            if found is None or isinstance(found, bool):
                uncertain = True
                continue
            with precision(2 * self.bits):
                total = total + found[0]
            radius += found[1]
            largest = max(largest, _size(found[0]))
        if uncertain:
            return None
        with precision(2 * self.bits):
            radius += float(total.rad()) * 1.01
            middle = total.mid() * self.sign
        if not radius <= max(10.0 ** -min(self.digits, 8) * largest, 10.0**-self.digits * self.scale, 1e-300):
            return None
        return middle, radius

    # ---- pieces -----------------------------------------------------------------------------------------------------
    def piece(self, low: Any, high: Any) -> tuple[Any, float] | bool | None:
        from flint import acb, arb

        if low is None or high is None:
            return self.half_line(low, high)
        with precision(self.bits + 20):
            direct = self.rigorous(self.function, acb(low), acb(high), self.evaluations)
        if direct is not None:
            return direct
        middle = (low + high) / 2
        with precision(max(4 * self.bits, 256)):
            width = arb(middle.mid() - low)
            other = arb(high - middle.mid())
        parts = [self.stretched(low, width, inward=True), self.stretched(high, -other, inward=True)]
        return _joined(parts)

    def half_line(self, low: Any, high: Any) -> tuple[Any, float] | bool | None:
        """Integrate from a finite point to infinity: up to a step of 1 as a piece, and the rest stretched."""
        from flint import arb

        start, step = (low, arb(1)) if high is None else (high, arb(-1))
        if self.waves:
            if high is None:
                return self.oscillating(low)
            return self.mirrored().oscillating(-high)
        near = self.piece(start, start + 1) if high is None else self.piece(start - 1, start)
        far = self.stretched(start, step, inward=False)
        return _joined([near, far])

    def mirrored(self) -> Integration:
        """Return the integration of f(-x)."""
        twin = Integration(self.node, self.variable, self.low, self.high, self.digits)
        twin.node = replace(self.node, {self.variable: Negative(Symbol(self.variable))})
        twin.function = twin.counted(compile_analytic(twin.node, self.variable))
        twin.scale = self.scale
        return twin

    def oscillating(self, low: Any) -> tuple[Any, float] | bool | None:
        """Integrate from `low` to infinity by stretching, and where that fails by turning the path."""
        from flint import arb

        plain = _joined([self.piece(low, low + 1), self.stretched(low, arb(1), inward=False)])
        if plain is not None:
            return plain
        start = low.unique_fmpz() if low >= 0 else None
        if start is None:
            start = low.mid().ceil().unique_fmpz() if low >= 0 else None
        if start is None:
            return None

        def integrate(node: Node, a: Node, b: Node) -> tuple[Any, float] | bool | None:
            return Integration(node, self.variable, a, b, self.digits).run()

        with precision(self.bits + 60):
            far = oscillating_half_line(self.node, self.variable, Fraction(int(start)), self.bits, integrate)
        if not low < int(start):
            return far
        return _joined([self.piece(low, arb(start)), far])

    def rigorous(
        self, function: Callable[[Any, bool], Any], low: Any, high: Any, evaluations: int
    ) -> tuple[Any, float] | None:
        """Return the proved integral at the precision in force, or None if it needs too much."""
        from flint import acb, arb, ctx

        scale = _scale(function, low, high)
        tolerance = arb(2) ** -int(self.digits * 3.33 + 8)
        self.scale = max(self.scale, float(scale.abs_upper()))
        scale = arb(self.scale)
        value = acb.integral(
            function,
            low,
            high,
            rel_tol=tolerance,
            abs_tol=tolerance * scale,
            eval_limit=evaluations,
            depth_limit=ctx.prec,
        )
        if not value.is_finite():
            return None
        radius = max(float(value.real.rad()), float(value.imag.rad()))
        enough = max(10.0 ** -min(self.digits + 1, 9) * _size(value), float((tolerance * scale).abs_upper()) * 64)
        return (value, 0.0) if radius <= enough else None

    def stretched(self, end: Any, width: Any, *, inward: bool) -> tuple[Any, float] | bool | None:
        """Integrate between `end` and `end + width` (inward), or from `end + width` on to infinity."""
        from flint import acb

        f, sign = self.function, -1 if inward else 1
        outward = not inward and width < 0

        def g(t: Any, analytic: bool) -> Any:
            offset = acb(width) * (t if sign > 0 else -t).exp()
            return f(acb(end) + offset, analytic) * (-offset if outward else offset)

        orient = -1 if inward and width < 0 else 1
        tail = self.tail(g)
        if tail.diverges:
            return True
        if tail.cut is None:
            return None
        value = None
        for share in (0, 6):  # digits lost at the end: none where it is 0, else those of exp(cut) and more
            with precision(self.bits + int(share * tail.cut) + 60):
                value = self.rigorous(g, acb(0), acb(tail.cut), max(self.evaluations, _STRETCHED))
            if value is not None or tail.cut > _LONG:
                break
        if value is None:
            return None
        return value[0] * orient, value[1] + tail.error

    def tail(self, g: Callable[[Any, bool], Any]) -> _Tail:
        """Find where the stretched integrand may be cut off, or that its integral diverges."""
        wanted = math.log(10) * -(self.digits + 1)
        largest = max((_log_size(g, t, self.bits + 60) for t in (0.1, 0.5, 1.0, 2.0, 4.0)), default=-math.inf)
        last: tuple[float, float] | None = None
        for time in _TIMES:
            size = self.envelope(g, time)
            if math.isnan(size):
                break
            largest = max(largest, size)
            if size == -math.inf:
                return _Tail(time, 0.0, False)
            if last is not None:
                rate = (last[1] - size) / (time - last[0])
                if rate >= _SLOWEST:
                    log_error = last[1] - math.log(rate) + math.log(_MARGIN)
                    if log_error < wanted + largest and self.is_quiet(g, last[0], log_error):
                        return _Tail(last[0], math.exp(min(log_error, 700.0)), False)
            last = (time, size)
        return _Tail(None, math.inf, self.grows(g))

    def envelope(self, g: Callable[[Any, bool], Any], time: float) -> float:
        """Return the log of the size of `g` around `time`."""
        bits = self.bits + int(6 * time) + 60
        sizes = [_log_size(g, time * (1 + k / 37), bits) for k in range(5)]
        return math.nan if any(math.isnan(size) for size in sizes) else max(sizes)

    def is_quiet(self, g: Callable[[Any, bool], Any], start: float, log_error: float) -> bool:
        """Check over the first stretch of the tail that nothing stands up in it: by balls, or by many points."""
        from flint import acb, arb

        bound = math.exp(min(log_error, 600.0))
        count, width = 60, 0.1
        total = 0.0
        with precision(self.bits + int(6 * (start + count * width)) + 60):
            for k in range(count):
                value = g(acb(arb(start + (k + 0.5) * width, width / 2)), False)
                if not value.is_finite():
                    total = math.inf
                    break
                total += float(value.abs_upper()) * width
            if total <= 1e3 * bound + 1e-300:
                return True
            for k in range(4 * count):
                value = g(acb(start + (k + 0.37) * width), False)
                if not value.is_finite() or float(value.abs_upper()) > 10 * bound + 1e-300:
                    return False
        return True

    def grows(self, g: Callable[[Any, bool], Any]) -> bool | None:
        """Tell whether the stretched integrand keeps one sign and falls no faster than 1/t."""
        from flint import acb

        samples: list[list[Any]] = []
        for time in (10.0, 20.0, 40.0, 80.0, 160.0, 320.0):
            with precision(self.bits + int(6 * time) + 200):
                samples.append([g(acb(time * (1 + k / 23)), False) for k in range(5)])
            if not all(value.is_finite() for value in samples[-1]):
                samples.pop()
                break
        if len(samples) < 4:
            return None
        return True if any(_keeps_up([[getattr(v, part) for v in row] for row in samples]) for part in _PARTS) else None


_PARTS = ("real", "imag")


def _keeps_up(samples: list[list[Any]]) -> bool:
    """Tell whether samples at times that double keep one sign and fall no faster than 1/t at the end."""
    last = samples[-4:]
    if any(value.contains(0) for row in last for value in row):
        return False
    if len({bool(value > 0) for row in last for value in row}) > 1:
        return False
    falls = [float((abs(a[0]) / abs(b[0])).log()) for a, b in pairwise(last)]
    if max(falls[-2:]) > 1.001 * math.log(2):
        return False
    # Between times that double, 1/t^q falls by the same factor each time, exp(-c*t) by twice the exponent.
    return falls[-1] <= 1.2 * max(falls[-2], 0.0) or falls[-1] <= 1e-14


def _joined(parts: list[tuple[Any, float] | bool | None]) -> tuple[Any, float] | bool | None:
    if any(part is True for part in parts):
        return True
    found = [part for part in parts if part is not None and not isinstance(part, bool)]
    if len(found) < len(parts):
        return None
    total = found[0][0]
    for value, _ in found[1:]:
        total = total + value
    return total, sum(radius for _, radius in found)


def _size(value: Any) -> float:
    return float(abs(value).mid())


def _scale(function: Callable[[Any, bool], Any], low: Any, high: Any) -> Any:
    """Return the largest size of the integrand at some points, times the width."""
    from flint import arb

    best = arb(0)
    for k in range(1, 16):
        value = function(low + (high - low) * k / 16 + (high - low) * 0.0061, False)
        if value.is_finite():
            best = arb.max(best, arb(abs(value).mid()))
    return best * abs(high - low)


def _log_size(g: Callable[[Any, bool], Any], time: float, bits: int) -> float:
    """Return log |g(time)|: -inf for 0, nan where there is no value."""
    from flint import acb

    with precision(bits):
        value = g(acb(time), False)
        if not value.is_finite():
            return math.nan
        size = abs(value)
        if size.contains(0):
            upper = value.abs_upper()
            return -math.inf if upper == 0 else float(upper.log())
        return float(size.log())
