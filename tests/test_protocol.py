"""The protocol: one call, or the end, or a typed violation that says how to mend it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.protocol import MAX_CHARACTERS, RULES, from_native, parse, violation_observation
from maven_env.types import Completion, NativeCall, ToolCall, Violation

TOOLS = frozenset({"integrate", "symbolic_diff"})
CALL = '{"tool_id": "integrate", "input": {"expr": "x", "wrt": "x"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"I integrate first.\n{CALL}\nThen I go on.",
        f"```json\n{CALL}\n```",
        f"I shall say PROBLEM_COMPLETED later. {CALL}",
        f"With ${{given.output.A}} at hand: {CALL}",
        f"<think>\nPerhaps {CALL} or PROBLEM_COMPLETED {{}}?\n</think>\n\n{CALL}",
        f"On [-Infinity, Infinity] the set {{x, y}} and {{'a': NaN}} matter little. {CALL}",
        r"\frac{a}{b} + " * 200 + CALL,
        'As JSON {"x": 1, "x": 2} it is odd. And: '.replace('"x": 1, "x": 2', "x: 1") + CALL,
    ],
)
def test_one_call_is_read_with_prose_and_one_fence_around_it(text: str) -> None:
    action = parse(text, TOOLS)
    assert isinstance(action, ToolCall)
    assert (action.tool_id, action.input) == ("integrate", {"expr": "x", "wrt": "x"})


def test_the_optional_keys_of_a_call_are_read() -> None:
    action = parse('{"tool_id": "a", "input": {}, "persist": false, "step_id": "mine", "problem_id": "p"}')
    assert action == ToolCall("a", {}, persist=False, step_id="mine", extra={"problem_id": "p"})


def test_unknown_keys_of_a_call_are_kept_for_the_toolbox_to_refuse() -> None:
    action = parse('{"tool_id": "a", "input": {}, "thought": "hm"}')
    assert isinstance(action, ToolCall)
    assert action.extra == {"thought": "hm"}


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ('PROBLEM_COMPLETED {"a": 3.2, "b": "${step-04.output.expr}"}', {"a": 3.2, "b": "${step-04.output.expr}"}),
        ('All is done.\n\n**PROBLEM_COMPLETED**\n```json\n{"a": "minimum"}\n```', {"a": "minimum"}),
        ('The work is done. PROBLEM_COMPLETED {"a": [1, 2]}', {"a": [1, 2]}),
        ("PROBLEM_COMPLETED", {}),
        ("**PROBLEM_COMPLETED**", {}),
        ('PROBLEM_COMPLETED: {"A": 1, "(b)": 2}', {"a": 1, "b": 2}),
        ('PROBLEM_COMPLETED {"answers": {"a": 1}}', {"a": 1}),
        ('<think>Shall I say PROBLEM_COMPLETED {"a": 0}?</think>\nPROBLEM_COMPLETED {"a": 1}', {"a": 1}),
    ],
)
def test_the_end_is_read_with_its_answers(text: str, answers: object) -> None:
    assert parse(text) == Completion(answers)  # type: ignore[arg-type]


VIOLATIONS = {
    f"{CALL} {CALL}": "MULTIPLE_CALLS",
    f"[{CALL}, {CALL}]": "MULTIPLE_CALLS",
    f"{CALL}\nPROBLEM_COMPLETED {{}}": "MULTIPLE_CALLS",
    '<tool_call>{"name": "integrate", "arguments": {}}</tool_call>': "MISSING_WRAPPER",
    '{"name": "integrate", "arguments": {"expr": "x"}}': "MISSING_WRAPPER",
    'integrate(expr="x", wrt="x")': "MISSING_WRAPPER",
    "```python\nintegrate('x')\n```": "MISSING_WRAPPER",
    '{"tool_id": "integrate"}': "MISSING_WRAPPER",
    '{"tool_id": 3, "input": {}}': "MISSING_WRAPPER",
    '{"tool_id": "integrate", "input": "x"}': "MISSING_WRAPPER",
    '{"tool_id": "integrate", "input": {}, "persist": "no"}': "MISSING_WRAPPER",
    '{"action": {"tool_id": "integrate", "input": {}}}': "MISSING_WRAPPER",
    'I use integrate(expr="x") and find x^2/2.': "EMBEDDED_OPERATION",
    "Now integrate the velocity.": "EMBEDDED_OPERATION",
    '{"tool_id": "integrate", "input": {"expr": "x"': "MALFORMED_JSON",
    '{"tool_id": integrate, "input": {}}': "MALFORMED_JSON",
    '{"tool_id": "integrate", "input": {"a": 1, "a": 2}}': "MALFORMED_JSON",
    '{"tool_id": "integrate", "input": {"a": NaN}}': "MALFORMED_JSON",
    '{"tool_id": "integrate", "input": {"a": Infinity}}': "MALFORMED_JSON",
    '{"tool_id": "integrate", "input": {"a": ' + "9" * 5000 + "}}": "MALFORMED_JSON",
    '{"tool_id": "integrate", "input": {"a": "\ud800"}}': "MALFORMED_JSON",
    '{"tool_id": "integrate", "input": {"a": "\\ud800"}}': "MALFORMED_JSON",
    'PROBLEM_COMPLETED {"a": 1': "MALFORMED_JSON",
    'PROBLEM_COMPLETED {"a": 1} {"b": 2}': "MALFORMED_JSON",
    'PROBLEM_COMPLETED {"a": 1e999}': "MALFORMED_JSON",
    'PROBLEM_COMPLETED ["x"]': "MALFORMED_JSON",
    "PROBLEM_COMPLETED\n(a) 1\n(b) 2": "MALFORMED_JSON",
    '{"a": 1}\nPROBLEM_COMPLETED': "MALFORMED_JSON",
    "Soon I shall say PROBLEM_COMPLETED": "NO_ACTION",
    '{"tool_id": "integrate", "input": {"a": 1e999}}': "MALFORMED_JSON",
    '{"tool_id": "integrate", "input": {"a": ' + "[" * 600 + "]" * 600 + "}}": "MALFORMED_JSON",
    '{"tool_id": "a", "tool_id": "b", "input": {"tool_id": "c", "input": {}}}': "MALFORMED_JSON",
    '{"a":' * 20_000: "MALFORMED_JSON",
    "x" * (MAX_CHARACTERS + 1): "MALFORMED_JSON",
    "": "NO_ACTION",
    "  \n ": "NO_ACTION",
    "I think that the answer is 4.": "NO_ACTION",
    "[" * 90_000: "NO_ACTION",
}


@pytest.mark.parametrize(("text", "kind"), VIOLATIONS.items(), ids=lambda value: repr(value[:30]))
def test_a_breach_of_the_protocol_has_its_kind_and_shows_the_right_form(text: str, kind: str) -> None:
    action = parse(text, TOOLS)
    assert isinstance(action, Violation)
    assert action.kind == kind
    observation = violation_observation(action)
    assert observation["ok"] is False
    wanted = (
        "PROBLEM_COMPLETED"
        if text.startswith("PROBLEM") or ("\nPROBLEM" in text and "tool_id" not in text)
        else "tool_id"
    )
    assert wanted in observation["message"] + observation["expected"]
    json.dumps(observation, ensure_ascii=False).encode("utf-8")


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from([CALL, "{", "}", '"tool_id"', "PROBLEM_COMPLETED", "[", "```", "x"])).map("".join)
)
def test_any_text_is_read_as_something(text: str) -> None:
    assert isinstance(parse(text, TOOLS), ToolCall | Completion | Violation)


def test_native_calls_are_judged_by_the_same_parser() -> None:
    one = NativeCall("integrate", '{"expr": "x", "wrt": "x"}')
    assert isinstance(parse(from_native([one], "First:")), ToolCall)
    two = parse(from_native([one, one]))
    assert isinstance(two, Violation)
    assert two.kind == "MULTIPLE_CALLS"
    broken = parse(from_native([NativeCall("integrate", '{"expr": ')]))
    assert isinstance(broken, Violation)
    assert broken.kind == "MALFORMED_JSON"


def test_the_rules_show_forms_that_the_parser_takes() -> None:
    example = next(line for line in RULES.splitlines() if line.startswith("PROBLEM_COMPLETED {"))
    assert isinstance(parse(example.replace("...", '"x"', 1)), Completion)
