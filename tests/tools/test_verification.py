"""The checks: what passes is proven or has a margin of ten, what cannot be decided says so."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.artifacts import MemoryStore
from maven_env.tools.registry import registry
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall

Call = Callable[..., Artifact]
CHECKS = [
    "check_residual", "check_units", "second_derivative_test", "check_equivalence", "check_condition",
    "check_conservation", "check_boundary_conditions", "check_convergence", "cross_check_numeric", "check_domain",
    "check_sign",
]  # fmt: skip


def outcome(artifact: Artifact) -> Any:
    return artifact.output["verdict"] if artifact.ok else artifact.error and artifact.error.code


@pytest.mark.parametrize("tool_id", CHECKS)
def test_example_passes(call: Call, tool_id: str) -> None:
    spec = registry()[tool_id]
    artifact = call(tool_id, **spec.example)
    assert outcome(artifact) == "passed"
    assert artifact.diagnostics["type"] == "verification"
    assert artifact.diagnostics["evidence"]
    assert set(artifact.output) <= {field.name for field in spec.outputs}
    json.dumps(artifact.to_json(), allow_nan=False)


# ---- residuals -------------------------------------------------------------------------------------------------------
def test_exact_roots_leave_no_residual_and_rounded_ones_a_small_one(call: Call) -> None:
    artifact = call(
        "check_residual",
        equations=["x^2 - 3*x + 1"],
        candidates=[{"x": "(3 - sqrt(5))/2"}, {"x": 0.381966011250105}, {"x": 0.381966011}, {"x": 0.3819}],
    )
    assert artifact.output["per_candidate"] == ["passed", "passed", "inconclusive", "failed"]
    assert artifact.output["residuals"][0] == 0
    assert artifact.output["verdict"] == "failed"


def test_root_of_the_squared_equation_fails_in_the_original(call: Call) -> None:
    """sqrt(2x + 7/2) = x - 6/5: squaring brings in the smaller root."""
    roots = ["11/5 + sqrt(690)/10", "11/5 - sqrt(690)/10"]
    artifact = call("check_residual", equations=["sqrt(2*x + 7/2) = x - 6/5"], candidates=[{"x": r} for r in roots])
    assert artifact.output["per_candidate"] == ["passed", "failed"]


def test_residual_is_relative_to_the_terms_multiplied_out(call: Call) -> None:
    artifact = call("check_residual", equations=["(x - 1)*(x - 2)"], candidates=[{"x": "1.0000000000000002"}])
    assert outcome(artifact) == "passed"


def test_complex_and_symbolic_candidates(call: Call) -> None:
    assert outcome(call("check_residual", equations=["x^2 + 1 = 0"], candidates=[{"x": [0, -1]}])) == "passed"
    assert outcome(call("check_residual", equations=["x^2 - a"], candidates=[{"x": "-sqrt(a)"}])) == "passed"
    assert outcome(call("check_residual", equations=["x^2 - a"], candidates=[{"x": "a"}])) == "failed"


def test_pole_at_a_candidate_is_inconclusive(call: Call) -> None:
    artifact = call("check_residual", equations=["1/(x - 1) = 0"], candidates=[{"x": 1}])
    assert outcome(artifact) == "inconclusive"


def test_small_residual_of_an_ill_conditioned_system_is_inconclusive(call: Call) -> None:
    hilbert = [[f"1/{i + j + 1}" for j in range(12)] for i in range(12)]
    rhs = [sum(1 / (i + j + 1) for j in range(12)) for i in range(12)]
    artifact = call("check_residual", matrix=hilbert, rhs=rhs, solution=[1] * 12)
    assert outcome(artifact) == "inconclusive"
    assert artifact.output["backward_error"] < 1e-15
    assert artifact.diagnostics["condition_number"] == pytest.approx(1.7132e16, rel=1e-3)
    exact = call("check_residual", matrix=[[1, "1/2"], ["1/2", "1/3"]], rhs=[1, 0], solution=[4, -6])
    assert outcome(exact) == "passed"
    assert outcome(call("check_residual", matrix=[[1, 2]], rhs=[1], solution=[1])) == "SHAPE_MISMATCH"


@given(st.fractions(-9, 9, max_denominator=12), st.fractions(-9, 9, max_denominator=12))
@settings(max_examples=25, deadline=None)
def test_residual_of_what_was_built_from_its_roots_is_zero(r: Fraction, s: Fraction) -> None:
    equation = f"x^2 - ({r + s})*x + ({r * s}) = 0"
    given_input = {"equations": [equation], "candidates": [{"x": str(r)}, {"x": str(s)}]}
    artifact = Toolbox().call(ToolCall("check_residual", given_input), MemoryStore("test"))
    assert artifact.output["residuals"] == [0, 0]


# ---- signs -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expr", "expected", "verdict", "sign"),
    [
        ("-1e-30", "negative", "passed", -1),
        ("sqrt(2) + sqrt(3) - sqrt(5 + 2*sqrt(6))", "zero", "passed", 0),
        ("exp(pi*sqrt(163)) - 262537412640768744", "positive", "failed", -1),
        ("sin(10^20) - sin(10^20 + 1/10^30)", "zero", "failed", -1),
    ],
)
def test_sign_of_a_number_is_exact(call: Call, expr: str, expected: str, verdict: str, sign: int) -> None:
    artifact = call("check_sign", expr=expr, expected=expected)
    assert (artifact.output["verdict"], artifact.output["sign"]) == (verdict, sign)


@pytest.mark.parametrize(
    ("expr", "interval", "expected", "verdict"),
    [
        ("x - 5", [0, 1], "negative", "passed"),  # its zero lies outside
        ("1/(x - 5)", [0, 1], "negative", "passed"),  # its pole lies outside
        ("x - 5", [0, 1], "positive", "failed"),
        ("x^2 - 2*x + 2", [-1, 3], "positive", "passed"),
        ("(x - 1)^2", [-1, 3], "nonnegative", "passed"),
        ("(x - 1)^2", [-1, 3], "positive", "failed"),
        ("x^3 - x", [-2, 2], "nonnegative", "failed"),
        ("x", [0, 1], "positive", "failed"),
        ("x^2 - 2 + 1/10^30", ["sqrt(2)", 2], "positive", "passed"),
        ("1/(x^2 + 1)", ["-oo", "oo"], "positive", "passed"),
        ("sin(x)", [0, "pi"], "nonnegative", "passed"),
        ("sin(x) - x", ["1/10", 3], "negative", "passed"),
        ("log(x) - x", ["1/100", 30], "negative", "passed"),
        ("exp(-x) - x^2/10 - 1/3 + Abs(x - 1)", [0, 3], "positive", "failed"),
        ("exp(-1000*(x - 37/100)^2) - 1/2", [0, 1], "negative", "failed"),
        ("tan(x)", [1, "3/2"], "positive", "passed"),
        ("1 - cos(x)", [-1, 1], "nonnegative", "inconclusive"),
        ("sin(1/x)^2 + 1/10^9", [-1, 1], "positive", "inconclusive"),
        ("atan2(x, -1)", [-1, 1], "positive", "failed"),
        ("im(log(I*x - 1))", [-1, 1], "positive", "failed"),
        ("atan2(x - 10^(-9), -1) + 2", ["-1/2", "1/2"], "positive", "failed"),
        ("1/x", [-1, 1], "positive", "DOMAIN_ERROR"),
        ("sqrt(x)", [-1, 1], "positive", "DOMAIN_ERROR"),
        ("x", [1, 0], "positive", "BAD_INPUT"),
    ],
)
def test_sign_over_an_interval_is_certified(
    call: Call, expr: str, interval: list[Any], expected: str, verdict: str
) -> None:
    assert outcome(call("check_sign", expr=expr, wrt="x", interval=interval, expected=expected)) == verdict


def test_sign_changes_and_extremes_are_found(call: Call) -> None:
    artifact = call("check_sign", expr="sin(x)", wrt="x", interval=[1, 5], expected="positive")
    assert artifact.output["sign_changes"] == [math.pi]
    assert (artifact.output["min"], artifact.output["max"]) == (-1.0, 1.0)
    assert artifact.output["sign"] == "mixed"


def test_pole_is_no_sign_change(call: Call) -> None:
    artifact = call("check_sign", expr="tan(x)", wrt="x", interval=[1, 2], expected="positive")
    assert artifact.output["sign_changes"] == []
    assert artifact.diagnostics["undecided"]


# ---- domain ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "condition", "margin", "verdict"),
    [
        ({"x": 3}, "x > 2", 1e-9, "passed"),
        ({"x": 1}, "x > 2", 1e-9, "failed"),
        ({"x": 2}, "x > 2", 1e-9, "inconclusive"),
        ({"x": 2}, "x >= 2", 0, "passed"),
        ({"x": 2}, "x > 2", 0, "failed"),
        ({"x": "2 + 1/10^12"}, "x - 2 > 0", 1e-9, "inconclusive"),
        ({"x": "2 + 1/10^12"}, "x - 2 > 0", 0, "passed"),
        ({"x": "sqrt(2)", "y": "2/sqrt(2)"}, "x = y", 1e-9, "passed"),
        ({"z": [1, 2]}, "z > 0", 1e-9, "failed"),
        ({"z": [1, 0]}, "im(z) = 0", 1e-9, "passed"),
        ({"x": 5}, "x < oo", 1e-9, "passed"),
        ({"x": 5}, "x + 1", 1e-9, "BAD_INPUT"),
        ({"x": 5}, "y > 1", 1e-9, "UNKNOWN_SYMBOL"),
    ],
)
def test_domain_is_decided_off_the_boundary(
    call: Call, values: dict[str, Any], condition: str, margin: float, verdict: str
) -> None:
    assert outcome(call("check_domain", values=values, conditions=[condition], margin=margin)) == verdict


# ---- conditioning ----------------------------------------------------------------------------------------------------
def test_cancelling_sum_is_failed_or_open_by_decades(call: Call) -> None:
    def verdict(target: float) -> Any:
        return outcome(call("check_condition", kind="sum", terms=["1000000.1", "-1000000"], target_rel_error=target))

    assert [verdict(1e-7), verdict(1e-8), verdict(1e-11)] == ["passed", "inconclusive", "failed"]
    total = call("check_condition", kind="sum", terms=["sqrt(2)", "-sqrt(2)"])
    assert (outcome(total), total.output["condition_number"]) == ("failed", "oo")


def test_condition_of_a_matrix_is_right_beyond_double_precision(call: Call) -> None:
    hilbert = [[f"1/{i + j + 1}" for j in range(15)] for i in range(15)]
    artifact = call("check_condition", kind="matrix", matrix=hilbert)
    assert artifact.output["condition_number"] == pytest.approx(6.1165e20, rel=1e-3)
    singular = call("check_condition", kind="matrix", matrix=[[1, 2], [2, 4]])
    assert singular.output["condition_number"] == "oo"
    scaled = call("check_condition", kind="matrix", matrix=[[1, 0], [0, 1e-12]])
    assert scaled.output["condition_number"] == 1e12


def test_condition_of_roots_and_values(call: Call) -> None:
    root = call("check_condition", kind="root", expr="(x - 1)*(x - 1.0001)*(x - 4)", wrt="x", at={"x": 1})
    assert root.output["condition_number"] == 66670.0
    double_root = call("check_condition", kind="root", expr="(x - 1)^2", wrt="x", at={"x": 1})
    assert outcome(double_root) == "failed"
    value = call("check_condition", kind="evaluation", expr="x^3", wrt="x", at={"x": "1/7"})
    assert value.output["condition_number"] == 3.0


# ---- extrema ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expr", "point", "classification", "verdict", "order"),
    [
        ("x^3 - 3*x", {"x": 1}, "minimum", "passed", 2),
        ("x^4", {"x": 0}, "minimum", "passed", 4),
        ("-x^6", {"x": 0}, "maximum", "passed", 6),
        ("x^3", {"x": 0}, "inflection", "passed", 3),
        ("x^8", {"x": 0}, "degenerate", "inconclusive", None),
        ("x^2", {"x": 0.1}, "not_stationary", "failed", 1),
        ("x^2 - y^2", {"x": 0, "y": 0}, "saddle", "passed", 2),
        ("x^2 + y^4", {"x": 0, "y": 0}, "degenerate", "inconclusive", None),
        ("x^2 + y^2 + x*y", {"x": 0, "y": 0}, "minimum", "passed", 2),
    ],
)
def test_stationary_points_are_classified(
    call: Call, expr: str, point: dict[str, Any], classification: str, verdict: str, order: int | None
) -> None:
    output = call("second_derivative_test", expr=expr, variables=list(point), point=point).output
    assert (output["classification"], output["verdict"], output["decisive_order"]) == (classification, verdict, order)


def test_tiny_second_derivative_is_decided_by_the_fourth_but_not_passed(call: Call) -> None:
    """The kinetic energy on a cubic path whose stops all but coincide: a maximum, by the threshold a minimum."""
    energy = "7/5*(9/4*((t - 13/10)^2 - 1/10^13))^2/2"
    output = call("second_derivative_test", expr=energy, variables=["t"], point={"t": "13/10"}).output
    assert (output["classification"], output["decisive_order"]) == ("minimum", 4)
    assert output["verdict"] == "inconclusive"
    assert output["hessian"][0][0] < 0


def test_constrained_extremum(call: Call) -> None:
    where = {"x": 1, "y": 1}
    constraint = ["x + y = 2"]
    found = call("second_derivative_test", expr="x*y", variables=["x", "y"], point=where, constraints=constraint)
    assert (found.output["classification"], found.output["verdict"]) == ("maximum", "passed")
    off = {"x": 1, "y": 2}
    found = call("second_derivative_test", expr="x*y", variables=["x", "y"], point=off, constraints=constraint)
    assert found.output["classification"] == "not_stationary"
    assert outcome(call("second_derivative_test", expr="Abs(x)", variables=["x"], point={"x": 0})) == "DOMAIN_ERROR"


# ---- equivalence -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("a", "b", "more", "verdict"),
    [
        ("sin(2*x)", "2*sin(x)*cos(x)", {}, "passed"),
        ("sqrt(x^2)", "x", {}, "inconclusive"),
        ("sqrt(x^2)", "x", {"assumptions": {"x": "positive"}}, "passed"),
        ("sqrt(x^2)", "x", {"domain": {"x": [-2, 2]}}, "failed"),
        ("sin(pi*n)", "0", {"assumptions": {"n": "integer"}}, "passed"),
        ("cos(pi*n)", "1", {"assumptions": {"n": ["integer", "positive"]}}, "failed"),
        ("x^2/2", "(x^2 + 3)/2", {"up_to": "constant", "wrt": "x"}, "passed"),
        ("x - 1", "1 - x", {"up_to": "sign"}, "passed"),
        (["1", "sqrt(2)"], ["2/sqrt(2)", 1], {"up_to": "order"}, "passed"),
        (["1", "2"], ["-2", "-4"], {"up_to": "scale"}, "passed"),
        (["1", "2"], ["1"], {}, "failed"),
        ("x", ["x"], {}, "BAD_INPUT"),
        ("x", "x", {"assumptions": {"x": ["positive", "negative"]}}, "ASSUMPTION_CONFLICT"),
        ("x", "x", {"assumptions": {"x": "huge"}}, "BAD_INPUT"),
    ],
)
def test_equivalence_under_assumptions(call: Call, a: Any, b: Any, more: dict[str, Any], verdict: str) -> None:
    assert outcome(call("check_equivalence", a=a, b=b, **more)) == verdict


def test_counterexample_lies_in_the_domain(call: Call) -> None:
    artifact = call("check_equivalence", a="Abs(t)", b="t", domain={"t": [-2, 2]})
    assert -2 < Fraction(artifact.output["counterexample"]["t"]) < 0
    assert artifact.output["difference"] == "Abs(t) - t"


# ---- values ----------------------------------------------------------------------------------------------------------
def test_cross_check_has_a_margin_of_ten_on_both_sides(call: Call) -> None:
    def verdict(b: float) -> Any:
        return outcome(call("cross_check_numeric", a=1, b=b, rel_tol=1e-6))

    assert [verdict(1 + 5e-8), verdict(1 + 2e-6), verdict(1 + 2e-5)] == ["passed", "inconclusive", "failed"]
    assert outcome(call("cross_check_numeric", a=0, b=1e-12, abs_tol=1e-9)) == "passed"


def test_lists_are_compared_in_order_or_as_sets(call: Call) -> None:
    a, b = [1, [2, 3], 4], [4, 1, [2, "3.000000001"]]
    assert outcome(call("cross_check_numeric", a=a, b=b)) == "failed"
    assert outcome(call("cross_check_numeric", a=a, b=b, unordered=True)) == "passed"
    assert outcome(call("cross_check_numeric", a=[1, 2], b=[1])) == "failed"


def test_common_ancestry_is_reported(toolbox: Toolbox) -> None:
    store = MemoryStore("test")

    def run(tool_id: str, **given: Any) -> Artifact:
        artifact = toolbox.call(ToolCall(tool_id, given), store)
        store.put(artifact)
        return artifact

    run("symbolic_diff", expr="x^3", wrt="x")
    run("symbolic_diff", expr="${step-01.output.expr}", wrt="x")
    run("symbolic_diff", expr="x^4/4", wrt="x")
    related = run("cross_check_numeric", a="${step-01.output.expr}", b="${step-02.output.expr}^2/12", subs={"x": 2})
    assert related.diagnostics["same_source"] is True
    assert related.diagnostics["common_steps"] == ["step-01"]
    apart = run("cross_check_numeric", a="${step-01.output.expr}", b="3*${step-03.output.expr}/x", subs={"x": 2})
    assert (outcome(apart), apart.diagnostics["same_source"]) == ("passed", False)
    same = run("cross_check_numeric", a="${step-01.output.expr}", b="${step-01.output.expr}", subs={"x": 2})
    assert outcome(same) == "inconclusive"


# ---- refinement ------------------------------------------------------------------------------------------------------
def test_sequence_gives_the_observed_order(call: Call) -> None:
    artifact = call("check_convergence", values=[1 + 4.0**-k for k in range(2, 9)], tol=1e-2)
    assert outcome(artifact) == "passed"
    assert artifact.output["observed_order"] == pytest.approx(2, abs=0.01)
    assert outcome(call("check_convergence", values=[1, 1.5], tol=1e-3)) == "failed"
    growing = call("check_convergence", values=[1, "1 + 1e-9", "1 + 1e-8"], tol=1e-6)
    assert outcome(growing) == "inconclusive"
    assert outcome(call("check_convergence", values=[[1, 2], [1]], tol=1e-3)) == "SHAPE_MISMATCH"
    assert outcome(call("check_convergence")) == "BAD_INPUT"


def test_step_is_run_again_with_the_override(toolbox: Toolbox) -> None:
    store = MemoryStore("test")
    first = toolbox.call(ToolCall("check_sign", {"expr": "x - 2", "subs": {"x": 3}, "expected": "positive"}), store)
    store.put(first)
    given_input = {"step": "step-01", "override": {"subs": {"x": "3.0000001"}}, "field": "min", "tol": 1e-5}
    artifact = toolbox.call(ToolCall("check_convergence", given_input), store)
    assert outcome(artifact) == "passed"
    assert artifact.output["refined_value"] == 1.0000001
    assert artifact.diagnostics["rerun_tool"] == "check_sign"
    assert store.next_step_id() == "step-02"
    for wrong, code in (
        ({"step": "step-09", "override": {"subs": {"x": 1}}, "field": "min"}, "BAD_REFERENCE"),
        ({"step": "step-01", "override": {"nonsense": 1}, "field": "min"}, "BAD_INPUT"),
        ({"step": "step-01", "override": {"expected": "positive"}, "field": "min"}, "BAD_INPUT"),
        ({"step": "step-01", "override": {"subs": {"x": 1}}, "field": "value"}, "BAD_REFERENCE"),
    ):
        assert outcome(toolbox.call(ToolCall("check_convergence", wrong), store)) == code


# ---- trajectories ----------------------------------------------------------------------------------------------------
def test_invariant_along_a_circle(call: Call) -> None:
    states = [[math.sin(k / 10) for k in range(50)], [math.cos(k / 10) for k in range(50)]]
    names = ["q", "p"]
    energy = call("check_conservation", invariant="(p^2 + q^2)/2", variables=names, states=states)
    assert outcome(energy) == "passed"
    excess = "(p^2 + q^2)/2 - E"
    zero = call("check_conservation", invariant=excess, variables=names, states=states, params={"E": "1/2"})
    assert (outcome(zero), zero.diagnostics["scale"]) == ("passed", 0.5)
    assert outcome(call("check_conservation", invariant="p", variables=names, states=states)) == "failed"
    turned = list(map(list, zip(*states, strict=True)))
    assert outcome(call("check_conservation", invariant="p", variables=names, states=turned)) == "SHAPE_MISMATCH"


def test_boundary_values_of_a_formula(call: Call) -> None:
    start = [{"at": 0, "value": "C"}, {"at": 0, "derivative": 1, "value": "-k*C"}]
    assert outcome(call("check_boundary_conditions", expr="C*exp(-k*x)", wrt="x", conditions=start)) == "passed"
    wrong = [{"at": 0, "value": "1.00001"}]
    assert outcome(call("check_boundary_conditions", expr="exp(-x)", wrt="x", conditions=wrong)) == "failed"
    odd = [{"at": 0, "worth": 1}]
    assert outcome(call("check_boundary_conditions", expr="x", wrt="x", conditions=odd)) == "BAD_INPUT"


@pytest.mark.parametrize(
    ("expr", "at", "value", "verdict"),
    [
        ("exp(-2*x) + 1", "oo", 1, "passed"),
        ("exp(-2*x) + 1", "oo", 0, "failed"),
        ("sin(x)/x", 0, 1, "passed"),
        ("x*log(x)", 0, 0, "passed"),
        ("sin(x)", "oo", 0, "DOMAIN_ERROR"),
        ("1/x", 0, 0, "DOMAIN_ERROR"),
    ],
)
def test_conditions_at_infinity_and_at_gaps_are_limits(
    call: Call, expr: str, at: Any, value: Any, verdict: str
) -> None:
    conditions = [{"at": at, "value": value}]
    assert outcome(call("check_boundary_conditions", expr=expr, wrt="x", conditions=conditions)) == verdict


def test_boundary_values_of_a_profile(call: Call) -> None:
    x = [k / 8 for k in range(9)]
    y = [t**2 for t in x]
    conditions = [{"at": 0, "value": 0}, {"at": 1, "derivative": 1, "value": 2}]
    assert outcome(call("check_boundary_conditions", x=x, y=y, conditions=conditions)) == "passed"
    between = [{"at": 0.3, "value": 0.09}]
    assert outcome(call("check_boundary_conditions", x=x, y=y, conditions=between)) == "BAD_INPUT"


# ---- units -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("equation", "units", "expected", "verdict"),
    [
        ("m*v^2/2", {"m": "kg", "v": "m/s"}, "J", "passed"),
        ("m*v", {"m": "kg", "v": "m/s"}, "J", "failed"),
        ("w^2 = g/R", {"w": "1/s", "g": "m/s^2", "R": "m"}, None, "passed"),
        ("w = g/R", {"w": "1/s", "g": "m/s^2", "R": "m"}, None, "failed"),
        ("v + a", {"v": "m/s", "a": "m/s^2"}, "m/s", "failed"),
        ("exp(t)", {"t": "s"}, "", "failed"),
        ("v = 0", {"v": "m/s"}, None, "passed"),
        ("p*V^n = C", {"p": "Pa", "V": "m^3", "n": "", "C": "J"}, None, "inconclusive"),
        ("m*v", {"m": "kg"}, "J", "UNKNOWN_SYMBOL"),
        ("m", {"m": "blorps"}, "J", "UNKNOWN_UNIT"),
    ],
)
def test_dimensions(call: Call, equation: str, units: dict[str, str], expected: str | None, verdict: str) -> None:
    more = {} if expected is None else {"expected_unit": expected}
    assert outcome(call("check_units", equation=equation, units=units, **more)) == verdict
