"""The names of units: one registry of pint, the spellings beside it, and what each name is in SI base units.

Names that people read in two ways, such as `kb`, are refused. Acre, furlong, rod, chain, fathom and league are those of
the international foot; gauss, oersted and maxwell correspond to their SI units.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import ToolError
from maven_env.tools.units.unit_values import UnitValue, rational_power

EXPONENT = 24  # |exponent| of a unit
LOCK = threading.RLock()
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


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint

    registry: Any = pint.UnitRegistry(non_int_type=Fraction, on_redefinition="ignore")
    for line in _OWN.strip().splitlines():
        registry.define(line)
    registry._build_cache()  # pint has worked out the old definitions already
    return registry


def unknown_unit(message: str, hint: str = "write it like m/s^2, J/mol/K or kg*m^2") -> ToolError:
    return ToolError("UNKNOWN_UNIT", message, hint)


def look_up(word: str, text: str) -> tuple[UnitValue, int | None]:
    """Return the unit of a name, and the exponent that stands as digits at its end (`m2`), if any."""
    if word == "m[Hg]":
        return UnitValue(_MERCURY, (("kilogram", Fraction(1)), ("meter", Fraction(-1)), ("second", Fraction(-2)))), None
    if word in _AMBIGUOUS:
        raise unknown_unit(f"{word!r} can be read in two ways", f"write {_AMBIGUOUS[word]}")
    name = _SPELLINGS.get(word, word)
    found = _named(name)
    if found is not None:
        return found, None
    stem = name.rstrip("0123456789")
    if stem and stem != name and len(name) - len(stem) <= 2 and stem not in _AMBIGUOUS:
        found = _named(_SPELLINGS.get(stem, stem))
        if found is not None:
            digits = int(name[len(stem) :])
            if 0 < digits <= EXPONENT:
                return found, digits
    raise unknown_unit(f"there is no unit {word!r}" + (f" in {text!r}" if text != word else ""), _near(word))


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
        raise unknown_unit(f"{name!r} is a logarithmic unit; such are not converted here", "write the ratio with log")
    factor, root = registry.get_root_units(prefix + canonical)
    if isinstance(factor, float):
        raise unknown_unit(f"{name!r} has no exact factor to SI", "use an SI unit")
    scale = not definition.is_multiplicative
    if scale and prefix:
        raise unknown_unit(f"a prefix before the temperature scale {canonical} is not read")
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
            factor *= rational_power(Fraction(1, 1000), exponent)
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
