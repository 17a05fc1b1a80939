"""Roots and discriminants of polynomials."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.expressions import parse
from maven_env.expressions.balls import ball, precision, value_ball
from maven_env.tools.registry import find

if TYPE_CHECKING:
    from conftest import Call

SMALL = st.fractions(-20, 20, max_denominator=12)


def roots(expr: str, wrt: str = "x", **options: object) -> dict[str, object]:
    arguments, _ = find("polynomial_roots_exact").read({"expr": expr, "wrt": wrt, **options}, lambda body: None)
    return dict(find("polynomial_roots_exact").run(arguments).output)


def near(text: str) -> complex:
    found = value_ball(parse(text), {}, 20)
    return complex(float(found.real.mid()), float(found.imag.mid()))


def test_a_near_double_root_is_found_exactly(call: Call) -> None:
    found = call(
        "polynomial_roots_exact", expr="3*A*((t - 17/10)^2 - 1e-13)".replace("A", "5/4"), wrt="t", real_only=True
    )
    assert found.output["n_real"] == 2
    assert found.output["values"] == [1.699999683772234, 1.700000316227766]


def test_a_gap_below_double_precision_still_gives_two_roots(call: Call) -> None:
    found = call("polynomial_roots_exact", expr="(x-1)^2 - 1e-40", wrt="x")
    assert found.output["n_real"] == 2
    assert found.output["roots"][0] != found.output["roots"][1]


def test_a_rounded_decimal_turns_a_double_root_into_a_pair(call: Call) -> None:
    assert call("polynomial_roots_exact", expr="x^2 - 2.828427*x + 2", wrt="x").output["n_real"] == 0
    exact = call("polynomial_roots_exact", expr="x^2 - 2*sqrt(2)*x + 2", wrt="x").output
    assert (exact["roots"], exact["multiplicities"], exact["n_real"]) == (["sqrt(2)"], [2], 1)


def test_no_real_roots_is_a_result(call: Call) -> None:
    found = call("polynomial_roots_exact", expr="x^2 + 1", wrt="x", real_only=True)
    assert found.ok
    assert (found.output["roots"], found.output["n_real"]) == ([], 0)


def test_three_real_roots_without_real_radicals_are_real() -> None:
    """Wester M2, where formulas print complex radicals (truth: equations_limits_series_ode, eq_M2)."""
    found = roots("3*x^3 - 18*x^2 + 33*x - 19")
    assert found["n_real"] == 3
    assert found["values"] == [1.2577728010314408, 1.6050691563653015, 3.1371580426032577]
    assert all("I" not in text for text in found["roots"])  # type: ignore[attr-defined]


def test_the_perturbed_wilkinson_polynomial_has_ten_real_roots() -> None:
    """Wilkinson 1963 (truth: equations_limits_series_ode, eq_wilkinson)."""
    product = "*".join(f"(x - {k})" for k in range(1, 21))
    found = roots(f"{product} - x^19/2^23")
    assert found["n_real"] == 10
    pairs = [value for value in found["values"] if isinstance(value, complex)]  # type: ignore[attr-defined]
    assert any(abs(z - (16.7307374660907 + 2.81262489427004j)) < 1e-12 for z in pairs)


@pytest.mark.parametrize(
    "expr",
    [
        "x^3 - 2",
        "x^4 + 1",
        "x^4 - 10*x^2 + 1",
        "x^5 - x - 1",
        "x^6 + x^3 + 1",
        "x^4 + x^2 + 3",
        "5*x^2 + 2*x + 1",
        "x^5 + 7",
    ],
)
def test_every_printed_root_parses_and_solves_the_polynomial(expr: str) -> None:
    found = roots(expr)
    for text in found["roots"]:  # type: ignore[attr-defined]
        with precision(200):
            value = ball(parse(expr), {"x": ball(parse(text), {})})
            assert float(abs(value).mid()) < 1e-50


@given(st.lists(SMALL, min_size=1, max_size=5), st.integers(1, 9))
@settings(max_examples=25, deadline=None)
def test_roots_that_were_multiplied_together_come_back(chosen: list[Fraction], lead: int) -> None:
    found = roots("*".join([str(lead), *(f"(x - ({root}))" for root in chosen)]))
    distinct = sorted(set(chosen))
    assert [Fraction(text) for text in found["roots"]] == distinct  # type: ignore[attr-defined]
    assert found["multiplicities"] == [chosen.count(root) for root in distinct]
    assert found["n_real"] == len(distinct)


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=7).filter(lambda c: c[0] != 0 and c[-1] != 0))
@settings(max_examples=25, deadline=None)
def test_coefficients_follow_from_the_roots(coefficients: list[int]) -> None:
    degree = len(coefficients) - 1
    found = roots(" + ".join(f"({c})*x^{degree - i}" for i, c in enumerate(coefficients)))
    pairs = list(zip(found["roots"], found["multiplicities"], strict=True))  # type: ignore[call-overload]
    assert sum(m for _, m in pairs) == degree
    product = prod(near(text) ** m for text, m in pairs) * (-1) ** degree
    assert abs(product - coefficients[-1] / coefficients[0]) < 1e-8 * (1 + abs(product))
    values = [z if isinstance(z, complex) else complex(z) for z in found["values"]]  # type: ignore[attr-defined]
    assert values == sorted(values, key=lambda z: (round(z.real, 12), z.imag))


def test_symbolic_quadratics_have_both_roots_with_the_minus_sign_first(call: Call) -> None:
    found = call("polynomial_roots_exact", expr="3*A*t^2 - 2*B*t + C", wrt="t")
    assert found.output["roots"] == ["(B - sqrt(B^2 - 3*A*C))/(3*A)", "(B + sqrt(B^2 - 3*A*C))/(3*A)"]
    assert found.output["n_real"] is None
    assert found.diagnostics["assumes"] == ["A != 0"]


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        ({"expr": "sin(x)", "wrt": "x"}, "NOT_POLYNOMIAL"),
        ({"expr": "(x - 1)*(x - 2)/(x - 1)", "wrt": "x"}, "NOT_POLYNOMIAL"),
        ({"expr": "a*y + 1", "wrt": "x"}, "UNKNOWN_SYMBOL"),
        ({"expr": "x - x", "wrt": "x"}, "UNDERDETERMINED"),
        ({"expr": "a*x^2 + b*x + c", "wrt": "x", "real_only": True}, "UNSOLVED"),
        ({"expr": "x^3 + a*x + b", "wrt": "x"}, "UNSOLVED"),
        ({"expr": "x^300 + x + 1", "wrt": "x"}, "LIMIT_EXCEEDED"),
    ],
)
def test_what_has_no_answer_is_refused(call: Call, given_: dict[str, object], code: str) -> None:
    found = call("polynomial_roots_exact", **given_)
    assert not found.ok
    assert found.error is not None
    assert found.error.code == code


def test_numeric_roots_of_a_cluster_announce_their_condition(call: Call) -> None:
    found = call("polynomial_roots_numeric", coefficients=[1, -4, 6, -4, 1])
    assert found.diagnostics["root_condition"] > 1e6
    simple = call("polynomial_roots_numeric", coefficients=[1, -3, 2])
    assert simple.output == {"roots": [1.0, 2.0], "n_real": 2}
    assert call("polynomial_roots_numeric", coefficients=[0, 5]).error is not None


@given(st.integers(-30, 30), st.integers(-30, 30), st.integers(-30, 30).filter(bool))
@settings(max_examples=25, deadline=None)
def test_the_discriminant_counts_real_roots_of_quadratics(b: int, c: int, a: int) -> None:
    arguments, _ = find("polynomial_discriminant").read(
        {"expr": f"{a}*x^2 + {b}*x + {c}", "wrt": "x"}, lambda body: None
    )
    sign = int(find("polynomial_discriminant").run(arguments).output["sign"])
    assert roots(f"{a}*x^2 + {b}*x + {c}")["n_real"] == sign + 1


def test_a_discriminant_is_exact_however_small(call: Call) -> None:
    found = call("polynomial_discriminant", expr="(x - 1)^2 - 1e-30", wrt="x")
    assert found.output["sign"] == "1"
    assert found.diagnostics["relative_size"] < 1e-29
    symbolic = call("polynomial_discriminant", expr="a*x^2 + b*x + c", wrt="x", subs={"a": 1, "b": 2, "c": 1})
    assert (symbolic.output["expr"], symbolic.output["sign"]) == ("0", "0")
