"""Statistics: linear regression computed exactly and rounded once, and propagation of uncertainties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, free_symbols, rational_value, replace, to_text, walk
from maven_env.expressions.balls import value_ball
from maven_env.expressions.numeric import float_of, unknown_symbols
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import Call, Negative, Sum
from maven_env.tools.exact_matrices import fraction, measured
from maven_env.tools.kinds import Exact, ExactMatrix, ExactVector, Expr
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, declining
from maven_env.tools.threads import one_thread

_DENOMINATOR_BITS = 4_096  # common denominator of one column of data
_PARAMETERS = 30


@tool(
    kind="numeric",
    tier=0,
    near=("lstsq_qr", "lstsq_normal_equations", "nonlinear_fit"),
    backend=("python-flint",),
)
def linear_regression(
    x: ExactMatrix,
    y: ExactVector,
    sigma: ExactVector | None = None,
    intercept: bool = True,
    center: bool = True,
) -> ToolResult:
    """Fit a straight line or a multiple linear regression, with standard errors.

    The data count as exact and every figure is rounded once, so ill conditioned designs come out right; a
    condition_number above 1e8 still means that small errors of the data change the result. R^2 near 1 is no evidence of
    linearity: look at the residuals. An intercept far outside the data is an extrapolation.

    Args:
        x: predictor as a flat list, or a matrix with one row per point and one column per predictor
        y: response, one value per point
        sigma: standard deviations of y; then the errors follow from them and not from the scatter
        intercept: fit an intercept
        center: report the condition number of the centred predictors; the result is the same

    Returns:
        slope (number or vector): slope, one for each predictor
        intercept (number): intercept; 0 if none is fitted
        stderr_slope (number or vector): standard errors of the slopes; null without degrees of freedom
        stderr_intercept (number): standard error of the intercept; null if none is fitted
        r_squared (number): share of the variance explained, about zero if no intercept is fitted; null if y is constant
        residuals (vector): y minus the fit
        covariance (matrix): covariance of intercept (if fitted) and slopes, in this order

    Diagnostics:
        method: how it was computed
        condition_number: of the weighted design matrix
        dof: degrees of freedom
        residual_std: root of the (weighted) sum of squares over dof
        max_leverage: largest leverage of a point; near 1 means that the point alone fixes a parameter
        chi_squared: weighted sum of squares, if sigma is given

    Raises:
        RANK_DEFICIENT: the predictors depend linearly on each other, or there are fewer points than parameters
        SHAPE_MISMATCH: x, y and sigma differ in length

    Example:
        {"x": [1, 2, 3, 4], "y": ["2.1", "3.9", "6.2", "7.8"]}
    """
    design, response, weights = _data(x, y, sigma, intercept)
    n, p = len(design), len(design[0])
    if n < p:
        raise ToolError(
            "RANK_DEFICIENT", f"{n} points do not fix {p} parameters", "give more points or fewer predictors"
        )
    matrix = _flint(design)
    target = _flint([[value] for value in response])
    weighted = (
        matrix if sigma is None else _flint([[w * v for v in row] for w, row in zip(weights, design, strict=True)])
    )
    gram = weighted.transpose() * matrix
    try:
        inverse = gram.inv()
    except ZeroDivisionError:
        raise _deficient(matrix, p) from None
    beta = inverse * (weighted.transpose() * target)
    residuals = [fraction(row[0]) for row in (target - matrix * beta).tolist()]
    rss = sum((w * r * r for w, r in zip(weights, residuals, strict=True)), Fraction(0))
    dof = n - p
    scale = Fraction(1) if sigma is not None else rss / dof if dof else None
    covariance = None
    if scale is not None:
        covariance = [[scale * fraction(v) for v in row] for row in inverse.tolist()]
    errors = [None if covariance is None else root(covariance[i][i]) for i in range(p)]
    values = [float_of(fraction(row[0])) for row in beta.tolist()]
    leverages = (weighted * inverse).tolist()
    leverage = max(
        sum((fraction(a) * b for a, b in zip(row, points, strict=True)), Fraction(0))
        for row, points in zip(leverages, design, strict=True)
    )
    first = 1 if intercept else 0
    single = p - first == 1
    output = {
        "slope": values[first] if single else values[first:],
        "intercept": values[0] if intercept else 0.0,
        "stderr_slope": errors[first] if single else errors[first:],
        "stderr_intercept": errors[0] if intercept else None,
        "r_squared": _r_squared(response, weights, rss, intercept),
        "residuals": [float_of(r) for r in residuals],
        "covariance": None if covariance is None else [[float_of(v) for v in row] for row in covariance],
    }
    diagnostics: dict[str, Any] = {
        "method": "exact normal equations, rounded once",
        "condition_number": _design_condition(design, weights, first if center else 0),
        "dof": dof,
        "residual_std": root(rss / dof) if dof else None,
        "max_leverage": float_of(leverage),
    }
    if sigma is not None:
        diagnostics["chi_squared"] = float_of(rss)
    return ToolResult(output, diagnostics)


def _data(
    x: tuple[tuple[Node, ...], ...], y: tuple[Node, ...], sigma: tuple[Node, ...] | None, intercept: bool
) -> tuple[list[list[Fraction]], list[Fraction], list[Fraction]]:
    """Return the design matrix, the response and the weights as rationals."""
    rows = measured(x)
    n = len(y)
    if len(rows) == 1 and n > 1 and len(rows[0]) == n:
        rows = [[value] for value in rows[0]]
    if len(rows) != n:
        raise ToolError("SHAPE_MISMATCH", f"x has {len(rows)} points, y has {n}", "give one row of x per value of y")
    if sigma is not None and len(sigma) != n:
        raise ToolError("SHAPE_MISMATCH", f"sigma has {len(sigma)} values, y has {n}", "give one sigma per value of y")
    if len(rows[0]) + intercept > _PARAMETERS:
        raise LimitExceeded("size", f"{len(rows[0])} predictors, the bound is {_PARAMETERS - 1}", "use lstsq_qr")
    design = [[Fraction(1), *row] if intercept else row for row in rows]
    weights = [Fraction(1)] * n
    if sigma is not None:
        spread = [value for (value,) in measured(tuple((s,) for s in sigma))]
        if min(spread) <= 0:
            raise ToolError(
                "BAD_INPUT", f"sigma must be positive, got {float_of(min(spread)):g}", "leave it out to weigh alike"
            )
        weights = [1 / (s * s) for s in spread]
    return design, [value for (value,) in measured(tuple((value,) for value in y))], weights


def _flint(rows: list[list[Fraction]]) -> Any:
    from flint import fmpq, fmpq_mat

    for column in zip(*rows, strict=True):
        if math.lcm(*{v.denominator for v in column}).bit_length() > _DENOMINATOR_BITS:
            raise LimitExceeded(
                "size", "the fractions of one column have no moderate common denominator", "give decimals"
            )
    return fmpq_mat([[fmpq(v.numerator, v.denominator) for v in row] for row in rows])


def _deficient(matrix: Any, parameters: int) -> ToolError:
    rank = matrix.rank()
    message = (
        f"the design matrix has rank {rank}, less than its {parameters} parameters: predictors depend on each other"
    )
    return ToolError("RANK_DEFICIENT", message, "drop a predictor (a constant one repeats the intercept)", rank=rank)


def root(value: Fraction) -> float:
    """Return the square root of a rational as the nearest double."""
    from flint import arb, fmpq

    from maven_env.expressions.balls import precision

    with precision(160):
        return float(arb(fmpq(value.numerator, value.denominator)).sqrt().mid())


def _r_squared(response: list[Fraction], weights: list[Fraction], rss: Fraction, intercept: bool) -> float | None:
    mean = Fraction(0)
    if intercept:
        mean = sum((w * v for w, v in zip(weights, response, strict=True)), Fraction(0)) / sum(weights)
    total = sum((w * (v - mean) ** 2 for w, v in zip(weights, response, strict=True)), Fraction(0))
    return float_of(1 - rss / total) if total else None


def _design_condition(design: list[list[Fraction]], weights: list[Fraction], first: int) -> float:
    """Return the 2-norm condition of the weighted design; predictors from column `first` are centred if that is 1."""
    columns = list(zip(*design, strict=True))
    if first:
        total = sum(weights)
        means = [sum(w * v for w, v in zip(weights, column, strict=True)) / total for column in columns]
        columns = [columns[0]] + [tuple(v - m for v in c) for c, m in zip(columns[1:], means[1:], strict=True)]
    scale = np.sqrt(np.array([float_of(w) for w in weights]))
    table = np.array([[float_of(v) for v in column] for column in columns]).T * scale[:, None]
    with one_thread():
        singular = np.linalg.svd(table, compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf


# ---- uncertainties ---------------------------------------------------------------------------------------------------
@tool(kind="numeric", tier=1, near=("linear_regression",), backend=("sympy", "python-flint"))
def propagate_uncertainty(
    expr: Expr,
    values: dict[str, Exact],
    sigma: dict[str, Exact],
    correlation: dict[str, Exact] | None = None,
    second_order: bool = True,
) -> ToolResult:
    """Propagate standard deviations through an expression, with correlation and a check of linearity.

    Near an extremum the first-order sigma vanishes: linear_ok is then false and bias shows the shift. Values that come
    from one fit are correlated.

    Args:
        expr: function of the uncertain quantities
        values: means, for every symbol of expr
        sigma: standard deviations; a symbol that is left out is exact
        correlation: correlation coefficients of pairs, such as {"a,b": "0.5"}; others are 0
        second_order: report the curvature terms

    Returns:
        value (number): the function at the means
        sigma (number): its standard deviation, to first order
        contributions (map): share of each input in the variance; the shares add up to 1
        bias (number): shift of the mean by the curvature, to second order; null if not asked for

    Diagnostics:
        linear_ok: whether the second-order part of the standard deviation is at most a tenth of sigma
        sensitivity: first derivatives at the means
        second_order_sigma: second-order part of the standard deviation, for normal inputs

    Raises:
        DOMAIN_ERROR: the function or a derivative has no real value at the means
        UNKNOWN_SYMBOL: a symbol has no value
        BAD_INPUT: a standard deviation is negative, or the correlations are impossible

    Example:
        {"expr": "a*b", "values": {"a": "2", "b": "3"}, "sigma": {"a": "0.1", "b": "0.2"}}
    """
    import sympy

    names = _uncertain(expr, values, sigma)
    spread = [_rational(sigma[name], {}) for name in names]
    if any(s < 0 for s in spread):
        raise ToolError("BAD_INPUT", "a standard deviation is negative", "give its magnitude")
    rho = _correlations(names, correlation or {})
    _refuse_corners(expr, values)
    value = _rational(expr, values)
    function = to_sympy(expr)
    with declining("the function has no derivative in closed form"):
        first = [sympy.diff(function, sympy.Symbol(name)) for name in names]
        second = [[sympy.diff(d, sympy.Symbol(name)) for name in names] for d in first] if second_order else []
    gradient = [_rational(from_sympy(d), values) for d in first]
    n = range(len(names))
    steps = [g * s for g, s in zip(gradient, spread, strict=True)]
    shares = [steps[i] * sum((rho[i][j] * steps[j] for j in n), Fraction(0)) for i in n]
    variance = sum(shares, Fraction(0))
    deviation = root(max(variance, Fraction(0)))
    diagnostics: dict[str, Any] = {
        "sensitivity": {name: float_of(g) for name, g in zip(names, gradient, strict=True)},
    }
    bias: float | None = None
    if second_order:
        hessian = [[_rational(from_sympy(d), values) for d in row] for row in second]
        curved = [
            [sum((hessian[i][k] * spread[k] * rho[k][j] * spread[j] for k in n), Fraction(0)) for j in n] for i in n
        ]
        bias = float_of(sum((curved[i][i] for i in n), Fraction(0)) / 2)
        extra = root(max(sum((curved[i][j] * curved[j][i] for i in n for j in n), Fraction(0)) / 2, Fraction(0)))
        diagnostics = {"linear_ok": extra <= 0.1 * deviation, **diagnostics, "second_order_sigma": extra}
    output = {
        "value": float_of(value),
        "sigma": deviation,
        "contributions": {
            name: float_of(s / variance) if variance else 0.0 for name, s in zip(names, shares, strict=True)
        },
        "bias": bias,
    }
    return ToolResult(output, diagnostics)


def _uncertain(expr: Node, values: Mapping[str, Node], sigma: Mapping[str, Node]) -> list[str]:
    error = unknown_symbols(expr, list(values))
    if error is not None:
        raise error
    for name in sigma:
        if name not in values:
            raise ToolError(
                "UNKNOWN_SYMBOL", f"sigma names {name!r}, which has no value", f"values: {', '.join(values)}"
            )
    return sorted(name for name in sigma if name in free_symbols(expr))


def _rational(node: Node, values: Mapping[str, Node]) -> Fraction:
    """Return a real value to 50 digits as a rational."""
    exact = rational_value(replace(node, values))
    if exact is not None:
        return exact
    found = value_ball(node, values, digits=50)
    if not found.imag.contains(0):
        raise ToolError("DOMAIN_ERROR", f"{to_text(node)[:200]} is not real at these values", "check the means")
    mantissa, exponent = found.real.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _correlations(names: list[str], given: Mapping[str, Node]) -> list[list[Fraction]]:
    rho = [[Fraction(int(i == j)) for j in range(len(names))] for i in range(len(names))]
    for pair, node in given.items():
        parts = [part.strip() for part in pair.split(",")]
        value = _rational(node, {})
        if len(parts) != 2 or parts[0] == parts[1]:
            raise ToolError("BAD_INPUT", f"correlation {pair!r} names no pair", 'write it as {"a,b": "0.5"}')
        if abs(value) > 1:
            raise ToolError("BAD_INPUT", f"the correlation of {pair} is {float_of(value):g}, beyond -1 to 1")
        missing = [part for part in parts if part not in names]
        if missing:
            raise ToolError(
                "UNKNOWN_SYMBOL", f"correlation names {missing[0]!r}, which has no sigma", f"known: {', '.join(names)}"
            )
        i, j = names.index(parts[0]), names.index(parts[1])
        rho[i][j] = rho[j][i] = value
    if names and np.linalg.eigvalsh(np.array([[float(v) for v in row] for row in rho])).min() < -1e-9:
        raise ToolError(
            "BAD_INPUT", "no quantities can have these correlations: the matrix is not positive semidefinite"
        )
    return rho


def _refuse_corners(expr: Node, values: Mapping[str, Node]) -> None:
    """Raise DOMAIN_ERROR where the expression has a corner or a jump just at the means."""
    for part in walk(expr):
        if not isinstance(part, Call):
            continue
        gaps: list[Node] = []
        if part.function in ("Abs", "sign", "Heaviside", "arg"):
            gaps = list(part.arguments)
        elif part.function in ("floor", "ceiling"):
            gaps = [Sum((part.arguments[0], Negative(Call("floor", part.arguments))))]
        elif part.function in ("Min", "Max"):
            gaps = [Sum((a, Negative(b))) for a, b in itertools.combinations(part.arguments, 2)]
        for gap in gaps:
            if _rational(gap, values) == 0:
                raise ToolError(
                    "DOMAIN_ERROR", f"{to_text(part)} has a corner or jump at the means", "move off the corner"
                )
