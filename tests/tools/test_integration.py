"""Integrals: exact, verified, divergent, or declined; never wrong."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.artifacts import MemoryStore
from maven_env.expressions import parse
from maven_env.expressions.analysis.jets import derivative_ball
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.tools.calculus.definite_values import Diverges, Unsettled, definite_value
from maven_env.tools.calculus.integration import _tier
from maven_env.tools.registry import find
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall

QUICK = settings(max_examples=25, deadline=None)
SMALL = st.integers(-6, 6)


def run(**given: Any) -> Artifact:
    return Toolbox().call(ToolCall("integrate", given), MemoryStore("test"))


def code(artifact: Artifact) -> str | None:
    return artifact.error.code if artifact.error else None


def definite(expr: str, low: str, high: str) -> Any:
    artifact = run(expr=expr, wrt="x", limits=[low, high])
    return artifact.output["value"] if artifact.ok else code(artifact)


def test_polynomials_with_parameters_are_exact_at_once() -> None:
    artifact = run(expr="3*A*t^2 - 2*B*t + C", wrt="t", limits=["0", "T"])
    assert artifact.output["expr"] == "A*T^3 - B*T^2 + C*T"
    assert run(expr="3*t^2 - 2*t", limits=["0", "sqrt(2)"]).output["expr"] == "2*sqrt(2) - 2"
    arguments, _ = find("integrate").read({"expr": "3*t^2", "wrt": "t"}, lambda body: body)
    assert _tier(arguments) == 0


# Facts of public issues and of W. Wester, QUADPACK, Putnam.
@pytest.mark.parametrize(
    ("expr", "low", "high", "wanted"),
    [
        ("sqrt(1 - x^2)/(1 + x^2)", "-1", "1", 1.3012902845685730086),
        ("exp(exp(I*x))", "0", "2*pi", 6.2831853071795864769),
        ("Abs(sin(2*x))", "0", "2*pi", 4.0),
        ("Abs(sin(3*x))", "0", "3*pi", 6.0),
        ("sin(4*x)/sin(x)", "0", "pi/2", 4 / 3),
        ("sqrt(1 - x)*log(1 - x)", "0", "1", -4 / 9),
        ("1/(2 + cos(x))", "0", "2*pi", 3.6275987284684357),
        ("sin(x)/x", "0", "oo", 1.5707963267948966),
        ("cos(x^2)", "0", "oo", 0.6266570686577501256),
        ("log(x)/(1 + x^2)", "0", "oo", 0.0),
        ("1/(1 + tan(x)^sqrt(2))", "0", "pi/2", 0.78539816339744830962),
        ("x^3*log(Abs((x^2 - 1)*(x^2 - 2)))", "0", "3", 52.740748383471444998),
        ("x^(-3)", "100", "10^7", 0.000049999999995),
    ],
)
def test_definite_integrals_that_trap_libraries(expr: str, low: str, high: str, wanted: float) -> None:
    assert definite(expr, low, high) == pytest.approx(wanted, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        ("1/x", "-1", "1"),
        ("1/x^2", "0", "1"),
        ("1/(x - 2)^2", "1", "3"),
        ("tan(x)", "0", "pi"),
        ("exp(x)", "0", "oo"),
        ("1/x", "1", "oo"),
        ("sin(x)", "0", "oo"),
        ("sin(x)^2/x", "1", "oo"),
        ("1/(x*(x - sqrt(2)))", "1", "3"),
        ("exp(1/x)", "0", "1"),
    ],
)
def test_divergent_integrals_are_never_numbers(expr: str, low: str, high: str) -> None:
    assert definite(expr, low, high) == "DIVERGENT"


def test_what_has_no_closed_form_is_declined_with_its_value() -> None:
    artifact = run(expr="x^(-x)", limits=["0", "1"])
    assert code(artifact) == "UNSOLVED"
    assert artifact.error is not None
    assert "1.291285997062" in artifact.error.message


def test_a_near_miss_is_not_taken_for_its_neighbour() -> None:
    factors = "*".join(f"sin(x/{k})/(x/{k})" for k in (1, 3, 5, 7, 9, 11, 13, 15))
    artifact = run(expr=factors, wrt="x", limits=["0", "oo"])
    assert not artifact.ok or artifact.output["value"] == pytest.approx(1.5707963267717960465, rel=1e-15)


@pytest.mark.parametrize(
    ("expr", "limits", "wanted", "conditions"),
    [
        ("exp(-a*x)", ["0", "oo"], "1/a", ["a > 0"]),
        ("1/(x^2 + a^2)", ["-oo", "oo"], "pi/a", ["a > 0"]),
        ("sqrt(a^2 - x^2)", ["0", "a"], "pi*a^2/4", ["a > 0"]),
    ],
)
def test_parameters_bring_verified_conditions(expr: str, limits: list[str], wanted: str, conditions: list[str]) -> None:
    artifact = run(expr=expr, wrt="x", limits=limits)
    assert (artifact.output["expr"], artifact.output["conditions"]) == (wanted, conditions)


def test_iterated_integrals_go_from_the_inside_out() -> None:
    assert run(expr="x*y", limits=[["y", "0", "x"], ["x", "0", "1"]]).output["expr"] == "1/8"
    assert run(expr="Abs(x - y)", limits=[["y", "0", "1"], ["x", "0", "1"]]).output["value"] == pytest.approx(1 / 3)
    assert run(expr="r", limits=[["r", "0", "R"], ["theta", "0", "2*pi"]]).output["expr"] == "R^2*pi"
    wrong = run(expr="x*y", limits=[["x", "0", "1"], ["y", "0", "x"]])
    assert code(wrong) == "BAD_INPUT"


@QUICK
@given(st.lists(SMALL, min_size=1, max_size=4), st.lists(SMALL, min_size=1, max_size=3), SMALL)
def test_the_derivative_of_an_exact_integral_is_the_integrand(top: list[int], roots: list[int], c: int) -> None:
    numerator = " + ".join(f"({v})*x^{i}" for i, v in enumerate(top))
    denominator = "*".join(f"(x - ({r}))" for r in roots) + f"*(x^2 + x + {abs(c) + 1})"
    text = f"({numerator})/({denominator})"
    artifact = run(expr=text, wrt="x")
    assert artifact.ok
    with precision(200):
        point = {"x": decimal(Fraction(31, 7))}
        gap = derivative_ball(parse(artifact.output["expr"]), point, "x") - ball(parse(text), point)
        assert gap.contains(0)
        assert abs(gap).upper() < 1e-30


@QUICK
@given(st.lists(SMALL, min_size=1, max_size=5), st.fractions(-3, 3, max_denominator=9), st.fractions(-3, 3))
def test_integrals_of_polynomials_are_additive(coefficients: list[int], a: Fraction, b: Fraction) -> None:
    text = " + ".join(f"({v})*x^{i}" for i, v in enumerate(coefficients))
    parts = [
        Fraction(run(expr=text, wrt="x", limits=[str(p), str(q)]).output["expr"]) for p, q in ((0, a), (a, b), (0, b))
    ]
    assert parts[0] + parts[1] == parts[2]


@pytest.mark.parametrize(
    "expr", ["x*sin(x)", "exp(x)*cos(x)", "1/(x*sqrt(x + 1))", "x*log(1 + x^2)", "exp(x)/x", "1/log(x)", "x^2*asin(x)"]
)
def test_antiderivatives_are_verified(expr: str) -> None:
    artifact = run(expr=expr, wrt="x")
    assert artifact.ok
    assert artifact.diagnostics["verified_points"] >= 2
    with precision(160):
        point = {"x": decimal(Fraction(41, 100))}
        gap = derivative_ball(parse(artifact.output["expr"]), point, "x") - ball(parse(expr), point)
        assert gap.contains(0)


def test_bad_input_says_what_is_missing() -> None:
    assert code(run(expr="x*y")) == "BAD_INPUT"
    assert code(run(expr="x", limits=["0"])) == "BAD_INPUT"
    assert code(run(expr="x", wrt="x", limits=[["y", "0", "1"]])) == "BAD_INPUT"


def test_the_quadrature_behind_it_sees_narrow_peaks() -> None:
    density = parse("exp(-(x - 116)^2/(2*3.81^2))/(3.81*sqrt(2*pi))")
    value = definite_value(density, "x", parse("0"), parse("oo"))
    assert abs(complex(value.ball) - 1) < 1e-15
    shifted = parse("exp(-(x - 0.6445)^2/(2*0.19^2))/(0.19*sqrt(2*pi))")
    value = definite_value(shifted, "x", parse("-1000"), parse("0.5"))
    exact = math.erfc((0.6445 - 0.5) / (0.19 * math.sqrt(2))) / 2
    assert complex(value.ball).real == pytest.approx(exact, rel=1e-13)


def test_the_quadrature_behind_it_refuses_what_it_cannot_decide() -> None:
    for expr in ("1/(x*log(x))", "1/(x*log(x)^2)"):
        with pytest.raises((Unsettled, Diverges)):
            definite_value(parse(expr), "x", parse("0"), parse("1/2"))
