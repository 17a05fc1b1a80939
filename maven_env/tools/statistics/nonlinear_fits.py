"""Nonlinear least squares with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, free_symbols
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.tools.kinds import ExactVector, Expr, FloatVector, Name, Real
from maven_env.tools.linear_algebra.exact_matrices import measured
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, declining
from maven_env.tools.statistics.fitting import (
    Array,
    Curvature,
    Flags,
    Minimum,
    Problem,
    curvature_at,
    is_minimum,
    minimise,
    problem_of,
)
from maven_env.tools.threads import one_thread

_PARAMETERS = 12
_POINTS = 2_000
_STEP = 1e-9  # relative Gauss-Newton step at which a fit has converged
_LOOSE = 1e-7  # the same beside a bound, where doubles must do
_ROUNDING = 1e-10  # relative error by rounding from which the end is computed in ball arithmetic
_BITS = 256
_SMALL = 400  # evaluations up to which the end is always computed in ball arithmetic and rounded once


@tool(kind="numeric", tier=1, near=("linear_regression", "lstsq_qr"), backend=("numpy", "sympy", "python-flint"))
def nonlinear_fit(
    model: Expr,
    x: Name,
    parameters: list[Name],
    xdata: ExactVector,
    ydata: ExactVector,
    start: FloatVector,
    sigma: ExactVector | None = None,
    bounds: list[list[Real]] | None = None,
) -> ToolResult:
    """Fit a model that is nonlinear in its parameters by least squares, with standard errors.

    The fit ends in a minimum near the start, which need not be the lowest: try other starts. A correlation above 0.99
    in magnitude or a huge condition_number means that the parameters are not identifiable although the curve fits.

    Args:
        model: model as an expression of x and the parameters
        x: independent variable
        parameters: parameters
        xdata: values of x
        ydata: values of the model
        start: start values, one per parameter
        sigma: standard deviations of ydata; then the errors follow from them and not from the scatter
        bounds: [low, high] for each parameter; oo and -oo leave a side open

    Returns:
        parameters (map): estimates
        stderr (map): standard errors; null without degrees of freedom or at a bound
        correlation (matrix): correlation of the parameters
        residual_norm (number): root of the (weighted) sum of squares

    Diagnostics:
        converged: always true; without convergence the call fails
        iterations: iterations of the best way
        condition_number: of the derivatives, columns scaled to norm 1
        max_abs_correlation: largest correlation in magnitude
        dof: degrees of freedom
        relative_step: last relative step
        other_minima: residual norms of worse minima that were met
        at_bound: parameters that a bound holds

    Raises:
        NO_CONVERGENCE: no minimum was reached, or the parameters are not identifiable
        UNKNOWN_SYMBOL: the model has a symbol that is neither x nor a parameter
        SHAPE_MISMATCH: sizes do not fit

    Example:
        {"model": "a*exp(-k*x)", "x": "x", "parameters": ["a", "k"], "xdata": [0, 1, 2, 3],
         "ydata": ["2.0", "1.2", "0.75", "0.45"], "start": [1, 1]}
    """
    points = _points(x, parameters, xdata, ydata, sigma, start)
    unknown = sorted(free_symbols(model) - {x, *parameters})
    if unknown:
        raise ToolError("UNKNOWN_SYMBOL", f"the model has {', '.join(unknown)}", f"known: {x}, {', '.join(parameters)}")
    derivatives = _derivatives(model, parameters)
    data = (_doubles(points.x), _doubles(points.y), _doubles(points.sigma))
    problem = problem_of(model, derivatives, x, parameters, data)
    problem = _bounded(problem, bounds, start)
    with one_thread(), np.errstate(all="ignore"):
        found = minimise(problem, start)
        if not found:
            raise ToolError("NO_CONVERGENCE", "the model has no real value at the start", "change the start values")
        best = found[0]
        held = _held(problem, best.parameters)
        curvature = curvature_at(_without(problem, best.parameters, held), best.parameters[~held], _size(data))
        others = _others(found)
        small = len(points.y) * (len(parameters) + 1) <= _SMALL
        limit = max(_STEP, min(10 * curvature.rounding, _LOOSE))
        if not held.any() and (small or curvature.rounding > _ROUNDING or best.step > _STEP):
            limit = _STEP
            best = _polished(model, derivatives, points, (x, *parameters), best)
            curvature = curvature_at(problem, best.parameters, _size(data))
        if not best.step < limit or (held.any() and curvature.rounding > _LOOSE):
            raise _unconverged(best)
        if not held.any() and not is_minimum(problem, best, curvature, _size(data)):
            raise _unconverged(best)
    return _result(parameters, best, curvature, held, len(points.y), sigma is not None, others)


class _Points:
    """The data as exact rationals."""

    def __init__(self, x: list[Fraction], y: list[Fraction], sigma: list[Fraction]) -> None:
        self.x, self.y, self.sigma = x, y, sigma


def _column(values: Sequence[Node]) -> list[Fraction]:
    return [value for (value,) in measured(tuple((v,) for v in values))]


def _doubles(values: list[Fraction]) -> Array:
    return np.array([v.numerator / v.denominator for v in values])


def _points(
    x: str,
    parameters: list[str],
    xdata: Sequence[Node],
    ydata: Sequence[Node],
    sigma: Sequence[Node] | None,
    start: Array,
) -> _Points:
    n, p = len(xdata), len(parameters)
    if len(ydata) != n or (sigma is not None and len(sigma) != n):
        raise ToolError("SHAPE_MISMATCH", f"xdata has {n} values, ydata {len(ydata)}", "give one y (and sigma) per x")
    if len(start) != p or not p or len({x, *parameters}) != p + 1:
        raise ToolError(
            "SHAPE_MISMATCH", f"{p} parameters and {len(start)} start values", "give one start per distinct name"
        )
    if p > _PARAMETERS or n > _POINTS:
        raise LimitExceeded("size", f"{p} parameters and {n} points, the bounds are {_PARAMETERS} and {_POINTS}")
    if n < p:
        raise ToolError("NO_CONVERGENCE", f"{n} points do not fix {p} parameters", "give more points")
    spread = [Fraction(1)] * n if sigma is None else _column(sigma)
    if min(spread) <= 0:
        raise ToolError("BAD_INPUT", "sigma must be positive", "leave it out to weigh alike")
    return _Points(_column(xdata), _column(ydata), spread)


def _derivatives(model: Node, parameters: list[str]) -> list[Node]:
    import sympy

    value = to_sympy(model)
    with declining("the model has no derivative in closed form"):
        return [from_sympy(sympy.diff(value, sympy.Symbol(name))) for name in parameters]


def _bounded(problem: Problem, bounds: list[list[float]] | None, start: Array) -> Problem:
    if bounds is None:
        return problem
    if len(bounds) != len(start) or any(len(pair) != 2 or not pair[0] < pair[1] for pair in bounds):
        raise ToolError(
            "SHAPE_MISMATCH", "bounds need one [low, high] with low < high per parameter", 'such as [[0, "oo"]]'
        )
    lower, upper = (np.array([pair[i] for pair in bounds]) for i in (0, 1))
    if (start < lower).any() or (start > upper).any():
        raise ToolError("BAD_INPUT", "the start lies outside the bounds", "start inside")
    return Problem(problem.residual, problem.derivative, problem.linear, lower, upper)


def _held(problem: Problem, b: Array) -> Flags:
    return np.asarray((b <= problem.lower) | (b >= problem.upper))


def _without(problem: Problem, b: Array, held: Flags) -> Problem:
    """Return the problem in the free parameters alone."""
    if not held.any():
        return problem
    if held.all():
        raise ToolError("NO_CONVERGENCE", "every parameter lies at a bound", "widen the bounds")

    def whole(c: Array) -> Array:
        full = b.copy()
        full[~held] = c
        return full

    free = np.full(int((~held).sum()), np.inf)
    return Problem(
        lambda c: problem.residual(whole(c)), lambda c: problem.derivative(whole(c))[:, ~held], (), -free, free
    )


def _size(data: tuple[Array, Array, Array]) -> float:
    return float(np.linalg.norm(data[1] / data[2])) or 1.0


def _others(found: list[Minimum]) -> list[float]:
    """Return residual norms of distinct worse stationary points."""
    best = found[0].cost
    return [math.sqrt(m.cost) for m in found[1:] if m.step < 1e-6 and m.cost > best * (1 + 1e-6) + 1e-300]


def _unconverged(best: Minimum) -> ToolError:
    names = [float(v) for v in best.parameters]
    message = f"no minimum was reached: the last relative step is {best.step:.2g} after {best.iterations} iterations"
    return ToolError(
        "NO_CONVERGENCE",
        message,
        "start closer to the solution, scale the parameters, or use a simpler model",
        last_parameters=names,
        residual_norm=math.sqrt(best.cost),
    )


# ---- the end in ball arithmetic --------------------------------------------------------------------------------------
def _polished(model: Node, derivatives: list[Node], points: _Points, names: tuple[str, ...], best: Minimum) -> Minimum:
    """Take Gauss-Newton steps with residuals to 256 bits, where doubles leave too few digits."""
    from flint import acb, arb, arb_mat, fmpq

    def exact(value: Fraction) -> Any:
        return acb(fmpq(value.numerator, value.denominator))

    with precision(_BITS):
        b = [arb(float(v)) for v in best.parameters]
        step, cost = math.inf, best.cost
        for _ in range(30):
            rows, rest = [], []
            try:
                for xi, yi, si in zip(points.x, points.y, points.sigma, strict=True):
                    values = dict(zip(names, (exact(xi), *(acb(v) for v in b)), strict=True))
                    sigma = exact(si).real
                    rest.append([(exact(yi) - ball(model, values)).real / sigma])
                    rows.append([ball(d, values).real / sigma for d in derivatives])
                j, r = arb_mat(rows).mid(), arb_mat(rest).mid()
                change = (j.transpose() * j).mid().solve((j.transpose() * r).mid(), algorithm="approx").mid()
            except (ToolError, ValueError, ZeroDivisionError):
                return best
            cost = float((r.transpose() * r)[0, 0].mid())
            following = [(v + change[i, 0]).mid() for i, v in enumerate(b)]
            step = max(abs(float(change[i, 0])) / max(abs(float(v)), 1e-300) for i, v in enumerate(following))
            b = following
            if step < 1e-17 or not step < 1e3:
                break
        return Minimum(np.array([float(v) for v in b]), cost, step, best.iterations)


def _result(
    names: list[str], best: Minimum, curvature: Curvature, held: Flags, n: int, weighted: bool, others: list[float]
) -> ToolResult:
    free = [i for i in range(len(names)) if not held[i]]
    dof = n - len(free)
    variance = 1.0 if weighted else best.cost / dof if dof else None
    root = np.sqrt(np.diag(curvature.inverse))
    correlation = np.eye(len(names))
    inner = curvature.inverse / np.outer(root, root)
    np.fill_diagonal(inner, 1.0)
    correlation[np.ix_(free, free)] = inner
    errors: list[float | None] = [None] * len(names)
    if variance is not None:
        for k, i in enumerate(free):
            errors[i] = float(root[k] * math.sqrt(variance))
    output = {
        "parameters": {name: float(v) for name, v in zip(names, best.parameters, strict=True)},
        "stderr": dict(zip(names, errors, strict=True)),
        "correlation": correlation,
        "residual_norm": math.sqrt(best.cost),
    }
    off = np.abs(correlation - np.diag(np.diag(correlation)))
    diagnostics: dict[str, Any] = {
        "converged": True,
        "iterations": best.iterations,
        "condition_number": curvature.condition,
        "max_abs_correlation": float(off.max()),
        "dof": dof,
        "relative_step": best.step,
    }
    if others:
        diagnostics["other_minima"] = others
    if held.any():
        diagnostics["at_bound"] = [name for name, h in zip(names, held, strict=True) if h]
    return ToolResult(output, diagnostics)
