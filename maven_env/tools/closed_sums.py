"""Closed forms of sums, every one compared with a certain numeric value before it is given."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
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
    rational_value,
    replace,
)
from maven_env.expressions.balls import precision, value_ball
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ONE, rebuild
from maven_env.tools.modes import number
from maven_env.tools.results import declining
from maven_env.tools.sum_values import SumValue, finite_sum, infinite_sum

_BITS = 12_000  # of an exact sum
_SAMPLES = (Fraction(3, 7), Fraction(5, 11), Fraction(2, 9), Fraction(7, 5), Fraction(11, 4), Fraction(1, 13))
_LENGTHS = (1, 2, 3, 5, 8)


@dataclass(frozen=True)
class ClosedSum:
    node: Node
    condition: str | None
    checks: int


def unproved(message: str) -> ToolError:
    return ToolError("UNSOLVED", message, "take method levin for a number, or put numbers for the parameters")


# ---- exact arithmetic ------------------------------------------------------------------------------------------------
def rational_finite_sum(term: Node, index: str, start: int, stop: int) -> Fraction | None:
    """Add rational terms exactly, or return None where they are not rational or grow too long. Raises DOMAIN_ERROR."""
    total = Fraction(0)
    for n in range(start, stop + 1):
        value = _rational_at(term, index, n)
        if value is None:
            return None
        total += value
        if total.numerator.bit_length() + total.denominator.bit_length() > _BITS:
            return None
    return total


def _rational_at(term: Node, index: str, n: int) -> Fraction | None:
    def change(part: Node) -> Node:
        part = rebuild(part, change)
        if isinstance(part, Call) and part.function in ("factorial", "binomial", "Abs", "floor"):
            values = [rational_value(a) for a in part.arguments]
            if all(v is not None and v.denominator == 1 and 0 <= v <= 400 for v in values):
                whole = [int(v) for v in values if v is not None]
                if part.function == "factorial":
                    return number(factorial(whole[0]))
                return number(comb(whole[0], whole[1]) if part.function == "binomial" else whole[0])
        return part

    return rational_value(change(replace(term, {index: number(n)})))


# ---- closed forms ----------------------------------------------------------------------------------------------------
def closed_sum(term: Node, index: str, start: int, stop: Node, max_terms: int) -> ClosedSum:
    """Return a closed form that agrees with the sum. Raises UNSOLVED, DIVERGENT, NO_CONVERGENCE."""
    parameters = sorted((free_symbols(term) | free_symbols(stop)) - {index})
    if not parameters and stop == Constant("oo"):
        infinite_sum(term, index, start, max_terms)  # raises where it diverges
    refused: ToolError | None = None
    for find in (_from_fractions, _from_sympy):
        try:
            found = find(term, index, start, stop)
            if found is None:
                continue
            node, condition = found
            return ClosedSum(
                node, condition, _checked(node, term, index, start, stop, parameters, max_terms, condition)
            )
        except ToolError as error:
            if error.code in ("DIVERGENT", "LIMIT_EXCEEDED", "DOMAIN_ERROR"):
                raise
            refused = error
    raise refused or unproved("no closed form was found")


def _from_fractions(term: Node, index: str, start: int, stop: Node) -> tuple[Node, None] | None:
    """Sum partial fractions with linear denominators to infinity by digamma and zeta functions."""
    import sympy

    if stop != Constant("oo"):
        return None
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
    return _tree(total), None


def _from_sympy(term: Node, index: str, start: int, stop: Node) -> tuple[Node, str | None] | None:
    import sympy

    n = sympy.Symbol(index, integer=True)
    value = to_sympy(term).subs(sympy.Symbol(index), n)
    last = to_sympy(stop)
    whole = {s: sympy.Symbol(s.name, integer=True, nonnegative=True) for s in sorted(last.free_symbols, key=str)}
    with declining("no closed form was found"):
        result = sympy.summation(value.subs(whole), (n, start, last.subs(whole)))
        result = result.subs({new: old for old, new in whole.items()}).subs(n, sympy.Symbol(index))
        result = sympy.piecewise_fold(result)
    condition = None
    if isinstance(result, sympy.Piecewise):
        good = [(branch, cond) for branch, cond in result.args if not branch.has(sympy.Sum)]
        if len(good) < len(result.args):
            if len(good) != 1:
                return None
            result, condition = good[0][0], str(good[0][1])
    if result.has(sympy.Sum, sympy.nan, sympy.zoo, sympy.oo, sympy.Integral):
        return None
    with declining("the closed form could not be simplified"):
        if result.has(sympy.exp_polar):
            result = sympy.unpolarify(result)
        if not isinstance(result, sympy.Piecewise) and result.count_ops() < 60:
            result = min((result, sympy.simplify(result), sympy.factor(result)), key=lambda v: (v.count_ops(), str(v)))
    return _tree(result), condition


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
                return Quotient(Sum((inner, Negative(Power(Constant("pi"), number(2))))), number(8))
            case Call("polygamma", (order, argument)) if rational_value(order) == 0:
                return Call("digamma", (argument,))
        return part

    return change(node)


# ---- checks ----------------------------------------------------------------------------------------------------------
def _checked(
    node: Node, term: Node, index: str, start: int, stop: Node, names: list[str], max_terms: int, condition: str | None
) -> int:
    """Compare the closed form with sums at sample values of the parameters; return how many agreed."""
    if index in free_symbols(node):
        raise unproved("the closed form still holds the index")
    if not names:
        value = _number(term, index, start, stop, max_terms)
        if not _agree(node, value):
            raise unproved("the closed form found does not agree with the sum")
        return 1
    lasting = sorted(free_symbols(stop))
    agreed, wanted = 0, 6 if lasting else 3
    for shift in range(len(_SAMPLES)):
        for length in _LENGTHS if lasting else (0,):
            values: dict[str, Node] = {}
            for i, name in enumerate(names):
                values[name] = number(_SAMPLES[(shift + 2 * i) % len(_SAMPLES)])
            if lasting:
                if len(lasting) > 1:
                    raise unproved("the last index has more than one symbol")
                values[lasting[0]] = number(start + length)
            place = replace(stop, values)
            try:
                value = _number(replace(term, values), index, start, place, max_terms)
            except ToolError as error:
                if error.code in ("DIVERGENT", "NO_CONVERGENCE", "DOMAIN_ERROR") and not lasting:
                    continue  # outside the region where the series converges
                raise
            if not _agree(replace(node, values), value):
                raise unproved("the closed form found does not agree with the sum at sample values")
            agreed += 1
    if agreed < wanted and not (agreed >= 2 and condition is not None):
        raise unproved("the closed form found could not be checked at enough sample values")
    return agreed


def _number(term: Node, index: str, start: int, stop: Node, max_terms: int) -> SumValue:
    if stop == Constant("oo"):
        return infinite_sum(term, index, start, max_terms)
    last = rational_value(stop)
    if last is None or last.denominator != 1:
        raise unproved("the last index is no integer at sample values")
    if last - start > max_terms:
        raise LimitExceeded("size", f"{last - start + 1} terms, the bound is {max_terms}")
    return finite_sum(term, index, start, int(last))


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


def short_sum(term: Node, index: str, start: int, stop: int) -> Node:
    """Write out a few terms and tidy them."""
    from maven_env.tools.substitution import simplified

    parts = tuple(replace(term, {index: number(n)}) for n in range(start, stop + 1))
    return simplified(parts[0] if len(parts) == 1 else Sum(parts))
