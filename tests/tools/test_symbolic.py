"""Substitution, simplification, expansion, factors, coefficients."""

from __future__ import annotations

from fractions import Fraction
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
SMALL = st.integers(-9, 9)


def run(tool_id: str, **given: Any) -> Artifact:
    return Toolbox().call(ToolCall(tool_id, given), MemoryStore("test"))


def put(expr: str, **subs: Any) -> Any:
    artifact = run("substitute", expr=expr, subs=subs)
    return artifact.output["expr"] if artifact.ok else artifact.error and artifact.error.code


@pytest.mark.parametrize(
    ("expr", "subs", "wanted"),
    [
        ("sqrt(2) - a", {"a": "sqrt(2)"}, "0"),
        ("a - b - c", {"a": "x + y", "b": "x", "c": "y"}, "0"),
        ("Abs(d - 2*s)", {"d": "5/3", "s": "sqrt(5)/2"}, "sqrt(5) - 5/3"),
        ("x^3 - 2*x + 1", {"x": "(1 + sqrt(5))/2"}, "2"),
        ("x^2 - 2*x + 1", {"x": "0.1"}, "81/100"),
        ("sqrt(a)*sqrt(b)", {"a": 6, "b": 10}, "2*sqrt(15)"),
        ("1/(1 + x)", {"x": "sqrt(2)"}, "sqrt(2) - 1"),
        ("Max(a, b)", {"a": "sqrt(2)", "b": "7/5"}, "sqrt(2)"),
        ("sin(pi*x)", {"x": "1/6"}, "1/2"),
        ("x*y", {"x": "y", "y": "x"}, "x*y"),
        ("a = b*x", {"a": 3, "b": "2/3"}, "3 = 2*x/3"),
        ("exp(a)*log(b)", {"a": "log(2)", "b": "exp(3)"}, "6"),
    ],
)
def test_substitution_is_exact_and_cancels(expr: str, subs: dict[str, Any], wanted: str) -> None:
    assert put(expr, **subs) == wanted


def test_hidden_zeros_of_closed_numbers_are_found() -> None:
    assert put("sqrt(x) - 1 - sqrt(2)", x="3 + 2*sqrt(2)") == "0"
    assert put("log(a) + log(b) - log(c)", a=2, b=3, c=6) == "0"
    assert put("cos(x)^2 + sin(x)^2 - 1", x=1) == "0"


@pytest.mark.parametrize(
    ("expr", "subs"),
    [
        ("(x^2 - 1)/(x - 1)", {"x": 1}),
        ("sin(x)/x", {"x": 0}),
        ("1/(a - b)", {"a": "b"}),
        ("log(x)", {"x": 0}),
        ("1/x", {"x": "oo"}),
        ("gamma(x)", {"x": -2}),
    ],
)
def test_a_value_that_is_undefined_is_said_so(expr: str, subs: dict[str, Any]) -> None:
    assert put(expr, **subs) == "UNDEFINED_VALUE"


def test_what_is_multiplied_by_zero_has_no_size() -> None:
    rates = {"n": 500, "c": 2000, "x": 2000}
    assert put("(1 - exp(-n*(1/x - 1/c)))/(1/x - exp(-n*(1/x - 1/c))/c)", **rates) == "UNDEFINED_VALUE"


def test_replacement_one_by_one_depends_on_the_order() -> None:
    both = run("substitute", expr="x + y", subs={"x": "y", "y": "2"})
    single = run("substitute", expr="x + y", subs={"x": "y", "y": "2"}, simultaneous=False)
    assert (both.output["expr"], single.output["expr"]) == ("y + 2", "4")


def test_unused_names_are_reported_and_bad_ones_refused() -> None:
    assert run("substitute", expr="x + 1", subs={"x": 1, "q": 2}).diagnostics["unused"] == ["q"]
    assert put("x + 1", pi=3) == "UNKNOWN_SYMBOL"
    refused = run("substitute", expr="x^2 + 1", subs={"x^2": 3})
    assert refused.error is not None
    assert refused.error.code == "UNKNOWN_SYMBOL"


def test_the_value_is_the_nearest_double() -> None:
    artifact = run("substitute", expr="a - b", subs={"a": "1.00000000000000000000000001", "b": "1"})
    assert artifact.output["value"] == 1e-26


@QUICK
@given(st.lists(SMALL, min_size=2, max_size=6), SMALL, SMALL, st.sampled_from([2, 3, 5, 7]))
def test_polynomials_at_quadratic_numbers_become_p_plus_q_roots(
    coefficients: list[int], p: int, q: int, d: int
) -> None:
    text = " + ".join(f"({c})*x^{i}" for i, c in enumerate(coefficients))
    point = f"{p} + ({q})*sqrt({d})"
    a, b = Fraction(0), Fraction(0)  # Horner in Q(sqrt d)
    for c in reversed(coefficients):
        a, b = a * p + b * q * d + c, a * q + b * p
    found = parse(put(text, x=point))
    assert equal(found, parse(f"({a}) + ({b})*sqrt({d})")) == "equal"
    assert len(put(text, x=point)) < 60


# ---- simplify --------------------------------------------------------------------------------------------------------
def test_a_root_of_a_square_needs_a_declared_sign() -> None:
    assert run("symbolic_simplify", expr="sqrt(x^2)").output["expr"] == "Abs(x)"
    positive = run("symbolic_simplify", expr="sqrt(x^2)", assumptions={"x": ["positive"]})
    assert positive.output["expr"] == "x"
    assert positive.diagnostics["branch_flags"] == ["x"]
    negative = run("symbolic_simplify", expr="sqrt(x^2)", assumptions={"x": ["negative"]})
    assert negative.output["expr"] == "-x"


def test_contradictory_assumptions_are_refused() -> None:
    artifact = run("symbolic_simplify", expr="x", assumptions={"x": ["positive", "negative"]})
    assert artifact.error is not None
    assert artifact.error.code == "ASSUMPTION_CONFLICT"


def test_logarithms_are_combined_only_for_positive_arguments() -> None:
    assert run("symbolic_simplify", expr="log(a) + log(b)").output["expr"] == "log(a) + log(b)"
    words = {"a": ["positive"], "b": ["positive"]}
    combined = run("symbolic_simplify", expr="log(a) + log(b)", assumptions=words, strategy="logs")
    assert combined.output["expr"] == "log(a*b)"


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [("sin(x)^2 + cos(x)^2", "1"), ("(x^2 - 1)/(x - 1)", "x + 1"), ("sqrt(3 + 2*sqrt(2))", "1 + sqrt(2)")],
)
def test_common_simplifications(expr: str, wanted: str) -> None:
    assert run("symbolic_simplify", expr=expr).output["expr"] == wanted


# ---- polynomials -----------------------------------------------------------------------------------------------------
@QUICK
@given(st.lists(st.tuples(SMALL, st.integers(1, 3)), min_size=1, max_size=3))
def test_factors_multiply_back(roots: list[tuple[int, int]]) -> None:
    text = "*".join(f"(x - ({r}))^{k}" for r, k in roots)
    whole = run("symbolic_expand", expr=text).output["expr"]
    factored = run("symbolic_factor", expr=whole)
    assert run("symbolic_expand", expr=factored.output["expr"]).output["expr"] == whole
    assert sum(f["multiplicity"] for f in factored.output["factors"] if "x" in f["base"]) == sum(k for _, k in roots)


def test_a_double_factor_is_seen_in_exact_decimals_only() -> None:
    exact = run("symbolic_factor", expr="x^2 - 0.2*x + 0.01")
    assert {"base": "10*x - 1", "multiplicity": 2} in exact.output["factors"]
    rounded = run("symbolic_factor", expr="x^2 - 0.2*x + 0.01", rationalize=False)
    assert rounded.diagnostics["irreducible"] is True


def test_factors_over_an_extension() -> None:
    artifact = run("symbolic_factor", expr="x^2 - 2", extension=["sqrt(2)"])
    assert {f["base"] for f in artifact.output["factors"]} == {"x + sqrt(2)", "x - sqrt(2)"}


def test_expansion_warns_of_cancellation_and_keeps_its_bound() -> None:
    assert run("symbolic_expand", expr="(x - 1)^40").diagnostics["cancellation_risk"] == "high"
    refused = run("symbolic_expand", expr="(x + y + z + 1)^20", max_terms=100)
    assert refused.error is not None
    assert refused.error.code == "LIMIT_EXCEEDED"


def test_coefficients_with_parameters() -> None:
    artifact = run("collect_coefficients", expr="a*x^2 + 3*x*(b - x) + 1", wrt=["x"])
    assert artifact.output["coefficients"] == ["a - 3", "3*b", "1"]
    assert artifact.diagnostics["leading_coefficient_zero_possible"] is True
    refused = run("collect_coefficients", expr="sin(x) + x", wrt=["x"])
    assert refused.error is not None
    assert refused.error.code == "NOT_POLYNOMIAL"


def test_results_do_not_depend_on_the_order_of_values() -> None:
    first = run("substitute", expr="a*x + b*y", subs={"a": "2", "b": "q + p", "y": "z"})
    second = run("substitute", expr="a*x + b*y", subs={"y": "z", "b": "q + p", "a": "2"})
    assert first.output == second.output
