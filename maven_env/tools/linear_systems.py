"""Linear algebra in double precision with error bounds: determinant, direct and iterative solution, least squares.

A value is returned as long as its bound leaves digits that are right; else the tool says that the matrix is singular to
working precision. The bounds cover the rounding of the entries to doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from maven_env.errors import ToolError
from maven_env.tools.exact_matrices import require_square
from maven_env.tools.kinds import Count, FloatMatrix, FloatVector, Range, Setting
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread

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
    """Invert, and bound the defect. Raises SINGULAR if the matrix may be singular within the rounding of its entries."""
    n = len(matrix)
    try:
        with np.errstate(all="ignore"):
            found = np.linalg.inv(matrix)
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
    return float(values[0] / values[-1]) if values[-1] > 0 else math.inf


def require_finite(*arrays: Array) -> None:
    for array in arrays:
        if not np.isfinite(array).all():
            raise ToolError("OVERFLOW", "an intermediate value is beyond double precision", "scale the rows, or use the exact tool")


# ---- determinant -----------------------------------------------------------------------------------------------------
@tool(kind="numeric", tier=0, near=("matrix_determinant", "check_condition"), backend=("numpy", "scipy"))
def matrix_determinant_numeric(matrix: FloatMatrix) -> ToolResult:
    """Compute a determinant in double precision by LU, with its logarithm.

    The size of a determinant says nothing about singularity: read condition_number. Entries are rounded to doubles first;
    where that leaves no digit or not even the sign (Hilbert matrices from order 11), the call fails with SINGULAR.

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

    _require_system(matrix, rhs)
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


def _require_system(matrix: Array, rhs: Array) -> None:
    n = require_square(matrix)
    if len(rhs) != n:
        raise ToolError("SHAPE_MISMATCH", f"{n} rows and {len(rhs)} right-hand sides", "give one entry of rhs per row")


def forward_bound(matrix: Array, rhs: Array, x: Array, inverse: Inverse, residual: Array) -> float:
    """Bound max|error| / max|x| from the residual, its own rounding and the rounding of the data."""
    slack = (len(matrix) + 4) * UNIT * (np.abs(matrix) @ np.abs(x) + np.abs(rhs))
    errors = np.abs(inverse.matrix) @ (np.abs(residual) + slack)
    largest = float(np.abs(x).max())
    total = float(errors.max()) / (1 - inverse.defect)
    return total / largest if largest else (0.0 if total == 0 else math.inf)


def _exact_residual(matrix: Array, x: Array, rhs: Array) -> Array:
    """Return rhs - matrix*x rounded once."""
    from flint import fmpq, fmpq_mat

    def exact(values: Array) -> Any:
        return fmpq_mat([[fmpq(*v.as_integer_ratio()) for v in row] for row in values.tolist()])

    residual = exact(rhs[:, None]) - exact(matrix) * exact(x[:, None])
    return np.array([int(row[0].p) / int(row[0].q) for row in residual.tolist()])


# ---- iterative solution ----------------------------------------------------------------------------------------------
@tool(kind="numeric", tier=0, near=("solve_linear_system",), backend=("numpy", "scipy"))
def solve_linear_iterative(
    matrix: FloatMatrix,
    rhs: FloatVector,
    method: Literal["jacobi", "gauss_seidel", "cg", "gmres"],
    x0: FloatVector | None = None,
    tol: Annotated[Setting, Range(1e-15, 1.0)] = 1e-10,
    max_iter: Annotated[Count, Range(1, 10_000)] = 500,
) -> ToolResult:
    """Solve a square system by iteration: Jacobi, Gauss-Seidel, conjugate gradients or GMRES.

    Jacobi and Gauss-Seidel need spectral_radius < 1, which depends on the order of the equations; cg needs a symmetric
    positive definite matrix. Convergence is judged by the residual: read forward_error_bound for the error.

    Args:
        matrix: square matrix of numbers
        rhs: right-hand side
        method: jacobi, gauss_seidel, cg or gmres
        x0: start; zeros if left out
        tol: stop once norm(residual) is below tol*norm(rhs)
        max_iter: most iterations

    Returns:
        solution (vector): last iterate
        residual_norm (number): 2-norm of matrix*x - rhs
        history (list of number): relative residuals of the first 50 iterations

    Diagnostics:
        method: the method
        converged: always true; without convergence the call fails
        iterations: number of iterations
        residual: relative residual
        spectral_radius: of the iteration matrix of jacobi and gauss_seidel
        condition_number: 2-norm condition number of the matrix
        forward_error_bound: bound of the largest error over the largest entry of the solution

    Raises:
        NO_CONVERGENCE: the residual did not come below tol, or the error bound leaves no digit
        NOT_POSITIVE_DEFINITE: cg met a matrix that is not symmetric positive definite
        SINGULAR: a zero on the diagonal, or a singular matrix

    Example:
        {"matrix": [[4, 1], [1, 3]], "rhs": [1, 2], "method": "jacobi"}
    """
    _require_system(matrix, rhs)
    start = np.zeros(len(rhs)) if x0 is None else x0
    if len(start) != len(rhs):
        raise ToolError("SHAPE_MISMATCH", f"x0 has {len(start)} entries, rhs has {len(rhs)}", "leave x0 out for zeros")
    with one_thread(), np.errstate(all="ignore"):
        require_finite(matrix, rhs, start)
        radius, iterates = _method(matrix, rhs, start, method, max_iter)
        scale = float(np.linalg.norm(rhs)) or 1.0
        history: list[float] = []
        x, relative = start, float(np.linalg.norm(rhs - matrix @ start)) / scale
        first = max(relative, 1.0)
        while relative > tol and len(history) < max_iter and relative < 1e12 * first:
            following = next(iterates, None)
            if following is None:
                break
            x = following
            relative = float(np.linalg.norm(rhs - matrix @ x)) / scale
            history.append(relative)
        if not relative <= tol:
            raise _unconverged(method, len(history), relative, radius, history)
        inverse = inverse_of(matrix)
        bound = forward_bound(matrix, rhs, x, inverse, rhs - matrix @ x)
        if not bound < 1:
            message = f"the residual is small, {relative:.2g}, but the error may be {bound:.2g} of the solution"
            raise ToolError("NO_CONVERGENCE", message, "lower tol, or use solve_linear_exact", forward_error_bound=bound)
        diagnostics: dict[str, Any] = {"method": method, "converged": True, "iterations": len(history), "residual": relative}
        if radius is not None:
            diagnostics["spectral_radius"] = radius
        diagnostics |= {"condition_number": condition(matrix), "forward_error_bound": bound}
    output = {"solution": x, "residual_norm": relative * scale if rhs.any() else relative, "history": history[:50]}
    return ToolResult(output, diagnostics)


def _unconverged(method: str, iterations: int, relative: float, radius: float | None, history: list[float]) -> ToolError:
    message = f"{method} has a relative residual of {relative:.3g} after {iterations} iterations"
    hint = "raise max_iter, or use solve_linear_system"
    if radius is not None and radius >= 1:
        message += f"; it diverges, the spectral radius is {radius:.6g}"
        hint = "reorder the equations so that the diagonal dominates, or use solve_linear_system"
    return ToolError(
        "NO_CONVERGENCE", message, hint, spectral_radius=radius, iterations=iterations, residual=relative, history=history[:50]
    )


def _method(
    matrix: Array, rhs: Array, start: Array, method: str, max_iter: int
) -> tuple[float | None, Iterator[Array]]:
    """Return the spectral radius, where there is one, and the iterates."""
    if method == "cg":
        if not np.array_equal(matrix, matrix.T):
            raise ToolError("NOT_POSITIVE_DEFINITE", "cg needs a symmetric matrix, this one is not", "use gmres")
        return None, _conjugate_gradients(matrix, rhs, start)
    if method == "gmres":
        return None, _gmres(matrix, rhs, start)
    if (np.diag(matrix) == 0).any():
        raise ToolError("SINGULAR", f"{method} divides by the diagonal, which has a zero", "reorder the equations")
    split = np.diag(np.diag(matrix)) if method == "jacobi" else np.tril(matrix)
    step = np.linalg.inv(split)
    radius = float(np.abs(np.linalg.eigvals(np.eye(len(rhs)) - step @ matrix)).max())
    return radius, _stationary(matrix, rhs, start, lambda r: step @ r)


def _stationary(matrix: Array, rhs: Array, x: Array, step: Callable[[Array], Array]) -> Iterator[Array]:
    while True:
        x = x + step(rhs - matrix @ x)
        yield x


def _conjugate_gradients(matrix: Array, rhs: Array, x: Array) -> Iterator[Array]:
    residual = rhs - matrix @ x
    direction = residual
    square = float(residual @ residual)
    while square > 0:
        image = matrix @ direction
        curvature = float(direction @ image)
        if curvature <= 0:
            raise ToolError("NOT_POSITIVE_DEFINITE", "cg met a direction of negative or zero curvature", "use gmres")
        length = square / curvature
        x = x + length * direction
        residual = residual - length * image
        following = float(residual @ residual)
        direction = residual + following / square * direction
        square = following
        yield x


def _gmres(matrix: Array, rhs: Array, start: Array) -> Iterator[Array]:
    """Yield the iterates of GMRES by modified Gram-Schmidt, restarted after as many steps as there are unknowns."""
    n = len(rhs)
    while True:
        residual = rhs - matrix @ start
        norm = float(np.linalg.norm(residual))
        if norm == 0:
            return
        basis = [residual / norm]
        hessenberg = np.zeros((n + 1, n))
        x = start
        for k in range(n):
            vector = matrix @ basis[k]
            for _ in range(2):  # a second pass keeps the basis orthogonal
                for j, earlier in enumerate(basis):
                    part = float(earlier @ vector)
                    hessenberg[j, k] += part
                    vector = vector - part * earlier
            hessenberg[k + 1, k] = np.linalg.norm(vector)
            target = np.zeros(k + 2)
            target[0] = norm
            weights = np.linalg.lstsq(hessenberg[: k + 2, : k + 1], target, rcond=None)[0]
            x = start + np.array(basis[: k + 1]).T @ weights
            yield x
            if hessenberg[k + 1, k] <= 1e-15 * norm:
                break
            basis.append(vector / hessenberg[k + 1, k])
        if np.array_equal(x, start):
            return
        start = x


