"""Units as exact factors to SI base units, their products and powers, and how dimensions are written."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from maven_env.errors import LimitExceeded, ToolError

_BITS = 16_384  # of a factor


@dataclass(frozen=True)
class UnitValue:
    """A unit in SI base units: value_in_SI = value*factor + offset.

    `dimensions`: (base unit, exponent) sorted by name; information counts as a dimension, angles and counts do not.
    `angle`: exponent of the radian; `hertz`: whether a hertz stands in it. `exact`: the factor is exact by definition,
    apart from the 50 digits of pi.
    """

    factor: Fraction
    dimensions: tuple[tuple[str, Fraction], ...]
    offset: Fraction = Fraction(0)
    angle: Fraction = Fraction(0)
    hertz: bool = False
    exact: bool = True
    is_scale: bool = False  # a temperature scale alone, whose zero may lie elsewhere
    has_scale: bool = False  # such a scale inside a product

    def power(self, exponent: Fraction) -> UnitValue:
        if exponent == 1:
            return self
        dimensions = tuple((name, n * exponent) for name, n in self.dimensions if exponent)
        factor = rational_power(self.factor, exponent)
        scale = self.is_scale or self.has_scale
        return UnitValue(factor, dimensions, Fraction(0), self.angle * exponent, self.hertz, self.exact, False, scale)

    def times(self, other: UnitValue) -> UnitValue:
        factor = self.factor * other.factor
        if factor.numerator.bit_length() + factor.denominator.bit_length() > 4 * _BITS:
            raise LimitExceeded("size", "the factor of a unit is of huge or tiny size", "write plain units")
        total = dict(self.dimensions)
        for name, n in other.dimensions:
            total[name] = total.get(name, Fraction(0)) + n
        return UnitValue(
            factor,
            tuple(sorted((name, n) for name, n in total.items() if n)),
            Fraction(0),
            self.angle + other.angle,
            self.hertz or other.hertz,
            self.exact and other.exact,
            False,
            any(unit.is_scale or unit.has_scale for unit in (self, other)),
        )


ONE = UnitValue(Fraction(1), ())


def rational_power(value: Fraction, exponent: Fraction) -> Fraction:
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    if value != 1 and bits * abs(exponent.numerator) > _BITS:
        raise LimitExceeded("size", "the factor of a unit is of huge or tiny size", "write plain units")
    if exponent.denominator == 1:
        return Fraction(value ** int(exponent))
    root = _exact_root(value ** abs(exponent.numerator), exponent.denominator)
    if root is None:
        raise ToolError("UNKNOWN_UNIT", f"a unit to the power {exponent} has no exact factor", "convert to SI first")
    return root if exponent > 0 else 1 / root


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    import flint

    top = flint.fmpz(value.numerator).root(degree)
    bottom = flint.fmpz(value.denominator).root(degree)
    exact = int(top) ** degree == value.numerator and int(bottom) ** degree == value.denominator
    return Fraction(int(top), int(bottom)) if exact else None


_DIMENSIONS = {
    "kilogram": "[mass]", "meter": "[length]", "second": "[time]", "ampere": "[current]", "kelvin": "[temperature]",
    "mole": "[substance]", "candela": "[luminosity]", "bit": "[information]",
}  # fmt: skip

_SYMBOLS = {
    "kilogram": "kg", "meter": "m", "second": "s", "ampere": "A", "kelvin": "K", "mole": "mol", "candela": "cd",
    "bit": "bit",
}  # fmt: skip


def dimension_text(unit: UnitValue) -> str:
    """Write the dimension, such as `[length]/[time]^2`; a pure number is `1`."""
    return _product_text([(_DIMENSIONS.get(name, name), n) for name, n in unit.dimensions])


def base_text(unit: UnitValue) -> str:
    """Write the SI base units of the dimension, such as `kg*m/s^2`; empty for a pure number."""
    text = _product_text([(_SYMBOLS.get(name, name), n) for name, n in unit.dimensions])
    return "" if text == "1" else text


def _product_text(parts: list[tuple[str, Fraction]]) -> str:
    order = list(_DIMENSIONS.values()) + list(_SYMBOLS.values())
    parts = sorted(parts, key=lambda part: (order.index(part[0]) if part[0] in order else 99, part[0]))
    above = [_raised(name, n) for name, n in parts if n > 0]
    below = [_raised(name, -n) for name, n in parts if n < 0]
    return "/".join(["*".join(above) or "1", *below])


def _raised(name: str, exponent: Fraction) -> str:
    if exponent == 1:
        return name
    return f"{name}^{exponent}" if exponent.denominator == 1 else f"{name}^({exponent})"
