"""Checks of solutions: residuals in the original equations, and values at the boundary."""

from __future__ import annotations

import math
from typing import Annotated, Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import (
    Matrix,
    Negative,
    Node,
    Product,
    Relation,
    Sum,
    difference,
    free_symbols,
    rational_value,
    replace,
    to_text,
)
from maven_env.expressions.balls import Undecided, precision
from maven_env.expressions.equality import equal
from maven_env.expressions.tree import ZERO
from maven_env.tools.kinds import Count, Equation, ExactMatrix, ExactVector, Range, Setting, Value, bad_input
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.verification.conditioning import matrix_condition
from maven_env.tools.verification.evidence import all_hold, enclosed, judged, largest_term, upper_double

_PAIRS = 200  # of equation and candidate
_UNIT_ROUNDOFF = 2.0**-53


@tool(kind="verification", tier=0, near=("check_condition", "cross_check_numeric"), backend=("python-flint",))
def check_residual(
    equations: list[Equation] | None = None,
    candidates: list[dict[str, Value]] | None = None,
    matrix: ExactMatrix | None = None,
    rhs: ExactVector | None = None,
    solution: ExactVector | None = None,
    tol: Annotated[Setting, Range(0, 1)] = 1e-9,
    digits: Annotated[Count, Range(15, 200)] = 30,
) -> ToolResult:
    """Put candidate solutions into the original equations, or a vector into A x = b.

    A residual bounds the backward error only: with a large condition number the solution may still be far off, so a
    linear system is inconclusive when condition number times backward error exceeds tol. Use the equation as it was
    stated; a squared one accepts what squaring brought in. Passed below tol/10, failed above 10 tol.

    Args:
        equations: equations that every candidate must satisfy; a bare expression means = 0
        candidates: assignments of the unknowns, each name: value; exact values such as (3 - sqrt(5))/2 stay exact
        matrix: A of the linear system A x = b, instead of equations
        rhs: b of the linear system
        solution: x of the linear system
        tol: tolerance of the residual relative to the largest term
        digits: working digits

    Returns:
        verdict (passed | failed | inconclusive): all candidates together
        residuals (list of number): largest residual of each candidate relative to the largest term of its equation
        per_candidate (list of text): verdict of each candidate; inconclusive where an equation has no value
        backward_error (number): of a linear system, |b - A x| over |A||x| + |b| in the maximum norm
        tolerance (number): the tolerance used

    Diagnostics:
        max_relative_residual: the largest of the residuals
        condition_number: of a square matrix, in the 2-norm
        evidence: what the verdict rests on

    Raises:
        BAD_INPUT: neither equations with candidates nor matrix with rhs and solution
        SHAPE_MISMATCH: sizes do not fit
        DOMAIN_ERROR: the size of the terms is undefined at a candidate

    Example:
        {"equations": ["x^2 - 3*x + 1 = 0"], "candidates": [{"x": "(3 - sqrt(5))/2"}]}
    """
    if matrix is not None:
        if rhs is None or solution is None or equations is not None:
            raise bad_input("a linear system needs matrix, rhs and solution, and no equations")
        return _linear(matrix, rhs, solution, tol, digits)
    if not equations or not candidates:
        raise bad_input("give equations and candidates, or matrix, rhs and solution", "an empty list checks nothing")
    if len(equations) * len(candidates) > _PAIRS:
        raise LimitExceeded("size", f"{len(equations)} x {len(candidates)} residuals, the bound is {_PAIRS}")
    residuals: list[float | None] = []
    verdicts: list[bool | None] = []
    notes: list[str] = []
    for candidate in candidates:
        pairs = [_residual(equation, candidate, tol, digits) for equation in equations]
        residuals.append(max((r for r, _, _ in pairs if r is not None), default=None))
        verdicts.append(all_hold([holds for _, holds, _ in pairs]))
        notes.extend(note for _, _, note in pairs if note)
    known = [r for r in residuals if r is not None]
    output = {
        "verdict": verdict(all_hold(verdicts)),
        "residuals": residuals,
        "per_candidate": [verdict(v) for v in verdicts],
        "tolerance": tol,
    }
    evidence = "; ".join(dict.fromkeys(notes)) or f"residuals enclosed at {digits} digits"
    return ToolResult(output, {"max_relative_residual": max(known, default=None), "evidence": evidence})


def _residual(
    equation: Relation, candidate: dict[str, Node], tol: float, digits: int
) -> tuple[float | None, bool | None, str]:
    """Return the relative residual, whether it holds, and a note."""
    gap = replace(difference(equation), candidate)
    if free_symbols(gap):
        return _identity(gap)
    if rational_value(gap) == 0:
        return 0.0, True, ""
    bits = int(digits * 3.33) + 64
    try:
        found = enclosed(gap, bits)
    except Undecided as error:
        return None, None, f"no value at the candidate {_shown(candidate)}: {error.message}"
    if found.contains(0) and equal(gap, ZERO) == "equal":
        return 0.0, True, "zero exactly"
    scale = largest_term([replace(equation.left, candidate), replace(equation.right, candidate)], bits)
    with precision(bits):
        relative = upper_double(abs(found) / scale) if not scale.contains(0) else math.inf
        if found.contains(0):
            return (0.0 if relative < 10.0**-digits else relative), (True if judged(relative, tol) else None), ""
        middle = upper_double(abs(found).mid() / scale.mid())
    return middle, judged(middle, tol), ""


def _shown(candidate: dict[str, Node]) -> str:
    return ", ".join(f"{name} = {to_text(value)[:40]}" for name, value in candidate.items())


def _identity(gap: Node) -> tuple[float | None, bool | None, str]:
    """With symbols left the equation must hold for all their (positive) values."""
    found = equal(gap, ZERO)
    names = ", ".join(sorted(free_symbols(gap)))
    holds = {"equal": True, "different": False, "unknown": None}[found]
    return (0.0 if holds else None), holds, f"compared with zero as an identity in {names}"


def _linear(matrix: Matrix, rhs: tuple[Node, ...], solution: tuple[Node, ...], tol: float, digits: int) -> ToolResult:
    rows, columns = len(matrix), len(matrix[0])
    if len(rhs) != rows or len(solution) != columns:
        message = f"the matrix is {rows} x {columns}, rhs has {len(rhs)} and solution {len(solution)} entries"
        raise ToolError("SHAPE_MISMATCH", message, "A x = b needs a row for each entry of b, a column for each of x")
    for node in (*(entry for row in matrix for entry in row), *rhs, *solution):
        if free_symbols(node):
            raise ToolError("UNKNOWN_SYMBOL", f"a number is needed, {to_text(node)} has symbols", "put values in first")
    error, is_exact = _backward_error(matrix, rhs, solution, digits)
    condition = matrix_condition(matrix).value if rows == columns else None
    holds = judged(error, tol)
    evidence = "the residual is zero exactly" if is_exact else f"backward error {error:.3g}"
    if holds and not is_exact and condition is not None and condition * max(error, _UNIT_ROUNDOFF) > tol:
        holds = None
        evidence += f", but condition number {condition:.3g} times it exceeds tol: the solution may still be far off"
    output = {
        "verdict": verdict(holds),
        "residuals": [error],
        "per_candidate": [verdict(holds)],
        "backward_error": error,
        "tolerance": tol,
    }
    return ToolResult(output, {"max_relative_residual": error, "condition_number": condition, "evidence": evidence})


def _backward_error(
    matrix: Matrix, rhs: tuple[Node, ...], solution: tuple[Node, ...], digits: int
) -> tuple[float, bool]:
    from flint import acb, arb

    bits = int(digits * 3.33) + 64
    a = [[enclosed(entry, bits) for entry in row] for row in matrix]
    b, x = [enclosed(entry, bits) for entry in rhs], [enclosed(entry, bits) for entry in solution]
    with precision(bits):
        worst = arb(0)
        exactly = _is_solved_exactly(matrix, rhs, solution)
        for row, right in zip(a, b, strict=True):
            total: Any = acb(0)
            for entry, unknown in zip(row, x, strict=True):
                total += entry * unknown
            worst = arb.max(worst, abs(total - right))
        norm = arb(0)
        for row in a:
            norm = arb.max(norm, sum((abs(entry) for entry in row), arb(0)))
        scale = norm * _largest(x) + _largest(b)
        if exactly:
            return 0.0, True
        return (math.inf if scale.contains(0) else upper_double(worst / scale)), False


def _is_solved_exactly(matrix: Matrix, rhs: tuple[Node, ...], solution: tuple[Node, ...]) -> bool:
    x = [rational_value(entry) for entry in solution]
    for row, right in zip(matrix, rhs, strict=True):
        a, b = [rational_value(entry) for entry in row], rational_value(right)
        if b is None or None in a or None in x:
            terms = tuple(Product((p, q)) for p, q in zip(row, solution, strict=True))
            if len(row) > 12 or equal(Sum((*terms, Negative(right))), ZERO) != "equal":
                return False
        elif sum((p * q for p, q in zip(a, x, strict=True) if p is not None and q is not None), -b) != 0:
            return False
    return True


def _largest(values: list[Any]) -> Any:
    from flint import arb

    best = arb(0)
    for value in values:
        best = arb.max(best, abs(value))
    return best
