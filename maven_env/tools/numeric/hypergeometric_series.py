"""Sums of hypergeometric series: Gauss's test on the exact ratio of neighbouring terms, then a certain tail.

Terms that fall geometrically are added until a bound of the rest is negligible. Others go through Levin's u
transformation beyond the scale of the ratio, two of which must agree.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from maven_env.errors import LimitExceeded
from maven_env.expressions import Node
from maven_env.expressions.balls import decimal, precision
from maven_env.tools.numeric.finite_sums import (
    GOAL,
    HEAD,
    SumValue,
    diverges,
    finite_sum,
    is_real,
    partial_sum,
    term_at,
    undecided,
)
from maven_env.tools.numeric.ratios import Ratio


def hypergeometric_sum(term: Node, index: str, start: int, ratio: Ratio, max_terms: int) -> SumValue | None:
    if ratio.top == 0:
        return None
    last = ratio.ends_at(start)
    if last is not None:
        if last - start > max_terms:
            raise LimitExceeded("size", f"{last - start + 1} terms that are not zero, the bound is {max_terms}")
        return finite_sum(term, index, start, last)
    with precision(256):
        size = ratio.limit_size()
        if size is None:
            diverges(f"the terms grow faster than any power c^{index}")
        if size > 1:
            diverges("the ratio of neighbouring terms tends to more than 1 in size")
        if size < 1:
            return _geometric(term, index, start, ratio, max_terms)
        turn = ratio.limit()
        if turn == 1 or turn == -1:
            power = ratio.power()  # |terms| fall as n^-power
            if turn == 1 and power <= 1:
                diverges(f"the terms fall as {index}^-({power}) without change of sign")
            if turn == -1 and power <= 0:
                diverges("the terms do not tend to zero")
            return _levin(term, index, start, ratio.scale(), max_terms)
    return None


def _geometric(term: Node, index: str, start: int, ratio: Ratio, max_terms: int) -> SumValue | None:
    """Add terms until the bound of the rest is negligible; the bound of the ratio holds beyond the scale."""
    from flint import acb, arb

    first = max(start, int(2 * ratio.scale()) + 2)
    far = ratio.bound(2 * first + 20_000)
    if far is not None and far**20_000 > arb(2) ** -80:
        return None  # slower than any direct sum should be
    for work in (192, 512, 1_024, 2_048):
        with precision(work):
            total, n = decimal(0), start
            while n - start <= max_terms:
                value = term_at(term, index, n)
                if n >= first:
                    bound = ratio.bound(n)
                    if bound is not None and bound < 0.98:
                        rest = abs(value) / (1 - bound)
                        if rest < abs(total).lower() * arb(2) ** -(GOAL + 8) or rest < arb(2) ** -(4 * work):
                            radius = arb(0, float(rest.abs_upper()) + 1e-300)
                            total += acb(radius, 0 if is_real(term) else radius)
                            break
                total += value
                n += 1
            else:
                return None
            if total.rel_accuracy_bits() >= GOAL - 4:
                return SumValue(total, "direct", n - start, float(rest.abs_upper()))
            if n - start > 20_000:
                break
    raise undecided("the terms cancel too much for a certain sum")


def _levin(term: Node, index: str, start: int, scale: float, max_terms: int) -> SumValue:
    """Apply Levin's u transformation beyond the scale of the terms; two orders and starts must agree."""
    offset = int(2 * scale) + 4
    if offset > min(HEAD, max_terms):
        raise undecided(f"the terms settle only beyond {index} = {offset}, which is too far")
    with precision(1_024):
        base = start + offset if start + offset > 2 * scale else int(2 * scale) + 4
        head = partial_sum(term, index, start, base)
        values = [_levin_tail(term, index, base + shift, order, base) for shift, order in ((0, 44), (7, 36))]
        gap = abs(values[0] - values[1])
        sums = [head + value for value in values]
        size = abs(sums[0])
        from flint import acb, arb

        if not gap < size * arb(2) ** -GOAL:
            raise undecided("Levin's transformation does not settle")
        radius = arb(0, float(gap.abs_upper()) * 4 + 1e-300)
        total = sums[0] + acb(radius, 0 if is_real(term) else radius)
        return SumValue(total, "levin", base + 45 - start, float(gap.abs_upper()))


def _levin_tail(term: Node, index: str, low: int, order: int, base: int) -> Any:
    """Return the transformed sum from `base`, using terms from `low` to low + order."""
    partial = partial_sum(term, index, base, low)
    top, bottom = decimal(0), decimal(0)
    for j in range(order + 1):
        value = term_at(term, index, low + j)
        if value == 0:
            raise undecided("some terms are zero, which Levin's transformation does not take")
        partial += value
        weight = decimal((-1) ** j * math.comb(order, j)) * decimal(Fraction(low + j + 1, low + order + 1)) ** (
            order - 1
        )
        weight = weight / (value * (low + j + 1))
        top += weight * partial
        bottom += weight
    return top / bottom
