"""Polynomials of one variable with rational coefficients, read from a tree: exact signs and roots without sympy."""

from __future__ import annotations

from typing import Any

from maven_env.expressions import Negative, Node, Number, Power, Product, Quotient, Sum, Symbol, rational_value
from maven_env.expressions.algebra.isolation import complex_roots

DEGREE = 200


def polynomial_of(node: Node, variable: str) -> Any | None:
    """Return the fmpq_poly of `node` in `variable`, or None if it is none or its degree is beyond 200."""
    found = rational_function_of(node, variable)
    if found is None or found[1].degree() > 0:
        return None
    return found[0] / found[1][0]


def rational_function_of(node: Node, variable: str) -> tuple[Any, Any] | None:
    """Return numerator and denominator as fmpq_poly, as written (not reduced), or None."""
    try:
        return _read(node, variable)
    except _OtherError:
        return None


class _OtherError(Exception):
    """Not a rational function, or beyond the bound."""


def _read(node: Node, variable: str) -> tuple[Any, Any]:
    from flint import fmpq, fmpq_poly

    one = fmpq_poly([1])
    match node:
        case Number(value):
            return fmpq_poly([fmpq(value.numerator, value.denominator)]), one
        case Symbol(name) if name == variable:
            return fmpq_poly([0, 1]), one
        case Negative(a):
            top, bottom = _read(a, variable)
            return -top, bottom
        case Sum(items):
            top, bottom = _read(items[0], variable)
            for item in items[1:]:
                p, q = _read(item, variable)
                top, bottom = (top + p, bottom) if q == bottom else (top * q + p * bottom, bottom * q)
                _within(top, bottom)
            return top, bottom
        case Product(items):
            top, bottom = one, one
            for item in items:
                p, q = _read(item, variable)
                top, bottom = top * p, bottom * q
                _within(top, bottom)
            return top, bottom
        case Quotient(a, b):
            p, q = _read(a, variable)
            r, s = _read(b, variable)
            if r == 0:
                raise _OtherError
            _within(p * s, q * r)
            return p * s, q * r
        case Power(base, exponent):
            n = rational_value(exponent)
            if n is None or n.denominator != 1 or abs(n) > DEGREE:
                raise _OtherError
            p, q = _read(base, variable)
            if n < 0:
                p, q, n = q, p, -n
            if q == 0 or max(p.degree(), q.degree()) * int(n) > DEGREE:
                raise _OtherError
            return p ** int(n), q ** int(n)
    raise _OtherError


def _within(*polynomials: Any) -> None:
    if any(p.degree() > DEGREE for p in polynomials):
        raise _OtherError


def real_roots(polynomial: Any, bits: int = 256) -> list[tuple[Any, int]]:
    """Return (arb, multiplicity) of every real root of a non-constant fmpq_poly, ascending; the balls are apart."""
    from fractions import Fraction

    from maven_env.expressions.balls import precision

    found = []
    _, factors = polynomial.numer().factor_squarefree()
    with precision(bits):
        for factor, multiplicity in factors:
            if factor.degree() > 0:
                found += [(r.real, int(multiplicity)) for r, _ in complex_roots(factor) if r.imag == 0]
    return sorted(found, key=lambda item: Fraction(*_ratio(item[0].mid())))


def _ratio(value: Any) -> tuple[int, int]:
    mantissa, exponent = value.man_exp()
    return (int(mantissa) << int(exponent), 1) if int(exponent) >= 0 else (int(mantissa), 1 << -int(exponent))
