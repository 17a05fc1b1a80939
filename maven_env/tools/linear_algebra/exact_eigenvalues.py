"""Exact eigenvalues and eigenvectors: factors of the characteristic polynomial, and null spaces over their roots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Matrix,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    free_symbols,
    parse,
    to_text,
)
from maven_env.expressions.algebra.elements import Element
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.algebra.generators import outside
from maven_env.expressions.balls import nearest_complex, value_ball
from maven_env.tools.linear_algebra.exact_matrices import (
    Rows,
    determinant,
    flint_matrix,
    rationals,
    reduce_rows,
)

_ROOT = "_lambda"  # the indeterminate: no symbol that a user would write


@dataclass(frozen=True)
class Eigenvalue:
    """One distinct eigenvalue with a basis of its eigenspace."""

    text: str
    value: complex | None
    multiplicity: int
    geometric: int
    vectors: list[list[str]]


def exact_eigenvalues(matrix: Matrix, vectors: bool) -> list[Eigenvalue]:
    """Return the distinct eigenvalues. Raises UNSOLVED for a factor without a short closed form."""
    exact = rationals(matrix)
    found = _of_rationals(matrix, exact, vectors) if exact is not None else _of_symbols(matrix, vectors)
    if all(e.value is not None for e in found):
        found.sort(key=lambda e: (e.value.real, e.value.imag) if e.value is not None else (0.0, 0.0))
    return found


# ---- rational entries ------------------------------------------------------------------------------------------------
def _of_rationals(matrix: Matrix, exact: list[list[Fraction]], vectors: bool) -> list[Eigenvalue]:
    polynomial = flint_matrix(exact).charpoly()
    found: list[Eigenvalue] = []
    for factor, multiplicity in polynomial.factor()[1]:
        coefficients = [fraction(c) for c in factor.coeffs()]
        lead = coefficients[-1]
        coefficients = [c / lead for c in coefficients]
        roots = [_checked(node, coefficients) for node in _closed_roots(coefficients)]
        space: list[list[Element]] = []
        if vectors or multiplicity > 1:
            space = _eigenspace(matrix, coefficients)
        geometric = len(space) if space else 1
        for node in roots:
            basis = [[_at_root(entry, coefficients, node) for entry in vector] for vector in space] if vectors else []
            found.append(Eigenvalue(_tidy(node), nearest_complex(node), int(multiplicity), geometric, basis))
    return found


def _tidy(node: Node) -> str:
    return str(Field([node]).element(node))


def _checked(node: Node, coefficients: list[Fraction]) -> Node:
    """Make sure by ball arithmetic that a closed form is a root."""
    value = value_ball(node, digits=40)
    total = value * 0
    for c in reversed(coefficients):
        from flint import fmpq

        total = total * value + fmpq(c.numerator, c.denominator)
    if not total.contains(0):
        raise AssertionError(f"{to_text(node)} is no root of its polynomial")
    return node


def _closed_roots(coefficients: list[Fraction]) -> list[Node]:
    """Return the roots of a monic irreducible polynomial, coefficients in ascending order."""
    degree = len(coefficients) - 1
    if degree == 1:
        return [Number(-coefficients[0])]
    if degree == 2:
        half, square = -coefficients[1] / 2, coefficients[1] ** 2 / 4 - coefficients[0]
        return [parse(f"({half}) {sign} sqrt({square})") for sign in "-+"]
    if degree == 3:
        return _cubic_roots(*coefficients[:3])
    if degree == 4 and coefficients[1] == coefficients[3] == 0:
        half, square = -coefficients[2] / 2, coefficients[2] ** 2 / 4 - coefficients[0]
        inner = [_short(f"({half}) {sign} sqrt({square})") for sign in "-+"]
        return [parse(f"{outer}sqrt({value})") for value in inner for outer in ("-", "")]
    raise ToolError(
        "UNSOLVED",
        f"the characteristic polynomial has an irreducible factor of degree {degree} without a short closed form",
        "use eigen_numeric",
    )


def _short(text: str) -> str:
    return _tidy(parse(text))


def _cubic_roots(a0: Fraction, a1: Fraction, a2: Fraction) -> list[Node]:
    """Return the roots by cosines if all are real, else by one real cube root."""
    shift, p, q = a2 / 3, a1 - a2**2 / 3, 2 * a2**3 / 27 - a2 * a1 / 3 + a0
    if -4 * p**3 - 27 * q**2 > 0:
        angle = f"acos({_short(f'({3 * q / (2 * p)})*sqrt({-3 / p})')})/3"
        angles = (angle, f"{angle} - 2*pi/3", f"{angle} + 2*pi/3")
        return [parse(f"2*sqrt({-p / 3})*cos({a}) - ({shift})") for a in angles]
    sign = 1 if q > 0 else -1
    cube = f"({_short(f'({abs(q) / 2}) + sqrt({q**2 / 4 + p**3 / 27})')})^(1/3)"
    u, v = f"({-sign})*{cube}", f"({sign * p / 3})/{cube}"
    real = f"(({u}) + ({v}))"
    imaginary = f"sqrt(3)/2*I*(({u}) - ({v}))"
    return [parse(f"{real} - ({shift})"), *(parse(f"-{real}/2 {s} {imaginary} - ({shift})") for s in "-+")]


def _eigenspace(matrix: Matrix, coefficients: list[Fraction]) -> list[list[Element]]:
    """Return a basis of the eigenspace of a root of an irreducible polynomial, as polynomials in that root."""
    degree = len(coefficients) - 1
    root: Node = Number(-coefficients[0]) if degree == 1 else Symbol(_ROOT)
    power = Sum(tuple(Product((Number(-c), _power(k))) for k, c in enumerate(coefficients[:-1])))
    entries = _shifted(matrix, root)
    field = Field([entry for row in entries for entry in row], {_ROOT: (degree, power)} if degree > 1 else None)
    return null_basis(field, [[field.element(entry) for entry in row] for row in entries])


def _power(k: int) -> Node:
    return Number(Fraction(1)) if k == 0 else Power(Symbol(_ROOT), Number(Fraction(k)))


def _shifted(matrix: Matrix, root: Node) -> list[list[Node]]:
    return [
        [Sum((entry, Negative(root))) if i == j else entry for j, entry in enumerate(row)]
        for i, row in enumerate(matrix)
    ]


def null_basis(field: Field, rows: Rows) -> list[list[Element]]:
    """Return a basis of the null space, one vector per free column with a 1 there."""
    reduced = reduce_rows(field, rows)
    columns = len(rows[0])
    basis = []
    for free in (j for j in range(columns) if j not in reduced.pivots):
        vector = [field.zero] * columns
        vector[free] = field.one
        for i, column in enumerate(reduced.pivots):
            vector[column] = -reduced.rows[i][free]
        basis.append(vector)
    return basis


def _at_root(entry: Element, coefficients: list[Fraction], root: Node) -> str:
    """Write an element of the field of a root with the root's closed form put in; the denominator is inverted."""
    from flint import fmpq, fmpq_poly

    if entry.is_number():
        return str(entry)
    modulus = fmpq_poly([fmpq(c.numerator, c.denominator) for c in coefficients])
    top, bottom = _univariate(entry.num), _univariate(entry.den)
    common, inverse, _ = bottom.xgcd(modulus)
    value = (top * inverse / common[0]) % modulus
    terms: list[Node] = []
    for k, c in enumerate(value.coeffs()):
        if c != 0:
            power: Node = root if k == 1 else Power(root, Number(Fraction(k)))
            terms.append(Number(fraction(c)) if k == 0 else Product((Number(fraction(c)), power)))
    node = Sum(tuple(terms)) if len(terms) > 1 else terms[0]
    return _tidy(node)


def _univariate(polynomial: Any) -> Any:
    from flint import fmpq_poly

    coefficients: dict[int, Any] = {int(powers[0]): c for powers, c in polynomial.terms()}
    return fmpq_poly([coefficients.get(k, 0) for k in range(max(coefficients) + 1)])


# ---- symbolic entries ------------------------------------------------------------------------------------------------
def _of_symbols(matrix: Matrix, vectors: bool) -> list[Eigenvalue]:
    entries = _shifted(matrix, Symbol(_ROOT))
    field = Field([entry for row in entries for entry in row])
    polynomial = determinant(field, [[field.element(entry) for entry in row] for row in entries]).num
    index = next(i for i, g in enumerate(field.generators) if g.node == Symbol(_ROOT))
    found: list[Eigenvalue] = []
    for factor, multiplicity in polynomial.factor()[1]:
        coefficients = _coefficients(field, factor, index)
        if len(coefficients) == 1:
            continue
        for text, times in _symbolic_roots(field, coefficients):
            root = parse(text)
            space: list[list[str]] = []
            geometric = 1
            if vectors or multiplicity * times > 1:
                shifted = _shifted(matrix, root)
                own = Field([entry for row in shifted for entry in row])
                basis = null_basis(own, [[own.element(entry) for entry in row] for row in shifted])
                if not basis:
                    raise ToolError(
                        "UNSOLVED", f"no eigenvector was found for {text[:200]}", "simplify the entries first"
                    )
                geometric, space = len(basis), [[str(entry) for entry in vector] for vector in basis]
            value = None if free_symbols(root) else nearest_complex(root)
            found.append(Eigenvalue(text, value, int(multiplicity) * times, geometric, space))
    return found


def _coefficients(field: Field, polynomial: Any, index: int) -> list[Element]:
    """Return the coefficients by powers of one generator, ascending."""
    degree = int(polynomial.degrees()[index])
    parts: list[dict[tuple[int, ...], Any]] = [{} for _ in range(degree + 1)]
    for powers, c in polynomial.to_dict().items():
        rest = (*powers[:index], 0, *powers[index + 1 :])
        parts[int(powers[index])][tuple(int(p) for p in rest)] = c
    return [field.from_terms(part) for part in parts]


def _symbolic_roots(field: Field, coefficients: Sequence[Element]) -> list[tuple[str, int]]:
    """Return texts of the roots with their multiplicity in this factor."""
    if len(coefficients) == 2:
        return [(str(-coefficients[0] / coefficients[1]), 1)]
    if len(coefficients) > 3:
        raise ToolError(
            "UNSOLVED",
            f"the characteristic polynomial has an irreducible factor of degree {len(coefficients) - 1} with symbols",
            "put numbers for symbols, or use eigen_numeric",
        )
    c, b, a = coefficients
    two = field.constant(Fraction(2))
    half = -b / (two * a)
    square = half * half - c / a
    if square.is_zero():
        return [(str(half), 2)]
    outer, inner = _square_part(field, square)
    radical = f"({outer})*sqrt({inner})"
    texts = []
    for sign in "-+":
        node = parse(f"({half}) {sign} {radical}")
        texts.append((str(Field([node]).element(node)), 1))
    return texts


def _square_part(field: Field, value: Element) -> tuple[str, str]:
    """Split a square root: value = outer^2 * inner, up to the sign of outer, which both roots cover."""
    for generator in field.generators:
        if isinstance(generator.node, Call) and generator.node.function == "sin":  # cos^2 - 1 is minus a square
            sine = field.generator(generator.node)
            rest = value / (sine * sine)
            if rest.is_number():
                return str(sine), str(rest)
    content = value.rational_content()
    root = (
        outside(content, 2) if content.numerator.bit_length() + content.denominator.bit_length() < 48 else Fraction(1)
    )
    outer, inner = field.constant(root), field.constant(content / root**2)
    for polynomial, sign in ((value.num, 1), (value.den, -1)):
        _, factors = polynomial.factor()
        for factor, power in factors:
            element = field.from_terms(factor.to_dict())
            # In the denominator an odd power is completed to an even one: 1/f = f/f^2.
            half = int(power) // 2 if sign == 1 else -((int(power) + 1) // 2)
            outer = outer * element.power(half)
            if int(power) % 2:
                inner = inner * element
    return str(outer), str(inner)
