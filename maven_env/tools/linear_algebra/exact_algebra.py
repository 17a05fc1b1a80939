"""Exact linear algebra: determinants, systems, null spaces, products and inverses over rationals and expressions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Matrix, free_symbols
from maven_env.expressions.algebra.elements import Element
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.numeric import float_of
from maven_env.tools.kinds import ExactMatrix, ExactVector, Name
from maven_env.tools.linear_algebra.exact_matrices import (
    conditions,
    determinant,
    elements,
    exact_text,
    flint_matrix,
    rationals,
    reduce_rows,
    require_square,
)
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult


@tool(kind="exact", tier=0, near=("matrix_determinant_numeric",), backend=("python-flint",))
def matrix_determinant(matrix: ExactMatrix, method: Literal["bareiss", "berkowitz"] = "bareiss") -> ToolResult:
    """Compute a determinant exactly, with rational or symbolic entries.

    Decimals are exact: 0.3333 is not 1/3, so write Hilbert entries as "1/3". The size of a determinant says nothing
    about how near the matrix is to a singular one. A symbolic determinant is multiplied out.

    Args:
        matrix: square matrix, rows of numbers or expressions
        method: kept for both names of the algorithm; the result is the same

    Returns:
        expr (expr): the exact determinant
        value (number): its double, if no symbols remain
        sign (-1 | 0 | 1 | unknown): its sign; unknown if symbols remain

    Diagnostics:
        exact: always true
        singular: whether the determinant is zero; for symbols, whether it is zero for all values; null if undecided
        n_terms: number of terms of a symbolic determinant

    Raises:
        SHAPE_MISMATCH: the matrix is not square
        LIMIT_EXCEEDED: more than 5000 terms, or a very large matrix
        UNSOLVED: it cannot be decided whether an entry that elimination makes is zero

    Example:
        {"matrix": [["1", "1/2"], ["1/2", "1/3"]]}
    """
    require_square(matrix)
    exact = rationals(matrix)
    if exact is not None:
        found = fraction(flint_matrix(exact).det())
        sign = (found > 0) - (found < 0)
        output = {"expr": exact_text(found), "value": float_of(found), "sign": sign}
        return ToolResult(output, {"exact": True, "singular": found == 0})
    field, rows = elements(matrix)
    result = determinant(field, rows)
    singular = _singular(result)
    value = result.value() if singular is not None else None
    known = value is not None and value.imag == 0
    shown: int | str = "unknown" if value is None or not known else (value.real > 0) - (value.real < 0)
    diagnostics = {"exact": True, "singular": singular, "n_terms": len(result.num)}
    return ToolResult({"expr": str(result), "value": value, "sign": shown}, diagnostics)


def _singular(value: Element) -> bool | None:
    """Return whether a value is zero, None if that cannot be decided."""
    try:
        return value.is_zero()
    except ToolError:
        return None


@tool(
    kind="exact",
    tier=0,
    near=("solve_linear_system", "null_space", "solve_system"),
    backend=("python-flint",),
)
def solve_linear_exact(matrix: ExactMatrix, rhs: ExactVector, unknowns: list[Name] | None = None) -> ToolResult:
    """Solve a linear system exactly: square, over- or underdetermined, rational or symbolic.

    Exact for measured data means exact for their noise: a rank decided on rounded decimals means nothing. With symbols
    the solution holds where none of valid_unless_zero vanishes; look at those cases apart.

    Args:
        matrix: matrix of the system, one row per equation
        rhs: right-hand side, one entry per row
        unknowns: names of the unknowns, one per column; a free unknown then keeps its name

    Returns:
        solution (vector): exact entries, in terms of the free parameters if there are any
        values (vector): their doubles; null where symbols remain
        free_parameters (list of symbol): parameters of an underdetermined system, each of them arbitrary

    Diagnostics:
        exact: always true
        rank: rank of the matrix
        augmented_rank: rank of the matrix with the right-hand side
        consistent: whether the system has a solution
        valid_unless_zero: expressions that must not vanish for the solution to hold

    Raises:
        NO_SOLUTION: the equations contradict each other
        SHAPE_MISMATCH: rows and right-hand side differ in number
        LIMIT_EXCEEDED: the system is too large for exact arithmetic
        UNSOLVED: it cannot be decided whether an entry that elimination makes is zero

    Example:
        {"matrix": [["1", "1/2"], ["1/2", "1/3"]], "rhs": ["1", "0"]}
    """
    rows, columns = len(matrix), len(matrix[0])
    if len(rhs) != rows:
        raise ToolError(
            "SHAPE_MISMATCH", f"{rows} rows and {len(rhs)} right-hand sides", "give one entry of rhs per row"
        )
    if unknowns is not None and (len(unknowns) != columns or len(set(unknowns)) != columns):
        raise ToolError(
            "SHAPE_MISMATCH", f"{columns} columns and {len(unknowns)} names", "give one distinct name a column"
        )
    augmented: Matrix = tuple((*row, right) for row, right in zip(matrix, rhs, strict=True))
    taken = frozenset[str]().union(*(free_symbols(entry) for row in augmented for entry in row))
    if unknowns is not None and taken & set(unknowns):
        clash = ", ".join(sorted(taken & set(unknowns)))
        raise ToolError(
            "BAD_INPUT", f"the unknown {clash} occurs in matrix or rhs", "give coefficients only, or rename it"
        )
    exact = rationals(augmented)
    if exact is not None:
        return _rational_system(exact, columns, unknowns)
    return _symbolic_system(augmented, columns, unknowns, taken)


def _rational_system(augmented: list[list[Fraction]], columns: int, unknowns: list[str] | None) -> ToolResult:
    regular = regular_solution(augmented) if len(augmented) == columns else None
    if regular is not None:
        exact = [fraction(value) for value in regular.entries()]
        return _solved([exact_text(value) for value in exact], [float_of(value) for value in exact], [], columns, None)
    full = flint_matrix(augmented)
    echelon, rank = full.rref()
    table = echelon.tolist()
    pivots = [next(j for j in range(columns + 1) if table[i][j] != 0) for i in range(rank)]
    if columns in pivots:
        raise _contradiction(rank - 1, rank, "")
    names = _parameters(columns, pivots, unknowns, frozenset())
    solution: list[str] = []
    values: list[complex | None] = []
    by_column = {column: i for i, column in enumerate(pivots)}
    free = [j for j in range(columns) if j not in by_column]
    for j in range(columns):
        if j not in by_column:
            solution.append(names[j])
            values.append(None)
            continue
        row = table[by_column[j]]
        terms = [(-fraction(row[k]), names[k]) for k in free if row[k] != 0]
        right = fraction(row[columns])
        solution.append(_affine(right, terms))
        values.append(None if terms else float_of(right))
    return _solved(solution, values, [names[j] for j in free], rank, None)


def regular_solution(augmented: list[list[Fraction]]) -> Any | None:
    """Return the one solution of a square system as a column of python-flint, or None if the matrix is singular."""
    system = flint_matrix([row[:-1] for row in augmented])
    right = flint_matrix([row[-1:] for row in augmented])
    try:
        return system.solve(right)
    except ZeroDivisionError:
        return None


def _affine(constant: Fraction, terms: list[tuple[Fraction, str]]) -> str:
    text = exact_text(constant) if constant or not terms else ""
    for coefficient, name in terms:
        size = abs(coefficient)
        exact_text(size)
        term = name if size.numerator == 1 else f"{size.numerator}*{name}"
        term = term if size.denominator == 1 else f"{term}/{size.denominator}"
        if text:
            text += f" - {term}" if coefficient < 0 else f" + {term}"
        else:
            text = f"-{term}" if coefficient < 0 else term
    return text


def _symbolic_system(augmented: Matrix, columns: int, unknowns: list[str] | None, taken: frozenset[str]) -> ToolResult:
    field, rows = elements(augmented)
    reduced = reduce_rows(field, rows, columns)
    rank = len(reduced.pivots)
    for row in reduced.rows[rank:]:
        if not row[columns].is_zero():
            condition = "" if row[columns].is_number() else f"{row[columns]} = 0"
            raise _contradiction(rank, rank + 1, condition)
    names = _parameters(columns, reduced.pivots, unknowns, taken)
    by_column = {column: i for i, column in enumerate(reduced.pivots)}
    free = [j for j in range(columns) if j not in by_column]
    solution: list[str] = []
    values: list[complex | None] = []
    for j in range(columns):
        if j not in by_column:
            solution.append(names[j])
            values.append(None)
            continue
        row = reduced.rows[by_column[j]]
        text = str(row[columns])
        terms = [(-row[k], names[k]) for k in free if not row[k].num.is_zero()]
        values.append(None if terms else row[columns].value())
        plain = [(c.rational(), name) for c, name in terms if c.is_number()]
        if plain:
            added = _affine(Fraction(0), plain)
            text = added if text == "0" else f"{text} - {added[1:]}" if added[0] == "-" else f"{text} + {added}"
        for coefficient, name in terms:
            if not coefficient.is_number():
                text = f"({coefficient})*{name}" if text == "0" else f"{text} + ({coefficient})*{name}"
        solution.append(text)
    square = len(augmented) == columns == rank
    divisors = (reduced.determinant,) if square else reduced.divisors
    extra = [entry for row in rows for entry in row if not entry.den.is_one()]
    needed = conditions([*divisors, *(field.one / Element(field, e.den, field.one.num) for e in extra)])
    return _solved(solution, values, [names[j] for j in free], rank, needed)


def _contradiction(rank: int, augmented_rank: int, condition: str) -> ToolError:
    message = "the equations contradict each other"
    if condition:
        message = f"for general symbols the equations contradict each other; a solution needs {condition}"
    return ToolError(
        "NO_SOLUTION",
        message,
        "use lstsq_qr for a least-squares solution, or check the equations",
        rank=rank,
        augmented_rank=augmented_rank,
    )


def _parameters(
    columns: int, pivots: list[int] | tuple[int, ...], unknowns: list[str] | None, taken: frozenset[str]
) -> list[str]:
    """Return a name for every column; only those of free columns are used."""
    if unknowns is not None:
        return unknowns
    names: list[str] = []
    count = 0
    for j in range(columns):
        if j in pivots:
            names.append("")
            continue
        count += 1
        while f"t{count}" in taken:
            count += 1
        names.append(f"t{count}")
    return names


def _solved(
    solution: list[str], values: list[complex | None], free: list[str], rank: int, needed: list[str] | None
) -> ToolResult:
    diagnostics: dict[str, Any] = {"exact": True, "rank": rank, "augmented_rank": rank, "consistent": True}
    if needed:
        diagnostics["valid_unless_zero"] = needed
    return ToolResult({"solution": solution, "values": values, "free_parameters": free}, diagnostics)


@tool(kind="exact", tier=0, near=("svd_decompose", "solve_linear_exact"), backend=("python-flint",))
def null_space(matrix: ExactMatrix, integer_basis: bool = True) -> ToolResult:
    """Compute an exact basis of the null space, the rank and the reduced row echelon form.

    Rounded decimals destroy exact rank: give rationals, or use svd_decompose for measured data. With symbols the result
    holds where none of valid_unless_zero vanishes.

    Args:
        matrix: any matrix, rows of numbers or expressions
        integer_basis: clear denominators, so that a rational basis consists of coprime integers

    Returns:
        basis (list of vector): vectors v with matrix*v = 0; one per free column, which is positive in it
        rank (int): rank
        nullity (int): number of basis vectors
        rref (matrix): reduced row echelon form

    Diagnostics:
        exact: always true
        pivots: pivot columns, counted from 0
        valid_unless_zero: expressions that must not vanish for a symbolic result to hold

    Raises:
        LIMIT_EXCEEDED: the matrix is too large for exact arithmetic
        UNSOLVED: it cannot be decided whether an entry that elimination makes is zero

    Example:
        {"matrix": [["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]]}
    """
    columns = len(matrix[0])
    exact = rationals(matrix)
    if exact is None:
        return _symbolic_null_space(matrix, integer_basis)
    echelon, rank = flint_matrix(exact).rref()
    table = [[fraction(entry) for entry in row] for row in echelon.tolist()]
    pivots = [next(j for j in range(columns) if table[i][j]) for i in range(rank)]
    basis = []
    for free in (j for j in range(columns) if j not in pivots):
        vector = [Fraction(0)] * columns
        vector[free] = Fraction(1)
        for i, column in enumerate(pivots):
            vector[column] = -table[i][free]
        if integer_basis:
            scale = math.lcm(*(v.denominator for v in vector))
            common = math.gcd(*(int(v * scale) for v in vector))
            vector = [v * scale / common for v in vector]
        basis.append([exact_text(v) for v in vector])
    rref = [[exact_text(v) for v in row] for row in table]
    output = {"basis": basis, "rank": rank, "nullity": columns - rank, "rref": rref}
    return ToolResult(output, {"exact": True, "pivots": pivots})


def _symbolic_null_space(matrix: Matrix, integer_basis: bool) -> ToolResult:
    field, rows = elements(matrix)
    columns = len(matrix[0])
    reduced = reduce_rows(field, rows)
    basis = []
    for free in (j for j in range(columns) if j not in reduced.pivots):
        vector = [field.zero] * columns
        vector[free] = field.one
        for i, column in enumerate(reduced.pivots):
            vector[column] = -reduced.rows[i][free]
        if integer_basis:
            scale = vector[0].den
            for entry in vector[1:]:
                scale = scale * entry.den / scale.gcd(entry.den)
            factor = Element(field, scale, field.one.num)
            vector = [entry * factor for entry in vector]
        basis.append([str(entry) for entry in vector])
    rank = len(reduced.pivots)
    output = {
        "basis": basis,
        "rank": rank,
        "nullity": columns - rank,
        "rref": [[str(entry) for entry in row] for row in reduced.rows],
    }
    diagnostics: dict[str, Any] = {"exact": True, "pivots": list(reduced.pivots)}
    needed = conditions(reduced.divisors)
    if needed:
        diagnostics["valid_unless_zero"] = needed
    return ToolResult(output, diagnostics)
