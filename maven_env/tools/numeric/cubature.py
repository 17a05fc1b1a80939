"""Adaptive rules in double precision: two Gauss rules that must agree, on lines and on rectangles."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Negative, Node, Product, Sum, Symbol, free_symbols, replace
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.numeric import compile_array

_PIECES = 2_000
_CELLS = 1_500
_FIRST = 12  # pieces of a line to begin with; another number serves as the check
_OTHER = 17
Array = np.ndarray[Any, np.dtype[np.float64]]


@lru_cache(maxsize=8)
def _gauss(n: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (nodes + 1) / 2, weights / 2


# ---- lines -----------------------------------------------------------------------------------------------------------
def two_rules(f: Callable[[float], float], ends: list[float]) -> tuple[float, float, int, int]:
    """Return (value, error, evaluations, pieces) of the integral of `f` over the stretches between `ends`.

    Two subdivisions that share no points are refined; the error is no less than their difference.
    """
    sign = 1
    if ends[0] > ends[-1]:
        ends, sign = ends[::-1], -1
    if len(ends) == 2 and all(math.isinf(end) for end in ends):
        ends = [ends[0], 0.0, ends[1]]
    first, second = (_line(f, ends, pieces) for pieces in (_FIRST, _OTHER))
    error = max(first[1], second[1], abs(first[0] - second[0]))
    return sign * first[0], error, first[2] + second[2], first[3]


def _line(f: Callable[[float], float], ends: list[float], pieces: int) -> tuple[float, float, int, int]:
    evaluations = 0

    def on_line(u: float, low: float, high: float) -> float:
        """Map 0..1 to the stretch; infinite ends go by x/(1-x)."""
        if math.isfinite(low) and math.isfinite(high):
            return f(low + (high - low) * u) * (high - low)
        anchor, sign = (low, 1.0) if math.isfinite(low) else (high, -1.0)
        if u == 1:
            raise ToolError("NO_CONVERGENCE", "the integral does not settle towards infinity", "give finite limits")
        return f(anchor + sign * u / (1 - u)) / (1 - u) ** 2

    def rule(low: float, high: float, a: float, b: float) -> tuple[float, float]:
        nonlocal evaluations
        sums = []
        for n in (10, 15):
            nodes, weights = _gauss(n)
            sums.append(
                (b - a)
                * math.fsum(
                    w * on_line(a + (b - a) * x, low, high)
                    for x, w in zip(nodes.tolist(), weights.tolist(), strict=True)
                )
            )
            evaluations += n
        return sums[1], abs(sums[1] - sums[0])

    heap: list[tuple[float, int, float, float, float, float, float]] = []
    count = 0
    for low, high in pairwise(ends):
        for k in range(pieces):
            a, b = k / pieces, (k + 1) / pieces
            value, error = rule(low, high, a, b)
            heapq.heappush(heap, (-error, count, value, low, high, a, b))
            count += 1
    while count < _PIECES:
        total = math.fsum(item[2] for item in heap)
        if math.fsum(-item[0] for item in heap) <= 1e-13 * abs(total):
            break
        _, _, _, low, high, a, b = heapq.heappop(heap)
        middle = (a + b) / 2
        for left, right in ((a, middle), (middle, b)):
            value, error = rule(low, high, left, right)
            heapq.heappush(heap, (-error, count, value, low, high, left, right))
            count += 1
    total = math.fsum(sorted(item[2] for item in heap))
    return total, math.fsum(-item[0] for item in heap), evaluations, len(heap)


# ---- rectangles ------------------------------------------------------------------------------------------------------
def double_integral(
    expr: Node, spans: tuple[tuple[str, Node, Node], ...], rel_tol: float, breaks: list[float]
) -> tuple[float, float, int, int]:
    """Return (value, error, evaluations, cells) of a double integral, the innermost variable first.

    Raises NO_CONVERGENCE where two adaptive subdivisions do not agree to the tolerance.
    """
    from maven_env.tools.numeric.certify import is_infinite

    (inner, low, high), (outer, bottom, top) = spans
    if any(is_infinite(node) for node in (low, high, bottom, top)):
        hint = "substitute to a finite range, or integrate one variable exactly with integrate"
        raise ToolError("NO_CONVERGENCE", "a double integral needs finite limits here", hint)
    ends = (nearest_double(bottom), nearest_double(top))
    width = Sum((high, Negative(low)))
    unit = Product((width, replace(expr, {inner: Sum((low, Product((width, Symbol(inner)))))})))
    f = compile_array(unit, (inner, outer))
    bounds: list[float] | None = None
    if not free_symbols(low) | free_symbols(high):
        bounds = [nearest_double(low), nearest_double(high)]
    first = _cells(f, ends, breaks, bounds, 4, rel_tol)
    second = _cells(f, ends, breaks, bounds, 5, rel_tol)
    error = max(first[1], abs(first[0] - second[0])) + 4e-16 * first[4]
    if not error <= max(rel_tol, 1e-12) * abs(first[0]) * 10 + 1e-300 and not error <= 1e-14 * first[4]:
        message = f"the value is about {first[0]:.6g}, but only to {error:.1g}"
        raise ToolError("NO_CONVERGENCE", message, "give break points, rescale, or integrate one variable exactly")
    return first[0], error, first[2] + second[2], first[3]


def _cells(
    f: Callable[..., Any],
    ends: tuple[float, float],
    breaks: list[float],
    bounds: list[float] | None,
    start: int,
    rel_tol: float,
) -> tuple[float, float, int, int, float]:
    evaluations = 0

    def rule(cell: tuple[float, float, float, float]) -> tuple[float, float]:
        nonlocal evaluations
        u0, u1, y0, y1 = cell
        sums = []
        for n in (7, 10):
            nodes, weights = _gauss(n)
            u, y = np.meshgrid(u0 + (u1 - u0) * nodes, y0 + (y1 - y0) * nodes)
            values = f(u, y)
            if not np.all(np.isfinite(values)):
                raise ToolError("DOMAIN_ERROR", "the integrand is not real and finite everywhere", "check its domain")
            sums.append(float(weights @ values @ weights) * (u1 - u0) * (y1 - y0))
            evaluations += n * n
        return sums[1], abs(sums[1] - sums[0])

    low, high = ends
    rows = sorted({low, high, *(b for b in breaks if min(ends) < b < max(ends))}, reverse=high < low)
    columns = [0.0, 1.0]
    if bounds is not None and bounds[0] != bounds[1]:
        inside = [(b - bounds[0]) / (bounds[1] - bounds[0]) for b in breaks]
        columns = sorted({0.0, 1.0, *(u for u in inside if 0 < u < 1)})
    grid_y, grid_u = _refined(rows, start), _refined(columns, start)
    heap: list[tuple[float, int, float, tuple[float, float, float, float]]] = []
    count = 0
    for y0, y1 in pairwise(grid_y):
        for u0, u1 in pairwise(grid_u):
            value, error = rule((u0, u1, y0, y1))
            heapq.heappush(heap, (-error, count, value, (u0, u1, y0, y1)))
            count += 1
    tolerance = min(rel_tol, 1e-10) / 10
    while count < _CELLS * 4:
        total = math.fsum(item[2] for item in heap)
        if math.fsum(-item[0] for item in heap) <= tolerance * abs(total):
            break
        _, _, _, (u0, u1, y0, y1) = heapq.heappop(heap)
        um, ym = (u0 + u1) / 2, (y0 + y1) / 2
        for cell in ((u0, um, y0, ym), (um, u1, y0, ym), (u0, um, ym, y1), (um, u1, ym, y1)):
            value, error = rule(cell)
            heapq.heappush(heap, (-error, count, value, cell))
            count += 1
    total = math.fsum(sorted(item[2] for item in heap))
    size = math.fsum(abs(item[2]) for item in heap)
    return total, math.fsum(-item[0] for item in heap), evaluations, len(heap), size


def _refined(places: list[float], parts: int) -> list[float]:
    fine = [a + (b - a) * k / parts for a, b in pairwise(places) for k in range(parts)]
    return [*fine, places[-1]]
