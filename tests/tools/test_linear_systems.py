"""Double precision: bounds hold, and where no digit is sure the tools say so."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from maven_env.tools.threads import one_thread
from maven_env.types import Artifact

Call = Callable[..., Artifact]


def classic(n: int) -> dict[str, list[list[Any]]]:
    """Ill-conditioned matrices of Higham's collection, with entries that doubles hold."""
    return {
        "pascal": [[math.comb(i + j, i) for j in range(n)] for i in range(n)],
        "vandermonde": [[(i + 1) ** j for j in range(n)] for i in range(n)],
        "frank": [[0 if j < i - 1 else n + 1 - max(i + 1, j + 1) for j in range(n)] for i in range(n)],
        "triw": [[1 if i == j else -1 if j > i else 0 for j in range(n)] for i in range(n)],
    }


CASES = [(name, n) for n in (3, 6, 9, 12) for name in classic(3)]


def exact_solution(n: int) -> list[Fraction]:
    return [Fraction((-1) ** i * (i + 1), 3) for i in range(n)]


def right_hand_side(matrix: list[list[Any]], x: list[Fraction]) -> list[str]:
    return [str(sum(a * v for a, v in zip(row, x, strict=True))) for row in matrix]


def relative_error(found: list[float], x: list[Fraction]) -> float:
    return float(max(abs(Fraction(a) - b) for a, b in zip(found, x, strict=True)) / max(map(abs, x)))


@pytest.mark.parametrize(("name", "n"), CASES)
@pytest.mark.parametrize("tool_id", ["solve_linear_system", "lstsq_qr", "lstsq_normal_equations"])
def test_errors_stay_below_the_bound_or_the_tool_declines(call: Call, name: str, n: int, tool_id: str) -> None:
    matrix, x = classic(n)[name], exact_solution(n)
    artifact = call(tool_id, matrix=matrix, rhs=right_hand_side(matrix, x))
    if artifact.error is not None:
        assert artifact.error.code in ("SINGULAR", "RANK_DEFICIENT")
        assert n > 6
    elif not artifact.diagnostics.get("rank_deficient"):
        error = relative_error(artifact.output["solution"], x)
        assert error <= artifact.diagnostics["forward_error_bound"] < 0.1


@pytest.mark.parametrize(("name", "n"), CASES)
def test_determinants_stay_within_their_bound(call: Call, name: str, n: int) -> None:
    matrix = classic(n)[name]
    exact = Fraction(call("matrix_determinant", matrix=matrix).output["expr"])
    artifact = call("matrix_determinant_numeric", matrix=matrix)
    if artifact.ok:
        error = abs(Fraction(artifact.output["value"]) / exact - 1)
        assert error <= artifact.diagnostics["relative_error_bound"] < 0.1


@pytest.mark.parametrize("tool_id", ["matrix_determinant_numeric", "matrix_inverse"])
def test_magic_four_is_singular_though_its_double_determinant_is_not_zero(call: Call, tool_id: str) -> None:
    artifact = call(tool_id, matrix=[[16, 2, 3, 13], [5, 11, 10, 8], [9, 7, 6, 12], [4, 14, 15, 1]])
    assert artifact.error is not None
    assert artifact.error.code == "SINGULAR"


def test_a_determinant_beyond_doubles_keeps_its_logarithm(call: Call) -> None:
    artifact = call(
        "matrix_determinant_numeric", matrix=[["1e-200" if i == j else "0" for j in range(3)] for i in range(3)]
    )
    assert artifact.output["value"] == 0.0
    assert artifact.diagnostics["underflow"]
    assert artifact.output["log_abs"] == pytest.approx(-600 * math.log(10), rel=1e-14)
    large = call(
        "matrix_determinant_numeric", matrix=[["1e200" if i == j else "0" for j in range(3)] for i in range(3)]
    )
    assert large.output["value"] is None
    assert large.output["log_abs"] == pytest.approx(600 * math.log(10), rel=1e-14)


def test_scaling_rows_does_not_make_a_matrix_singular(call: Call) -> None:
    artifact = call("solve_linear_system", matrix=[["1e-90", "2e-90"], ["3e-90", "1e-90"]], rhs=["3e-90", "4e-90"])
    assert artifact.output["solution"] == pytest.approx([1, 1], rel=1e-14)


def test_hilbert_twelve_is_declined(call: Call) -> None:
    matrix = [[f"1/{i + j + 1}" for j in range(12)] for i in range(12)]
    artifact = call("solve_linear_system", matrix=matrix, rhs=[1] * 12)
    assert artifact.error is not None
    assert artifact.error.code == "SINGULAR"
    assert "solve_linear_exact" in artifact.error.hint


# ---- iteration -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "cg", "gmres"])
def test_iterations_reach_the_solution(call: Call, method: str) -> None:
    matrix = [[4, 1, 0], [1, 5, 2], [0, 2, 6]]
    x = exact_solution(3)
    artifact = call("solve_linear_iterative", matrix=matrix, rhs=right_hand_side(matrix, x), method=method)
    assert relative_error(artifact.output["solution"], x) <= artifact.diagnostics["forward_error_bound"]


def test_the_order_of_equations_decides_jacobi(call: Call) -> None:
    artifact = call("solve_linear_iterative", matrix=[[1, 3], [4, 1]], rhs=[1, 2], method="jacobi")
    assert artifact.error is not None
    assert artifact.error.code == "NO_CONVERGENCE"
    assert artifact.error.details["spectral_radius"] == pytest.approx(math.sqrt(12))


@pytest.mark.parametrize("matrix", [[[1, 2], [2, 1]], [[2, 1], [0, 2]]])
def test_cg_refuses_what_is_not_positive_definite(call: Call, matrix: list[list[int]]) -> None:
    artifact = call("solve_linear_iterative", matrix=matrix, rhs=[1, -1], method="cg")
    assert artifact.error is not None
    assert artifact.error.code == "NOT_POSITIVE_DEFINITE"


# ---- least squares ---------------------------------------------------------------------------------------------------
LAUCHLI = [[1, 1, 1], ["1e-8", 0, 0], [0, "1e-8", 0], [0, 0, "1e-8"]]  # Lauchli 1961
LAUCHLI_DATA = [3, "1e-8", "1e-8", "1e-8"]


def test_normal_equations_fail_where_qr_succeeds(call: Call) -> None:
    squared = call("lstsq_normal_equations", matrix=LAUCHLI, rhs=LAUCHLI_DATA)
    assert squared.error is not None
    assert squared.error.code == "SINGULAR"
    artifact = call("lstsq_qr", matrix=LAUCHLI, rhs=LAUCHLI_DATA)
    assert artifact.output["solution"] == pytest.approx([1, 1, 1], rel=1e-6)


@pytest.mark.parametrize("method", ["qr", "svd"])
def test_a_deficient_rank_gives_the_least_norm(call: Call, method: str) -> None:
    artifact = call("lstsq_qr", matrix=[[1, 1], [2, 2], [3, 3]], rhs=[1, 2, 3], method=method)
    assert artifact.diagnostics["rank_deficient"]
    assert artifact.output["solution"] == pytest.approx([0.5, 0.5])


def test_weights_are_the_inverse_variances(call: Call) -> None:
    artifact = call("lstsq_qr", matrix=[[1], [1]], rhs=[0, 3], weights=[1, 2])
    assert artifact.output["solution"] == pytest.approx([2.0])
    squared = call("lstsq_normal_equations", matrix=[[1], [1]], rhs=[0, 3], weights=[1, 2])
    assert squared.output["solution"] == pytest.approx([2.0])
    assert squared.output["gram"] == [[pytest.approx(3.0)]]


def test_the_thread_setting_of_the_host_is_left_alone() -> None:
    before = [library["num_threads"] for library in threadpool_info()]
    with one_thread():
        np.ones((4, 4)) @ np.ones((4, 4))
    assert [library["num_threads"] for library in threadpool_info()][: len(before)] == before
