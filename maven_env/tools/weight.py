"""How heavy the arguments of a call are: a tool that is quick on small input runs in process on small input only.

Fuel and the kill bound what runs in the guarded process; in process nothing does but the size of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import comb
from typing import Any, get_args

from maven_env.errors import LimitExceeded
from maven_env.expressions import Node, Number, rational_value, walk
from maven_env.expressions.bounds import check
from maven_env.expressions.tree import Call, Power, Product, Quotient, Sum

_NODES: tuple[type[Node], ...] = get_args(Node)
_LIGHT = (1_000, 480)  # weight of all expressions together, by tier 0 and 1
_HEAVIEST = 50_000  # of a tool that cannot be guarded, because it looks at other steps
_NODE = 16  # what a node counts that is no number: entries of a matrix of numbers grow less
_ROOT = 64  # what a root counts: every one doubles the terms of the others
_SPECIAL = 200  # what a function counts that takes long to evaluate
_PLAIN = frozenset(
    ("sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh")
) | {"atanh", "exp", "log", "Abs", "sign", "re", "im", "arg", "conjugate", "atan2", "Min", "Max"}
_TERMS = 150  # of one expression multiplied out, in tier 1


def is_light(arguments: Mapping[str, Any], tier: int) -> bool:
    """Return whether a tool of `tier` 0 or 1 surely ends soon on `arguments`."""
    if _weight(arguments) > _LIGHT[tier]:
        return False
    return tier == 0 or not any(map(_bursts, _expressions(arguments)))


def check_bounded(arguments: Mapping[str, Any]) -> None:
    """Refuse what is too heavy for a tool that must run in process. Raises LIMIT_EXCEEDED."""
    if _weight(arguments, _HEAVIEST) > _HEAVIEST:
        raise LimitExceeded("size", "the expressions are too many or too long to be treated at once", "give fewer")


def guarded_above(nodes: int, tier: int = 0) -> Callable[[Mapping[str, Any]], int]:
    """Return the tier of a tool that works hard on each node of its expressions: `tier` up to `nodes`, 2 beyond."""

    def tier_of(arguments: Mapping[str, Any]) -> int:
        return tier if _weight(arguments) <= nodes * _NODE else 2

    return tier_of


def _expressions(value: Any) -> Iterator[Node]:
    if isinstance(value, _NODES):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _expressions(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _expressions(item)


def _weight(arguments: Mapping[str, Any], bound: int = max(_LIGHT)) -> int:
    """Return the weight of the arguments; once it is beyond `bound` it is not added up further."""
    weight = 0
    for node in _expressions(arguments):
        weight += 1 if isinstance(node, Number) else sum(map(_weight_of, walk(node)))
        if weight > bound:
            break
    return weight


def _weight_of(part: Node) -> int:
    match part:
        case Number():
            return 1
        case Call("sqrt" | "cbrt") | Power(_, Quotient()):
            return _ROOT
        case Power(_, Number(value)) if value.denominator != 1:
            return _ROOT
        case Call(name) if name not in _PLAIN:
            return _SPECIAL
    return _NODE


def _bursts(node: Node) -> bool:
    """Return whether an expression has too many terms multiplied out, or a part of it has."""
    parts = list(walk(node))
    return any(map(_has_wide_power, parts)) or (any(map(_may_grow, parts)) and check(node).terms > _TERMS)


def _may_grow(part: Node) -> bool:
    """Return whether multiplying out a part makes more terms than it has."""
    if isinstance(part, Power):
        return isinstance(part.base, Sum)
    return isinstance(part, Product) and sum(isinstance(item, Sum) for item in part.factors) > 1


def _has_wide_power(part: Node) -> bool:
    """Return whether a part is a power of something that holds a sum, with too many terms if multiplied out."""
    exponent = rational_value(part.exponent) if isinstance(part, Power) else None
    if not isinstance(part, Power) or exponent is None or abs(exponent) <= 2:
        return False
    widest = max((len(inner.terms) for inner in walk(part.base) if isinstance(inner, Sum)), default=1)
    return comb(int(abs(exponent)) + widest - 1, widest - 1) > _TERMS
