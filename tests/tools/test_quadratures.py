"""Facts about definite integrals as numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.expressions import parse
from maven_env.tools.numeric.certify import definite_integral, diverges


@pytest.mark.parametrize(
    ("expr", "low", "high", "value"),
    [
        ("exp(-(x-116)^2/(2*3.81^2))/(3.81*sqrt(2*pi))", "0", "oo", 1.0),  # scipy issue 17443
        ("x^(-3)", "100", "10^7", 0.000049999999995),  # scipy issue 5428
        ("sqrt(1-x)*log(1-x)", "0", "1", -4 / 9),  # sympy issue 30404
        ("Abs(sin(2*x))", "0", "2*pi", 4.0),  # sympy issue 30319
        ("sqrt(cos(x)^2)*cos(x)/(sin(x)^2+1)", "-pi/2", "pi/2", math.pi * (math.sqrt(2) - 1)),  # sympy issue 27050
        ("sin(x)/x", "0", "oo", math.pi / 2),
        ("cos(x^2)", "0", "oo", math.sqrt(math.pi / 8)),
        ("log(x)/(1+x^2)", "0", "oo", 0.0),
        ("exp(-x^2)", "oo", "-oo", -math.sqrt(math.pi)),
        ("1/sqrt(x*(1-x))", "0", "1", math.pi),
        ("floor(x*floor(x))", "0", "10", 303.0),
    ],
)
def test_known_integrals_come_out_to_the_last_digits(call: Any, expr: str, low: str, high: str, value: float) -> None:
    artifact = call("quadrature", expr=expr, wrt="x", limits=[low, high])
    assert artifact.output["value"] == pytest.approx(value, rel=1e-14, abs=1e-15)


def test_a_complex_integrand_on_its_branch_cut_is_integrated(call: Any) -> None:
    output = call("quadrature", expr="sqrt(1-x)/x", wrt="x", limits=["3", "5"]).output  # sympy issue 12221
    assert output["value"] == [0.0, pytest.approx(0.86790867591464745, rel=1e-14)]


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        ("1/x^2", "0", "1"), ("1/x", "-1", "1"), ("tan(x)", "0", "pi"), ("exp(x)", "0", "oo"), ("1/(x-2)^2", "1", "3"),
        ("1/(x*log(x))", "2", "oo"), ("sin(x)^2/x", "1", "oo"), ("1/(exp(x)-exp(1))", "0", "2"),
        ("gamma(x)", "-1/2", "1/2"),
    ],
)  # fmt: skip
def test_divergent_integrals_are_said_to_diverge(call: Any, expr: str, low: str, high: str) -> None:
    assert call("quadrature", expr=expr, wrt="x", limits=[low, high]).error.code == "DIVERGENT"


def test_slow_convergence_is_never_called_divergence() -> None:
    assert diverges(parse("x^(-0.9999)"), "x", parse("0"), parse("1")) is not True
    assert diverges(parse("1/(x*log(x)^2)"), "x", parse("0"), parse("1/2")) is not True


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(-3, 6))
def test_powers_at_an_end_match_their_antiderivative(p: int, q: int, k: int) -> None:
    """The integral of x^(p/q - 1) (1 + x)^k over (0, 1), by the binomial sum where k >= 0."""
    found = definite_integral(parse(f"x^({p}/{q} - 1)*(1+x)^{max(k, 0)}"), "x", parse("0"), parse("1"))
    assert found is not None
    exact = sum(math.comb(max(k, 0), j) / (p / q + j) for j in range(max(k, 0) + 1))
    assert abs(complex(found[0]) - exact) <= max(found[1], 1e-14 * exact)


def test_the_order_of_limits_gives_the_sign(call: Any) -> None:
    there = call("quadrature", expr="sqrt(x)", wrt="x", limits=["0", "4"]).output["value"]
    back = call("quadrature", expr="sqrt(x)", wrt="x", limits=["4", "0"]).output["value"]
    assert there == -back == pytest.approx(16 / 3, rel=1e-15)


def test_a_double_integral_has_the_innermost_variable_first(call: Any) -> None:
    artifact = call("quadrature", expr="x*y", wrt=["x", "y"], limits=[["x", "0", "y"], ["y", "0", "1"]])
    assert artifact.output["value"] == pytest.approx(0.125, rel=1e-13)


def test_a_peak_that_a_double_rule_may_miss_is_declined(call: Any) -> None:
    limits = [["x", "-1", "1"], ["y", "-1", "1"]]
    artifact = call("quadrature", expr="exp(-1e6*((x-0.123)^2+(y-0.456)^2))", wrt=["x", "y"], limits=limits)
    assert artifact.error.code == "NO_CONVERGENCE"


@pytest.mark.parametrize(
    ("expr", "low", "high", "pole", "value"),
    [
        ("1/x", "-1", "2", "0", math.log(2)),
        ("exp(x)/x", "-1", "1", "0", 2.1145017507514570),
        ("tan(x)", "0", "pi", "pi/2", 0.0),
    ],
)
def test_principal_values(call: Any, expr: str, low: str, high: str, pole: str, value: float) -> None:
    given_input = {"expr": expr, "wrt": "x", "limits": [low, high], "kind": "principal_value", "pole": pole}
    artifact = call("quadrature_singular", **given_input)
    assert artifact.output["value"] == pytest.approx(value, abs=1e-14)
    assert artifact.diagnostics["is_principal_value"] is True


def test_a_double_pole_has_no_principal_value(call: Any) -> None:
    given_input = {"expr": "1/x^2", "wrt": "x", "limits": ["-1", "1"], "kind": "principal_value", "pole": "0"}
    assert call("quadrature_singular", **given_input).error.code == "DIVERGENT"


def test_oscillating_tails_are_turned_into_the_plane(call: Any) -> None:
    limits = {"wrt": "x", "limits": ["0", "oo"], "kind": "oscillatory", "omega": 3}
    value = call("quadrature_singular", expr="cos(3*x)/(x^2+1)", **limits).output["value"]
    assert value == pytest.approx(math.pi * math.exp(-3) / 2, rel=1e-14)


def test_other_symbols_and_bad_limits_are_refused(call: Any) -> None:
    assert call("quadrature", expr="a*x", wrt="x", limits=["0", "1"]).error.code == "UNKNOWN_SYMBOL"
    assert call("quadrature", expr="x", wrt="x", limits=["0"]).error.code == "BAD_INPUT"
    assert call("quadrature", expr="x", wrt=["x", "y"], limits=["0", "1"]).error.code == "BAD_INPUT"
