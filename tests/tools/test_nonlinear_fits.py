"""Nonlinear least squares on NIST's reference problems (StRD, public domain)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maven_env.types import Artifact

Call = Callable[..., Artifact]

MGH17_Y = """
0.844 0.908 0.932 0.936 0.925 0.908 0.881 0.850 0.818 0.784 0.751 0.718 0.685 0.658 0.628 0.603 0.580 0.558
0.538 0.522 0.506 0.490 0.478 0.467 0.457 0.448 0.438 0.431 0.424 0.420 0.414 0.411 0.406
"""
LANCZOS3_Y = """
2.5134 2.0443 1.6684 1.3664 1.1232 0.9269 0.7679 0.6389 0.5338 0.4479 0.3776 0.3197 0.2720 0.2325 0.1997
0.1723 0.1493 0.1301 0.1138 0.1000 0.0883 0.0783 0.0698 0.0624
"""
MGH10_Y = [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872]
MISRA_X = """
77.6 114.9 141.1 190.8 239.9 289.0 332.8 378.4 434.8 477.3 536.8 593.1 689.1 760.0
"""
MISRA_Y = """
10.07 14.73 17.94 23.93 29.61 35.18 40.02 44.82 50.76 55.05 61.01 66.40 75.47 81.78
"""

PROBLEMS: dict[str, tuple[str, list[Any], list[Any], list[float], list[list[Any]]]] = {
    "Misra1a": (
        "b1*(1 - exp(-b2*x))", MISRA_X.split(), MISRA_Y.split(),
        [2.3894212918e02, 5.5015643181e-04], [[500, "0.0001"], [250, "0.0005"]],
    ),
    "BoxBOD": (
        "b1*(1 - exp(-b2*x))", [1, 2, 3, 5, 7, 10], [109, 149, 149, 191, 213, 224],
        [2.1380940889e02, 5.4723748542e-01], [[1, 1], [100, "0.75"]],
    ),
    "MGH10": (
        "b1*exp(b2/(x + b3))", list(range(50, 126, 5)), MGH10_Y,
        [5.6096364710e-03, 6.1813463463e03, 3.4522363462e02], [[2, 400000, 25000], ["0.02", 4000, 250]],
    ),
    "MGH17": (
        "b1 + b2*exp(-x*b4) + b3*exp(-x*b5)", list(range(0, 321, 10)), MGH17_Y.split(),
        [3.7541005211e-01, 1.9358469127e00, -1.4646871366e00, 1.2867534640e-02, 2.2122699662e-02],
        [[50, 150, -100, 1, 2], ["0.5", "1.5", -1, "0.01", "0.02"]],
    ),
    "Lanczos3": (
        "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)", [f"{5 * i}/100" for i in range(24)], LANCZOS3_Y.split(),
        [8.6816414977e-02, 9.5498101505e-01, 8.4400777463e-01, 2.9515951832e00, 1.5825685901e00, 4.9863565084e00],
        [["1.2", "0.3", "5.6", "5.5", "6.5", "7.6"], ["0.5", "0.7", "3.6", "4.2", 4, "6.3"]],
    ),
    "Rat42": (
        "b1/(1 + exp(b2 - b3*x))", [9, 14, 21, 28, 42, 57, 63, 70, 79],
        ["8.93", "10.80", "18.59", "22.33", "39.35", "56.11", "61.73", "64.62", "67.08"],
        [7.2462237576e01, 2.6180768402e00, 6.7359200066e-02], [[100, 1, "0.1"], [75, "2.5", "0.07"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "start"), [(name, k) for name in PROBLEMS for k in (0, 1)])
def test_certified_parameters_are_reached_from_both_starts(call: Call, name: str, start: int) -> None:
    model, xdata, ydata, certified, starts = PROBLEMS[name]
    names = [f"b{i + 1}" for i in range(len(certified))]
    artifact = call(
        "nonlinear_fit", model=model, x="x", parameters=names, xdata=xdata, ydata=ydata, start=starts[start]
    )
    assert artifact.ok, artifact.error
    assert [artifact.output["parameters"][n] for n in names] == pytest.approx(certified, rel=1e-9)


def test_standard_errors_are_certified(call: Call) -> None:
    model, xdata, ydata, _, starts = PROBLEMS["Misra1a"]
    artifact = call(
        "nonlinear_fit", model=model, x="x", parameters=["b1", "b2"], xdata=xdata, ydata=ydata, start=starts[0]
    )
    assert artifact.output["stderr"]["b1"] == pytest.approx(2.7070075241, rel=1e-9)
    assert artifact.output["stderr"]["b2"] == pytest.approx(7.2668688436e-06, rel=1e-9)
    assert artifact.diagnostics["max_abs_correlation"] > 0.99


def test_parameters_that_cannot_be_told_apart_are_refused(call: Call) -> None:
    artifact = call(
        "nonlinear_fit", model="a*b*x", x="x", parameters=["a", "b"], xdata=[1, 2, 3], ydata=[2, 4, 7], start=[1, 1]
    )
    assert artifact.error is not None
    assert artifact.error.code == "NO_CONVERGENCE"


def test_a_fit_that_runs_away_is_refused(call: Call) -> None:
    artifact = call(
        "nonlinear_fit", model="1 - exp(-k*x)", x="x", parameters=["k"], xdata=[1, 2, 3], ydata=[1, 1, 1], start=[1]
    )
    assert artifact.error is not None
    assert artifact.error.code == "NO_CONVERGENCE"


def test_a_bound_that_holds_is_named(call: Call) -> None:
    artifact = call(
        "nonlinear_fit", model="a*exp(-k*x)", x="x", parameters=["a", "k"], xdata=[0, 1, 2, 3],
        ydata=["2.0", "1.2", "0.75", "0.45"], start=["1.5", 1], bounds=[["0", "1.9"], ["0", "oo"]],
    )  # fmt: skip
    assert artifact.output["parameters"]["a"] == 1.9
    assert artifact.output["stderr"]["a"] is None
    assert artifact.diagnostics["at_bound"] == ["a"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": "a*exp(-k*x) + c"}, "UNKNOWN_SYMBOL"),
        ({"start": [1]}, "SHAPE_MISMATCH"),
        ({"ydata": [1, 2]}, "SHAPE_MISMATCH"),
        ({"sigma": [1, 1, 1, 0]}, "BAD_INPUT"),
        ({"bounds": [[0, 1]]}, "SHAPE_MISMATCH"),
        ({"model": "a*log(-k*x)"}, "NO_CONVERGENCE"),
    ],
)
def test_bad_fits_are_refused(call: Call, changes: dict[str, Any], code: str) -> None:
    given = {
        "model": "a*exp(-k*x)", "x": "x", "parameters": ["a", "k"], "xdata": [0, 1, 2, 3],
        "ydata": ["2.0", "1.2", "0.75", "0.45"], "start": [1, 1],
    }  # fmt: skip
    artifact = call("nonlinear_fit", **(given | changes))
    assert artifact.error is not None
    assert artifact.error.code == code
