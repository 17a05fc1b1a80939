"""Propagation of uncertainties through an expression."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols, rational_value, replace, to_text, walk
from maven_env.expressions.balls import dyadic, value_ball
from maven_env.expressions.numeric import float_of, unknown_symbols
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import Call, Negative, Sum
from maven_env.tools.kinds import Exact, Expr
from maven_env.tools.linear_algebra.exact_matrices import root
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, declining


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
        UNSOLVED: a derivative has no form in the functions that can be written

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
    return dyadic(found.real.mid())


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
