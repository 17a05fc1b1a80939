"""Putting candidates back into their equation, with balls: which are solutions, which are spurious."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.balls import Undecided, ball, decimal, precision
from maven_env.expressions.tree import Call, Constant, Node, Power, children, free_symbols, rational_value, walk
from maven_env.tools.equations.candidates import Candidate

_BITS = (420, 1_300)
_LAST = 4_000

# Values for parameters: the solution must hold for some of these rows at least.
_SAMPLES = (
    (Fraction(7, 5), Fraction(11, 3), Fraction(13, 7), Fraction(5, 11), Fraction(17, 9), Fraction(23, 19)),
    (Fraction(3, 8), Fraction(2, 13), Fraction(29, 6), Fraction(31, 12), Fraction(8, 21), Fraction(41, 17)),
    (Fraction(19, 2), Fraction(5, 7), Fraction(1, 6), Fraction(37, 10), Fraction(43, 15), Fraction(4, 9)),
    (Fraction(-6, 5), Fraction(9, 4), Fraction(-11, 8), Fraction(14, 3), Fraction(-5, 13), Fraction(25, 16)),
    (Fraction(10, 7), Fraction(-13, 6), Fraction(8, 5), Fraction(-7, 12), Fraction(19, 11), Fraction(-3, 14)),
    (Fraction(-4, 3), Fraction(-15, 8), Fraction(-2, 9), Fraction(-27, 10), Fraction(-16, 7), Fraction(-9, 5)),
)


def satisfies(
    residual: Node, unknown: str, candidate: Candidate, values: Mapping[str, Any] | None = None, *, real: bool
) -> bool:
    """Return whether a candidate solves residual = 0; `real` also asks that every part of it is real.

    True means: zero to hundreds of digits, at two precisions. False is proved, or the residual is undefined there.
    """
    last = None
    for bits in (*_BITS, _LAST):
        with precision(bits):
            point = {**(values or {}), **candidate.known(bits)}
            try:
                point[unknown] = ball(candidate.node, point)
                found = ball(residual, point)
                if not found.contains(0) or (real and not parts_are_real(residual, point)):
                    return False
            except Undecided:
                continue
            if found == 0 or (last is not None and found.rad() < last * 2.0**-200):
                return True
            last = found.rad()
    return False


def parts_are_real(node: Node, point: Mapping[str, Any]) -> bool:
    """Return whether roots, powers, logarithms and inverse functions below are real at `point`."""
    for part in walk(node):
        if isinstance(part, Constant) and part.name == "I":
            return True
    return all(_is_real(part, point) for part in walk(node) if _may_leave_reals(part))


def _may_leave_reals(node: Node) -> bool:
    if isinstance(node, Power):
        exponent = rational_value(node.exponent)
        return exponent is None or exponent.denominator != 1
    return isinstance(node, Call) and bool(children(node))


def _is_real(node: Node, point: Mapping[str, Any]) -> bool:
    return bool(ball(node, point).imag.contains(0))


def sample_rows(names: Sequence[str], assumptions: Mapping[str, set[str]]) -> list[dict[str, Any]]:
    """Return values for parameters that keep their assumptions."""
    rows = []
    for row in _SAMPLES:
        values = {}
        for i, name in enumerate(names):
            value = row[i % len(row)] + (i // len(row))
            known = assumptions.get(name, set())
            if known & {"positive", "nonnegative"}:
                value = abs(value)
            if "negative" in known:
                value = -abs(value)
            if "integer" in known:
                value = Fraction(round(value) or 1)
            values[name] = value
        rows.append(values)
    return rows


def _exact_balls(row: Mapping[str, Fraction]) -> dict[str, Any]:
    with precision(_LAST):
        return {name: decimal(value) for name, value in row.items()}


def holds_with_parameters(
    residual: Node, unknown: str, candidate: Candidate, assumptions: Mapping[str, set[str]]
) -> tuple[int, int, int]:
    """Return how many rows of sample values make the candidate a solution, none, and a real solution."""
    names = sorted((free_symbols(residual) | set(candidate.parameters)) - {unknown})
    yes = no = real = 0
    for row in sample_rows(names, assumptions):
        values = _exact_balls(row)
        try:
            good = satisfies(residual, unknown, candidate, values, real=False)
        except ToolError:
            continue
        yes, no = (yes + 1, no) if good else (yes, no + 1)
        real += good and candidate.ball(_LAST, values).imag.contains(0)
    return yes, no, real
