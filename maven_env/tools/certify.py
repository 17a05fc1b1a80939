"""Certified definite integrals: ball arithmetic on pieces, and honest tails where the integrand or the range is infinite.

An interval is cut at the places where the integrand may be singular. A piece is integrated by `acb.integral`, whose error
is proved; where that fails, its ends are stretched, x = end + w*exp(-t), which turns algebraic and logarithmic
singularities into exponential decay; the tail beyond t = T is estimated from that decay with a large margin. Infinite
ranges are stretched likewise, x = a + exp(t).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Constant, Negative, Node
from maven_env.expressions.analytic import compile_analytic
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.rational import factored
from maven_env.tools.singularities import singular_points

EVALUATIONS = 6_000  # of one piece
_PIECES = 40
_TIMES = (6.0, 12.0, 24.0, 48.0, 96.0, 192.0, 384.0, 768.0, 1536.0, 3072.0)  # where a tail may be cut off
_SLOWEST = 0.008  # rate of decay below which a tail is not trusted
_MARGIN = 30.0  # on an estimated tail


@dataclass
class _Tail:
    """What the stretched integrand does at the end: `cut`, where it may be cut off with an error of `error`."""

    cut: float | None
    error: float
    diverges: bool | None


def definite_integral(node: Node, variable: str, low: Node, high: Node, digits: int = 15) -> tuple[Any, float] | None:
    """Return (mid, radius) of the integral of `node` over `variable` from `low` to `high`, or None where it is not certain.

    `low` and `high` are closed trees, `oo` and `-oo` allowed; `mid` is an acb (`complex(mid)` gives a double), `radius` a
    bound of its error: proved for bounded analytic pieces, estimated with a wide margin for singular ends and infinite
    ranges. About `digits` digits of the largest piece are aimed at, and at least min(digits, 8) reached. A divergent
    integral gives None: ask `diverges`.
    """
    found = _Integration(node, variable, low, high, digits).run()
    return None if found is None or isinstance(found, bool) else found


def diverges(node: Node, variable: str, low: Node, high: Node) -> bool | None:
    """Return whether the integral surely diverges (True) or converges (False); None if neither is certain.

    A pole inside the range diverges, whatever its principal value.
    """
    found = _Integration(node, variable, low, high, 10).run()
    return None if found is None else found if isinstance(found, bool) else False


def is_infinite(node: Node) -> int:
    """Return 1 for oo, -1 for -oo, else 0."""
    if node == Constant("oo"):
        return 1
    return -1 if node == Negative(Constant("oo")) else 0


class _Integration:
    def __init__(self, node: Node, variable: str, low: Node, high: Node, digits: int) -> None:
        self.node = factored(node, variable)
        self.variable = variable
        self.low, self.high = low, high
        self.digits = digits
        self.bits = int(digits * 3.33) + 30
        self.function: Callable[[Any, bool], Any] = compile_analytic(self.node, variable)

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

        ends = []
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
        total, radius, largest = acb(0), 0.0, 0.0
        uncertain = False
        for low, high in zip(points, points[1:], strict=False):
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
        if not radius <= 10.0 ** -min(self.digits, 8) * max(largest, 1e-300):
            return None
        return middle, radius

    # ---- pieces -----------------------------------------------------------------------------------------------------
    def piece(self, low: Any, high: Any) -> tuple[Any, float] | bool | None:
        from flint import acb, arb

        if low is None or high is None:
            return self.half_line(low, high)
        with precision(self.bits + 20):
            direct = self.rigorous(self.function, acb(low), acb(high))
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
        near = self.piece(start, start + 1) if high is None else self.piece(start - 1, start)
        far = self.stretched(start, step, inward=False)
        return _joined([near, far])

    def rigorous(self, function: Callable[[Any, bool], Any], low: Any, high: Any) -> tuple[Any, float] | None:
        """Return the proved integral at the precision in force, or None if it needs too much."""
        from flint import acb, arb, ctx

        scale = _scale(function, low, high)
        tolerance = arb(2) ** -int(self.digits * 3.33 + 8)
        value = acb.integral(
            function, low, high, rel_tol=tolerance, abs_tol=tolerance * scale, eval_limit=EVALUATIONS, depth_limit=ctx.prec
        )
        if not value.is_finite():
            return None
        radius = max(float(value.real.rad()), float(value.imag.rad()))
        enough = max(10.0 ** -min(self.digits + 1, 9) * _size(value), float((tolerance * scale).abs_upper()) * 4)
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
        with precision(self.bits + int(6 * tail.cut) + 20):
            value = self.rigorous(g, acb(0), acb(tail.cut))
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
                return _Tail(None, math.inf, None)
            largest = max(largest, size)
            if size == -math.inf:
                return _Tail(time, 0.0, False)
            if last is not None:
                rate = (last[1] - size) / (time - last[0])
                if rate >= _SLOWEST:
                    log_error = last[1] - math.log(rate) + math.log(_MARGIN)
                    if log_error < wanted + largest and self.is_quiet(g, last[0], time, log_error):
                        return _Tail(last[0], math.exp(min(log_error, 700.0)), False)
            last = (time, size)
        return _Tail(None, math.inf, self.grows(g))

    def envelope(self, g: Callable[[Any, bool], Any], time: float) -> float:
        """Return the log of the size of `g` around `time`."""
        bits = self.bits + int(6 * time) + 60
        sizes = [_log_size(g, time * (1 + k / 37), bits) for k in range(5)]
        return math.nan if any(math.isnan(size) for size in sizes) else max(sizes)

    def is_quiet(self, g: Callable[[Any, bool], Any], start: float, end: float, log_error: float) -> bool:
        """Check by balls over the first stretch of the tail that nothing stands up in it."""
        from flint import acb, arb

        total = 0.0
        count = 24
        with precision(self.bits + int(6 * end) + 60):
            for k in range(count):
                t0, t1 = (start + (end - start) * (k + j) / count for j in (0, 1))
                value = g(acb(arb((t0 + t1) / 2, (t1 - t0) / 2)), False)
                if not value.is_finite():
                    return False
                total += float(value.abs_upper()) * (t1 - t0)
        return total <= 1e3 * math.exp(min(log_error, 600.0)) + 1e-300

    def grows(self, g: Callable[[Any, bool], Any]) -> bool | None:
        """Tell whether the stretched integrand keeps one sign and falls no faster than 1/t."""
        times = (40.0, 80.0, 160.0, 320.0)
        for part in ("real", "imag"):
            values = []
            for time in times:
                with precision(self.bits + int(6 * time) + 200):
                    from flint import acb

                    found = [getattr(g(acb(time * (1 + k / 23)), False), part) for k in range(5)]
                    if not all(v.is_finite() and not v.contains(0) for v in found):
                        values = []
                        break
                    signs = {bool(v > 0) for v in found}
                    values.append((len(signs) == 1, found[0] > 0, float(abs(found[0]).log())))
            if len(values) < len(times) or not all(v[0] and v[1] == values[0][1] for v in values):
                continue
            slopes = [(a[2] - b[2]) / math.log(2) for a, b in zip(values, values[1:], strict=False)]
            if slopes[-1] <= 1.001 and slopes[-2] <= 1.001:
                return True
        return None


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
