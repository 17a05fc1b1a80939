"""Static bounds: what an expression may grow to, estimated from its tree before anything is built from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from maven_env.errors import ExpressionError, LimitExceeded
from maven_env.expressions.tree import (
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    rational_value,
)

CHARACTERS = 20_000
NODES = 2_000
DEPTH = 50
SIGNS = 8
DIGITS = 1_000  # of one literal
DECIMAL_EXPONENT = 400  # of one literal, |e|
EXACT_BITS = 16_384  # of any closed rational part
MAGNITUDE_BITS = 1 << 16  # |log2| of any closed part: ends towers of exponentials
SYMBOLIC_EXPONENT = 1_000  # |integer exponent| of a base with symbols
CLOSED_EXPONENT = 10**6
TERMS = 20_000  # if multiplied out
DEGREE = 2_000
FACTORIAL = 500
NAMES = 32
NAME_LENGTH = 32

_GROWING = ("factorial", "gamma", "binomial", "loggamma", "polygamma")


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of an expression: closed or not, bits if exact, |log2| of its magnitude, degree, expanded terms.

    `top` bounds log2 |value| from above; it can be far below `magnitude`, as for 1.23456789, and decides about exp.
    `atoms` are the symbols and functions that the terms are products of; with the degree they bound their number.
    """

    closed: bool
    bits: int | None
    magnitude: float
    degree: int
    terms: int
    top: float | None = None
    atoms: frozenset[object] = frozenset()

    @property
    def reach(self) -> float:
        """Return a bound of |value|, at most 2^64."""
        top = self.magnitude if self.top is None else self.top
        return float(2.0 ** max(min(top, 64), -64))


def too_big(message: str) -> LimitExceeded:
    return LimitExceeded("size", message, "use smaller numbers, or keep the quantity symbolic")


def check(node: Node) -> Size:
    """Return the size of `node`; raise LimitExceeded where a bound is passed."""
    match node:
        case Number(value):
            bits = value.numerator.bit_length() + value.denominator.bit_length()
            return Size(True, bits, bits, 0, 1, _log2(value))
        case Symbol(name):
            return Size(False, None, 0, 1, 1, None, frozenset((name,)))
        case Constant():
            return Size(True, None, 3, 0, 1, 2)
        case Negative(a):
            return check(a)
        case Sum(items):
            return _combine([check(item) for item in items], add=True)
        case Product(items):
            return _combine([check(item) for item in items], add=False)
        case Quotient(a, b):
            top, bottom = check(a), check(b)
            size = _plain_log2(b) if bottom.closed else None
            upper = None if size is None else -size
            magnitude = bottom.magnitude + (0 if bottom.bits else 64)
            atoms = frozenset((id(b),)) if bottom.degree else frozenset()
            below = Size(bottom.closed, bottom.bits, magnitude, bottom.degree, 1, upper, atoms)
            return _combine([top, below], add=False)
        case Power():
            return _power(node)
        case Call():
            return _call(node)
        case Relation(_, a, b):
            sizes = [check(a), check(b)]
            return Size(False, None, 0, max(s.degree for s in sizes), sum(s.terms for s in sizes))
        case Piecewise(branches):
            parts = [check(part) for branch in branches for part in branch if part is not None]
            atoms = frozenset((id(node),))
            return Size(all(s.closed for s in parts), None, max(s.magnitude for s in parts), 1, 1, None, atoms)


def _log2(value: Fraction) -> float:
    """Return an upper bound of log2 |value|, exact to a bit beyond the range of doubles."""
    if value == 0:
        return -64
    gap = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return gap + 1 if abs(gap) > 900 else math.log2(abs(value))


def _plain_log2(node: Node) -> float | None:
    """Return log2 |value| of a product of powers of numbers and constants, None for anything else."""
    exact = rational_value(node)
    if exact is not None:
        return _log2(exact) if exact else None
    match node:
        case Constant(name):
            return {"pi": math.log2(math.pi), "I": 0.0}.get(name)
        case Negative(a):
            return _plain_log2(a)
        case Product(items):
            parts = [_plain_log2(item) for item in items]
            return None if None in parts else sum(part for part in parts if part is not None)
        case Quotient(a, b):
            top, bottom = _plain_log2(a), _plain_log2(b)
            return None if top is None or bottom is None else top - bottom
        case Power(a, b):
            base, exponent = _plain_log2(a), rational_value(b)
            return None if base is None or exponent is None or abs(exponent) > DEGREE else base * float(exponent)
        case Call("sqrt", (a,)):
            inner = _plain_log2(a)
            return None if inner is None else inner / 2
    return None


def _combine(sizes: list[Size], *, add: bool) -> Size:
    exact = [s.bits for s in sizes if s.bits is not None]
    magnitudes = [s.magnitude for s in sizes]
    tops = [s.magnitude if s.top is None else s.top for s in sizes]
    degree = max(s.degree for s in sizes) if add else sum(s.degree for s in sizes)
    atoms = frozenset().union(*(s.atoms for s in sizes))
    terms = sum(s.terms for s in sizes) if add else math.prod(s.terms for s in sizes)
    return _within(
        Size(
            closed=all(s.closed for s in sizes),
            bits=sum(exact) + len(exact) if len(exact) == len(sizes) else None,
            magnitude=max(magnitudes) + len(sizes) if add else sum(magnitudes),
            degree=degree,
            terms=min(terms, _monomials(degree, len(atoms))),
            top=max(tops) + math.log2(len(tops)) if add else sum(tops),
            atoms=atoms,
        )
    )


def _power(node: Power) -> Size:
    base, exponent = check(node.base), check(node.exponent)
    value = rational_value(node.exponent)
    if value is not None and value.denominator == 1:
        n = abs(value.numerator)
        if n > (CLOSED_EXPONENT if base.closed else SYMBOLIC_EXPONENT):
            raise too_big(f"the exponent {value} is beyond the bound")
        terms = (
            1
            if base.terms == 1
            else math.comb(n + base.terms - 1, min(base.terms - 1, n))
            if base.terms < TERMS
            else 10**9
        )
        bits = None if base.bits is None else base.bits * n
        degree = base.degree * n
        terms = min(terms, _monomials(degree, len(base.atoms)))
        return _within(Size(base.closed, bits, base.magnitude * max(n, 1), degree, terms, None, base.atoms))
    if exponent.closed:
        magnitude = min(max(base.magnitude, 1) * exponent.reach, 1e18) if base.closed else 0
        return _within(Size(base.closed, None, magnitude, base.degree, base.terms, None, base.atoms | {id(node)}))
    atoms = base.atoms | exponent.atoms | {id(node)}
    return _within(Size(False, None, 0, base.degree + exponent.degree, base.terms * exponent.terms, None, atoms))


def _monomials(degree: int, atoms: int) -> int:
    """Return how many monomials there are; closed parts count as one."""
    return math.comb(degree + atoms, atoms) if degree <= DEGREE and atoms <= 12 else 10**12


def _call(node: Call) -> Size:
    sizes = [check(argument) for argument in node.arguments]
    closed = all(s.closed for s in sizes)
    magnitude = max((s.magnitude for s in sizes), default=0)
    if node.function in _GROWING:
        for argument, size in zip(node.arguments, sizes, strict=True):
            value = rational_value(argument)
            if value is None and size.closed and size.magnitude > 9:
                raise ExpressionError("BAD_ARGUMENT", f"{node.function} needs a plain number or symbol")
            if value is not None and abs(value) > FACTORIAL:
                raise too_big(f"{node.function} takes arguments up to {FACTORIAL}")
        return Size(closed, None, 10.0 * FACTORIAL, 1, 1, None, frozenset((id(node),)))
    if closed and node.function in ("exp", "sinh", "cosh"):
        magnitude = min(max(s.reach for s in sizes) * 1.45, 1e18)
    return _within(Size(closed, None, magnitude, 1, 1, None, frozenset((id(node),))))


def _within(size: Size) -> Size:
    if size.bits is not None and size.bits > EXACT_BITS:
        raise too_big(f"an exact number here needs up to {size.bits} bits, the bound is {EXACT_BITS}")
    if size.closed and size.magnitude > MAGNITUDE_BITS:
        raise too_big("a constant here is of huge or tiny magnitude")
    if size.degree > DEGREE:
        raise too_big(f"degree {size.degree} is beyond {DEGREE}")
    if size.terms > TERMS:
        raise too_big(f"multiplied out this has about {min(size.terms, 10**12)} terms, the bound is {TERMS}")
    return size
