"""Derivatives of several functions of several variables: the Jacobian matrix, and grad, div, curl, Laplacian."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Node, parse, rational_value, replace, to_text, walk
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.numeric import unknown_symbols
from maven_env.expressions.symbolic import from_sympy, sympy_text, to_sympy
from maven_env.expressions.tree import Call
from maven_env.tools.kinds import Exact, Expr, Name, Operand
from maven_env.tools.linear_algebra.error_bounds import condition
from maven_env.tools.linear_algebra.exact_matrices import conditions, determinant, flint_matrix
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, declining
from maven_env.tools.threads import one_thread
from maven_env.tools.tidy import tidy
from maven_env.tools.weight import guarded_above

_FUNCTIONS = 20


@tool(
    kind="symbolic",
    tier=guarded_above(16, 1),
    near=("symbolic_diff", "vector_calculus", "second_derivative_test"),
    backend=("sympy", "python-flint"),
)
def jacobian(exprs: list[Expr], variables: list[Name], at: dict[str, Exact] | None = None) -> ToolResult:
    """Compute a Jacobian matrix (the gradient, for one function), and its value at a point.

    Stability follows from all eigenvalues, not from the sign of the determinant alone.

    Args:
        exprs: functions, one per row
        variables: variables, one per column
        at: point: values for the variables and all other symbols

    Returns:
        matrix (matrix): derivatives as expressions
        value (matrix): their doubles at the point; null without one
        determinant (expr): determinant, if the matrix is square; else null
        eigenvalues (list of complex): eigenvalues at the point, if the matrix is square; by real part

    Diagnostics:
        singular_at_point: whether the determinant vanishes at the point
        condition_number: 2-norm condition number at the point
        eigenvalue_error: estimate of the absolute error of the eigenvalues; 0 if they come from exact entries

    Raises:
        UNKNOWN_SYMBOL: the point lacks a symbol
        DOMAIN_ERROR: a derivative has no real value at the point
        UNSOLVED: a derivative has no form in the functions that can be written

    Example:
        {"exprs": ["x^2*y", "5*x + sin(y)"], "variables": ["x", "y"], "at": {"x": "1", "y": "0"}}
    """
    import sympy

    if not exprs or not variables or len(exprs) > _FUNCTIONS or len(variables) > _FUNCTIONS:
        raise ToolError(
            "SHAPE_MISMATCH", f"{len(exprs)} functions of {len(variables)} variables, 1 to {_FUNCTIONS} of each"
        )
    if len(set(variables)) < len(variables):
        raise ToolError("BAD_INPUT", "a variable is named twice", "name each once")
    if at is not None:
        for expr in exprs:
            error = unknown_symbols(expr, list(at))
            if error is not None:
                raise error
    with declining("no derivative in closed form"):
        rows = [[sympy.diff(to_sympy(expr), sympy.Symbol(name)) for name in variables] for expr in exprs]
    nodes = [[from_sympy(entry) for entry in row] for row in rows]
    square = len(exprs) == len(variables)
    det = _determinant(nodes) if square else None
    output: dict[str, Any] = {
        "matrix": [[neat(entry) for entry in row] for row in rows],
        "value": None,
        "determinant": det,
        "eigenvalues": None,
    }
    diagnostics: dict[str, Any] = {}
    if at is not None:
        values = [[_real(entry, at) for entry in row] for row in nodes]
        table = np.array(values)
        output["value"] = values
        with one_thread():
            diagnostics["condition_number"] = condition(table)
        if square:
            vanishes = _vanishes(det, nodes, at)
            diagnostics = {"singular_at_point": vanishes, **diagnostics}
            if vanishes:
                diagnostics["condition_number"] = math.inf
            output["eigenvalues"], diagnostics["eigenvalue_error"] = _eigenvalues(nodes, table, at)
    return ToolResult(output, diagnostics)


def neat(value: Any) -> str:
    """Write a sympy expression in the shorter of two forms: tidied, or reduced as a fraction with known relations."""
    texts = [sympy_text(tidy(value)[0])]
    try:
        node = from_sympy(value)
        texts.append(str(Field([node]).element(node)))
    except ToolError:
        pass
    return min(texts, key=len)


def _determinant(nodes: list[list[Node]]) -> str | None:
    """Return the determinant, None if it is beyond the bounds."""
    try:
        field = Field(entry for row in nodes for entry in row)
        return str(determinant(field, [[field.element(entry) for entry in row] for row in nodes]))
    except ToolError:
        return None


def _real(node: Node, at: Mapping[str, Node]) -> float:
    exact = rational_value(replace(node, at))
    return nearest_double(replace(node, at)) if exact is not None else nearest_double(node, at)


def _exact_entries(nodes: list[list[Node]], at: Mapping[str, Node]) -> list[list[Fraction]] | None:
    found = [[rational_value(replace(node, at)) for node in row] for row in nodes]
    rows = [[value for value in row if value is not None] for row in found]
    return rows if all(len(row) == len(nodes) for row in rows) else None


def _vanishes(det: str | None, nodes: list[list[Node]], at: Mapping[str, Node]) -> bool | None:
    """Return whether the determinant is zero at the point, None if that cannot be decided."""
    exact = _exact_entries(nodes, at)
    if exact is not None:
        return bool(flint_matrix(exact).det() == 0)
    if det is None:
        return None
    try:
        node = replace(parse(det), at)
        return Field([node]).element(node).is_zero()
    except ToolError:
        return None


def _eigenvalues(nodes: list[list[Node]], table: Any, at: Mapping[str, Node]) -> tuple[list[complex], float]:
    """Return eigenvalues by real part: from the exact characteristic polynomial if entries are rational."""
    exact = _exact_entries(nodes, at)
    if exact is not None:
        roots = flint_matrix(exact).charpoly().complex_roots()
        found = [complex(_part(r.real), _part(r.imag)) for r, times in roots for _ in range(int(times))]
        return sorted(found, key=lambda z: (z.real, z.imag)), 0.0
    with one_thread():
        values, vectors = np.linalg.eig(table)
        n, norm = len(table), float(np.linalg.norm(table))
        error = min(condition(vectors) * 4 * n * 2.0**-53 * norm, 2 * norm * (4 * n * 2.0**-53) ** (1 / n))
    return sorted((complex(v) for v in values), key=lambda z: (z.real, z.imag)), error


def _part(value: Any) -> float:
    return 0.0 if value.contains(0) else float(value.mid())


# ---- operators of vector analysis ------------------------------------------------------------------------------------
@tool(kind="symbolic", tier=guarded_above(16, 1), near=("jacobian", "symbolic_diff"), backend=("sympy", "python-flint"))
def vector_calculus(
    op: Literal["grad", "div", "curl", "laplacian"],
    field: Operand,
    variables: list[Name],
    coordinates: Literal["cartesian", "cylindrical", "spherical"] = "cartesian",
) -> ToolResult:
    """Compute grad, div, curl or the Laplacian in Cartesian, cylindrical or spherical coordinates.

    Components refer to the orthonormal basis of the coordinates. In spherical coordinates [r, theta, phi] theta is the
    polar angle. div = 0 away from a singular point does not exclude a source at it: see singular_locus.

    Args:
        op: grad or laplacian of a scalar, div or curl of a vector
        field: expression for grad and laplacian, list of three for div and curl
        variables: the three coordinates in order, such as [x, y, z] or [r, theta, phi]
        coordinates: coordinate system

    Returns:
        expr (expr): scalar result, for div and laplacian; else null
        components (list of expr): vector result, for grad and curl; else null

    Diagnostics:
        coordinates: coordinate system
        singular_locus: expressions whose zeros the formula excludes

    Raises:
        SHAPE_MISMATCH: not three variables, or a field of the wrong kind
        UNSOLVED: a derivative has no form in the functions that can be written

    Example:
        {"op": "div", "field": ["x*y", "y*z", "z*x"], "variables": ["x", "y", "z"]}
    """
    import sympy

    if len(variables) != 3 or len(set(variables)) != 3:
        raise ToolError(
            "SHAPE_MISMATCH", f"expected three coordinates, got {len(variables)}", 'such as ["x", "y", "z"]'
        )
    is_vector = isinstance(field, tuple)
    parts: tuple[Node, ...] = field if isinstance(field, tuple) else (field,)
    if is_vector != (op in ("div", "curl")) or (is_vector and len(parts) != 3):
        wanted = "a list of three expressions" if op in ("div", "curl") else "one expression"
        raise ToolError("SHAPE_MISMATCH", f"{op} takes {wanted}, got {len(parts) if is_vector else 'one expression'}")
    q = [sympy.Symbol(name) for name in variables]
    h = {
        "cartesian": (sympy.S.One, sympy.S.One, sympy.S.One),
        "cylindrical": (sympy.S.One, q[0], sympy.S.One),
        "spherical": (sympy.S.One, q[0], q[0] * sympy.sin(q[1])),
    }[coordinates]
    values = [to_sympy(part) for part in parts]
    with declining("no derivative in closed form"):
        result = _apply(op, values, q, h)
    output: dict[str, Any] = {"expr": None, "components": None}
    if op in ("div", "laplacian"):
        output["expr"] = neat(result)
    else:
        output["components"] = [neat(value) for value in result]
    singular = _singular(parts, coordinates, variables)
    return ToolResult(output, {"coordinates": coordinates, "singular_locus": singular})


def _apply(op: str, values: list[Any], q: list[Any], h: tuple[Any, ...]) -> Any:
    """Apply an operator by the formulas of orthogonal coordinates with scale factors h."""
    import sympy

    volume = h[0] * h[1] * h[2]
    if op == "grad":
        return [sympy.diff(values[0], q[i]) / h[i] for i in range(3)]
    if op == "laplacian":
        flows = [volume / h[i] ** 2 * sympy.diff(values[0], q[i]) for i in range(3)]
        return sympy.Add(*(sympy.diff(flows[i], q[i]) for i in range(3))) / volume
    if op == "div":
        return sympy.Add(*(sympy.diff(volume / h[i] * values[i], q[i]) for i in range(3))) / volume
    turned = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turned.append((sympy.diff(h[k] * values[k], q[j]) - sympy.diff(h[j] * values[j], q[k])) / (h[j] * h[k]))
    return turned


def _singular(parts: tuple[Node, ...], coordinates: str, variables: list[str]) -> list[str]:
    """Return where coordinates or field are singular: zeros of denominators and arguments of logarithms."""
    found: list[str] = []
    if coordinates != "cartesian":
        found.append(variables[0])
    if coordinates == "spherical":
        found.append(f"sin({variables[1]})")
    try:
        own = Field(parts)
        inverse = [own.one / own.from_terms(own.element(part).den.to_dict()) for part in parts]
        found += conditions(inverse)
    except ToolError:
        pass
    found += [
        to_text(n.arguments[0]) for part in parts for n in walk(part) if isinstance(n, Call) and n.function == "log"
    ]
    return list(dict.fromkeys(found))
