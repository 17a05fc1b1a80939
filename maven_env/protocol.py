"""Model text to action: exactly one call, or PROBLEM_COMPLETED with answers, or a typed violation. Pure.

The rules that models are given stand here too, so that what is told and what is enforced cannot drift apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from maven_env.types import Action, Completion, Json, NativeCall, ToolCall, Violation, ViolationKind

COMPLETED = "PROBLEM_COMPLETED"
MAX_CHARACTERS = 100_000
MAX_DEPTH = 32  # of nested JSON

_RULES = """\
Answer with exactly one JSON object per message, a single tool call:
{"tool_id": "<tool>", "input": {...}}
Prose around it is allowed; a second call in the same message is not. All computation goes through tools.
The result comes back as an artifact with a step id (step-01, step-02, ...).
{references}
Optional keys of a call: "persist": false (the result is shown but not kept, and earns nothing), "step_id" (your own \
unused id).
Verify what the problem asks you to verify, with a verification tool, and read its verdict.
When all sub-questions are answered, end with
PROBLEM_COMPLETED {"a": ..., "b": {example}}
with one answer for each label."""

_BY_REFERENCE = """\
Use earlier results by reference, not by copying numbers: "${step-01.output.expr}", "${step-02.output.roots[0]}", \
"${given.output.A}". A reference may stand alone or inside an expression."""
_BY_VALUE = "References are switched off: write the values out."


def rules(*, references: bool = True) -> str:
    """Return the rules that an agent is given."""
    example = '"${step-04.output.expr}"' if references else "..."
    return _RULES.replace("{references}", _BY_REFERENCE if references else _BY_VALUE).replace("{example}", example)


RULES = rules()
FORM_OF_A_CALL = 'send one object {"tool_id": "...", "input": {...}}'
FORM_OF_THE_END = f'send {COMPLETED} {{"a": ..., "b": ...}}'

_THOUGHT = re.compile(
    r"(?:\s*<(think|thinking|thought)>.*?</\1>)+", re.S
)  # reasoning before the response is no response
_END = re.compile(rf"(?<![\w{{]){COMPLETED}\b(?=[\s:*`\"'_]*(?:```(?:json)?\s*)?\{{)")  # answers follow
_BARE_END = re.compile(rf"[\s>*`#_\"'.]*{COMPLETED}[\s*`_\"'.:!]*")  # the whole message
_NAMED_END = re.compile(rf"(?:^|\n)[ \t>*`#_\"']*{COMPLETED}\b")
_FOREIGN_TAG = re.compile(
    r"<\s*(tool_call|function_call|function|invoke|tool_use)\b|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool", re.I
)
_FUNCTION_FORM = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\s*\(", re.ASCII)
_FOREIGN_KEYS = (
    {"name", "arguments"},
    {"name", "parameters"},
    {"function", "arguments"},
    {"tool", "input"},
    {"tool", "args"},
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WRAPPER = ("tool_id", "input", "persist", "step_id")


_OPENING = re.compile(r'(?<!\$)\{\s*["}]|\[\s*\{')  # what may begin an object of ours, or a list of them


class _NotJson(ValueError):
    """JSON that the protocol refuses: a repeated key, NaN, or nesting beyond reason."""


def parse(text: str, tools: Collection[str] = ()) -> Action:
    """Read one response. `tools` are the known tool ids, by which operations in prose are recognised."""
    if len(text) > MAX_CHARACTERS:
        message = f"the message has {len(text)} characters, the bound is {MAX_CHARACTERS}; {FORM_OF_A_CALL}"
        return _violation("MALFORMED_JSON", text[:200], message)
    surrogate = next((i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff"), None) if not text.isascii() else None
    if surrogate is not None:
        shown = text.encode("utf-8", "backslashreplace").decode()
        message = f"the text holds a lone surrogate at position {surrogate}, which is no Unicode; send valid UTF-8"
        return _violation("MALFORMED_JSON", shown, message)
    thought = _THOUGHT.match(text)
    text = text[thought.end() :] if thought else text
    objects, problem = _objects(text)
    if "\\ud" in text.lower() and _holds_surrogates(objects):
        message = r"an escape \ud800 to \udfff that is no pair is no Unicode; send the characters themselves"
        return _violation("MALFORMED_JSON", text, message)
    calls = [(span, value) for span, value in objects if isinstance(value, dict) and "tool_id" in value]
    end = _find_end(text, [span for span, _ in calls])
    if len(calls) > 1:
        return _violation(
            "MULTIPLE_CALLS", text, f"{len(calls)} calls in one message, none was executed; {FORM_OF_A_CALL}"
        )
    if calls and end is not None:
        message = (
            f"a call and {COMPLETED} in one message, nothing was done; first {FORM_OF_A_CALL}, later {FORM_OF_THE_END}"
        )
        return _violation("MULTIPLE_CALLS", text, message)
    if calls:
        return _call(calls[0][1], text)
    if end is not None:
        return _completion(text, end, objects, problem)
    return _no_call(text, objects, problem, tools)


def from_native(calls: Collection[NativeCall], content: str = "") -> str:
    """Write the native tool calls of a chat API in the wrapper, one after another, so that one parser sees all.

    Arguments that are no JSON are kept as they came, so that the parser can say what is wrong with them.
    """
    parts = [content] if content else []
    for call in calls:
        arguments = call.arguments.strip() or "{}"
        parts.append(f'{{"tool_id": {json.dumps(call.name)}, "input": {arguments}}}')
    return "\n".join(parts)


def _violation(kind: ViolationKind, text: str, message: str) -> Violation:
    return Violation(kind, text[:2_000], message)


# ---- finding JSON ----------------------------------------------------------------------------------------------------
def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _NotJson(f"the key {key[:60]!r} stands twice")
        result[key] = value
    return result


def _constant(word: str) -> Any:
    raise _NotJson(f"{word} is no JSON value")


def _finite(word: str) -> float:
    value = float(word)
    if value in (float("inf"), float("-inf")):
        raise _NotJson(f"the number {word[:40]} is beyond double precision; write it as text")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)


def _objects(text: str) -> tuple[list[tuple[tuple[int, int], Json]], str | None]:
    """Return the outermost JSON objects and lists of objects with their spans, and what was wrong with a bad one."""
    found: list[tuple[tuple[int, int], Json]] = []
    problem: str | None = None
    position = 0
    attempts = 0
    while (match := _OPENING.search(text, position)) is not None and attempts < 500:
        start = match.start()
        attempts += 1
        try:
            value, stop = _DECODER.raw_decode(text, start)
        except _NotJson as error:
            if '"tool_id"' in text[start:] or COMPLETED in text[:start]:
                return [], str(error)  # what stands inside a refused object is no call of its own
            problem = problem or str(error)
            position = start + 1
            continue
        except RecursionError:
            return [], f"the JSON is nested deeper than {MAX_DEPTH}"
        except ValueError as error:
            if '"tool_id"' in text[start:] or problem is None:
                problem = problem or _where(error, text)
            position = start + 1
            continue
        if _depth(value) > MAX_DEPTH:
            return [], f"the JSON is nested deeper than {MAX_DEPTH}"
        if isinstance(value, dict):
            found.append(((start, stop), value))
        elif any(isinstance(item, dict) for item in value):
            found.extend(((start, stop), item) for item in value if isinstance(item, dict))
            found.append(((start, stop), value))
        position = stop
    return found, problem


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [child for items in inner for child in items]
    return depth


def _where(error: ValueError, text: str) -> str:
    if isinstance(error, json.JSONDecodeError):
        line = text.count("\n", 0, error.pos) + 1
        return f"{error.msg} at line {line}, character {error.pos}"
    return str(error)[:200]


def _holds_surrogates(objects: list[tuple[tuple[int, int], Json]]) -> bool:
    written = json.dumps([value for _, value in objects], ensure_ascii=False)
    return any("\ud800" <= character <= "\udfff" for character in written)


# ---- the three readings ----------------------------------------------------------------------------------------------
def _call(value: dict[str, Json], text: str) -> Action:
    tool_id, given = value.get("tool_id"), value.get("input")
    if not isinstance(tool_id, str):
        return _violation("MISSING_WRAPPER", text, f"tool_id must be text; {FORM_OF_A_CALL}")
    if not isinstance(given, dict):
        what = "is missing" if "input" not in value else "must be a JSON object"
        return _violation("MISSING_WRAPPER", text, f"the field input {what}; {FORM_OF_A_CALL}")
    persist, step_id = value.get("persist", True), value.get("step_id")
    if not isinstance(persist, bool):
        return _violation("MISSING_WRAPPER", text, f"persist must be true or false; {FORM_OF_A_CALL}")
    if step_id is not None and not isinstance(step_id, str):
        return _violation("MISSING_WRAPPER", text, f"step_id must be text; {FORM_OF_A_CALL}")
    extra = {key: item for key, item in value.items() if key not in _WRAPPER}
    return ToolCall(tool_id, given, persist, step_id, extra)


def _find_end(text: str, calls: list[tuple[int, int]]) -> int | None:
    """Return where the end mark ends. A mention inside a call or amid prose, with no answers after it, is none."""
    if _BARE_END.fullmatch(text):
        return len(text)
    for match in _END.finditer(text):
        if not any(start <= match.start() < stop for start, stop in calls):
            return match.end()
    return None


def _completion(text: str, end: int, objects: list[tuple[tuple[int, int], Json]], problem: str | None) -> Action:
    after = [value for (start, _), value in objects if start >= end and isinstance(value, dict)]
    if len(after) > 1:
        return _violation("MALFORMED_JSON", text, f"more than one object after {COMPLETED}; {FORM_OF_THE_END}")
    if not after:
        if end == len(text):
            return Completion({})
        return _violation("MALFORMED_JSON", text, f"the answers are no JSON object: {problem}; {FORM_OF_THE_END}")
    answers = after[0]
    if set(answers) == {"answers"} and isinstance(answers["answers"], dict):
        answers = answers["answers"]
    return Completion({_label(key): value for key, value in answers.items()})


def _label(key: str) -> str:
    """Return the label that is meant: `(a)`, `A` and `a.` are all `a`."""
    return key.strip(" ().:").casefold() if len(key) <= 8 else key


def _no_call(
    text: str, objects: list[tuple[tuple[int, int], Json]], problem: str | None, tools: Collection[str]
) -> Violation:
    if any(isinstance(value, dict) and any(keys <= set(value) for keys in _FOREIGN_KEYS) for _, value in objects):
        return _violation("MISSING_WRAPPER", text, f"this is another form of call; {FORM_OF_A_CALL}")
    if _FOREIGN_TAG.search(text):
        return _violation("MISSING_WRAPPER", text, f"tags of another model family are not read; {FORM_OF_A_CALL}")
    if _NAMED_END.search(text):
        message = f"{COMPLETED} without a JSON object of answers after it ends nothing; {FORM_OF_THE_END}"
        return _violation("MALFORMED_JSON", text, message)
    if '"tool_id"' in text and problem is None:
        return _violation("MISSING_WRAPPER", text, f"the call stands inside another object; {FORM_OF_A_CALL}")
    if '"tool_id"' in text or (problem and text.lstrip(" \n`").removeprefix("json").lstrip().startswith("{")):
        return _violation("MALFORMED_JSON", text, f"the JSON cannot be read: {problem}; {FORM_OF_A_CALL}")
    named = [m for m in _FUNCTION_FORM.finditer(text) if m[1] in tools]
    if named:
        before = text[: named[0].start()].strip(" \t\n`>*")
        after = text[_closing(text, named[0].end() - 1) :].strip(" \t\n`;.")
        alone = before.lower() in ("", "python", "json", "tool", "call", "action:") and not after
        if alone:
            return _violation("MISSING_WRAPPER", text, f"a call written as a function is not read; {FORM_OF_A_CALL}")
        return _violation("EMBEDDED_OPERATION", text, f"an operation inside prose is not executed; {FORM_OF_A_CALL}")
    if tools and any(word in tools for word in _WORD.findall(text)):
        return _violation("EMBEDDED_OPERATION", text, f"a tool is named but not called; {FORM_OF_A_CALL}")
    if text.strip():
        return _violation(
            "NO_ACTION", text, f"there is neither a call nor the end; {FORM_OF_A_CALL}, or {FORM_OF_THE_END}"
        )
    return _violation("NO_ACTION", text, f"the message is empty; {FORM_OF_A_CALL}, or {FORM_OF_THE_END}")


def _closing(text: str, opening: int) -> int:
    """Return the position after the bracket that closes the one at `opening`, or the end."""
    depth = 0
    for position in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    return len(text)


def violation_observation(violation: Violation) -> dict[str, Json]:
    """Return what the agent is told: the kind, what was wrong, and the right form."""
    expected = FORM_OF_A_CALL
    if violation.kind == "ACTION_AFTER_END":
        expected = "nothing: reset begins the next problem"
    elif COMPLETED in violation.text and '"tool_id"' not in violation.text:
        expected = FORM_OF_THE_END
    return {"ok": False, "violation": violation.kind, "message": violation.message, "expected": expected}
