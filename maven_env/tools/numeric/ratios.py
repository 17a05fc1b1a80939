"""Ratios of neighbouring terms: exact rational functions for hypergeometric terms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.expressions import Call, Negative, Node, Power, Product, Quotient, free_symbols, rational_value
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.balls import ball, decimal
from maven_env.tools.transforms.modes import linear

_DEGREE = 40


@dataclass(frozen=True)
class Ratio:
    """term(n+1)/term(n) = top(n)/bottom(n) * product of base^power; the bases are closed and not rational."""

    top: Any  # fmpq_poly
    bottom: Any
    bases: tuple[tuple[Node, int], ...] = ()

    def times(self, other: Ratio, sign: int = 1) -> Ratio | None:
        a, b = (other.top, other.bottom) if sign > 0 else (other.bottom, other.top)
        top, bottom = self.top * a, self.bottom * b
        common = top.gcd(bottom)
        top, bottom = top // common, bottom // common
        if max(top.degree(), bottom.degree()) > _DEGREE:
            return None
        return Ratio(top, bottom, self.bases + tuple((base, sign * k) for base, k in other.bases))

    def constant(self) -> Any:
        """Return the product of the bases as a ball."""
        total = decimal(1)
        for base, k in self.bases:
            value = ball(base, {})
            total = total * value**k if k >= 0 else total / value**-k
        return total

    def lead(self) -> Fraction:
        value = self.top[self.top.degree()] / self.bottom[self.bottom.degree()]
        return fraction(value)

    def limit_size(self) -> Any:
        """Return the limit of |ratio| (0 allowed), or None if it is infinite."""
        gap = int(self.top.degree() - self.bottom.degree())
        if gap > 0:
            return None
        if gap < 0:
            return Fraction(0)
        return abs(self.lead()) if not self.bases else abs(self.constant() * decimal(self.lead()))

    def limit(self) -> Fraction | None:
        return self.lead() if not self.bases else None

    def power(self) -> Fraction:
        """Return p where the ratio is +-(1 - p/n + ...)."""
        d = int(self.top.degree())
        value = self.bottom[d - 1] / self.bottom[d] - self.top[d - 1] / self.top[d] if d else self.top[0] * 0
        return fraction(value)

    def roots(self, polynomial: Any) -> list[Any]:
        return [abs(root) for root, k in complex_roots(polynomial.numer()) for _ in range(int(k))]

    def scale(self) -> float:
        """Return the size of the largest zero or pole."""
        sizes = self.roots(self.top) + self.roots(self.bottom)
        return max((float(size.abs_upper()) for size in sizes), default=0.0)

    def bound(self, n: int) -> Any:
        """Return a bound of |ratio| from n on, or None; the factors of the bound fall with n."""
        if n <= self.scale():
            return None
        total = abs(self.constant() * decimal(self.lead()))
        for size in self.roots(self.top):
            total = total * (1 + size / n)
        for size in self.roots(self.bottom):
            total = total / (1 - size / n)
        return total * decimal(n).real ** int(self.top.degree() - self.bottom.degree())

    def ends_at(self, start: int) -> int | None:
        """Return the last index with a term that is not zero, if the terms end."""
        _, factors = self.top.factor()
        found = []
        for factor, _ in factors:
            if factor.degree() == 1:
                value = -factor[0] / factor[1]
                if value.q == 1 and value.p >= start:
                    found.append(int(value.p))
        return min(found, default=None)


def term_ratio(node: Node, n: str) -> Ratio | None:
    """Return the ratio of neighbouring terms if it is a rational function, else None."""
    from flint import fmpq_poly

    one = fmpq_poly([1])
    if n not in free_symbols(node):
        return Ratio(one, one)
    form = rational_form(node, n)
    if form is not None:
        step = fmpq_poly([1, 1])
        top, bottom = form
        if top == 0:
            return None
        return Ratio(top(step), top).times(Ratio(bottom(step), bottom), -1)
    match node:
        case Negative(a):
            return term_ratio(a, n)
        case Product(items):
            total: Ratio | None = Ratio(one, one)
            for item in items:
                part = term_ratio(item, n)
                if part is None or total is None:
                    return None
                total = total.times(part)
            return total
        case Quotient(a, b):
            above, below = term_ratio(a, n), term_ratio(b, n)
            return None if above is None or below is None else above.times(below, -1)
        case Power(base, exponent):
            return _power(base, exponent, n)
        case Call("exp", (argument,)):
            slope = linear(argument, n)
            return None if slope is None else Ratio(one, one, ((Call("exp", (slope[0],)), 1),))
        case Call("factorial" | "gamma" as name, (argument,)):
            return _factorial(argument, n, 1 if name == "factorial" else 0)
        case Call("binomial", (a, b)):
            from maven_env.expressions import Sum

            parts = [_factorial(a, n, 1), _factorial(b, n, 1), _factorial(Sum((a, Negative(b))), n, 1)]
            if parts[0] is None or parts[1] is None or parts[2] is None:
                return None
            below = parts[1].times(parts[2])
            return None if below is None else parts[0].times(below, -1)
    return None


def _power(base: Node, exponent: Node, n: str) -> Ratio | None:
    from flint import fmpq, fmpq_poly

    one = fmpq_poly([1])
    if n not in free_symbols(exponent):
        k = rational_value(exponent)
        inner = term_ratio(base, n)
        if inner is None or k is None or k.denominator != 1 or abs(k) > 12:
            return None
        total: Ratio | None = Ratio(one, one)
        for _ in range(abs(int(k))):
            total = None if total is None else total.times(inner, 1 if k > 0 else -1)
        return total
    slope = linear(exponent, n)
    k = None if slope is None else rational_value(slope[0])
    if n in free_symbols(base) or k is None or k.denominator != 1 or abs(k) > 20:
        return None
    value = rational_value(base)
    if value is None:
        return Ratio(one, one, ((base, int(k)),))
    if value == 0:
        return None
    value = value ** int(k)
    return Ratio(fmpq_poly([fmpq(value.numerator, value.denominator)]), one)


def _factorial(argument: Node, n: str, shift: int) -> Ratio | None:
    """Ratio of gamma(argument + shift): gamma(a n + b) grows by the product of a n + b ... a n + b + a - 1."""
    from flint import fmpq, fmpq_poly

    found = linear(argument, n)
    if found is None:
        return None
    a, b = rational_value(found[0]), rational_value(found[1])
    if a is None or b is None or a.denominator != 1 or abs(a) > 8:
        return None
    total = fmpq_poly([1])
    low = b + shift
    for j in range(abs(int(a))):
        offset = low + j if a > 0 else low - 1 - j
        total *= fmpq_poly([fmpq(offset.numerator, offset.denominator), int(a)])
    one = fmpq_poly([1])
    return Ratio(total, one) if a > 0 else Ratio(one, total)
