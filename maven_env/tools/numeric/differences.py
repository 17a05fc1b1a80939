"""Difference quotients with honest errors: central, one-sided, complex step, and Richardson's extrapolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, Piecewise, number_node, walk
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.numeric import compile_complex, compile_real

_CORNERED = frozenset(
    ("Abs", "sign", "Min", "Max", "floor", "ceiling", "Heaviside", "re", "im", "arg", "conjugate", "atan2")
)
_EPS = 2.0**-53
_LEVELS = 7  # halvings of the step in the extrapolation

# (offset, weight) of the quotient of each order: central ones are exact to h^2, one-sided ones to h.
_CENTRAL: dict[int, tuple[tuple[float, float], ...]] = {
    1: ((-1, -0.5), (1, 0.5)),
    2: ((-1, 1), (0, -2), (1, 1)),
    3: ((-2, -0.5), (-1, 1), (1, -1), (2, 0.5)),
    4: ((-2, 1), (-1, -4), (0, 6), (1, -4), (2, 1)),
}
_FORWARD: dict[int, tuple[tuple[float, float], ...]] = {
    1: ((0, -1), (1, 1)),
    2: ((0, 1), (1, -2), (2, 1)),
    3: ((0, -1), (1, 3), (2, -3), (3, 1)),
    4: ((0, 1), (1, -4), (2, 6), (3, -4), (4, 1)),
}


@dataclass(frozen=True)
class Difference:
    """A difference quotient; `scale` is the size of the function over the step, for judging an error near 0."""

    value: float
    step: float
    error: float
    truncation: float
    roundoff: float
    scale: float


def difference_derivative(expr: Node, wrt: str, at: float, order: int, method: str, h: float | None) -> Difference:
    """Return the difference quotient of `expr` in `wrt` at `at`, its error checked against the exact derivative.

    Raises DOMAIN_ERROR where the function has no real value near the point or no derivative there.
    """
    exact = _exact(expr, wrt, at, order)
    if method == "complex_step":
        found = _complex_step(expr, wrt, at, h)
    else:
        f = compile_real(expr, (wrt,))
        if exact is None or has_corners(expr):
            _check_smooth(f, at)
        found = _richardson(f, at, order, h) if method == "richardson" else _plain(f, at, order, method, h)
    if exact is None:
        return found
    known = abs(found.value - exact)
    return Difference(found.value, found.step, max(found.error, known), found.truncation, found.roundoff, found.scale)


def has_corners(expr: Node) -> bool:
    """Return whether `expr` has parts that are not analytic."""
    return any(isinstance(p, Piecewise) or (isinstance(p, Call) and p.function in _CORNERED) for p in walk(expr))


def _exact(expr: Node, wrt: str, at: float, order: int) -> float | None:
    """Return the derivative to full precision where rules give it; None if they do not."""
    try:
        for _ in range(order):
            expr = derivative(expr, wrt)
        return nearest_double(expr, {wrt: number_node(at)})
    except ToolError:
        return None


def _quotient(f: Callable[[float], float], at: float, h: float, order: int, table: str) -> tuple[float, float]:
    """Return the quotient and its round-off bound; the step is a difference of doubles, so that it is exact.

    Raises NO_CONVERGENCE for a step that is lost beside the point.
    """
    h = (at + h) - at
    if h == 0:
        raise ToolError("NO_CONVERGENCE", f"the step is lost by rounding beside {at:g}", "use symbolic_diff")
    weights = (_CENTRAL if table == "central" else _FORWARD)[order]
    values = [(weight, f(at + offset * h)) for offset, weight in weights]
    if not all(math.isfinite(value) for _, value in values):
        raise ToolError("OVERFLOW", f"the function is beyond double precision near {at:g}", "use symbolic_diff")
    total = math.fsum(weight * value for weight, value in values)
    noise = 2 * _EPS * math.fsum(abs(weight * value) for weight, value in values)
    slope = abs(values[0][1] - values[-1][1]) / abs(h)
    noise += 2 * _EPS * abs(at) * slope  # the points themselves are rounded
    for _ in range(order):  # a power of the step may be beyond the range of doubles where the quotient is not
        total, noise = total / h, noise / abs(h)
    return total, noise


def _plain(f: Callable[[float], float], at: float, order: int, method: str, h: float | None) -> Difference:
    gain = 2 if method == "central" else 1
    step = h if h is not None else _EPS ** (1 / (order + gain)) * max(1.0, abs(at))
    value, roundoff = _quotient(f, at, step, order, method)
    wider, _ = _quotient(f, at, 2 * step, order, method)
    truncation = abs(wider - value) / (2**gain - 1)
    return Difference(value, step, truncation + roundoff, truncation, roundoff, _scale(f, at, step, order))


def _richardson(f: Callable[[float], float], at: float, order: int, h: float | None) -> Difference:
    if h is None:
        sizes = sorted({max(abs(at), 1.0), math.sqrt(max(abs(at), 1.0)), 1.0, min(max(abs(at), 1e-3), 1.0)})
        steps = [_largest_step(f, at, order, size) for size in sizes]
        tries = [_extrapolated(f, at, order, step) for step in steps if not _is_lost(at, step)]
        if not tries:
            raise ToolError("NO_CONVERGENCE", f"every step is lost by rounding beside {at:g}", "use symbolic_diff")
        return min(tries, key=lambda found: found.error)
    return _extrapolated(f, at, order, h)


def _is_lost(at: float, step: float) -> bool:
    """Return whether the smallest step of an extrapolation vanishes beside the point."""
    smallest: float = step / 2**_LEVELS
    return at + smallest == at


def _extrapolated(f: Callable[[float], float], at: float, order: int, step: float) -> Difference:
    rows: list[list[tuple[float, float]]] = []
    best = (math.inf, math.inf, 0.0, 0.0)  # error, truncation, round-off, value
    for level in range(_LEVELS):
        row = [_quotient(f, at, step / 2**level, order, "central")]
        for k in range(level):
            factor = 4.0 ** (k + 1)
            (coarse, noise), (fine, finer) = rows[-1][k], row[k]
            row.append((fine + (fine - coarse) / (factor - 1), (finer * factor + noise) / (factor - 1)))
        if level:
            for k in range(1, level + 1):
                value, roundoff = row[k]
                truncation = max(abs(value - row[k - 1][0]), abs(value - rows[-1][k - 1][0]))
                best = min(best, (truncation + roundoff, truncation, roundoff, value))
        rows.append(row)
    error, truncation, roundoff, value = best
    return Difference(value, step, error, truncation, roundoff, _scale(f, at, step, order))


def _largest_step(f: Callable[[float], float], at: float, order: int, size: float) -> float:
    """Return the first of 0.4, 0.1, 0.025, ... times `size` over which the function is real."""
    reach = 1 if order < 3 else 2
    error: ToolError | None = None
    for k in range(12):
        step = 0.4 * size / 4**k
        try:
            for offset in (-reach, reach):
                f(at + offset * step)
        except ToolError as failure:
            error = failure
            continue
        return float(step)
    raise error or ToolError("DOMAIN_ERROR", "the function has no real value near the point")


def _complex_step(expr: Node, wrt: str, at: float, h: float | None) -> Difference:
    step = h if h is not None else 1e-20 * max(abs(at), 1.0)
    value = compile_complex(expr, (wrt,))(complex(at, step))
    if value.imag == 0 and value.real != 0:
        half = compile_complex(expr, (wrt,))(complex(at, step / 2))
        truncation = abs(half.imag)
    else:
        half = compile_complex(expr, (wrt,))(complex(at, step / 2))
        truncation = abs(value.imag / step - half.imag / (step / 2)) * 4 / 3
    slope = value.imag / step
    roundoff = 8 * _EPS * abs(slope)
    scale = abs(value.real) / max(abs(at), 1.0)
    return Difference(slope, step, truncation + roundoff, truncation, roundoff, scale)


def _scale(f: Callable[[float], float], at: float, step: float, order: int) -> float:
    size: float = max(abs(f(at)), abs(f(at + step)), abs(f(at - step)))
    for _ in range(order):
        size /= max(abs(at), step, 1.0)
    return size


def _check_smooth(f: Callable[[float], float], at: float) -> None:
    """Refuse a corner or jump: there the one-sided slopes do not come together as the step shrinks."""
    size = max(abs(at), 1.0)
    gaps = []
    for k in (8, 12, 16):
        h = (at + size / 2**k) - at
        left, middle, right = f(at - h), f(at), f(at + h)
        noise = 8 * _EPS * (abs(left) + 2 * abs(middle) + abs(right)) / h
        gaps.append((abs(right - 2 * middle + left) / h, noise))
    if all(later > 0.6 * earlier and later > 10 * noise for (earlier, _), (later, noise) in pairwise(gaps)):
        raise ToolError("DOMAIN_ERROR", "the function has a corner, a jump or a pole there", "take a one-sided limit")
