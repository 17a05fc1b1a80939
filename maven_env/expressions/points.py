"""Where two expressions are compared: exact points derived from a key, over declared domains and across branches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from maven_env.expressions.tree import (
    Call,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    rational_value,
    walk,
)

Bounds = tuple[Fraction | None, Fraction | None]  # None: no bound on that side
Domain = Mapping[str, Bounds]  # by symbol; symbols that are not named are positive
Region = Literal["positive", "real", "complex"]
Point = dict[str, tuple[Fraction, Fraction]]  # real and imaginary part by symbol

POSITIVE: Bounds = (Fraction(0), None)

_LITERALS = 6
_MODEST = ((Fraction(1, 10), 1), (1, 2), (2, 5), (Fraction(1, 50), Fraction(1, 10)))
_WIDE = (*_MODEST, (5, 30), (30, 1_000), (1_000, 100_000), (Fraction(1, 10_000), Fraction(1, 100)))
_ENTIRE = frozenset(
    ("exp", "sin", "cos", "sinh", "cosh", "erf", "erfi", "tan", "sec", "csc", "cot", "tanh", "coth", "sech", "csch")
)


def has_branches(nodes: Sequence[Node], domain: Domain) -> bool:
    """Return whether the trees may change their form somewhere: corners, jumps, roots and logarithms across a cut.

    Without them they are analytic on the domain, and agreement on a few points tells all; with them, points on every
    scale and on both sides of every number in them are needed.
    """
    positive = {name for name, (low, _) in domain.items() if low is not None and low >= 0}
    declared = set(domain)

    def is_positive(node: Node) -> bool:
        match node:
            case Number(value):
                return value > 0
            case Symbol(name):
                return name in positive or name not in declared
            case Sum(items) | Product(items):
                return all(map(is_positive, items))
            case Quotient(a, b):
                return is_positive(a) and is_positive(b)
            case Power(a, _):
                return is_positive(a)
            case Call("sqrt", (a,)):
                return is_positive(a)
            case Call("exp"):
                return True
        return False

    for node in nodes:
        for part in walk(node):
            match part:
                case Call("sqrt" | "log" | "cbrt" | "Abs", (a,)) if is_positive(a):
                    continue
                case Call(name, _) if name not in _ENTIRE:
                    return True
                case Power(a, b):
                    exponent = rational_value(b)
                    if (exponent is None or exponent.denominator != 1) and not is_positive(a):
                        return True
                case Piecewise():
                    return True
    return False


def literals(nodes: Sequence[Node]) -> list[Fraction]:
    """Return the numbers in the trees at whose sides a branch may change, a few of them, in order."""
    found = {part.value for node in nodes for part in walk(node) if isinstance(part, Number) and part.value > 0}
    return sorted(found, reverse=True)[:_LITERALS]


def points(
    key: bytes, names: Sequence[str], domain: Domain, region: Region, count: int, beside: Sequence[Fraction] = ()
) -> Iterator[Point]:
    """Yield `count` points, then two beside each number of `beside` for every symbol.

    `region` says where symbols without a declared domain go.
    """
    strata = _WIDE if beside or count > len(_MODEST) * 3 else _MODEST
    for i in range(count):
        yield {name: _coordinate(key, name, i, k, domain.get(name), region, strata) for k, name in enumerate(names)}
    for i, number in enumerate(beside):
        for k, name in enumerate(names):
            for side in (Fraction(61, 64), Fraction(67, 64)):
                value = number * side
                if not _inside(value, domain.get(name, POSITIVE)):
                    continue
                point = {n: _coordinate(key, n, i, j + 1, domain.get(n), region, strata) for j, n in enumerate(names)}
                point[names[k]] = (value, Fraction(0))
                yield point


def _inside(value: Fraction, bounds: Bounds) -> bool:
    low, high = bounds
    return (low is None or low < value) and (high is None or value < high)


def _coordinate(
    key: bytes,
    name: str,
    index: int,
    place: int,
    bounds: Bounds | None,
    region: Region,
    strata: Sequence[tuple[Fraction | int, Fraction | int]],
) -> tuple[Fraction, Fraction]:
    digest = hashlib.sha256(key + f"{index} {name}".encode()).digest()
    share = Fraction(int.from_bytes(digest[:4], "big") % 991 + 9, 1_009)  # in (0, 1)
    low, high = bounds if bounds is not None else POSITIVE
    if low is not None and high is not None:
        return low + (high - low) * share, Fraction(0)
    bottom, top = strata[(index + (digest[4] if place else 0)) % len(strata)]
    size = bottom + (top - bottom) * share
    if bounds is None and region != "positive":
        imaginary = (
            Fraction(int.from_bytes(digest[5:7], "big") % 1_500 + 11, 1_013) if region == "complex" else Fraction(0)
        )
        return (-size if digest[7] & 1 else size), imaginary
    if low is not None:
        return low + size, Fraction(0)
    if high is not None:
        return high - size, Fraction(0)
    return (-size if (digest[7] + index) & 1 else size), Fraction(0)
