"""Polynomials in several symbols, exactly: multiplied out, factored, and by coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    free_symbols,
    number_node,
    parse,
    rational_value,
    to_text,
    walk,
)
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.bounds import check
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ONE, rebuild
from maven_env.tools.results import declining

_RISK = 1e8
_FACTOR_TERMS = 2_000


@dataclass(frozen=True)
class Factor:
    base: Node
    multiplicity: int


def is_rational_tree(node: Node) -> bool:
    """Return whether a tree is built from numbers and symbols by arithmetic and whole powers."""
    for part in walk(node):
        if isinstance(part, Call) or (isinstance(part, Constant) and part.name != "pi"):
            return False
        if isinstance(part, Power):
            power = rational_value(part.exponent)
            if power is None or power.denominator != 1:
                return False
    return True


# ---- expansion -------------------------------------------------------------------------------------------------------
def expanded(node: Node, trig: bool, most: int) -> tuple[Node, int, float, str]:
    """Return the expanded form, its terms, the largest coefficient, and the risk of cancellation."""
    import sympy

    if check(node).terms > max(most, 200) * 10:
        raise _too_many(most)
    if is_rational_tree(node):
        field = Field((node,))
        element = field.element(node)
        if element.den.is_constant():
            terms = len(element.num)
            if terms > most:
                raise _too_many(most)
            sizes = [abs(Fraction(int(c.p), int(c.q))) for c in element.num.coeffs()]
            total = sum(Fraction(int(c.p), int(c.q)) for c in element.num.coeffs())
            return parse(str(element)), max(terms, 1), _largest(sizes), _risk(sizes, total)
    value = to_sympy(node)
    with declining("the expression could not be expanded"):
        value = sympy.expand(value, power_base=False, log=False)
        if trig:
            value = sympy.expand_trig(value)
            value = sympy.expand(value, power_base=False, log=False)
    parts = sympy.Add.make_args(value)
    if len(parts) > most:
        raise _too_many(most)
    numbers = [part.as_coeff_Mul()[0] for part in parts]
    exact = [Fraction(int(c.p), int(c.q)) for c in numbers if c.is_Rational]
    return from_sympy(value), len(parts), _largest([abs(c) for c in exact]), _risk([abs(c) for c in exact], sum(exact))


def _too_many(most: int) -> LimitExceeded:
    return LimitExceeded("size", f"more than {most} terms", "raise max_terms, or keep the factored form")


def _largest(sizes: list[Fraction]) -> float:
    return nearest_double(number_node(max(sizes, default=Fraction(0))))


def _risk(sizes: list[Fraction], total: Fraction | int) -> str:
    if len(sizes) < 2:
        return "low"
    return "high" if max(sizes) >= _RISK * max(abs(Fraction(total)), min(sizes)) or max(sizes) >= _RISK else "low"


# ---- factors ---------------------------------------------------------------------------------------------------------
def polynomial_factors(node: Node, rationalize: bool) -> tuple[Node, list[Factor]] | None:
    """Factor a rational function with rational coefficients over the rationals; None if it is none."""
    if not is_rational_tree(node) or any(isinstance(part, Constant) for part in walk(node)):
        return None
    if not rationalize:
        node = _rounded(node)
    if check(node).terms > 20_000:
        raise LimitExceeded("size", "too many terms to factor", "factor parts of it")
    field = Field((node,))
    element = field.element(node)
    if element.num.is_zero():
        return Number(Fraction(0)), [Factor(Number(Fraction(0)), 1)]
    if len(element.num) > _FACTOR_TERMS or len(element.den) > _FACTOR_TERMS:
        raise LimitExceeded("size", f"more than {_FACTOR_TERMS} terms to factor", "factor parts of it")
    factors: list[Factor] = []
    constant = Fraction(1)
    for polynomial, sense in ((element.num, 1), (element.den, -1)):
        lead, found = polynomial.factor()
        constant *= Fraction(int(lead.p), int(lead.q)) ** sense
        for base, multiplicity in found:
            base, scale = _primitive(base)
            constant *= scale ** (sense * int(multiplicity))
            text = field.polynomial_text(base)
            factors.append(Factor(parse(text), sense * int(multiplicity)))
    factors.sort(key=lambda f: (f.multiplicity < 0, check(f.base).terms, len(to_text(f.base)), to_text(f.base)))
    if constant != 1 or not factors:
        factors.insert(0, Factor(number_node(constant), 1))
    return _product(factors), factors


def _primitive(polynomial: Any) -> tuple[Any, Fraction]:
    """Return the polynomial with coprime whole coefficients, the leading one positive, and the factor taken out."""
    from math import gcd, lcm

    coefficients = [Fraction(int(c.p), int(c.q)) for c in polynomial.coeffs()]
    scale = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients))) * (
        -1 if coefficients[0] < 0 else 1
    )
    from flint import fmpq

    return polynomial / fmpq(scale.numerator, scale.denominator), scale


def _product(factors: list[Factor]) -> Node:
    def power(factor: Factor) -> Node:
        n = abs(factor.multiplicity)
        return factor.base if n == 1 else Power(factor.base, Number(Fraction(n)))

    above = [power(f) for f in factors if f.multiplicity > 0]
    below = [power(f) for f in factors if f.multiplicity < 0]
    top = ONE if not above else above[0] if len(above) == 1 else Product(tuple(above))
    if not below:
        return top
    return Quotient(top, below[0] if len(below) == 1 else Product(tuple(below)))


def _rounded(node: Node) -> Node:
    if isinstance(node, Number) and node.value.denominator != 1:
        return Number(Fraction(float(node.value)))
    return rebuild(node, _rounded)


def factors_by_sympy(node: Node, extension: list[Node]) -> tuple[Node, list[Factor]]:
    """Factor with algebraic numbers adjoined, or an expression that is no polynomial."""
    import sympy

    value = to_sympy(node)
    with declining("no factored form could be found"):
        if extension:
            result = sympy.factor(value, extension=[to_sympy(e) for e in extension])
        else:
            result = sympy.factor(value)
        factors = []
        for part in sympy.Mul.make_args(result):
            base, exponent = part.as_base_exp()
            whole = exponent.is_Integer
            written = from_sympy(base if whole else part)
            factors.append(Factor(written, int(exponent) if whole else 1))
        if sympy.expand(result - value) != 0 and not _same(result, value):
            raise ToolError("UNSOLVED", "the factored form could not be verified", "simplify the expression first")
        return from_sympy(result), factors


def _same(a: Any, b: Any) -> bool:
    from maven_env.expressions.equality import equal

    return equal(from_sympy(a), from_sympy(b)) == "equal"


# ---- coefficients ----------------------------------------------------------------------------------------------------
def polynomial_coefficients(node: Node, wrt: list[str]) -> tuple[list[Node], list[Node], int]:
    """Return coefficients and monomials in descending order, and the total degree."""
    if not wrt or len(set(wrt)) != len(wrt):
        raise ToolError("BAD_INPUT", "wrt: expected different symbols", 'write ["x"] or ["x", "y"]')
    field = Field((node,))
    element = field.element(node)
    holders = [i for i, g in enumerate(field.generators) if set(wrt) & free_symbols(g.node)]
    for i in holders:
        inner = field.generators[i].node
        if not isinstance(inner, Symbol) or element.den.degrees()[i] > 0:
            what = to_text(field.standing_for(i)) if not isinstance(inner, Symbol) else f"a quotient by {inner.name}"
            raise ToolError("NOT_POLYNOMIAL", f"it is no polynomial in {', '.join(wrt)}: it has {what}")
    places = {g.node.name: i for i, g in enumerate(field.generators) if isinstance(g.node, Symbol)}
    groups: dict[tuple[int, ...], dict[Any, Any]] = {}
    for powers, coefficient in element.num.to_dict().items():
        key = tuple(int(powers[places[name]]) if name in places else 0 for name in wrt)
        rest = tuple(0 if i in holders else int(p) for i, p in enumerate(powers))
        groups.setdefault(key, {})[rest] = coefficient
    degree = max((sum(key) for key in groups), default=0)
    if len(wrt) == 1:
        if degree > 2_000:
            raise LimitExceeded("size", f"degree {degree}, the bound is 2000")
        keys: list[tuple[int, ...]] = [(k,) for k in range(degree, -1, -1)]
    else:
        keys = sorted(groups, key=lambda key: (-sum(key), tuple(-k for k in key))) or [(0,) * len(wrt)]
    coefficients: list[Node] = []
    for key in keys:
        if key not in groups:
            coefficients.append(Number(Fraction(0)))
            continue
        coefficients.append(parse(str(field.fraction(field.from_terms(groups[key]).num, element.den))))
    return coefficients, [_monomial(wrt, key) for key in keys], degree


def _monomial(names: list[str], key: tuple[int, ...]) -> Node:
    parts: list[Node] = []
    for name, n in zip(names, key, strict=True):
        if n:
            parts.append(Symbol(name) if n == 1 else Power(Symbol(name), Number(Fraction(n))))
    return ONE if not parts else parts[0] if len(parts) == 1 else Product(tuple(parts))


__all__ = ["Factor", "Sum", "expanded", "factors_by_sympy", "polynomial_coefficients", "polynomial_factors"]
