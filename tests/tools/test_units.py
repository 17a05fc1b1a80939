"""Facts about units, constants and quantities."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.errors import ToolError
from maven_env.expressions.balls import nearest_double
from maven_env.tools.units.constants import constant, names
from maven_env.tools.units.unit_text import read_unit

TRUTH = Path(__file__).parents[3] / "shared" / "truth"


@pytest.mark.parametrize(
    ("value", "source", "target", "kind", "expected", "exact"),
    [
        ("90", "rpm", "rad/s", "absolute", 3 * math.pi, "3*pi"),
        ("20", "degree", "radian", "absolute", math.pi / 9, "pi/9"),
        ("25", "degC", "K", "absolute", 298.15, "5963/20"),
        ("10", "degC", "K", "difference", 10.0, "10"),
        ("10", "degC", "degF", "absolute", 50.0, "50"),
        ("25 - 10", "K", "degF", "difference", 27.0, "27"),
        ("1", "J/degC", "J/K", "difference", 1.0, "1"),
        ("1", "acre", "m^2", "absolute", 4046.8564224, "316160658/78125"),
        ("1", "inch", "cm", "absolute", 2.54, "127/50"),
    ],
)
def test_conversions_are_exact(
    call: Any, value: str, source: str, target: str, kind: str, expected: float, exact: str
) -> None:
    output = call("unit_convert", value=value, from_unit=source, to_unit=target, kind=kind).output
    assert output == {"value": expected, "unit": target, "exact": exact}


@pytest.mark.parametrize(
    ("value", "source", "target", "code"),
    [
        ("1", "m", "s", "UNIT_MISMATCH"), ("1", "J/degC", "J/K", "UNIT_MISMATCH"),
        ("-300", "degC", "K", "DOMAIN_ERROR"),
        ("1", "Hz", "rad/s", "UNIT_MISMATCH"), ("60", "rpm", "Hz", "UNIT_MISMATCH"), ("8", "bit", "", "UNIT_MISMATCH"),
        ("1", "xyz", "m", "UNKNOWN_UNIT"), ("x", "m", "km", "UNKNOWN_SYMBOL"),
    ],
)  # fmt: skip
def test_conversions_without_meaning_are_refused(call: Any, value: str, source: str, target: str, code: str) -> None:
    assert call("unit_convert", value=value, from_unit=source, to_unit=target).error.code == code


@pytest.mark.parametrize(
    "text", ["W/m^2 K", "kb", "Mb", "mb", "Pas", "Ns", "Vs", "dB", "m^m", "m 2", "10+6/L", "mg(12.h)", "J/mol.K"]
)
def test_text_that_is_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_unit(text)
    assert caught.value.code == "UNKNOWN_UNIT"


@pytest.mark.parametrize(
    "text", ["m**9999999", "1e999 m", "((((km^24)^24)^24)^24)", "(" * 9 + "m" + ")" * 9, "m" * 300]
)
def test_huge_unit_text_is_bounded(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_unit(text)
    assert caught.value.code in ("LIMIT_EXCEEDED", "UNKNOWN_UNIT")


@pytest.mark.parametrize("text", ["__import__('os')", "a.__class__", "m; import os", "lambda: 0", "\x00", "m\n+s"])
def test_code_is_no_unit(text: str) -> None:
    with pytest.raises(ToolError):
        read_unit(text)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("kΩ", "kohm"),
        ("µm", "um"),
        ("W/m²/K", "W/(m^2*K)"),
        ("m s⁻²", "m/s^2"),
        ("kg.m2.s-3", "kg*m^2/s^3"),
        ("amps", "ampere"),
    ],
)
def test_spellings_of_one_unit_agree(first: str, second: str) -> None:
    assert read_unit(first) == read_unit(second)


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(min_value=-1000, max_value=1000, max_denominator=1000),
    st.sampled_from([("km/h", "m/s"), ("psi", "kPa"), ("kWh", "MJ"), ("acre", "ft^2"), ("gallon", "L"), ("eV", "J")]),
)
def test_there_and_back_is_exact(value: Fraction, units: tuple[str, str]) -> None:
    first, second = (read_unit(unit) for unit in units)
    there = value * first.factor / second.factor
    assert there * second.factor / first.factor == value


@pytest.mark.parametrize(
    ("name", "value", "unit"),
    [("c", 299792458.0, "m/s"), ("R", 8.31446261815324, "J/mol/K"), ("hbar", 1.0545718176461565e-34, "J*s"),
     ("G", 6.6743e-11, "m^3/kg/s^2"), ("eps0", 8.8541878188e-12, "F/m"), ("Speed of Light", 299792458.0, "m/s")],
)  # fmt: skip
def test_constants_are_those_of_2022(call: Any, name: str, value: float, unit: str) -> None:
    artifact = call("physical_constant", name=name)
    assert (artifact.output["value"], artifact.output["unit"]) == (value, unit)
    assert artifact.diagnostics["codata_year"] == 2022


def test_every_constant_can_be_read_and_has_a_unit() -> None:
    for name in names():
        found = constant(name)
        assert found is not None
        assert math.isfinite(nearest_double(found.value))
        read_unit(found.unit)


def test_an_unknown_constant_lists_near_ones(call: Any) -> None:
    error = call("physical_constant", name="Bolzmann constant").error
    assert error.code == "UNKNOWN_CONSTANT"
    assert "Boltzmann constant" in error.hint


def test_quantities_carry_their_dimensions(call: Any) -> None:
    quantities = {"Q": "8.5 kW", "U": "300 W/m^2/K", "L": "33.3 K"}
    output = call("quantity_eval", expr="Q/(U*L)", quantities=quantities, to_unit="m^2").output
    assert output == {"value": 8500 / (300 * 33.3), "unit": "m^2", "dimension": "[length]^2"}


@pytest.mark.parametrize(
    ("expr", "quantities", "code"),
    [
        ("m+v", {"m": "2 kg", "v": "36 km/h"}, "UNIT_MISMATCH"), ("exp(t)", {"t": "2 s"}, "UNIT_MISMATCH"),
        ("p/T", {"p": "1 atm", "T": "25 degC"}, "UNIT_MISMATCH"), ("a*b", {"a": "1 m"}, "UNKNOWN_SYMBOL"),
        ("a", {"a": "m"}, "BAD_INPUT"), ("a", {"a": "2 3 m"}, "BAD_INPUT"),
        ("a^x", {"a": "1 m", "x": "sqrt(2)"}, "BAD_INPUT"),
    ],
)  # fmt: skip
def test_quantities_that_do_not_fit_are_refused(call: Any, expr: str, quantities: Any, code: str) -> None:
    assert call("quantity_eval", expr=expr, quantities=quantities).error.code == code


@pytest.mark.skipif(not TRUTH.exists(), reason="the published cases are not here")
def test_no_invalid_ucum_unit_is_accepted() -> None:
    for item in json.loads((TRUTH / "units_ucum_validity.json").read_text())["items"]:
        if not item["valid"]:
            with pytest.raises(ToolError):
                read_unit(item["unit"])
