"""Tree to sympy and back. Sympy is imported at the first call only.

Going in, operands are bounded again after sympy has evaluated them, because symbols may cancel while it builds:
`exp(exp(exp(exp(x-x+9))))` passes any static check.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import bounds
from maven_env.expressions.bounds import too_big
from maven_env.expressions.functions import ARITIES
from maven_env.expressions.parser import parse
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import (
    Call,
    Constant,
    Matrix,
    Negative,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
)

_GROWING = ("factorial", "gamma", "binomial", "loggamma", "polygamma")


# ---- in --------------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=8_192)
def to_sympy(node: Node) -> Any:
    """Build the sympy expression of `node`; symbols carry no assumptions.

    Raises LimitExceeded where an evaluated operand is beyond the bounds.
    """
    import sympy

    match node:
        case Number(value):
            return sympy.Rational(value.numerator, value.denominator)
        case Symbol(name):
            return sympy.Symbol(name)
        case Constant(name):
            return {"pi": sympy.pi, "oo": sympy.oo, "I": sympy.I}[name]
        case Sum(terms):
            return sympy.Add(*(to_sympy(term) for term in terms))
        case Product(factors):
            return sympy.Mul(*(to_sympy(factor) for factor in factors))
        case Negative(operand):
            return sympy.Mul(sympy.S.NegativeOne, to_sympy(operand))
        case Quotient(top, bottom):
            return sympy.Mul(to_sympy(top), sympy.Pow(to_sympy(bottom), sympy.S.NegativeOne))
        case Power(base, exponent):
            return _power(to_sympy(base), to_sympy(exponent))
        case Call(name, arguments):
            return _call(name, [to_sympy(argument) for argument in arguments])
        case Relation(operator, left, right):
            kinds = {"=": sympy.Eq, "!=": sympy.Ne, "<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge}
            return kinds[operator](to_sympy(left), to_sympy(right))
        case Piecewise(branches):
            return sympy.Piecewise(*((to_sympy(v), True if c is None else to_sympy(c)) for v, c in branches))


def matrix_to_sympy(matrix: Matrix) -> Any:
    """Build an immutable sympy matrix."""
    import sympy

    return sympy.ImmutableMatrix([[to_sympy(entry) for entry in row] for row in matrix])


def _power(base: Any, exponent: Any) -> Any:
    import sympy

    if exponent.is_Rational:
        top, bottom = abs(exponent.p), exponent.q
        if bottom > 1 and max(top, bottom) > bounds.SYMBOLIC_EXPONENT:
            raise too_big(f"a fractional exponent takes numbers up to {bounds.SYMBOLIC_EXPONENT}")
        if top > bounds.SYMBOLIC_EXPONENT and not base.is_Rational:
            raise too_big(f"the exponent {exponent} is beyond {bounds.SYMBOLIC_EXPONENT}")
        factor = base if base.is_Rational else base.args[0] if base.is_Mul and base.args[0].is_Rational else None
        if factor is not None and factor not in (0, 1, -1):
            bits = factor.p.bit_length() + factor.q.bit_length()
            if bits * top > bounds.EXACT_BITS * bottom:
                raise too_big("a power here is too large")
    elif exponent.is_number and base.is_number:
        reach = _reach(exponent, _magnitude(exponent))
        if max(_magnitude(base), 1) * reach > bounds.MAGNITUDE_BITS:
            raise too_big("a constant here is of huge or tiny magnitude")
    return sympy.Pow(base, exponent)


def _call(name: str, arguments: list[Any]) -> Any:
    import sympy

    for argument in arguments:
        if not argument.is_number:
            continue
        if name in _GROWING and argument.is_Rational and abs(argument.p) > bounds.FACTORIAL * argument.q:
            raise too_big(f"{name} takes arguments up to {bounds.FACTORIAL}")
        size = _magnitude(argument)
        if name in _GROWING and not argument.is_Rational and size > 9:
            raise too_big(f"{name} takes arguments up to {bounds.FACTORIAL}")
        if size > bounds.MAGNITUDE_BITS or (
            name in ("exp", "sinh", "cosh") and 1.45 * _reach(argument, size) > 4 * bounds.MAGNITUDE_BITS
        ):
            raise too_big("a constant here is of huge or tiny magnitude")
    if name not in ARITIES:
        return sympy.Function(name)(*arguments)
    try:
        return getattr(sympy, name)(*arguments)
    except (TypeError, ValueError) as error:  # such as Max of complex numbers
        raise ToolError(
            "DOMAIN_ERROR", f"{name} has no value here: {str(error)[:200]}", "check the arguments"
        ) from None


def _reach(value: Any, magnitude: float) -> float:
    """Return a bound of |value| of a closed expression; a rational factor counts with its size, not its digits."""
    if value.is_Add:
        return sum(_reach(part, _magnitude(part)) for part in value.args)
    factor = value if value.is_Rational else value.args[0] if value.is_Mul and value.args[0].is_Rational else None
    if factor is None:
        return math.exp2(min(magnitude, 64))
    rest = 0.0 if value.is_Rational else magnitude - _magnitude(factor)
    gap = abs(factor.p).bit_length() - factor.q.bit_length() + 1
    return math.exp2(max(min(gap + rest, 64), -64))


def _magnitude(value: Any) -> float:
    """Return an upper bound of |log2 |value|| of a closed sympy expression."""
    if value.is_Rational:
        return float(max(abs(value.p).bit_length(), value.q.bit_length()))
    arguments = value.args
    if not arguments:
        return 2
    if value.is_Add:
        return float(max(_magnitude(a) for a in arguments) + len(arguments))
    if value.is_Mul:
        return sum(_magnitude(a) for a in arguments)
    if value.is_Pow:
        base, exponent = arguments
        if exponent.is_Rational:
            return float(max(_magnitude(base), 1) * (abs(exponent.p) / exponent.q + 1))
        return min(max(_magnitude(base), 1) * math.exp2(min(_magnitude(exponent), 64)), 1e18)
    name = type(value).__name__
    if name in ("exp", "sinh", "cosh"):
        return min(1.45 * math.exp2(min(_magnitude(arguments[0]), 64)), 1e18)
    if name in _GROWING:
        return 10.0 * bounds.FACTORIAL
    steep = 64 if name in ("tan", "cot", "sec", "csc") else 8
    return max((_magnitude(a) for a in arguments if a.is_number), default=0) + steep


# ---- out -------------------------------------------------------------------------------------------------------------
def from_sympy(value: Any, wrt: str | None = None) -> Node:
    """Return the tree of a sympy expression; terms stand in descending powers of `wrt` where it is a polynomial in it.

    Raises ToolError(UNSOLVED) for what the grammar cannot write, such as a Meijer G function or an open integral.
    """
    if value.is_Add:
        return Sum(tuple(from_sympy(term, wrt) for term in _ordered_terms(value, wrt)))
    if value.is_Mul:
        return _from_mul(value, wrt)
    if value.is_Pow:
        return _from_pow(value.base, value.exp, wrt)
    if value.is_Rational:
        return _rational(Fraction(int(value.p), int(value.q)))
    if value.is_Symbol:
        return Symbol(value.name)
    return _from_other(value, wrt)


def sympy_text(value: Any, wrt: str | None = None) -> str:
    """Write a sympy expression in the grammar."""
    return to_text(from_sympy(value, wrt))


def _rational(value: Fraction) -> Node:
    if value < 0:
        return Negative(_rational(-value))
    return Number(value)


def _ordered_terms(value: Any, wrt: str | None) -> list[Any]:
    terms: list[Any] = value.as_ordered_terms()
    if wrt is None:
        return terms
    import sympy

    symbol = sympy.Symbol(wrt)
    if symbol not in value.free_symbols:
        return terms
    degrees = [term.as_coeff_exponent(symbol)[1] for term in terms]
    if not all(degree.is_Integer and degree >= 0 for degree in degrees):
        return terms
    order = sorted(range(len(terms)), key=lambda i: -int(degrees[i]))  # stable: equal degrees keep sympy's order
    return [terms[i] for i in order]


def _from_mul(value: Any, wrt: str | None) -> Node:
    coefficient, factors = value.as_coeff_mul()
    if not coefficient.is_Rational:
        coefficient, factors = 1, value.args
        top, bottom = [], []
    else:
        top = [Number(Fraction(abs(int(coefficient.p))))] if abs(coefficient.p) != 1 else []
        bottom = [Number(Fraction(int(coefficient.q)))] if coefficient.q != 1 else []
    rest = _ordered_factors(value, factors)
    above: list[Node] = list(top)
    below: list[Node] = list(bottom)
    for factor in rest:
        if factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative:
            below.append(_from_pow(factor.base, -factor.exp, wrt))
        else:
            above.append(from_sympy(factor, wrt))
    numerator = _product(above) if above else Number(Fraction(1))
    node = Quotient(numerator, _product(below)) if below else numerator
    return Negative(node) if coefficient != 1 and coefficient.is_negative else node


def _ordered_factors(value: Any, factors: Iterable[Any]) -> list[Any]:
    wanted = set(factors)
    return [factor for factor in value.as_ordered_factors() if factor in wanted]


def _product(factors: list[Node]) -> Node:
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def _from_pow(base: Any, exponent: Any, wrt: str | None) -> Node:
    if exponent.is_Rational and exponent.is_negative:
        return Quotient(Number(Fraction(1)), _from_pow(base, -exponent, wrt))
    inner = from_sympy(base, wrt)
    if exponent == 1:
        return inner
    if exponent.is_Rational and exponent.p == 1 and exponent.q == 2:
        return Call("sqrt", (inner,))
    return Power(inner, from_sympy(exponent, wrt))


def _from_other(value: Any, wrt: str | None) -> Node:
    import sympy

    if value in (sympy.pi, sympy.I):
        return Constant(str(value))
    if value is sympy.oo:
        return Constant("oo")
    if value is sympy.S.NegativeInfinity:
        return Negative(Constant("oo"))
    if value is sympy.E:
        return Call("exp", (Number(Fraction(1)),))
    if value.is_Float:
        return _rational(Fraction(str(value)))
    if value in (sympy.zoo, sympy.nan):
        raise ToolError("UNDEFINED_VALUE", "the result is undefined here (a division by zero)", "take a limit instead")
    if isinstance(value, sympy.Piecewise):
        branches = []
        for branch in value.args:
            condition = None if branch.cond == True else from_sympy(branch.cond)  # noqa: E712, sympy's true
            if condition is not None and not isinstance(condition, Relation):
                raise ToolError("UNSOLVED", f"a branch holds under {branch.cond}, which the grammar cannot write")
            branches.append((from_sympy(branch.expr, wrt), condition))
        return Piecewise(tuple(branches))
    if isinstance(value, sympy.core.relational.Relational):
        operator = {"==": "=", "!=": "!="}.get(value.rel_op, value.rel_op)
        return Relation(operator, from_sympy(value.lhs), from_sympy(value.rhs))
    name = type(value).__name__
    if name in ("EulerGamma", "Catalan"):
        return parse("-digamma(1)" if name == "EulerGamma" else "(polygamma(1, 1/4) - pi^2)/8")
    if name == "GoldenRatio":
        return from_sympy((1 + sympy.sqrt(5)) / 2)
    if name == "exp_polar":
        name = "exp"
    is_unknown = isinstance(value, sympy.core.function.AppliedUndef)
    if name not in ARITIES and not is_unknown:
        raise ToolError("UNSOLVED", f"the result needs {name}, which the grammar cannot write", "try a numeric tool")
    arguments = value.args[:1] if name == "Heaviside" else value.args  # the value at the step itself is 1/2 here
    return Call(name, tuple(from_sympy(argument, wrt) for argument in arguments))
