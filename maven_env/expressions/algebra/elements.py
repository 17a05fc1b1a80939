"""Elements of an exact field: fractions of polynomials in lowest terms, with a provable zero test and their values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.numeric import float_of
from maven_env.expressions.tree import free_symbols

if TYPE_CHECKING:
    from maven_env.expressions.algebra.field import Field

TERMS = 5_000  # of one polynomial
_EXPONENT = 200  # of one integer power
_SAMPLES = ((3, 7), (5, 11), (13, 9), (2, 17), (19, 23))  # rational points for the proof that a value is not zero
_BITS = 192


class Element:
    """A fraction of two polynomials in lowest terms."""

    __slots__ = ("den", "field", "num")

    def __init__(self, field: Field, num: Any, den: Any) -> None:
        self.field, self.num, self.den = field, num, den

    def __add__(self, other: Element) -> Element:
        field = self.field
        if self.den == other.den:
            num = self.num + other.num
            return Element(field, field.reduce(num), self.den) if self.den.is_one() else field.fraction(num, self.den)
        field.charge(self.num, other.den)
        field.charge(other.num, self.den)
        return field.fraction(self.num * other.den + other.num * self.den, self.den * other.den)

    def __neg__(self) -> Element:
        return Element(self.field, -self.num, self.den)

    def __sub__(self, other: Element) -> Element:
        return self + (-other)

    def __mul__(self, other: Element) -> Element:
        field = self.field
        field.charge(self.num, other.num)
        if self.den.is_one() and other.den.is_one():
            return Element(field, field.reduce(self.num * other.num), self.den)
        field.charge(self.den, other.den)
        return field.fraction(self.num * other.num, self.den * other.den)

    def __truediv__(self, other: Element) -> Element:
        if other.is_zero():
            raise ToolError("UNDEFINED_VALUE", "a division by zero occurs", "check the entries")
        self.field.charge(self.num, other.den)
        self.field.charge(self.den, other.num)
        return self.field.fraction(self.num * other.den, self.den * other.num)

    def power(self, n: int) -> Element:
        if abs(n) > _EXPONENT and len(self.num) + len(self.den) > 2:
            raise LimitExceeded("size", f"the exponent {n} is beyond {_EXPONENT}", "use a smaller exponent")
        if n < 0:
            return self.field.one / self.power(-n)
        widest = max(len(self.num), len(self.den))
        terms = math.comb(min(n, _EXPONENT) + widest - 1, widest - 1) if widest > 1 else 1
        if terms > TERMS:
            raise LimitExceeded("size", f"a power here has about {terms} terms", "use a smaller exponent")
        return self.field.fraction(self.num**n, self.den**n)

    def is_zero(self) -> bool:
        """Decide whether the value is identically zero. Raises UNSOLVED where that cannot be proved."""
        if self.num.is_zero():
            return True
        if self.field.canonical or self.num.is_constant() or self._is_nonzero_somewhere():
            return False
        raise ToolError(
            "UNSOLVED",
            f"it cannot be decided whether {str(self)[:200]} is zero",
            "simplify the entries first, write roots and angles in one way, or put numbers for symbols",
        )

    def is_number(self) -> bool:
        """Whether this is a rational number."""
        return bool(self.num.is_constant() and self.den.is_constant())

    def rational(self) -> Fraction:
        if self.num.is_zero():
            return Fraction(0)
        value = self.num.leading_coefficient() / self.den.leading_coefficient()
        return fraction(value)

    def symbols(self) -> list[str]:
        """Return the names of the symbols that occur, sorted."""
        used = self.field.used(self.num, self.den)
        return sorted(frozenset().union(*(free_symbols(self.field.generators[i].node) for i in used)) if used else ())

    def value(self) -> complex | None:
        """Return the nearest complex double; None if symbols remain or it cannot be decided."""
        if self.num.is_zero():
            return 0j
        if self.is_number():
            return complex(float_of(self.rational()))
        if self.symbols():
            return None
        for bits in (_BITS, 4 * _BITS, 16 * _BITS):
            with precision(bits):
                try:
                    found = self._ball(self.num, {}) / self._ball(self.den, {})
                except (ToolError, ValueError, ZeroDivisionError):
                    continue
                if all(part.rel_accuracy_bits() > 60 or part == 0 for part in (found.real, found.imag)):
                    return complex(float(found.real.mid()), float(found.imag.mid()))
                if not found.real.contains(0) and found.imag.contains(0) and found.rel_accuracy_bits() > 300:
                    return complex(float(found.real.mid()), 0.0)
                if not found.imag.contains(0) and found.real.contains(0) and found.rel_accuracy_bits() > 300:
                    return complex(0.0, float(found.imag.mid()))
        return None

    def _ball(self, polynomial: Any, values: dict[str, Any]) -> Any:
        from flint import acb

        powers_of = {i: ball(self.field.standing_for(i), values) for i in self.field.used(polynomial)}
        total = acb(0)
        for powers, coefficient in polynomial.terms():
            term = acb(coefficient)
            for i, value in powers_of.items():
                if powers[i]:
                    term *= value ** int(powers[i])
            total += term
        return total

    def rational_content(self) -> Fraction:
        """Return the rational factor that factoring numerator and denominator leaves."""
        content = self.num.factor()[0] / self.den.factor()[0]
        return fraction(content)

    def _is_nonzero_somewhere(self) -> bool:
        from flint import acb, fmpq

        names = self.symbols()
        for a, b in _SAMPLES if names else _SAMPLES[:1]:
            with precision(_BITS):
                values = {name: acb(fmpq(a * (i + 2) + b, b + 3 * i + 1)) for i, name in enumerate(names)}
                try:
                    total = self._ball(self.num, values)
                except (ToolError, ValueError, ZeroDivisionError):
                    continue
                if not total.contains(0):
                    return True
        return False

    def __str__(self) -> str:
        if self.den.is_one():
            return self.field.polynomial_text(self.num)
        scale = _denominator(self.den)
        scale *= _denominator(self.num * scale)
        num, den = self.num * scale, self.den * scale
        top, bottom = self.field.polynomial_text(num), self.field.polynomial_text(den)
        if len(num) > 1:
            top = f"({top})"
        powers = next(iter(den.monoms()))
        plain = len(den) == 1 and den.leading_coefficient() == 1 and sum(int(p > 0) for p in powers) == 1
        return f"{top}/{bottom}" if plain else f"{top}/({bottom})"


def _denominator(polynomial: Any) -> int:
    """Return the least common denominator of the coefficients."""
    return math.lcm(*(int(c.q) for c in polynomial.coeffs())) if len(polynomial) else 1
