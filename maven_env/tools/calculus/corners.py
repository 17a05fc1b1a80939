"""Corners and jumps of an integrand: located, and removed by writing Abs, floor and the like as their branches."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Negative,
    Node,
    Piecewise,
    Product,
    Relation,
    Sum,
    free_symbols,
    number_node,
    walk,
)
from maven_env.expressions.algebra.algebraic import exact_fraction
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import ball, holds, precision
from maven_env.expressions.tree import ONE, rebuild
from maven_env.tools.calculus.unbounded_places import BITS, Place, factors_of, joined, located

_DEPTH = 28  # halvings of the range
_CELLS = 4_000
_MOST = 200  # corners of one function
_LEVELS = 3  # of functions with corners inside each other


def smooth_parts(
    node: Node, wrt: str, low: Place, high: Place, levels: int = _LEVELS
) -> list[tuple[Node, Place, Place]]:
    """Return (node, low, high) for the parts between corners, each written without what is settled there."""
    if levels == 0 or not any(_corner_functions(part) for part in walk(node)):
        return [(node, low, high)]
    places, settled = _corner_places(node, wrt, low, high)
    parts = []
    for left, right in pairwise([low, *places, high]):
        with precision(BITS):
            middle = (left.at(BITS) + right.at(BITS)) / 2
            written = _frozen(node, {wrt: middle}, settled)
        start, end = dataclasses.replace(left, end=-1), dataclasses.replace(right, end=1)
        parts += [(written, start, end)] if written == node else smooth_parts(written, wrt, start, end, levels - 1)
    return parts


def _corner_functions(part: Node) -> list[Node]:
    """Return functions that vanish where `part` itself has a corner or a jump."""
    match part:
        case Call("Abs" | "sign" | "Heaviside", (a,)):
            return list(factors_of(a))
        case Call("Max" | "Min", arguments):
            return [Sum((one, Negative(other))) for i, one in enumerate(arguments) for other in arguments[:i]]
        case Call("floor" | "ceiling", (a,)):
            return [Call("sin", (Product((Constant("pi"), a)),))]
        case Call("asin" | "acos", (a,)):
            return [Sum((a, Negative(ONE))), Sum((a, ONE))]
        case Piecewise(branches):
            return [Sum((c.left, Negative(c.right))) for _, c in branches if c is not None]
        case _:
            return []


def _corner_places(node: Node, wrt: str, low: Place, high: Place) -> tuple[list[Place], set[Node]]:
    """Return the inner corners that could be located, and the functions whose zeros are surely all among them."""
    with precision(BITS):
        a, b = low.at(BITS).real, high.at(BITS).real
        found: list[Place] = []
        settled: set[Node] = set()
        functions = dict.fromkeys(function for part in walk(node) for function in _corner_functions(part))
        for function in functions:
            if wrt not in free_symbols(function):
                settled.add(function)
                continue
            cells = _zero_cells(function, wrt, a, b)
            if cells is None:
                continue
            complete = True
            for left, right in cells:
                place = located(function, wrt, left, right, list(factors_of(function)))
                complete = complete and place is not None and _is_single(function, wrt, left, right)
                if place is not None and place.at(BITS).real > a and place.at(BITS).real < b:
                    found.append(place)
            if complete:
                settled.add(function)
        return _distinct(found), settled


def _distinct(places: list[Place]) -> list[Place]:
    placed = sorted(((float(place.at(BITS).real), place) for place in places), key=lambda item: item[0])
    kept: list[tuple[float, Place]] = []
    for x, place in placed:
        if not kept or abs(x - kept[-1][0]) > 1e-12 * max(1.0, abs(x)):
            kept.append((x, place))
    return [place for _, place in kept]


def _zero_cells(function: Node, wrt: str, a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Return small cells that hold all zeros of a function; None where they cannot be told apart."""
    from flint import acb

    try:
        extension = compile_analytic(function, wrt)
    except ToolError:
        return None
    found: list[tuple[Any, Any]] = []
    stack = [(a, b, 0)]
    seen = 0
    while stack:
        left, right, depth = stack.pop()
        seen += 1
        if seen > _CELLS or len(found) > _MOST:
            return None
        value = extension(acb(left.union(right)), False)
        if value.is_finite() and not value.contains(0):
            continue
        if depth == _DEPTH:
            found.append((left, right))
            continue
        middle = ((left + right) / 2).mid()
        stack += [(middle, right, depth + 1), (left, middle, depth + 1)]
    cells = joined(found)
    return cells if all(right - left < (b - a) * 1e-6 for left, right in cells) else None


def _is_single(function: Node, wrt: str, left: Any, right: Any) -> bool:
    """Return whether the function is surely monotone around a cell, so that it has one zero there at most."""
    from flint import acb

    width = right - left
    try:
        slope = compile_analytic(derivative(function, wrt), wrt)
    except ToolError:
        return False
    value = slope(acb((left - width).union(right + width)), False)
    return bool(value.is_finite() and not value.contains(0))


def _frozen(node: Node, at: dict[str, Any], settled: set[Node]) -> Node:
    """Replace functions whose corners are settled by the branch that holds at a point between them."""
    functions = _corner_functions(node)
    node = rebuild(node, lambda part: part if isinstance(part, Relation) else _frozen(part, at, settled))
    if not functions or not settled.issuperset(functions):
        return node
    try:
        return _branch(node, at)
    except (ToolError, ValueError, ZeroDivisionError):
        return node


def _branch(node: Node, at: dict[str, Any]) -> Node:
    match node:
        case Call("Abs", (a,)):
            value = ball(a, at)
            if value.imag == 0 and (value.real > 0 or value.real < 0):
                return a if value.real > 0 else Negative(a)
        case Call("sign" | "Heaviside" | "floor" | "ceiling", _):
            value = ball(node, at)
            if value.is_exact() and value.imag == 0:
                return number_node(exact_fraction(value.real))
        case Call("Max" | "Min", arguments):
            whole = ball(node, at)
            same = [a for a in arguments if ball(a, at).overlaps(whole)]
            return same[0] if len(same) == 1 else node
        case Piecewise(branches):
            return next((v for v, c in branches if c is None or holds(c, at)), node)
    return node
