"""Fourier coefficients: numbers by certain quadrature, general terms by sympy if they agree with the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    number_node,
    replace,
)
from maven_env.expressions.balls import ball, precision, value_ball
from maven_env.expressions.tree import ONE, ZERO
from maven_env.tools.calculus.antiderivatives import definite_proposals
from maven_env.tools.calculus.definite_integrals import definite_integral, integral_value
from maven_env.tools.calculus.definite_values import Diverges, Unsettled
from maven_env.tools.symbolic.substitution import simplified

_TWO = Number(Fraction(2))
_CHECKED = 5  # coefficients that a general term must reproduce


@dataclass(frozen=True)
class Waves:
    """cos and sin of angle(n) = n*frequency*(x - shift), with the factor before the integral."""

    node: Node
    wrt: str
    low: Node
    high: Node
    frequency: Node
    shift: Node
    factor: Node

    def angle(self, n: Node) -> Node:
        x: Node = Symbol(self.wrt)
        if self.shift != ZERO:
            x = Sum((x, Negative(self.shift)))
        return Product((n, self.frequency, x))

    def integrand(self, wave: str, n: Node) -> Node:
        if n == ZERO:
            return Product((self.factor, self.node)) if wave == "cos" else ZERO
        return Product((self.factor, self.node, Call(wave, (self.angle(n),))))

    def coefficient(self, wave: str, n: int) -> Any:
        """Return a ball of the coefficient. Raises DIVERGENT, UNSOLVED."""
        from flint import acb

        node = self.integrand(wave, Number(Fraction(n)))
        if node == ZERO:
            return acb(0)
        try:
            return integral_value(node, self.wrt, self.low, self.high).ball
        except Diverges as error:
            raise ToolError("DIVERGENT", f"a coefficient diverges: {error}", "check the function") from error
        except Unsettled as error:
            raise ToolError(
                "UNSOLVED", f"a coefficient could not be made sure of: {error}", "split the interval"
            ) from error


def waves(node: Node, wrt: str, low: Node, high: Node, kind: str) -> Waves:
    length = simplified(Sum((high, Negative(low))))
    pi = Constant("pi")
    if kind == "full":
        frequency: Node = Quotient(Product((_TWO, pi)), length)
        return Waves(node, wrt, low, high, simplified(frequency), ZERO, simplified(Quotient(_TWO, length)))
    return Waves(node, wrt, low, high, simplified(Quotient(pi, length)), low, simplified(Quotient(_TWO, length)))


def number(value: Any) -> float:
    """Return the nearest double of a real ball, 0 where it cannot be told from zero."""
    if not value.imag.contains(0):
        raise ToolError("UNSOLVED", "the function is not real on the interval", "expand its real and imaginary part")
    return 0.0 if value.real.contains(0) else float(value.real.mid())


def general_term(series: Waves, wave: str, known: list[float]) -> Node | None:
    """Return the coefficient as a function of n >= 1, if it reproduces the first ones."""
    n = Symbol("n")
    if all(value == 0 for value in known):
        return ZERO
    integrand = series.integrand(wave, n)
    words: Mapping[str, set[str]] = {"n": {"positive", "integer"}, series.wrt: {"real"}}
    for proposal in definite_proposals(integrand, series.wrt, series.low, series.high, words):
        if _reproduces(proposal.node, known):
            try:
                return simplified(proposal.node)
            except ToolError:
                return proposal.node
    return None


def _reproduces(node: Node, known: list[float]) -> bool:
    for k, wanted in enumerate(known[:_CHECKED], 1):
        try:
            value = value_ball(replace(node, {"n": Number(Fraction(k))}), digits=18)
        except ToolError:
            return False
        with precision(80):
            gap = abs(value - wanted).upper()
            if not gap < max(1e-13 * abs(wanted), 1e-16):
                return False
    return True


def partial_sum(series: Waves, a: list[float], b: list[float], forms: Mapping[str, Node | None]) -> Node:
    """Write a_0/2 + sum of a_n cos + b_n sin; exact coefficients where a general term is known."""
    terms: list[Node] = []
    if a and a[0]:
        terms.append(simplified(Quotient(_mean(series, a[0]), _TWO)))
    for n in range(1, max(len(a), len(b) + 1)):
        for wave, values, at in (("cos", a, n), ("sin", b, n - 1)):
            if at >= len(values) or values[at] == 0:
                continue
            form = forms.get(wave)
            exact = None if form is None else simplified(replace(form, {"n": Number(Fraction(n))}))
            coefficient = exact if exact is not None else _decimal(values[at])
            wave_node = Call(wave, (simplified(series.angle(Number(Fraction(n)))),))
            terms.append(_scaled(coefficient, wave_node))
    return ZERO if not terms else terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _mean(series: Waves, value: float) -> Node:
    """Return a_0 in closed form if there is one, else as a decimal."""
    try:
        return definite_integral(series.integrand("cos", ZERO), series.wrt, series.low, series.high, {}).node
    except ToolError:
        return _decimal(value)


def _scaled(coefficient: Node, wave: Node) -> Node:
    if isinstance(coefficient, Negative):
        return Negative(_scaled(coefficient.operand, wave))
    return wave if coefficient == ONE else Product((coefficient, wave))


def _decimal(value: float) -> Node:
    return number_node(Fraction(repr(value)))


def parseval_defect(series: Waves, a: list[float], b: list[float]) -> float | None:
    """Return the share of the mean square that the coefficients listed leave out."""
    square = Product((series.factor, Power(series.node, _TWO)))
    try:
        total = number(integral_value(square, series.wrt, series.low, series.high).ball)
    except (Unsettled, Diverges, ToolError):
        return None
    if total <= 0:
        return None
    found = (a[0] ** 2 / 2 if a else 0.0) + math.fsum(v * v for v in (*a[1:], *b))
    return max(0.0, float(f"{(total - found) / total:.3e}"))


def is_discontinuous(series: Waves, kind: str) -> bool | None:
    """Return whether the periodic continuation jumps at the ends (inner jumps show in the decay)."""
    try:
        with precision(128):
            left, right = (ball(replace(series.node, {series.wrt: end}), {}) for end in (series.low, series.high))
            if kind == "cosine":
                return False
            if kind == "sine":
                return not (left.contains(0) and right.contains(0))
            return not left.overlaps(right)
    except (ToolError, ValueError, ZeroDivisionError):
        return None


def decay_rate(a: list[float], b: list[float]) -> float | None:
    """Return the power by which the coefficients fall, from the largest in two halves of the list."""
    sizes = [
        max(abs(a[n]) if n < len(a) else 0.0, abs(b[n - 1]) if n - 1 < len(b) else 0.0) for n in range(1, len(b) + 1)
    ]
    if not b:
        sizes = [abs(v) for v in a[1:]]
    half = len(sizes) // 2
    if half < 2:
        return None
    early = max(range(half), key=lambda i: (sizes[i], i))
    late = max(range(half, len(sizes)), key=lambda i: (sizes[i], i))
    if sizes[late] == 0 or sizes[early] <= sizes[late]:
        return None
    return float(f"{math.log(sizes[early] / sizes[late]) / math.log((late + 1) / (early + 1)):.3g}")
