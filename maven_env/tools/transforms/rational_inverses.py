"""Inverse Laplace transforms of rational functions: exactly by partial fractions, at one time by residues in balls."""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, Power, Symbol, number_node, replace
from maven_env.expressions.algebra.algebraic import square_part
from maven_env.expressions.algebra.flint_rationals import as_fmpq, fraction
from maven_env.expressions.balls import decimal, precision, value_ball
from maven_env.expressions.tree import ONE
from maven_env.tools.numeric.rational_series import principal_parts
from maven_env.tools.transforms.modes import added, over, times

_CHECKS = (Fraction(3, 7), Fraction(5, 4))  # in units of the slowest time


def residue_value(top: Any, bottom: Any, time: Fraction, accuracy: int = 64) -> Any:
    """Return f(time) for time > 0 as an arb of `accuracy` bits or more: the sum of the residues of F(s)*exp(s*time)."""
    for bits in (192, 512, 1_024, 2_048, 4_096):
        with precision(bits):
            total, t = decimal(0), decimal(time)
            for coefficient, order, pole in principal_parts(divmod(top, bottom)[1], bottom):
                total += coefficient * t ** (order - 1) * (pole * t).exp() / factorial(order - 1)
            value = total.real
            if value.is_finite() and (value.rel_accuracy_bits() >= accuracy or value == 0):
                return value
    raise ToolError("NO_CONVERGENCE", "the residues cancel too much for a certain value", "use method exact")


def rational_inverse(top: Any, bottom: Any, t: str) -> Node:
    """Return f(t), checked against the residues. Raises UNSOLVED for factors without a short form."""
    whole, rest = divmod(top, bottom)
    if whole.degree() > 0:
        raise ToolError("UNSOLVED", "F grows with s: its inverse holds derivatives of an impulse", "divide first")
    parts: list[Node] = []
    if whole != 0:
        parts.append(times(_number(whole[0]), Call("DiracDelta", (Symbol(t),))))
    smooth: list[Node] = []
    _, factors = bottom.factor()
    for factor, multiplicity in sorted(factors, key=lambda item: (item[0].degree(), str(item[0]))):
        factor = factor / factor[factor.degree()]
        smooth += _factor_terms(rest, bottom, factor, int(multiplicity), t)
    if smooth:
        _check(added(smooth), rest, bottom, t)
    return added(parts + smooth)


def _factor_terms(rest: Any, bottom: Any, factor: Any, multiplicity: int, t: str) -> list[Node]:
    power = factor**multiplicity
    others = bottom / power
    g, inverse, _ = others.xgcd(power)
    part = divmod(rest * inverse / g[0], power)[1]  # rest/bottom = part/power + ...
    if factor.degree() > 2 or (factor.degree() == 2 and multiplicity > 1):
        message = f"the denominator has the factor ({factor})^{multiplicity}, whose inverse has no short form here"
        raise ToolError("UNSOLVED", message, "use method talbot for numbers")
    x = Symbol(t)
    if factor.degree() == 1:
        pole = -fraction(factor[0])
        shift = type(factor)([as_fmpq(pole), 1])
        local = part(shift)
        terms = []
        for j in range(multiplicity):
            order = multiplicity - j
            c = fraction(local[j]) / factorial(order - 1)
            raised: Node = ONE if order == 1 else x if order == 2 else Power(x, number_node(order - 1))
            if c:
                terms.append(_scaled(c, times(raised, _exponential(pole, x))))
        return terms
    a, b, p, q = (fraction(v) for v in (part[1], part[0], factor[1], factor[0]))
    half = p / 2
    gap = q - half * half
    outside, radicand = square_part(abs(gap.numerator) * gap.denominator)
    share = Fraction(outside, gap.denominator)  # sqrt(|gap|) = share*sqrt(radicand)
    root: Node = ONE if radicand == 1 else Call("sqrt", (number_node(radicand),))
    angle = _scaled(share, times(root, x))
    even, odd = ("cos", "sin") if gap > 0 else ("cosh", "sinh")
    damping = _exponential(-half, x)
    terms = []
    if a:
        terms.append(_scaled(a, times(damping, Call(even, (angle,)))))
    if b - a * half:
        terms.append(_scaled((b - a * half) / (share * radicand), times(root, damping, Call(odd, (angle,)))))
    return terms


def _scaled(c: Fraction, node: Node) -> Node:
    from maven_env.tools.transforms.modes import negative

    if c < 0:
        return negative(_scaled(-c, node))
    top = node if c.numerator == 1 else times(number_node(c.numerator), node)
    return over(top, number_node(c.denominator))


def _exponential(rate: Fraction, x: Node) -> Node:
    return ONE if rate == 0 else Call("exp", (_scaled(rate, x),))


def _check(node: Node, rest: Any, bottom: Any, t: str) -> None:
    """Compare with the residues at two times of the scale of the poles."""
    scale = max((abs(complex(root)) for root, _ in bottom.numer().complex_roots()), default=1.0) or 1.0
    unit = 1 / Fraction(scale).limit_denominator(10**9) if scale > 1e-6 else Fraction(1)
    for share in _CHECKS:
        time = share * unit
        wanted = residue_value(rest, bottom, time)
        found = value_ball(replace(node, {t: number_node(time)}), digits=30)
        with precision(256):
            if not abs(found - wanted) < (abs(wanted) + 1e-300) * 1e-15:
                raise ToolError("UNSOLVED", "the inverse found does not agree with the residues", "use method talbot")


def _number(value: Any) -> Node:
    return number_node(fraction(value))
