"""Eigenvalues: exact, in double precision with error bounds, and of a pair of symmetric matrices."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import free_symbols
from maven_env.tools.kinds import ExactMatrix, FloatMatrix
from maven_env.tools.linear_algebra.error_bounds import UNIT, USELESS, Array, condition, require_finite
from maven_env.tools.linear_algebra.exact_eigenvalues import exact_eigenvalues
from maven_env.tools.linear_algebra.exact_matrices import require_square
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread

SYMMETRY = 1e-12  # relative difference that counts as rounding
_ORDER = 10


@tool(kind="exact", tier=0, near=("eigen_numeric",), backend=("python-flint",))
def eigen_symbolic(matrix: ExactMatrix, vectors: bool = True) -> ToolResult:
    """Compute exact eigenvalues, multiplicities and eigenvectors.

    Eigenvalues of irreducible factors up to degree 3 and of biquadratic ones have a closed form; for others use
    eigen_numeric. A geometric multiplicity below the algebraic one means that the matrix is defective. With symbols the
    result holds for general values; some values may make eigenvalues coincide.

    Args:
        matrix: square matrix of numbers or expressions, up to 10 x 10
        vectors: return the eigenvectors

    Returns:
        eigenvalues (list of expr): distinct eigenvalues; by real part if they are numbers
        multiplicities (list of int): algebraic multiplicities
        geometric (list of int): geometric multiplicities
        eigenvectors (list of list of vector): a basis of the eigenspace of each eigenvalue; empty if not asked for
        values (list of number): doubles of the eigenvalues; null where symbols remain

    Diagnostics:
        exact: always true
        diagonalizable: whether the eigenvectors span the space
        generic: whether symbols occur, whose special values are not looked at

    Raises:
        UNSOLVED: a factor of the characteristic polynomial has no short closed form
        SHAPE_MISMATCH: the matrix is not square
        LIMIT_EXCEEDED: the matrix is too large

    Example:
        {"matrix": [["2", "1"], ["1", "2"]]}
    """
    n = require_square(matrix)
    if n > _ORDER:
        raise LimitExceeded("size", f"an exact {n} x {n} eigenproblem is beyond {_ORDER}", "use eigen_numeric")
    found = exact_eigenvalues(matrix, vectors)
    output = {
        "eigenvalues": [e.text for e in found],
        "multiplicities": [e.multiplicity for e in found],
        "geometric": [e.geometric for e in found],
        "eigenvectors": [e.vectors for e in found] if vectors else [],
        "values": [e.value for e in found],
    }
    diagnostics: dict[str, Any] = {
        "exact": True,
        "diagonalizable": all(e.multiplicity == e.geometric for e in found),
        "generic": any(free_symbols(entry) for row in matrix for entry in row),
    }
    return ToolResult(output, diagnostics)


# ---- double precision ------------------------------------------------------------------------------------------------
@tool(
    kind="numeric",
    tier=0,
    near=("eigen_symbolic", "generalized_eigen", "svd_decompose"),
    backend=("numpy", "scipy"),
)
def eigen_numeric(
    matrix: FloatMatrix,
    symmetric: bool | None = None,
    sort: Literal["ascending", "descending", "magnitude"] = "ascending",
) -> ToolResult:
    """Compute eigenvalues and eigenvectors in double precision.

    Defective matrices give eigenvalues that are wrong by eps^(1/m): read error_bounds and defective_suspected. Single
    eigenvectors inside a near-degenerate group (small min_gap) are arbitrary: only their span means something.

    Args:
        matrix: square matrix of numbers
        symmetric: use the symmetric algorithm; found out if left out
        sort: order by real part ascending or descending, or by decreasing magnitude

    Returns:
        eigenvalues (list of complex): eigenvalues, with multiplicity
        eigenvectors (matrix): eigenvectors of norm 1 as columns, in the same order
        spectral_radius (number): largest magnitude of an eigenvalue

    Diagnostics:
        method: symmetric, triangular or general
        error_bounds: bound of the absolute error of each eigenvalue, for entries rounded to doubles
        eigenvalue_condition: largest condition number of an eigenvalue
        eigenvector_condition: condition number of the matrix of eigenvectors
        min_gap: smallest distance of two eigenvalues
        defective_suspected: whether the eigenvectors all but fail to span the space

    Raises:
        NO_CONVERGENCE: the iteration failed, or the bounds leave no digit
        BAD_INPUT: symmetric is asked for and the matrix is not
        SHAPE_MISMATCH: the matrix is not square

    Example:
        {"matrix": [[2, 1], [1, 2]]}
    """
    n = require_square(matrix)
    require_finite(matrix)
    with one_thread(), np.errstate(all="ignore"):
        norm = float(np.linalg.norm(matrix))
        asymmetry = float(np.abs(matrix - matrix.T).max())
        if symmetric and asymmetry > SYMMETRY * norm:
            raise ToolError("BAD_INPUT", "the matrix is not symmetric", "leave symmetric out")
        backward = 4 * n * UNIT * norm
        try:
            if symmetric or (symmetric is None and asymmetry == 0):
                values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
                method, bounds, sensitivity = "symmetric", np.full(n, backward + asymmetry), np.ones(n)
            else:
                method, values, vectors, sensitivity, bounds = _general(matrix, norm, backward)
        except np.linalg.LinAlgError:
            raise ToolError("NO_CONVERGENCE", "the QR iteration did not converge", "use eigen_symbolic") from None
        if norm and not bounds.max() < USELESS * norm:
            message = f"an eigenvalue may be wrong by {bounds.max():.2g}, the matrix has norm {norm:.2g}"
            raise ToolError("NO_CONVERGENCE", message, "use eigen_symbolic with exact entries")
        kappa = 1.0 if method == "symmetric" else condition(vectors)
        order = _order(values, sort)
        values, vectors, bounds = values[order], vectors[:, order], bounds[order]
    gap = _min_gap(values)
    diagnostics = {
        "method": method,
        "error_bounds": bounds,
        "eigenvalue_condition": float(sensitivity.max()),
        "eigenvector_condition": kappa,
        "min_gap": gap,
        "defective_suspected": bool(kappa > 1e6),
    }
    output = {
        "eigenvalues": values,
        "eigenvectors": _signed(vectors),
        "spectral_radius": float(np.abs(values).max()),
    }
    return ToolResult(output, diagnostics)


def _general(matrix: Array, norm: float, backward: float) -> tuple[str, Any, Any, Any, Any]:
    """Return method, values, right vectors, condition and error bounds of the eigenvalues."""
    from scipy.linalg import eig

    n = len(matrix)
    values, left, right = eig(matrix, left=True, right=True)
    overlaps = np.abs(np.einsum("ij,ij->j", left.conj(), right))
    sensitivity = 1 / np.maximum(overlaps, 1e-300)
    if not np.tril(matrix, -1).any() or not np.triu(matrix, 1).any():
        return "triangular", values, right, sensitivity, 2 * UNIT * np.abs(values)
    bounds = 2 * sensitivity * backward
    gaps = np.array(
        [min((abs(v - w) for j, w in enumerate(values) if j != i), default=math.inf) for i, v in enumerate(values)]
    )
    # Beyond a quarter of the gap first order says nothing; Bauer-Fike and Elsner hold for all eigenvalues at once.
    anywhere = min(condition(right) * backward, (2 * norm + backward) ** (1 - 1 / n) * backward ** (1 / n))
    return "general", values, right, sensitivity, np.where(bounds < gaps / 4, bounds, np.maximum(anywhere, backward))


def _order(values: Any, sort: str) -> Any:
    re, im = np.real(values), np.imag(values)
    if sort == "magnitude":
        return np.lexsort((im, re, -np.abs(values)))
    return np.lexsort((im, re if sort == "ascending" else -re))


def _min_gap(values: Any) -> float:
    pairs = [abs(a - b) for i, a in enumerate(values) for b in values[:i]]
    return float(min(pairs, default=math.inf))


def _signed(vectors: Any) -> Any:
    """Turn each column so that its largest entry is positive: the factor is free, the result should not be."""
    result = np.array(vectors)
    for j in range(result.shape[1]):
        sizes = np.abs(result[:, j])
        pivot = result[int(np.argmax(sizes > 0.999 * sizes.max())), j]
        if pivot != 0:
            result[:, j] *= np.conj(pivot) / abs(pivot)
            if np.iscomplexobj(result) and np.abs(result[:, j].imag).max() < 4 * UNIT:
                result[:, j] = result[:, j].real
    return result.real if np.iscomplexobj(result) and not result.imag.any() else result


@tool(kind="numeric", tier=0, near=("eigen_numeric", "matrix_inverse"), backend=("scipy",))
def generalized_eigen(
    K: FloatMatrix,
    M: FloatMatrix,
    sort: Literal["ascending", "descending"] = "ascending",
) -> ToolResult:
    """Solve K v = lambda M v for symmetric K and positive definite M, as for normal modes.

    Eigenvectors are M-orthogonal, not orthogonal. Squared frequencies are the eigenvalues; a negative one means an
    unstable equilibrium.

    Args:
        K: symmetric stiffness matrix
        M: symmetric positive definite mass matrix
        sort: order

    Returns:
        eigenvalues (list of number): lambda
        eigenvectors (matrix): columns with transpose(v)*M*v = 1

    Diagnostics:
        method: Cholesky reduction
        mass_condition: 2-norm condition number of M
        error_bound: bound of the absolute error of the eigenvalues, for entries rounded to doubles
        min_gap: smallest distance of two eigenvalues
        m_orthogonality_error: largest deviation of transpose(V)*M*V from the unit matrix

    Raises:
        NOT_POSITIVE_DEFINITE: M is not positive definite, or not surely so in double precision
        BAD_INPUT: K or M is not symmetric
        SHAPE_MISMATCH: sizes do not fit

    Example:
        {"K": [[2, -1], [-1, 2]], "M": [[1, 0], [0, 2]]}
    """
    from scipy.linalg import eigh

    n = require_square(K)
    if M.shape != K.shape:
        raise ToolError("SHAPE_MISMATCH", f"K is {n} x {n}, M is {M.shape[0]} x {M.shape[1]}", "give both of one size")
    require_finite(K, M)
    for name, given in (("K", K), ("M", M)):
        if np.abs(given - given.T).max() > SYMMETRY * np.abs(given).max():
            raise ToolError(
                "BAD_INPUT", f"{name} is not symmetric", "check the entries; (A + transpose(A))/2 is symmetric"
            )
    with one_thread(), np.errstate(all="ignore"):
        masses = np.linalg.eigvalsh((M + M.T) / 2)
        if not masses[0] > 4 * n * UNIT * abs(masses[-1]):
            message = (
                f"M is not positive definite: its least eigenvalue is {masses[0]:.3g}, its largest {masses[-1]:.3g}"
            )
            raise ToolError("NOT_POSITIVE_DEFINITE", message, "check the signs, or remove the massless coordinates")
        values, vectors = eigh((K + K.T) / 2, (M + M.T) / 2)
        kappa = float(masses[-1] / masses[0])
        bound = 8 * n * UNIT * float(np.linalg.norm(K, 2)) / float(masses[0])
        largest = float(np.abs(values).max())
        bound += 8 * n * UNIT * kappa * largest
        if largest and not bound < USELESS * largest:
            message = f"M is singular to working precision (condition {kappa:.2g}): no digit of the eigenvalues is sure"
            raise ToolError("NOT_POSITIVE_DEFINITE", message, "remove the massless coordinates")
        if sort == "descending":
            values, vectors = values[::-1], vectors[:, ::-1]
        error = float(np.abs(vectors.T @ M @ vectors - np.eye(n)).max())
    diagnostics = {
        "method": "Cholesky reduction",
        "mass_condition": kappa,
        "error_bound": bound,
        "min_gap": _min_gap(values),
        "m_orthogonality_error": error,
    }
    return ToolResult({"eigenvalues": values, "eigenvectors": _signed(vectors)}, diagnostics)
