"""Terms as sums of modes: exp((decay + i*phase)*v) times a factor without exponentials in v, read off the tree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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
    rational_value,
)
from maven_env.expressions.tree import ONE, ZERO

_MOST = 64
_HALF = Number(Fraction(1, 2))
_I = Constant("I")


@dataclass(frozen=True)
class Mode:
    """factor(v) * exp((decay + i*phase)*v); decay and phase are real and do not depend on v."""

    decay: Node
    phase: Node
    factor: Node


def modes(node: Node, v: str) -> list[Mode]:
    """Return modes whose sum is `node`. What is not understood stays in a factor; equal rates are not merged."""
    found = _modes(node, v)
    return [Mode(ZERO, ZERO, node)] if found is None or len(found) > _MOST else found


def linear(node: Node, v: str) -> tuple[Node, Node] | None:
    """Return (a, b) with node = a*v + b, or None."""
    if v not in free_symbols(node):
        return ZERO, node
    match node:
        case Symbol():
            return ONE, ZERO
        case Negative(a):
            inner = linear(a, v)
            return None if inner is None else (negative(inner[0]), negative(inner[1]))
        case Sum(items):
            parts = [linear(item, v) for item in items]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return added([a for a, _ in known]), added([b for _, b in known])
        case Product(items):
            holders = [item for item in items if v in free_symbols(item)]
            inner = linear(holders[0], v) if len(holders) == 1 else None
            rest = [item for item in items if v not in free_symbols(item)]
            return None if inner is None else (times(*rest, inner[0]), times(*rest, inner[1]))
        case Quotient(a, b) if v not in free_symbols(b):
            inner = linear(a, v)
            return None if inner is None else (over(inner[0], b), over(inner[1], b))
    return None


def _modes(node: Node, v: str) -> list[Mode] | None:
    if v not in free_symbols(node):
        return [Mode(ZERO, ZERO, node)]
    match node:
        case Sum(items):
            parts = [_modes(item, v) for item in items]
            if any(part is None for part in parts):
                return None
            return [mode for part in parts if part is not None for mode in part]
        case Negative(a):
            inner = _modes(a, v)
            return None if inner is None else [Mode(m.decay, m.phase, negative(m.factor)) for m in inner]
        case Product(items):
            total: list[Mode] | None = [Mode(ZERO, ZERO, ONE)]
            for item in items:
                inner = _modes(item, v)
                if inner is None or total is None or len(inner) * len(total) > _MOST:
                    return None
                total = [_multiplied(a, b) for a in total for b in inner]
            return total
        case Quotient(a, b):
            top, bottom = _modes(a, v), _modes(b, v)
            if top is None or bottom is None:
                return None
            if all(_is_plain(mode) for mode in bottom):
                return [Mode(m.decay, m.phase, over(m.factor, b)) for m in top]
            if len(bottom) > 1:
                return [Mode(m.decay, m.phase, over(m.factor, b)) for m in top]
            below = bottom[0]
            upside = Mode(negative(below.decay), negative(below.phase), over(ONE, below.factor))
            return [_multiplied(m, upside) for m in top]
        case Power(base, exponent):
            return _power(base, exponent, v)
        case Call(name, (argument,)):
            return _call(node, name, argument, v)
    return [Mode(ZERO, ZERO, node)]


def _is_plain(mode: Mode) -> bool:
    return mode.decay == ZERO and mode.phase == ZERO


def _multiplied(a: Mode, b: Mode) -> Mode:
    return Mode(added([a.decay, b.decay]), added([a.phase, b.phase]), times(a.factor, b.factor))


def _power(base: Node, exponent: Node, v: str) -> list[Mode] | None:
    if v not in free_symbols(exponent):
        value = rational_value(exponent)
        inner = _modes(base, v)
        if inner is None:
            return None
        if all(_is_plain(mode) for mode in inner) or value is None or value.denominator != 1:
            return [Mode(ZERO, ZERO, Power(base, exponent))]
        n = int(value)
        if len(inner) == 1:
            mode, factor = inner[0], number_node(n)
            return [Mode(times(factor, mode.decay), times(factor, mode.phase), Power(mode.factor, exponent))]
        if not 1 <= n <= 6:
            return [Mode(ZERO, ZERO, Power(base, exponent))]
        return _modes(Product((base,) * n), v)
    slope = linear(exponent, v)
    if v in free_symbols(base) or slope is None:
        return [Mode(ZERO, ZERO, Power(base, exponent))]
    value = rational_value(base)
    if value is not None and value == 0:
        return [Mode(ZERO, ZERO, Power(base, exponent))]
    if value is not None:
        decay = ZERO if abs(value) == 1 else Call("log", (number_node(abs(value)),))
        phase: Node = ZERO if value > 0 else Constant("pi")
    else:
        decay, phase = Call("log", (Call("Abs", (base,)),)), Call("arg", (base,))
    constant: Node = ONE if slope[1] == ZERO else Power(base, slope[1])
    return [Mode(times(decay, slope[0]), times(phase, slope[0]), constant)]


def _call(node: Node, name: str, argument: Node, v: str) -> list[Mode]:
    found = linear(argument, v) if name in ("exp", "sin", "cos", "sinh", "cosh") else None
    if found is None:
        return [Mode(ZERO, ZERO, node)]
    a, b = found
    if name == "exp":
        return [Mode(_real(a), _imaginary(a), ONE if b == ZERO else Call("exp", (b,)))]
    turned = name in ("sin", "cos")
    sign = _HALF if name in ("cos", "cosh") else over(ONE, times(number_node(2), _I)) if name == "sin" else _HALF
    second = sign if name in ("cos", "cosh") else negative(sign)
    result = []
    for direction, weight in ((1, sign), (-1, second)):
        shift = times(number_node(direction), b)
        start: Node = ONE if b == ZERO else Call("exp", (times(_I, shift) if turned else shift,))
        rate = times(number_node(direction), a)
        result.append(Mode(ZERO if turned else rate, rate if turned else ZERO, times(weight, start)))
    return result


def _has_i(node: Node) -> bool:
    from maven_env.expressions import walk

    return any(part == _I for part in walk(node))


def _real(node: Node) -> Node:
    return Call("re", (node,)) if _has_i(node) else node


def _imaginary(node: Node) -> Node:
    return Call("im", (node,)) if _has_i(node) else ZERO


# ---- short trees -----------------------------------------------------------------------------------------------------
def negative(node: Node) -> Node:
    """Return -node."""
    if node == ZERO:
        return ZERO
    return node.operand if isinstance(node, Negative) else Negative(node)


def added(items: list[Node]) -> Node:
    """Return the sum without zeros."""
    kept = [item for item in items if item != ZERO]
    return ZERO if not kept else kept[0] if len(kept) == 1 else Sum(tuple(kept))


def times(*items: Node) -> Node:
    """Return the product without ones, or 0."""
    kept: list[Node] = []
    for item in items:
        kept += list(item.factors) if isinstance(item, Product) else [] if item == ONE else [item]
    if ZERO in kept:
        return ZERO
    return ONE if not kept else kept[0] if len(kept) == 1 else Product(tuple(kept))


def over(top: Node, bottom: Node) -> Node:
    """Return the quotient."""
    return top if bottom == ONE else ZERO if top == ZERO else Quotient(top, bottom)
