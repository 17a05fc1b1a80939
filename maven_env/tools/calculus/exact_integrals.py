"""Antiderivatives by exact algebra: polynomials with symbolic coefficients, rational functions over the rationals.

Rational functions: Horowitz and Ostrogradsky's reduction splits off the rational part; what is left is a sum over
irreducible factors of the denominator, which must be linear or quadratic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import (
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
    free_symbols,
    number_node,
    parse,
    replace,
    to_text,
)
from maven_env.expressions.algebra.algebraic import square_part
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.algebra.flint_rationals import fraction, inverse_modulo
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.balls import ball, is_real, precision
from maven_env.expressions.tree import ONE, ZERO

_DEGREE = 60
_BITS = 512


@dataclass(frozen=True)
class Antiderivative:
    """F, written for real values (logarithms of Abs), and as an antiderivative everywhere; poles of the integrand.

    `at_infinity` is the limit of `real` at +oo and at -oo, None where the integral to there diverges.
    """

    node: Node
    real: Node
    bottom: Any = None  # fmpq_poly with the poles as its roots
    at_infinity: tuple[Node, Node] | None = None


@lru_cache(maxsize=512)
def exact_antiderivative(node: Node, wrt: str) -> Antiderivative | None:
    """Return an antiderivative, or None where this algebra gives none."""
    try:
        form = rational_form(node, wrt)
        if form is not None:
            return _rational(*form, wrt)
        return _polynomial(node, wrt)
    except (LimitExceeded, ZeroDivisionError):
        return None
    except ToolError as error:
        if error.code == "UNDEFINED_VALUE":
            raise
        return None


def exact_difference(found: Antiderivative, wrt: str, low: Node, high: Node) -> Node | None:
    """Return F(high) - F(low), None where the limits cannot be compared with the poles. Raises DIVERGENT."""
    sides = []
    for limit in (high, low):
        if limit in (Constant("oo"), Negative(Constant("oo"))):
            if found.bottom is None or found.at_infinity is None:
                raise ToolError("DIVERGENT", "the integral to infinity diverges: the integrand does not fall as 1/x^2")
            sides.append(found.at_infinity[0 if limit == Constant("oo") else 1])
        else:
            sides.append(replace(found.real, {wrt: limit}))
    if found.bottom is not None and found.bottom.degree() > 0:
        pole = _pole_between(found.bottom, low, high)
        if pole is None:
            return None
        if pole:
            raise ToolError("DIVERGENT", f"the integrand has a pole at {pole} in the range, so the integral diverges")
    return Sum((sides[0], Negative(sides[1])))


def _pole_between(bottom: Any, low: Node, high: Node) -> str | None:
    """Return a pole in the closed range as text, "" for none, None where that is undecided."""
    from flint import arb, fmpq_poly

    with precision(_BITS):
        ends = []
        for limit in (low, high):
            if limit in (Constant("oo"), Negative(Constant("oo"))):
                ends.append(arb("inf") if limit == Constant("oo") else arb("-inf"))
                continue
            if free_symbols(limit):
                return None
            value = ball(limit, {})
            if not is_real(value):
                return None
            ends.append(value.real)
        low_end, high_end = ends if not ends[0] > ends[1] else ends[::-1]
        squarefree = bottom / bottom.gcd(bottom.derivative())
        roots: Any = complex_roots(fmpq_poly(squarefree).numer())
        for root, _ in roots:
            if not is_real(root):
                continue
            if root.real > low_end and root.real < high_end:
                return f"{float(root.real.mid())!r}"
            for limit in (low, high):
                finite = limit not in (Constant("oo"), Negative(Constant("oo")))
                if finite and ball(limit, {}).real.overlaps(root.real):
                    return f"the limit {to_text(limit)}" if _is_root(squarefree, limit) else None
    return ""


def _is_root(polynomial: Any, at: Node) -> bool:
    from maven_env.tools.symbolic.exact_forms import exact_form

    total: Node = ZERO
    for i in range(int(polynomial.degree()), -1, -1):
        total = Sum((Product((total, at)), number_node(fraction(polynomial[i]))))
    return exact_form(total) == ZERO


# ---- polynomials with symbols ----------------------------------------------------------------------------------------
def _polynomial(node: Node, wrt: str) -> Antiderivative | None:
    field = Field((node,))
    x = Symbol(wrt)
    holders = [i for i, generator in enumerate(field.generators) if wrt in free_symbols(generator.node)]
    if any(field.generators[i].node != x for i in holders):
        return None
    element = field.element(node)
    if not holders:
        constant = Product((node, x))
        return Antiderivative(constant, constant)
    index = holders[0]
    if element.den.degrees()[index] > 0 or len(element.num) > 400:
        return None
    raised = {}
    for powers, coefficient in element.num.to_dict().items():
        n = int(powers[index]) + 1
        raised[(*powers[:index], n, *powers[index + 1 :])] = coefficient / n
    result = parse(str(field.fraction(field.from_terms(raised).num, element.den)))
    return Antiderivative(result, result)


# ---- rational functions over the rationals ---------------------------------------------------------------------------
def _rational(top: Any, bottom: Any, wrt: str) -> Antiderivative | None:
    from flint import fmpq_poly

    if top.degree() > _DEGREE or bottom.degree() > _DEGREE:
        return None
    x = Symbol(wrt)
    whole, rest = divmod(top, bottom)
    polynomial: Any = (
        fmpq_poly([0] + [whole[i] / (i + 1) for i in range(whole.degree() + 1)]) if whole != 0 else fmpq_poly()
    )
    terms = [polynomial_in(polynomial, x)] if polynomial != 0 else []
    real = list(terms)
    plus: list[Node] = []
    minus: list[Node] = []
    if rest != 0:
        upper, lower, a, b = _reduced(rest, bottom)
        if upper != 0:
            part = _ratio_node(upper, lower, x)
            terms.append(part)
            real.append(part)
        pieces = _logarithmic(a, b, x)
        if pieces is None:
            return None
        for piece in pieces:
            terms.append(piece.node)
            real.append(piece.real)
            plus += [piece.plus] if piece.plus != ZERO else []
            minus += [piece.minus] if piece.minus != ZERO else []
    converges = polynomial == 0 and (rest == 0 or rest.degree() <= bottom.degree() - 2)
    ends = (_sum(plus), _sum(minus)) if converges else None
    return Antiderivative(_sum(terms), _sum(real), bottom, ends)


def _sum(terms: list[Node]) -> Node:
    flat = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,))]
    return ZERO if not flat else flat[0] if len(flat) == 1 else Sum(tuple(flat))


def _reduced(top: Any, bottom: Any) -> tuple[Any, Any, Any, Any]:
    """Return (u, v, a, b) with the integral of top/bottom = u/v + integral of a/b, b without multiple roots."""
    from flint import fmpq_mat, fmpq_poly

    repeated = bottom.gcd(bottom.derivative())
    simple = bottom / repeated
    n, m = int(repeated.degree()), int(simple.degree())
    if n == 0:
        return fmpq_poly(), fmpq_poly([1]), top, bottom
    # top = u' simple - u w + a repeated with w = repeated' simple / repeated
    w = repeated.derivative() * simple / repeated
    columns = []
    for i in range(n):
        power = fmpq_poly([0] * i + [1])
        columns.append(power.derivative() * simple - power * w)
    for j in range(m):
        columns.append(fmpq_poly([0] * j + [1]) * repeated)
    size = n + m
    matrix = fmpq_mat([[column[r] for column in columns] for r in range(size)])
    solution = matrix.solve(fmpq_mat([[top[r]] for r in range(size)]))
    u: Any = fmpq_poly([solution[i, 0] for i in range(n)])
    a = fmpq_poly([solution[n + j, 0] for j in range(m)])
    common = u.gcd(repeated) if any(u.coeffs()) else repeated
    return u / common, repeated / common, a, simple


@dataclass(frozen=True)
class _Log:
    node: Node
    real: Node
    plus: Node = ZERO
    minus: Node = ZERO


def _logarithmic(top: Any, bottom: Any, x: Node) -> list[_Log] | None:
    """Return the integral of top/bottom, bottom square-free, factor by factor; None for factors of degree 3 or more."""
    pieces: list[_Log] = []
    if top == 0:
        return pieces
    _, factors = bottom.factor()
    for factor, _ in sorted(factors, key=lambda item: (item[0].degree(), str(item[0]))):
        lead = factor[factor.degree()]
        factor = factor / lead
        if factor.degree() > 2:
            return None
        other = bottom / factor
        inverse = inverse_modulo(other, factor)
        part = divmod(top * inverse, factor)[1]
        if part == 0:
            continue
        pieces += _linear(part, factor, x) if factor.degree() == 1 else _quadratic(part, factor, x)
    return pieces


def _linear(part: Any, factor: Any, x: Node) -> list[_Log]:
    inner = polynomial_in(factor, x)
    coefficient = fraction(part[0])
    return [_Log(_times(coefficient, _log(inner)), _times(coefficient, _log(Call("Abs", (inner,)))))]


def _quadratic(part: Any, factor: Any, x: Node) -> list[_Log]:
    """Integrate (p x + q)/(x^2 + b x + c)."""
    p, q, b, c = (fraction(v) for v in (part[1], part[0], factor[1], factor[0]))
    inner = polynomial_in(factor, x)
    half = b / 2
    gap = c - half * half  # the factor is (x + half)^2 + gap
    pieces: list[_Log] = []
    if p:
        log = _log(inner)
        pieces.append(_Log(_times(p / 2, log), _times(p / 2, log if gap > 0 else _log(Call("Abs", (inner,))))))
    rest = q - p * half
    if not rest:
        return pieces
    shifted = Sum((x, number_node(half))) if half else x
    root, scale = _root(abs(gap), rest)
    if gap > 0:
        node = scale(Call("atan", (shifted if root == ONE else Quotient(shifted, root),)))
        quarter = scale(Quotient(Constant("pi"), Number(Fraction(2))))
        pieces.append(_Log(node, node, quarter, Negative(quarter)))
    else:
        ratio = Quotient(Sum((shifted, Negative(root))), Sum((shifted, root)))
        root, scale = _root(abs(gap), rest / 2)
        pieces.append(_Log(scale(_log(ratio)), scale(_log(Call("Abs", (ratio,))))))
    return pieces


def _root(value: Fraction, top: Fraction) -> tuple[Node, Callable[[Node], Node]]:
    """Return sqrt(value) in short form, and the product with top/sqrt(value)."""
    outside, radicand = square_part(value.numerator * value.denominator)
    share = Fraction(outside, value.denominator)  # sqrt(value) = share * sqrt(radicand)
    if radicand == 1:
        return number_node(share), lambda node: _times(top / share, node)
    surd = Call("sqrt", (Number(Fraction(radicand)),))
    return _times(share, surd), lambda node: _times(top / (share * radicand), Product((surd, node)))


def _log(node: Node) -> Node:
    return Call("log", (node,))


def _times(coefficient: Fraction, node: Node) -> Node:
    if coefficient == 1:
        return node
    if coefficient < 0:
        return Negative(_times(-coefficient, node))
    parts = node.factors if isinstance(node, Product) else (node,)
    top = node if coefficient.numerator == 1 else Product((Number(Fraction(coefficient.numerator)), *parts))
    return top if coefficient.denominator == 1 else Quotient(top, Number(Fraction(coefficient.denominator)))


def polynomial_in(polynomial: Any, x: Node) -> Node:
    terms: list[Node] = []
    for i in range(int(polynomial.degree()), -1, -1):
        coefficient = fraction(polynomial[i])
        if not coefficient:
            continue
        if i == 0:
            terms.append(number_node(coefficient))
        else:
            terms.append(_times(coefficient, x if i == 1 else Power(x, Number(Fraction(i)))))
    return _sum(terms)


def _ratio_node(top: Any, bottom: Any, x: Node) -> Node:
    lead = bottom[bottom.degree()]
    return Quotient(polynomial_in(top / lead, x), polynomial_in(bottom / lead, x))
