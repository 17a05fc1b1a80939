"""Kernels, ratios of polynomials in them, and the trees for which both stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from maven_env.expressions.tree import ONE, ZERO, Call, Negative, Node, Number, Power, Product, Quotient, Sum


@dataclass(frozen=True)
class Kernel:
    """A generator: `kind` is symbol, constant, root, Abs, exp, tanhalf, or the name of a function of `argument`."""

    index: int
    kind: str
    node: Node
    argument: Ratio | None = None
    order: int = 1  # of a root
    nodes: int = 1  # of the tree


@dataclass(frozen=True)
class Ratio:
    """top/bottom, cancelled; `bottom` is no zero polynomial."""

    top: Any
    bottom: Any


def ratio_node(kernels: Sequence[Kernel], value: Ratio) -> Node:
    """Return the tree of a ratio."""
    if value.bottom.is_constant():
        return polynomial_node(kernels, value.top / value.bottom.leading_coefficient())
    top, bottom = _primitive(value.top, value.bottom)
    if leads_negative(bottom):
        top, bottom = -top, -bottom
    if leads_negative(top):
        return Negative(Quotient(polynomial_node(kernels, -top), polynomial_node(kernels, bottom)))
    return Quotient(polynomial_node(kernels, top), polynomial_node(kernels, bottom))


def polynomial_node(kernels: Sequence[Kernel], polynomial: Any) -> Node:
    """Return the tree of a polynomial, terms in lexicographic order of its kernels."""
    below = _denominator(polynomial)
    if below != 1 and len(polynomial) > 1:
        return Quotient(polynomial_node(kernels, polynomial * below), Number(Fraction(below)))
    terms = [_term(kernels, exponents, rational(c)) for exponents, c in polynomial.to_dict().items()]
    if not terms:
        return ZERO
    if isinstance(terms[0], Negative):  # b^2 - 4*a*c rather than -4*a*c + b^2
        terms.sort(key=lambda term: isinstance(term, Negative))
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _term(kernels: Sequence[Kernel], exponents: tuple[Any, ...], coefficient: Fraction) -> Node:
    factors: list[Node] = []
    size = abs(coefficient)
    if size.numerator != 1 or not any(exponents):
        factors.append(Number(Fraction(size.numerator)))
    for kernel in kernels:
        power = int(exponents[kernel.index])
        if power:
            factors.append(_power_node(kernel, power))
    top = factors[0] if len(factors) == 1 else Product(tuple(factors)) if factors else ONE
    node = Quotient(top, Number(Fraction(size.denominator))) if size.denominator != 1 else top
    return Negative(node) if coefficient < 0 else node


def _power_node(kernel: Kernel, power: int) -> Node:
    if power == 1:
        return kernel.node
    if kernel.kind in ("root", "surd"):
        match kernel.node:
            case Call("sqrt", (base,)):
                return base if power == 2 and kernel.kind == "surd" else Power(kernel.node, Number(Fraction(power)))
            case Power(base, _):
                return Power(base, Number(Fraction(power, kernel.order)))
    if kernel.kind == "exp" and isinstance(kernel.node, Call):
        return Call("exp", (_multiple(kernel.node.arguments[0], power),))
    return Power(kernel.node, Number(Fraction(power)))


def _multiple(node: Node, factor: int) -> Node:
    match node:
        case Negative(a):
            return Negative(_multiple(a, factor))
        case Quotient(Number(value), b):
            return Quotient(Number(value * factor), b)
        case Quotient(a, Number(value)):
            n = Fraction(factor) / value
            top = a if n.numerator == 1 else Product((Number(Fraction(n.numerator)), a))
            return top if n.denominator == 1 else Quotient(top, Number(Fraction(n.denominator)))
        case _:
            return Product((Number(Fraction(factor)), node))


def _primitive(top: Any, bottom: Any) -> tuple[Any, Any]:
    """Scale both by one number so that their coefficients are whole and have no common factor."""
    from flint import fmpq

    values = [rational(c) for c in (*top.coeffs(), *bottom.coeffs())]
    common = lcm(*(v.denominator for v in values))
    scale = Fraction(common, gcd(*(int(v * common) for v in values)))
    factor = fmpq(scale.numerator, scale.denominator)
    return top * factor, bottom * factor


def _denominator(polynomial: Any) -> int:
    return lcm(*(rational(c).denominator for c in polynomial.coeffs())) if polynomial != 0 else 1


def leads_negative(polynomial: Any) -> bool:
    return bool(polynomial != 0 and polynomial.leading_coefficient() < 0)


def rational(value: Any) -> Fraction:
    return Fraction(int(value.numer()), int(value.denom())) if hasattr(value, "numer") else Fraction(int(value))
