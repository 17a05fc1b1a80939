"""Facts about initial value problems, boundary value problems and closed forms."""

from __future__ import annotations

import math
from typing import Any

import pytest

ROBERTSON = {
    "rhs": ["-0.04*a+1e4*b*c", "0.04*a-1e4*b*c-3e7*b^2", "3e7*b^2"],
    "variables": ["a", "b", "c"],
    "t_span": ["0", "40"],
    "y0": ["1", "0", "0"],
}


def test_robertson_is_solved_by_the_implicit_method(call: Any) -> None:
    """Reference values: IVP test set."""
    found = call("solve_ode_stiff", **ROBERTSON).output["y_final"]
    assert found == pytest.approx([0.7158270687194, 9.185534764558e-06, 0.2841637457458], rel=1e-9)


@pytest.mark.slow
def test_robertson_shows_its_stiffness_to_the_explicit_method(call: Any) -> None:
    assert call("solve_ode_explicit", **ROBERTSON).error.code == "LIMIT_EXCEEDED"


def test_conflicting_populations_match_the_reference(call: Any) -> None:
    """DETEST B1."""
    given = {"rhs": ["2*(x-x*y)", "-(y-x*y)"], "variables": ["x", "y"], "t_span": ["0", "20"], "y0": ["1", "3"]}
    found = call("solve_ode_explicit", **given).output["y_final"]
    assert found == pytest.approx([0.67618760085766066, 0.18608160996400298], rel=1e-9)


def test_chaos_is_declined(call: Any) -> None:
    rhs = ["10*(y-x)", "x*(28-z)-y", "x*y-8/3*z"]
    given = {"rhs": rhs, "variables": ["x", "y", "z"], "t_span": ["0", "20"], "y0": ["1", "1", "1"]}
    assert call("solve_ode_explicit", **given).error.code == "NO_CONVERGENCE"


@pytest.mark.parametrize("tool", ["solve_ode_explicit", "solve_ode_stiff"])
def test_a_solution_that_blows_up_is_not_carried_past_its_end(call: Any, tool: str) -> None:
    artifact = call(tool, rhs=["y^2"], variables=["y"], t_span=["0", "2"], y0=["1"])
    assert artifact.error.code == "BLOW_UP"
    assert "t = 1" in artifact.error.message


def test_a_start_without_uniqueness_is_flagged(call: Any) -> None:
    artifact = call("solve_ode_explicit", rhs=["3*y^(2/3)"], variables=["y"], t_span=["0", "1"], y0=["0"])
    assert "warning" in artifact.diagnostics


def test_a_pulse_between_the_steps_is_not_missed(call: Any) -> None:
    given = {"rhs": ["exp(-((t-50)/0.2)^2)"], "variables": ["y"], "t_span": ["0", "100"], "y0": ["0"]}
    artifact = call("solve_ode_explicit", **given)
    assert artifact.error is not None or artifact.output["y_final"][0] == pytest.approx(
        0.2 * math.sqrt(math.pi), rel=1e-6
    )


def test_events_are_found_in_the_wanted_direction(call: Any) -> None:
    given = {"rhs": ["v", "-x"], "variables": ["x", "v"], "t_span": ["0", "20"], "y0": ["1", "0"], "event": "x"}
    times = call("solve_ode_explicit", **given, event_direction=-1).output["event_times"]
    assert times == pytest.approx([math.pi / 2 + 2 * math.pi * k for k in range(3)], rel=1e-11)
    stopped = call("solve_ode_explicit", **given, stop_at_event=True).output
    assert stopped["event_times"] == [stopped["t"][-1]]
    assert stopped["y_final"] == pytest.approx([0, -1], abs=1e-11)


def test_integration_backwards_undoes_integration_forwards(call: Any) -> None:
    forward = call("solve_ode_explicit", rhs=["-2*t*y"], variables=["y"], t_span=["0", "1"], y0=["1"])
    (end,) = forward.output["y_final"]
    back = call("solve_ode_explicit", rhs=["-2*t*y"], variables=["y"], t_span=["1", "0"], y0=[end])
    assert back.output["y_final"] == pytest.approx([1.0], rel=1e-11)


def test_bad_sizes_and_names_are_refused(call: Any) -> None:
    span = {"t_span": ["0", "1"]}
    assert call("solve_ode_explicit", rhs=["y", "y"], variables=["y"], y0=["1"], **span).error.code == "SHAPE_MISMATCH"
    assert call("solve_ode_explicit", rhs=["k*y"], variables=["y"], y0=["1"], **span).error.code == "UNKNOWN_SYMBOL"
    assert call("solve_ode_stiff", rhs=["y"], variables=["t"], y0=["1"], **span).error.code in (
        "BAD_INPUT",
        "UNKNOWN_SYMBOL",
    )


LAYER = {
    "rhs": ["v", "-(v+y)/eps"], "variables": ["y", "v"], "x": "x", "interval": ["0", "1"], "bc": ["y_a", "y_b-1"],
    "guess": ["x", "0"], "x_eval": ["0", "0.3", "1"], "tol": 1e-8, "n_mesh": 60,
}  # fmt: skip


def test_a_boundary_layer_is_resolved(call: Any) -> None:
    output = call("solve_bvp", **LAYER, params={"eps": "0.1"}).output
    r1, r2 = ((-1 + s * math.sqrt(1 - 0.4)) / 0.2 for s in (1, -1))
    exact = (math.exp(r1 * 0.3) - math.exp(r2 * 0.3)) / (math.exp(r1) - math.exp(r2))
    assert output["y"][0] == pytest.approx([0, exact, 1], abs=1e-9)


@pytest.mark.parametrize("bc", [["y_a", "y_b"], ["y_a", "y_b-1"]])
def test_a_problem_at_resonance_has_no_single_solution(call: Any, bc: list[str]) -> None:
    given = {
        "rhs": ["v", "-y"],
        "variables": ["y", "v"],
        "x": "x",
        "interval": ["0", "pi"],
        "guess": ["sin(x)", "cos(x)"],
    }
    assert call("solve_bvp", **given, bc=bc).error.code in ("NO_CONVERGENCE", "SINGULAR")


@pytest.mark.parametrize(
    ("ode", "function", "conditions", "expr"),
    [
        ("v' = 981/100 - v^2/4", "v(x)", {"v(0)": "0"}, "3*sqrt(109)*tanh(3*sqrt(109)*x/20)/5"),  # sympy issue 21940
        ("y' = log(y)", "y(x)", {"y(1)": "1"}, "1"),  # sympy issue 29827
        ("y' = y*(1-y)", "y(x)", {"y(0)": "0"}, "0"),
        ("y'' = y*(y-1)", "y(x)", {"y(0)": "1", "y'(0)": "0"}, "1"),
        ("y' = 1/y", "y(x)", {"y(1)": "2"}, "sqrt(2*x + 2)"),  # sympy PR 16170
        ("y'' + 4*y = 0", "y(x)", {"y(0)": "1", "dy(0)": "0"}, "cos(2*x)"),
    ],
)
def test_closed_forms_meet_their_conditions(call: Any, ode: str, function: str, conditions: Any, expr: str) -> None:
    artifact = call("solve_ode_symbolic", ode=ode, function=function, conditions=conditions)
    assert artifact.output == {"expr": expr, "constants": []}
    assert artifact.diagnostics["checked"] is True


def test_conditions_that_contradict_the_equation_are_named_so(call: Any) -> None:
    given = {"ode": "y'' + y = 0", "function": "y(x)", "conditions": {"y(0)": "0", "y(pi)": "1"}}
    assert call("solve_ode_symbolic", **given).error.code == "INCONSISTENT"


def test_a_general_solution_has_as_many_constants_as_the_order(call: Any) -> None:
    artifact = call("solve_ode_symbolic", ode="T'' = m^2*T", function="T(x)")
    assert artifact.output["constants"] == ["C1", "C2"]
