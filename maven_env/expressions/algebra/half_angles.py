"""Trigonometric functions as ratios: multiples of an angle in the tangent of its half, multiples of pi/12 in roots."""

from __future__ import annotations

from fractions import Fraction

from maven_env.errors import LimitExceeded
from maven_env.expressions.algebra.kernel_ratios import Ratios, key_of, rational_of
from maven_env.expressions.algebra.kernel_trees import Ratio, rational
from maven_env.expressions.tree import Call, Constant, Node

_ANGLES = 16  # largest multiple of an angle that is expanded


def trigonometric(ring: Ratios, name: str, inner: Ratio) -> Ratio:
    """Return sin, cos, tan, cot, sec or csc of an angle that depends on the unknown."""
    return _of_sine_and_cosine(ring, name, *_sine_and_cosine(ring, inner))


def _of_sine_and_cosine(ring: Ratios, name: str, sine: Ratio, cosine: Ratio) -> Ratio:
    one = ring.constant(Fraction(1))
    quotients = {"tan": (sine, cosine), "cot": (cosine, sine), "sec": (one, cosine), "csc": (one, sine)}
    return sine if name == "sin" else cosine if name == "cos" else ring.divide(*quotients[name])


def _sine_and_cosine(ring: Ratios, inner: Ratio) -> tuple[Ratio, Ratio]:
    """Return sin and cos: whole multiples of the angle by de Moivre, a constant part by the addition theorem."""
    moving, still = ring.split(inner)
    scale = rational(moving.top.leading_coefficient())
    primitive = Ratio(moving.top / moving.top.leading_coefficient(), moving.bottom)
    step = ring.unit(("angle", key_of(primitive)), scale)
    multiple = int(scale / step)
    if abs(multiple) > _ANGLES:
        raise LimitExceeded("size", f"multiples of an angle beyond {_ANGLES}", "use find_all_roots")
    angle = ring.multiply(ring.constant(step), primitive)
    half = ring.multiply(ring.constant(Fraction(1, 2)), angle)
    node = Call("tan", (ring.node(half),))
    t = ring.generator(ring.kernel(("tanhalf", key_of(primitive)), "tanhalf", node, angle))
    norm = ring.add(ring.constant(Fraction(1)), ring.multiply(t, t))
    below = Ratio(norm.bottom, norm.top)  # 1 + t^2 is no pole
    cosine = ring.multiply(ring.add(ring.constant(Fraction(1)), ring.minus(ring.multiply(t, t))), below)
    sine = ring.multiply(ring.multiply(ring.constant(Fraction(2)), t), below)
    c, s = ring.constant(Fraction(1)), ring.constant(Fraction(0))
    for _ in range(abs(multiple)):
        c, s = _turned(ring, c, s, cosine, sine)
    if multiple < 0:
        s = ring.minus(s)
    if still.top == 0:
        return s, c
    shift = ring.node(still)
    cos_shift = _known_call(ring, "cos", shift, still)
    sin_shift = _known_call(ring, "sin", shift, still)
    c, s = _turned(ring, c, s, cos_shift, sin_shift)
    return s, c


def _turned(ring: Ratios, c: Ratio, s: Ratio, cosine: Ratio, sine: Ratio) -> tuple[Ratio, Ratio]:
    turned = ring.add(ring.multiply(c, cosine), ring.minus(ring.multiply(s, sine)))
    return turned, ring.add(ring.multiply(s, cosine), ring.multiply(c, sine))


def _known_call(ring: Ratios, name: str, argument: Node, inner: Ratio) -> Ratio:
    special = special_angle(ring, name, inner)
    if special is not None:
        return special
    return ring.generator(ring.kernel((name, key_of(inner)), name, Call(name, (argument,)), inner))


def special_angle(ring: Ratios, name: str, inner: Ratio) -> Ratio | None:
    """Return the value at a multiple of pi/12, or None."""
    turns = _multiple_of_pi(ring, inner)
    if turns is None or (turns * 12).denominator != 1:
        return None
    k = int(turns * 12)
    sine, cosine = _twelfth(ring, k - 6), _twelfth(ring, k)  # sin(a) = cos(a - pi/2)
    return _of_sine_and_cosine(ring, name, sine, cosine)


def _multiple_of_pi(ring: Ratios, inner: Ratio) -> Fraction | None:
    if inner.top == 0:
        return Fraction(0)
    pi = next((k for k in ring.kernels if k.node == Constant("pi")), None)
    if pi is None or not inner.bottom.is_constant():
        return None
    return rational_of(ring.cancelled(inner.top, inner.bottom * ring.ctx.gens()[pi.index]))


def _twelfth(ring: Ratios, k: int) -> Ratio:
    """Return cos(k pi/12)."""
    k = abs(k) % 24
    k = min(k, 24 - k)
    if k > 6:
        return ring.minus(_twelfth(ring, 12 - k))
    two, three = ring.surd(Fraction(2), 2), ring.surd(Fraction(3), 2)
    half = ring.constant(Fraction(1, 2))
    if k in (1, 5):
        sign = ring.constant(Fraction(1 if k == 1 else -1))
        return ring.multiply(ring.multiply(ring.constant(Fraction(1, 4)), two), ring.add(three, sign))
    values = {0: ring.constant(Fraction(1)), 2: ring.multiply(half, three), 3: ring.multiply(half, two), 4: half}
    return values.get(k, ring.constant(Fraction(0)))
