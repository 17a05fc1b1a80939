"""The second-derivative test: what a stationary point is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, difference, free_symbols
from maven_env.expressions.balls import Undecided, nearest_double, precision
from maven_env.tools.kinds import Count, Equation, Expr, Name, Range, Setting, Value, bad_input
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.verification.evidence import closed, double, enclosed

_VARIABLES = 12
_STATIONARY = 1e-6  # gradient allowed, relative to the scale of the higher derivatives and the size of the point
_BITS = (192, 768)
_ZERO = 1e-40  # relative size below which an enclosed derivative counts as zero


@tool(
    kind="verification",
    tier=0,
    near=("jacobian", "numeric_derivative", "check_sign"),
    backend=("python-flint", "numpy"),
)
def second_derivative_test(
    expr: Expr,
    variables: list[Name],
    point: dict[str, Value],
    constraints: list[Equation] | None = None,
    tol: Annotated[Setting, Range(0, 1)] = 1e-8,
    max_order: Annotated[Count, Range(2, 12)] = 6,
) -> ToolResult:
    """Classify a stationary point by its derivatives: of one variable, of several, or under equality constraints.

    The threshold tol is relative: a second derivative that is tiny beside the higher ones counts as zero, and with one
    variable the next order decides. decisive_order says so; where the second derivative is small but surely not zero,
    the verdict is inconclusive and check_sign of the exact second derivative settles it. not_stationary also means
    that the point was rounded too much.

    Args:
        expr: objective
        variables: its variables
        point: values of all symbols, exact if possible; the stationary point among them
        constraints: equalities that the point satisfies; a bare expression means = 0
        tol: relative threshold below which a derivative or an eigenvalue counts as zero
        max_order: highest derivative that is tried with one variable

    Returns:
        verdict (passed | failed | inconclusive): passed if classified for certain, failed if not stationary
        classification (text): minimum, maximum, saddle, inflection, degenerate or not_stationary
        hessian (matrix): second derivatives at the point, of the Lagrangian under constraints
        eigenvalues (vector): of the Hessian, under constraints on their tangent space, ascending
        decisive_order (int): order of the derivative that decided
        tolerance (number): the threshold used

    Diagnostics:
        gradient_norm: largest first derivative, along the constraints
        smallest_eigenvalue_ratio: smallest eigenvalue over the scale that tol refers to
        evidence: what the verdict rests on

    Raises:
        UNKNOWN_SYMBOL: the point lacks a value
        DOMAIN_ERROR: a derivative does not exist or is not real there
        BAD_INPUT: no variables, or too many constraints

    Example:
        {"expr": "x^3 - 3*x", "variables": ["x"], "point": {"x": 1}}
    """
    if not variables or len(set(variables)) != len(variables):
        raise bad_input("variables must be different names, at least one")
    if len(variables) > _VARIABLES:
        raise LimitExceeded("size", f"{len(variables)} variables, the bound is {_VARIABLES}")
    gaps = [difference(constraint) for constraint in constraints or []]
    _check_values(expr, gaps, variables, point)
    if gaps:
        if len(gaps) >= len(variables):
            raise bad_input("there must be fewer constraints than variables", "the point is fixed by the constraints")
        return _constrained(expr, variables, point, gaps, tol)
    return (
        _one(expr, variables[0], point, tol, max_order) if len(variables) == 1 else _many(expr, variables, point, tol)
    )


def _check_values(expr: Node, gaps: Sequence[Node], variables: Sequence[str], point: dict[str, Node]) -> None:
    needed = free_symbols(expr).union(variables, *(free_symbols(gap) for gap in gaps))
    missing = sorted(needed - set(point))
    if missing:
        known = f"known: {', '.join(point) or 'none'}"
        raise ToolError("UNKNOWN_SYMBOL", f"point has no value for {', '.join(missing)}", known)
    for name, value in point.items():
        if free_symbols(value):
            raise ToolError("UNKNOWN_SYMBOL", f"the value of {name} has symbols", "give closed numbers")


def _output(
    holds: bool | None, name: str, hessian: Any, eigenvalues: Any, order: int | None, tol: float
) -> dict[str, Any]:
    return {
        "verdict": verdict(holds),
        "classification": name,
        "hessian": hessian,
        "eigenvalues": eigenvalues,
        "decisive_order": order,
        "tolerance": tol,
    }


# ---- one variable ----------------------------------------------------------------------------------------------------
def _one(expr: Node, name: str, point: dict[str, Node], tol: float, max_order: int) -> ToolResult:
    d = _derivatives(expr, name, point, max(max_order, 4))
    size = max(1.0, abs(nearest_double(point[name])))
    scale = max((abs(x) for x in d[2:5]), default=0.0) or max((abs(x) for x in d[2:]), default=0.0)
    ratio = abs(d[2]) / scale if scale else 0.0
    facts: dict[str, Any] = {"gradient_norm": abs(d[1]), "smallest_eigenvalue_ratio": ratio}
    if abs(d[1]) > _STATIONARY * scale * size:
        facts["evidence"] = (
            f"the first derivative {d[1]:.4g} is not small beside the scale {scale:.4g} of the next ones"
        )
        return ToolResult(_output(False, "not_stationary", [[d[2]]], [d[2]], 1, tol), facts)
    for k in range(2, max_order + 1):
        if scale and abs(d[k]) > tol * scale:
            kind = "inflection" if k % 2 else "minimum" if d[k] > 0 else "maximum"
            skipped = [j for j in range(2, k) if d[j] != 0]
            facts["evidence"] = f"the derivative of order {k} is {d[k]:.6g}"
            if skipped:
                lower = ", ".join(f"order {j}: {d[j]:.3g}" for j in skipped)
                facts["evidence"] += f"; lower ones are below tol times {scale:.3g} but not zero ({lower})"
            return ToolResult(_output(None if skipped else True, kind, [[d[2]]], [d[2]], k, tol), facts)
    facts["evidence"] = f"all derivatives up to order {max_order} are below tol times the scale {scale:.3g}"
    return ToolResult(_output(None, "degenerate", [[d[2]]], [d[2]], None, tol), facts)


def _derivatives(expr: Node, name: str, point: dict[str, Node], order: int) -> list[float]:
    """Return the derivatives of order 0 to `order`; those that are zero to 40 digits of the scale are zero."""
    from flint import acb

    from maven_env.expressions.analysis.jets import jet

    failure: Undecided | None = None
    for bits in _BITS:
        values = {symbol: enclosed(value, bits) for symbol, value in point.items()}
        with precision(bits):
            try:
                found = [_real(c) * math.factorial(k) for k, c in enumerate(jet(expr, values, {name: acb(1)}, order))]
            except Undecided as error:
                failure = error
                continue
            scale = max((abs(double(x)) for x in found[1:]), default=0.0)
            if all(_is_sharp(x, scale) for x in found):
                return [_rounded(x, scale) for x in found]
    raise failure or Undecided("the derivatives cannot be enclosed here")


def _real(value: Any) -> Any:
    if not value.imag.contains(0):
        raise ToolError("DOMAIN_ERROR", "the objective is not real here", "take re(...) or Abs(...)")
    return value.real


def _is_sharp(value: Any, scale: float) -> bool:
    return bool(value.rad() <= _ZERO * scale) or value.rel_accuracy_bits() > 60


def _rounded(value: Any, scale: float) -> float:
    return 0.0 if (value.contains(0) and value.abs_upper() <= _ZERO * scale) or value == 0 else double(value)


# ---- several variables -----------------------------------------------------------------------------------------------
def _many(expr: Node, variables: list[str], point: dict[str, Node], tol: float) -> ToolResult:
    import numpy as np

    gradient, hessian = _second_order(expr, variables, point)
    values = np.linalg.eigvalsh(np.array(hessian))
    norm = max(abs(g) for g in gradient)
    return _classified(norm, hessian, values, _size(variables, point), tol)


def _size(variables: Sequence[str], point: dict[str, Node]) -> float:
    return max(1.0, *(abs(nearest_double(point[name])) for name in variables))


def _classified(norm: float, hessian: Any, values: Any, size: float, tol: float) -> ToolResult:
    eigenvalues = [float(v) for v in values]
    scale = max(abs(v) for v in eigenvalues)
    ratio = min(abs(v) for v in eigenvalues) / scale if scale else 0.0
    facts: dict[str, Any] = {"gradient_norm": norm, "smallest_eigenvalue_ratio": ratio}
    if norm > _STATIONARY * scale * size:
        facts["evidence"] = f"the gradient {norm:.4g} is not small beside the scale {scale:.4g} of the Hessian"
        return ToolResult(_output(False, "not_stationary", hessian, eigenvalues, 1, tol), facts)
    above, below = max(eigenvalues) > tol * scale, min(eigenvalues) < -tol * scale
    if above and below:
        facts["evidence"] = "the Hessian has eigenvalues of both signs"
        return ToolResult(_output(True, "saddle", hessian, eigenvalues, 2, tol), facts)
    if scale == 0 or ratio <= tol:
        facts["evidence"] = f"the smallest eigenvalue is {ratio:.3g} of the largest, below tol"
        return ToolResult(_output(None, "degenerate", hessian, eigenvalues, None, tol), facts)
    facts["evidence"] = f"all eigenvalues of the Hessian have one sign, the smallest is {ratio:.3g} of the largest"
    return ToolResult(_output(True, "minimum" if above else "maximum", hessian, eigenvalues, 2, tol), facts)


def _second_order(
    expr: Node, variables: Sequence[str], point: dict[str, Node]
) -> tuple[list[float], list[list[float]]]:
    """Return gradient and Hessian, each entry rounded from an enclosure; mixed ones from the diagonal e_i + e_j."""
    from flint import acb

    from maven_env.expressions.analysis.jets import jet

    failure: Undecided | None = None
    n = len(variables)
    for bits in _BITS:
        values = {symbol: enclosed(value, bits) for symbol, value in point.items()}
        with precision(bits):
            try:
                single = [jet(expr, values, {v: acb(1)}, 2) for v in variables]
                second = [[2 * _real(single[i][2]) for _ in range(n)] for i in range(n)]
                for i in range(n):
                    for j in range(i):
                        both = jet(expr, values, {variables[i]: acb(1), variables[j]: acb(1)}, 2)[2]
                        second[i][j] = second[j][i] = _real(both - single[i][2] - single[j][2])
            except Undecided as error:
                failure = error
                continue
            first = [_real(c[1]) for c in single]
            scale = max(abs(double(x)) for row in second for x in row) or max(abs(double(x)) for x in first)
            if all(_is_sharp(x, scale) for x in (*first, *(x for row in second for x in row))):
                return [_rounded(x, scale) for x in first], [[_rounded(x, scale) for x in row] for row in second]
    raise failure or Undecided("the derivatives cannot be enclosed here")


# ---- constraints -----------------------------------------------------------------------------------------------------
def _constrained(
    expr: Node, variables: list[str], point: dict[str, Node], gaps: Sequence[Node], tol: float
) -> ToolResult:
    """Test the Hessian of the Lagrangian on the tangent space of the constraints."""
    import numpy as np

    size = _size(variables, point)
    gradient, hessian = (np.array(part) for part in _second_order(expr, variables, point))
    parts = [_second_order(gap, variables, point) for gap in gaps]
    normals = np.array([first for first, _ in parts])
    for gap, normal in zip(gaps, normals, strict=True):
        value = abs(double(_real(enclosed(closed(gap, point), _BITS[0]))))
        if value > _STATIONARY * size * max(float(np.abs(normal).max()), 1e-300):
            facts = {"gradient_norm": None, "evidence": f"a constraint is off by {value:.4g} at the point"}
            return ToolResult(_output(False, "not_stationary", hessian, [], None, tol), facts)
    _, s, vt = np.linalg.svd(normals)
    if s[-1] <= 1e-10 * s[0]:
        facts = {"gradient_norm": None, "evidence": "the constraints are not independent at the point"}
        return ToolResult(_output(None, "degenerate", hessian, [], None, tol), facts)
    multipliers = np.linalg.lstsq(normals.T, gradient, rcond=None)[0]
    lagrangian = hessian - sum(m * np.array(second) for m, (_, second) in zip(multipliers, parts, strict=True))
    tangent = vt[len(gaps) :].T
    reduced = tangent.T @ lagrangian @ tangent
    norm = float(np.abs(tangent.T @ gradient).max())
    found = _classified(norm, lagrangian.tolist(), np.linalg.eigvalsh((reduced + reduced.T) / 2), size, tol)
    return ToolResult(found.output, {**found.diagnostics, "multipliers": [float(m) for m in multipliers]})
