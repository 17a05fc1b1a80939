"""Laplace transforms, inverses and Fourier series."""

from __future__ import annotations

import math
from typing import Any

import pytest

from maven_env.artifacts import MemoryStore
from maven_env.expressions import parse
from maven_env.expressions.equality import equal
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall


def run(tool_id: str, **given: Any) -> Artifact:
    return Toolbox().call(ToolCall(tool_id, given), MemoryStore("test"))


def code(artifact: Artifact) -> str | None:
    return artifact.error.code if artifact.error else None


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        ("t*exp(-2*t)", "1/(s + 2)^2"),
        ("sin(w*t)", "w/(s^2 + w^2)"),
        ("Heaviside(t - 2)*t", "(2/s + 1/s^2)*exp(-2*s)"),
        ("3*DiracDelta(t - 1) + t^2", "3*exp(-s) + 2/s^3"),
        ("1/sqrt(t)", "sqrt(pi/s)"),
    ],
)
def test_transforms(expr: str, wanted: str) -> None:
    artifact = run("laplace_transform", expr=expr)
    assert equal(parse(artifact.output["expr"]), parse(wanted)) == "equal"


def test_functions_that_grow_too_fast_have_no_transform() -> None:
    assert code(run("laplace_transform", expr="exp(t^2)")) == "DIVERGENT"
    assert code(run("laplace_transform", expr="1/t")) == "DIVERGENT"


def test_initial_values_enter_the_transform_of_an_equation() -> None:
    artifact = run("laplace_transform", ode="y'' + 3*y' + 2*y = exp(-t)", initial=["1", "0"])
    wanted = "((s + 3) + 1/(s + 1))/(s^2 + 3*s + 2)"
    assert equal(parse(artifact.output["expr"]), parse(wanted)) == "equal"
    assert code(run("laplace_transform", ode="y'' + y = 0", initial=["1"])) == "BAD_INPUT"


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        ("1/(s^2 + 4*s + 13)", "exp(-2*t)*sin(3*t)/3"),
        ("w/(s^2 + w^2)", "sin(w*t)"),
        ("1/((s + 1)*(s + 2))", "exp(-t) - exp(-2*t)"),
        ("1/sqrt(s)", "1/sqrt(pi*t)"),
    ],
)
def test_inverses(expr: str, wanted: str) -> None:
    artifact = run("inverse_laplace", expr=expr)
    assert equal(parse(artifact.output["expr"]), parse(wanted)) == "equal"


def test_an_improper_fraction_holds_an_impulse() -> None:
    assert run("inverse_laplace", expr="s/(s + 1)").output["expr"] == "DiracDelta(t) - exp(-t)"


def test_talbot_agrees_with_the_exact_inverse() -> None:
    artifact = run("inverse_laplace", expr="1/(s^2 + 4*s + 13)", method="talbot", at="2")
    assert artifact.output["value"] == pytest.approx(math.exp(-4) * math.sin(6) / 3, rel=1e-14)


def test_talbot_refuses_poles_outside_its_contour() -> None:
    for expr in ("1/sqrt(s) + 1/(s^2 + 10^4)", "1/sqrt(s) + 1/(s^2 + 10^6)"):  # weak, and consistently missed
        assert code(run("inverse_laplace", expr=expr, method="talbot", at="1")) == "NO_CONVERGENCE"
    assert code(run("inverse_laplace", expr="1/sqrt(s^2 + 1)", method="talbot", at="1000")) == "NO_CONVERGENCE"


def test_talbot_sees_a_delay() -> None:
    values = [run("inverse_laplace", expr="exp(-2*s)/s", method="talbot", at=at).output["value"] for at in ("1", "3")]
    assert values == [0, 1]


def test_the_sawtooth_has_coefficients_of_either_sign() -> None:
    artifact = run("fourier_series", expr="x", wrt="x", interval=["-pi", "pi"], n_terms=4)
    assert artifact.output["a"] == [0, 0, 0, 0, 0]
    assert artifact.output["b"] == [2, -1, 2 / 3, -0.5]
    assert artifact.output["general_b"] == "-2*(-1)^n/n"
    assert artifact.diagnostics["discontinuous"] is True


def test_half_range_extensions_differ() -> None:
    sine = run("fourier_series", expr="1", wrt="x", interval=["0", "pi"], n_terms=3, kind="sine")
    assert sine.output["b"] == pytest.approx([4 / math.pi, 0, 4 / (3 * math.pi)], rel=1e-15)
    cosine = run("fourier_series", expr="1", wrt="x", interval=["0", "pi"], n_terms=3, kind="cosine")
    assert cosine.output["a"] == [2, 0, 0, 0]


def test_a_pole_in_the_interval_is_divergent() -> None:
    assert code(run("fourier_series", expr="1/x", wrt="x", interval=["-1", "1"], n_terms=2)) == "DIVERGENT"


@pytest.mark.parametrize(
    ("expr", "at", "wanted"),
    [
        ("1/(s^2 + 1)", "100", math.sin(100)),
        ("1/(s^2 + 10^8)", "1", math.sin(1e4) / 1e4),
        ("1/(s - 3)", "5", math.exp(15)),
        ("exp(-s)/(s^2 + 1)", "2", math.sin(1)),
        ("120/(s^2 + 4000*s + 1000000)", "1/1000", 0.025669095631233523),  # catalogue, close poles below
        ("6000000000/(50000000*s^2 + 100000000001*s + 50000000000000)", "1/1000", 0.04414553294027878),
        ("120/(s + 1000)^2", "1/1000", 0.12 * math.exp(-1)),
    ],
)
def test_rational_transforms_have_right_numbers_by_both_ways(expr: str, at: str, wanted: float) -> None:
    number = run("inverse_laplace", expr=expr, method="talbot", at=at)
    exact = run("inverse_laplace", expr=expr, at=at)
    assert number.diagnostics["method"] == "residues"
    assert number.output["value"] == pytest.approx(wanted, rel=2e-15)
    assert exact.output["value"] == pytest.approx(wanted, rel=2e-15)


def test_a_time_beyond_double_precision_is_no_zero() -> None:
    assert code(run("inverse_laplace", expr="1/(s - 400)", method="talbot", at="2")) == "OVERFLOW"
    assert code(run("inverse_laplace", expr="exp(-s)/s", method="talbot", at="1")) == "NO_CONVERGENCE"


def test_irreducible_cubics_are_declined_at_once() -> None:
    assert code(run("inverse_laplace", expr="1/(s^3 + s + 1)")) == "UNSOLVED"


def test_an_order_may_stand_with_its_variable_in_brackets() -> None:
    ode = "Derivative(y(t),(t,2)) + (400)/(0.1)*Derivative(y(t),t) + y(t)/((0.1)*(0.00001)) = 0"
    artifact = run("laplace_transform", ode=ode, initial=["0", "(12)/(0.1)"])
    assert artifact.output["expr"] == "120/(s^2 + 4000*s + 1000000)"
