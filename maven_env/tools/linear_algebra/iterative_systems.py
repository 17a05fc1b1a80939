"""Iterative solution of linear systems in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import numpy as np

from maven_env.errors import ToolError
from maven_env.tools.kinds import Count, FloatMatrix, FloatVector, Range, Setting
from maven_env.tools.linear_algebra.error_bounds import (
    Array,
    condition,
    forward_bound,
    inverse_of,
    require_finite,
    require_system,
)
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread


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
    require_system(matrix, rhs)
    start = np.zeros(len(rhs)) if x0 is None else x0
    if len(start) != len(rhs):
        raise ToolError("SHAPE_MISMATCH", f"x0 has {len(start)} entries, rhs has {len(rhs)}", "leave x0 out for zeros")
    with one_thread(), np.errstate(all="ignore"):
        require_finite(matrix, rhs, start)
        radius, iterates = _method(matrix, rhs, start, method)
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
            raise ToolError(
                "NO_CONVERGENCE", message, "lower tol, or use solve_linear_exact", forward_error_bound=bound
            )
        diagnostics: dict[str, Any] = {
            "method": method,
            "converged": True,
            "iterations": len(history),
            "residual": relative,
        }
        if radius is not None:
            diagnostics["spectral_radius"] = radius
        diagnostics |= {"condition_number": condition(matrix), "forward_error_bound": bound}
    output = {"solution": x, "residual_norm": relative * scale if rhs.any() else relative, "history": history[:50]}
    return ToolResult(output, diagnostics)


def _unconverged(
    method: str, iterations: int, relative: float, radius: float | None, history: list[float]
) -> ToolError:
    message = f"{method} has a relative residual of {relative:.3g} after {iterations} iterations"
    hint = "raise max_iter, or use solve_linear_system"
    if radius is not None and radius >= 1:
        message += f"; it diverges, the spectral radius is {radius:.6g}"
        hint = "reorder the equations so that the diagonal dominates, or use solve_linear_system"
    return ToolError(
        "NO_CONVERGENCE",
        message,
        hint,
        spectral_radius=radius,
        iterations=iterations,
        residual=relative,
        history=history[:50],
    )


def _method(matrix: Array, rhs: Array, start: Array, method: str) -> tuple[float | None, Iterator[Array]]:
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
