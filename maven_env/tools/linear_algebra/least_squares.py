"""Linear least squares in double precision: by normal equations, or by orthogonal factorisation."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np

from maven_env.errors import ToolError
from maven_env.tools.kinds import FloatMatrix, FloatVector, Range, Setting
from maven_env.tools.linear_algebra.error_bounds import UNIT, USELESS, Array, require_finite
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread

_HINT = "use linear_regression, which computes exactly, or drop dependent columns"


@tool(kind="numeric", tier=0, near=("lstsq_qr", "linear_regression"), backend=("numpy",))
def lstsq_normal_equations(matrix: FloatMatrix, rhs: FloatVector, weights: FloatVector | None = None) -> ToolResult:
    """Solve a least-squares problem by the normal equations, which square the condition number.

    Safe, and gives the Gram matrix for the covariance, for well scaled problems; with condition_number above about 1e7
    it fails: use lstsq_qr.

    Args:
        matrix: design matrix with at least as many rows as columns
        rhs: data
        weights: weights of the rows, 1/variance

    Returns:
        solution (vector): solution x
        residual_norm (number): 2-norm of matrix*x - rhs, weighted
        gram (matrix): transpose(matrix)*weights*matrix

    Diagnostics:
        method: normal equations
        condition_number: 2-norm condition number of the weighted matrix
        gram_condition_number: its square, the condition number of the Gram matrix
        rank: numerical rank
        forward_error_bound: estimate of the error by rounding over the largest entry of the solution

    Raises:
        RANK_DEFICIENT: the columns depend on each other
        SINGULAR: the Gram matrix is singular to working precision although the columns do not depend on each other
        SHAPE_MISMATCH: sizes do not fit

    Example:
        {"matrix": [[1, 1], [1, 2], [1, 3]], "rhs": ["1.1", "1.9", "3.2"]}
    """
    a, b = _weighted(matrix, rhs, weights)
    m, n = a.shape
    with one_thread(), np.errstate(all="ignore"):
        values = np.linalg.svd(a, compute_uv=False)
        rank = int((values > max(m, n) * 2 * UNIT * values[0]).sum())
        if rank < n:
            raise ToolError("RANK_DEFICIENT", f"the matrix has rank {rank} and {n} columns", "use lstsq_qr", rank=rank)
        scale, kappa = _equilibrated(a)
        gram = a.T @ a
        require_finite(gram)
        try:
            x = scale * np.linalg.solve(gram * np.outer(scale, scale), scale * (a.T @ b))
        except np.linalg.LinAlgError:
            raise _gram_singular(kappa) from None
        require_finite(x)
        bound = _relative(x, scale, (m + n) * UNIT * kappa**2 * float(np.linalg.norm(x / scale) + np.linalg.norm(b)))
        if not bound < USELESS:
            raise _gram_singular(kappa)
        residual = float(np.linalg.norm(a @ x - b))
    condition = float(values[0]) / float(values[-1])
    diagnostics = {
        "method": "normal equations",
        "condition_number": condition,
        "gram_condition_number": condition**2,
        "rank": rank,
        "forward_error_bound": bound,
    }
    return ToolResult({"solution": x, "residual_norm": residual, "gram": gram}, diagnostics)


def _gram_singular(kappa: float) -> ToolError:
    message = f"the Gram matrix is singular to working precision: its condition is the square of {kappa:.3g}"
    return ToolError("SINGULAR", message, "use lstsq_qr, or centre and scale the columns", condition_number=kappa)


def _weighted(matrix: Array, rhs: Array, weights: Array | None) -> tuple[Array, Array]:
    m = len(matrix)
    if len(rhs) != m:
        raise ToolError("SHAPE_MISMATCH", f"{m} rows and {len(rhs)} data", "give one entry of rhs per row")
    require_finite(matrix, rhs)
    if weights is None:
        return matrix, rhs
    if len(weights) != m:
        raise ToolError("SHAPE_MISMATCH", f"{m} rows and {len(weights)} weights", "give one weight per row")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ToolError("BAD_INPUT", "weights must be finite, not negative and not all zero", "give 1/variance")
    root = np.sqrt(weights)
    return matrix * root[:, None], rhs * root


def _equilibrated(a: Array) -> tuple[Array, float]:
    """Return factors that give the columns norm 1, and the condition number after that: it is what rounding feels."""
    norms = np.linalg.norm(a, axis=0)
    scale = 1 / np.where(norms > 0, norms, 1.0)
    values = np.linalg.svd(a * scale, compute_uv=False)
    return scale, float(values[0]) / float(values[-1]) if values[-1] > 0 else math.inf


def _relative(x: Array, scale: Array, error: float) -> float:
    """Turn an error of the solution for columns of norm 1 into one over the largest entry of x."""
    largest, total = float(np.abs(x).max()), float(scale.max()) * error
    if total == 0:
        return 0.0
    return total / (largest - total) if total < largest else math.inf


@tool(
    kind="numeric",
    tier=0,
    near=("lstsq_normal_equations", "solve_linear_system", "linear_regression"),
    backend=("numpy", "scipy"),
)
def lstsq_qr(
    matrix: FloatMatrix,
    rhs: FloatVector,
    method: Literal["qr", "svd"] = "qr",
    rcond: Annotated[Setting, Range(0.0, 1.0)] = 1e-13,
    weights: FloatVector | None = None,
) -> ToolResult:
    """Solve a least-squares problem by pivoted QR or truncated singular values.

    With rank_deficient = true the solution is one of infinitely many, that of least norm, and rcond decides it. Where
    rounding may spoil every digit of a full-rank solution, the call fails with RANK_DEFICIENT.

    Args:
        matrix: design matrix
        rhs: data
        method: qr, or svd, which also returns the singular values
        rcond: singular values below rcond times the largest count as zero
        weights: weights of the rows, 1/variance

    Returns:
        solution (vector): solution x; of least norm if rank deficient
        residual_norm (number): 2-norm of matrix*x - rhs, weighted
        singular_values (vector): singular values of the weighted matrix, for svd

    Diagnostics:
        method: the factorisation used
        condition_number: 2-norm condition number of the weighted matrix
        rank: numerical rank
        rank_deficient: whether the rank is below the number of columns
        forward_error_bound: estimate of the error by rounding over the largest entry of the solution

    Raises:
        RANK_DEFICIENT: the rank is full by rcond, but no digit of the solution is sure
        SHAPE_MISMATCH: sizes do not fit

    Example:
        {"matrix": [[1, 1], [1, 2], [1, 3]], "rhs": ["1.1", "1.9", "3.2"]}
    """
    from scipy.linalg import qr, solve_triangular

    a, b = _weighted(matrix, rhs, weights)
    m, n = a.shape
    with one_thread(), np.errstate(all="ignore"):
        u, values, vt = np.linalg.svd(a, full_matrices=False)
        rank = int((values > max(rcond, max(m, n) * 2 * UNIT) * values[0]).sum()) if values[0] > 0 else 0
        if method == "qr" and rank == n:
            q, r, order = qr(a, mode="economic", pivoting=True)
            x = np.empty(n)
            x[order] = solve_triangular(r, q.T @ b)
        else:
            x = vt[:rank].T @ ((u[:, :rank].T @ b) / values[:rank])
        require_finite(x)
        residual = float(np.linalg.norm(a @ x - b))
        if rank == n:
            bound = _orthogonal_bound(a, b, x, residual, scaled=method == "qr")
        else:
            gap = float(values[0] / values[rank - 1]) if rank else 1.0
            bound = (m + n) * UNIT * gap * (1 + gap)
    if rank == n and not bound < USELESS:
        message = f"no digit of the solution is sure: the error may be {bound:.2g} of its largest entry"
        raise ToolError("RANK_DEFICIENT", message, _HINT, forward_error_bound=bound)
    output: dict[str, Any] = {"solution": x, "residual_norm": residual}
    if method == "svd":
        output["singular_values"] = values
    diagnostics = {
        "method": method if method == "svd" or rank == n else "svd, because the rank is deficient",
        "condition_number": float(values[0]) / float(values[-1]) if values[-1] > 0 and m >= n else math.inf,
        "rank": rank,
        "rank_deficient": rank < n,
        "forward_error_bound": bound,
    }
    return ToolResult(output, diagnostics)


def _orthogonal_bound(a: Array, b: Array, x: Array, residual: float, *, scaled: bool) -> float:
    """Bound the relative error after Wedin: condition for the data, its square for what the fit leaves over.

    QR feels the condition after scaling the columns, singular values that of the matrix as it is.
    """
    m, n = a.shape
    norm = float(np.linalg.norm(a, 2))
    scale, kappa = _equilibrated(a) if scaled else (np.full(n, 1 / norm), float(np.linalg.cond(a)))
    y = float(np.linalg.norm(x / scale))
    return _relative(x, scale, (m + n) * UNIT * (kappa * (y + float(np.linalg.norm(b))) + kappa**2 * residual))
