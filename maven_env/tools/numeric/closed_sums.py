"""Sums of partial fractions with symbols by digamma and zeta functions, each compared with certain numeric values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Quotient,
    Sum,
    Symbol,
    free_symbols,
    number_node,
    rational_value,
    replace,
)
from maven_env.expressions.balls import precision, value_ball
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ONE, rebuild
from maven_env.tools.numeric.finite_sums import SumValue
from maven_env.tools.numeric.sum_values import infinite_sum
from maven_env.tools.results import declining

_SAMPLES = (Fraction(3, 7), Fraction(5, 11), Fraction(2, 9), Fraction(7, 5), Fraction(11, 4), Fraction(1, 13))
_WANTED = 3  # sample values that must agree


@dataclass(frozen=True)
class ClosedSum:
    node: Node
    checks: int


def unproved(message: str) -> ToolError:
    return ToolError("UNSOLVED", message, "take method levin for a number, or put numbers for the parameters")


def fraction_sum(term: Node, index: str, start: int, max_terms: int) -> ClosedSum | None:
    """Return the sum to infinity of a term with linear denominators and symbols, None for others. Raises DIVERGENT."""
    node = _from_fractions(term, index, start)
    if node is None:
        return None
    names = sorted(free_symbols(term) - {index})
    return ClosedSum(node, _checked(node, term, index, start, names, max_terms))


def _from_fractions(term: Node, index: str, start: int) -> Node | None:
    """Sum partial fractions with linear denominators to infinity by digamma and zeta functions."""
    import sympy

    n = sympy.Symbol(index)
    value = sympy.together(to_sympy(term))
    if not value.is_rational_function(n):
        return None
    with declining("no partial fractions were found"):
        parts = sympy.Add.make_args(sympy.apart(sympy.factor(value), n))
    total, first_order = sympy.S.Zero, sympy.S.Zero
    for part in parts:
        top, bottom = part.as_numer_denom()
        if top.has(n):
            return None
        _, factors = sympy.factor_list(bottom, n)
        lines = [(base, power) for base, power in factors if base.has(n)]
        if len(lines) != 1 or sympy.degree(lines[0][0], n) != 1:
            return None
        line, power = lines[0]
        a, b = line.coeff(n, 1), line.coeff(n, 0)
        c = top * line**power / (bottom * a**power)
        c = sympy.cancel(c)
        place = sympy.cancel(start + b / a)
        if power == 1:
            first_order += c
            total -= c * sympy.digamma(place)
        else:
            total += c * sympy.zeta(power, place)
    if sympy.cancel(first_order) != 0:
        raise ToolError("DIVERGENT", f"the series diverges: its terms fall as 1/{index} only", "sum to a finite stop")
    places = [place for part in total.atoms(sympy.polygamma, sympy.zeta) for place in part.args if place.is_Rational]
    if not total.free_symbols and all(place.q <= 12 and abs(place.p) <= 200 for place in places):
        with declining("the closed form could not be simplified"):
            total = sympy.factor_terms(sympy.expand(sympy.expand_func(total)))
    return _tree(total)


def _tree(value: Any) -> Node:
    """Return the tree; Euler's constant is -digamma(1), polygamma of order 0 is digamma."""
    import sympy

    euler = sympy.Symbol("EulerGamma_")
    node = from_sympy(value.subs({sympy.EulerGamma: euler, sympy.Catalan: sympy.Symbol("Catalan_")}))

    def change(part: Node) -> Node:
        part = rebuild(part, change)
        match part:
            case Symbol("EulerGamma_"):
                return Negative(Call("digamma", (ONE,)))
            case Symbol("Catalan_"):
                inner = Call("polygamma", (ONE, Number(Fraction(1, 4))))
                return Quotient(Sum((inner, Negative(Power(Constant("pi"), number_node(2))))), number_node(8))
            case Call("polygamma", (order, argument)) if rational_value(order) == 0:
                return Call("digamma", (argument,))
        return part

    return change(node)


# ---- checks ----------------------------------------------------------------------------------------------------------
def _checked(node: Node, term: Node, index: str, start: int, names: list[str], max_terms: int) -> int:
    """Compare the closed form with sums at sample values of the parameters; return how many agreed."""
    if index in free_symbols(node):
        raise unproved("the closed form still holds the index")
    if not names:
        if not _agree(node, infinite_sum(term, index, start, max_terms)):
            raise unproved("the closed form found does not agree with the sum")
        return 1
    agreed = 0
    for shift in range(len(_SAMPLES)):
        values: dict[str, Node] = {}
        for i, name in enumerate(names):
            values[name] = number_node(_SAMPLES[(shift + 2 * i) % len(_SAMPLES)])
        try:
            value = infinite_sum(replace(term, values), index, start, max_terms)
        except ToolError as error:
            if error.code in ("DIVERGENT", "NO_CONVERGENCE", "DOMAIN_ERROR"):
                continue  # outside the region where the series converges
            raise
        if not _agree(replace(node, values), value):
            raise unproved("the closed form found does not agree with the sum at sample values")
        agreed += 1
    if agreed < _WANTED:
        raise unproved("the closed form found could not be checked at enough sample values")
    return agreed


def _agree(node: Node, value: SumValue) -> bool:
    try:
        closed = value_ball(node, digits=30)
    except ToolError as error:
        raise unproved(f"the closed form has no certain value: {error.message}") from error
    with precision(200):
        if not closed.overlaps(value.ball):
            return False
        gap = abs(closed - value.ball).abs_upper()
        return bool(gap < 1e-14 * (abs(value.ball).abs_upper() + 1e-12))
