"""Error bounds of linear algebra in double precision: what rounding, of the entries too, may do to a result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maven_env.errors import ToolError
from maven_env.tools.linear_algebra.exact_matrices import require_square

Array = np.ndarray[Any, np.dtype[np.float64]]

UNIT = 2.0**-53
USELESS = 0.1  # a relative error bound from here on leaves no digit
EXACT_HINT = "use the exact tool (solve_linear_exact, matrix_determinant) with exact entries"


@dataclass(frozen=True)
class Inverse:
    """An inverse with what is known of its error: |exact inverse| <= |matrix| / (1 - defect) in the row-sum norm."""

    matrix: Array
    defect: float


def inverse_of(matrix: Array) -> Inverse:
    """Invert, and bound the defect. Raises SINGULAR if the matrix may be singular within its rounding."""
    n = len(matrix)
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
            growth = row_norm(np.abs(found) @ np.abs(matrix))
            defect = row_norm(found @ matrix - np.eye(n)) + (n + 2) * UNIT * growth
    except np.linalg.LinAlgError:
        raise singular("the matrix is singular: a pivot is zero", matrix) from None
    if not defect < 0.5:
        raise singular("the matrix is singular to working precision", matrix)
    return Inverse(found, defect)


def singular(message: str, matrix: Array) -> ToolError:
    return ToolError("SINGULAR", message, EXACT_HINT, condition_number=condition(matrix))


def row_norm(matrix: Array) -> float:
    return float(np.abs(matrix).sum(axis=1).max())


def condition(matrix: Array) -> float:
    """Return the 2-norm condition number as double precision sees it; oo for a zero singular value."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[0]) / float(values[-1]) if values[-1] > 0 else math.inf


def require_finite(*arrays: Array) -> None:
    for array in arrays:
        if not np.isfinite(array).all():
            raise ToolError(
                "OVERFLOW", "an intermediate value is beyond double precision", "scale the rows, or use the exact tool"
            )


def require_system(matrix: Array, rhs: Array) -> None:
    n = require_square(matrix)
    if len(rhs) != n:
        raise ToolError("SHAPE_MISMATCH", f"{n} rows and {len(rhs)} right-hand sides", "give one entry of rhs per row")


def forward_bound(matrix: Array, rhs: Array, x: Array, inverse: Inverse, residual: Array) -> float:
    """Bound max|error| / max|exact x| from the residual, its own rounding and the rounding of the data."""
    slack = (len(matrix) + 4) * UNIT * (np.abs(matrix) @ np.abs(x) + np.abs(rhs))
    errors = np.abs(inverse.matrix) @ (np.abs(residual) + slack)
    largest = float(np.abs(x).max())
    total = float(errors.max()) / (1 - inverse.defect)
    if total == 0:
        return 0.0
    return total / (largest - total) if total < largest else math.inf
