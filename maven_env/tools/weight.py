"""How heavy the arguments of a call are: a tool that is quick on small input runs in process on small input only.

Fuel and the kill bound what runs in the guarded process; in process nothing does but the size of the input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from maven_env.expressions import Node, Number, walk
from maven_env.expressions.bounds import check
from maven_env.expressions.tree import Power, Product, Sum

_NODES: tuple[type, ...] = get_args(Node)
_LIGHT = (1_000, 80)  # nodes of all expressions together, by tier 0 and 1
_ENTRY = 16  # what a node in an entry of a matrix counts if it is no number: elimination makes such entries grow
_TERMS = 150  # of one expression multiplied out, in tier 1


def is_light(arguments: Mapping[str, Any], tier: int) -> bool:
    """Return whether a tool of `tier` 0 or 1 surely ends soon on `arguments`."""
    weight = 0
    stack: list[tuple[Any, int]] = [(value, 0) for value in arguments.values()]
    while stack:
        value, depth = stack.pop()
        if isinstance(value, _NODES):
            parts = list(walk(value))
            weight += len(parts)
            if depth >= 2:
                weight += (_ENTRY - 1) * sum(not isinstance(part, Number) for part in parts)
            if tier == 1 and any(map(_may_grow, parts)) and check(value).terms > _TERMS:
                return False
        elif isinstance(value, Mapping):
            stack.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list | tuple):
            stack.extend((item, depth + 1) for item in value)
        if weight > _LIGHT[tier]:
            return False
    return True


def _may_grow(part: Node) -> bool:
    """Return whether multiplying out a part makes more terms than it has."""
    if isinstance(part, Power):
        return isinstance(part.base, Sum)
    return isinstance(part, Product) and sum(isinstance(item, Sum) for item in part.factors) > 1
