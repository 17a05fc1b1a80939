"""Dimensional analysis of a tree: the dimension of an expression whose symbols have units."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
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
    rational_value,
    to_text,
)
from maven_env.tools.units.unit_values import ONE, UnitValue, dimension_text

_ALIKE = frozenset({"Min", "Max"})  # arguments and value have one dimension
_KEEP = frozenset({"Abs", "re", "im", "conjugate"})
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
_EXPONENT = 64


def dimension_of(node: Node, units: Mapping[str, UnitValue]) -> UnitValue:
    """Return the dimension of `node` (its factor means nothing).

    Raises UNIT_MISMATCH where terms differ, or a function or an exponent is no pure number; UNKNOWN_SYMBOL.
    """
    match node:
        case Number() | Constant():
            return ONE
        case Symbol(name):
            if name not in units:
                raise ToolError("UNKNOWN_SYMBOL", f"no unit for {name}", f"known: {', '.join(units) or 'none'}")
            return _bare(units[name])
        case Sum(terms):
            return _common(terms, units, "terms of a sum")
        case Negative(a):
            return dimension_of(a, units)
        case Product(factors):
            total = ONE
            for factor in factors:
                total = total.times(dimension_of(factor, units))
            return total
        case Quotient(a, b):
            return dimension_of(a, units).times(dimension_of(b, units).power(Fraction(-1)))
        case Power(a, b):
            return _power(a, b, units)
        case Call(name, arguments):
            return _call(name, arguments, units)
        case Piecewise(branches):
            for _, condition in branches:
                if condition is not None:
                    dimension_of(condition, units)
            return _common(tuple(value for value, _ in branches), units, "branches")
        case Relation(_, left, right):
            _common((left, right), units, "sides of a relation")
            return ONE


def _bare(unit: UnitValue) -> UnitValue:
    return UnitValue(Fraction(1), unit.dimensions)


def _common(nodes: tuple[Node, ...], units: Mapping[str, UnitValue], what: str) -> UnitValue:
    """Return the dimension that all have; a literal 0 has any."""
    first: tuple[Node, UnitValue] | None = None
    for node in nodes:
        found = dimension_of(node, units)
        if rational_value(node) == 0:
            continue
        if first is None:
            first = (node, found)
        elif found.dimensions != first[1].dimensions:
            left = f"{to_text(first[0])[:60]} is {dimension_text(first[1])}"
            right = f"{to_text(node)[:60]} is {dimension_text(found)}"
            raise ToolError("UNIT_MISMATCH", f"{what} have different dimensions: {left}, {right}", "check the formula")
    return first[1] if first else ONE


def _power(base: Node, exponent: Node, units: Mapping[str, UnitValue]) -> UnitValue:
    below, above = dimension_of(base, units), dimension_of(exponent, units)
    if above.dimensions:
        raise ToolError(
            "UNIT_MISMATCH", f"the exponent {to_text(exponent)[:60]} is {dimension_text(above)}", "it must be pure"
        )
    if not below.dimensions:
        return ONE
    exact = rational_value(exponent)
    if exact is None or abs(exact) > _EXPONENT:
        message = (
            f"{to_text(base)[:60]} is {dimension_text(below)}; its exponent must be a plain number up to {_EXPONENT}"
        )
        hint = "divide by a reference value first"
        raise ToolError("UNIT_MISMATCH", message, hint, undecided=exact is None)
    return below.power(exact)


def _call(name: str, arguments: tuple[Node, ...], units: Mapping[str, UnitValue]) -> UnitValue:
    if name in _ALIKE or name == "atan2":
        common = _common(arguments, units, f"arguments of {name}")
        return ONE if name == "atan2" else common
    found = [dimension_of(argument, units) for argument in arguments]
    if name in _KEEP:
        return found[0]
    if name in _ROOTS:
        return found[0].power(_ROOTS[name])
    if name in ("sign", "Heaviside"):
        return ONE
    for argument, dimension in zip(arguments, found, strict=True):
        if dimension.dimensions:
            message = f"the argument {to_text(argument)[:60]} of {name} is {dimension_text(dimension)}"
            raise ToolError("UNIT_MISMATCH", message, f"{name} takes pure numbers: divide by a reference value first")
    return ONE
