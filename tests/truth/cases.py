"""Cases of published truth: how one is judged, how tools are called, how numbers and notations are compared."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from maven_env.artifacts import MemoryStore
from maven_env.errors import InfrastructureError, ToolError
from maven_env.expressions import parse
from maven_env.expressions.balls import value_ball
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, Json, JsonObject, ToolCall

Verdict = Literal["right", "declined", "wrong", "disputed", "reported", "not tried"]

# Items whose published value is rounded: how far a right value may lie from it. A value within that is counted apart.
DISPUTED: Mapping[str, tuple[float, str]] = {
    "bug_035": (1e-4, "the restated mean is rounded to four digits, the value belongs to the unrounded one"),
    "scipy#11571": (1e-4, "as bug_035"),
    "ucum_3-119": (5e-3, "the expected value is rounded to three digits"),
    "ucum_4-102 division": (5e-2, "the expected value is rounded to two digits"),
}


@dataclass(frozen=True)
class Judgement:
    """What came of one case, beside what was expected; for numbers their relative distance."""

    verdict: Verdict
    came: str = ""
    expected: str = ""
    distance: float = math.inf


class Tools:
    """The toolbox as an agent meets it: every call on an empty store."""

    def __init__(self) -> None:
        self._toolbox = Toolbox()

    def call(self, tool_id: str, **given: Json) -> Artifact:
        return self._toolbox.call(ToolCall(tool_id, given), MemoryStore("truth"))


Judge = Callable[[Tools], Judgement]


class Check(Protocol):
    """A judge of any item of a file."""

    def __call__(self, tools: Tools, item: JsonObject) -> Judgement: ...


@dataclass(frozen=True)
class Case:
    """One item of a file, asked in one way."""

    item: str
    judge: Judge

    def run(self, tools: Tools) -> Judgement:
        try:
            found = self.judge(tools)
        except InfrastructureError as fault:
            return Judgement("wrong", f"a fault of ours: {fault}")
        if found.verdict == "wrong" and self.item in DISPUTED:
            allowed, reason = DISPUTED[self.item]
            if found.distance <= allowed:
                return Judgement("disputed", found.came, f"{found.expected} ({reason})", found.distance)
        return found


class Truth:
    """The folder of published cases, read only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cache  # noqa: B019 -- one folder lives as long as the process
    def items(self, file: str) -> tuple[JsonObject, ...]:
        return tuple(json.loads((self.folder / f"{file}.json").read_text())["items"])

    def item(self, file: str, ident: str) -> JsonObject:
        return next(item for item in self.items(file) if item["id"] == ident)


@dataclass(frozen=True)
class Set:
    """Items of one file, all asked in one way: a row of the table. `slow`: takes more than about 10 s."""

    file: str
    way: str
    cases: Callable[[Truth], Iterator[Case]]
    slow: bool = False

    @property
    def name(self) -> str:
        return f"{self.file}: {self.way}" if self.way else self.file


# ---- judgements ------------------------------------------------------------------------------------------------------
def judgement(is_right: bool, came: object, expected: object = "") -> Judgement:
    return Judgement("right" if is_right else "wrong", str(came), str(expected))


def judge_number(came: complex, expected: complex, rtol: float, note: object = "") -> Judgement:
    distance = abs(came - expected) / abs(expected) if expected else abs(came)
    verdict: Verdict = "right" if is_near(came, expected, rtol) else "wrong"
    return Judgement(verdict, f"{came} {note}".strip(), str(expected), distance)


def refused(artifact: Artifact, expected: object = "", claims: tuple[str, ...] = ()) -> Judgement:
    """Judge a refusal: declined, or wrong where its code is one of `claims`, which the truth contradicts."""
    assert artifact.error is not None
    came = f"{artifact.error.code}: {artifact.error.message}"
    return Judgement("wrong" if artifact.error.code in claims else "declined", came, str(expected))


def must_refuse(artifact: Artifact, *codes: str) -> Judgement:
    """Judge where a refusal is right. With `codes`, another code is merely declined."""
    expected = " or ".join(codes) or "a refusal"
    if artifact.ok:
        return Judgement("wrong", str(artifact.output), expected)
    found = refused(artifact, expected)
    is_right = not codes or code_of(artifact) in codes
    return Judgement("right" if is_right else "declined", found.came, expected)


def code_of(artifact: Artifact) -> str:
    return artifact.error.code if artifact.error else ""


def untried(reason: str) -> Judge:
    return lambda tools: Judgement("not tried", reason)


# ---- numbers ---------------------------------------------------------------------------------------------------------
def number(value: Json) -> complex:
    """Read a number as outputs write it: a double, oo, or [re, im]. NaN where there is none."""
    if isinstance(value, list) and len(value) == 2:
        return complex(*value)
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return complex("nan")
    return complex(float(str(value).replace("oo", "inf")))


def printed(text: str) -> complex:
    """Read a number as the files print it, such as (0.5 - 1.0j)."""
    return complex(str(text).replace(" ", "").strip("()"))


def is_near(came: complex, expected: complex, rtol: float, atol: float = 0.0) -> bool:
    if came == expected:
        return True
    return abs(came - expected) <= max(rtol * abs(expected), atol)


def value_of(text: str, digits: int = 25) -> complex:
    """Return the value of closed text in our grammar. Raises ToolError."""
    ball = value_ball(parse(text), {}, digits)
    return complex(float(ball.real.mid()), float(ball.imag.mid()))


def exact_error(came: str, expected: str, digits: int = 30) -> float:
    """Return the relative distance of closed text from a printed number of any size; absolute where that is 0.

    Raises ToolError where the text has no value.
    """
    from flint import acb

    found = value_ball(parse(came), {}, digits)
    match = re.fullmatch(r"\(?([-+.\de]+)(?: ?([-+] ?[.\de+-]+)j)?\)?", expected.strip())
    real, imaginary = (match[1], match[2] or "0") if match else (expected, "0")
    wanted = acb(real, imaginary.replace(" ", ""))
    scale = abs(wanted) if not wanted.contains(acb(0)) else acb(1).real
    return float((abs(found - wanted) / scale).upper())


def same_numbers(came: list[complex], expected: list[complex], rtol: float) -> bool:
    """Return whether two lists hold the same numbers, each once, in any order."""
    return len(came) == len(expected) and included(came, expected, rtol) and included(expected, came, rtol)


def included(came: list[complex], expected: list[complex], rtol: float) -> bool:
    return all(any(abs(a - b) <= rtol * (1 + abs(b)) for b in expected) for a in came)


def fractions(values: list[Any]) -> list[Fraction]:
    return [Fraction(value) for value in values]


# ---- notation --------------------------------------------------------------------------------------------------------
def grammar(text: str) -> str:
    """Rewrite a formula of the files, which write SymPy, in our grammar."""
    text = re.sub(r"\bE\b", "exp(1)", str(text))
    text = text.replace("EulerGamma", "(-digamma(1))").replace("Catalan", "((polygamma(1,1/4)-pi^2)/8)")
    for name, ours in (("Rational", "(({0})/({1}))"), ("real_root", "(sign({0})*abs({0})^(1/({1})))")):
        while (start := text.find(f"{name}(")) >= 0:
            first, second, end = _two_arguments(text, start + len(name) + 1)
            text = text[:start] + ours.format(first, second) + text[end:]
    return text


def _two_arguments(text: str, start: int) -> tuple[str, str, int]:
    """Split `a, b)` at `start` and return a, b and the place after it."""
    depth, comma = 0, start
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth < 0:
            return text[start:comma], text[comma + 1 : place], place + 1
        if text[place] == "," and depth == 0:
            comma = place
    raise ValueError(f"unbalanced parentheses in {text!r}")


def evaluable(text: str) -> complex | None:
    """Return the value of text, or None where it has none."""
    try:
        return value_of(text)
    except ToolError:
        return None
