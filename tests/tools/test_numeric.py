"""Facts about values of expressions and difference quotients."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.expressions import parse, rational_value
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import nearest_double
from maven_env.tools.numeric.digits import decimal_text, rounded_value


def test_double_evaluation_is_as_written_and_tells_of_cancellation(call: Any) -> None:
    artifact = call("evaluate_numeric", expr="(1-cos(x))/x^2", subs={"x": "1e-9"})
    assert artifact.output["value"] == 0.0
    assert artifact.diagnostics["cancellation_digits"] == 16.0
    assert "warning" in artifact.diagnostics


def test_high_precision_recovers_what_doubles_lose(call: Any) -> None:
    artifact = call("evaluate_high_precision", expr="(1-cos(x))/x^2", subs={"x": "1e-9"})
    assert artifact.output == {
        "value": 0.5,
        "digits_string": "0.499999999999999999958333333333",
        "double_value": 0.0,
    }


@pytest.mark.parametrize(
    ("expr", "code"),
    [
        ("1/(x-x)", "DOMAIN_ERROR"), ("log(0)", "DOMAIN_ERROR"), ("gamma(0)", "DOMAIN_ERROR"),
        ("oo-oo", "DOMAIN_ERROR"),
        ("exp(1000)", "OVERFLOW"), ("gamma(200)", "OVERFLOW"), ("x+y", "UNKNOWN_SYMBOL"), ("1e200*1e200", "OVERFLOW"),
    ],
)  # fmt: skip
def test_double_evaluation_says_why_there_is_no_value(call: Any, expr: str, code: str) -> None:
    artifact = call("evaluate_numeric", expr=expr, subs={"x": "1"})
    assert artifact.error.code == code


def test_a_value_that_is_not_real_comes_as_a_pair(call: Any) -> None:
    assert call("evaluate_numeric", expr="sqrt(-4)").output["value"] == [0.0, 2.0]


def test_a_jump_that_cannot_be_decided_is_no_number(call: Any) -> None:
    """floor(log(8)/log(2)) is 3, but no finite precision shows it: 2.5 came out once."""
    assert call("evaluate_high_precision", expr="floor(log(8)/log(2))").error.code == "DOMAIN_ERROR"


def test_beyond_the_range_of_doubles_the_text_carries_the_value(call: Any) -> None:
    output = call("evaluate_high_precision", expr="exp(2000)", digits=20).output
    assert output["value"] is None
    assert output["digits_string"] == "3.8811801942843685765*10^(868)"


@settings(max_examples=25, deadline=None)
@given(st.fractions(max_denominator=10**6), st.integers(15, 60))
def test_digits_are_correctly_rounded_and_parse_again(value: Fraction, digits: int) -> None:
    text, error = decimal_text(value, digits)
    again = rational_value(parse(text))
    assert again is not None
    assert abs(again - value) <= error
    if value:
        assert sum(c.isdigit() for c in text.lstrip("-0.").split("e")[0].replace(".", "")) == digits or "e" in text


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 500), st.integers(15, 80))
def test_roots_are_rounded_to_the_last_digit(n: int, digits: int) -> None:
    text = rounded_value(parse(f"sqrt({n})"), digits).text
    low = rational_value(parse(text))
    assert low is not None
    half = Fraction(10) ** (len(str(math.isqrt(n))) - digits) / 2
    assert (low - half) ** 2 <= n <= (low + half) ** 2


@pytest.mark.parametrize(
    "expr",
    [
        "sin(x)^3",
        "exp(-x^2)/(1+x)",
        "atan(x)*log(x)",
        "besselj(1,x)",
        "x^x",
        "erf(sqrt(x))",
        "tanh(1/x)",
        "asin(x/3)",
        "gamma(x)",
    ],
)
def test_the_tree_derivative_agrees_with_differences(call: Any, expr: str) -> None:
    exact = nearest_double(derivative(parse(expr), "x"), {"x": parse("7/5")})
    artifact = call("numeric_derivative", expr=expr, wrt="x", at="7/5", method="richardson")
    assert artifact.output["value"] == pytest.approx(exact, rel=1e-9)
    assert abs(artifact.output["value"] - exact) <= artifact.diagnostics["error_estimate"]


def test_a_small_step_for_a_second_derivative_is_noise(call: Any) -> None:
    assert (
        call("numeric_derivative", expr="exp(-x^2)", wrt="x", at="0.5", order=2, h="1e-9").error.code
        == "NO_CONVERGENCE"
    )


@pytest.mark.parametrize("expr", ["Abs(x)", "floor(x)", "1/x", "sqrt(x)"])
def test_there_is_no_derivative_at_a_corner_jump_or_pole(call: Any, expr: str) -> None:
    assert call("numeric_derivative", expr=expr, wrt="x", at="0").error.code == "DOMAIN_ERROR"
