"""The value of a function or of a derivative at a place: enclosed, as a limit, or from the nodes of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols, rational_value, replace, to_text
from maven_env.expressions.balls import Undecided, nearest_double, precision
from maven_env.expressions.tree import ZERO
from maven_env.tools.kinds import bad_input
from maven_env.tools.results import declining, jsonable
from maven_env.tools.verification.evidence import enclosed, largest_term, number_of, upper_double

_BITS = 192


@dataclass(frozen=True)
class Value:
    """A value: a tree if known exactly or with symbols, else a ball; and the size of the terms that make it up."""

    node: Node | None
    ball: Any
    size: float

    def shown(self) -> Any:
        if self.node is None:
            return jsonable(number_of(self.ball))
        exact = rational_value(self.node)
        if exact is not None:
            return str(exact)
        if is_infinite(self.node) or free_symbols(self.node):
            return to_text(self.node)
        return jsonable(number_of(enclosed(self.node, _BITS)))


def is_infinite(node: Node) -> bool:
    return to_text(node) in ("oo", "-oo")


def needs_limit(node: Node, wrt: str, condition: Mapping[str, Node]) -> bool:
    """Return whether a condition is at infinity, or at a place where the formula has no value."""
    place = condition.get("at")
    if place is None:
        return False
    if is_infinite(place):
        return True
    order = rational_value(condition.get("derivative", ZERO))
    try:
        at_point(node, wrt, place, int(order or 0), _BITS, limits=False)
    except ToolError as error:
        return error.code in ("DOMAIN_ERROR", "UNSOLVED")
    return False


def at_point(node: Node, wrt: str, place: Node, order: int, bits: int, *, limits: bool = True) -> Value:
    """Return the derivative of `order` at a place. Without a value there it is a limit, if `limits`."""
    if is_infinite(place):
        return _limit(node, wrt, place, order)
    if free_symbols(node) - {wrt} or free_symbols(place):
        return Value(replace(_derived(node, wrt, order), {wrt: place}), None, 0.0)
    try:
        return _enclosed(node, wrt, place, order, bits)
    except Undecided:
        if not limits:
            raise
        return _limit(node, wrt, place, order)


def _enclosed(node: Node, wrt: str, place: Node, order: int, bits: int) -> Value:
    from math import factorial

    from flint import acb

    from maven_env.expressions.analysis.jets import jet

    if order == 0:
        exact = replace(node, {wrt: place})
        enclosed(exact, bits)
        return Value(exact, None, upper_double(largest_term([exact], bits)))
    x = enclosed(place, bits)
    with precision(bits):
        found = jet(node, {wrt: x}, {wrt: acb(1)}, order)
        value = found[order] * factorial(order)
        return Value(None, value, upper_double(abs(value)))


def _derived(node: Node, wrt: str, order: int) -> Node:
    from maven_env.expressions.analysis.derivative import derivative

    for _ in range(order):
        node = derivative(node, wrt)
    return node


def _limit(node: Node, wrt: str, place: Node, order: int) -> Value:
    """Return the limit by sympy, confirmed by values that approach it."""
    import sympy

    from maven_env.expressions import parse
    from maven_env.expressions.symbolic import sympy_text, to_sympy

    x = sympy.Symbol(wrt)
    with declining("the limit is not found", "give the condition at a place where the function has a value"):
        value = sympy.diff(to_sympy(node), x, order)
        point = to_sympy(place)
        found = sympy.limit(value, x, point, "-" if place_is(place, "oo") else "+")
        if not is_infinite(place):
            other = sympy.limit(value, x, point, "-")
            if other != found and sympy.limit(value - found, x, point, "-") != 0:
                found = _one_sided(value, x, point, found, other)
    if found.has(sympy.nan, sympy.zoo, sympy.Limit) or found.has(sympy.AccumBounds):
        raise ToolError("DOMAIN_ERROR", f"there is no limit at {wrt} = {to_text(place)}")
    exact = parse(sympy_text(found))
    if not free_symbols(exact) and not free_symbols(node) - {wrt} and not is_infinite(exact):
        _confirm(_derived(node, wrt, order), wrt, place, exact)
    return Value(exact, None, 0.0)


def place_is(place: Node, text: str) -> bool:
    return to_text(place) == text


def _one_sided(value: Any, x: Any, point: Any, right: Any, left: Any) -> Any:
    """A function that is real on one side only, such as x*log(x) at 0, has its limit from there."""
    import sympy

    step = sympy.Rational(1, 1_000_003)
    real = [bool(sympy.im(sympy.N(value.subs(x, point + side * step))) == 0) for side in (1, -1)]
    if real == [True, False]:
        return right
    if real == [False, True]:
        return left
    raise ToolError("DOMAIN_ERROR", f"the limits from both sides of {point} differ: {left} and {right}")


def _confirm(node: Node, wrt: str, place: Node, limit: Node) -> None:
    """Values on the way must come closer to the limit. Raises UNSOLVED if they do not."""
    from fractions import Fraction

    from maven_env.expressions import Negative, Number, Sum

    distances = []
    for k in (4, 8, 16, 32):
        if is_infinite(place):
            size = Number(Fraction(10**k) + Fraction(1, 7))
            point: Node = size if place_is(place, "oo") else Negative(size)
        else:
            point = Sum((place, Number(Fraction(1, 10**k))))
        for bits in (256, 1_024):
            try:
                gap = enclosed(Sum((replace(node, {wrt: point}), Negative(limit))), bits)
            except Undecided:
                continue
            distances.append(upper_double(abs(gap)))
            break
    if len(distances) >= 2 and not (distances[-1] <= distances[0] / 2 or distances[-1] < 1e-12):
        raise ToolError("UNSOLVED", f"the limit {to_text(limit)} is not confirmed by values nearby")


def at_grid(x: Any, y: Any, place: Node, order: int) -> Value:
    """Return the value at a node, or a derivative of the polynomial through the five nearest nodes."""
    import numpy as np
    from flint import acb

    if is_infinite(place):
        raise bad_input("a grid has no value at infinity", "give expr and wrt")
    at = nearest_double(place)
    span = float(np.max(x) - np.min(x))
    index = int(np.argmin(np.abs(x - at)))
    if abs(x[index] - at) > 1e-9 * span:
        raise bad_input(f"{at:g} is no node of the grid; the nearest is {x[index]:g}", "give a place on the grid")
    if order == 0:
        return Value(None, acb(float(y[index])), float(np.max(np.abs(y))))
    if order > 2 or len(x) < 5:
        raise bad_input("a grid of five nodes or more gives derivatives of order 1 and 2")
    nearest = np.sort(np.argsort(np.abs(x - at), kind="stable")[:5])
    offsets, values = x[nearest] - at, y[nearest]
    unit = float(np.max(np.abs(offsets)))
    powers = np.vander(offsets / unit, 5, increasing=True)
    coefficients = np.linalg.solve(powers, values)
    slope = float(coefficients[order]) * (1 if order == 1 else 2) / unit**order
    return Value(None, acb(slope), max(abs(slope), float(np.max(np.abs(values))) / unit**order))
