"""Simplification under declared assumptions, each proposal compared with the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, Power, free_symbols, rational_value, walk
from maven_env.expressions.equality import compare
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.tools.calculus.antiderivatives import Symbols, attempt
from maven_env.tools.symbolic.substitution import simplified

_FUEL = 45_000  # of one strategy
_REAL = (None, None)
_POSITIVE = (Fraction(0), None)
_NEGATIVE = (None, Fraction(0))


@dataclass(frozen=True)
class Simplest:
    node: Node
    before: int
    operations: int
    flags: tuple[str, ...]


def simplest(node: Node, words: Mapping[str, set[str]], strategy: str) -> Simplest:
    """Return the shortest proposal that is not refuted and, where it can be decided, equal."""
    before = operations(node)
    domain = {name: _bounds(words.get(name, set())) for name in sorted(free_symbols(node))}
    best, size = node, before
    for proposal in _proposals(node, words, strategy):
        count = operations(proposal)
        if count > size or (count == size and best is not node) or proposal == node:
            continue
        if _is_equal(node, proposal, domain):
            best, size = proposal, count
    flags = tuple(name for name in sorted(words) if name in domain and _needs(node, best, name, domain))
    return Simplest(best, before, size, flags)


def operations(node: Node) -> int:
    return int(to_sympy(node).count_ops())


def _bounds(words: set[str]) -> tuple[Fraction | None, Fraction | None]:
    if words & {"positive", "nonnegative"}:
        return _POSITIVE
    return _NEGATIVE if "negative" in words else _REAL


def _is_equal(a: Node, b: Node, domain: Mapping[str, Any]) -> bool:
    """Compare on the domain; symbols of free sign must agree where positive and where negative."""
    if compare(a, b, domain).verdict != "equal":
        return False
    free = [name for name, bounds in domain.items() if bounds == _REAL]
    if not free or not _has_branches(a):
        return True
    for bounds in (_POSITIVE, _NEGATIVE):
        if compare(a, b, {**domain, **dict.fromkeys(free, bounds)}).verdict == "different":
            return False
    return True


def _needs(a: Node, b: Node, name: str, domain: Mapping[str, Any]) -> bool:
    if a == b or not _has_branches(a):
        return False
    wider = [{**domain, name: bounds} for bounds in (_POSITIVE, _NEGATIVE)]
    return any(compare(a, b, region).verdict == "different" for region in wider)


def _has_branches(node: Node) -> bool:
    for part in walk(node):
        if isinstance(part, Power):
            power = rational_value(part.exponent)
            if power is None or power.denominator != 1:
                return True
        if isinstance(part, Call) and part.function not in ("sin", "cos", "tan", "exp", "sinh", "cosh", "tanh"):
            return True
    return False


def _proposals(node: Node, words: Mapping[str, set[str]], strategy: str) -> Iterator[Node]:
    import sympy

    known = {n: words.get(n, set()) or {"real"} for n in sorted(free_symbols(node))}
    symbols = Symbols(known)
    value = symbols.into(node)
    ways: dict[str, list[Callable[[Any], Any]]] = {
        "trig": [sympy.trigsimp, lambda v: sympy.trigsimp(sympy.expand(v))],
        "rational": [sympy.ratsimp, sympy.factor, sympy.cancel],
        "powers": [sympy.powsimp, sympy.powdenest, sympy.radsimp, sympy.sqrtdenest],
        "logs": [sympy.logcombine, sympy.expand_log],
    }
    chosen = [sympy.simplify, *ways["trig"], *ways["rational"], *ways["powers"], *ways["logs"]]
    if strategy != "auto":
        chosen = ways[strategy]
    else:
        try:
            yield simplified(node)
        except ToolError as error:
            if error.code not in ("UNSOLVED", "LIMIT_EXCEEDED"):
                raise
    found = attempt(lambda: _written(value, symbols), 5_000)
    if found is not None:
        yield found
    for way in chosen:
        found = attempt(lambda way=way: _written(way(value), symbols), _FUEL)  # type: ignore[misc]
        if found is not None:
            yield found


def _written(value: Any, symbols: Symbols) -> Node:
    return from_sympy(symbols.out(value))
