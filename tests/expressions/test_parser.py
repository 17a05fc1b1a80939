"""The parser: what it reads, what it refuses, and that no input runs code, hangs or exhausts memory."""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.errors import BadReference, ExpressionError, LimitExceeded, ToolError
from maven_env.expressions import Number, Symbol, parse, parse_equation, parse_matrix, parse_relation, to_text
from maven_env.expressions.equality import equal
from maven_env.expressions.parser import number_node
from maven_env.expressions.symbolic import sympy_text, to_sympy

sys.path.insert(0, str(Path(__file__).parent))
from corpus import REFUSED, REFUSED_WHILE_BUILDING

READ = {
    "A*t^3 - B*t^2 + C*t": "A*t^3 - B*t^2 + C*t",
    "2x": "2*x",
    "2 pi r": "2*pi*r",
    "(x+1)(x-1)": "(x - 1)*(x + 1)",
    "-x^2": "-x^2",
    "2^-1": "1/2",
    "-2^2": "-4",
    "2^3^2": "512",
    "x/y/z": "x/(y*z)",
    "3sin(x)": "3*sin(x)",
    "0.1+0.2": "3/10",
    "1e-3": "1/1000",
    ".5": "1/2",
    "|x|": "Abs(x)",
    "ln(x)": "log(x)",
    "5!": "120",
    "x²": "x^2",
    "√(2)": "sqrt(2)",
    "π": "pi",
    "−1": "-1",
    "a_1+b_2": "a_1 + b_2",
    "exp(-x^2/2)": "exp(-x^2/2)",
    "x**2": "x^2",
    "2(x+1)": "2*x + 2",
    "log(8,2)": "3",
    "E^x": "E^x",
    "lambda_*x": "lambda_*x",
    "(x+y)^20": "(x + y)^20",
    "10^30": "1" + "0" * 30,
    "cos(pi/257)": "cos(pi/257)",
    "0^0": "1",
    "I^2": "-1",
    "exp(700)": "exp(700)",
    "x^1000": "x^1000",
    "x < 0": None,
    "-88*x/25": "-88*x/25",
    "1/sqrt(x)": "1/sqrt(x)",
    "6.02214076e23*x": "602214076000000000000000*x",
    "θ + λ": "lambda_ + theta",
    "Piecewise((x, x > 0), (0, otherwise))": "Piecewise((x, x > 0), (0, otherwise))",
}


@pytest.mark.parametrize("text", [text for text, result in READ.items() if result], ids=repr)
def test_text_is_read_with_its_usual_meaning(text: str) -> None:
    assert sympy_text(to_sympy(parse(text))) == READ[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:24]))
def test_hostile_text_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ToolError) as caught:
        parse(text)
    assert time.process_time() - start < 1
    assert caught.value.code in ("PARSE_ERROR", "LIMIT_EXCEEDED", "BAD_REFERENCE")
    assert caught.value.message


@pytest.mark.parametrize("text", REFUSED_WHILE_BUILDING, ids=repr)
def test_bombs_that_only_evaluation_shows_are_refused_while_sympy_builds(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ToolError) as caught:
        to_sympy(parse(text))
    assert time.process_time() - start < 2
    assert caught.value.code in ("PARSE_ERROR", "LIMIT_EXCEEDED")


@pytest.mark.parametrize("value", [None, 1, 1.5, [], {}, b"x", ("x",), True])
def test_values_that_are_no_text_are_refused(value: object) -> None:
    with pytest.raises(ExpressionError):
        parse(value)  # type: ignore[arg-type]


def test_a_refusal_has_code_position_and_hint() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("2*x(y+1)")
    assert (caught.value.reason, caught.value.position) == ("UNKNOWN_FUNCTION", 2)
    assert "x*(...)" in caught.value.hint


def test_a_relation_sign_in_an_expression_says_what_is_wanted() -> None:
    with pytest.raises(ExpressionError, match="unexpected '='"):
        parse("x = 1")


def test_an_equation_without_a_sign_means_equals_zero() -> None:
    equation = parse_equation("x^2 - 2")
    assert equation.right == Number(Fraction(0))
    assert to_text(parse_equation("x^2 = 2")) == "x^2 = 2"
    with pytest.raises(ExpressionError, match="expected an equation"):
        parse_equation("x < 2")


def test_relations_are_read_with_every_sign() -> None:
    for sign in ("=", "!=", "<", "<=", ">", ">="):
        assert to_text(parse_relation(f"x {sign} 1")) == f"x {sign} 1"
    assert to_text(parse_relation("x ≤ 1")) == "x <= 1"


def test_matrices_are_rectangles_of_expressions() -> None:
    assert parse_matrix([["1", "x"], [0.5, 2]])[1][0] == Number(Fraction(1, 2))
    assert len(parse_matrix(["1", "2"])) == 2
    for bad in ([], [[1], [1, 2]], "x", [[]], [[None]], [[True]]):
        with pytest.raises(ToolError):
            parse_matrix(bad)
    with pytest.raises(LimitExceeded):
        parse_matrix([[0] * 200] * 200)


def test_a_reference_is_an_atom_so_precedence_holds() -> None:
    node = parse("2*${step-01.output.expr}^2", resolve=lambda body: parse("a + b"))
    assert to_text(node) == "2*(a + b)^2"
    with pytest.raises(BadReference):
        parse("2*${step-01.output.expr}")


def test_unknown_functions_are_read_where_they_are_declared() -> None:
    assert to_text(parse("y(n+1) - 2*y(n)", functions=frozenset("y"))) == "y(n + 1) - 2*y(n)"


def test_json_numbers_go_through_their_shortest_decimal() -> None:
    assert number_node(0.1) == Number(Fraction(1, 10))
    assert to_text(number_node(-2)) == "-2"
    with pytest.raises(ExpressionError):
        number_node(float("nan"))


_ALPHABET = [
    *"x0129.+-*/^()!|,=< eE${}",
    "sin(",
    "exp(",
    "pi",
    "**",
    "10^",
    "__",
    "x.",
    "'",
    "²",
    "Piecewise((",
    "\u200b",
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(_ALPHABET), max_size=30).map("".join) | st.text(max_size=40))
def test_any_text_is_read_or_refused_and_what_is_read_can_be_written_and_read_again(text: str) -> None:
    try:
        node = parse(text)
    except ToolError:
        return
    again = parse(to_text(node))
    try:
        value = to_sympy(node)
    except ToolError:
        return
    assert to_sympy(again) == value


def _trees() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["x", "y", "2", "3/7", "0.25", "pi", "a_1"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from([" + ", " - ", "*", "/"]), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
            inner.map(lambda t: f"-{t}"),
            inner.map(lambda t: f"sin({t})"),
            st.tuples(inner, st.sampled_from(["2", "3", "1/2", "(-1)"])).map(lambda t: f"({t[0]})^{t[1]}"),
        ),
        max_leaves=8,
    )


@settings(max_examples=200, deadline=None)
@given(_trees())
def test_writing_and_reading_keeps_the_tree(text: str) -> None:
    try:
        node = parse(text)
    except ToolError:
        return
    written = to_text(node)
    assert to_text(parse(written)) == written
    assert parse(written) == node or equal(parse(written), node) != "different"  # unknown where there is no value


def test_symbols_named_like_objects_of_sympy_are_symbols() -> None:
    for name in ("E", "N", "S", "Q", "C", "beta", "gamma_", "O"):
        assert parse(name) == Symbol(name)
