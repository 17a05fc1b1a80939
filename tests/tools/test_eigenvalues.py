"""Eigenvalues, singular values and the exponential."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.expressions import parse
from maven_env.expressions.balls import nearest_complex
from maven_env.tools.registry import find
from maven_env.types import Artifact

Call = Callable[..., Artifact]

ROSSER = [  # Rosser, Lanczos, Hestenes, Karush 1951
    [611, 196, -192, 407, -8, -52, -49, 29],
    [196, 899, 113, -192, -71, -43, -8, -44],
    [-192, 113, 899, 196, 61, 49, 8, 52],
    [407, -192, 196, 611, 8, 44, 59, -23],
    [-8, -71, 61, 8, 411, -599, 208, 208],
    [-52, -43, 49, 44, -599, 411, 208, 208],
    [-49, -8, 8, 59, 208, 208, 99, -911],
    [29, -44, 52, -23, 208, 208, -911, 99],
]


def run(tool_id: str, **given: Any) -> Any:
    spec = find(tool_id)
    arguments, _ = spec.read(given, lambda body: None)
    return spec.run(arguments)


# ---- exact -----------------------------------------------------------------------------------------------------------
def test_the_rosser_matrix_is_solved_exactly(call: Call) -> None:
    artifact = call("eigen_symbolic", matrix=ROSSER)
    assert artifact.output["eigenvalues"] == [
        "-10*sqrt(10405)", "0", "-100*sqrt(26) + 510", "1000", "100*sqrt(26) + 510", "1020", "10*sqrt(10405)",
    ]  # fmt: skip
    assert artifact.output["multiplicities"] == [1, 1, 1, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("matrix", "eigenvalues", "multiplicities", "geometric"),
    [
        ([["2", "1", "0"], ["0", "2", "1"], ["0", "0", "2"]], ["2"], [3], [1]),
        ([["a", "1", "0"], ["0", "a", "0"], ["0", "0", "a"]], ["a"], [3], [2]),
        ([["0", "-w"], ["w", "0"]], ["-w*I", "w*I"], [1, 1], [1, 1]),
        ([["cos(t)", "-sin(t)"], ["sin(t)", "cos(t)"]], ["cos(t) - sin(t)*I", "cos(t) + sin(t)*I"], [1, 1], [1, 1]),
        (
            [["0", "1"], ["-k/m", "-c/m"]],
            ["(-c - sqrt(c^2 - 4*k*m))/(2*m)", "(-c + sqrt(c^2 - 4*k*m))/(2*m)"],
            [1, 1],
            [1, 1],
        ),
        (
            [["1", "1", "1", "0"], ["-2", "-1", "0", "-1"], ["0", "0", "-1", "-1"], ["0", "0", "2", "1"]],
            ["-I", "I"],
            [2, 2],
            [1, 1],
        ),
    ],
)  # the last: sympy issue 15872
def test_multiplicities_are_exact(
    call: Call, matrix: Any, eigenvalues: list[str], multiplicities: list[int], geometric: list[int]
) -> None:
    artifact = call("eigen_symbolic", matrix=matrix)
    assert artifact.output["eigenvalues"] == eigenvalues
    assert artifact.output["multiplicities"] == multiplicities
    assert artifact.output["geometric"] == geometric
    assert artifact.diagnostics["diagonalizable"] == (multiplicities == geometric)


def test_three_real_roots_of_a_cubic_have_no_imaginary_unit(call: Call) -> None:
    artifact = call("eigen_symbolic", matrix=[["2", "-1", "0"], ["-1", "2", "-1"], ["0", "-1", "1"]])
    expected = [4 * math.sin((2 * k - 1) * math.pi / 14) ** 2 for k in (1, 2, 3)]
    assert artifact.output["values"] == pytest.approx(expected, rel=1e-15)
    assert not any("I" in text for text in artifact.output["eigenvalues"])


def test_no_closed_form_is_said(call: Call) -> None:
    companion = [["0", "0", "0", "0", "1"], *([str(int(j == i)) for j in range(5)] for i in range(4))]
    companion[1][4] = "1"
    artifact = call("eigen_symbolic", matrix=companion)
    assert artifact.error is not None
    assert artifact.error.code == "UNSOLVED"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=3, max_size=3))
def test_eigenvectors_are_eigenvectors(matrix: list[list[int]]) -> None:
    output = run("eigen_symbolic", matrix=matrix).output
    assert sum(output["multiplicities"]) == 3
    for text, vectors in zip(output["eigenvalues"], output["eigenvectors"], strict=True):
        value = nearest_complex(parse(text))
        for vector in vectors:
            v = [nearest_complex(parse(entry)) for entry in vector]
            for row, x in zip(matrix, v, strict=True):
                scale = 1 + max(abs(entry) for entry in v) * (abs(value) + 12)
                assert abs(sum(a * b for a, b in zip(row, v, strict=True)) - value * x) < 1e-11 * scale


# ---- double precision ------------------------------------------------------------------------------------------------
def test_defective_matrices_are_suspected_and_bounded(call: Call) -> None:
    artifact = call("eigen_numeric", matrix=[[3, 1], [-1, 1]])
    assert artifact.diagnostics["defective_suspected"]
    for value, bound in zip(artifact.output["eigenvalues"], artifact.diagnostics["error_bounds"], strict=True):
        found = complex(*value) if isinstance(value, list) else complex(value)
        assert abs(found - 2) <= bound < 1e-4


def test_an_asymmetric_matrix_is_not_forced_to_be_symmetric(call: Call) -> None:
    artifact = call("eigen_numeric", matrix=[[1, 2], [3, 4]], symmetric=True)
    assert artifact.error is not None
    assert artifact.error.code == "BAD_INPUT"


def test_wilkinson_pair_is_resolved_within_its_bound(call: Call) -> None:
    # Wilkinson 1965: the two largest eigenvalues differ by 7e-14
    matrix = [[abs(10 - i) if i == j else int(abs(i - j) == 1) for j in range(21)] for i in range(21)]
    artifact = call("eigen_numeric", matrix=matrix)
    assert artifact.output["eigenvalues"][-1] == pytest.approx(10.74619418290339, rel=1e-13)
    assert artifact.diagnostics["min_gap"] < 1e-12


def test_orders(call: Call) -> None:
    matrix = [[-3, 0], [0, 2]]
    assert call("eigen_numeric", matrix=matrix).output["eigenvalues"] == [-3, 2]
    assert call("eigen_numeric", matrix=matrix, sort="descending").output["eigenvalues"] == [2, -3]
    assert call("eigen_numeric", matrix=matrix, sort="magnitude").output["eigenvalues"] == [-3, 2]


def test_normal_modes_are_mass_normalised(call: Call) -> None:
    artifact = call("generalized_eigen", K=[[2, -1], [-1, 2]], M=[[1, 0], [0, 2]])
    assert artifact.output["eigenvalues"] == pytest.approx([(3 - math.sqrt(3)) / 2, (3 + math.sqrt(3)) / 2])
    assert artifact.diagnostics["m_orthogonality_error"] < 1e-14


@pytest.mark.parametrize("mass", [[[1, 1], [1, 1]], [[1, 0], [0, -1]], [[1, 0], [0, "1e-18"]]])
def test_masses_must_be_positive(call: Call, mass: list[list[Any]]) -> None:
    artifact = call("generalized_eigen", K=[[2, -1], [-1, 2]], M=mass)
    assert artifact.error is not None
    assert artifact.error.code == "NOT_POSITIVE_DEFINITE"


def test_singular_values_tell_the_rank_and_the_null_space(call: Call) -> None:
    artifact = call("svd_decompose", matrix=[[1, 2], [2, 4], [3, 6]])
    assert artifact.output["rank"] == 1
    assert artifact.diagnostics["gap_ratio"] > 1e10
    (a,), (b,) = artifact.output["null_vectors"]
    assert a + 2 * b == pytest.approx(0, abs=1e-15)


# ---- exponential -----------------------------------------------------------------------------------------------------
def test_rotations_are_rounded_once(call: Call) -> None:
    artifact = call("matrix_exponential", matrix=[["0", "1"], ["-1", "0"]], t="pi", vector=["1", "0"])
    assert artifact.output["matrix"] == [[-1.0, 0.0], [0.0, -1.0]]
    assert artifact.output["vector"] == [-1.0, 0.0]


def test_a_stiff_exponential_is_finite(call: Call) -> None:
    # scipy issue 19584
    matrix = [["-6176105649/25000000", "0"], ["62831853/10000", "-62831853/10000"]]
    artifact = call("matrix_exponential", matrix=matrix)
    assert artifact.output["matrix"][1][0] == pytest.approx(5.339202172354367e-108, rel=1e-15)


def test_the_eigenvector_method_fails_for_a_defective_matrix(call: Call) -> None:
    artifact = call("matrix_exponential", matrix=[["2", "1"], ["0", "2"]], method="eigen")
    assert artifact.error is not None
    assert artifact.error.code == "SINGULAR"


def test_overflow_is_said(call: Call) -> None:
    artifact = call("matrix_exponential", matrix=[["1000"]])
    assert artifact.error is not None
    assert artifact.error.code == "OVERFLOW"


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([["0", "w"], ["-w", "0"]], [["cos(t*w)", "sin(t*w)"], ["-sin(t*w)", "cos(t*w)"]]),
        ([["a", "1"], ["0", "a"]], [["exp(a*t)", "t*exp(a*t)"], ["0", "exp(a*t)"]]),
    ],
)
def test_closed_exponentials(matrix: Any, expected: Any) -> None:
    assert run("matrix_exponential", matrix=matrix, t="t", method="exact").output["matrix"] == expected


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.fractions(-2, 2, max_denominator=4), min_size=2, max_size=2), min_size=2, max_size=2))
def test_exponentials_of_opposite_times_cancel(matrix: list[list[Fraction]]) -> None:
    rows = [[str(v) for v in row] for row in matrix]
    there, back = (run("matrix_exponential", matrix=rows, t=t).output["matrix"] for t in ("1", "-1"))
    assert (there @ back).tolist() == [pytest.approx([1, 0], abs=1e-12), pytest.approx([0, 1], abs=1e-12)]
