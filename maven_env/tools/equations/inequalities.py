"""Solution sets of inequalities in one real unknown: points where a sign can change, then a test between each two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, Relation, difference, free_symbols
from maven_env.expressions.algebra.algebraic import exact_fraction
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.tree import (
    ONE,
    Call,
    Constant,
    Negative,
    Number,
    Piecewise,
    Power,
    Quotient,
    Sum,
    rational_value,
    walk,
)
from maven_env.tools.equations.branches import Branch, Unsolved
from maven_env.tools.equations.candidates import BITS, Candidate, ordered
from maven_env.tools.equations.solution_sets import distinct, within
from maven_env.tools.equations.solving import Solver
from maven_env.tools.equations.verifying import parts_are_real, satisfies

MOST = 200
# Continuous wherever they are real, and real everywhere.
_ENTIRE = frozenset(
    [
        "exp",
        "sin",
        "cos",
        "sinh",
        "cosh",
        "tanh",
        "sech",
        "asinh",
        "atan",
        "erf",
        "erfc",
        "erfi",
        "Abs",
        "Max",
        "Min",
        "cbrt",
        "besselj",
        "airyai",
        "airybi",
        "Si",
        "Shi",
    ]
)


@dataclass(frozen=True)
class Piece:
    """An interval; an end of None is infinite, a point has two equal ends."""

    low: Candidate | None
    high: Candidate | None
    low_open: bool
    high_open: bool


@dataclass(frozen=True)
class SolutionSet:
    pieces: Sequence[Piece]
    boundary: Sequence[Candidate]  # where the two sides are equal
    excluded: Sequence[Candidate]  # where a side is undefined, though the set reaches there


def solution_set(relation: Relation, unknown: str, bounds: tuple[Node, Node] | None) -> SolutionSet:
    """Solve a relation of <, <=, >, >=. Raises Unsolved where some sign change might be missed."""
    residual = difference(relation)
    _check(residual, unknown, bounds)
    sign = 1 if relation.operator in (">", ">=") else -1
    points = _critical(residual, unknown, bounds)
    if len(points) > MOST:
        raise LimitExceeded("size", f"more than {MOST} points where the sign may change", "shorten the domain")
    strict = relation.operator in ("<", ">")
    inside = [_holds_at(point, residual, unknown, sign, strict) for point in points]
    between = [_holds_between(residual, unknown, sign, low, high, bounds) for low, high in _gaps(points)]
    pieces = _pieces(points, inside, between)
    defined = [satisfies(residual, unknown, p, real=True) for p in points]
    undefined = [_is_undefined(residual, unknown, p) for p in points]
    excluded = [p for i, p in enumerate(points) if undefined[i] and not inside[i] and (between[i] or between[i + 1])]
    return SolutionSet(pieces, [p for p, zero in zip(points, defined, strict=True) if zero], excluded)


def _check(residual: Node, unknown: str, bounds: tuple[Node, Node] | None) -> None:
    symbols = free_symbols(residual)
    if unknown not in symbols:
        raise ToolError(
            "UNKNOWN_SYMBOL", f"{unknown} does not occur", f"symbols there: {', '.join(sorted(symbols)) or 'none'}"
        )
    if symbols != {unknown}:
        others = ", ".join(sorted(symbols - {unknown}))
        raise Unsolved(f"the solution depends on {others}", "substitute numbers for the parameters")
    if any(part == Constant("I") for part in walk(residual)):
        raise ToolError("BAD_INPUT", "an inequality needs real sides, and I occurs")
    if bounds is not None and Candidate(Sum((bounds[1], Negative(bounds[0])))).ball(BITS).real <= 0:
        raise ToolError("BAD_INPUT", "domain: lo must be less than hi", "write [lo, hi] with finite numbers")


def _critical(residual: Node, unknown: str, bounds: tuple[Node, Node] | None) -> list[Candidate]:
    """Return all points where the sign of the residual can change or where it can become undefined, in order."""
    branches: list[Branch] = []
    for equation in [residual, *_edges(residual, unknown)]:
        try:
            found = Solver(unknown, real=True).branches(equation)
            branches += [b for b in found if b.period is None or satisfies(equation, unknown, b.candidate, real=True)]
        except ToolError as error:
            if error.code != "UNDERDETERMINED":
                raise
    if any(branch.period is not None for branch in branches) and bounds is None:
        raise Unsolved("there may be infinitely many intervals", "give a domain [lo, hi]")
    branches = [b for b in branches if _is_real_value(b)]
    if bounds is None:
        return ordered([b.candidate for b in distinct([b for b in branches if b.period is None])])
    ends = [Branch(Candidate(end)) for end in bounds]
    return ordered([b.candidate for b in distinct(ends + within(branches, bounds))])


def _is_real_value(branch: Branch) -> bool:
    try:
        return branch.candidate.is_real()
    except Undecided:
        return False


def _edges(residual: Node, unknown: str) -> list[Node]:
    """Return equations whose solutions hold every edge of the domain and every pole or jump."""
    found: list[Node] = []
    for part in walk(residual):
        if unknown not in free_symbols(part):
            continue
        match part:
            case Piecewise():
                raise Unsolved("a Piecewise is not treated here", "solve each branch with its condition")
            case Quotient(_, b):
                found.append(b)
            case Power(a, b):
                exponent = rational_value(b)
                if exponent is None or exponent < 0 or exponent.denominator > 1:
                    found.append(a)
            case Call(name, arguments):
                found += _edges_of_call(name, arguments)
    return [node for node in dict.fromkeys(found) if unknown in free_symbols(node)]


def _edges_of_call(name: str, arguments: tuple[Node, ...]) -> list[Node]:
    a = arguments[0]
    if name in ("sqrt", "cbrt", "sign", "Heaviside", "acot"):
        return [a]
    if name == "log":
        return [*arguments, *(Sum((base, Negative(ONE))) for base in arguments[1:])]
    if name in ("asin", "acos", "atanh", "asec", "acsc", "acoth"):
        return [Sum((a, Negative(ONE))), Sum((a, ONE)), a]
    if name == "acosh":
        return [Sum((a, Negative(ONE)))]
    if name in ("tan", "sec"):
        return [Call("cos", (a,))]
    if name in ("cot", "csc"):
        return [Call("sin", (a,))]
    if name in ("coth", "csch"):
        return [Call("sinh", (a,))]
    if name == "LambertW" and len(arguments) == 1:
        return [Sum((a, Call("exp", (Negative(ONE),))))]
    if name in _ENTIRE:
        return []
    raise Unsolved(f"where {name} changes sign is not known here", "use check_sign on an interval")


def _gaps(points: Sequence[Candidate]) -> list[tuple[Candidate | None, Candidate | None]]:
    ends = [None, *points, None]
    return list(pairwise(ends))


def _sign_at(residual: Node, unknown: str, point: Candidate) -> int | None:
    """Return the sign there, None if it is undefined or not real."""
    for bits in (BITS, 1_300):
        with precision(bits):
            try:
                values = {unknown: ball(point.node, point.known(bits))}
                found = ball(residual, values)
                if not parts_are_real(residual, values):
                    return None
            except Undecided:
                continue
            if not found.imag.contains(0):
                return None
            if found.real > 0 or found.real < 0:
                return 1 if found.real > 0 else -1
    return None


def _holds_at(point: Candidate, residual: Node, unknown: str, sign: int, strict: bool) -> bool:
    found = _sign_at(residual, unknown, point)
    if found is not None:
        return found == sign
    return not strict and satisfies(residual, unknown, point, real=True)


def _is_undefined(residual: Node, unknown: str, point: Candidate) -> bool:
    return _sign_at(residual, unknown, point) is None and not satisfies(residual, unknown, point, real=True)


def _holds_between(
    residual: Node,
    unknown: str,
    sign: int,
    low: Candidate | None,
    high: Candidate | None,
    bounds: tuple[Node, Node] | None,
) -> bool:
    if bounds is not None and (low is None or high is None):
        return False
    for sample in _samples(low, high):
        with precision(BITS):
            values = {unknown: ball(Number(sample) if sample >= 0 else Negative(Number(-sample)), {})}
            try:
                found = ball(residual, values)
                if not parts_are_real(residual, values) or not found.imag.contains(0):
                    return False
            except Undecided:
                continue
            if found.real > 0 or found.real < 0:
                return bool(found.real > 0) == (sign > 0)
    raise Unsolved("the sign between two boundary points cannot be decided", "use check_sign on an interval")


def _samples(low: Candidate | None, high: Candidate | None) -> list[Fraction]:
    """Return simple rationals strictly between two points."""
    a = None if low is None else exact_fraction(low.ball(BITS).real)
    b = None if high is None else exact_fraction(high.ball(BITS).real)
    if a is None and b is None:
        return [Fraction(1, 3), Fraction(-7, 5), Fraction(22, 7)]
    if a is None or b is None:
        end, way = (b, -1) if a is None else (a, 1)
        assert end is not None
        step = max(Fraction(1), abs(end))
        return [end + way * step * Fraction(k, 3) for k in (1, 4, 13)]
    return [a + (b - a) * t for t in (Fraction(1, 2), Fraction(2, 7), Fraction(9, 13))]


def _pieces(points: Sequence[Candidate], inside: Sequence[bool], between: Sequence[bool]) -> list[Piece]:
    """Join what touches: gap 0, point 0, gap 1, point 1, ..., last gap."""
    pieces: list[Piece] = []
    start: tuple[Candidate | None, bool] | None = (None, True) if between[0] else None
    for i, point in enumerate(points):
        if inside[i]:
            if start is None:
                start = (point, False)
            if not between[i + 1]:
                pieces.append(Piece(start[0], point, start[1], False))
                start = None
        else:
            if start is not None:
                pieces.append(Piece(start[0], point, start[1], True))
            start = (point, True) if between[i + 1] else None
    if start is not None:
        pieces.append(Piece(start[0], None, start[1], True))
    return pieces


def piece_map(piece: Piece) -> dict[str, Any]:
    """Return lo, hi, lo_open, hi_open as they are printed."""
    return {
        "lo": "-oo" if piece.low is None else piece.low.text,
        "hi": "oo" if piece.high is None else piece.high.text,
        "lo_open": piece.low_open,
        "hi_open": piece.high_open,
    }


def set_text(pieces: Sequence[Piece]) -> str:
    """Write the set as a union of intervals."""
    if not pieces:
        return "empty"
    parts = []
    for piece in pieces:
        item = piece_map(piece)
        if item["lo"] == item["hi"]:
            parts.append(f"{{{item['lo']}}}")
        else:
            parts.append(
                f"{'(' if item['lo_open'] else '['}{item['lo']}, {item['hi']}{')' if item['hi_open'] else ']'}"
            )
    return " U ".join(parts)
