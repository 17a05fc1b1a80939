"""Two-point boundary value problems: collocation, twice, and a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, free_symbols, replace
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.numeric import compile_array, compile_real
from maven_env.tools.threads import one_thread

_NODES = 20_000
_PLACES = 21
_GRADE = 6.0  # the spacing grows by exp(_GRADE) over a graded mesh; more only costs digits


@dataclass(frozen=True)
class TwoPointSolution:
    places: list[float]
    values: list[list[float]]  # one row for each variable
    residual: float
    iterations: int
    rms: float
    nodes: int
    error: float


def solve_two_point(
    rhs: Sequence[Node],
    variables: Sequence[str],
    x: str,
    interval: Sequence[float],
    bc: Sequence[Node],
    guess: Sequence[Node],
    params: Mapping[str, Node],
    tol: float,
    n_mesh: int,
    x_eval: Sequence[float] | None,
    mesh: str,
) -> TwoPointSolution:
    """Solve at `tol` on the first mesh, then tighter on a finer one; raise NO_CONVERGENCE unless both agree."""
    from scipy.integrate import solve_bvp

    _check(rhs, variables, x, interval, bc, guess, params)
    a, b = interval
    order = (x, *variables)
    ends = tuple(f"{name}_{end}" for end in "ab" for name in variables)
    known = dict(params)
    slopes = [compile_array(_filled(node, known, order), order) for node in rhs]
    table = [
        [compile_array(derivative(_filled(node, known, order), name), order) for name in variables] for node in rhs
    ]
    conditions = [compile_real(_filled(node, known, ends), ends) for node in bc]
    starts = [compile_array(_filled(node, known, (x,)), (x,)) for node in guess]

    def fun(places: Any, values: Any) -> Any:
        return np.array([slope(places, *values) for slope in slopes])

    def fun_jac(places: Any, values: Any) -> Any:
        return np.array([[entry(places, *values) for entry in row] for row in table])

    def residuals(left: Any, right: Any) -> Any:
        return np.array([condition(*left.tolist(), *right.tolist()) for condition in conditions])

    places = [a + (b - a) * k / (_PLACES - 1) for k in range(_PLACES)] if x_eval is None else list(x_eval)
    if any(not min(a, b) <= p <= max(a, b) for p in places):
        raise ToolError("BAD_INPUT", "x_eval: a place lies outside the interval", "give places inside it")

    def run(count: int, tolerance: float, first: Any) -> Any:
        nodes = _mesh(a, b, count, mesh)
        values = np.array([start(nodes) for start in starts]) if first is None else first.sol(nodes)
        if not np.all(np.isfinite(values)):
            raise ToolError("DOMAIN_ERROR", "the guess is not finite on the interval", "give another guess")
        with np.errstate(all="ignore"):
            return solve_bvp(
                fun, residuals, nodes, values, fun_jac=fun_jac, tol=tolerance, bc_tol=tolerance, max_nodes=_NODES
            )

    with one_thread():
        coarse = _settled(run(n_mesh, tol, None), "first")
        fine = run(min(2 * n_mesh + 1, _NODES // 2), max(tol / 10, 1e-12), coarse)
        if fine.status != 0:  # rounding may forbid a tighter tolerance: take another mesh then
            fine = _settled(run(min(3 * n_mesh // 2 + 2, _NODES // 2), tol, None), "second")
    rows, check = np.array(fine.sol(places)), np.array(coarse.sol(places))
    size = np.maximum(np.max(np.abs(fine.y), axis=1), 1e-300)[:, None]
    gap = np.abs(rows - check)
    if np.any(gap > max(1e3 * tol, 1e-9) * size) or np.any(gap > 1e-3 * size):
        message = f"two runs differ by {float(np.max(gap / size)):.1g} of the solution's size"
        raise ToolError("NO_CONVERGENCE", message, "tighten tol, refine or grade the mesh, or give a better guess")
    residual = float(np.max(np.abs(residuals(fine.sol(a), fine.sol(b)))))
    return TwoPointSolution(
        places,
        [[float(value) for value in row] for row in rows],
        residual,
        int(fine.niter),
        float(np.max(fine.rms_residuals)),
        int(fine.x.size),
        float(np.max(gap)),
    )


def _check(
    rhs: Sequence[Node],
    variables: Sequence[str],
    x: str,
    interval: Sequence[float],
    bc: Sequence[Node],
    guess: Sequence[Node],
    params: Mapping[str, Node],
) -> None:
    counts = {"rhs": len(rhs), "variables": len(variables), "bc": len(bc), "guess": len(guess)}
    if len(set(counts.values())) != 1:
        message = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise ToolError(
            "SHAPE_MISMATCH", f"{message}: all must be equal", "a first-order system of n needs n conditions"
        )
    if not 1 <= len(rhs) <= 12:
        raise LimitExceeded("size", f"{len(rhs)} equations, the bound is 12")
    if len(interval) != 2 or not all(math.isfinite(end) for end in interval) or not interval[0] < interval[1]:
        raise ToolError("BAD_INPUT", "the interval must be two finite numbers in order", 'write ["0", "1"]')
    if len({x, *variables, *params}) != 1 + len(variables) + len(params):
        raise ToolError("BAD_INPUT", "names of variables and params are not all different", "rename them")


def _filled(node: Node, params: Mapping[str, Node], names: Sequence[str]) -> Node:
    filled = replace(node, dict(params))
    missing = sorted(free_symbols(filled) - set(names))
    if missing:
        raise ToolError(
            "UNKNOWN_SYMBOL", f"no value for {', '.join(missing)}", f"known: {', '.join((*names, *params))}"
        )
    return filled


def _mesh(a: float, b: float, count: int, kind: str) -> Any:
    even = np.linspace(0.0, 1.0, count)
    if kind == "uniform":
        return a + (b - a) * even
    graded = np.expm1(_GRADE * even) / math.expm1(_GRADE)
    graded[-1] = 1.0
    return a + (b - a) * (graded if kind == "left_layer" else (1 - graded)[::-1])


def _settled(found: Any, which: str) -> Any:
    if found.status == 2:
        raise ToolError("SINGULAR", f"the {which} run meets a singular Jacobian", "give another guess, or check bc")
    if found.status != 0 or not np.all(np.isfinite(found.y)):
        message = (
            f"the {which} run stops at {found.x.size} nodes with a residual of {float(np.max(found.rms_residuals)):.2g}"
        )
        raise ToolError(
            "NO_CONVERGENCE", message, "grade the mesh towards the layer, give a better guess, or loosen tol"
        )
    return found
