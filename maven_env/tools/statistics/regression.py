"""Linear regression, computed exactly and rounded once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.numeric import float_of
from maven_env.tools.kinds import ExactMatrix, ExactVector
from maven_env.tools.linear_algebra.exact_matrices import measured, root
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
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
