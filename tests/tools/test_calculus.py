"""Derivatives, limits and implicit derivatives."""

from __future__ import annotations

from typing import Any

import pytest

from maven_env.artifacts import MemoryStore
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall


def run(tool_id: str, **given: Any) -> Artifact:
    return Toolbox().call(ToolCall(tool_id, given), MemoryStore("test"))


def limit(expr: str, to: str, side: str = "both") -> Any:
    artifact = run("symbolic_limit", expr=expr, wrt="x", to=to, side=side)
    return artifact.output["expr"] if artifact.ok else artifact.error and artifact.error.code


def test_the_derivative_of_figure_3_is_exact_to_the_letter() -> None:
    artifact = run("symbolic_diff", expr="A*t^3 - B*t^2 + C*t", wrt="t")
    assert artifact.output == {"expr": "3*A*t^2 - 2*B*t + C"}
    assert artifact.diagnostics == {"type": "symbolic", "simplified": True}


# Limits of M. Wester's review and of public issues.
@pytest.mark.parametrize(
    ("expr", "to", "side", "wanted"),
    [
        ("(1 - cos(x))/x^2", "0", "both", "1/2"),
        ("(exp(x*exp(-x)/(exp(-x) + exp(-2*x^2/(x + 1)))) - exp(x))/x", "oo", "both", "-exp(2)"),
        ("(x + exp(x))/(x - 1)", "-oo", "both", "1"),
        ("(x^20 - (x + 1)^20)/x^19", "oo", "both", "-20"),
        ("sqrt(-1 + I*x)", "0", "+", "I"),
        ("sqrt(-1 - I*x)", "0", "+", "-I"),
        ("(sin(tan(x)) - tan(sin(x)))/(asin(atan(x)) - atan(asin(x)))", "0", "both", "1"),
        ("floor(sin(x)/x)", "0", "both", "0"),
        ("(1 + a/x)^x", "oo", "both", "exp(a)"),
        ("1/log(x)", "0", "+", "0"),
        ("log(x)", "oo", "both", "oo"),
        ("1/x", "0", "+", "oo"),
        ("1/x^2", "0", "both", "oo"),
        ("(x^2 - 1)/(x - 1)", "1", "both", "2"),
    ],
)
def test_limits(expr: str, to: str, side: str, wanted: str) -> None:
    assert limit(expr, to, side) == wanted


@pytest.mark.parametrize(
    ("expr", "to"),
    [
        ("1/x", "0"),
        ("Abs(x)/x", "0"),
        ("sin(1/x)", "0"),
        ("sin(x)", "oo"),
        ("tan(x)", "pi/2"),
        ("sqrt(-1 + I*x)", "0"),
        ("atan(1/x)", "0"),
    ],
)
def test_where_the_sides_differ_there_is_no_limit(expr: str, to: str) -> None:
    assert limit(expr, to) == "NO_LIMIT"


def test_an_oscillating_complex_limit_is_never_a_value() -> None:
    assert limit("exp(I*x)*sin(pi*x)", "oo") in ("UNSOLVED", "NO_LIMIT")


def test_analytic_functions_need_no_guarded_process() -> None:
    artifact = run("symbolic_limit", expr="exp(x)/(1 + x^2)", wrt="x", to="1")
    assert artifact.output["expr"] == "exp(1)/2"


def test_implicit_derivatives_and_their_singular_points() -> None:
    circle = {"equation": "x^2 + y^2 = 25", "x": "x", "y": "y"}
    artifact = run("implicit_diff", **circle, at={"x": 3, "y": 4})
    assert artifact.output == {"expr": "-x/y", "value": -0.75, "partial_y": 8.0}
    assert artifact.diagnostics["residual_at_point"] == 0
    singular = run("implicit_diff", **circle, at={"x": 5, "y": 0})
    assert singular.error is not None
    assert singular.error.code == "SINGULAR"
    off = run("implicit_diff", **circle, at={"x": 3, "y": 5})
    assert off.diagnostics["residual_at_point"] == 9


def test_the_second_implicit_derivative_agrees_with_the_explicit_one() -> None:
    artifact = run("implicit_diff", equation="y^2 = x", x="x", y="y", order=2, at={"x": 4, "y": 2})
    assert artifact.output["value"] == -1 / 32  # y = sqrt(x): y'' = -x^(-3/2)/4
