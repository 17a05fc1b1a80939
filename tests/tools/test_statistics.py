"""Regression to all certified digits, and uncertainties."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.tools.registry import find
from maven_env.types import Artifact

Call = Callable[..., Artifact]

# NIST StRD Norris, Wampler1 and Wampler5, public domain
NORRIS_X = """
0.2 337.4 118.2 884.6 10.1 226.5 666.3 996.3 448.6 777 558.2 0.4 0.6 775.5 666.9 338 447.5 11.6 556 228.1
995.8 887.6 120.2 0.3 0.3 556.8 339.1 887.2 999 779 11.1 118.3 229.2 669.1 448.9 0.5
"""
NORRIS_Y = """
0.1 338.8 118.1 888 9.2 228.1 668.5 998.5 449.1 778.9 559.2 0.3 0.1 778.1 668.8 339.3 448.9 10.8 557.7 228.3
998 888.8 119.6 0.3 0.6 557.6 339.3 888 998.5 778.9 10.2 117.6 228.9 668.4 449.2 0.2
"""
WAMPLER1_Y = [sum(x**k for k in range(6)) for x in range(21)]
POWERS = [[x**k for k in range(1, 6)] for x in range(21)]


def run(tool_id: str, **given: Any) -> Any:
    spec = find(tool_id)
    arguments, _ = spec.read(given, lambda body: None)
    return spec.run(arguments).output


def test_norris_has_every_certified_digit(call: Call) -> None:
    artifact = call("linear_regression", x=NORRIS_X.split(), y=NORRIS_Y.split())
    assert artifact.output["intercept"] == pytest.approx(-0.262323073774029, rel=1e-14)
    assert artifact.output["slope"] == pytest.approx(1.00211681802045, rel=1e-14)
    assert artifact.output["stderr_intercept"] == pytest.approx(0.232818234301152, rel=1e-14)
    assert artifact.output["stderr_slope"] == pytest.approx(0.429796848199937e-03, rel=1e-14)
    assert artifact.output["r_squared"] == pytest.approx(0.999993745883712, rel=1e-14)
    assert artifact.diagnostics["residual_std"] == pytest.approx(0.884796396144373, rel=1e-14)


def test_wampler_is_solved_without_error(call: Call) -> None:
    artifact = call("linear_regression", x=POWERS, y=WAMPLER1_Y)
    assert artifact.output["intercept"] == 1.0
    assert artifact.output["slope"] == [1.0] * 5
    assert artifact.output["stderr_slope"] == [0.0] * 5
    assert artifact.diagnostics["condition_number"] > 1e6


def test_a_line_through_the_origin_has_an_uncentred_r_squared(call: Call) -> None:
    artifact = call("linear_regression", x=[4, 5, 6], y=[3, 4, 4], intercept=False)  # NIST NoInt2
    assert artifact.output["slope"] == pytest.approx(0.727272727272727, rel=1e-14)
    assert artifact.output["r_squared"] == pytest.approx(0.993348115299335, rel=1e-14)
    assert artifact.output["stderr_intercept"] is None


def test_constant_data_have_slope_zero_and_no_r_squared(call: Call) -> None:
    # scipy issue 25339
    artifact = call("linear_regression", x=list(range(661)), y=["66000000000000"] * 661)
    assert artifact.output["slope"] == 0.0
    assert artifact.output["r_squared"] is None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"x": [[1, 2], [2, 4], [3, 6]], "y": [1, 2, 3]}, "RANK_DEFICIENT"),
        ({"x": [3, 3, 3], "y": [1, 2, 3]}, "RANK_DEFICIENT"),
        ({"x": [1], "y": [1]}, "RANK_DEFICIENT"),
        ({"x": [1, 2], "y": [1, 2, 3]}, "SHAPE_MISMATCH"),
        ({"x": [1, 2, 3], "y": [1, 2, 3], "sigma": [1, 0, 1]}, "BAD_INPUT"),
        ({"x": ["a", 2, 3], "y": [1, 2, 3]}, "UNKNOWN_SYMBOL"),
    ],
)
def test_bad_designs_are_refused(call: Call, given: dict[str, Any], code: str) -> None:
    artifact = call("linear_regression", **given)
    assert artifact.error is not None
    assert artifact.error.code == code


def test_two_points_leave_no_error(call: Call) -> None:
    artifact = call("linear_regression", x=[1, 2], y=[1, 3])
    assert artifact.output["slope"] == 2.0
    assert artifact.output["stderr_slope"] is None


def test_given_standard_deviations_fix_the_errors(call: Call) -> None:
    artifact = call("linear_regression", x=[0, 2], y=[0, 2], sigma=["0.1", "0.1"])
    assert artifact.output["stderr_slope"] == pytest.approx(0.1 * math.sqrt(2) / 2, rel=1e-15)


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(-9, 9, max_denominator=8),
    st.fractions(-9, 9, max_denominator=8),
    st.lists(st.integers(-50, 50), min_size=3, max_size=9, unique=True),
)
def test_exact_lines_are_found(slope: Fraction, intercept: Fraction, xs: list[int]) -> None:
    output = run("linear_regression", x=xs, y=[str(slope * x + intercept) for x in xs])
    assert output["slope"] == float(slope)
    assert output["intercept"] == float(intercept)
    assert output["residuals"] == [0.0] * len(xs)


# ---- uncertainties ---------------------------------------------------------------------------------------------------
def test_a_product_with_correlation(call: Call) -> None:
    given: dict[str, Any] = {"expr": "a*b", "values": {"a": 2, "b": 3}, "sigma": {"a": "0.1", "b": "0.2"}}
    artifact = call("propagate_uncertainty", **given, correlation={"a,b": "0.5"})
    assert artifact.output["sigma"] == pytest.approx(math.sqrt(0.37), rel=1e-15)
    assert artifact.output["bias"] == pytest.approx(0.01, rel=1e-15)
    assert sum(artifact.output["contributions"].values()) == pytest.approx(1)


def test_full_anticorrelation_cancels_exactly(call: Call) -> None:
    artifact = call(
        "propagate_uncertainty", expr="a + b", values={"a": 1, "b": 1}, sigma={"a": "0.1", "b": "0.1"},
        correlation={"a,b": -1},
    )  # fmt: skip
    assert artifact.output["sigma"] == 0.0


def test_at_an_extremum_linear_propagation_is_flagged(call: Call) -> None:
    artifact = call("propagate_uncertainty", expr="cos(a)", values={"a": 0}, sigma={"a": "0.1"})
    assert artifact.output["sigma"] == 0.0
    assert artifact.diagnostics["linear_ok"] is False
    assert artifact.output["bias"] == pytest.approx(-0.005, rel=1e-15)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"expr": "Abs(a)", "values": {"a": 0}, "sigma": {"a": 1}}, "DOMAIN_ERROR"),
        ({"expr": "sqrt(a)", "values": {"a": 0}, "sigma": {"a": 1}}, "DOMAIN_ERROR"),
        ({"expr": "sqrt(a)", "values": {"a": -1}, "sigma": {"a": 1}}, "DOMAIN_ERROR"),
        ({"expr": "a*b", "values": {"a": 0}, "sigma": {"a": 1}}, "UNKNOWN_SYMBOL"),
        ({"expr": "a", "values": {"a": 0}, "sigma": {"b": 1}}, "UNKNOWN_SYMBOL"),
        ({"expr": "a", "values": {"a": 0}, "sigma": {"a": -1}}, "BAD_INPUT"),
        (
            {"expr": "a*b", "values": {"a": 1, "b": 1}, "sigma": {"a": 1, "b": 1}, "correlation": {"a,b": 2}},
            "BAD_INPUT",
        ),
    ],
)
def test_bad_uncertainties_are_refused(call: Call, given: dict[str, Any], code: str) -> None:
    artifact = call("propagate_uncertainty", **given)
    assert artifact.error is not None
    assert artifact.error.code == code
