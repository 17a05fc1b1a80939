"""Exact normal forms on the tree, without sympy: rational functions whose coefficients hold square roots, pi and I."""

from __future__ import annotations

from fractions import Fraction

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
    rational_value,
    walk,
)
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.bounds import check
from maven_env.expressions.tree import ZERO, rebuild
from maven_env.tools.equations.candidates import sign_of

_TERMS = 200  # of an expression that is multiplied out
_KEPT = 12  # terms up to which the multiplied-out form is preferred in any case
_RADICAND_BITS = 64
_STEPPED = ("Abs", "sign", "Max", "Min")


def exact_form(node: Node) -> Node | None:
    """Return the normal form of a rational function with constant surds, or None where this arithmetic does not apply.

    Raises UNDEFINED_VALUE for a division by zero.
    """
    value = rational_value(node)
    if value is not None:
        return number_node(value)
    try:
        resolved = _stepped(node)
        if resolved is None or not _is_plain(resolved) or check(resolved).terms > _TERMS:
            return None
        value = rational_value(resolved)
        if value is not None:
            return number_node(value)
        element = Field((resolved,)).element(resolved)
    except LimitExceeded:
        return None
    except ToolError as error:
        if error.code == "UNDEFINED_VALUE":
            raise
        return None
    if len(element.num) + len(element.den) > max(_KEPT, _count(resolved)):
        return None
    return _merged(parse(str(element)))


def _count(node: Node) -> int:
    return sum(len(part.terms) for part in walk(node) if isinstance(part, Sum))


def _is_plain(node: Node) -> bool:
    for part in walk(node):
        match part:
            case Number() | Symbol() | Sum() | Product() | Quotient() | Negative():
                continue
            case Constant(name) if name != "oo":
                continue
            case Power(base, exponent):
                power = rational_value(exponent)
                if power is None or (power.denominator != 1 and not _is_radicand(base)):
                    return False
            case Call("sqrt", (base,)):
                if not _is_radicand(base):
                    return False
            case _:
                return False
    return True


def _is_radicand(node: Node) -> bool:
    value = rational_value(node, 4 * _RADICAND_BITS)
    return value is not None and (abs(value.numerator) * value.denominator).bit_length() <= _RADICAND_BITS


def _stepped(node: Node) -> Node | None:
    """Put the value for Abs, sign, Max and Min of closed numbers; None where a sign cannot be decided."""
    if not any(isinstance(part, Call) and part.function in _STEPPED for part in walk(node)):
        return node
    failed = False

    def change(part: Node) -> Node:
        nonlocal failed
        part = rebuild(part, change)
        if not isinstance(part, Call) or part.function not in _STEPPED:
            return part
        found = _step(part.function, part.arguments)
        if found is None:
            failed = True
            return part
        return found

    result = change(node)
    return None if failed else result


def _step(function: str, arguments: tuple[Node, ...]) -> Node | None:
    if any(free_symbols(argument) for argument in arguments):
        return None
    if function in ("Abs", "sign"):
        sign = _sign(arguments[0])
        if sign is None:
            return None
        if function == "sign":
            return number_node(Fraction(sign))
        return ZERO if sign == 0 else arguments[0] if sign > 0 else Negative(arguments[0])
    best = arguments[0]
    for other in arguments[1:]:
        sign = _sign(Sum((other, Negative(best))))
        if sign is None:
            return None
        if sign * (1 if function == "Max" else -1) > 0:
            best = other
    return best


def _sign(node: Node) -> int | None:
    form = exact_form(node)
    return sign_of(form if form is not None else node, {})


def _merged(node: Node) -> Node:
    """Write sqrt(2)*sqrt(3), as the field has it, as sqrt(6)."""
    node = rebuild(node, _merged)
    if not isinstance(node, Product):
        return node
    radicand, rest = Fraction(1), []
    for factor in node.factors:
        match factor:
            case Call("sqrt", (Number(value),)):
                radicand *= value
            case _:
                rest.append(factor)
    if radicand != 1:
        rest.append(Call("sqrt", (Number(radicand),)))
    return rest[0] if len(rest) == 1 else Product(tuple(rest))
