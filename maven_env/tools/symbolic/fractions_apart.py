"""Partial fractions: over the rationals by python-flint, with parameters or over algebraic roots by sympy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Negative, Node, Number, Power, Quotient, Sum, Symbol, free_symbols
from maven_env.expressions.algebra.flint_rationals import fraction, inverse_modulo
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.numeric import float_of
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ZERO
from maven_env.tools.calculus.exact_integrals import polynomial_in
from maven_env.tools.results import declining

_DEGREE = 60


@dataclass(frozen=True)
class Apart:
    node: Node
    terms: tuple[Node, ...]
    largest_residue: float | None = None
    separation: float | None = None


def apart(node: Node, wrt: str, full: bool) -> Apart:
    """Return the decomposition. Raises NOT_RATIONAL, UNSOLVED."""
    found = None if full else exact_apart(node, wrt)
    return found if found is not None else _by_sympy(node, wrt, full)


@lru_cache(maxsize=256)
def exact_apart(node: Node, wrt: str) -> Apart | None:
    """Decompose a rational function of one symbol over the rationals; None if there are parameters."""
    form = rational_form(node, wrt)
    if form is None or max(form[0].degree(), form[1].degree()) > _DEGREE:
        return None
    top, bottom = form
    x = Symbol(wrt)
    whole, rest = divmod(top, bottom)
    terms: list[Node] = [polynomial_in(whole, x)] if any(whole.coeffs()) else []
    if isinstance(terms[0] if terms else None, Sum):
        terms = list(terms[0].terms)  # type: ignore[union-attr]
    residues: list[Fraction] = []
    lead, factors = bottom.factor()
    rest = rest / lead
    for factor, multiplicity in sorted(factors, key=lambda item: (item[0].degree(), str(item[0]))):
        power = factor ** int(multiplicity)
        other = bottom / lead / power
        part = divmod(rest * inverse_modulo(other, power), power)[1]
        for k in range(int(multiplicity), 0, -1):
            part, digit = divmod(part, factor)
            if not any(digit.coeffs()):
                continue
            scale = factor[factor.degree()]
            if factor.degree() == 1:
                residues.append(fraction(digit[0] / scale))
            terms.append(_fraction_term(digit, factor, k, x))
        del power
    separation = _separation(bottom)
    largest = max((abs(r) for r in residues), default=None)
    node = ZERO if not terms else terms[0] if len(terms) == 1 else Sum(tuple(terms))
    return Apart(node, tuple(terms) or (ZERO,), None if largest is None else float_of(largest), separation)


def _fraction_term(top: Any, factor: Any, power: int, x: Node) -> Node:
    """Write top/factor^power with whole numbers."""
    from math import gcd, lcm

    scale_below = lcm(*(int(c.q) for c in factor.coeffs()))
    below = factor * scale_below
    above = top * scale_below**power
    common = lcm(*(int(c.q) for c in above.coeffs()))
    whole = [int((c * common).p) for c in above.coeffs()]
    share = gcd(*whole)
    negative = whole[-1] < 0
    numerator = polynomial_in(above * common / share * (-1 if negative else 1), x)
    ratio = Fraction(share, common)
    base = polynomial_in(below, x)
    denominator: Node = base if power == 1 else Power(base, Number(Fraction(power)))
    from maven_env.expressions import Product

    if ratio.numerator != 1:
        lead = Number(Fraction(ratio.numerator))
        one = isinstance(numerator, Number) and numerator.value == 1
        numerator = lead if one else Product((lead, numerator))
    if ratio.denominator != 1:
        denominator = Product((Number(Fraction(ratio.denominator)), denominator))
    term = Quotient(numerator, denominator)
    return Negative(term) if negative else term


def _separation(bottom: Any) -> float | None:
    from flint import fmpq_poly

    squarefree = bottom / bottom.gcd(bottom.derivative())
    if squarefree.degree() < 2:
        return None
    roots: Any = complex_roots(fmpq_poly(squarefree).numer())
    values = [complex(root) for root, _ in roots]
    return min(abs(a - b) for i, a in enumerate(values) for b in values[:i])


def _by_sympy(node: Node, wrt: str, full: bool) -> Apart:
    import sympy

    value, x = to_sympy(node), sympy.Symbol(wrt)
    if not value.is_rational_function(x):
        raise ToolError("NOT_RATIONAL", f"it is no rational function of {wrt}")
    with declining("no partial fractions could be found"):
        result = sympy.apart(value, x, full=full)
        if full:
            result = result.doit()
        terms = tuple(from_sympy(term, wrt) for term in sympy.Add.make_args(result))
    whole = terms[0] if len(terms) == 1 else Sum(terms)
    _verify(node, whole)
    return Apart(whole, terms)


def _verify(node: Node, result: Node) -> None:
    from maven_env.expressions.equality import equal

    if free_symbols(result) - free_symbols(node) or equal(node, result) != "equal":
        raise ToolError("UNSOLVED", "the partial fractions could not be verified", "factor the denominator first")
