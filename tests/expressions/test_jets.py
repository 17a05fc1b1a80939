"""Taylor coefficients by power series of balls: right where there is a derivative, refused where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from maven_env.errors import ToolError
from maven_env.expressions import parse
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.analysis.jets import derivative_ball
from maven_env.expressions.balls import ball, precision

SMOOTH = [
    "sin(x)*exp(-x^2)", "tan(x)", "cot(x)", "sec(x)", "csc(x)", "asin(x/3)", "acos(x/3)", "atan(x)", "asinh(x)",
    "acosh(x + 1)", "atanh(x/2)", "sinh(x)", "cosh(x)", "tanh(x)", "coth(x)", "sech(x)", "csch(x)", "log(x)",
    "log(x, 2)", "sqrt(x + 1)", "x^(7/3)", "x^x", "Abs(x - 5)", "erf(x)", "erfc(x)", "gamma(x + 1)",
    "loggamma(x + 2)", "digamma(x)", "besselj(2, x)", "bessely(0, x)", "besseli(1, x)", "besselk(1, x)", "Ei(x)",
    "Si(x)", "Ci(x)", "LambertW(x)", "airyai(x)", "Max(x, 10)", "Piecewise((x^2, x < 5), (0, otherwise))",
    "atan2(x, 2)", "acot(x)", "factorial(x)", "fresnels(x)", "uppergamma(2, x)", "polygamma(1, x)", "zeta(x + 2)",
    "binomial(x, 2)", "cbrt(x)", "elliptic_k(x/9)",
]  # fmt: skip


@pytest.mark.parametrize("text", SMOOTH)
def test_derivative_agrees_with_difference_quotients(text: str) -> None:
    """At 400 bits a central quotient of step 2^-80 shows 40 digits."""
    from flint import acb, arb

    node = parse(text)
    with precision(400):
        x, h = acb(arb(7) / 5), acb(arb(2) ** -80)

        def at(place: Any) -> Any:
            return ball(node, {"x": place})

        first = derivative_ball(node, {"x": x}, "x")
        second = derivative_ball(node, {"x": x}, "x", 2)
        assert abs(first - (at(x + h) - at(x - h)) / (2 * h)) < 1e-40
        assert abs(second - (at(x + h) - 2 * at(x) + at(x - h)) / h**2) < 1e-40


@pytest.mark.parametrize("text", ["sin(x)*exp(-x^2)", "x^(7/3)", "sqrt(1 + log(x)^2)", "atan(x)/x"])
def test_third_derivative_agrees_with_the_tree(text: str) -> None:
    from flint import acb, arb

    node = parse(text)
    third = derivative(derivative(derivative(node, "x"), "x"), "x")
    with precision(200):
        x = acb(arb(7) / 5)
        assert derivative_ball(node, {"x": x}, "x", 3).overlaps(ball(third, {"x": x}))


@pytest.mark.parametrize(
    "text",
    [
        "Abs(x)", "sign(x)", "sqrt(x)", "log(x)", "1/x", "Max(x, 0)", "floor(x)", "x^(1/3)", "atan2(x, -1)",
        "log(I*x - 1)", "Piecewise((x, x < 0), (0, otherwise))", "sqrt(I*x - 1)", "DiracDelta(x)",
    ],
)  # fmt: skip
def test_no_derivative_at_corners_jumps_and_cuts(text: str) -> None:
    from flint import acb

    with precision(128), pytest.raises(ToolError) as caught:
        derivative_ball(parse(text), {"x": acb(0)}, "x")
    assert caught.value.code == "DOMAIN_ERROR"
