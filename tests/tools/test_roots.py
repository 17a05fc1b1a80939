"""Numerical roots with certificates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.errors import ToolError
from maven_env.tools.registry import find

if TYPE_CHECKING:
    from conftest import Call


def run(tool_id: str, **given_: object) -> Any:
    arguments, _ = find(tool_id).read(given_, lambda body: None)
    return find(tool_id).run(arguments)


# truth: optimisation_roots.json
BRACKETED = [
    ("x - cos(x)", "x", [0, 1], 0.7390851332151607),
    ("x^3 - 2*x - 5", "x", [2, 3], 2.0945514815423265),
    ("x^19", "x", [-0.5, 1], 0.0),
    ("x*exp(x) - 1", "x", [0, 1], 0.5671432904097838),
    ("1/sqrt(f) + 2*log(0.001/3.7 + 2.51/(1e5*sqrt(f)))/log(10)", "f", [0.005, 0.1], 0.022174535944515076),
]


@pytest.mark.parametrize(("equation", "unknown", "bracket", "expected"), BRACKETED)
def test_a_bracketed_root_is_the_nearest_double(
    call: Call, equation: str, unknown: str, bracket: list[float], expected: float
) -> None:
    assert call("bracketed_root", equation=equation, unknown=unknown, bracket=bracket).output["root"] == expected


@pytest.mark.parametrize(
    ("equation", "bracket", "code"),
    [
        ("tan(x)", [1, 2], "DOMAIN_ERROR"),
        ("1/x", [-1, 1], "DOMAIN_ERROR"),
        ("sign(x - 1/3)", [0, 1], "DOMAIN_ERROR"),
        ("log(x - 1)", [1, 3], "DOMAIN_ERROR"),
        ("(x - 1)^2", [0, 3], "NO_SIGN_CHANGE"),
        ("x - a", [0, 1], "UNKNOWN_SYMBOL"),
        ("x", [1, 1], "BAD_INPUT"),
    ],
)
def test_what_is_no_root_is_not_returned(call: Call, equation: str, bracket: list[float], code: str) -> None:
    found = call("bracketed_root", equation=equation, unknown="x", bracket=bracket)
    assert found.error is not None
    assert found.error.code == code


def test_newton_converges_where_it_should(call: Call) -> None:
    found = call("nsolve", equations=["E - 0.9*sin(E) - 0.1"], unknowns=["E"], start=[0.1])
    assert found.output["solution"] == [0.6308435275631534]
    assert found.diagnostics["certified"]


@pytest.mark.parametrize(
    ("equation", "start"), [("x^2 - 2*x", 1), ("x^2 + 1", 1), ("x^2", 1), ("(x-1)^3", 2), ("x^3 - 2*x + 2", 0)]
)
def test_newton_never_reports_a_false_or_unproved_root(call: Call, equation: str, start: float) -> None:
    found = call("nsolve", equations=[equation], unknowns=["x"], start=[start])
    assert found.error is not None
    assert found.error.code in ("SINGULAR", "NO_CONVERGENCE")


def test_a_far_start_ends_at_the_root_or_not_at_all(call: Call) -> None:
    """scipy issue 14453, where the secant method stops at 150."""
    found = call("nsolve", equations=["100*exp(-0.03*x) - 100"], unknowns=["x"], start=[150])
    assert not found.ok or found.output["solution"] == [0.0]


@given(st.floats(-3, 3), st.floats(0.2, 3))
@settings(max_examples=25, deadline=None)
def test_a_system_is_solved_to_the_nearest_doubles(x: float, y: float) -> None:
    equations = [f"x^3 + y = {x**3!r} + ({y!r})", f"exp(y)*x - y = exp({y!r})*({x!r}) - ({y!r})"]
    try:
        found = run("nsolve", equations=equations, unknowns=["x", "y"], start=[x * 1.01 + 0.01, y * 0.99])
    except ToolError:
        return  # declining is allowed
    p, q = found.output["solution"]
    assert abs(p**3 + q - x**3 - y) < 1e-12 * (1 + abs(x) ** 3)


def test_all_roots_and_poles_are_found_with_proof(call: Call) -> None:
    found = call("find_all_roots", equation="tan(x) = x", unknown="x", interval=[1, 10])
    assert found.output["roots"] == [4.493409457909064, 7.725251836937707]
    assert found.output["poles"] == [math.pi / 2, 3 * math.pi / 2, 5 * math.pi / 2]
    assert found.diagnostics["completeness"] == "proven"


def test_a_tangential_root_is_told_from_a_simple_one(call: Call) -> None:
    found = call("find_all_roots", equation="(x-1)^2*(x-3)/(x-2)", unknown="x", interval=[0, 5])
    assert (found.output["roots"], found.output["tangential"], found.output["poles"]) == ([3.0], [1.0], [2.0])
    flat = call("find_all_roots", equation="cos(x) + x^2/2 - 1", unknown="x", interval=[-2, 2])
    assert flat.output["roots"] == []
    assert abs(flat.output["tangential"][0]) < 1e-12
    assert flat.diagnostics["completeness"] == "not proven"


def test_a_pair_closer_than_any_scan_is_found(call: Call) -> None:
    found = call("find_all_roots", equation="exp(x)*((x - 1/3)^2 - 1e-12)", unknown="x", interval=[-5, 5], n_scan=10)
    assert found.output["n"] == 2
    assert found.diagnostics["min_separation"] == pytest.approx(2e-6, rel=1e-6)


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=4, unique=True), st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_chosen_roots_of_a_transcendental_function_are_all_found(tenths: list[int], k: int) -> None:
    product = "*".join(f"(x - {t}/10)" for t in tenths)
    found = run("find_all_roots", equation=f"({product})*(exp(x/{k}) + x^2)", unknown="x", interval=[-5, 5])
    assert found.output["roots"] == [t / 10 for t in sorted(tenths)]


def test_an_interval_outside_the_domain_is_refused(call: Call) -> None:
    found = call("find_all_roots", equation="log(x) = cos(x)", unknown="x", interval=[-3, -1])
    assert found.error is not None
    assert found.error.code == "DOMAIN_ERROR"


def test_results_do_not_depend_on_the_order_of_calls(call: Call) -> None:
    first = call("find_all_roots", equation="x*sin(x) = 1", unknown="x", interval=[0, 20]).output
    call("find_all_roots", equation="x*cos(x) = 1", unknown="x", interval=[0, 20])
    assert call("find_all_roots", equation="x*sin(x) = 1", unknown="x", interval=[0, 20]).output == first
