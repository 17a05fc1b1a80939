"""Units and constants of nature: conversion, CODATA values, and expressions whose symbols carry units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Annotated, Any, Literal

from maven_env.errors import BadReference, ToolError
from maven_env.expressions import Node, Number, Product, free_symbols, parse, rational_value, replace, to_text
from maven_env.expressions.balls import nearest_double
from maven_env.references import PATTERN, is_reference
from maven_env.tools.kinds import TEXT_SCHEMA, Exact, Expr, Kind, Resolve, Text, Unit, bad_input, describe
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.units.constants import YEAR, constant, names
from maven_env.tools.units.dimensions import dimension_of
from maven_env.tools.units.unit_text import read_unit
from maven_env.tools.units.unit_values import ONE, UnitValue, base_text, dimension_text
from maven_env.types import Json

# 50 digits of pi as the registry has them, by which exact multiples of pi are recognised again.
_PI = Fraction("3.1415926535897932384626433832795028841971693993751")


def mismatch(first: UnitValue, second: UnitValue, names: tuple[str, str]) -> ToolError:
    what = f"{names[0] or '1'} is {dimension_text(first)}, {names[1] or '1'} is {dimension_text(second)}"
    return ToolError("UNIT_MISMATCH", f"the dimensions differ: {what}", "check the formula or the unit")


@tool(kind="units", tier=0, near=("quantity_eval",), backend=("pint", "python-flint"))
def unit_convert(
    value: Exact, from_unit: Unit, to_unit: Unit, kind: Literal["absolute", "difference"] = "absolute"
) -> ToolResult:
    """Convert a quantity to another unit, exactly.

    A temperature difference of 10 degC is 10 K, an absolute 10 degC is 283.15 K: kind decides. Hz counts cycles and
    is not converted to rad/s: use rpm, or multiply by 2*pi.

    Args:
        value: magnitude, a number or an expression without symbols such as "${given.output.Ti} - ${given.output.Ta}"
        from_unit: unit of the value, such as km/h, kWh, degC, J/(mol*K)
        to_unit: unit wanted
        kind: for temperatures: a point on the scale (absolute), or a difference

    Returns:
        value (number): the converted magnitude, correctly rounded
        unit (unit): the unit wanted
        exact (text): the converted magnitude exactly, where value and units are exact

    Diagnostics:
        dimension: dimension of both units
        affine: whether the zeros of two temperature scales came in

    Raises:
        UNIT_MISMATCH: the dimensions differ, or a temperature scale stands inside a product
        UNKNOWN_UNIT: no such unit, or text that can be read in two ways
        DOMAIN_ERROR: a temperature below absolute zero

    Example:
        {"value": "90", "from_unit": "rpm", "to_unit": "rad/s"}
    """
    source, target = read_unit(from_unit), read_unit(to_unit)
    if source.dimensions != target.dimensions:
        raise mismatch(source, target, (from_unit, to_unit))
    if (source.hertz or target.hertz) and source.angle != target.angle:
        hint = "1 Hz is 2*pi rad/s for a rotation: multiply by 2*pi yourself"
        raise ToolError("UNIT_MISMATCH", f"{from_unit} to {to_unit}: Hz counts cycles, the other unit angles", hint)
    affine = kind == "absolute" and (source.is_scale or target.is_scale)
    if affine and not all(unit.is_scale or _is_temperature(unit) for unit in (source, target)):
        raise _scale_in_product(from_unit if target.is_scale else to_unit)
    if kind == "absolute" and (source.has_scale or target.has_scale):
        raise _scale_in_product(from_unit if source.has_scale else to_unit)
    scale = source.factor / target.factor
    shift = (source.offset - target.offset) / target.factor if affine else Fraction(0)
    result = _linear(value, scale, shift)
    if affine and nearest_double(_linear(value, source.factor, source.offset)) < 0:
        raise ToolError(
            "DOMAIN_ERROR", f"{to_text(value)} {from_unit} lies below absolute zero", "or is it a difference?"
        )
    output: dict[str, Any] = {"value": nearest_double(result), "unit": to_unit}
    known = rational_value(value)
    if source.exact and target.exact and known is not None:
        output["exact"] = _exact(known, scale, shift)
    return ToolResult(output, {"dimension": dimension_text(source), "affine": affine})


def _is_temperature(unit: UnitValue) -> bool:
    return unit.dimensions == (("kelvin", Fraction(1)),)


def _scale_in_product(unit: str) -> ToolError:
    hint = 'inside a product only differences make sense: give kind "difference", or convert the temperature to K first'
    return ToolError("UNIT_MISMATCH", f"{unit}: a temperature scale with an offset stands inside a product", hint)


def _linear(value: Node, scale: Fraction, shift: Fraction) -> Node:
    exact = rational_value(value)
    if exact is not None:
        return _number(exact * scale + shift)
    product = Product((value, _number(scale)))
    return parse(f"{to_text(product)} + ({shift})") if shift else product


def _exact(value: Fraction, scale: Fraction, shift: Fraction) -> str:
    """Write the result with pi as a symbol where the factor is a small multiple of it."""
    for power in (1, -1, 2, -2):
        rest = scale / _PI**power
        if rest.denominator.bit_length() + rest.numerator.bit_length() < 100 < scale.denominator.bit_length():
            pi = "pi" if abs(power) == 1 else "pi^2"
            top, bottom = (value * rest).numerator, (value * rest).denominator
            if power > 0:
                return (pi if top == 1 else f"{top}*{pi}") + (f"/{bottom}" if bottom != 1 else "")
            return f"{top}/({bottom}*{pi})"
    return str(value * scale + shift)


def _number(value: Fraction) -> Node:
    return Number(value)


@tool(kind="units", tier=0, near=("quantity_eval",), backend=("python-flint",))
def physical_constant(name: Text) -> ToolResult:
    """Look up a constant of nature: CODATA 2022 value, unit and uncertainty.

    R is per mole: dividing by a molar mass is a separate step. Symbols are case-sensitive: G is gravitation, g is
    standard gravity.

    Args:
        name: symbol or name, such as c, h, hbar, k_B, N_A, R, e, eps0, mu0, G, sigma_SB, m_e, m_p, u, g_n, Bohr radius

    Returns:
        value (number): value in the unit
        unit (unit): SI unit
        uncertainty (number): standard uncertainty, 0 if exact

    Diagnostics:
        name: name of the constant in full
        exact: whether the value is exact by definition
        codata_year: year of the adjustment

    Raises:
        UNKNOWN_CONSTANT: no constant of that name

    Example:
        {"name": "R"}
    """
    wanted = " ".join(name.split())
    found = constant(wanted)
    if found is None:
        near = get_close_matches(wanted, names(), 4, 0.6)
        hint = f"did you mean {', '.join(near)}?" if near else "such as c, h, k_B, N_A, R, e, eps0, G, m_e, u"
        raise ToolError("UNKNOWN_CONSTANT", f"there is no constant {name[:60]!r}", hint)
    return ToolResult(
        {"value": nearest_double(found.value), "unit": found.unit, "uncertainty": found.uncertainty},
        {"name": found.name, "exact": found.uncertainty == 0, "codata_year": YEAR},
    )


# ---- expressions with units ------------------------------------------------------------------------------------------
_QUANTITY = re.compile(
    r"^\s*(?P<number>[-+]?\s*(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|pi|\((?P<inner>.*?)\))"
    r"(?:\s*(?:\*\s*10\s*(?:\^|\*\*)\s*\(?[-+]?\d+\)?|[*/]\s*(?:\d+(?:\.\d*)?|pi)(?![\w^])))*)"
    r"(?P<star>\s*\*)?\s*(?P<unit>.*)$"
)


def split_quantity(text: str) -> tuple[Node, str]:
    """Split `9.81 m/s^2` into its number, an exact expression, and its unit. Raises BAD_INPUT."""
    match = _QUANTITY.match(_closed_bracket(text))
    if match is None:
        raise bad_input(
            f"expected a number with a unit, got {text[:60]!r}", 'write it as "9.81 m/s^2"; a pure number alone'
        )
    number = parse(match["number"].replace("\x00", ")"))
    if free_symbols(number):
        raise bad_input(f"the number of the quantity {text[:60]!r} has symbols", 'write it as "9.81 m/s^2"')
    if match["unit"][:1].isdigit() or (match["star"] and not match["unit"]):
        raise bad_input(f"the quantity {text[:60]!r} cannot be read", 'write it as "9.81 m/s^2"')
    return number, match["unit"].strip()


def _closed_bracket(text: str) -> str:
    """Hide inner closing brackets of a leading group, so that the pattern finds the outer one."""
    lead = len(text) - len(text.lstrip(" +-"))
    if text[lead : lead + 1] != "(":
        return text
    depth, characters = 0, list(text)
    for i in range(lead, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if text[i] == ")":
            if depth == 0:
                break
            characters[i] = "\x00"
    return "".join(characters)


def _read_quantity(value: Json, resolve: Resolve) -> tuple[Node, str]:
    """Read `number unit`, a number, {"value", "unit"}, or references to such, whole or inside the text."""
    if is_reference(value):
        value = resolve(value.strip()[2:-1])
    if isinstance(value, Mapping) and set(value) == {"value", "unit"}:
        number, unit = value["value"], value["unit"]
        if isinstance(unit, str):
            return split_quantity(f"({number}) {unit}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return split_quantity(f"({value!r})")
    if not isinstance(value, str):
        raise bad_input(f"expected a quantity as text, got {describe(value)}", 'write it as "9.81 m/s^2"')

    def put(match: re.Match[str]) -> str:
        found = resolve(match[1])
        if isinstance(found, Mapping) and set(found) == {"value", "unit"}:
            return f"({found['value']}) {found['unit']}"
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise BadReference(
                f"${{{match[1]}}} is {describe(found)}, no number", "refer to one element or field of it"
            )
        is_unit = match[1].rpartition(".")[2] == "unit" or ".units." in f".{match[1]}."
        return str(found) if is_unit else f"({found})"

    return split_quantity(PATTERN.sub(put, value))


QUANTITY = Kind(
    "quantity",
    {"anyOf": [{"type": "number"}, TEXT_SCHEMA]},
    _read_quantity,
    lambda quantity: f"({to_text(quantity[0])}) {quantity[1]}".strip(),
)
Quantity = Annotated[tuple[Node, str], QUANTITY]


@tool(
    kind="units",
    tier=0,
    near=("evaluate_numeric", "unit_convert"),
    backend=("pint", "python-flint"),
    evaluates=True,
)
def quantity_eval(expr: Expr, quantities: dict[str, Quantity], to_unit: Unit | None = None) -> ToolResult:
    """Evaluate an expression whose symbols carry units; dimensions are enforced.

    Arguments of exp, log and sin must be pure numbers or angles. Temperature scales with an offset (degC, degF) are
    refused: convert to K first. Numbers in the expression are pure.

    Args:
        expr: expression
        quantities: each symbol as "number unit", such as {"m": "2 kg", "v": "36 km/h", "n": "3"}
        to_unit: unit of the result; SI base units if it is left out

    Returns:
        value (number): magnitude, correctly rounded
        unit (unit): its unit
        dimension (text): its dimension, such as [mass]*[length]^2/[time]^2

    Diagnostics:
        dimensionless_arguments_ok: always true: functions had pure arguments
        converted: whether the result was converted to the unit asked for

    Raises:
        UNIT_MISMATCH: terms of different dimension, a function of a dimension, or another unit than asked for
        UNKNOWN_SYMBOL: a symbol has no quantity
        UNKNOWN_UNIT: no such unit, or text that can be read in two ways
        DOMAIN_ERROR: the value is not real or not defined

    Example:
        {"expr": "m*v^2/2", "quantities": {"m": "2 kg", "v": "36 km/h"}, "to_unit": "J"}
    """
    missing = sorted(free_symbols(expr) - set(quantities))
    if missing:
        known = ", ".join(quantities) or "none"
        raise ToolError("UNKNOWN_SYMBOL", f"no quantity for {', '.join(missing)}", f"known: {known}")
    units = {name: read_unit(unit) for name, (_, unit) in quantities.items()}
    for name in sorted(free_symbols(expr)):
        if units[name].is_scale:
            raise _scale_in_product(f"{name} in {quantities[name][1]}")
    pure = {name: quantities[name][0] for name, unit in units.items() if unit == ONE}
    expr = replace(expr, pure)
    total = dimension_of(expr, units)
    values = {name: _linear(number, units[name].factor, Fraction(0)) for name, (number, _) in quantities.items()}
    target = ONE if to_unit is None else read_unit(to_unit)
    if to_unit is not None:
        if target.dimensions != total.dimensions:
            raise mismatch(total, target, ("the result", to_unit))
        if target.is_scale:
            raise _scale_in_product(to_unit)
    result = _linear(replace(expr, values), 1 / target.factor, Fraction(0))
    return ToolResult(
        {
            "value": nearest_double(result),
            "unit": base_text(total) if to_unit is None else to_unit,
            "dimension": dimension_text(total),
        },
        {"dimensionless_arguments_ok": True, "converted": to_unit is not None},
    )
