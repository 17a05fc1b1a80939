"""Rational parts of a tree in factored form, which keeps balls narrow near double roots and shows poles."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.tree import (
    ONE,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    free_symbols,
    rational_value,
    rebuild,
)

_DEGREE = 60


def factored(node: Node, name: str) -> Node:
    """Return `node` with its largest parts that are rational in `name`, with rational numbers, in factored form."""
    if name not in free_symbols(node):
        return node
    if isinstance(node, Sum | Quotient | Product):
        form = rational_form(node, name)
        if form is not None:
            simple = _quotient_node(*form, name)
            # An irreducible polynomial is best left as it was written: x-3/10 squared, say.
            return node if isinstance(node, Sum) and isinstance(simple, Sum) else simple
    return rebuild(node, lambda part: factored(part, name))


def rational_form(node: Node, name: str) -> tuple[Any, Any] | None:
    """Return coprime (numerator, denominator) as fmpq_poly, or None if `node` is not rational in `name` alone."""
    from flint import fmpq, fmpq_poly

    exact = rational_value(node)
    if exact is not None:
        return fmpq_poly([fmpq(exact.numerator, exact.denominator)]), fmpq_poly([1])
    match node:
        case Symbol(other):
            return (fmpq_poly([0, 1]), fmpq_poly([1])) if other == name else None
        case Negative(a):
            inner = rational_form(a, name)
            return None if inner is None else (-inner[0], inner[1])
        case Sum(items):
            total = rational_form(items[0], name)
            for item in items[1:]:
                other_form = rational_form(item, name) if total is not None else None
                if total is None or other_form is None:
                    return None
                top = total[0] * other_form[1] + other_form[0] * total[1]
                total = _reduced(top, total[1] * other_form[1])
            return total
        case Product(items):
            total = rational_form(items[0], name)
            for item in items[1:]:
                other_form = rational_form(item, name) if total is not None else None
                if total is None or other_form is None:
                    return None
                total = _reduced(total[0] * other_form[0], total[1] * other_form[1])
            return total
        case Quotient(a, b):
            top_form, bottom_form = rational_form(a, name), rational_form(b, name)
            if top_form is None or bottom_form is None or bottom_form[0] == 0:
                return None
            return _reduced(top_form[0] * bottom_form[1], top_form[1] * bottom_form[0])
        case Power(a, b):
            base, exponent = rational_form(a, name), rational_value(b)
            if base is None or exponent is None or exponent.denominator != 1:
                return None
            n = abs(int(exponent))
            if n * max(base[0].degree(), base[1].degree(), 1) > _DEGREE or (exponent < 0 and base[0] == 0):
                return None
            powers = (base[0] ** n, base[1] ** n)
            return powers if exponent >= 0 else (powers[1], powers[0])
    return None


def _reduced(top: Any, bottom: Any) -> tuple[Any, Any] | None:
    if max(top.degree(), bottom.degree()) > _DEGREE:
        return None
    common = top.gcd(bottom)
    return (top // common, bottom // common) if common.degree() > 0 else (top, bottom)


def _quotient_node(top: Any, bottom: Any, name: str) -> Node:
    above, below = _product_node(top, name), _product_node(bottom, name)
    return above if below == ONE else Quotient(above, below)


def _product_node(poly: Any, name: str) -> Node:
    if poly == 0:
        return Number(Fraction(0))
    constant, factors = poly.factor()
    parts: list[Node] = []
    lead = fraction(constant)
    for factor, multiplicity in factors:
        inner = polynomial_node(factor, name)
        parts.append(inner if multiplicity == 1 else Power(inner, Number(Fraction(int(multiplicity)))))
    if lead != 1 or not parts:
        parts.insert(0, Number(lead))
    return parts[0] if len(parts) == 1 else Product(tuple(parts))


def polynomial_node(poly: Any, name: str) -> Node:
    """Return the tree of an fmpq_poly in Horner's form, with few roundings."""
    if poly.degree() == 2 and poly[1] != 0:
        a, b, c = (fraction(poly[k]) for k in (2, 1, 0))
        shift = Sum((Symbol(name), Number(b / (2 * a))))
        square: Node = Power(shift, Number(Fraction(2)))
        return Sum((square if a == 1 else Product((Number(a), square)), Number(c - b * b / (4 * a))))
    coefficients = [fraction(c) for c in poly.coeffs()]
    result: Node = Number(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        product = Symbol(name) if result == ONE else Product((result, Symbol(name)))
        result = product if coefficient == 0 else Sum((product, Number(coefficient)))
    return result
