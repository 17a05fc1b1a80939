"""Which numbers of a call come from somewhere."""

from __future__ import annotations

from fractions import Fraction

import pytest

from maven_env.scoring.grounding import extend, initial_support
from maven_env.scoring.literals import constants, is_structural, numbers_in, significant_digits, source_of
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Problem, ToolCall

TOOLBOX = Toolbox()


def values(text: object) -> list[Fraction]:
    return [constant.value for constant in constants(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2 + 3/10", [Fraction(23, 10)]),
        ("3*(3/4)*(13/10)^2*x", [Fraction(3 * 3 * 169, 400)]),
        ("x^137", []),
        ("137^x", [137]),
        ("sin(45*x) + 45", [45, 45]),
        ("${step-01.output.expr}*7.25", [Fraction(29, 4)]),
        ("${step-01.output.expr}", []),
        ("maximum", []),
        (1.5, [Fraction(3, 2)]),
        (True, []),
        (None, []),
        ({"a": [1, "x + 99"]}, [1, 99]),
        ("3.2 m/s", [Fraction(16, 5)]),
    ],
)
def test_the_largest_closed_parts_are_folded(text: object, found: list[Fraction]) -> None:
    assert values(text) == found


def test_options_are_passed_over() -> None:
    assert [c.value for c in constants({"expr": "97*x", "tol": 1e-9}, frozenset({"tol"}))] == [97]


def test_numbers_of_running_text() -> None:
    assert numbers_in("at 3/4 m, 1e-8 and 20.5; t2 is a name") == [Fraction(3, 4), Fraction(1, 10**8), Fraction(41, 2)]


def test_small_numbers_are_structural() -> None:
    assert is_structural(Fraction(-12, 5))
    assert not is_structural(Fraction(13))
    assert not is_structural(Fraction(1, 13))


def test_a_literal_comes_from_a_value_if_it_is_it_rounded_to_three_digits_at_least() -> None:
    shown = source_of("step-01", [Fraction(314159, 100000), Fraction(2, 3)])
    for text in ("3.14159", "3.1416", "3.142", "3.14", "-3.14"):
        assert shown.shows(Fraction(text)), text
    for text in ("3.1", "3.15", "3.141"):
        assert not shown.shows(Fraction(text)), text
    assert shown.shows(Fraction("0.667"))
    assert shown.shows(Fraction(2, 3))
    assert significant_digits(Fraction("0.0320")) == 2
    assert significant_digits(Fraction(1, 3)) is None


def ground(problem: Problem, *calls: ToolCall) -> tuple[set[str], set[str], int]:
    from maven_env.artifacts import MemoryStore

    store = MemoryStore(problem.problem_id)
    store.put(problem.given)
    support = initial_support(problem)
    for call in calls:
        artifact = TOOLBOX.call(call, store)
        store.put(artifact)
        support = extend(support, artifact)
    return set(support.grounded), set(support.rooted), support.unsupported


EVALUATE = "evaluate_high_precision"


def test_a_computation_on_the_given_is_rooted(paper_problem: Problem) -> None:
    call = ToolCall(EVALUATE, {"expr": "2*${given.output.m}"})
    assert ground(paper_problem, call) == ({"given", "step-01"}, {"given", "step-01"}, 0)


def test_a_copied_literal_counts_as_a_reference(paper_problem: Problem) -> None:
    mass = str(paper_problem.given.output["m"])
    call = ToolCall(EVALUATE, {"expr": f"2*({mass})"})
    assert ground(paper_problem, call)[1] == {"given", "step-01"}


def test_a_number_from_nowhere_is_unsupported_and_spoils_what_follows(paper_problem: Problem) -> None:
    first = ToolCall(EVALUATE, {"expr": "123.456*${given.output.m}"})
    second = ToolCall(EVALUATE, {"expr": "2*${step-01.output.value}"})
    assert ground(paper_problem, first, second) == ({"given"}, {"given"}, 1)


def test_small_numbers_alone_are_grounded_but_not_rooted(paper_problem: Problem) -> None:
    assert ground(paper_problem, ToolCall(EVALUATE, {"expr": "2 + 2"})) == ({"given", "step-01"}, {"given"}, 0)


@pytest.mark.parametrize(
    "expr", ["2 + 0*${given.output.m}", "2*${given.output.m}/${given.output.m}", "2 + ${given.output.m}*10^(-30)"]
)
def test_a_value_that_does_not_move_with_what_it_refers_to_is_not_rooted(paper_problem: Problem, expr: str) -> None:
    assert ground(paper_problem, ToolCall(EVALUATE, {"expr": expr}))[1] == {"given"}


def test_a_failed_call_grounds_nothing(paper_problem: Problem) -> None:
    assert ground(paper_problem, ToolCall(EVALUATE, {"expr": "${given.output.m}/0"}))[0] == {"given"}


def test_a_value_in_an_option_is_no_option(paper_problem: Problem) -> None:
    same = {"a": "${given.output.m}", "b": "${given.output.m}"}
    honest = ToolCall("cross_check_numeric", {**same, "rel_tol": 1e-9})
    hidden = ToolCall("cross_check_numeric", {**same, "rel_tol": 0.1347826086956522})
    assert ground(paper_problem, honest)[2] == 0
    assert ground(paper_problem, hidden)[2] == 1


def test_the_echo_of_an_option_supports_nothing(paper_problem: Problem) -> None:
    same = {"a": "${given.output.m}", "b": "${given.output.m}", "rel_tol": 0.137}
    echo = ToolCall(EVALUATE, {"expr": "${step-01.output.tolerance}*10"})
    assert ground(paper_problem, ToolCall("cross_check_numeric", same), echo)[2] == 1
    assert (
        ground(paper_problem, ToolCall("cross_check_numeric", same), ToolCall(EVALUATE, {"expr": "137/1000"}))[2] == 1
    )


def test_a_number_spelled_out_digit_by_digit_is_unsupported(paper_problem: Problem) -> None:
    digits = " + ".join(f"{d}*${{given.output.m}}*10^(-{i})" for i, d in enumerate("2718281828459"))
    grounded, _, unsupported = ground(paper_problem, ToolCall(EVALUATE, {"expr": digits}))
    assert grounded == {"given"}
    assert unsupported >= 1
