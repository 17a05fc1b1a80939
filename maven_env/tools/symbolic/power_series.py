"""Power series: of rational functions exactly, of anything else by sympy and compared with the function."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
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
    rational_value,
    replace,
    to_text,
)
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ONE, ZERO
from maven_env.tools.calculus.antiderivatives import sample_values
from maven_env.tools.results import declining


@dataclass(frozen=True)
class Series:
    node: Node
    terms: tuple[Node, ...]
    order_term: str
    leading: float | int | str | None
    is_laurent: bool
    radius: float | str | None = None


_INFINITY = Constant("oo")


@lru_cache(maxsize=256)
def exact_series(node: Node, wrt: str, about: Node, order: int) -> Series | None:
    """Expand a rational function of one symbol about a rational point or infinity; None where that does not apply."""
    from flint import fmpq, fmpq_poly, fmpq_series

    centre = rational_value(about)
    far = about in (_INFINITY, Negative(_INFINITY))
    if centre is None and not far:
        return None
    t = Symbol(wrt)
    moved = replace(node, {wrt: Quotient(ONE, t) if far else Sum((t, number_node(centre or Fraction(0))))})
    form = rational_form(moved, wrt)
    if form is None:
        return None
    top, bottom = form
    if not any(top.coeffs()):
        return Series(ZERO, (ZERO,), _order_text(wrt, about, order), None, False, "oo")
    shift = _valuation(top) - _valuation(bottom)
    top, bottom = _divided(top, _valuation(top)), _divided(bottom, _valuation(bottom))
    count = order - shift
    terms: list[Node] = []
    leading: int | None = None
    if count > 0:
        if count > 400:
            return None
        from flint import ctx

        before = ctx.cap
        ctx.cap = count
        try:
            series = fmpq_series(top.coeffs(), count) / fmpq_series(bottom.coeffs(), count)
            coefficients = [series[i] for i in range(count)]
        finally:
            ctx.cap = before
        base: Node = t if far or not centre else Sum((t, number_node(-centre)))
        for i, c in enumerate(coefficients):
            value = Fraction(int(fmpq(c).p), int(fmpq(c).q))
            if value:
                power = i + shift
                leading = power if leading is None else leading
                terms.append(_term(value, base, -power if far else power))
    whole = ZERO if not terms else terms[0] if len(terms) == 1 else Sum(tuple(terms))
    radius = _radius(fmpq_poly(bottom))
    if far and radius not in (None, "oo"):
        radius = None
    return Series(whole, tuple(terms) or (ZERO,), _order_text(wrt, about, order), leading, shift < 0, radius)


def _valuation(polynomial: Any) -> int:
    return next(i for i, c in enumerate(polynomial.coeffs()) if c)


def _divided(polynomial: Any, n: int) -> Any:
    from flint import fmpq_poly

    return fmpq_poly(polynomial.coeffs()[n:])


def _term(value: Fraction, base: Node, power: int) -> Node:
    negative, value = value < 0, abs(value)
    factor: Node | None = None if power == 0 else base if abs(power) == 1 else Power(base, Number(Fraction(abs(power))))
    above: list[Node] = (
        [Number(Fraction(value.numerator))] if value.numerator != 1 or factor is None or power < 0 else []
    )
    below: list[Node] = [Number(Fraction(value.denominator))] if value.denominator != 1 else []
    if factor is not None:
        (above if power > 0 else below).append(factor)
    top = above[0] if len(above) == 1 else Product(tuple(above))
    node = top if not below else Quotient(top, below[0] if len(below) == 1 else Product(tuple(below)))
    return Negative(node) if negative else node


def _order_text(wrt: str, about: Node, order: int) -> str:
    if about in (_INFINITY, Negative(_INFINITY)):
        return f"O(1/{wrt}^{order})"
    return f"O({wrt}^{order})" if about == ZERO else f"O(({to_text(Sum((Symbol(wrt), Negative(about))))})^{order})"


def _radius(bottom: Any) -> float | str | None:
    if bottom.degree() < 1:
        return "oo"
    roots = complex_roots((bottom / bottom.gcd(bottom.derivative())).numer())
    return min(abs(complex(root)) for root, _ in roots)


# ---- by sympy --------------------------------------------------------------------------------------------------------
def expand_by_sympy(node: Node, wrt: str, about: Node, order: int, side: str) -> Series:
    """Return the expansion, verified near the centre. Raises NO_EXPANSION, UNSOLVED."""
    import sympy

    far = about in (_INFINITY, Negative(_INFINITY))
    t = sympy.Symbol(wrt, positive=True)
    moved = _local(node, wrt, about, side)
    with declining("no expansion was found", "move the centre, or take symbolic_limit"):
        value = to_sympy(moved).xreplace({sympy.Symbol(wrt): t})
        found = sympy.series(value, t, 0, order, dir="+")
        extra = order
        while found.getn() is not None and found.getn() < order and extra < order + 12:
            extra += 3
            found = sympy.series(value, t, 0, extra, dir="+")
        polynomial = found.removeO()
        if polynomial.has(sympy.Order, sympy.nan, sympy.zoo, sympy.oo):
            raise ToolError("NO_EXPANSION", "there is no power expansion there")
        kept = []
        for term in sympy.Add.make_args(sympy.expand(polynomial)):
            exponent = sum(
                (f.as_base_exp()[1] for f in sympy.Mul.make_args(term) if f.as_base_exp()[0] == t), sympy.S.Zero
            )
            if not exponent.is_Rational:
                raise ToolError("NO_EXPANSION", f"the term {term} is no power of the variable")
            if exponent < order:
                kept.append((exponent, term))
        kept.sort(key=lambda item: (item[0], str(item[1])))
        local = [from_sympy(term.xreplace({t: sympy.Symbol(wrt)})) for _, term in kept if term != 0]
    _verify(moved, local, wrt, order)
    back: Node = Quotient(ONE, Symbol(wrt)) if far else _difference(wrt, about)
    if side == "-" and not far:
        back = Negative(back)
    if about == Negative(_INFINITY):
        back = Quotient(Number(Fraction(-1)), Symbol(wrt))
    terms = tuple(_tidied(replace(term, {wrt: back})) for term in local) or (ZERO,)
    whole = terms[0] if len(terms) == 1 else Sum(terms)
    lowest = kept[0][0] if kept and local else None
    leading = None if lowest is None else int(lowest) if lowest.is_Integer else str(lowest)
    return Series(whole, terms, _order_text(wrt, about, order), leading, bool(lowest is not None and lowest < 0))


def _local(node: Node, wrt: str, about: Node, side: str) -> Node:
    t = Symbol(wrt)
    if about == _INFINITY:
        return replace(node, {wrt: Quotient(ONE, t)})
    if about == Negative(_INFINITY):
        return replace(node, {wrt: Quotient(Number(Fraction(-1)), t)})
    step = t if side == "+" else Negative(t)
    return replace(node, {wrt: step if about == ZERO else Sum((about, step))})


def _difference(wrt: str, about: Node) -> Node:
    return Symbol(wrt) if about == ZERO else Sum((Symbol(wrt), Negative(about)))


def _tidied(node: Node) -> Node:
    with declining("the term could not be written"):
        return from_sympy(to_sympy(node))


def _verify(node: Node, terms: list[Node], wrt: str, order: int) -> None:
    """The remainder must fall as t^order (but for logarithms): compare it at t = 2^-24 and 2^-48."""
    from flint import acb, arb

    names = sorted((free_symbols(node) | {n for term in terms for n in free_symbols(term)}) - {wrt})
    sample = sample_values(names, {name: {"positive"} for name in names})
    sizes = []
    with precision(64 * (order + 12) + 256):
        for depth in (24, 48):
            values = {name: decimal(value) for name, value in sample.items()}
            values[wrt] = acb(arb(2) ** -depth)
            try:
                rest = ball(node, values)
                for term in terms:
                    rest = rest - ball(term, values)
            except (ToolError, ValueError, ZeroDivisionError) as error:
                raise ToolError("UNSOLVED", "the expansion could not be compared with the function") from error
            upper = abs(rest).upper()
            sizes.append(float((upper.log() / arb(2).log()).mid()) if upper > 0 else -1e9)
    slope = (sizes[0] - sizes[1]) / 24
    if slope < order - 1.0 - 1e-9 and sizes[1] > -(order - 0.5) * 48:
        raise ToolError("UNSOLVED", "the expansion found does not approach the function", "lower the order")
