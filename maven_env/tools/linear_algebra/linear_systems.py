"""Linear algebra in double precision with error bounds: determinant and direct solution.

A value is returned as long as its bound leaves digits that are right; else the tool says that the matrix is singular to
working precision. The bounds cover the rounding of the entries to doubles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maven_env.tools.kinds import FloatMatrix, FloatVector
from maven_env.tools.linear_algebra.error_bounds import (
    UNIT,
    USELESS,
    Array,
    condition,
    forward_bound,
    inverse_of,
    require_finite,
    require_system,
    row_norm,
    singular,
)
from maven_env.tools.linear_algebra.exact_matrices import require_square
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread


# ---- determinant -----------------------------------------------------------------------------------------------------
@tool(kind="numeric", tier=0, near=("matrix_determinant", "check_condition"), backend=("numpy", "scipy"))
def matrix_determinant_numeric(matrix: FloatMatrix) -> ToolResult:
    """Compute a determinant in double precision by LU, with its logarithm.

    The size of a determinant says nothing about singularity: read condition_number. Entries are rounded to doubles
    first; where that leaves no digit (Hilbert matrices from order 10), the call fails with SINGULAR.

    Args:
        matrix: square matrix of numbers

    Returns:
        value (number): determinant; 0 on underflow, null on overflow
        sign (int): its sign, 1 or -1
        log_abs (number): ln|det|, also where the value leaves the range of doubles

    Diagnostics:
        condition_number: 2-norm condition number
        relative_error_bound: bound of the relative error of the value
        underflow: whether the value is below the range of normal doubles
        overflow: whether the value is beyond the range of doubles

    Raises:
        SINGULAR: no digit is sure; the matrix may be singular
        SHAPE_MISMATCH: the matrix is not square

    Example:
        {"matrix": [[4, 1], [1, 3]]}
    """
    from scipy.linalg import lu

    n = require_square(matrix)
    with one_thread():
        require_finite(matrix)
        inverse = inverse_of(matrix)
        permutation, lower, upper = lu(matrix)
        backward = permutation @ (np.abs(lower) @ np.abs(upper))
        step = (n + 3) * UNIT * row_norm(np.abs(inverse.matrix) @ backward) / (1 - inverse.defect)
        bound = math.expm1(-n * math.log1p(-step)) if step < 0.5 else math.inf
        if not bound < USELESS:
            raise singular("the matrix is singular to working precision: no digit of its determinant is sure", matrix)
        kappa = condition(matrix)
        mantissa, exponent = 1.0, 0
        for pivot in np.diag(upper).tolist():
            mantissa, shift = math.frexp(mantissa * pivot)
            exponent += shift
        mantissa *= round(float(np.linalg.det(permutation)))
    overflow = exponent > 1024
    value = None if overflow else math.ldexp(mantissa, exponent)
    output = {
        "value": value,
        "sign": 1 if mantissa > 0 else -1,
        "log_abs": math.log(abs(mantissa)) + exponent * math.log(2),
    }
    diagnostics: dict[str, Any] = {
        "condition_number": kappa,
        "relative_error_bound": bound,
        "underflow": exponent < -1021,
    }
    if overflow:
        diagnostics["overflow"] = True
    return ToolResult(output, diagnostics)


# ---- direct solution -------------------------------------------------------------------------------------------------
@tool(
    kind="numeric",
    tier=0,
    near=("solve_linear_exact", "solve_linear_iterative", "lstsq_qr", "matrix_inverse"),
    backend=("numpy", "scipy", "python-flint"),
)
def solve_linear_system(matrix: FloatMatrix, rhs: FloatVector, refine: bool = False) -> ToolResult:
    """Solve a square system in double precision by LU with partial pivoting.

    A tiny residual does not mean a small error: read forward_error_bound. It covers the rounding of the entries to
    doubles; where it leaves no digit, the call fails with SINGULAR, and solve_linear_exact answers.

    Args:
        matrix: square matrix of numbers
        rhs: right-hand side
        refine: refine iteratively with residuals in extended precision; helps against rounding, not against bad data

    Returns:
        solution (vector): solution x
        residual_norm (number): 2-norm of matrix*x - rhs

    Diagnostics:
        method: LU, with or without refinement
        condition_number: 2-norm condition number
        rank: numerical rank
        forward_error_bound: bound of the largest error over the largest entry of the solution
        relative_residual: residual_norm over norm(matrix)*norm(x)

    Raises:
        SINGULAR: no digit is sure; the matrix may be singular
        SHAPE_MISMATCH: the matrix is not square, or rhs has another length

    Example:
        {"matrix": [[4, 1], [1, 3]], "rhs": [1, 2]}
    """
    from scipy.linalg import lu_factor, lu_solve

    require_system(matrix, rhs)
    with one_thread(), np.errstate(all="ignore"):
        require_finite(matrix, rhs)
        inverse = inverse_of(matrix)
        factors = lu_factor(matrix)
        x = lu_solve(factors, rhs)
        if refine:
            for _ in range(3):
                x = x + lu_solve(factors, _exact_residual(matrix, x, rhs))
        require_finite(x)
        residual = rhs - matrix @ x
        bound = forward_bound(matrix, rhs, x, inverse, residual)
        if not bound < USELESS:
            raise singular("the matrix is singular to working precision: no digit of the solution is sure", matrix)
        kappa = condition(matrix)
        norms = float(np.linalg.norm(matrix) * np.linalg.norm(x))
    size = float(np.linalg.norm(residual))
    diagnostics = {
        "method": "LU with refinement" if refine else "LU",
        "condition_number": kappa,
        "rank": len(matrix),
        "forward_error_bound": bound,
        "relative_residual": size / norms if norms else 0.0,
    }
    return ToolResult({"solution": x, "residual_norm": size}, diagnostics)


def _exact_residual(matrix: Array, x: Array, rhs: Array) -> Array:
    """Return rhs - matrix*x rounded once."""
    from flint import fmpq, fmpq_mat

    def exact(values: Array) -> Any:
        return fmpq_mat([[fmpq(*v.as_integer_ratio()) for v in row] for row in values.tolist()])

    residual = exact(rhs[:, None]) - exact(matrix) * exact(x[:, None])
    return np.array([int(row[0].p) / int(row[0].q) for row in residual.tolist()])
