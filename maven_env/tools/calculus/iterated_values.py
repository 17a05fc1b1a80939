"""Iterated integrals by product Gauss rules in double precision: a coarse check of closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols
from maven_env.expressions.balls import nearest_complex
from maven_env.expressions.numeric import compile_array
from maven_env.tools.calculus.definite_values import infinity

_RULES = {2: (40, 60), 3: (20, 28), 4: (10, 14)}


def agrees(closed: Node, integrand: Node, limits: Any) -> bool | None:
    """Return whether the closed value agrees with quadrature; None where the quadrature does not settle."""
    if any(infinity(limit) for _, a, b in limits for limit in (a, b)):
        return None
    names = [name for name, _, _ in limits]
    if free_symbols(integrand) - set(names) or len(limits) not in _RULES:
        return None
    try:
        values = [_value(integrand, limits, n) for n in _RULES[len(limits)]]
        wanted = nearest_complex(closed)
    except ToolError:
        return None
    scale = max(abs(values[1]), 1e-300)
    spread = abs(values[1] - values[0])
    if not np.isfinite(spread) or spread > 1e-3 * scale:
        return None
    return bool(abs(values[1] - wanted) <= max(20 * spread, 1e-9 * scale, 1e-14))


def _value(integrand: Node, limits: Any, count: int) -> complex:
    """Map the unit cube on the region, outermost variable first."""
    x, w = np.polynomial.legendre.leggauss(count)
    x, w = (x + 1) / 2, w / 2
    grids = np.meshgrid(*([x] * len(limits)), indexing="ij")
    weight = np.ones_like(grids[0])
    for axis in range(len(limits)):
        shape = [1] * len(limits)
        shape[axis] = count
        weight = weight * w.reshape(shape)
    known: dict[str, Any] = {}
    for grid, (name, low, high) in zip(grids, reversed(limits), strict=True):
        a, b = (_at(limit, known, grid) for limit in (low, high))
        known[name] = a + (b - a) * grid
        weight = weight * (b - a)
    with np.errstate(all="ignore"):
        return complex(np.sum(_at(integrand, known, grids[0]) * weight))


def _at(node: Node, known: dict[str, Any], like: Any) -> Any:
    names = tuple(sorted(free_symbols(node)))
    flat = [known[name].ravel() for name in names]
    function = compile_array(node, names)
    if not names:
        return np.full_like(like, nearest_complex(node).real)
    return np.asarray(function(*flat)).reshape(like.shape)
