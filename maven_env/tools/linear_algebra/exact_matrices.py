"""Exact linear algebra under the tools: python-flint for rationals, a field of fractions for everything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Matrix, Node, free_symbols, rational_value, to_text
from maven_env.expressions.algebra.elements import Element
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.balls import dyadic, precision, value_ball

RATIONAL_ORDER = 100
SYMBOLIC_ORDER = 24
DIGIT_BITS = 3_300  # 1000 digits, what a literal may have
RATIONAL_WORK = 40_000_000_000  # order^3 times bits of the determinant
ROW_BITS = 30_000  # of the common denominator of a row
_MASKS = 1_500  # minors of one size that are kept

Rows = list[list[Element]]


def rationals(matrix: Matrix) -> list[list[Fraction]] | None:
    """Return the entries as rationals, or None if one is not rational arithmetic."""
    rows: list[list[Fraction]] = []
    for row in matrix:
        values = [rational_value(entry) for entry in row]
        found = [value for value in values if value is not None]
        if len(found) < len(values):
            return None
        rows.append(found)
    return rows


def flint_matrix(rows: Sequence[Sequence[Fraction]]) -> Any:
    """Return an fmpq_mat. Raises LimitExceeded for what would take long."""
    from flint import fmpq, fmpq_mat

    order = max(len(rows), len(rows[0]))
    bits = sum(_row_bits(row) for row in rows) if order <= RATIONAL_ORDER else 0
    if order > RATIONAL_ORDER or order**3 * bits > RATIONAL_WORK:
        message = f"an exact {len(rows)} x {len(rows[0])} matrix with entries of this many digits is beyond the bound"
        raise LimitExceeded("size", message, "use a numeric tool, or fewer digits")
    return fmpq_mat([[fmpq(v.numerator, v.denominator) for v in row] for row in rows])


def measured(matrix: Matrix) -> list[list[Fraction]]:
    """Return real entries as rationals: exact where they are rational, else to 60 digits. Raises DOMAIN_ERROR."""
    return [[_measured(entry) for entry in row] for row in matrix]


def _measured(entry: Node) -> Fraction:
    exact = rational_value(entry)
    if exact is not None:
        return exact
    missing = free_symbols(entry)
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"a number is needed, {to_text(entry)} has {', '.join(sorted(missing))}")
    found = value_ball(entry, digits=60)
    if not found.imag.contains(0):
        raise ToolError("DOMAIN_ERROR", f"a real number is needed, {to_text(entry)} is not real")
    return dyadic(found.real.mid())


def root(value: Fraction) -> float:
    """Return the square root of a rational as the nearest double."""
    from flint import arb, fmpq

    with precision(160):
        return float(arb(fmpq(value.numerator, value.denominator)).sqrt().mid())


def _row_bits(row: Sequence[Fraction]) -> int:
    """Return the size of a row of integers after its denominators are cleared: it bounds that of a determinant."""
    common = 1
    for value in row:
        common = math.lcm(common, value.denominator)
        if common.bit_length() > ROW_BITS:
            raise LimitExceeded(
                "size", "the fractions of one row have no moderate common denominator", "use fewer digits"
            )
    return common.bit_length() + max(value.numerator.bit_length() for value in row) + 1


def exact_text(value: Fraction) -> str:
    """Write a rational. Raises LimitExceeded for more digits than a literal may have."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > DIGIT_BITS:
        digits = int(max(value.numerator.bit_length(), value.denominator.bit_length()) * 0.30103)
        raise LimitExceeded(
            "size", f"an exact result has about {digits} digits, the bound is 1000", "use a numeric tool"
        )
    return str(value)


def elements(matrix: Matrix) -> tuple[Field, Rows]:
    """Return the field of the entries and the entries in it."""
    if max(len(matrix), len(matrix[0])) > SYMBOLIC_ORDER:
        raise LimitExceeded(
            "size",
            f"a symbolic {len(matrix)} x {len(matrix[0])} matrix is beyond the bound of {SYMBOLIC_ORDER}",
            "put numbers for symbols",
        )
    field = Field(entry for row in matrix for entry in row)
    return field, [[field.element(entry) for entry in row] for row in matrix]


def require_square(matrix: Any) -> int:
    rows, columns = len(matrix), len(matrix[0])
    if rows != columns:
        raise ToolError(
            "SHAPE_MISMATCH", f"expected a square matrix, got {rows} x {columns}", "give n rows of n entries"
        )
    return rows


# ---- determinants ----------------------------------------------------------------------------------------------------
def determinant(field: Field, rows: Rows) -> Element:
    """Return the determinant: by minors where they are few, else by elimination."""
    scale = field.one
    cleared = []
    for row in rows:
        den = row[0].den
        for entry in row[1:]:
            if den != entry.den:
                den = den * entry.den / den.gcd(entry.den)
        cleared.append(
            [
                entry.num * (den / entry.den) if not entry.den.is_one() or not den.is_one() else entry.num
                for entry in row
            ]
        )
        scale = scale * Element(field, den, field.one.num) if not den.is_one() else scale
    polynomial = _minors(field, cleared)
    if polynomial is None:
        reduced = reduce_rows(field, rows)
        if len(reduced.pivots) < len(rows):
            return field.zero
        return reduced.determinant
    return field.fraction(polynomial, scale.num)


def _minors(field: Field, rows: list[list[Any]]) -> Any | None:
    """Expand along the rows from the last, keeping the minors of the rows below by their columns (division free)."""
    n = len(rows)
    previous: dict[int, Any] = {0: field.one.num}
    for row in reversed(rows):
        entries = [(j, entry) for j, entry in enumerate(row) if not entry.is_zero()]
        current: dict[int, Any] = {}
        for mask, minor in previous.items():
            for j, entry in entries:
                bit = 1 << j
                if mask & bit:
                    continue
                field.charge(entry, minor)
                term = entry * minor
                before = (mask & (bit - 1)).bit_count()
                known = current.get(mask | bit)
                if before % 2:
                    current[mask | bit] = -term if known is None else known - term
                else:
                    current[mask | bit] = term if known is None else known + term
        previous = {mask: field.reduce(minor) for mask, minor in current.items() if not minor.is_zero()}
        if len(previous) > _MASKS:
            return None
    return previous.get((1 << n) - 1, field.zero.num)


# ---- elimination -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Reduced:
    """The reduced row echelon form, its pivot columns, the pivots as divided by, and their signed product."""

    rows: Rows
    pivots: tuple[int, ...]
    divisors: tuple[Element, ...]
    determinant: Element


def reduce_rows(field: Field, rows: Rows, columns: int | None = None) -> Reduced:
    """Bring rows to reduced echelon form with pivots in the first `columns` columns.

    The form holds wherever no divisor vanishes. Raises UNSOLVED if it cannot be proved that an entry is zero or not.
    """
    rows = [list(row) for row in rows]
    pivots: list[int] = []
    divisors: list[Element] = []
    product = field.one
    for column in range(len(rows[0]) if columns is None else columns):
        top = len(pivots)
        if top == len(rows):
            break
        chosen = _pivot(rows, top, column)
        if chosen is None:
            continue
        if chosen != top:
            rows[top], rows[chosen] = rows[chosen], rows[top]
            product = -product
        pivot = rows[top][column]
        divisors.append(pivot)
        product = product * pivot
        rows[top] = [entry / pivot if j >= column else entry for j, entry in enumerate(rows[top])]
        for i, row in enumerate(rows):
            factor = row[column]
            if i != top and not factor.num.is_zero():
                rows[i] = [
                    entry - factor * rows[top][j] if j >= column and not rows[top][j].num.is_zero() else entry
                    for j, entry in enumerate(row)
                ]
        pivots.append(column)
    return Reduced(rows, tuple(pivots), tuple(divisors), product)


def _pivot(rows: Rows, top: int, column: int) -> int | None:
    """Return the row of the simplest entry that is surely not zero."""
    candidates = [i for i in range(top, len(rows)) if not rows[i][column].num.is_zero()]
    candidates.sort(key=lambda i: (not rows[i][column].is_number(), _size(rows[i][column]), i))
    return next((i for i in candidates if not rows[i][column].is_zero()), None)


def _size(entry: Element) -> int:
    return len(entry.num) + 2 * len(entry.den)


def conditions(divisors: Sequence[Element]) -> list[str]:
    """Return the irreducible expressions, sorted, whose vanishing would void an elimination with these divisors."""
    found: set[str] = set()
    for divisor in divisors:
        for polynomial in (divisor.num, divisor.den):
            if not polynomial.is_constant():
                _, factors = polynomial.factor()
                found.update(divisor.field.polynomial_text(factor) for factor, _ in factors)
    return sorted(found, key=lambda text: (len(text), text))
