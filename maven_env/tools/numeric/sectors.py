"""Functions that are analytic in a sector around the axis, covered by balls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Node
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.balls import precision
from maven_env.tools.numeric.finite_sums import HEAD, undecided


@dataclass(frozen=True)
class Profile:
    """From `begin` on g is analytic in the sector |arg z| <= 30 degrees; shells (low, high, log of the largest |g|)."""

    begin: int
    shells: tuple[tuple[float, float, float], ...]
    one_sign: bool  # g keeps its sign on the axis, and is no larger beside it


def profile_of(node: Node, index: str) -> Profile:
    """Cover the sector by balls. Raises NO_CONVERGENCE where the function is not certainly analytic far out."""
    from flint import acb

    try:
        g = compile_analytic(node, index)
    except ToolError as error:
        raise undecided(error.message) from error
    last_bad, beside = 0.0, 0.0
    shells: list[tuple[float, float, float]] = []
    signs: set[tuple[bool, ...]] = set()
    budget = [20_000]
    with precision(320):
        r = 8.0
        largest = -math.inf
        while r < 2.0**50:
            wide = 1.09 if r < 2.0**16 else 1.6
            high = r * wide
            size = _shell(g, r, high, budget)
            if size is None:
                last_bad, shells, largest = high, [], -math.inf
                signs, beside = set(), 0.0
                if last_bad > HEAD:
                    raise undecided(f"the terms are not certainly smooth near {index} = {last_bad:.3g}")
            else:
                shells.append((r, high, size))
                largest = max(largest, size)
                axis = [g(acb(r + (high - r) * k / 7), False) for k in range(7)]
                for value in axis:
                    parts = [part for part in (value.real, value.imag) if not part.contains(0)]
                    signs.add(tuple(bool(part > 0) for part in parts))
                low = min((_log_size(value) for value in axis), default=-math.inf)
                beside = max(beside, size - low)
                if size + math.log(high) < largest - 250:
                    break
            r = high
    return Profile(
        math.ceil(last_bad * 1.1) * 2 + 1 if last_bad else 16, tuple(shells), len(signs) == 1 and beside < 30
    )


def _log_size(value: Any) -> float:
    if not value.is_finite() or value.contains(0):
        return -math.inf
    return float(abs(value).log().mid())


def _shell(g: Any, low: float, high: float, budget: list[int]) -> float | None:
    """Return the log of the largest |g| on the part of the sector with low <= |z| <= high, None if not analytic."""
    steps = 8
    worst = -math.inf
    for k in range(-steps, steps):
        size = _cell(g, low, high, math.pi / 6 * k / steps, math.pi / 6 * (k + 1) / steps, 3, budget)
        if size is None:
            return None
        worst = max(worst, size)
    return worst


def _cell(g: Any, low: float, high: float, first: float, last: float, depth: int, budget: list[int]) -> float | None:
    from flint import acb, arb

    budget[0] -= 1
    if budget[0] < 0:
        return None

    def between(a: float, b: float) -> Any:
        return arb((a + b) / 2, (b - a) / 2 * (1 + 1e-9) + 1e-12 * high)

    flat, steep = sorted((abs(first), abs(last)))
    re = between(low * math.cos(steep), high * math.cos(flat))
    heights = [radius * math.sin(angle) for radius in (low, high) for angle in (first, last)]
    im = between(min(heights), max(heights))
    value = g(acb(re, im), True)
    if value.is_finite():
        upper = value.abs_upper()
        size = -1e300 if upper == 0 else float(upper.log().abs_upper()) * (1 if upper > 1 else -1)
        middle = _log_size(g(acb(re.mid(), im.mid()), False))
        if size - middle < 12 or depth == 0:
            return size
    if depth == 0:
        return None
    r, angle = math.sqrt(low * high), (first + last) / 2
    worst = -math.inf
    for a, b in ((low, r), (r, high)):
        for c, d in ((first, angle), (angle, last)):
            found = _cell(g, a, b, c, d, depth - 1, budget)
            if found is None:
                return None
            worst = max(worst, found)
    return worst
