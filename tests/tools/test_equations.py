"""Equations, systems, inequalities and recurrences."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maven_env.expressions import parse, to_text
from maven_env.expressions.balls import value_ball
from maven_env.tools.registry import find

if TYPE_CHECKING:
    from conftest import Call

SMALL = st.fractions(-9, 9, max_denominator=6)


def run(tool_id: str, **given_: object) -> Any:
    arguments, _ = find(tool_id).read(given_, lambda body: None)
    return find(tool_id).run(arguments)


def near(text: str) -> complex:
    found = value_ball(parse(text), {}, 20)
    return complex(float(found.real.mid()), float(found.imag.mid()))


# truth: equations_limits_series_ode.json (Wester; sympy issues 10207, 23856), bug_reports.json (sympy issue 27548)
SOLVED: list[tuple[str, str, dict[str, object], list[str]]] = [
    ("x^6-9*x^4-4*x^3+27*x^2-36*x-23=0", "x", {}, ["2^(1/3)-sqrt(3)", "2^(1/3)+sqrt(3)"]),
    ("acos(x)=atan(x)", "x", {}, ["sqrt((sqrt(5)-1)/2)"]),
    ("asin(x)=atan(x)", "x", {}, ["0"]),
    ("(x-2)/x^(1/3)=0", "x", {}, ["2"]),
    ("2*sqrt(x)+3*x^(1/4)=2", "x", {}, ["1/16"]),
    ("x=1/sqrt(1+x^2)", "x", {"domain": "complex"}, ["-I*sqrt(1/2+sqrt(5)/2)", "sqrt(-1/2+sqrt(5)/2)"]),
    ("|2*x+5|=|x-2|", "x", {}, ["-7", "-1"]),
    ("max(2-x^2,x)=max(-x,x^3/9)", "x", {}, ["-1", "3"]),
    ("-0.4*sin(x)+0.25*sin(2*x)=0", "x", {"interval": ["0", "pi"]}, ["0", "acos(4/5)", "pi"]),
    ("sqrt(-x^2-x+8)=0", "x", {}, ["(-1-sqrt(33))/2", "(-1+sqrt(33))/2"]),
    ("11000000000/a - 1/(100000000*a*x^2)=0", "x", {}, ["-sqrt(110)/11000000000", "sqrt(110)/11000000000"]),
    ("2*pi*170/(log(r/(17/1000))/0.1139 + 1/(5.3*r))^2*(1/(5.3*r^2) - 1/(0.1139*r)) = 0", "r", {}, ["0.1139/5.3"]),
    ("sqrt(x+1)=x-1", "x", {}, ["3"]),
    ("log(x)+log(x-3)=log(10)", "x", {}, ["5"]),
    ("(x^2-1)/(x-1)=0", "x", {}, ["-1"]),
    ("x*exp(-x)=1/5", "x", {}, ["-LambertW(-1/5)", "-LambertW(-1/5,-1)"]),
    ("4^x=2^(x+1)", "x", {}, ["1"]),
    ("cosh(x)=2", "x", {}, ["log(2-sqrt(3))", "log(2+sqrt(3))"]),
    ("abs(cos(x))=2*sin(x)+1", "x", {"interval": [-4, 4]}, ["-pi", "0", "pi"]),
    ("x^2=-4", "x", {"domain": "complex"}, ["-2*I", "2*I"]),
]


@pytest.mark.parametrize(("equation", "unknown", "options", "expected"), SOLVED)
def test_the_solution_set_is_complete(
    call: Call, equation: str, unknown: str, options: dict[str, object], expected: list[str]
) -> None:
    found = call("solve_equation", equation=equation, unknown=unknown, **options)
    assert found.ok, found.error
    assert found.diagnostics["complete"]
    solutions = [near(text) for text in found.output["solutions"]]
    assert len(solutions) == len(expected)
    for solution, text in zip(solutions, expected, strict=True):
        assert abs(solution - near(text)) < 1e-12 * (1 + abs(solution))


@pytest.mark.parametrize(
    "equation",
    ["exp(x)=x", "sqrt(x)=-1", "1/x=0", "x^2+1=0", "sin(x)=2", "x*exp(-x)=2", "log(x)=log(-3)", "0*x=1", "x-x=1"],
)
def test_no_solution_is_said_only_where_it_is_proved(call: Call, equation: str) -> None:
    found = call("solve_equation", equation=equation, unknown="x")
    assert found.error is not None
    assert found.error.code in ("NO_SOLUTION", "UNKNOWN_SYMBOL")


@pytest.mark.parametrize(
    ("equation", "code"),
    [("x=x", "UNDERDETERMINED"), ("abs(x)=x", "UNSOLVED"), ("y=1", "UNKNOWN_SYMBOL"), ("x^3+a*x=b", "UNSOLVED")],
)
def test_what_has_no_finite_answer_is_refused(call: Call, equation: str, code: str) -> None:
    found = call("solve_equation", equation=equation, unknown="x")
    assert found.error is not None
    assert found.error.code == code


def test_the_real_cube_root_is_not_claimed(call: Call) -> None:
    found = call("solve_equation", equation="x^(1/3) = -2", unknown="x")
    assert found.error is not None
    assert found.error.code == "UNSOLVED"
    assert not call("solve_equation", equation="x^(2/3) = 4", unknown="x").diagnostics["complete"]


def test_a_periodic_family_is_never_called_complete(call: Call) -> None:
    found = call("solve_equation", equation="sin(x) = 1/2", unknown="x")
    assert found.output["solutions"] == ["pi/6", "5*pi/6"]
    assert not found.diagnostics["complete"]
    assert found.diagnostics["period"] == "2*pi"


def test_assumptions_choose_the_positive_root(call: Call) -> None:
    words = dict.fromkeys(("L", "C", "R"), "positive")
    found = call("solve_equation", equation="w*L - 1/(w*C) = R", unknown="w", domain="positive", assumptions=words)
    assert found.output["solutions"] == ["(C*R + sqrt(4*L*C + C^2*R^2))/(2*L*C)"]
    both = call("solve_equation", equation="w*L - 1/(w*C) = R", unknown="w")
    assert both.output["n"] == 2


def test_a_solution_that_depends_on_a_sign_is_flagged(call: Call) -> None:
    found = call("solve_equation", equation="sqrt(x + a) = b", unknown="x")
    assert found.output["solutions"] == ["b^2 - a"]
    assert found.diagnostics["branch_flags"]


@given(SMALL, SMALL, SMALL.filter(bool))
@settings(max_examples=25, deadline=None)
def test_chosen_solutions_of_rational_equations_are_found(p: Fraction, q: Fraction, r: Fraction) -> None:
    assume(len({p, q, r}) == 3)
    found = run("solve_equation", equation=f"(x - ({p}))*(x - ({q}))/(x - ({r})) = 0", unknown="x")
    assert [Fraction(text) for text in found.output["solutions"]] == sorted((p, q))


@given(
    SMALL, SMALL.filter(bool), st.sampled_from(["sqrt(x + 20)", "exp(x/3)", "log(x + 10)", "atan(x)", "x^3", "sinh(x)"])
)
@settings(max_examples=25, deadline=None)
def test_the_argument_of_a_monotone_function_is_found(p: Fraction, a: Fraction, shape: str) -> None:
    value = re.sub(r"\bx\b", f"({p})", shape)
    found = run("solve_equation", equation=f"({a})*({shape}) = ({a})*({value})", unknown="x")
    real = [near(text).real for text in found.output["solutions"] if abs(near(text).imag) < 1e-12]
    assert len(real) == 1
    assert abs(real[0] - float(p)) < 1e-12


@given(SMALL, SMALL)
@settings(max_examples=25, deadline=None)
def test_both_solutions_of_a_symmetric_system_are_found(x: Fraction, y: Fraction) -> None:
    assume(x != y)
    found = run("solve_system", equations=[f"x + y = {x + y}", f"x*y = {x * y}"], unknowns=["x", "y"])
    pairs = [(Fraction(s["x"]), Fraction(s["y"])) for s in found.output["solutions"]]
    assert pairs == sorted([(x, y), (y, x)])


def test_no_branch_of_a_product_is_lost(call: Call) -> None:
    """sympy issue 23110 (truth: equations_limits_series_ode, eq_23110)."""
    found = call("solve_system", equations=["x*y", "x*z", "x*v"], unknowns=["x", "y", "z", "v"])
    assert {"x": "0"} in found.output["solutions"]
    assert {"y": "0", "z": "0", "v": "0"} in found.output["solutions"]
    assert found.diagnostics["dimension"] == 3


def test_degenerate_parameters_are_named(call: Call) -> None:
    """sympy issue 11621 (truth: equations_limits_series_ode, eq_11621)."""
    equations = ["(1-m)*x+y+z", "x+(1-m)*y+z", "x+y+(1-m)*z"]
    found = call("solve_system", equations=equations, unknowns=["x", "y", "z"])
    assert found.output["solutions"] == [{"x": "0", "y": "0", "z": "0"}]
    assert {"m != 0", "m - 3 != 0"} <= set(found.diagnostics["branch_flags"])


def test_all_eight_symmetric_points_are_found(call: Call) -> None:
    """sympy issue 20210 (truth: bug_reports, bug_015)."""
    equations = ["2*x*y^2*z^2=2*L*x", "2*x^2*y*z^2=2*L*y", "2*x^2*y^2*z=2*L*z", "x^2+y^2+z^2=1"]
    found = call("solve_system", equations=equations, unknowns=["x", "y", "z", "L"])
    assert sum(solution.get("L") == "1/9" for solution in found.output["solutions"]) == 8


def test_the_branch_before_the_collision_is_among_the_solutions(call: Call) -> None:
    equations = ["2*3+1*0 = 2*v+1*w", "2*9+0 = 2*v^2+w^2"]
    found = call("solve_system", equations=equations, unknowns=["v", "w"])
    assert found.output["solutions"] == [{"v": "1", "w": "4"}, {"v": "3", "w": "0"}]


@pytest.mark.parametrize(
    ("equations", "code"),
    [
        (["x = 1", "x = 2"], "NO_SOLUTION"),
        (["y = 1"], "UNKNOWN_SYMBOL"),
        (["x^2 + 1"], "NO_SOLUTION"),
        ([], "BAD_INPUT"),
    ],
)
def test_systems_without_answer_are_refused(call: Call, equations: list[str], code: str) -> None:
    found = call("solve_system", equations=equations, unknowns=["x"], domain="real")
    assert found.error is not None
    assert found.error.code == code


# Wester N9-N13, sympy issues 11064, 11878 (truth: equations_limits_series_ode.json).
INEQUALITIES = [
    ("x+sqrt(x^2-5)>0", "[sqrt(5), oo)"),
    ("log(x+1)<0", "(-1, 0)"),
    ("sin(x)<2", "(-oo, oo)"),
    ("|x-1|>2", "(-oo, -1) U (3, oo)"),
    ("6/(x-3)<=3", "(-oo, 3) U [5, oo)"),
    ("sqrt(x)<2", "[0, 4)"),
    ("x^2<=0", "{0}"),
    ("x^2<0", "empty"),
    ("(x^2-1)/(x-1)>=0", "[-1, 1) U (1, oo)"),
    ("1/x^2>0", "(-oo, 0) U (0, oo)"),
    ("(x-1)^2*(x-3)>=0", "{1} U [3, oo)"),
    ("x*exp(x)>1", "(LambertW(1), oo)"),
]


@pytest.mark.parametrize(("inequality", "expected"), INEQUALITIES)
def test_inequalities(call: Call, inequality: str, expected: str) -> None:
    assert call("solve_inequality", inequality=inequality, unknown="x").output["set"] == expected


def test_infinitely_many_intervals_need_a_domain(call: Call) -> None:
    assert not call("solve_inequality", inequality="sin(x) > 0", unknown="x").ok
    found = call("solve_inequality", inequality="tan(x) > 1", unknown="x", domain=[0, 4])
    assert found.output["set"] == "(pi/4, pi/2) U (5*pi/4, 4]"
    assert found.diagnostics["excluded_points"] == ["pi/2"]


@given(st.lists(SMALL, min_size=2, max_size=4, unique=True), st.sampled_from(["<", "<=", ">", ">="]), SMALL)
@settings(max_examples=25, deadline=None)
def test_an_inequality_holds_exactly_inside_its_intervals(zeros: list[Fraction], sign: str, x: Fraction) -> None:
    *above, below = zeros
    text = "*".join(f"(x - ({zero}))" for zero in above)
    found = run("solve_inequality", inequality=f"{text}/(x - ({below})) {sign} 0", unknown="x")
    inside = any(
        (piece["lo"] == "-oo" or x > Fraction(piece["lo"]) or (x == Fraction(piece["lo"]) and not piece["lo_open"]))
        and (piece["hi"] == "oo" or x < Fraction(piece["hi"]) or (x == Fraction(piece["hi"]) and not piece["hi_open"]))
        for piece in found.output["intervals"]
    )
    if x == below:
        assert not inside
        return
    value = Fraction(1)
    for zero in above:
        value *= x - zero
    value /= x - below
    assert inside == {"<": value < 0, "<=": value <= 0, ">": value > 0, ">=": value >= 0}[sign]


def test_forward_recursion_in_doubles_loses_a_minimal_solution(call: Call) -> None:
    given_ = {"recurrence": "10.1*y(n+1) - y(n)", "initial": [1, "1/10"], "n": 24}
    exact = call("solve_recurrence", **given_)
    assert exact.output["value"] == "1/1000000000000000000000000"
    assert exact.diagnostics["minimal_solution"]
    assert exact.diagnostics["growth_factor"] == 100.0
    swamped = call("solve_recurrence", **given_, mode="forward", precision="double")
    assert abs(swamped.output["value"]) > 1
    miller = call("solve_recurrence", **given_, mode="backward_miller")
    assert miller.output["value"] == pytest.approx(1e-24, rel=1e-14)


@given(st.integers(-4, 4), st.integers(-4, 4).filter(bool), SMALL, SMALL, st.integers(2, 9))
@settings(max_examples=25, deadline=None)
def test_closed_forms_agree_with_the_recursion(a: int, b: int, y0: Fraction, y1: Fraction, n: int) -> None:
    found = run("solve_recurrence", recurrence=f"({a})*y(n+1) + ({b})*y(n)", initial=[str(y0), str(y1)], n=n)
    values = [y0, y1]
    while len(values) <= n:
        values.append(a * values[-1] + b * values[-2])
    text = re.sub(r"\bn\b", f"({n})", to_text(found.output["closed_form"]))
    assert abs(near(text) - float(values[n])) < 1e-9 * (1 + abs(float(values[n])))


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        ({"recurrence": "y(n)^2", "initial": [1]}, "BAD_INPUT"),
        ({"recurrence": "y(n+2)", "initial": [1, 1]}, "BAD_INPUT"),
        ({"recurrence": "y(n)", "initial": [1], "mode": "forward"}, "BAD_INPUT"),
        ({"recurrence": "n*y(n)", "initial": [1]}, "UNSOLVED"),
    ],
)
def test_recurrences_that_cannot_be_run_are_refused(call: Call, given_: dict[str, object], code: str) -> None:
    found = call("solve_recurrence", **given_)
    assert found.error is not None
    assert found.error.code == code
