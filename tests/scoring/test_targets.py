"""A required check counts however it is written; another check does not."""

from __future__ import annotations

from typing import Any

import pytest

from maven_env.artifacts import MemoryStore
from maven_env.scoring.targets import settles
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Check, ToolCall

TOOLBOX = Toolbox()


def is_settled(tool: str, required: dict[str, Any], call: tuple[str, dict[str, Any]], reading: str = "passed") -> bool:
    reference = TOOLBOX.call(ToolCall(tool, required), MemoryStore("reference"))
    assert reference.ok, reference.error
    assert reference.output["verdict"] == reading
    artifact = TOOLBOX.call(ToolCall(*call), MemoryStore("agent"))
    assert artifact.ok, artifact.error
    assert reference.resolved_input is not None
    return settles(tool, reference.resolved_input, artifact, Check("step", reading))  # type: ignore[arg-type]


DOMAIN = {"values": {"b": "17/5", "mark": "13/10"}, "conditions": ["b > mark"]}


@pytest.mark.parametrize(
    "call",
    [
        ("check_domain", {"values": {"x": "3.4", "y": "1.3"}, "conditions": ["x > y"]}),
        ("check_domain", {"values": {"b": "17/5"}, "conditions": ["b > 13/10"]}),
        ("check_domain", {"values": {"b": "17/5", "mark": "13/10"}, "conditions": ["b - mark > 0"]}),
        ("check_domain", {"values": {"b": "17/5", "mark": "13/10"}, "conditions": ["mark < b"]}),
        ("check_domain", {"values": {"b": "17/5", "mark": "13/10"}, "conditions": ["b <= mark"]}),
        ("check_sign", {"expr": "b - m", "subs": {"b": "17/5", "m": "13/10"}, "expected": "positive"}),
        ("check_sign", {"expr": "b - m", "subs": {"b": "17/5", "m": "13/10"}, "expected": "negative"}),
        ("check_sign", {"expr": "13/10 - 17/5", "expected": "negative"}),
    ],
)
def test_a_comparison_counts_in_any_writing(call: tuple[str, dict[str, Any]]) -> None:
    assert is_settled("check_domain", DOMAIN, call)


@pytest.mark.parametrize(
    "call",
    [
        ("check_domain", {"values": {"x": "3.5", "y": "1.3"}, "conditions": ["x > y"]}),
        ("check_domain", {"values": {"x": "1"}, "conditions": ["x > 0"]}),
        ("check_sign", {"expr": "1", "expected": "positive"}),
        ("check_domain", {"values": {"b": "17/5", "mark": "13/10"}, "conditions": ["b > mark", "mark > 0"]}),
        ("cross_check_numeric", {"a": "17/5", "b": "17/5"}),
    ],
)
def test_another_comparison_does_not_count(call: tuple[str, dict[str, Any]]) -> None:
    assert not is_settled("check_domain", DOMAIN, call)


def test_a_failed_comparison_is_read_from_its_negation() -> None:
    required = {"expr": "x^2 - 2", "subs": {"x": "1"}, "expected": "positive"}
    assert is_settled("check_sign", required, ("check_sign", {"expr": "1 - 2", "expected": "negative"}), "failed")
    assert is_settled("check_sign", required, ("check_sign", {"expr": "2 - 1", "expected": "positive"}), "failed")


SUM = {"kind": "sum", "terms": ["1000001", "-1000000"], "target_rel_error": 1e-6}
PAIR = {"a": "x^2", "b": "4.0000001", "subs": {"x": "2"}}
RESIDUAL = {"equations": ["x^2 = 2"], "candidates": [{"x": "sqrt(2)"}, {"x": "-sqrt(2)"}]}
UNITS = {"equation": "m*v^2/2", "units": {"m": "kg", "v": "m/s"}, "expected_unit": "J"}
POINT = {"expr": "x^3 - 3*x", "variables": ["x"], "point": {"x": "1"}}


@pytest.mark.parametrize(
    ("tool", "required", "written"),
    [
        ("check_condition", SUM, {"kind": "sum", "terms": ["-1000000", "1000001"]}),
        ("check_condition", SUM, {"kind": "sum", "terms": ["-1000001", "1000000"], "target_rel_error": 1e-6}),
        ("cross_check_numeric", PAIR, {"a": "4.0000001", "b": "4"}),
        ("cross_check_numeric", PAIR, {"a": "y*y", "b": "4.0000001", "subs": {"y": "2"}, "rel_tol": 1e-6}),
        ("check_residual", RESIDUAL, {"equations": ["2 - x^2"], "candidates": RESIDUAL["candidates"][::-1]}),
        ("check_residual", RESIDUAL, {"equations": ["3*x^2 = 6"], "candidates": RESIDUAL["candidates"], "digits": 50}),
        ("check_units", UNITS, {**UNITS, "expected_unit": "joule"}),
        ("check_units", UNITS, {**UNITS, "equation": "v^2*m/2"}),
        ("check_units", UNITS, {"equation": "a*u^2/2", "units": {"a": "g", "u": "km/h"}, "expected_unit": "N*m"}),
        ("check_units", UNITS, {"equation": "K = m*v^2/2", "units": {"m": "kg", "v": "m*s^-1", "K": "J"}}),
        ("second_derivative_test", POINT, {**POINT, "expr": "x*(x^2 - 3)", "tol": 1e-9}),
    ],
)
def test_other_checks_count_in_any_writing(tool: str, required: dict[str, Any], written: dict[str, Any]) -> None:
    reading = TOOLBOX.call(ToolCall(tool, required), MemoryStore("r")).output["verdict"]
    assert is_settled(tool, required, (tool, written), reading)


@pytest.mark.parametrize(
    ("tool", "required", "written"),
    [
        ("check_condition", SUM, {**SUM, "terms": ["1000001", "1000000"]}),
        ("check_condition", SUM, {**SUM, "target_rel_error": 0.5}),
        ("cross_check_numeric", PAIR, {"a": "4", "b": "4"}),
        ("cross_check_numeric", PAIR, {**PAIR, "rel_tol": 0.5}),
        ("check_residual", RESIDUAL, {**RESIDUAL, "equations": ["x^2 = x^2"]}),
        ("check_residual", RESIDUAL, {**RESIDUAL, "candidates": [{"x": "sqrt(2)"}]}),
        ("check_units", UNITS, {**UNITS, "equation": "m*v^2/3"}),
        ("check_units", UNITS, {"equation": "E", "units": {"E": "J"}, "expected_unit": "J"}),
        ("second_derivative_test", POINT, {**POINT, "point": {"x": "-1"}}),
    ],
)
def test_checks_of_something_else_do_not_count(tool: str, required: dict[str, Any], written: dict[str, Any]) -> None:
    reading = TOOLBOX.call(ToolCall(tool, required), MemoryStore("r")).output["verdict"]
    assert not is_settled(tool, required, (tool, written), reading)
