"""Putting values for symbols, exactly: on the tree where its arithmetic suffices, else by bounded steps of sympy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Node,
    Piecewise,
    Relation,
    free_symbols,
    number_node,
    rational_value,
    replace,
    to_text,
    walk,
)
from maven_env.expressions.balls import nearest_complex, value_ball
from maven_env.expressions.bounds import check
from maven_env.expressions.equality import equal
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ZERO, Constant, rebuild
from maven_env.tools.results import declining
from maven_env.tools.symbolic.exact_forms import exact_form

_EXPANDED = 200  # terms up to which an expression is multiplied out to see whether that is shorter


def put(node: Node, values: Mapping[str, Node], simultaneous: bool) -> Node:
    """Put `values` for symbols, all at once or one by one. Raises LIMIT_EXCEEDED where the result is too large."""
    for step in [values] if simultaneous else [{name: value} for name, value in values.items()]:
        node = _folded(replace(node, step))
        check(node)
    return node


def _folded(node: Node) -> Node:
    """Do the rational arithmetic of closed parts, so that what is multiplied by zero has no size."""
    value = rational_value(node)
    if value is not None:
        return number_node(value)
    return rebuild(node, _folded)


def simplified(node: Node) -> Node:
    """Return an equal expression with exact arithmetic done and common terms cancelled, in bounded time.

    Raises UNDEFINED_VALUE where it has no finite value, UNSOLVED where the result cannot be written.
    """
    if isinstance(node, Relation):
        return Relation(node.operator, simplified(node.left), simplified(node.right))
    if any(part == Constant("oo") for part in walk(node)):
        raise _undefined("an infinity has no place in arithmetic", "use symbolic_limit")
    form = exact_form(node)
    if form is not None:
        return form
    result = _by_sympy(node)
    return result if free_symbols(node) else _checked(node, result)


def simplified_if_possible(node: Node) -> Node:
    """Return the simplified expression, or the expression itself where that fails."""
    try:
        return simplified(node)
    except ToolError:
        return node


def _undefined(message: str, hint: str) -> ToolError:
    return ToolError("UNDEFINED_VALUE", message, hint, undefined=True)


def _by_sympy(node: Node) -> Node:
    import sympy

    from maven_env.tools.tidy import terms_of, tidy

    with declining("the expression cannot be treated with these values", "evaluate it with evaluate_high_precision"):
        value = to_sympy(node)
        if value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.AccumBounds):
            raise _undefined("a division by zero, or an infinite value", "take symbolic_limit instead")
        if not isinstance(value, sympy.Expr):
            raise ToolError("UNSOLVED", f"the result is the statement {value}, no expression")
        if not any(isinstance(part, Piecewise) for part in walk(node)):
            value = tidy(value)[0]
            if max(check(node).terms, terms_of(value), value.count_ops()) <= _EXPANDED:
                value = min((value, sympy.expand(value, power_base=False, log=False)), key=_length)
        return from_sympy(value)


def _length(value: Any) -> int:
    return int(value.count_ops())


def _checked(node: Node, result: Node) -> Node:
    """Compare a closed result with the value of what it came from; a hidden zero is written as 0."""
    try:
        before = value_ball(node, digits=20)
    except ToolError:
        if equal(node, ZERO) == "equal":
            return ZERO
        return result
    if before.contains(0) and equal(node, ZERO) == "equal":
        return ZERO
    after = value_ball(result, digits=20)
    if not before.overlaps(after):
        raise ToolError(
            "UNSOLVED", f"two exact evaluations of {to_text(node)[:80]} disagree", "use evaluate_high_precision"
        )
    return result


def closed_value(node: Node) -> float | complex | None:
    """Return the nearest double of a closed expression, or None if it has symbols, or no value that can be decided."""
    if isinstance(node, Relation) or free_symbols(node):
        return None
    try:
        value = nearest_complex(node)
    except ToolError:
        return None
    return value.real if value.imag == 0 else value
