"""Identities that remove a cancelling subtraction, applied to trees from the leaves up."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from maven_env.errors import ToolError
from maven_env.expressions import Call, Negative, Node, Number, Power, Product, Quotient, Sum, Symbol, rational_value
from maven_env.expressions.tree import ONE, ZERO, rebuild
from maven_env.tools.symbolic.exact_forms import exact_form
from maven_env.tools.symbolic.multivariate import polynomial_coefficients

TWO = Number(Fraction(2))

RULES = {
    "rationalize_difference": "it needs a difference with a square root, such as sqrt(a) - sqrt(b) or sqrt(a) - b",
    "half_angle": "it needs 1 - cos(a)",
    "expm1_log1p": "it needs exp(a) - 1 or log(1 + a)",
    "horner": "it needs a polynomial of degree 2 or more in wrt",
    "difference_of_squares": "it needs a^2 - b^2",
}


def rewrite(node: Node, rule: str, wrt: str | None) -> tuple[Node, int]:
    """Return the rewritten tree and the number of places."""
    if rule == "horner":
        return _horner(node, str(wrt))
    step: Callable[[Node], Node | None] = {
        "rationalize_difference": _rationalised,
        "half_angle": _half_angle,
        "expm1_log1p": _exponential,
        "difference_of_squares": _squares,
    }[rule]
    count = 0

    def change(part: Node) -> Node:
        nonlocal count
        part = rebuild(part, change)
        found = step(part)
        if found is None:
            return part
        count += 1
        return found

    return change(node), count


def _pair(node: Node) -> tuple[Node, Node, list[Node]] | None:
    """Return (a, b, rest) of a sum a - b + rest with one negative term."""
    if not isinstance(node, Sum):
        return None
    negative = [term for term in node.terms if _negated(term) is not None]
    positive = [term for term in node.terms if _negated(term) is None]
    if len(node.terms) != 2 or len(negative) != 1:
        return None
    minus = _negated(negative[0])
    return (positive[0], minus, []) if minus is not None else None


def _negated(term: Node) -> Node | None:
    match term:
        case Negative(a):
            return a
        case Number(value) if value < 0:
            return Number(-value)
        case Product((first, *rest)):
            head = _negated(first)
            if head is None:
                return None
            parts = tuple(rest) if head == ONE else (head, *rest)
            return parts[0] if len(parts) == 1 else Product(parts)
        case Quotient(a, b):
            head = _negated(a)
            return None if head is None else Quotient(head, b)
        case _:
            return None


def _square(node: Node) -> Node:
    match node:
        case Call("sqrt", (a,)):
            return a
        case Product(items):
            return Product(tuple(_square(item) for item in items))
        case Quotient(a, b):
            return Quotient(_square(a), _square(b))
        case _:
            value = rational_value(node)
            return Number(value * value) if value is not None else Power(node, TWO)


def _has_root(node: Node) -> bool:
    match node:
        case Call("sqrt", _):
            return True
        case Product(items):
            return any(_has_root(item) for item in items)
        case Quotient(a, b):
            return _has_root(a) or _has_root(b)
        case _:
            return False


def _rationalised(node: Node) -> Node | None:
    pair = _pair(node)
    if pair is None or not (_has_root(pair[0]) or _has_root(pair[1])):
        return None
    a, b, _ = pair
    top: Node = Sum((_square(a), Negative(_square(b))))
    return Quotient(exact_form(top) or top, Sum((a, b)))


def _half_angle(node: Node) -> Node | None:
    pair = _pair(node)
    if pair is None:
        return None
    a, b, _ = pair
    sign = 1
    if b == ONE:
        a, b, sign = b, a, -1
    if a != ONE or not isinstance(b, Call) or b.function != "cos":
        return None
    half = _halved(b.arguments[0])
    result = Product((TWO, Power(Call("sin", (half,)), TWO)))
    return result if sign > 0 else Negative(result)


def _halved(node: Node) -> Node:
    value = rational_value(node)
    if value is not None:
        return Number(value / 2)
    match node:
        case Product((Number(value), *rest)) if rest:
            parts = tuple(rest) if value == 2 else (Number(value / 2), *rest)
            return parts[0] if len(parts) == 1 else Product(parts)
        case _:
            return Quotient(node, TWO)


def _exponential(node: Node) -> Node | None:
    pair = _pair(node)
    if pair is not None:
        a, b, _ = pair
        sign = 1
        if a == ONE:
            a, b, sign = b, a, -1
        if b == ONE and isinstance(a, Call) and a.function == "exp":
            half = _halved(a.arguments[0])
            result = Product((TWO, Call("exp", (half,)), Call("sinh", (half,))))
            return result if sign > 0 else Negative(result)
    match node:
        case Call("log", (Sum(terms),)) if ONE in terms and len(terms) > 1:
            rest = [term for i, term in enumerate(terms) if i != terms.index(ONE)]
            inner = rest[0] if len(rest) == 1 else Sum(tuple(rest))
            return Product((TWO, Call("atanh", (Quotient(inner, Sum((TWO, inner))),))))
        case _:
            return None


def _root_of_square(node: Node) -> Node | None:
    match node:
        case Power(base, exponent):
            power = rational_value(exponent)
            if power is None or power.denominator != 1 or power % 2:
                return None
            return base if power == 2 else Power(base, Number(power / 2))
        case Product(items):
            roots = [_root_of_square(item) for item in items]
            found = [root for root in roots if root is not None]
            return Product(tuple(found)) if len(found) == len(roots) else None
        case Quotient(a, b):
            top, bottom = _root_of_square(a), _root_of_square(b)
            return None if top is None or bottom is None else Quotient(top, bottom)
        case Number(value) if value > 0:
            from math import isqrt

            p, q = isqrt(value.numerator), isqrt(value.denominator)
            return Number(Fraction(p, q)) if p * p == value.numerator and q * q == value.denominator else None
        case _:
            return None


def _squares(node: Node) -> Node | None:
    pair = _pair(node)
    if pair is None:
        return None
    a, b = _root_of_square(pair[0]), _root_of_square(pair[1])
    if a is None or b is None:
        return None
    return Product((Sum((a, Negative(b))), Sum((a, b))))


def _horner(node: Node, wrt: str) -> tuple[Node, int]:
    coefficients, _, degree = polynomial_coefficients(node, [wrt])
    if degree < 2:
        raise ToolError("RULE_NOT_APPLICABLE", f"the degree in {wrt} is {degree}", RULES["horner"])
    x = Symbol(wrt)
    result = coefficients[0]
    for coefficient in coefficients[1:]:
        product: Node = x if result == ONE else Product((result, x))
        result = product if coefficient == ZERO else Sum((product, coefficient))
    return result, 1
