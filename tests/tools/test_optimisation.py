"""Minima, constrained optima and linear programmes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.tools.registry import find

if TYPE_CHECKING:
    from conftest import Call

ROSENBROCK = "(1 - x)^2 + 100*(y - x^2)^2"
HIMMELBLAU = "(x^2 + y - 11)^2 + (x + y^2 - 7)^2"


def run(tool_id: str, **given_: object) -> Any:
    arguments, _ = find(tool_id).read(given_, lambda body: None)
    return find(tool_id).run(arguments)


@pytest.mark.parametrize("method", ["bfgs", "newton", "nelder_mead"])
def test_the_banana_valley_is_followed_to_its_end(call: Call, method: str) -> None:
    found = call("minimize_local", expr=ROSENBROCK, variables=["x", "y"], start=[-1.2, 1], method=method)
    assert found.output["x"] == [1.0, 1.0]
    assert found.output["value"] == 0.0
    assert found.diagnostics["certified"]


def test_badly_scaled_variables_are_found(call: Call) -> None:
    """Brown's function (truth: optimisation_roots, mgh_brown_badly_scaled)."""
    expr = "(x - 1e6)^2 + (y - 2e-6)^2 + (x*y - 2)^2"
    assert call("minimize_local", expr=expr, variables=["x", "y"], start=[1, 1]).output["x"] == [1e6, 2e-6]


@pytest.mark.parametrize("start", [[0, 0], [1e-9, 1e-9], [1, 1]])
def test_a_minimum_along_every_line_is_no_minimum(call: Call, start: list[float]) -> None:
    """Peano's surface (truth: optimisation_roots, opt_peano_surface)."""
    assert not call("minimize_local", expr="(y - x^2)*(y - 3*x^2)", variables=["x", "y"], start=start).ok


def test_a_flat_minimum_is_found_but_not_certified(call: Call) -> None:
    found = call("minimize_local", expr="x^4 + y^4", variables=["x", "y"], start=[1, 1])
    assert found.output["x"] == [0.0, 0.0]
    assert not found.diagnostics["certified"]
    corner = call("minimize_local", expr="abs(x)", variables=["x"], start=[1.1])
    assert corner.output["x"] == [0.0]


@pytest.mark.parametrize(
    ("expr", "start"),
    [("x^3", 1.0), ("-x^2", 1.0), ("exp(-x)", 0.0), ("x", 0.0), ("x^3 - 3*x^2 + 3*x", 0.5), ("log(x)", 2.0)],
)
def test_what_has_no_minimum_gives_none(call: Call, expr: str, start: float) -> None:
    found = call("minimize_local", expr=expr, variables=["x"], start=[start])
    assert found.error is not None
    assert found.error.code in ("UNBOUNDED", "NO_CONVERGENCE", "DOMAIN_ERROR")


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.5, 4))
@settings(max_examples=20, deadline=None)
def test_the_centre_of_a_bowl_is_found(a: float, b: float, k: float) -> None:
    expr = f"{k!r}*(x - ({a!r}))^2 + (y - ({b!r}))^2 + (x - ({a!r}))*(y - ({b!r}))/2"
    found = run("minimize_local", expr=expr, variables=["x", "y"], start=[0, 0])
    assert found.output["x"] == pytest.approx([a, b], abs=1e-12)


def test_all_four_global_minima_are_reported(call: Call) -> None:
    """Himmelblau's function (truth: optimisation_roots, opt_himmelblau)."""
    found = call("minimize_global", expr=HIMMELBLAU, variables=["x", "y"], bounds=[[-5, 5], [-5, 5]])
    assert found.output["value"] == 0.0
    assert [place["value"] for place in found.output["local_minima"]] == [0.0] * 4
    assert found.diagnostics["runner_up_gap"] == 0.0


def test_the_global_minimum_among_many_is_found(call: Call) -> None:
    """Rastrigin's function (truth: optimisation_roots, opt_rastrigin2)."""
    expr = "20 + x^2 - 10*cos(2*pi*x) + y^2 - 10*cos(2*pi*y)"
    found = call("minimize_global", expr=expr, variables=["x", "y"], bounds=[[-5.12, 5.12], [-5.12, 5.12]])
    assert found.output["x"] == [0.0, 0.0]


def test_a_minimum_on_the_boundary_is_marked(call: Call) -> None:
    found = call("minimize_global", expr="x*exp(x)", variables=["x"], bounds=[[0, 3]])
    assert (found.output["x"], found.diagnostics["on_boundary"], found.diagnostics["proven"]) == ([0.0], True, True)


def test_a_proof_bounds_the_minimum(call: Call) -> None:
    found = call("minimize_global", expr="x^4 - 3*x^2 + x", variables=["x"], bounds=[[-3, 3]])
    assert found.diagnostics["proven"]
    assert found.diagnostics["rigorous_bound"] <= found.output["value"]
    largest = call("minimize_global", expr="x^4 - 3*x^2 + x", variables=["x"], bounds=[[-1, 1]], maximize=True)
    assert largest.diagnostics["rigorous_bound"] >= largest.output["value"]


def test_a_pole_in_the_box_is_no_minimum(call: Call) -> None:
    assert not call("minimize_global", expr="1/x", variables=["x"], bounds=[[-1, 1]]).ok
    assert not call("minimize_global", expr="log(x)", variables=["x"], bounds=[[-3, -1]]).ok


def test_multipliers_balance_the_gradients(call: Call) -> None:
    found = call(
        "constrained_optimize", expr="x*y", variables=["x", "y"], start=[1, 2], equalities=["x + y = 10"], maximize=True
    )
    assert (found.output["x"], found.output["value"], found.output["multipliers"]) == ([5.0, 5.0], 25.0, [5.0])
    assert found.diagnostics["second_order"] == "maximum"


def test_an_inequality_that_does_not_bind_has_no_multiplier(call: Call) -> None:
    found = call(
        "constrained_optimize",
        expr="x^2 + y^2",
        variables=["x", "y"],
        start=[3, 3],
        inequalities=["x + y >= 2", "x >= -5"],
    )
    assert (found.output["x"], found.output["multipliers"], found.output["active"]) == ([1.0, 1.0], [2.0, 0.0], [0])


def test_a_maximum_is_not_reported_as_a_minimum(call: Call) -> None:
    found = call(
        "constrained_optimize", expr="x + y", variables=["x", "y"], start=[0.5, 0.5], equalities=["x^2 + y^2 - 1"]
    )
    assert found.output["x"] == [-(0.5**0.5), -(0.5**0.5)]


def test_contradictory_constraints_are_infeasible(call: Call) -> None:
    found = call("constrained_optimize", expr="x", variables=["x"], start=[3], inequalities=["x - 1", "-x"])
    assert found.error is not None
    assert found.error.code == "INFEASIBLE"


def test_a_linear_programme_gives_duals_and_active_constraints(call: Call) -> None:
    found = call("linear_program", c=[3, 5], A_ub=[[1, 0], [0, 2], [3, 2]], b_ub=[4, 12, 18], maximize=True)
    assert (found.output["x"], found.output["value"]) == ([2.0, 6.0], 36.0)
    assert (found.output["duals"], found.output["active"]) == ([0.0, 1.5, 1.0], [1, 2])
    assert not found.diagnostics["alternative_optima"]


def test_alternative_optima_are_announced(call: Call) -> None:
    found = call("linear_program", c=[1, 1], A_ub=[[-1, -1]], b_ub=[-2])
    assert found.output["value"] == 2.0
    assert found.diagnostics["alternative_optima"]


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        ({"c": [-1]}, "UNBOUNDED"),
        ({"c": [1], "A_ub": [[1]], "b_ub": [-1]}, "INFEASIBLE"),
        ({"c": [1], "bounds": [[2, 1]]}, "INFEASIBLE"),
        ({"c": [1, 2], "A_ub": [[1]], "b_ub": [1]}, "SHAPE_MISMATCH"),
        ({"c": [1], "A_ub": [[1]]}, "SHAPE_MISMATCH"),
        ({"c": ["a"]}, "UNKNOWN_SYMBOL"),
    ],
)
def test_programmes_without_answer_are_refused(call: Call, given_: dict[str, object], code: str) -> None:
    found = call("linear_program", **given_)
    assert found.error is not None
    assert found.error.code == code


@given(st.lists(st.integers(-5, 5), min_size=12, max_size=12), st.lists(st.integers(1, 9), min_size=3, max_size=3))
@settings(max_examples=25, deadline=None)
def test_optimal_value_and_duals_agree(numbers: list[int], right: list[int]) -> None:
    c, rows = numbers[:3], [numbers[3:6], numbers[6:9], numbers[9:]]
    found = run("linear_program", c=c, A_ub=rows, b_ub=right, bounds=[[0, 10]] * 3)
    x = [Fraction(text) for text in found.diagnostics["exact"]["x"]]
    assert all(sum(a * v for a, v in zip(row, x, strict=True)) <= b for row, b in zip(rows, right, strict=True))
    assert all(dual <= 0 for dual in found.output["duals"])
    assert sum(a * v for a, v in zip(c, x, strict=True)) <= 0  # zero is feasible
