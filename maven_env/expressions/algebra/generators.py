"""Canonical generators of exact fields: how roots, exponentials and angles are split into independent pieces."""

from __future__ import annotations

import math
from fractions import Fraction

from maven_env.errors import LimitExceeded
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import (
    ONE,
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    rational_value,
)

_RADICAND_BITS = 96  # that are factored into primes


def exponential(base: Node | None, monomial: Node) -> Node:
    return Call("exp", (monomial,)) if base is None else Power(base, monomial)


def raised(node: Node, factor: Fraction) -> Node:
    """Return exp(m) or b^m with the exponent multiplied by a rational."""
    if isinstance(node, Power):
        return Power(node.base, scaled(node.exponent, factor))
    if isinstance(node, Call) and node.function == "exp":
        return Call("exp", (scaled(node.arguments[0], factor),))
    return node


def rank(node: Node) -> int:
    """Symbols come first, then functions, then constants, then radicals and I."""
    match node:
        case Symbol():
            return 0
        case Constant("I"):
            return 7
        case Constant():
            return 6
        case Call("cos", _):
            return 3
        case Call("sin", _):
            return 4
        case Call("sqrt", (Number(),)) | Power(Number(), Number()):
            return 8
        case Call("sqrt", _) | Power(_, Quotient() | Number()):
            return 5
        case _:
            return 2


def root(base: Node, degree: int) -> Node:
    return Call("sqrt", (base,)) if degree == 2 else Power(base, Number(Fraction(1, degree)))


def radicands(value: Fraction, degree: int) -> list[Fraction]:
    """Return the radicals that the root of a rational needs: primes (with multiplicity below the degree), -1 first."""
    from flint import fmpz

    if value == 0:
        return []
    whole = abs(value.numerator) * value.denominator ** (degree - 1)
    parts = [Fraction(-1)] if value < 0 else []
    if whole.bit_length() > _RADICAND_BITS:
        raise LimitExceeded("size", "a root of a large number has no exact arithmetic here", "give it as a decimal")
    for prime, power in fmpz(whole).factor():
        parts += [Fraction(int(prime))] * (int(power) % degree)
    return parts


def outside(value: Fraction, degree: int) -> Fraction:
    """Return the rational factor before the radicals of a root."""
    from flint import fmpz

    whole = abs(value.numerator) * value.denominator ** (degree - 1)
    outside = 1
    for prime, power in fmpz(whole).factor() if whole > 1 else ():
        outside *= int(prime) ** (int(power) // degree)
    return Fraction(outside, value.denominator)


def product(head: list[Node], rest: list[Node]) -> Node:
    items = head + rest
    return items[0] if len(items) == 1 else Product(tuple(items))


def monomials(node: Node) -> list[tuple[Node, Fraction]]:
    """Split an exponent into terms coefficient * monomial, as exp(a + b) = exp(a) exp(b)."""
    match node:
        case Sum(items):
            found: dict[Node, Fraction] = {}
            for item in items:
                for monomial, coefficient in monomials(item):
                    found[monomial] = found.get(monomial, Fraction(0)) + coefficient
            return [(m, c) for m, c in found.items() if c]
        case Negative(a):
            return [(m, -c) for m, c in monomials(a)]
        case _:
            coefficient, factors = factored(node)
            if coefficient == 0:
                return []
            return [(product([], factors) if factors else ONE, coefficient)]


def factored(node: Node) -> tuple[Fraction, list[Node]]:
    """Split a product into its rational coefficient and its other factors, sorted."""
    exact = rational_value(node)
    if exact is not None:
        return exact, []
    match node:
        case Product(items):
            coefficient, factors = Fraction(1), []
            for item in items:
                c, rest = factored(item)
                coefficient *= c
                factors += rest
            return coefficient, sorted(factors, key=to_text)
        case Negative(a):
            coefficient, factors = factored(a)
            return -coefficient, factors
        case Quotient(a, b):
            coefficient, factors = factored(a)
            bottom = rational_value(b)
            if bottom:
                return coefficient / bottom, factors
            if not factors:
                return coefficient, [Quotient(ONE, b)]
            return coefficient, [Quotient(product([], factors), b)]
        case _:
            return Fraction(1), [node]


def scaled(monomial: Node, factor: Fraction) -> Node:
    if factor == 1:
        return monomial
    if monomial == ONE:
        return Number(factor)
    top: Node = monomial if factor.numerator == 1 else Product((Number(Fraction(abs(factor.numerator))), monomial))
    value = top if factor.denominator == 1 else Quotient(top, Number(Fraction(factor.denominator)))
    return value if factor > 0 else Negative(value)


def common_factor(a: Fraction, b: Fraction) -> Fraction:
    """Return the greatest rational of which both are integer multiples."""
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def is_plain(node: Node) -> bool:
    """Whether a monomial is a product of symbols only, so that its exponentials are independent."""
    return isinstance(node, Symbol) or (isinstance(node, Product) and all(isinstance(f, Symbol) for f in node.factors))
