"""Functions of a matrix by its structure: singular values, and the exponential."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Matrix, Node, Number, Product, free_symbols, rational_value
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import ONE
from maven_env.tools.kinds import ExactMatrix, ExactVector, Expr, FloatMatrix, Range, Setting
from maven_env.tools.linear_algebra.error_bounds import UNIT, USELESS, Array, condition, require_finite
from maven_env.tools.linear_algebra.exact_matrices import require_square
from maven_env.tools.linear_algebra.matrix_arithmetic import doubles
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread

_ORDER = 48
_EXACT_ORDER = 5
_NORM = 1e9  # of A*t
_BITS = (128, 256, 512, 1024, 2048, 4096)
_SIDE = 300  # rows or columns of a decomposition, whose vectors fill square matrices
_TINY = -1_100  # binary exponent below which a double is zero


@tool(kind="numeric", tier=0, near=("null_space", "eigen_numeric"), backend=("numpy",))
def svd_decompose(matrix: FloatMatrix, rcond: Annotated[Setting, Range(0.0, 1.0)] = 1e-12) -> ToolResult:
    """Compute the singular value decomposition, the numerical rank and null vectors.

    The numerical rank depends on scaling and on rcond: look for a gap (gap_ratio), not at a threshold. Singular values
    below error_bound have no right digit.

    Args:
        matrix: any matrix of numbers
        rcond: singular values below rcond times the largest count as zero

    Returns:
        singular_values (vector): singular values, descending
        rank (int): numerical rank
        null_vectors (matrix): orthonormal basis of the null space, as columns; empty for full column rank
        u (matrix): left singular vectors as columns
        vt (matrix): right singular vectors as rows

    Diagnostics:
        condition_number: largest over smallest singular value; oo if the smallest is zero
        rank: numerical rank
        gap_ratio: last singular value that counts over the first that does not; null if none is left out
        error_bound: bound of the absolute error of each singular value, for entries rounded to doubles

    Raises:
        NO_CONVERGENCE: the iteration failed
        LIMIT_EXCEEDED: more than 300 rows or columns

    Example:
        {"matrix": [[1, 2], [2, 4], [3, 6]]}
    """
    if max(matrix.shape) > _SIDE:
        shape = f"{matrix.shape[0]} x {matrix.shape[1]}"
        raise LimitExceeded("size", f"a {shape} matrix, the bound is {_SIDE} rows or columns", "use lstsq_qr to fit")
    require_finite(matrix)
    with one_thread(), np.errstate(all="ignore"):
        try:
            u, values, vt = np.linalg.svd(matrix)
        except np.linalg.LinAlgError:
            raise ToolError(
                "NO_CONVERGENCE", "the singular value iteration did not converge", "scale the matrix"
            ) from None
        norm = float(np.linalg.norm(matrix))
    require_finite(values)
    for i in range(len(vt)):
        sizes = np.abs(vt[i])
        if vt[i, int(np.argmax(sizes > 0.999 * sizes.max()))] < 0:
            vt[i] = -vt[i]
            if i < u.shape[1] and i < len(values):
                u[:, i] = -u[:, i]
    rank = int((values > rcond * values[0]).sum())
    gap = None
    if 0 < rank < len(values):
        gap = float(values[rank - 1]) / float(values[rank]) if values[rank] > 0 else math.inf
    output = {
        "singular_values": values,
        "rank": rank,
        "null_vectors": vt[rank:].T if rank < len(vt) else [],
        "u": u,
        "vt": vt,
    }
    diagnostics = {
        "condition_number": float(values[0]) / float(values[-1]) if values[-1] > 0 else math.inf,
        "rank": rank,
        "gap_ratio": gap,
        "error_bound": 2 * max(matrix.shape) * UNIT * norm,
    }
    return ToolResult(output, diagnostics)


# ---- exponential -----------------------------------------------------------------------------------------------------
def _tier(arguments: Any) -> int:
    return 2 if arguments.get("method") == "exact" else 0


@tool(
    kind="numeric",
    tier=_tier,
    near=("solve_ode_symbolic", "eigen_numeric"),
    backend=("python-flint", "numpy", "sympy"),
)
def matrix_exponential(
    matrix: ExactMatrix,
    t: Expr | None = None,
    vector: ExactVector | None = None,
    method: Literal["pade", "eigen", "exact"] = "pade",
) -> ToolResult:
    """Compute exp(A*t), optionally applied to a vector.

    The method pade scales and squares in ball arithmetic, so every digit is right. eigen divides by the matrix of
    eigenvectors and is wrong for (near-)defective A: its measured error is in the diagnostics, and without a right
    digit it fails. exact gives a closed form for small matrices and takes symbols.

    Args:
        matrix: square matrix A
        t: time, 1 if left out; a symbol only with method exact
        vector: apply exp(A*t) to it
        method: pade, eigen or exact

    Returns:
        matrix (matrix): exp(A*t)
        vector (vector): exp(A*t)*vector; null without one

    Diagnostics:
        method: the method
        norm_At: largest row sum of A*t; null for symbols
        eigenvector_condition: condition number of the matrix of eigenvectors, for eigen
        relative_error: measured error over the largest entry, for eigen

    Raises:
        OVERFLOW: an entry is beyond double precision
        SINGULAR: eigen met a matrix of eigenvectors that leaves no right digit
        LIMIT_EXCEEDED: the matrix is too large
        UNSOLVED: no closed form was found

    Example:
        {"matrix": [["0", "1"], ["-1", "0"]], "t": "1", "vector": ["1", "0"]}
    """
    n = require_square(matrix)
    t = ONE if t is None else t
    if vector is not None and len(vector) != n:
        raise ToolError("SHAPE_MISMATCH", f"A is {n} x {n}, the vector has {len(vector)} entries")
    if method == "exact":
        return _closed_exponential(matrix, t, vector)
    if n > _ORDER:
        raise LimitExceeded(
            "size", f"a {n} x {n} exponential is beyond {_ORDER}", "solve the equations with solve_ode_stiff"
        )
    missing = sorted(frozenset().union(free_symbols(t), *(free_symbols(e) for row in matrix for e in row)))
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(missing)}", "use method exact for symbols")
    scaled: Matrix = tuple(tuple(_times(entry, t) for entry in row) for row in matrix)
    at = doubles(scaled)
    require_finite(at)
    norm = float(np.abs(at).sum(axis=1).max())
    if norm > _NORM:
        raise LimitExceeded("size", f"A*t has norm {norm:.3g}, the bound is {_NORM:g}", "take a shorter time")
    value, applied = _ball_exponential(scaled, vector)
    diagnostics: dict[str, Any] = {"method": method, "norm_At": norm}
    if method == "eigen":
        value, kappa, error = _by_eigenvectors(at, value)
        diagnostics |= {"eigenvector_condition": kappa, "relative_error": error}
        applied = None if vector is None else value @ doubles(tuple((v,) for v in vector))[:, 0]
    return ToolResult({"matrix": value, "vector": applied}, diagnostics)


def _times(entry: Node, t: Node) -> Node:
    a, b = rational_value(entry), rational_value(t)
    return Product((entry, t)) if a is None or b is None else Number(a * b)


def _ball_exponential(scaled: Matrix, vector: tuple[Node, ...] | None) -> tuple[Array, Array | None]:
    """Return exp of the matrix and its product with the vector, rounded once."""
    from flint import arb_mat

    for bits in _BITS:
        with precision(bits):
            exponential = arb_mat([[ball(entry, {}).real for entry in row] for row in scaled]).exp()
            parts = [exponential]
            if vector is not None:
                parts.append(exponential * arb_mat([[ball(entry, {}).real] for entry in vector]))
            if all(_is_settled(entry) for part in parts for row in part.tolist() for entry in row):
                arrays = [np.array([[_double(entry) for entry in row] for row in part.tolist()]) for part in parts]
                return arrays[0], arrays[1][:, 0] if vector is not None else None
    raise LimitExceeded("size", "the exponential cancels too much to be computed", "take a shorter time")


def _is_settled(entry: Any) -> bool:
    from flint import arb

    if not entry.is_finite():
        return False
    return bool(entry.rel_accuracy_bits() >= 60 or entry.abs_upper() < arb(2) ** _TINY)


def _double(entry: Any) -> float:
    from flint import arb

    if entry.abs_lower() >= arb(2) ** 1024:
        raise ToolError("OVERFLOW", "an entry of the exponential is beyond double precision", "take a shorter time")
    return 0.0 if entry.contains(0) else float(entry.mid())


def _by_eigenvectors(at: Array, exact: Array) -> tuple[Array, float, float]:
    with one_thread(), np.errstate(all="ignore"):
        values, vectors = np.linalg.eig(at)
        kappa = condition(vectors)
        try:
            result = (vectors * np.exp(values)) @ np.linalg.inv(vectors)
        except np.linalg.LinAlgError:
            result = np.full(at.shape, np.nan)
        error = float(np.abs(result - exact).max() / np.abs(exact).max())
    if not error < USELESS:
        message = f"the eigenvectors all but coincide (condition {kappa:.3g}): no digit would be right"
        raise ToolError("SINGULAR", message, "use method pade", eigenvector_condition=kappa)
    return result.real, kappa, error


def _closed_exponential(matrix: Matrix, t: Node, vector: tuple[Node, ...] | None) -> ToolResult:
    from maven_env.tools.linear_algebra.closed_exponential import closed_exponential

    if len(matrix) > _EXACT_ORDER:
        raise LimitExceeded(
            "size", f"a closed form of a {len(matrix)} x {len(matrix)} exponential is beyond {_EXACT_ORDER}"
        )
    table, applied = closed_exponential(matrix, t, vector)
    norm = None
    if not any(free_symbols(e) for row in matrix for e in row) and not free_symbols(t):
        norm = float(np.abs(doubles(tuple(tuple(_times(e, t) for e in row) for row in matrix))).sum(axis=1).max())
    return ToolResult({"matrix": table, "vector": applied}, {"method": "exact", "norm_At": norm})
