"""The tail of a series of smooth waves, by the Euler-Maclaurin formula (phase 0) or its analogue.

With g analytic in a sector around the axis the remainder is bounded by Cauchy's estimate.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from maven_env.expressions import (
    Call,
    Constant,
    Negative,
    Node,
    Power,
    Product,
    Quotient,
    Symbol,
    free_symbols,
    number_node,
    rational_value,
    replace,
    to_text,
)
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.analysis.jets import jet
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.expressions.tree import ONE
from maven_env.tools.calculus.definite_values import Unsettled, definite_value
from maven_env.tools.calculus.exact_integrals import exact_antiderivative
from maven_env.tools.calculus.improper_ends import Diverges
from maven_env.tools.numeric.finite_sums import GOAL, HEAD, SumValue, diverges, is_real, partial_sum, undecided
from maven_env.tools.numeric.sectors import Profile
from maven_env.tools.numeric.waves import Wave
from maven_env.tools.transforms.modes import negative, over, times

_TERMS = 40  # of the Euler-Maclaurin expansion


def expanded_sum(
    term: Node, index: str, start: int, waves: list[Wave], profiles: list[Profile], max_terms: int
) -> SumValue:
    """Add a head, and the tail by the Euler-Maclaurin expansion of every wave."""
    from flint import acb, arb

    nearest = min((float(abs(w.phase).lower()) for w in waves if w.phase is not None), default=2 * math.pi)
    begin = max(start + 8, math.ceil(150 / min(nearest, 2 * math.pi)), 40, *(profile.begin for profile in profiles))
    if begin - start > min(max_terms, HEAD):
        raise undecided(f"the expansion holds only beyond {index} = {begin}, which is too far")
    with precision(192):
        total = partial_sum(term, index, start, begin)
        error = 0.0
        for wave, profile in zip(waves, profiles, strict=True):
            value, more = _tail(wave, profile, index, begin)
            total += value
            error += more
        radius = arb(0, error + 1e-300)
        total = total + acb(radius, 0 if is_real(term) else radius)
        if is_real(term) and total.imag.contains(0):
            total = acb(total.real)
        if not math.isfinite(error) or total.rel_accuracy_bits() < GOAL - 4:
            raise undecided("the accuracy aimed at was not reached")
    return SumValue(total, "euler_maclaurin", begin - start, error)


def _tail(wave: Wave, profile: Profile, index: str, begin: int) -> tuple[Any, float]:
    """Return the sum from `begin` of one wave and a bound of its error."""
    from flint import acb, acb_series, ctx, fmpq

    order = _TERMS
    coefficients = jet(wave.g, {index: acb(begin)}, {index: acb(1)}, order)
    if wave.phase is None:
        total, error = _integral(wave.g, index, begin)
        total += coefficients[0] / 2
        for k in range(1, order // 2 + 1):
            total -= acb(fmpq.bernoulli(2 * k)) / (2 * k) * coefficients[2 * k - 1]
        distance = 2 * math.pi
    else:
        turn = acb(0, wave.phase)
        before = ctx.cap
        ctx.cap = order + 1
        try:
            series = 1 / (1 - (acb_series([turn, 1], order + 1)).exp())
        finally:
            ctx.cap = before
        total, factor = acb(0), acb(1)
        for k in range(order):
            total += series[k] * coefficients[k] * factor
            factor = factor * (k + 1)
        total = total * (turn * begin).exp()
        distance, error = float(abs(wave.phase).lower()), 0.0
    return total, error + _remainder(profile, begin, order, distance)


def _remainder(profile: Profile, begin: int, order: int, distance: float) -> float:
    """Bound the remainder: 4/distance^K times the integral of |g^(K)|, |g^(K)(x)| <= K! max|g| / (x/2)^K (Cauchy)."""
    total = 0.0
    for k, (low, high, _) in enumerate(profile.shells):
        if high < begin:
            continue
        near = [size for a, b, size in profile.shells[max(k - 12, 0) : k + 13] if b > 0.4 * low and a < 1.6 * high]
        x = max(low, begin)
        log = max(near) + math.lgamma(order + 1) - order * math.log(distance * x / 2) + math.log(high) + math.log(4)
        total += math.exp(min(log, 700.0)) if log < 700 else math.inf
    return total


def _integral(g: Node, index: str, begin: int) -> tuple[Any, float]:
    """Return the integral of g from `begin` to infinity, and a bound of what is not in the ball."""
    exact = exact_antiderivative(g, index) if rational_form(g, index) is not None else None
    if exact is not None and exact.at_infinity is not None:
        return ball(exact.at_infinity[0], {}) - ball(replace(exact.real, {index: number_node(begin)}), {}), 0.0
    power = _power_law(g, index)
    if power is not None and power[1] > 1:
        p = decimal(power[1])
        return ball(power[0], {}) * decimal(begin) ** (1 - p) / (p - 1), 0.0
    try:
        value = definite_value(g, index, number_node(begin), Constant("oo"), 100)
    except Diverges as error:
        diverges(f"its integral diverges: {error}")
    except Unsettled as error:
        raise undecided(f"the integral of the tail {to_text(g)[:60]} is not certain: {error}") from error
    return value.ball, 0.0


def _power_law(g: Node, index: str) -> tuple[Node, Fraction] | None:
    """Return (c, p) for g = c*n^(-p)."""
    if index not in free_symbols(g):
        return g, Fraction(0)
    match g:
        case Symbol():
            return ONE, Fraction(-1)
        case Negative(a):
            inner = _power_law(a, index)
            return None if inner is None else (negative(inner[0]), inner[1])
        case Call("sqrt", (a,)):
            return (ONE, Fraction(-1, 2)) if a == Symbol(index) else None
        case Power(a, b):
            k = rational_value(b)
            return (ONE, -k) if a == Symbol(index) and k is not None else None
        case Quotient(a, b):
            top, bottom = _power_law(a, index), _power_law(b, index)
            return None if top is None or bottom is None else (over(top[0], bottom[0]), top[1] - bottom[1])
        case Product(items):
            parts = [_power_law(item, index) for item in items]
            known = [part for part in parts if part is not None]
            return (
                (times(*(c for c, _ in known)), sum((p for _, p in known), Fraction(0)))
                if len(known) == len(parts)
                else None
            )
    return None
