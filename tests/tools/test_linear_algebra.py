"""Exact linear algebra: determinants, systems, null spaces, products, inverses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.tools.registry import find
from maven_env.types import Artifact

Call = Callable[..., Artifact]
Rows = list[list[str]]


def hilbert(n: int) -> Rows:
    return [[f"1/{i + j + 1}" for j in range(n)] for i in range(n)]


def generic(n: int) -> Rows:
    return [[f"a{i}{j}" for j in range(n)] for i in range(n)]


def rational(matrix: Any) -> list[list[Fraction]]:
    return [[Fraction(entry) for entry in row] for row in matrix]


def product(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[list[Fraction]]:
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in zip(*b, strict=True)]
        for row in a
    ]


def matrices(rows: int, columns: int) -> st.SearchStrategy[list[list[Fraction]]]:
    entry = st.fractions(min_value=-9, max_value=9, max_denominator=5)
    return st.lists(st.lists(entry, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


def texts(matrix: list[list[Fraction]]) -> Rows:
    return [[str(entry) for entry in row] for row in matrix]


# ---- determinant -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (hilbert(3), "1/2160"),  # Hilbert 1894
        (hilbert(10), "1/46206893947914691316295628839036278726983680000000000"),
        (
            [["16", "2", "3", "13"], ["5", "11", "10", "8"], ["9", "7", "6", "12"], ["4", "14", "15", "1"]],
            "0",
        ),  # magic(4)
        (
            [["0", "0", "0", "1"], ["0", "1.1", "1.21", "1"], ["1", "1", "2", "1"], ["1", "0", "1", "1"]],
            "11/100",
        ),  # symengine 325
        ([["a", "b"], ["c", "d"]], "a*d - b*c"),
        ([["2*sqrt(2)", "8"], ["6*sqrt(6)", "24*sqrt(3)"]], "0"),  # Wester P16
        ([["cos(t)", "-sin(t)"], ["sin(t)", "cos(t)"]], "1"),
        ([["I", "1"], ["1", "-I"]], "0"),
        ([["1/(x - 1)", "x/2"], ["1", "1/x"]], "(-x^3 + x^2 + 2)/(2*x^2 - 2*x)"),
    ],
)
def test_determinants_are_exact(call: Call, matrix: Rows, expected: str) -> None:
    assert call("matrix_determinant", matrix=matrix).output["expr"] == expected


def test_tiny_pivots_do_not_make_a_determinant_vanish(call: Call) -> None:
    # sympy issue 10780
    matrix = [["1e-17" if i == j else "1" for j in range(4)] for i in range(4)]
    assert call("matrix_determinant", matrix=matrix).output["value"] == -3.0


def test_a_generic_six_by_six_determinant_has_all_its_terms(call: Call) -> None:
    names = [[f"a{(i * 6 + j) % 31}" for j in range(6)] for i in range(6)]
    artifact = call("matrix_determinant", matrix=names)
    assert artifact.ok
    assert artifact.output["sign"] == "unknown"


def test_a_determinant_that_would_be_huge_is_refused_at_once(call: Call) -> None:
    artifact = call("matrix_determinant", matrix=generic(9))
    assert artifact.error is not None
    assert artifact.error.code == "LIMIT_EXCEEDED"


def test_an_undecided_determinant_is_not_called_singular_or_regular(call: Call) -> None:
    artifact = call("matrix_determinant", matrix=[["sqrt(5 + 2*sqrt(6))", "1"], ["sqrt(2) + sqrt(3)", "1"]])
    assert artifact.ok
    assert artifact.diagnostics["singular"] is None
    assert artifact.output["sign"] == "unknown"


@settings(max_examples=25, deadline=None)
@given(matrices(3, 3), matrices(3, 3))
def test_the_determinant_of_a_product_is_the_product(a: list[list[Fraction]], b: list[list[Fraction]]) -> None:
    def det(matrix: list[list[Fraction]]) -> Fraction:
        return Fraction(run("matrix_determinant", matrix=texts(matrix))["expr"])

    assert det(product(a, b)) == det(a) * det(b)


def run(tool_id: str, **given: Any) -> Any:
    spec = find(tool_id)
    arguments, _ = spec.read(given, lambda body: None)
    return spec.run(arguments).output


# ---- systems ---------------------------------------------------------------------------------------------------------
def test_hilbert_systems_are_solved_exactly(call: Call) -> None:
    solution = [Fraction((-1) ** i, i + 1) for i in range(12)]
    rhs = [str(row[0]) for row in product(rational(hilbert(12)), [[x] for x in solution])]
    artifact = call("solve_linear_exact", matrix=hilbert(12), rhs=rhs)
    assert [Fraction(x) for x in artifact.output["solution"]] == solution


def test_free_unknowns_keep_their_names(call: Call) -> None:
    artifact = call("solve_linear_exact", matrix=[["1", "1"], ["2", "2"]], rhs=["1", "2"], unknowns=["x", "y"])
    assert artifact.output["solution"] == ["1 - y", "y"]
    assert artifact.output["free_parameters"] == ["y"]


def test_parameters_do_not_clash_with_symbols_of_the_system(call: Call) -> None:
    artifact = call("solve_linear_exact", matrix=[["t1", "t1"]], rhs=["t1"])
    assert artifact.output["solution"] == ["1 - t2", "t2"]


def test_contradictions_are_no_solution(call: Call) -> None:
    artifact = call("solve_linear_exact", matrix=[["1", "1"], ["2", "2"]], rhs=["a", "b"])
    assert artifact.error is not None
    assert artifact.error.code == "NO_SOLUTION"
    assert "-2*a + b = 0" in artifact.error.message


def test_degenerate_parameter_values_are_named(call: Call) -> None:
    # sympy issue 11621: the zero solution is not the only one where the determinant vanishes
    matrix = [["m", "0", "1"], ["0", "m - 3", "1"], ["0", "0", "m"]]
    artifact = call("solve_linear_exact", matrix=matrix, rhs=["0", "0", "0"])
    assert artifact.output["solution"] == ["0", "0", "0"]
    assert artifact.diagnostics["valid_unless_zero"] == ["m", "m - 3"]


def test_overdetermined_consistent_systems_are_solved(call: Call) -> None:
    artifact = call("solve_linear_exact", matrix=[["1", "0"], ["0", "1"], ["1", "1"]], rhs=["1", "2", "3"])
    assert artifact.output["solution"] == ["1", "2"]


@settings(max_examples=25, deadline=None)
@given(matrices(3, 4), st.lists(st.integers(-5, 5), min_size=4, max_size=4))
def test_solutions_fulfil_the_equations(a: list[list[Fraction]], x: list[int]) -> None:
    rhs = [row[0] for row in product(a, [[Fraction(v)] for v in x])]
    output = run("solve_linear_exact", matrix=texts(a), rhs=[str(v) for v in rhs])
    values = [str(v) for v in output["solution"]]
    back = run("matrix_product", factors=[texts(a), values], arithmetic="exact")
    assert [row[0] for row in back["matrix"]] == [str(v) for v in rhs]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"matrix": [["1", "2"]], "rhs": ["1", "2"]}, "SHAPE_MISMATCH"),
        ({"matrix": [["1", "2"]], "rhs": ["1"], "unknowns": ["x"]}, "SHAPE_MISMATCH"),
        ({"matrix": [["x", "2"]], "rhs": ["1"], "unknowns": ["x", "y"]}, "BAD_INPUT"),
        ({"matrix": [["1", "oo"]], "rhs": ["1"]}, "UNDEFINED_VALUE"),
        ({"matrix": [["1", "2"], ["3"]], "rhs": ["1", "2"]}, "SHAPE_MISMATCH"),
        ({"matrix": [["1", "2 +"]], "rhs": ["1"]}, "PARSE_ERROR"),
    ],
)
def test_bad_systems_are_refused(call: Call, given: dict[str, Any], code: str) -> None:
    artifact = call("solve_linear_exact", **given)
    assert artifact.error is not None
    assert artifact.error.code == code


# ---- null space ------------------------------------------------------------------------------------------------------
def test_the_reduced_form_is_right(call: Call) -> None:
    # Wester P14
    matrix = [
        ["1", "2", "3", "1", "3"],
        ["3", "2", "1", "1", "7"],
        ["0", "2", "4", "1", "1"],
        ["1", "1", "1", "1", "4"],
    ]
    artifact = call("null_space", matrix=matrix)
    assert artifact.output["rank"] == 3
    assert artifact.output["rref"][:3] == [
        ["1", "0", "-1", "0", "2"],
        ["0", "1", "2", "0", "-1"],
        ["0", "0", "0", "1", "3"],
    ]


@settings(max_examples=25, deadline=None)
@given(matrices(2, 4), st.integers(-3, 3), st.integers(-3, 3))
def test_null_vectors_are_whole_and_annihilated(a: list[list[Fraction]], p: int, q: int) -> None:
    rows = [*a, [p * x + q * y for x, y in zip(a[0], a[1], strict=True)]]
    output = run("null_space", matrix=texts(rows))
    assert output["rank"] + output["nullity"] == 4
    for vector in output["basis"]:
        values = [Fraction(v) for v in vector]
        assert all(v.denominator == 1 for v in values)
        assert not any(row[0] for row in product(rows, [[v] for v in values]))


# ---- products and inverses -------------------------------------------------------------------------------------------
def test_scalars_vectors_and_transposes_multiply(call: Call) -> None:
    artifact = call("matrix_product", factors=["s", ["u", "v"], ["1", "2"]], transpose=[2], arithmetic="exact")
    assert artifact.output["matrix"] == [["s*u", "2*s*u"], ["s*v", "2*s*v"]]


def test_double_products_of_rationals_are_rounded_once(call: Call) -> None:
    artifact = call("matrix_product", factors=[["1e16", "1", "-1e16"], ["1", "1", "1"]], transpose=[0])
    assert artifact.output["scalar"] == 1.0


def test_misfits_name_the_factor(call: Call) -> None:
    artifact = call("matrix_product", factors=[["1", "2"], ["1", "2"]])
    assert artifact.error is not None
    assert artifact.error.code == "SHAPE_MISMATCH"
    assert "factor 1 is 2 x 1" in artifact.error.message


@settings(max_examples=25, deadline=None)
@given(matrices(3, 3))
def test_the_inverse_undoes_the_matrix(a: list[list[Fraction]]) -> None:
    if Fraction(run("matrix_determinant", matrix=texts(a))["expr"]) == 0:
        return
    inverse = run("matrix_inverse", matrix=texts(a), arithmetic="exact")["matrix"]
    assert product(a, rational(inverse)) == [[Fraction(int(i == j)) for j in range(3)] for i in range(3)]


def test_a_symbolic_inverse_names_its_determinant(call: Call) -> None:
    artifact = call("matrix_inverse", matrix=[["a", "b"], ["c", "d"]], arithmetic="exact")
    assert artifact.output["matrix"][0] == ["d/(a*d - b*c)", "-b/(a*d - b*c)"]
    assert artifact.diagnostics["valid_unless_zero"] == ["a*d - b*c"]


@pytest.mark.parametrize("arithmetic", ["exact", "double"])
def test_singular_matrices_have_no_inverse(call: Call, arithmetic: str) -> None:
    artifact = call("matrix_inverse", matrix=[["1", "2"], ["2", "4"]], arithmetic=arithmetic)
    assert artifact.error is not None
    assert artifact.error.code == "SINGULAR"
