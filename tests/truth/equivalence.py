"""Pairs of answers: equal or not, through the equality of expressions and through the scoring of answers.

The pairs come from other graders, some of whose rules are no mathematical equality (form, renaming, significant
figures, a demanded constant). Such pairs are tried where equality still follows from the rule, else they are not. The
texts of this file may not be copied; items are named here by ids only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from cases import Case, Judge, Judgement, Set, Tools, Truth, untried

from maven_env.errors import ToolError
from maven_env.expressions import Node, parse_relation
from maven_env.expressions.equality import Verdict, close, equal, equal_up_to_constant
from maven_env.scoring.equivalence import is_same
from maven_env.types import AnswerForm, Checkpoint, Json, JsonObject

FILE = "answer_equivalence"
Expected = Literal["equal", "different", "invalid"]

DEFAULT_TOLERANCE = 0.05  # of the numeric tests, where the item names none
FORM_TESTS = ("EqualComAss", "FacForm", "PartFrac", "LowestTerms", "SubstEquiv")
OTHER_RULES = {
    "SysEquiv": "a rule on systems",
    "NumSigFigs": "a rule on significant figures",
    "LowestTerms": "a rule on form",
    "SubstEquiv": "a rule on renaming",
}
# Upstream promises only that its own algorithm does not see these as equal; they are.
UNDECIDED_UPSTREAM = {"stack_0156"}
_MAXIMA = (
    (r"%i\b|\bi\b", "I"),
    (r"%e\b|\be\b", "exp(1)"),
    (r"%pi\b", "pi"),
    (r"\binf\b", "oo"),
    (r"\bminf\b", "(-oo)"),
)


# ---- reading ---------------------------------------------------------------------------------------------------------
def _text(item: JsonObject, side: str) -> str:
    """Return one side in our grammar: from its SymPy form if it has one, else from Maxima's."""
    text = item.get(f"sympy_{side}")
    if text is None:
        text = item[side]
        for pattern, ours in _MAXIMA:
            text = re.sub(pattern, ours, text)
        return str(text)
    match = re.fullmatch(r"Eq\(\((.*)\),\((.*)\),evaluate=False\)", text)
    return re.sub(r"\bE\b", "exp(1)", f"({match[1]}) = ({match[2]})" if match else text)


def _expected(item: JsonObject) -> Expected:
    if item["expected"] == "invalid":
        return "invalid"
    is_equal = item.get("math_equal")
    if is_equal is None:
        is_equal = item["expected"] == "equal"
    return "equal" if is_equal else "different"


def _reason(item: JsonObject) -> str | None:
    """Return why a pair says nothing on equality, if so."""
    test, expected = item["test"], item["expected"]
    if item["id"] in UNDECIDED_UPSTREAM:
        return "undecided upstream"
    if test.startswith("Units"):
        return "a rule on units and significant figures"
    if test in OTHER_RULES and expected != "invalid":
        return OTHER_RULES[test]
    if test in FORM_TESTS and expected == "not_equal":
        return "a rule on form"
    if test == "Int" and expected == "not_equal":
        return "a rule on the constant of integration"
    if test == "Diff" and "=" in item["answer"]:
        return "a rule on form"
    if expected == "invalid" and _is_undefined(item["option"]):
        return "the option is invalid"
    return None


def _is_undefined(option: str) -> bool:
    """Return whether a part of an option is a quotient by zero."""
    return any(part.strip().endswith("/0") for part in option.strip("[]").split(","))


# ---- judging ---------------------------------------------------------------------------------------------------------
def _judged(came: Verdict, item: JsonObject, note: str = "") -> Judgement:
    expected = _expected(item)
    shown = f"{came}: {note or item['answer'][:80]} | {item['reference'][:80]}"
    if item.get("policy_dependent"):
        return Judgement("reported", shown, f"{expected}; upstream {item['expected']}")
    if came == expected or (expected == "invalid" and came != "equal"):
        return Judgement("right", shown, expected)
    return Judgement("declined" if came == "unknown" else "wrong", shown, expected)


def _by_equality(item: JsonObject) -> Judge:
    def judge(tools: Tools) -> Judgement:
        try:
            answer, reference = (parse_relation(_text(item, side)) for side in ("answer", "reference"))
            return _judged(_compared(item, answer, reference), item)
        except ToolError as error:
            found = _judged("unknown", item, f"{error.code}: {error.message}")
            return Judgement("not tried", "not in our grammar") if found.verdict == "declined" else found

    return judge


def _compared(item: JsonObject, answer: Node, reference: Node) -> Verdict:
    if item["test"] == "Int":
        return equal_up_to_constant(answer, reference, _variable(item))
    if item["test"] in ("NumRelative", "NumAbsolute"):
        return close(reference, answer, *_tolerances(item))
    return equal(answer, reference)


def _variable(item: JsonObject) -> str:
    return str(item["option"]).strip("[]").split(",")[0].strip() or "x"


def _tolerances(item: JsonObject) -> tuple[float, float]:
    """Return relative and absolute tolerance. Raises ToolError where the option is none."""
    try:
        tolerance = float(item["option"] or DEFAULT_TOLERANCE)
    except ValueError:
        raise ToolError("BAD_INPUT", "the option is no tolerance") from None
    return (tolerance, 0.0) if item["test"] == "NumRelative" else (0.0, tolerance)


def _by_scoring(item: JsonObject) -> Judge:
    """Score the answer. A pair that is not found equal is not right: declined where it should be."""

    def judge(tools: Tools) -> Judgement:
        reference, form = _literal(_text(item, "reference"))
        answer, answer_form = _literal(_text(item, "answer"))
        rtol, atol = 0.0, 0.0
        if item["test"] in ("NumRelative", "NumAbsolute"):
            try:
                rtol, atol = _tolerances(item)
            except ToolError:
                return Judgement("not tried", "the option is no tolerance")
            form = "number" if form == "expression" else form
        if item["test"] == "Int":
            return Judgement("not tried", "answers up to a constant are no form of scoring")
        point = Checkpoint("step", "field", form, reference, rtol=rtol, atol=atol)
        is_equal = is_same(reference, answer if answer_form == form or form == "number" else str(answer), point)
        if is_equal:
            return _judged("equal", item)
        if not (_is_readable(reference) and _is_readable(answer)):
            return Judgement("not tried", "not in our grammar")
        return _judged("unknown" if _expected(item) == "equal" else "different", item)

    return judge


def _is_readable(value: Json) -> bool:
    try:
        for text in value if isinstance(value, list) else [value]:
            parse_relation(text)
    except ToolError:
        return False
    return True


def _literal(text: str) -> tuple[Json, AnswerForm]:
    """Read {a, b} as a set and [a, b] as a tuple of texts."""
    stripped = text.strip()
    if stripped[:1] == "{" and stripped[-1:] == "}":
        return _parts(stripped[1:-1]), "set"
    if stripped[:1] == "[" and stripped[-1:] == "]":
        return _parts(stripped[1:-1]), "tuple"
    return text, "expression"


def _parts(text: str) -> list[str]:
    """Split at the commas that stand in no parentheses."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def _pairs(judge: Callable[[JsonObject], Judge]) -> Callable[[Truth], Iterator[Case]]:
    def cases(truth: Truth) -> Iterator[Case]:
        for item in truth.items(FILE):
            reason = _reason(item)
            yield Case(item["id"], untried(reason) if reason else judge(item))

    return cases


SETS = (
    Set(FILE, "expressions.equality", _pairs(_by_equality)),
    Set(FILE, "scoring.equivalence", _pairs(_by_scoring)),
)
