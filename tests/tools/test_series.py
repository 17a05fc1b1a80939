"""Sums: right to double precision, exact, divergent, or declined."""

from __future__ import annotations

import math
from typing import Any

import pytest

from maven_env.artifacts import MemoryStore
from maven_env.expressions import parse
from maven_env.expressions.equality import equal
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall


def run(term: str, start: int, stop: Any, **more: Any) -> Artifact:
    index = "k" if "k" in term else "n"
    given = {"term": term, "index": index, "start": start, "stop": stop, **more}
    return Toolbox().call(ToolCall("sum_series", given), MemoryStore("test"))


def outcome(artifact: Artifact) -> Any:
    return artifact.output["value"] if artifact.ok else artifact.error and artifact.error.code


@pytest.mark.parametrize(
    ("term", "start", "wanted"),
    [
        ("1/n^2", 1, math.pi**2 / 6),
        ("1/n^3", 1, 1.2020569031595942),
        ("(-1)^n/n", 1, -math.log(2)),
        ("(-1)^n/sqrt(n)", 1, -0.6048986434216304),
        ("1/factorial(n)", 0, math.e),
        ("1/n^(3/2)", 1, 2.612375348685488),
        ("log(n)/n^2", 1, 0.9375482543158438),
        ("n^2/2^n", 1, 6.0),
    ],
)
def test_sums_are_right_to_double_precision(term: str, start: int, wanted: float) -> None:
    assert outcome(run(term, start, "oo")) == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize("term", ["1/n", "(-1)^n", "1/sqrt(n)", "2^n/n", "(n/(n + 1))^n", "n/(n^2 + 1)", "cos(pi*n)"])
def test_divergent_series_are_refused_by_every_method(term: str) -> None:
    for method in ("levin", "direct", "euler_maclaurin", "exact"):
        assert outcome(run(term, 1, "oo", method=method)) == "DIVERGENT"


@pytest.mark.parametrize("term", ["1/(n*log(n))", "1/(n*log(n)^2)", "besselj(0, n)", "sin(n^2)/n", "tan(n)/n^2"])
def test_what_cannot_be_decided_is_declined(term: str) -> None:
    assert outcome(run(term, 2, "oo")) in ("NO_CONVERGENCE", "DIVERGENT")
    assert not run(term, 2, "oo").ok


def test_a_slowly_falling_tail_is_no_converged_sum() -> None:
    artifact = run("1/n^2", 1, "oo", method="direct", max_terms=2000)
    assert outcome(artifact) == "NO_CONVERGENCE"


@pytest.mark.parametrize(
    ("term", "start", "wanted"),
    [("1/n^2", 1, "pi^2/6"), ("1/n^3", 1, "zeta(3)"), ("(-1)^n/n", 1, "-log(2)"), ("1/factorial(n)", 0, "exp(1)")],
)
def test_closed_forms_of_infinite_sums(term: str, start: int, wanted: str) -> None:
    assert run(term, start, "oo", method="exact").output["expr"] == wanted


def test_finite_sums_are_exact() -> None:
    # sympy issue 15943: the closed form holds zoo
    assert run("binomial(5,k)*factorial(5-k)", 0, 5).output["expr"] == "326"
    assert run("(-1)^k*binomial(6,k)^2", 0, 6).output["expr"] == "-20"
    assert run("1/k", 1, 10).output["expr"] == "7381/2520"
    assert run("k*x^k", 0, 3).output["expr"] == "3*x^3 + 2*x^2 + x"
    assert outcome(run("1/(n - 3)", 1, 10)) == "DOMAIN_ERROR"


def test_closed_forms_with_a_degenerate_parameter_keep_the_case() -> None:
    # sympy issue 14129: sum of k x^k at x = 1
    artifact = run("k*x^k", 0, "m-1", method="exact")
    assert artifact.ok
    assert "x = 1" in artifact.output["expr"] or "x != 1" in artifact.output["conditions"]
    assert run("x^k", 0, "oo", method="exact").output["conditions"] == ["Abs(x) < 1"]


def test_parameters_need_the_exact_method() -> None:
    assert outcome(run("x^k", 0, "oo")) == "UNKNOWN_SYMBOL"


@pytest.mark.parametrize(
    ("term", "start", "wanted"),
    [
        # a narrow peak far out, which acceleration of the first terms does not see: by 2*10^6 terms and the tail
        ("1/((n - 60)^2 + 1)", 1, 3.1365433497702173),
        ("1/((n - 1000)^2 + 1/100)", 1, 103.26742264913841),
        ("(-1)^n/((n - 500)^2 + 1/100)", 1, 98.37380944820687),
        ("zeta(n) - 1", 2, 1.0),
        ("1/(n*(n + 10^6))", 1, 1.4392726722865724e-05),  # (digamma(10^6 + 1) - digamma(1))/10^6
        ("sin(n)/n", 2, (math.pi - 1) / 2 - math.sin(1)),
        ("cos(n/100)/n^2", 1, math.pi**2 / 6 - math.pi / 200 + 1 / 40000),
        ("1/n^(101/100)", 1, 100.57794333849687),  # zeta(1.01), mpmath
        ("exp(-n^(1/10))", 2, 3628799.4147018816),  # Euler-Maclaurin in mpmath with 10*gammainc(10, .)
        ("(-20)^n/factorial(n)", 0, math.exp(-20)),
    ],
)
@pytest.mark.parametrize("method", ["levin", "euler_maclaurin"])
def test_peaks_far_out_and_slow_or_oscillating_terms_are_summed_rightly(
    term: str, start: int, wanted: float, method: str
) -> None:
    assert outcome(run(term, start, "oo", method=method)) == pytest.approx(wanted, rel=4e-15)


@pytest.mark.parametrize("centre", [300, 3000])
def test_a_bump_behind_negligible_terms_is_never_missed(centre: int) -> None:
    assert outcome(run(f"1/2^n + exp(-(n - {centre})^2)", 0, "oo")) == "NO_CONVERGENCE"


def test_partial_fractions_with_symbols_give_digamma_functions() -> None:
    artifact = run("g/(n*(n + al))", 1, "oo", method="exact")
    wanted = "g*(digamma(al + 1) - digamma(1))/al"
    assert equal(parse(artifact.output["expr"]), parse(wanted)) == "equal"
    assert outcome(run("1/(n + al)", 1, "oo", method="exact")) == "DIVERGENT"
