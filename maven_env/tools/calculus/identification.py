"""Closed forms of a number known to many digits: integer relations with constants that are at home in the problem.

A relation counts only if it explains at least 20 digits more than its own coefficients could.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import log10
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Node,
    Number,
    free_symbols,
    parse,
    rational_value,
    replace,
    to_text,
    walk,
)
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import ZERO

_MARGIN = 20  # digits beyond chance
_LARGEST = 10**7  # coefficient of a relation
_SUMS = (
    ("1", "pi"),
    ("1", "log(2)", "log(3)"),
    ("1", "sqrt(2)", "sqrt(3)", "sqrt(6)"),
    ("1", "pi", "pi^2", "log(2)"),
    ("1", "pi", "sqrt(2)", "pi*sqrt(2)"),
    ("1", "pi", "sqrt(3)", "pi*sqrt(3)"),
    ("1", "pi*log(2)", "pi*log(3)", "pi"),
    ("1", "pi^2", "log(2)^2", "pi*log(2)", "log(2)"),
    ("1", "pi^2", "zeta(3)", "pi^2*log(2)", "log(2)^3"),
    ("1", "pi", "pi*sqrt(2)", "pi*sqrt(3)", "pi*sqrt(5)"),
    ("1", "sqrt(2)", "log(1+sqrt(2))", "sqrt(2)*log(1+sqrt(2))", "pi*sqrt(2)"),
    ("1", "sqrt(3)", "log(2+sqrt(3))", "sqrt(3)*log(2+sqrt(3))", "log(3)"),
    ("1", "(polygamma(1,1/4)-pi^2)/8", "pi*log(2)", "pi^2"),
    ("1", "-digamma(1)", "log(2)", "log(pi)"),
    ("pi^4", "zeta(3)", "pi^2", "1"),
    ("sqrt(pi)", "sqrt(2*pi)", "1"),
    ("1", "exp(1)", "exp(-1)", "exp(2)", "exp(-2)"),
    ("1", "log(2)", "log(3)", "log(5)", "log(7)"),
    ("1", "sqrt(5)", "log((1+sqrt(5))/2)", "sqrt(5)*log((1+sqrt(5))/2)"),
)
_FACTORS = (
    ("2", "3", "pi"),
    ("2", "3", "5", "7", "pi"),
    ("2", "3", "exp(1)", "pi"),
    ("2", "3", "pi", "gamma(1/4)"),
    ("2", "3", "pi", "gamma(1/3)"),
    ("2", "3", "5", "7", "11", "13", "pi"),
    ("2", "pi", "5", "5+sqrt(5)"),
)


def identify(value: Any, digits: int, context: Sequence[Node]) -> Node | None:
    """Return a closed form of a real arb that is right to `digits`, or None. `context` suggests constants."""
    if value.rel_accuracy_bits() < digits * 3.3:
        return None
    for basis in _bases(context):
        found = _combination(value, digits, basis)
        if found is not None:
            return found
    for factors in _factor_bases(context):
        found = _power_product(value, digits, factors)
        if found is not None:
            return found
    return None


def _bases(context: Sequence[Node]) -> Iterator[tuple[str, ...]]:
    yield ("1",)
    yield from _SUMS[:2]
    own = _own_constants(context)
    for one, other in pairwise(own):
        yield ("1", one, other)
    for one in own:
        yield ("1", one)
        yield ("1", one, "pi", f"pi*({one})")
    if 1 < len(own) <= 6:
        yield ("1", *own)
    if 1 < len(own) <= 4:
        yield ("1", "pi", *own)
    yield from _SUMS[2:]


def _factor_bases(context: Sequence[Node]) -> Iterator[tuple[str, ...]]:
    primes = sorted({p for node in context for n in _integers(node) for p in _primes(n)})[:4]
    yield from _FACTORS
    if primes:
        yield tuple(dict.fromkeys(("2", "3", "pi", *map(str, primes))))
    for one in _own_constants(context)[:4]:
        yield ("2", "3", "pi", one)


def _integers(node: Node) -> Iterator[int]:
    for part in walk(node):
        if isinstance(part, Number):
            yield from (part.value.numerator, part.value.denominator)


def _primes(n: int) -> list[int]:
    from flint import fmpz

    return [int(p) for p, _ in fmpz(abs(n)).factor()] if 1 < abs(n) < 10**12 else []


def _own_constants(context: Sequence[Node]) -> list[str]:
    """Return closed irrational parts of the problem, and functions of its limits, as text in a fixed order."""
    found: dict[str, None] = {}
    for node in context:
        for part in walk(node):
            if free_symbols(part) or rational_value(part) is not None or part == Constant("pi"):
                continue
            if isinstance(part, Call) and any(p == Constant("oo") for p in walk(part)):
                continue
            if isinstance(part, Call) and part.function in ("sqrt", "log", "exp", "sin", "cos", "atan", "erf"):
                found[to_text(part)] = None
    for text in _at_limits(context):
        found[text] = None
    for limit in context[1:]:
        value = rational_value(limit)
        if value is None or value == 0 or abs(value) > 100:
            continue
        text = to_text(limit)
        if value > 0 and value != 1:
            found[f"log({text})"] = None
            found[f"sqrt({text})"] = None
        for name in ("exp", "sin", "cos", "atan"):
            found[f"{name}({text})"] = None
    return list(found)[:8]


def _at_limits(context: Sequence[Node]) -> Iterator[str]:
    """Yield exponentials, sines and roots of what the functions of an integrand have as argument at its limits."""
    if len(context) < 3:
        return
    node, *limits = context
    names = sorted(free_symbols(node))
    for part in walk(node):
        if not isinstance(part, Call) or len(names) != 1 or names[0] not in free_symbols(part):
            continue
        for limit in limits:
            inner = replace(part.arguments[0], {names[0]: limit})
            if any(p == Constant("oo") for p in walk(inner)) or inner == ZERO:
                continue
            text = to_text(inner)
            if part.function in ("exp", "sinh", "cosh", "tanh"):
                yield from (f"exp({text})", f"exp(-({text}))")
            elif part.function in ("sin", "cos", "tan"):
                yield from (f"sin({text})", f"cos({text})")


def _values(basis: tuple[str, ...], digits: int) -> list[Any] | None:
    with precision(int(digits * 3.4) + 64):
        try:
            return [ball(parse(text), {}).real for text in basis]
        except (ToolError, ValueError, ZeroDivisionError):
            return None


def _relation(numbers: list[Any], digits: int) -> list[int] | None:
    """Return a short integer relation by lattice reduction, its first coefficient positive; None where chance."""
    from flint import fmpz_mat

    count = len(numbers)
    scale_digits = digits - 2
    rows = []
    with precision(int(digits * 3.4) + 64):
        from flint import arb

        scale = arb(10) ** scale_digits
        for i, number in enumerate(numbers):
            rounded = (number * scale).mid().floor().unique_fmpz()
            if rounded is None:
                return None
            rows.append([int(i == j) for j in range(count)] + [rounded])
    reduced = fmpz_mat(rows).lll()
    best = [int(reduced[0, j]) for j in range(count + 1)]
    coefficients, residue = best[:count], best[count]
    if coefficients[0] == 0 or max(map(abs, coefficients)) > _LARGEST:
        return None
    explained = sum(log10(abs(c) + 1) for c in coefficients) + log10(abs(residue) + 1)
    if explained + _MARGIN > scale_digits:
        return None
    return coefficients if coefficients[0] > 0 else [-c for c in coefficients]


def _combination(value: Any, digits: int, basis: tuple[str, ...]) -> Node | None:
    constants = _values(basis, digits)
    if constants is None:
        return None
    found = _relation([value, *constants], digits)
    if found is None:
        return None
    lead, *rest = found
    text = " + ".join(f"({Fraction(-c, lead)})*({constant})" for c, constant in zip(rest, basis, strict=True) if c)
    return parse(text or "0")


def _power_product(value: Any, digits: int, factors: tuple[str, ...]) -> Node | None:
    constants = _values(factors, digits)
    if constants is None or value.contains(0) or any(not constant > 0 for constant in constants):
        return None
    with precision(int(digits * 3.4) + 64):
        logs = [abs(value).log(), *(constant.log() for constant in constants)]
    found = _relation(logs, digits)
    if found is None or found[0] > 12 or max(map(abs, found)) > 60:
        return None
    lead, *rest = found
    text = "*".join(f"({factor})^({Fraction(-c, lead)})" for c, factor in zip(rest, factors, strict=True) if c) or "1"
    node = parse(text)
    return node if value > 0 else parse(f"-({text})")
