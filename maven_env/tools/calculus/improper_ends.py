"""Improper ends of integrals: how fast the integrand grows there, whether that converges, and the last bit of value."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Node
from maven_env.expressions.balls import ball, precision
from maven_env.tools.calculus.unbounded_places import Place

_MOST_BITS = 12_000
_MANTISSAS = (2, 3, 7)  # roots of these set places within one scale, far from whole numbers, to see oscillation
_DEPTHS = ((40, 80, 160, 320, 640), (20, 40, 80, 160))
_REACH = 7  # of the rule's variable; exp(-pi sinh 7) is 10^-747


class Unsettled(Exception):
    """No certain answer; says why."""


class Diverges(Exception):
    """The integral diverges; says where and how."""


class Oscillates(Unsettled):
    """The integrand changes its sign again and again towards an end."""


def near(node: Node, wrt: str, place: Place, side: int, s: Any, work: int, accuracy: int) -> Any:
    """Return the integrand at the distance `s` from a place to `accuracy` bits. Raises Unsettled."""
    from flint import acb

    while work <= _MOST_BITS:
        with precision(work):
            try:
                x = place.at(work)
                value = ball(node, {wrt: x + acb(s) if side > 0 else x - acb(s)})
                if value.is_finite() and (value.rel_accuracy_bits() > accuracy or value == 0):
                    return value
            except (ToolError, ValueError, ZeroDivisionError, OverflowError):
                pass
        work *= 2
    raise Unsettled(f"the integrand has no certain values near {place.name}")


def classify(node: Node, wrt: str, place: Place, side: int) -> None:
    """Return if the integral surely converges at a place: the integrand grows slower than s^-0.995.

    Raises Diverges where it surely grows as 1/s or faster with one sign, Oscillates, or Unsettled.
    """
    for depths in _DEPTHS:
        try:
            sizes = [[_size(node, wrt, place, side, depth, m) for m in _MANTISSAS] for depth in depths]
            break
        except Unsettled:
            if depths is _DEPTHS[-1]:
                raise
    last = sizes[-1]
    if all(size < 0 for row in sizes[-2:] for size, _ in row) and max(last)[0] <= max(sizes[-2])[0]:
        return
    slopes = [
        (b[i][0] - a[i][0]) / (q - p)
        for a, b, p, q in zip(sizes[-3:], sizes[-2:], depths[-3:], depths[-2:], strict=False)
        for i in range(len(_MANTISSAS))
    ]
    if max(slopes) < 0.995:
        return
    if len({sign for row in sizes[-2:] for _, sign in row}) > 1:
        raise Oscillates(f"the integrand oscillates at {place.name}")
    if min(slopes) >= 1 - 1e-6:
        if place.name == "infinity":
            raise Diverges("towards infinity the integrand does not fall faster than 1/x")
        raise Diverges(f"at {place.name} it grows as the power -{_shown(slopes[-1])} of the distance")
    raise Unsettled(f"whether the integral converges at {place.name} could not be decided")


def _size(node: Node, wrt: str, place: Place, side: int, depth: int, mantissa: int) -> tuple[float, int]:
    """Return log2 |f| at the distance 2^-depth/sqrt(mantissa) from the place, and the sign of its real part."""
    from flint import arb

    work = 2 * depth + 128
    with precision(work):
        s = arb(2) ** -depth / arb(mantissa).sqrt()
    value = near(node, wrt, place, side, s.mid(), work, 60)
    if value == 0:
        return -math.inf, 0
    with precision(64):
        size = (abs(value).log() / arb(2).log()).mid()
        exponent = float(size) if abs(size) < 1e300 else math.inf if size > 0 else -math.inf
    return exponent, 1 if value.real > 0 else -1 if value.real < 0 else 0


def _shown(power: float) -> str:
    if power > 1e6:
        return "oo"
    simple = Fraction(power).limit_denominator(12)
    return str(simple) if abs(float(simple) - power) < 1e-6 else f"{power:.3g}"


def rest(node: Node, wrt: str, place: Place, side: int, width: Any, bits: int, scale: Any) -> Any:
    """Integrate over the distances (0, width) from a place by the tanh-sinh rule; terms below scale 2^-bits are left.

    The gap between the last two steps is put into the ball. Raises Unsettled where the terms do not die away.
    """
    from flint import acb, arb

    with precision(bits + 32):
        floor = scale * arb(2) ** -(bits + 8)
        known: dict[Fraction, Any] = {}

        def term(t: Fraction) -> Any:
            # s = width/(1 + exp(pi sinh t)) keeps full precision towards s = 0
            u = arb(t.numerator) / t.denominator
            e = (arb.pi() * u.sinh()).exp()
            s = (width / (1 + e)).mid()
            weight = width * arb.pi() * u.cosh() * e / (1 + e) ** 2
            depth = max(0, -int(float((s.log() / arb(2).log()).mid())))
            return near(node, wrt, place, side, s, 2 * depth + bits + 64, bits // 2) * weight

        before = None
        for level in range(2, 8):
            step = Fraction(1, 2**level)
            total: Any = acb(0)
            for direction in (1, -1):
                small, k = 0, 0 if direction > 0 else 1
                while small < 3:
                    t = direction * k * step
                    if abs(t) > _REACH:
                        if direction > 0:
                            raise Unsettled(f"the integral converges too slowly at {place.name}")
                        break
                    if t not in known:
                        known[t] = term(t)
                    total += known[t]
                    small = small + 1 if abs(known[t]).upper() < floor else 0
                    k += 1
            total = total * (arb(step.numerator) / step.denominator)
            if before is not None:
                gap = abs(total - before).upper()
                if gap < floor * 2**12 or gap < abs(total).lower() * arb(2) ** -(bits - 4):
                    around = arb(0, float(gap) + 1e-300)
                    return total + acb(around, 0 if total.imag == 0 else around)
            before = total
    raise Unsettled(f"the rule did not settle at {place.name}")
