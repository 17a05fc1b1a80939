"""Exact arithmetic on expressions: what cancels, what is proved not to, and what stays open."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import parse
from maven_env.expressions.algebra.field import Field
from maven_env.expressions.balls import nearest_complex


def reduced(text: str) -> str:
    node = parse(text)
    return str(Field([node]).element(node))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a^2 - b^2)/(a - b)", "a + b"),
        ("sin(x)^2 + cos(x)^2", "1"),
        ("sin(2*x) - 2*sin(x)*cos(x)", "0"),
        ("cos(2*x/3)^2 + sin(2*x/3)^2", "1"),
        ("sin(0) + cos(0)", "1"),
        ("sin(-x) + sin(x)", "0"),
        ("exp(2*t)*exp(-t) - exp(t)", "0"),
        ("exp(a + b)/exp(b)", "exp(a)"),
        ("x^(1 - n)*x^n", "x"),
        ("sqrt(6) - sqrt(2)*sqrt(3)", "0"),
        ("sqrt(8)", "2*sqrt(2)"),
        ("sqrt(-3/4)", "I*sqrt(3)/2"),
        ("1/(1 + I)", "-I/2 + 1/2"),
        ("1/(sqrt(2) - 1)", "sqrt(2) + 1"),
        ("sqrt(x)*sqrt(x)", "x"),
        ("8^(1/3) - 2", "0"),
        ("x/(2*y - 1)", "x/(2*y - 1)"),
    ],
)
def test_known_relations_are_used(text: str, expected: str) -> None:
    assert reduced(text) == expected


def test_a_hidden_relation_is_never_taken_for_a_decision() -> None:
    node = parse("(sqrt(5 + 2*sqrt(6)) - sqrt(2) - sqrt(3))*x")
    with pytest.raises(ToolError) as failure:
        Field([node]).element(node).is_zero()
    assert failure.value.code == "UNSOLVED"


def test_a_value_is_proved_to_be_no_zero_by_a_point() -> None:
    node = parse("log(x) - atan(x) + erf(y)")
    assert not Field([node]).element(node).is_zero()


def test_division_by_a_hidden_zero_is_refused() -> None:
    with pytest.raises(ToolError) as failure:
        reduced("1/(sin(x)^2 + cos(x)^2 - 1)")
    assert failure.value.code == "UNDEFINED_VALUE"


def test_growth_is_bounded() -> None:
    with pytest.raises(LimitExceeded):
        reduced("(a + b + c + d + f + g)^18")


NUMBERS = st.fractions(min_value=-9, max_value=9, max_denominator=7)


@settings(max_examples=25, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_the_reduced_form_has_the_same_value(a: Fraction, b: Fraction, c: Fraction) -> None:
    text = f"(({a}) + sqrt(2)*({b}) + I)^2/(({c}) + sqrt(3)) + sin(2)*cos(1) - exp(1/2)"
    left, right = nearest_complex(parse(text)), nearest_complex(parse(reduced(text)))
    assert abs(left - right) <= 1e-12 * (1 + abs(left))
