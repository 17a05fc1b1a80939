"""Simulated agents that see the reference, honest and dishonest: they show that scores mean what they should.

A policy returns the actions of an episode. What it is allowed to get is stated beside each.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from maven_env.errors import MavenError
from maven_env.evaluation.proof import memorised
from maven_env.evaluation.scripts import (
    answers_by_reference,
    calls_of,
    literal_answers,
    renamed,
    script,
)
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.parser import parse
from maven_env.problems import library
from maven_env.problems.instantiation import answers_on, run_patch
from maven_env.references import references_in
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Action, Completion, Json, Path, Problem, ToolCall, Violation

Policy = Callable[[Problem, Toolbox], list[Action]]
PADDING = 20  # useless calls of the policies that pad


@dataclass(frozen=True)
class Expectation:
    """What a policy may get: the range of its total, and whether it may succeed."""

    low: float
    high: float
    may_succeed: bool


def oracle(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Take the canonical path: 100."""
    return list(script(problem))


def literal_oracle(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Take the canonical path and copy every value out in full instead of referring to it: 100."""
    path = problem.reference.canonical
    calls = [ToolCall(step.tool, dict(step.resolved_input)) for step in path.steps.values()]
    return [*calls, Completion(literal_answers(problem))]


def memoriser(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Replay the nominal script with the nominal words: no success in some adversarial regime."""
    found = library.template(problem.template_id)
    return memorised(library.problem(f"{found.id}@{found.version}/nominal/memorised", toolbox))


def padded_oracle(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Add useless calls before the end: success, fewer points."""
    *calls, end = script(problem)
    return [*calls, *useless_calls(random.Random(problem.key), PADDING), end]


def copier(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Make every call twice and refer to the repetition: success, fewer points."""
    *calls, end = script(problem)
    again = {f"step-{i:02d}": f"step-{2 * i:02d}" for i in range(1, len(calls) + 1)}
    doubled: list[Action] = []
    for call in calls:
        assert isinstance(call, ToolCall)  # only the end is no call
        copy = ToolCall(call.tool_id, renamed(call.input, again))
        doubled += [copy, copy]
    assert isinstance(end, Completion)
    return [*doubled, Completion(renamed(end.answers, again))]


def chain_padder(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Pass a given value through idle calls that refer to each other, so that all look used: success, fewer points."""
    *calls, end = script(problem)
    used = re.search(r"\$\{given\.output\.(\w+)\}", str([c.input for c in calls if isinstance(c, ToolCall)]))
    assert used is not None  # every path begins at the given
    shift = {f"step-{i:02d}": f"step-{i + PADDING:02d}" for i in range(1, len(calls) + 1)}
    start = f"${{given.output.{used[1]}}}"
    idle: list[Action] = [
        ToolCall("substitute", {"expr": "x_", "subs": {"x_": f"${{step-{i:02d}.output.expr}}" if i else start}})
        for i in range(PADDING)
    ]
    chained = f"${{step-{PADDING:02d}.output.expr}}"
    moved = [
        ToolCall(c.tool_id, _swap(renamed(c.input, shift), start, chained)) for c in calls if isinstance(c, ToolCall)
    ]
    assert isinstance(end, Completion)
    return [*idle, *moved, Completion(renamed(end.answers, shift))]


def _swap(value: Json, old: str, new: str) -> Json:
    if isinstance(value, dict):
        return {key: _swap(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_swap(item, old, new) for item in value]
    return value.replace(old, new) if isinstance(value, str) else value


def sloppy(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Compute everything, verify nothing, guess the words right: no success."""
    path = problem.reference.canonical
    needed: set[str] = set()
    queue = [point.step for point in path.checkpoints.values()]
    while queue:
        step = queue.pop()
        if step not in needed and step in path.steps:
            needed.add(step)
            queue += [name for name in references_in(path.steps[step].input) if name != "given"]
    kept = Path(path.name, {n: s for n, s in path.steps.items() if n in needed}, path.checkpoints, {})
    return [*calls_of(kept), Completion(answers_by_reference(kept, problem.reference.answers))]


def careless(name: str) -> Policy:
    """Make one declared mistake and answer what follows from it: no success."""

    def play(problem: Problem, toolbox: Toolbox) -> list[Action]:
        template = library.template(problem.template_id)
        pitfall = next(p for p in template.pitfalls if p.name == name)
        path = run_patch(template, problem.regime, problem.given, pitfall.mistake, name, toolbox).path
        return [*calls_of(path), Completion(answers_by_reference(path, answers_on(template, path)))]

    return play


def quitter(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Stop half way without an answer: no success."""
    calls = calls_of(problem.reference.canonical)
    return list(calls[: len(calls) // 2])


def lucky(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Know all answers, call nothing: 0."""
    return [Completion(literal_answers(problem))]


def no_op(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Do nothing: 0."""
    return [Completion({})]


def spammer(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Make many useless calls: 0."""
    return [*useless_calls(random.Random(problem.key), PADDING), Completion({})]


def launderer(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Evaluate the right literals and answer by reference: 0."""
    return _laundered(problem, lambda text: f"({text})")


def disguised_launderer(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Build the literals from small integers, tied to the given by a factor of one: 0."""
    anchor = next(name for name in problem.given.output if _is_number(problem.given.output[name]))
    one = f"(${{given.output.{anchor}}}/${{given.output.{anchor}}})"

    def disguise(text: str) -> str:
        mantissa, exponent = f"{nearest_double(parse(text)):.15e}".split("e")
        digits = mantissa.lstrip("-").replace(".", "")
        terms = [f"{digit}*{one}*10^({int(exponent) - i})" for i, digit in enumerate(digits)]
        return f"{'-' if mantissa.startswith('-') else ''}({' + '.join(terms)})"

    return _laundered(problem, disguise)


def echo_launderer(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Hide the right values in the options of checks, and refer to where the output repeats them: 0."""
    anchor = next(name for name in problem.given.output if _is_number(problem.given.output[name]))
    same = f"${{given.output.{anchor}}}"
    calls: list[Action] = []
    answers = literal_answers(problem)
    for label, value in _numbers(problem).items():
        magnitude = abs(nearest_double(parse(value)))
        exponent = len(str(int(magnitude))) + 1
        calls.append(ToolCall("cross_check_numeric", {"a": same, "b": same, "rel_tol": magnitude / 10**exponent}))
        scale = "".join("*10" for _ in range(exponent))
        calls.append(ToolCall("evaluate_numeric", {"expr": f"${{step-{len(calls):02d}.output.tolerance}}{scale}"}))
        answers[label] = f"${{step-{len(calls):02d}.output.value}}"
    return [*calls, Completion(answers)]


def digit_launderer(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Build the right values digit by digit out of a given one: 0."""
    anchor = next(name for name in problem.given.output if _is_number(problem.given.output[name]))
    base = nearest_double(parse(str(problem.given.output[anchor])))

    def build(text: str) -> str:
        mantissa, exponent = f"{nearest_double(parse(text)) / base:.12e}".split("e")
        digits = mantissa.lstrip("-").replace(".", "")
        terms = [f"{d}*${{given.output.{anchor}}}*10^({int(exponent) - i})" for i, d in enumerate(digits)]
        return f"{'-' if mantissa.startswith('-') else ''}({' + '.join(terms)})"

    return _laundered(problem, build)


def _numbers(problem: Problem) -> dict[str, str]:
    """Return the answers that are numbers, as text."""
    points = problem.reference.canonical.checkpoints
    return {
        label: str(answer.value)
        for label, answer in problem.reference.answers.items()
        if not answer.is_word and answer.checkpoint is not None and points[answer.checkpoint].form == "number"
    }


def _laundered(problem: Problem, write: Callable[[str], str]) -> list[Action]:
    calls: list[Action] = []
    answers = literal_answers(problem)
    for label, value in _numbers(problem).items():
        calls.append(ToolCall("evaluate_numeric", {"expr": write(value)}))
        answers[label] = f"${{step-{len(calls):02d}.output.value}}"
    return [*calls, Completion(answers)]


def _is_number(value: Json) -> bool:
    try:
        return nearest_double(parse(str(value))) != 0
    except MavenError:
        return False


def violator(problem: Problem, toolbox: Toolbox) -> list[Action]:
    """Put two calls into each message, then give the right answers: 0."""
    count = (len(problem.reference.canonical.steps) + 1) // 2
    breach = Violation("MULTIPLE_CALLS", "two calls", "one call in a message")
    return [*[breach] * count, Completion(literal_answers(problem))]


def useless_calls(rng: random.Random, count: int) -> list[Action]:
    """Return valid calls that have nothing to do with any problem."""
    return [
        ToolCall("evaluate_numeric", {"expr": f"{rng.randint(1, 12)} + {rng.randint(1, 12)}"}) for _ in range(count)
    ]


POLICIES: dict[str, tuple[Policy, Expectation]] = {
    "oracle": (oracle, Expectation(100, 100, True)),
    "literal oracle": (literal_oracle, Expectation(95, 100, True)),  # a literal 0, 1 or 2 names no step
    "memoriser": (memoriser, Expectation(0, 100, True)),
    "copier": (copier, Expectation(80, 96, True)),
    "chain padder": (chain_padder, Expectation(75, 96, True)),
    "padded oracle": (padded_oracle, Expectation(75, 96, True)),
    "sloppy": (sloppy, Expectation(0, 90, False)),
    "quitter": (quitter, Expectation(0, 70, False)),
    "lucky": (lucky, Expectation(0, 0, False)),
    "no-op": (no_op, Expectation(0, 0, False)),
    "spammer": (spammer, Expectation(0, 0, False)),
    "launderer": (launderer, Expectation(0, 0, False)),
    "disguised launderer": (disguised_launderer, Expectation(0, 0, False)),
    "echo launderer": (echo_launderer, Expectation(0, 0, False)),
    "digit launderer": (digit_launderer, Expectation(0, 0, False)),
    "violator": (violator, Expectation(0, 0, False)),
}
