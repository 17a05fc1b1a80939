"""Products and inverses of matrices, exact or as doubles."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Matrix, Node, Number, matrix_text
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.numeric import float_of
from maven_env.tools.kinds import EXPR, MATRIX, ExactMatrix, Index, Kind, Resolve, read_expr, whole
from maven_env.tools.linear_algebra.error_bounds import USELESS, Array, condition, inverse_of, require_finite, singular
from maven_env.tools.linear_algebra.exact_matrices import (
    conditions,
    elements,
    exact_text,
    flint_matrix,
    rationals,
    reduce_rows,
    require_square,
)
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread
from maven_env.types import Json

_FACTORS = 20
_PRODUCTS = 200_000  # of entries, in an exact product


def _read_factor(value: Json, resolve: Resolve) -> Matrix:
    """Read a matrix, a vector (a column), or a number or expression (a scalar)."""
    value = whole(value, resolve)
    return MATRIX.read(value, resolve) if isinstance(value, list) else ((read_expr(value, resolve),),)


Factor = Annotated[
    Matrix,
    Kind("matrix, vector or scalar", {"anyOf": [dict(MATRIX.schema), dict(EXPR.schema)]}, _read_factor, matrix_text),
]


def doubles(matrix: Matrix) -> Array:
    """Return the entries as the nearest doubles."""
    return np.array([[nearest_double(entry) for entry in row] for row in matrix], dtype=np.float64)


@tool(
    kind="exact",
    tier=0,
    near=("lstsq_normal_equations", "matrix_inverse"),
    backend=("python-flint", "numpy"),
)
def matrix_product(
    factors: list[Factor],
    transpose: list[Index] | None = None,
    arithmetic: Literal["exact", "double"] = "double",
) -> ToolResult:
    """Multiply matrices, vectors and scalars from left to right.

    Forming transpose(A)*A in doubles already loses the small singular values. A vector is a column; transpose it to
    make it a row. A power is the factor repeated.

    Args:
        factors: matrices, vectors (flat lists) and scalars, left to right
        transpose: indices of factors to transpose, counted from 0
        arithmetic: exact, also for symbols, or double

    Returns:
        matrix (matrix): the product
        shape (list of int): rows and columns of the product
        scalar (number): the entry of a 1 x 1 product, else null

    Diagnostics:
        arithmetic: how it was computed; doubles of rational entries are exact and rounded once where the size allows it
        symmetric: whether the product is symmetric

    Raises:
        SHAPE_MISMATCH: neighbours do not fit
        UNKNOWN_SYMBOL: a symbol in double arithmetic
        LIMIT_EXCEEDED: the product is too large for exact arithmetic

    Example:
        {"factors": [["1", "2"], [["1", "0"], ["0", "3"]], ["1", "2"]], "transpose": [0], "arithmetic": "exact"}
    """
    if not 1 <= len(factors) <= _FACTORS:
        raise ToolError("BAD_INPUT", f"expected 1 to {_FACTORS} factors, got {len(factors)}")
    turned = set(transpose or ())
    if any(not 0 <= index < len(factors) for index in turned):
        raise ToolError("BAD_INPUT", f"transpose names {sorted(turned)}, the factors are 0 to {len(factors) - 1}")
    matrices: list[Matrix] = [
        tuple(zip(*matrix, strict=True)) if i in turned else matrix for i, matrix in enumerate(factors)
    ]
    cost = _cost(matrices)
    how: str = arithmetic
    if arithmetic == "exact":
        table: Any = _exact_product(matrices, cost)
    else:
        exact = [rationals(matrix) for matrix in matrices]
        known = [rows for rows in exact if rows is not None]
        if len(known) == len(exact) and cost <= _PRODUCTS // 10:
            how = "double, rounded once"
            table = [[float_of(fraction(v)) for v in row] for row in _rational_product(known).tolist()]
        else:
            with one_thread(), np.errstate(all="ignore"):
                table = _fold([doubles(matrix) for matrix in matrices], lambda a, b: a @ b, lambda a, s: a * s[0, 0])
            require_finite(table)
            table = table.tolist()
    shape = [len(table), len(table[0])]
    symmetric = shape[0] == shape[1] and all(table[i][j] == table[j][i] for i in range(shape[0]) for j in range(i))
    output = {"matrix": table, "shape": shape, "scalar": table[0][0] if shape == [1, 1] else None}
    return ToolResult(output, {"arithmetic": how, "symmetric": symmetric})


def _cost(matrices: list[Matrix]) -> int:
    """Return the number of products of entries. Raises SHAPE_MISMATCH."""
    rows, columns = len(matrices[0]), len(matrices[0][0])
    cost = 0
    for i, matrix in enumerate(matrices[1:], 1):
        r, c = len(matrix), len(matrix[0])
        if columns == r:
            cost += rows * columns * c
            columns = c
        elif (r, c) == (1, 1) or (rows, columns) == (1, 1):
            cost += rows * columns * r * c
            rows, columns = (rows, columns) if (r, c) == (1, 1) else (r, c)
        else:
            message = f"factor {i} is {r} x {c}, what stands before it is {rows} x {columns}"
            raise ToolError("SHAPE_MISMATCH", message, "transpose a factor, or check the order")
    return cost


def _fold(matrices: list[Any], multiply: Callable[[Any, Any], Any], scale: Callable[[Any, Any], Any]) -> Any:
    total = matrices[0]
    for matrix in matrices[1:]:
        if total.shape[1] == matrix.shape[0]:
            total = multiply(total, matrix)
        elif matrix.shape == (1, 1):
            total = scale(total, matrix)
        else:
            total = scale(matrix, total)
    return total


def _rational_product(matrices: list[list[list[Fraction]]]) -> Any:
    total = flint_matrix(matrices[0])
    for rows in matrices[1:]:
        following = flint_matrix(rows)
        if total.ncols() == following.nrows():
            total = total * following
        elif (following.nrows(), following.ncols()) == (1, 1):
            total = total * following[0, 0]
        else:
            total = following * total[0, 0]
    return total


def _exact_product(matrices: list[Matrix], cost: int) -> list[list[str]]:
    if cost > _PRODUCTS:
        raise LimitExceeded(
            "size", f"an exact product of {cost} products is beyond {_PRODUCTS}", "use double arithmetic"
        )
    exact = [rationals(matrix) for matrix in matrices]
    known = [rows for rows in exact if rows is not None]
    if len(known) == len(exact):
        return [[exact_text(fraction(v)) for v in row] for row in _rational_product(known).tolist()]
    field = Field(entry for matrix in matrices for row in matrix for entry in row)
    total = [[field.element(entry) for entry in row] for row in matrices[0]]
    for matrix in matrices[1:]:
        rows = [[field.element(entry) for entry in row] for row in matrix]
        if len(total[0]) == len(rows):
            columns = list(zip(*rows, strict=True))
            total = [[_dot(field, row, column) for column in columns] for row in total]
        elif len(rows) == len(rows[0]) == 1:
            total = [[entry * rows[0][0] for entry in row] for row in total]
        else:
            total = [[total[0][0] * entry for entry in row] for row in rows]
    return [[str(entry) for entry in row] for row in total]


def _dot(field: Field, row: Any, column: Any) -> Any:
    total = field.zero
    for a, b in zip(row, column, strict=True):
        total = total + a * b
    return total


@tool(kind="exact", tier=0, near=("solve_linear_system", "solve_linear_exact"), backend=("python-flint", "numpy"))
def matrix_inverse(matrix: ExactMatrix, arithmetic: Literal["exact", "double"] = "double") -> ToolResult:
    """Invert a square matrix, exactly or in double precision.

    To solve A x = b use solve_linear_system, which is faster and more accurate; the inverse serves where its entries
    themselves are wanted, such as covariances. In doubles, read relative_error_bound.

    Args:
        matrix: square matrix; expressions only in exact arithmetic
        arithmetic: exact or double

    Returns:
        matrix (matrix): the inverse

    Diagnostics:
        condition_number: 2-norm condition number, in double arithmetic
        residual_identity: largest entry of matrix*inverse minus the unit matrix
        relative_error_bound: bound of the error over the largest row sum of the inverse, in double arithmetic
        exact: whether the arithmetic was exact
        valid_unless_zero: the determinant's factors, which must not vanish for a symbolic inverse to hold

    Raises:
        SINGULAR: there is no inverse, or in doubles no digit of it is sure
        SHAPE_MISMATCH: the matrix is not square
        UNSOLVED: it cannot be decided whether an entry that elimination makes is zero

    Example:
        {"matrix": [["2", "1"], ["1", "1"]], "arithmetic": "exact"}
    """
    n = require_square(matrix)
    if arithmetic == "double":
        return _double_inverse(doubles(matrix))
    exact = rationals(matrix)
    if exact is not None:
        try:
            inverse = flint_matrix(exact).inv()
        except ZeroDivisionError:
            raise _no_inverse() from None
        table = [[exact_text(fraction(v)) for v in row] for row in inverse.tolist()]
        return ToolResult({"matrix": table}, {"residual_identity": 0.0, "exact": True})
    unit: list[list[Node]] = [[Number(Fraction(int(i == j))) for j in range(n)] for i in range(n)]
    field, rows = elements(tuple((*row, *extra) for row, extra in zip(matrix, unit, strict=True)))
    reduced = reduce_rows(field, rows, n)
    if len(reduced.pivots) < n:
        raise _no_inverse()
    diagnostics: dict[str, Any] = {"residual_identity": 0.0, "exact": True}
    needed = conditions([reduced.determinant])
    if needed:
        diagnostics["valid_unless_zero"] = needed
    return ToolResult({"matrix": [[str(entry) for entry in row[n:]] for row in reduced.rows]}, diagnostics)


def _no_inverse() -> ToolError:
    return ToolError(
        "SINGULAR", "the determinant is zero: there is no inverse", "see null_space for the dependent rows"
    )


def _double_inverse(matrix: Array) -> ToolResult:
    with one_thread(), np.errstate(all="ignore"):
        require_finite(matrix)
        found = inverse_of(matrix)
        bound = found.defect / (1 - found.defect)
        if not bound < USELESS:
            raise singular("the matrix is singular to working precision: no digit of its inverse is sure", matrix)
        residual = float(np.abs(matrix @ found.matrix - np.eye(len(matrix))).max())
        kappa = condition(matrix)
    require_finite(found.matrix)
    diagnostics = {
        "condition_number": kappa,
        "residual_identity": residual,
        "relative_error_bound": bound,
        "exact": False,
    }
    return ToolResult({"matrix": found.matrix}, diagnostics)
