"""Units of measurement: one registry, a bounded grammar of unit text, and exact factors to SI base units.

Unit text never reaches pint's own parser: names are looked up one by one. `J/mol/K`, `kg*m^2`, `m2.s-1` and `km/h` are
read; what people read in two ways (`W/m^2 K`, `kb`) is refused. Acre, furlong, rod, chain, fathom and league are
those of the international foot; gauss, oersted and maxwell correspond to their SI units.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import LimitExceeded, ToolError

_LENGTH = 200  # characters of unit text
_EXPONENT = 24  # |exponent| of a unit
_DEPTH = 8
_BITS = 16_384  # of a factor
_DECIMAL_EXPONENT = 60  # of a number in unit text
_LOCK = threading.RLock()

_OWN = """
gauss = 1e-4 * tesla = G
maxwell = 1e-8 * weber = Mx
oersted = 250 / pi * ampere / meter = Oe = ørsted
rod = 16.5 * foot = rd = pole = perch
chain = 66 * foot = _
furlong = 660 * foot = fur
fathom = 6 * foot
league = 3 * mile
acre = 43560 * foot ** 2
ppb = 1e-9
british_thermal_unit = 1055.05585262 * joule = Btu = BTU = Btu_iso
square_mile = mile ** 2 = _ = section
"""

_SIGNS = str.maketrans(
    {
        "·": "*",
        "⋅": "*",
        "×": "*",
        "−": "-",
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\u212b": "Å",
        "μ": "u",
        "µ": "u",
    }
)
_SUPERSCRIPTS = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

_LETTERS = (
    ("°C", "degC"),
    ("℃", "degC"),
    ("°F", "degF"),
    ("℉", "degF"),
    ("°", "degree"),
    ("Ω", "ohm"),
    ("Å", "angstrom"),
)

# Spellings that are no names in the registry: symbols, names of other systems, and UCUM's bracketed codes.
_SPELLINGS = {
    "%": "percent", "‰": "permille", "′": "arcminute", "″": "arcsecond", "'": "arcminute", '"': "arcsecond",
    "Cel": "degC", "deg_C": "degC", "deg_F": "degF", "usfloz": "fluid_ounce", "brfloz": "imperial_fluid_ounce",
    "troyounce": "troy_ounce", "siderealyear": "sidereal_year", "metrichorsepower": "metric_horsepower",
    "lbm": "pound", "mil": "thou", "mils": "thou", "amps": "ampere",
    "rev": "revolution", "Torr": "torr", "ton_refrigeration": "refrigeration_ton",
    "sqft": "square_foot", "liters": "liter", "litres": "liter", "mol": "mole", "Ohm": "ohm",
    "[in_i]": "inch", "[ft_i]": "foot", "[yd_i]": "yard", "[mi_i]": "mile", "[nmi_i]": "nautical_mile",
    "[lb_av]": "pound", "[oz_av]": "ounce", "[gr]": "grain", "[lbf_av]": "force_pound", "[gal_us]": "gallon",
    "[qt_us]": "quart", "[pt_us]": "pint", "[foz_us]": "fluid_ounce", "[tbs_us]": "tablespoon", "[tsp_us]": "teaspoon",
    "[cup_us]": "cup", "[gal_br]": "imperial_gallon", "[foz_br]": "imperial_fluid_ounce", "[ly]": "light_year",
    "[c]": "speed_of_light", "[h]": "planck_constant", "[k]": "boltzmann_constant", "[e]": "elementary_charge",
    "[g]": "standard_gravity", "[G]": "newtonian_constant_of_gravitation", "[pi]": "pi", "[degF]": "degF",
    "[degR]": "degR", "[psi]": "psi", "[HP]": "horsepower", "[ppth]": "permille", "[ppm]": "ppm", "[Btu]": "Btu",
    "[m_e]": "electron_mass", "[m_p]": "proton_mass", "[eps_0]": "vacuum_permittivity", "[mu_0]": "vacuum_permeability",
}  # fmt: skip
_MERCURY = Fraction(133322)  # Pa, UCUM's metre of mercury column

# What pint would read in a way that hardly anybody means.
_AMBIGUOUS = {
    **{f"{p}b": f"{p}bit or {p}barn" for p in ("k", "M", "G", "T", "P")},
    "mb": "mbar or mbarn", "Nm": "N*m or nmi", "CFM": "ft^3/min", "cfm": "ft^3/min",
    "RPM": "rpm", "KB": "kB or KiB", "Pas": "Pa*s", "Nms": "N*m*s", "kgm": "kg*m", "lbft": "lbf*ft", "ftlb": "ft*lbf",
}  # fmt: skip
_PLURALS = frozenset({"lbs", "hrs", "mins", "secs", "yrs", "kgs", "gals", "ozs"})
_MEASURED = frozenset(
    {
        "newtonian_constant_of_gravitation", "rydberg_constant", "electron_g_factor", "atomic_mass_constant",
        "electron_mass", "proton_mass", "neutron_mass", "x_unit_Cu", "x_unit_Mo", "angstrom_star",
        "fine_structure_constant", "parsec", "tansec",
    }
)  # fmt: skip
_PREFIXED = frozenset(
    {
        "meter", "gram", "second", "ampere", "kelvin", "mole", "candela", "hertz", "newton", "pascal", "joule",
        "watt", "coulomb", "volt", "farad", "ohm", "siemens", "weber", "tesla", "henry", "lumen", "lux", "becquerel",
        "gray", "sievert", "katal", "radian", "steradian", "liter", "metric_ton", "electron_volt", "bar", "bit",
        "byte", "calorie", "watt_hour", "ampere_hour", "volt_ampere", "parsec", "barn", "gauss", "dalton",
        "unified_atomic_mass_unit", "torr", "curie", "rem", "poise", "stokes", "arcsecond", "year", "molar",
        "force_kilogram", "meter_H2O", "meter_Hg", "oersted", "darcy", "baud", "dyne",
    }
)  # fmt: skip
_NO_DIMENSION = frozenset({"radian", "count"})


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
        factor = _rational_power(self.factor, exponent)
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


def ureg() -> Any:
    """Return the pint registry, built at the first call: exact (its numbers are Fractions), never shown unit text."""
    with _LOCK:
        return _registry()


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint

    registry: Any = pint.UnitRegistry(non_int_type=Fraction, on_redefinition="ignore")
    for line in _OWN.strip().splitlines():
        registry.define(line)
    registry._build_cache()  # pint has worked out the old definitions already
    return registry


@lru_cache(maxsize=4_096)
def read_unit(text: str) -> UnitValue:
    """Read unit text; empty text and 1 are the pure number.

    Raises UNKNOWN_UNIT (no such unit, or text that can be read in two ways) and LimitExceeded.
    """
    if len(text) > _LENGTH:
        raise LimitExceeded("size", f"a unit of {len(text)} characters, the bound is {_LENGTH}")
    with _LOCK:
        return _Reader(text).whole()


def dimension_text(unit: UnitValue) -> str:
    """Write the dimension, such as `[length]/[time]^2`; a pure number is `1`."""
    return _product_text([(_DIMENSIONS.get(name, name), n) for name, n in unit.dimensions])


def base_text(unit: UnitValue) -> str:
    """Write the SI base units of the dimension, such as `kg*m/s^2`; empty for a pure number."""
    text = _product_text([(_SYMBOLS.get(name, name), n) for name, n in unit.dimensions])
    return "" if text == "1" else text


_DIMENSIONS = {
    "kilogram": "[mass]", "meter": "[length]", "second": "[time]", "ampere": "[current]", "kelvin": "[temperature]",
    "mole": "[substance]", "candela": "[luminosity]", "bit": "[information]",
}  # fmt: skip
_SYMBOLS = {
    "kilogram": "kg", "meter": "m", "second": "s", "ampere": "A", "kelvin": "K", "mole": "mol", "candela": "cd",
    "bit": "bit",
}  # fmt: skip


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


def _rational_power(value: Fraction, exponent: Fraction) -> Fraction:
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


# ---- the grammar -----------------------------------------------------------------------------------------------------
_TOKEN = re.compile(
    r"\s*(?:(?P<ten>10\*\*?(?=[-+]?\d)|10\^(?=[-+]?\d))"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?![A-Za-z]))?)"
    r"|(?P<name>\[[A-Za-z_]+\]|m\[Hg\]|[%‰′″'\"]|[A-Za-zØø_][A-Za-z0-9Øø_]*)"
    r"|(?P<operator>\*\*|[-+*/.^()]))"
)


def _unknown(message: str, hint: str = "write it like m/s^2, J/mol/K or kg*m^2") -> ToolError:
    return ToolError("UNKNOWN_UNIT", message, hint)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        plain = _SUPERSCRIPTS.sub(lambda m: "^" + m[0].translate(_PLAIN), text.translate(_SIGNS)).strip()
        for sign, word in _LETTERS:
            plain = plain.replace(sign, word)
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(plain):
            match = _TOKEN.match(plain, position)
            if match is None:
                raise _unknown(f"{text!r}: unexpected {plain[position]!r}")
            kind = match.lastgroup or ""
            space = " " if match.start(kind) > position else ""
            self.tokens.append((space + kind, match[kind]))
            position = match.end()
        self.tokens.append(("end", ""))
        self.index = 0
        self.depth = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.index][0].strip()

    @property
    def word(self) -> str:
        return self.tokens[self.index][1]

    def whole(self) -> UnitValue:
        if self.kind == "end":
            return ONE
        unit = self.product()
        if self.kind != "end":
            raise _unknown(f"{self.text!r}: unexpected {self.word!r}")
        return unit

    def product(self) -> UnitValue:
        if self.kind == "operator" and self.word == "/":  # UCUM: /m is 1/m
            total = ONE
        else:
            total = self.factor()
        divided = False
        while True:
            if self.kind == "operator" and self.word in ("*", "."):
                if divided and self.word == ".":
                    raise _unknown(
                        f"{self.text!r}: a product after '/' can be read in two ways", "write J/(mol*K) or J/mol/K"
                    )
                self.index += 1
                total = total.times(self.factor())
            elif self.kind == "operator" and self.word == "/":
                self.index += 1
                divided = True
                total = total.times(self.factor().power(Fraction(-1)))
            elif self.kind in ("name", "number", "ten") or self.word == "(":
                if divided:
                    raise _unknown(
                        f"{self.text!r}: a product after '/' can be read in two ways", "write J/(mol*K) or J/mol/K"
                    )
                if self.word == "(" and not self.tokens[self.index][0].startswith(" "):
                    raise _unknown(f"{self.text!r}: a sign is missing before the bracket")
                if self.kind != "name" and self.word != "(":
                    raise _unknown(f"{self.text!r}: a number stands after a unit")
                total = total.times(self.factor())
            else:
                return total

    def factor(self) -> UnitValue:
        kind, word = self.kind, self.word
        self.index += 1
        if kind == "ten":
            return UnitValue(Fraction(10) ** self.exponent_digits(), ())
        if kind == "number":
            return UnitValue(self.number(word), ())
        if word == "(":
            self.depth += 1
            if self.depth > _DEPTH:
                raise LimitExceeded("depth", f"a unit nested deeper than {_DEPTH}")
            unit = self.product()
            if self.word != ")":
                raise _unknown(f"{self.text!r}: a bracket is not closed")
            self.index += 1
            self.depth -= 1
            return unit.power(self.exponent()) if self.has_exponent() else unit
        if kind != "name":
            raise _unknown(f"{self.text!r}: a unit was expected where {word or 'the end'!r} stands")
        unit, digits = _look_up(word, self.text)
        if digits is not None:
            if self.has_exponent():
                raise _unknown(f"{self.text!r}: two exponents in a row")
            return unit.power(Fraction(digits))
        return unit.power(self.exponent()) if self.has_exponent() else unit

    def number(self, word: str) -> Fraction:
        if self.kind == "name" and not self.tokens[self.index][0].startswith(" ") and self.word[0] in "eE":
            raise _unknown(f"{self.text!r}: the number {word}{self.word} cannot be read")
        exponent = word.lower().partition("e")[2]
        if len(word) > 40 or abs(int(exponent or 0)) > _DECIMAL_EXPONENT:
            raise LimitExceeded(
                "size", f"the number {word[:20]} in a unit is beyond the bounds", "put it into the value"
            )
        value = Fraction(word)
        if value == 0:
            raise _unknown(f"{self.text!r}: a unit has no factor 0")
        if self.kind == "number" or (self.kind == "operator" and self.word in ("*", "^", "**", "+", "-")):
            following = self.tokens[self.index + 1][0].strip() if self.index + 1 < len(self.tokens) else ""
            if self.word != "*" or following in ("number", "ten"):
                raise _unknown(f"{self.text!r}: arithmetic with numbers is not read in a unit")
        return value

    def has_exponent(self) -> bool:
        kind, word = self.tokens[self.index]
        if kind == "operator" and word in ("^", "**"):
            return True
        return kind == "operator" and word in ("-", "+") and self.tokens[self.index + 1][0] == "number"

    def exponent(self) -> Fraction:
        if self.word in ("^", "**"):
            self.index += 1
        if self.word == "(":
            self.index += 1
            top = self.exponent_digits()
            bottom = 1
            if self.word == "/":
                self.index += 1
                bottom = self.exponent_digits()
            if self.word != ")" or not bottom:
                raise _unknown(f"{self.text!r}: an exponent is a number such as 2, -1 or (1/2)")
            self.index += 1
            return self.bounded(Fraction(top, bottom))
        return self.bounded(Fraction(self.exponent_digits(decimals=True)))

    def exponent_digits(self, *, decimals: bool = False) -> Any:
        sign = 1
        if self.word in ("-", "+"):
            sign = -1 if self.word == "-" else 1
            self.index += 1
        word = self.word
        if (
            self.kind != "number"
            or len(word) > 7
            or not (word.isdigit() or (decimals and word.replace(".", "").isdigit()))
        ):
            raise _unknown(f"{self.text!r}: an exponent is a number such as 2, -1 or (1/2)")
        self.index += 1
        value = sign * Fraction(word)
        self.bounded(value)
        return value if decimals else int(value)

    def bounded(self, value: Fraction) -> Fraction:
        if abs(value) > _EXPONENT or value.denominator > 12:
            raise LimitExceeded("size", f"{self.text!r}: exponents go up to {_EXPONENT}", "write plain units")
        return value


# ---- names -----------------------------------------------------------------------------------------------------------
def _look_up(word: str, text: str) -> tuple[UnitValue, int | None]:
    """Return the unit of a name, and the exponent that stands as digits at its end (`m2`), if any."""
    if word == "m[Hg]":
        return UnitValue(_MERCURY, (("kilogram", Fraction(1)), ("meter", Fraction(-1)), ("second", Fraction(-2)))), None
    if word in _AMBIGUOUS:
        raise _unknown(f"{word!r} can be read in two ways", f"write {_AMBIGUOUS[word]}")
    name = _SPELLINGS.get(word, word)
    found = _named(name)
    if found is not None:
        return found, None
    stem = name.rstrip("0123456789")
    if stem and stem != name and len(name) - len(stem) <= 2 and stem not in _AMBIGUOUS:
        found = _named(_SPELLINGS.get(stem, stem))
        if found is not None:
            digits = int(name[len(stem) :])
            if 0 < digits <= _EXPONENT:
                return found, digits
    raise _unknown(f"there is no unit {word!r}" + (f" in {text!r}" if text != word else ""), _near(word))


def _near(word: str) -> str:
    from difflib import get_close_matches

    names = sorted(name for name in _registry()._units if name.isascii() and len(name) > 1)
    close = get_close_matches(word, names, 3, 0.75)
    return f"did you mean {', '.join(close)}?" if close else "write it like m/s^2, J/mol/K or kg*m^2"


@lru_cache(maxsize=2_048)
def _named(name: str) -> UnitValue | None:
    registry = _registry()
    if not name or name.startswith("delta_"):
        return None
    candidates = registry.parse_unit_name(name)
    fitting = [candidate for candidate in candidates if _is_plain(candidate[0], candidate[1], candidate[2], name)]
    if not fitting:
        return None
    prefix, canonical, _ = fitting[0]
    definition = registry._units[canonical]
    if definition.is_logarithmic:
        raise _unknown(f"{name!r} is a logarithmic unit; such are not converted here", "write the ratio with log")
    factor, root = registry.get_root_units(prefix + canonical)
    if isinstance(factor, float):
        raise _unknown(f"{name!r} has no exact factor to SI", "use an SI unit")
    scale = not definition.is_multiplicative
    if scale and prefix:
        raise _unknown(f"a prefix before the temperature scale {canonical} is not read")
    offset = Fraction(definition.converter.offset) if scale else Fraction(0)
    return _in_si(Fraction(factor), root, offset, canonical, registry)


def _is_plain(prefix: str, canonical: str, suffix: str, name: str) -> bool:
    """Tell whether a reading is one that people mean.

    The plural s goes with words, never with symbols (Pas, Ns); short prefixes go with units that take them (amps is no
    attometre per second).
    """
    if prefix and not name.startswith(prefix) and canonical not in _PREFIXED:
        return False
    if not suffix or name in _PLURALS:
        return True
    stem = name[: -len(suffix)]
    return len(stem) > 3 and stem == stem.lower() and stem != _registry()._units[canonical].defined_symbol


def _in_si(factor: Fraction, root: Any, offset: Fraction, canonical: str, registry: Any) -> UnitValue:
    dimensions: dict[str, Fraction] = {}
    angle = Fraction(0)
    for base, power in root._units.items():
        exponent = Fraction(power)
        if base == "gram":
            factor *= _rational_power(Fraction(1, 1000), exponent)
            base = "kilogram"
        if base == "radian":
            angle = exponent
        if base not in _NO_DIMENSION:
            dimensions[base] = exponent
    is_scale = canonical.startswith("degree_") and dimensions == {"kelvin": 1} and canonical != "degree_Rankine"
    return UnitValue(
        factor,
        tuple(sorted(dimensions.items())),
        offset,
        angle,
        canonical == "hertz",
        not _is_measured(canonical, registry),
        is_scale,
    )


def _is_measured(canonical: str, registry: Any, depth: int = 0) -> bool:
    if canonical in _MEASURED:
        return True
    definition = registry._units.get(canonical)
    if definition is None or definition.is_base or depth > 12:
        return False
    names = [registry.parse_unit_name(part) for part in definition.reference or ()]
    return any(_is_measured(found[0][1], registry, depth + 1) for found in names if found)
