"""Baselines that need no model. Some of them see the reference: they show what scores mean, not what can be done."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from maven_env.evaluation.proof import memorised
from maven_env.evaluation.scripts import literal_answers, script
from maven_env.problems import library
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Action, Completion, Json, Problem, ToolCall, Usage

_TOOLBOX = Toolbox()


def write(action: Action) -> str:
    """Return an action as the text that an agent would send."""
    match action:
        case ToolCall():
            return json.dumps(action.to_json(), ensure_ascii=False)
        case Completion(answers):
            return f"PROBLEM_COMPLETED {json.dumps(dict(answers), ensure_ascii=False)}"
    raise TypeError("a violation is nothing to send")


def problem_of(info: Mapping[str, Any]) -> Problem:
    """Return the problem of an episode with its reference, from the info of reset."""
    is_deployed = info["problem_id"] in library.deployment().instances
    return library.problem(info["problem_id"] if is_deployed else info["problem_key"], _TOOLBOX)


class _Scripted:
    """Plays a list of actions that is made when the episode begins."""

    usage: Usage | None = None

    def __init__(self, plan: Callable[[Problem, Mapping[str, Any]], list[Action]]) -> None:
        self._plan = plan
        self._actions: list[Action] | None = None

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        if self._actions is None:
            self._actions = self._plan(problem_of(info), info)
        return write(self._actions.pop(0) if self._actions else Completion({}))


class Oracle(_Scripted):
    """Plays a declared path as an agent would, references included. It scores 100 with verified success."""

    def __init__(self, path: str = "canonical") -> None:
        super().__init__(lambda problem, info: list(script(problem, path)))


class Memoriser(_Scripted):
    """Replays the nominal script of the template with the nominal words, whatever the regime."""

    def __init__(self) -> None:
        super().__init__(lambda problem, info: memorised(_nominal(problem)))


class Lucky(_Scripted):
    """Gives all right answers without a single call. It scores 0."""

    def __init__(self) -> None:
        super().__init__(lambda problem, info: [Completion(literal_answers(problem))])


class NoOp(_Scripted):
    """Ends at once with no answer. It scores 0."""

    def __init__(self) -> None:
        super().__init__(lambda problem, info: [Completion({})])


class RandomCalls(_Scripted):
    """Makes valid calls of tools that are offered, on quantities that are given, and answers nothing."""

    def __init__(self, count: int = 12) -> None:
        super().__init__(lambda problem, info: [*random_calls(problem, info, count), Completion({})])


def _nominal(problem: Problem) -> Problem:
    found = library.template(problem.template_id)
    return library.problem(f"{found.id}@{found.version}/nominal/memorised", _TOOLBOX)


def random_calls(problem: Problem, info: Mapping[str, Any], count: int) -> list[Action]:
    """Return `count` valid calls drawn by the problem's key: the tools' examples with given quantities put in."""
    rng = random.Random(f"random calls/{problem.key}")
    tools = {tool["name"]: tool for tool in json.loads(info["tools"])}
    names = list(problem.given.output)
    examples = _examples(tuple(tools))
    calls: list[Action] = []
    for _ in range(count):
        tool_id = rng.choice(list(tools))
        given = dict(examples[tool_id])
        for field in ("expr", "equation", "a", "value"):
            if isinstance(given.get(field), str) and names:
                given[field] = f"{given[field]} + ${{given.output.{rng.choice(names)}}}"
        calls.append(ToolCall(tool_id, given))
    return calls


def _examples(tools: tuple[str, ...]) -> dict[str, dict[str, Json]]:
    from maven_env.tools.registry import registry

    known = registry()
    return {name: known[name].example for name in tools}
