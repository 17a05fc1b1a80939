"""Condition numbers: how much an error of the data is magnified, and whether enough digits are left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import (
    Matrix,
    Node,
    Number,
    Power,
    Product,
    Symbol,
    free_symbols,
    rational_value,
    replace,
    to_text,
)
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.balls import Undecided, precision
from maven_env.expressions.numeric import float_of
from maven_env.tools.kinds import Exact, ExactMatrix, Expr, Name, Range, Setting, bad_input
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.verification.evidence import closed, double, enclosed, judged, size, terms_of
from maven_env.tools.verification.polynomial_values import polynomial_of

_PRECISE = 24  # rows or columns up to which singular values are computed to many digits
_BITS = (256, 1_024, 4_096)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition number and how it was found."""

    value: float
    method: str


@tool(
    kind="verification",
    tier=0,
    near=("check_residual", "check_convergence", "propagate_uncertainty"),
    backend=("python-flint", "numpy"),
)
def check_condition(
    kind: Literal["matrix", "root", "evaluation", "sum"],
    matrix: ExactMatrix | None = None,
    expr: Expr | None = None,
    wrt: Name | None = None,
    at: dict[str, Exact] | None = None,
    terms: list[Exact] | None = None,
    input_rel_error: Annotated[Setting, Range(0, 1)] = 1.1e-16,
    target_rel_error: Annotated[Setting, Range(0, 1e6)] = 1e-6,
) -> ToolResult:
    """Ask whether a result can be trusted to target_rel_error if its data have input_rel_error.

    Failed means that the target cannot be trusted in the given precision; within a decade of the target on either side
    the verdict is inconclusive. A condition number of a matrix depends on its scaling: diag(1, 1e-12) is harmless.

    Args:
        kind: matrix (2-norm), root (of expr in wrt near at), evaluation (of expr with respect to wrt) or sum (of terms)
        matrix: for kind matrix
        expr: for root and evaluation: the function
        wrt: for root and evaluation: the variable
        at: for root and evaluation: values of all symbols
        terms: for sum: the numbers that are added; condition = sum |t| / |sum t|
        input_rel_error: relative error of the data; the default is the rounding of double precision
        target_rel_error: relative accuracy that is wanted

    Returns:
        verdict (passed | failed | inconclusive): whether condition times input error is below the target
        condition_number (number): the condition number; oo if singular
        digits_lost (number): its decimal logarithm
        predicted_rel_error (number): condition number times input_rel_error
        tolerance (number): target_rel_error

    Diagnostics:
        norm: what the condition number measures
        evidence: what the verdict rests on

    Raises:
        BAD_INPUT: a field for this kind is missing
        UNKNOWN_SYMBOL: a symbol has no value
        DOMAIN_ERROR: the function has no value or no derivative at the point

    Example:
        {"kind": "sum", "terms": ["1000000.1", "-1000000"], "target_rel_error": 1e-6}
    """
    if kind == "matrix":
        found = matrix_condition(_needed(matrix, "matrix", kind))
    elif kind == "sum":
        found = sum_condition(_needed(terms, "terms", kind))
    else:
        function, variable = _needed(expr, "expr", kind), _needed(wrt, "wrt", kind)
        point = _needed(at, "at", kind)
        if variable not in point:
            raise ToolError("UNKNOWN_SYMBOL", f"at has no value for {variable}", f"known: {', '.join(point) or 'none'}")
        found = _root(function, variable, point) if kind == "root" else _evaluation(function, variable, point)
    predicted = found.value * input_rel_error if input_rel_error else 0.0
    holds = judged(predicted, target_rel_error)
    output = {
        "verdict": verdict(holds),
        "condition_number": found.value,
        "digits_lost": math.log10(max(found.value, 1.0)) if math.isfinite(found.value) else math.inf,
        "predicted_rel_error": predicted,
        "tolerance": target_rel_error,
    }
    evidence = f"condition {found.value:.4g} times input error {input_rel_error:.3g} is {predicted:.3g}"
    return ToolResult(output, {"norm": found.method, "evidence": evidence})


def _needed(value: Any, name: str, kind: str) -> Any:
    if value is None or value == []:
        raise bad_input(f"kind {kind} needs {name}")
    return value


def sum_condition(terms: list[Node]) -> Condition:
    """Return sum |t| / |sum t|, correctly rounded; infinite if the sum is zero."""
    exact = [rational_value(term) for term in terms]
    if all(value is not None for value in exact):
        values = [value for value in exact if value is not None]
        total = sum(values)
        if total == 0:
            return Condition(1.0 if not any(values) else math.inf, "sum of moduli over modulus of the sum")
        return Condition(float_of(sum(map(abs, values)) / abs(total)), "sum of moduli over modulus of the sum")
    from flint import acb, arb

    for bits in _BITS:
        found = [enclosed(term, bits) for term in terms]
        with precision(bits):
            balance, moduli = sum(found, acb(0)), sum((abs(t) for t in found), arb(0))
            if not balance.contains(0):
                return Condition(double(moduli / abs(balance)), "sum of moduli over modulus of the sum")
    return Condition(math.inf, "sum of moduli over modulus of the sum, which cannot be told from zero")


# ---- functions -------------------------------------------------------------------------------------------------------
def _slope(function: Node, variable: str, point: dict[str, Node], bits: int) -> tuple[Any, Any, Any]:
    """Return balls of x, f(x) and f'(x)."""
    from flint import acb

    from maven_env.expressions.analysis.jets import jet

    unknown = free_symbols(function) - set(point)
    if unknown:
        known = f"known: {', '.join(point)}"
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(sorted(unknown))}", known)
    values = {name: enclosed(value, bits) for name, value in point.items()}
    with precision(bits):
        value, slope = jet(function, values, {variable: acb(1)}, 1)
    return values[variable], value, slope


def _evaluation(function: Node, variable: str, point: dict[str, Node]) -> Condition:
    """|x f'(x) / f(x)|"""
    method = "|x f'(x) / f(x)|"
    for bits in _BITS:
        x, value, slope = _slope(function, variable, point, bits)
        with precision(bits):
            if not value.contains(0):
                return Condition(double(abs(x * slope / value)), method)
    with precision(_BITS[-1]):
        if (x * slope).contains(0):
            raise Undecided("both the function and its derivative may be zero here")
    return Condition(math.inf, f"{method}, and the value cannot be told from zero")


def _root(function: Node, variable: str, point: dict[str, Node]) -> Condition:
    """sum |terms| / |x f'(x)|: for a polynomial the terms are its monomials, whatever form it is written in."""
    others = {name: value for name, value in point.items() if name != variable}
    function = replace(function, others)
    missing = free_symbols(function) - {variable}
    if missing:
        known = f"known: {', '.join(point)}"
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(sorted(missing))}", known)
    terms = monomials(function, variable)
    method = "sum of moduli of the monomials over |x f'(x)|"
    if terms is None:
        terms, method = terms_of(function), "sum of moduli of the terms over |x f'(x)|"
    for bits in _BITS:
        x, _, slope = _slope(function, variable, {variable: point[variable]}, bits)
        with precision(bits):
            total = sum((size(closed(term, {variable: point[variable]}), bits) for term in terms), start=_zero())
            below = abs(x * slope)
            if not below.contains(0):
                return Condition(double(total / below), method)
    return Condition(math.inf, f"{method}; the derivative cannot be told from zero: a multiple root, or a root at zero")


def _zero() -> Any:
    from flint import arb

    return arb(0)


def monomials(function: Node, variable: str) -> list[Node] | None:
    """Return the monomials of a polynomial with rational coefficients, multiplied out; None for anything else."""

    found = polynomial_of(function, variable)
    if found is None:
        return None
    terms: list[Node] = []
    for k, coefficient in enumerate(found.coeffs()):
        value = fraction(coefficient)
        if value:
            terms.append(Product((Number(value), Power(Symbol(variable), Number(Fraction(k))))))
    return terms


# ---- matrices --------------------------------------------------------------------------------------------------------
def matrix_condition(matrix: Matrix) -> Condition:
    """Return the ratio of the largest to the smallest singular value; infinite if the rank is not full."""
    rows, columns = len(matrix), len(matrix[0])
    for row in matrix:
        for entry in row:
            if free_symbols(entry):
                message = f"a number is needed, {to_text(entry)} has symbols"
                raise ToolError("UNKNOWN_SYMBOL", message, "put values in first")
    if rows * columns > 10_000:
        raise LimitExceeded("size", f"{rows} x {columns} entries, the bound is 10000")
    if min(rows, columns) <= _PRECISE and max(rows, columns) <= 4 * _PRECISE:
        return _precise_condition(matrix)
    return _double_condition(matrix)


def _precise_condition(matrix: Matrix) -> Condition:
    """Singular values from the eigenvalues of the Gram matrix, at a precision that outruns their spread."""
    from flint import acb_mat

    rows, columns = len(matrix), len(matrix[0])
    if _is_deficient(matrix):
        return Condition(math.inf, "2-norm; the rank is not full")
    for bits in _BITS:
        entries = [[enclosed(entry, bits) for entry in row] for row in matrix]
        with precision(bits):
            a = acb_mat(entries)
            adjoint = a.conjugate().transpose()
            gram = adjoint * a if columns <= rows else a * adjoint
            values = sorted((e.real.mid() for e in gram.eig(algorithm="approx")), key=float)
            low, high = values[0], values[-1]
            if high > 0 and low > high * _power(-bits // 2):
                return Condition(double((high / low).sqrt()), "2-norm")
    return Condition(math.inf, "2-norm; singular to 4096 bits")


def _power(exponent: int) -> Any:
    from flint import arb

    return arb(2) ** exponent


def _is_deficient(matrix: Matrix) -> bool:
    from flint import fmpq, fmpq_mat

    rows = [[rational_value(entry) for entry in row] for row in matrix]
    if any(value is None for row in rows for value in row):
        return False
    exact = fmpq_mat([[fmpq(v.numerator, v.denominator) for v in row if v is not None] for row in rows])
    return int(exact.rank()) < min(len(rows), len(rows[0]))


def _double_condition(matrix: Matrix) -> Condition:
    import numpy as np

    from maven_env.expressions.balls import nearest_double

    array = np.array([[nearest_double(entry) for entry in row] for row in matrix])
    values = np.linalg.svd(array, compute_uv=False)
    if values[-1] == 0:
        return Condition(math.inf, "2-norm, in double precision")
    return Condition(float(values[0] / values[-1]), "2-norm, in double precision")
