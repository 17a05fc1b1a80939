"""The expression tree: small frozen nodes, exact numbers, and the walks that everything else needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

RelationOperator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational; decimal text is one too (0.1 is 1/10)."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """`pi`, `oo` or the imaginary unit `I`."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product:
    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    numerator: Node
    denominator: Node


@dataclass(frozen=True, slots=True)
class Negative:
    operand: Node


@dataclass(frozen=True, slots=True)
class Power:
    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A known function, or one that the caller declared (the unknown of a differential equation)."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    operator: RelationOperator
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Branches (value, condition); a condition of None holds always."""

    branches: tuple[tuple[Node, Relation | None], ...]


Node = Number | Symbol | Constant | Sum | Product | Quotient | Negative | Power | Call | Relation | Piecewise
Matrix = tuple[tuple[Node, ...], ...]  # rows of equal length

ZERO = Number(Fraction(0))
ONE = Number(Fraction(1))


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct operands of `node`."""
    match node:
        case Sum(items) | Product(items) | Call(_, items):
            return items
        case Quotient(a, b) | Power(a, b) | Relation(_, a, b):
            return (a, b)
        case Negative(a):
            return (a,)
        case Piecewise(branches):
            return tuple(part for value, condition in branches for part in (value, condition) if part is not None)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return `node` with `change` applied to its direct operands."""
    match node:
        case Sum(items):
            return Sum(tuple(change(item) for item in items))
        case Product(items):
            return Product(tuple(change(item) for item in items))
        case Call(name, items):
            return Call(name, tuple(change(item) for item in items))
        case Quotient(a, b):
            return Quotient(change(a), change(b))
        case Power(a, b):
            return Power(change(a), change(b))
        case Negative(a):
            return Negative(change(a))
        case Relation(operator, a, b):
            return Relation(operator, change(a), change(b))
        case Piecewise(branches):
            return Piecewise(tuple((change(v), None if c is None else _relation(change(c))) for v, c in branches))
        case _:
            return node


def _relation(node: Node) -> Relation:
    if not isinstance(node, Relation):
        raise TypeError(f"a condition must stay a relation, got {type(node).__name__}")
    return node


def replace(node: Node, values: Mapping[str, Node]) -> Node:
    """Put `values` for symbols, all at once."""
    if isinstance(node, Symbol):
        return values.get(node.name, node)
    return rebuild(node, lambda item: replace(item, values))


def free_symbols(node: Node) -> frozenset[str]:
    """Return the names of the symbols in `node`."""
    return frozenset(part.name for part in walk(node) if isinstance(part, Symbol))


def difference(relation: Relation) -> Node:
    """Return left minus right, the residual of an equation."""
    return relation.left if relation.right == ZERO else Sum((relation.left, Negative(relation.right)))


def rational_value(node: Node, max_bits: int = 65_536) -> Fraction | None:
    """Return the exact value of closed rational arithmetic, or None if it is none or needs more than `max_bits`."""
    match node:
        case Number(value):
            return value
        case Negative(a):
            inner = rational_value(a, max_bits)
            return None if inner is None else -inner
        case Sum(items):
            return _fold(items, max_bits, add=True)
        case Product(items):
            return _fold(items, max_bits, add=False)
        case Quotient(a, b):
            top, bottom = rational_value(a, max_bits), rational_value(b, max_bits)
            return None if top is None or not bottom else top / bottom
        case Power(a, b):
            base, exponent = rational_value(a, max_bits), rational_value(b, max_bits)
            if base is None or exponent is None or exponent.denominator != 1 or (base == 0 and exponent < 0):
                return None
            return base**exponent.numerator if _bits(base) * abs(exponent) <= max_bits else None
        case _:
            return None


def _fold(items: tuple[Node, ...], max_bits: int, *, add: bool) -> Fraction | None:
    total = Fraction(0 if add else 1)
    for item in items:
        value = rational_value(item, max_bits)
        if value is None:
            return None
        total = total + value if add else total * value
        if _bits(total) > max_bits:
            return None
    return total


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()
