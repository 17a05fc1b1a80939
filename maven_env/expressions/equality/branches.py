"""Where expressions may change their form: corners, jumps and cuts, and points on all sides of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from maven_env.expressions.algebra.algebraic import exact_fraction
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.equality.points import POSITIVE, Domain, Point, inside
from maven_env.expressions.parser import number_node
from maven_env.expressions.tree import (
    Call,
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
    free_symbols,
    rational_value,
    replace,
    walk,
)

_ARGUMENTS = 12  # critical arguments that are looked at
_DEGREE = 5  # of a critical argument as a polynomial of one symbol
_LARGE = 100  # a number beyond it, or below its inverse, sets a scale
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


def critical_arguments(nodes: Sequence[Node]) -> list[Node]:
    """Return expressions at whose zeros the trees may change their form."""
    found: dict[Node, None] = {}

    def add(node: Node, *shifts: int) -> None:
        for shift in shifts or (0,):
            found.setdefault(Sum((node, Negative(Number(Fraction(shift))))) if shift else node)

    for node in nodes:
        for part in walk(node):
            match part:
                case Call("floor" | "ceiling", (a,)):
                    add(a, 1, 2, 3)
                case Call("asin" | "acos" | "acosh" | "atanh" | "acoth" | "asec" | "acsc", (a,)):
                    add(a, 1, -1)
                case Call("Max" | "Min", arguments):
                    for a, b in pairwise(arguments):
                        add(Sum((a, Negative(b))))
                case Call("Abs" | "sign" | "Heaviside" | "sqrt" | "cbrt" | "log" | "arg", (a, *_)):
                    add(a)
                case Call("atan2", (a, b)):
                    add(a)
                    add(b)
                case Power(a, b):
                    exponent = rational_value(b)
                    if exponent is None or exponent.denominator != 1:
                        add(a)
                case Relation(_, a, b):
                    add(Sum((a, Negative(b))))
    return [node for node in found if free_symbols(node)][:_ARGUMENTS]


def crossings(nodes: Sequence[Node], bases: Sequence[Point], domain: Domain) -> Iterator[Point]:
    """Yield points at, between and beside the zeros of the critical arguments along each symbol, from each base."""
    arguments = critical_arguments(nodes)
    for base in bases:
        for name in sorted(base):
            others = {n: number_node(re) for n, (re, _) in base.items() if n != name}
            zeros = sorted({zero for argument in arguments for zero in _zeros(replace(argument, others), name)})
            if not zeros:
                continue
            spread = max(abs(zeros[0]), abs(zeros[-1]), Fraction(1)) / 64
            places = [zeros[0] - spread, *zeros, zeros[-1] + spread]
            places += [(a + b) / 2 for a, b in pairwise(places)]
            for place in sorted(set(places)):
                if inside(place, domain.get(name, POSITIVE)):
                    yield {**base, name: (place, Fraction(0))}


def _zeros(argument: Node, name: str) -> list[Fraction]:
    """Return the real zeros of a polynomial of low degree in `name`, to 60 bits; nothing for anything else."""
    if name not in free_symbols(argument):
        return []
    values: list[Fraction] = []
    for k in range(_DEGREE + 2):
        value = rational_value(replace(argument, {name: Number(Fraction(k))}), 4_096)
        if value is None:
            return []
        values.append(value)
    coefficients = _newton(values)
    if any(coefficients[_DEGREE + 1 :]) or not any(coefficients[1:]):
        return []
    return _real_zeros(coefficients)


def _newton(values: Sequence[Fraction]) -> list[Fraction]:
    """Return the divided differences at 0, 1, 2, ...: the coefficients of x(x-1)...(x-k+1)."""
    row, found, k = list(values), [], 0
    while row:
        found.append(row[0])
        k += 1
        row = [(b - a) / k for a, b in pairwise(row)]
    return found


def _real_zeros(differences: Sequence[Fraction]) -> list[Fraction]:
    from flint import fmpq, fmpq_poly

    total, basis = fmpq_poly([0]), fmpq_poly([1])
    for k, difference in enumerate(differences):
        total += basis * fmpq(difference.numerator, difference.denominator)
        basis *= fmpq_poly([-k, 1])
    if total.degree() == 1:
        zero = -total[0] / total[1]
        return [fraction(zero)]
    zeros: list[Fraction] = []
    _, factors = total.numer().factor_squarefree()
    for factor, _ in factors:
        if factor.degree() > 0:
            roots: Any = complex_roots(factor)
            zeros += [exact_fraction(root.real) for root, _ in roots if root.imag == 0]
    return zeros


def scales(nodes: Sequence[Node]) -> list[Fraction]:
    """Return sizes at which large or small numbers in the trees make themselves felt: 1/1000 for exp(-1000*x)."""
    parts = (part for node in nodes for part in walk(node) if isinstance(part, Number | Power))
    sizes = [abs(value) for value in (rational_value(part, 4_096) for part in parts) if value]
    largest = max((max(value, 1 / value) for value in sizes), default=Fraction(1))
    if largest <= _LARGE:
        return []
    half = Fraction(1 << int(largest).bit_length() // 2)
    return [1 / largest, 1 / half, half, largest]
