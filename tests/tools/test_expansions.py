"""Partial fractions, series and stable forms."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.artifacts import MemoryStore
from maven_env.expressions import parse
from maven_env.expressions.equality import equal
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall

QUICK = settings(max_examples=25, deadline=None)


def run(tool_id: str, **given: Any) -> Artifact:
    return Toolbox().call(ToolCall(tool_id, given), MemoryStore("test"))


def code(artifact: Artifact) -> str | None:
    return artifact.error.code if artifact.error else None


@QUICK
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 2)), min_size=1, max_size=3, unique_by=lambda r: r[0]),
    st.lists(st.integers(-4, 4), min_size=1, max_size=5),
)
def test_partial_fractions_add_up_again(roots: list[tuple[int, int]], top: list[int]) -> None:
    numerator = " + ".join(f"({c})*x^{i}" for i, c in enumerate(top))
    denominator = "*".join(f"(2*x - ({r}))^{k}" for r, k in roots)
    text = f"({numerator})/({denominator})"
    artifact = run("partial_fractions", expr=text, wrt="x")
    assert equal(parse(artifact.output["expr"]), parse(text)) == "equal"


def test_near_confluent_poles_show_in_the_residues() -> None:
    artifact = run("partial_fractions", expr="1/((s + 1)*(s + 1.000001))", wrt="s")
    assert artifact.diagnostics["max_abs_residue"] == pytest.approx(1e6)
    assert artifact.diagnostics["pole_separation"] == pytest.approx(1e-6)


def test_partial_fractions_with_parameters_and_algebraic_roots() -> None:
    assert run("partial_fractions", expr="1/(x^2 - a^2)", wrt="x").output["terms"] == [
        "1/(2*a*(x - a))",
        "-1/(2*a*(x + a))",
    ]
    assert len(run("partial_fractions", expr="1/(x^2 - 2)", wrt="x", full=True).output["terms"]) == 2
    assert code(run("partial_fractions", expr="sin(x)/x", wrt="x")) == "NOT_RATIONAL"


# Series of M. Wester's review and of public issues.
@pytest.mark.parametrize(
    ("expr", "order", "wanted"),
    [
        ("1/(1 + x^2)", 7, "1 - x^2 + x^4 - x^6"),
        ("1/(x^(-2) + x^(-3))", 8, "x^3 - x^4 + x^5 - x^6 + x^7"),
        ("log(1 + x)/log(1 - x)", 5, "-1 + x - x^2/2 + 5*x^3/12 - 7*x^4/24"),
        ("sqrt(1/(1/x^2 + 1))", 10, "x - x^3/2 + 3*x^5/8 - 5*x^7/16 + 35*x^9/128"),
        ("sqrt(sec(x + 3*pi/2))", 5, "1/sqrt(x) + x^(3/2)/12 + x^(7/2)/160"),
        ("x^x", 4, "1 + x*log(x) + x^2*log(x)^2/2 + x^3*log(x)^3/6"),
    ],
)
def test_series(expr: str, order: int, wanted: str) -> None:
    artifact = run("series_expansion", expr=expr, wrt="x", order=order)
    assert equal(parse(artifact.output["expr"]), parse(wanted)) == "equal"


def test_order_counts_the_first_neglected_power() -> None:
    artifact = run("series_expansion", expr="sin(x)", wrt="x", order=5)
    assert (artifact.output["expr"], artifact.output["order_term"]) == ("x - x^3/6", "O(x^5)")
    empty = run("series_expansion", expr="x^6/(1 - x)", wrt="x", order=4)
    assert (empty.output["expr"], empty.diagnostics["leading_power"]) == ("0", None)


def test_centres_and_infinity() -> None:
    moved = run("series_expansion", expr="1/x", wrt="x", about="2", order=3)
    assert equal(parse(moved.output["expr"]), parse("1/2 - (x - 2)/4 + (x - 2)^2/8")) == "equal"
    far = run("series_expansion", expr="sqrt(x^2 + x)", wrt="x", about="oo", order=2)
    assert equal(parse(far.output["expr"]), parse("x + 1/2 - 1/(8*x)")) == "equal"
    assert run("series_expansion", expr="1/(1 - 2*x)", wrt="x").diagnostics["radius_estimate"] == 0.5


def test_an_essential_singularity_has_no_expansion() -> None:
    assert code(run("series_expansion", expr="exp(1/x)", wrt="x", order=3)) in ("NO_EXPANSION", "UNSOLVED")


@pytest.mark.parametrize(
    ("expr", "rule", "wrt"),
    [
        ("sqrt(x + 1) - sqrt(x)", "rationalize_difference", None),
        ("(1 - cos(3*x))/x^2", "half_angle", None),
        ("exp(x) - 1", "expm1_log1p", None),
        ("log(1 + x)/x", "expm1_log1p", None),
        ("3*x^3 - x + 7", "horner", "x"),
        ("x^4 - 4*y^2", "difference_of_squares", None),
    ],
)
def test_rewriting_keeps_the_value(expr: str, rule: str, wrt: str | None) -> None:
    given = {"expr": expr, "rule": rule, **({"wrt": wrt} if wrt else {})}
    artifact = run("stable_rewrite", **given)
    assert artifact.output["equivalent"] is True
    assert artifact.output["applied"] >= 1
    assert equal(parse(artifact.output["expr"]), parse(expr)) == "equal"


def test_a_rewritten_difference_keeps_its_digits() -> None:
    form = run("stable_rewrite", expr="sqrt(x + 1) - sqrt(x)", rule="rationalize_difference").output["expr"]
    exact = 5e-9  # sqrt(1e16 + 1) - sqrt(1e16)
    assert run("evaluate_numeric", expr=form, subs={"x": "1e16"}).output["value"] == pytest.approx(exact, rel=1e-15)


def test_a_rule_that_matches_nowhere_is_an_error() -> None:
    assert code(run("stable_rewrite", expr="a + b", rule="difference_of_squares")) == "RULE_NOT_APPLICABLE"
