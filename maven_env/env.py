"""MavenBenchEnv: one problem an episode, one call or the end an action, the artifact an observation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium

from maven_env.artifacts import MemoryStore
from maven_env.episode import Episode
from maven_env.errors import ConfigurationError, EpisodeError, UnknownProblem
from maven_env.observations import View, dump
from maven_env.problems import library
from maven_env.problems.template import DOMAINS
from maven_env.protocol import FORM_OF_A_CALL, MAX_CHARACTERS, parse, violation_observation
from maven_env.references import references_in
from maven_env.rendering import draw_episode
from maven_env.spaces import ToolText
from maven_env.tools.menus import OFFERS, Offer, offered
from maven_env.tools.registry import ToolSpec
from maven_env.tools.schemas import tool_schemas
from maven_env.tools.toolbox import Toolbox, refused
from maven_env.types import Action, Artifact, Completion, Problem, ToolCall, Trace, Violation

OBSERVATION_CHARACTERS = 200_000
_ATTEMPTS = 100  # draws until one is not a deployed instance


class MavenBenchEnv(gymnasium.Env[str, str]):
    """Multi-step problems of mathematics and physics, solved by single tool calls whose results persist.

    An action is text: one JSON object `{"tool_id", "input"}`, or `PROBLEM_COMPLETED` and a JSON object of answers. An
    observation is JSON text: the problem at the start, then the artifact of each call. With the reward `rubric` the
    rewards are differences of score/100, so that the undiscounted return is the score of the whole trace.

    Args:
        split: `train` (80% of the templates), `heldout` (the others), or `test` (the deployed instances, in order)
        domains, templates, regimes: restrict what is drawn; None means all
        reward: `rubric` (each step), `terminal` (score/100 at the end), or `success` (0 or 1 at the end)
        max_steps: responses until the episode is truncated, and scored
        tools: offer the tools of the `domain`, 24 for the `problem`, or `all`
        observation: `compact`, or `full` with inputs and provenance
        render_mode: None, `ansi` (a string) or `human` (printed)
        show_diagnostics, show_provenance, allow_references, numbers: switches for studies of what helps an agent
        toolbox: executes the calls; by default one with its own cache
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 1}  # noqa: RUF012, Gymnasium's own form

    def __init__(
        self,
        split: library.Split = "train",
        domains: Sequence[str] | None = None,
        templates: Sequence[str] | None = None,
        regimes: Sequence[str] | None = None,
        reward: Literal["rubric", "terminal", "success"] = "rubric",
        max_steps: int = 40,
        tools: Offer = "domain",
        observation: Literal["compact", "full"] = "compact",
        render_mode: str | None = None,
        show_diagnostics: bool = True,
        show_provenance: bool = True,
        allow_references: bool = True,
        numbers: Literal["exact", "decimal"] = "exact",
        toolbox: Toolbox | None = None,
    ) -> None:
        _one_of("split", split, library.SPLITS)
        _one_of("reward", reward, ("rubric", "terminal", "success"))
        _one_of("tools", tools, OFFERS)
        _one_of("observation", observation, ("compact", "full"))
        _one_of("numbers", numbers, ("exact", "decimal"))
        _one_of("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise ConfigurationError(f"max_steps must be a positive integer, got {max_steps!r}")
        self.split: library.Split = split
        self.reward_mode = reward
        self.max_steps = max_steps
        self.offer: Offer = tools
        self.view = View(
            observation, show_diagnostics, show_provenance, allow_references, numbers, OBSERVATION_CHARACTERS
        )
        self.allow_references = allow_references
        self.render_mode = render_mode
        self.toolbox = toolbox or Toolbox()
        self.choices = _choices(split, domains, templates)
        _check_regimes(regimes, self.choices)
        self.regimes = None if regimes is None else frozenset(regimes)
        self.deployed = _deployed(split, self.choices, self.regimes)
        self.action_space = ToolText(MAX_CHARACTERS, samples=_sample_calls())
        self.observation_space = ToolText(OBSERVATION_CHARACTERS)
        self._episode: Episode | None = None
        self._tools: Mapping[str, ToolSpec] = {}
        self._position = 0

    # ---- episode ----------------------------------------------------------------------------------------------------
    @property
    def episode(self) -> Episode:
        """The episode as it stands. Raises EpisodeError before the first reset."""
        if self._episode is None:
            raise EpisodeError("there is no episode yet; call reset first")
        return self._episode

    @property
    def problem(self) -> Problem:
        return self.episode.problem

    @property
    def trace(self) -> Trace:
        return self.episode.trace

    @property
    def tools(self) -> Mapping[str, Any]:
        """The full schemas of the tools that are offered, by id."""
        return {schema["name"]: schema for schema in tool_schemas(self._tools)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode. `options={"problem_id": ...}` chooses the problem; the same seed gives the same bytes."""
        super().reset(seed=seed)
        if seed is not None:
            self.action_space.seed(seed)
            self._position = 0
        problem = self._choose(options or {})
        self._episode = Episode.start(problem)
        self._tools = offered(problem, self.offer)
        observation = self.view.problem(problem, self._tools, self.max_steps)
        info = {
            "problem_id": problem.problem_id,
            "problem_key": problem.key,
            "template": problem.template_id,
            "domain": problem.domain,
            "regime": problem.regime,
            "digest": problem.digest,
            "tools": json.dumps(tool_schemas(self._tools), ensure_ascii=False),
        }
        if self.render_mode == "human":
            self.render()
        return observation, info

    def step(self, action: str | ToolCall | Completion) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one response of the agent: its text, or an action that was parsed already.

        Raises EpisodeError before the first reset, TypeError for an action that is no text, InfrastructureError if the
        host failed; the episode is then as it was before.
        """
        episode = self.episode
        text, parsed = self._read(action)
        if episode.trace.ended is not None:
            return self._after_end(text)
        artifact: Artifact | None = None
        if isinstance(parsed, ToolCall):
            artifact = self._call(parsed, episode.store)
        following = episode.after(text, parsed, artifact, self.max_steps)
        reward = self._reward(episode, following)
        observation, info = self._report(following, parsed, artifact)
        self._episode = following
        if self.render_mode == "human":
            self.render()
        return observation, reward, following.trace.ended == "completed", following.trace.ended == "budget", info

    def _reward(self, before: Episode, after: Episode) -> float:
        if self.reward_mode == "rubric":
            return after.potential - before.potential
        if after.trace.ended is None:
            return 0.0
        return after.potential if self.reward_mode == "terminal" else float(after.score.success)

    def _call(self, call: ToolCall, store: MemoryStore) -> Artifact:
        if not self.allow_references and references_in(call.input):
            return refused(call, store, "BAD_REFERENCE", "references are switched off here", "write the values out")
        if call.tool_id not in self._tools:
            return self.toolbox.unknown(call, store, self._tools)
        return self.toolbox.call(call, store)

    def _read(self, action: str | ToolCall | Completion) -> tuple[str, Action]:
        if isinstance(action, ToolCall | Completion):
            action = _as_text(action)  # read like any other text, so that nothing unchecked gets in
        if isinstance(action, bytes):
            try:
                action = action.decode("utf-8")
            except UnicodeDecodeError as error:
                shown = action.decode("utf-8", "backslashreplace")
                message = f"the bytes are no UTF-8 at position {error.start}; {FORM_OF_A_CALL} as UTF-8 text"
                return shown, Violation("MALFORMED_JSON", shown[:2_000], message)
        if not isinstance(action, str):
            raise TypeError(
                f"an action is text, a ToolCall or a Completion, got {type(action).__name__}; {FORM_OF_A_CALL}"
            )
        parsed = parse(str(action), self._tools)
        if isinstance(parsed, Completion) and not self.allow_references and references_in(dict(parsed.answers)):
            parsed = Violation("MALFORMED_JSON", action[:2_000], "references are switched off; answer with values")
        is_unicode = str(action).isascii() or not any("\ud800" <= c <= "\udfff" for c in action)
        return str(action) if is_unicode else action.encode("utf-8", "backslashreplace").decode(), parsed

    def _after_end(self, text: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer an action after the end: nothing changes, trace and score are frozen."""
        episode = self.episode
        message = "the episode has ended and its score is final; call reset for the next problem"
        violation = Violation("ACTION_AFTER_END", text[:2_000], message)
        _, info = self._report(episode, violation, None)
        ended = episode.trace.ended
        return dump(violation_observation(violation)), 0.0, ended == "completed", ended == "budget", info

    def _report(self, episode: Episode, action: Action, artifact: Artifact | None) -> tuple[str, dict[str, Any]]:
        info: dict[str, Any] = {"problem_id": episode.problem.problem_id, "steps": len(episode.trace.steps)}
        if artifact is not None:
            observation = self.view.artifact(artifact)
            info["artifact"] = dump(artifact.record())
        elif isinstance(action, Violation):
            observation = dump(violation_observation(action))
            info["violation"] = action.kind
        else:
            observation = dump({"ok": True, "completed": True, "score": episode.score.total})
        if episode.trace.ended is not None:
            score = episode.score
            completion = episode.trace.completion
            info |= {
                "score": score.to_json(),
                "success": score.success,
                "is_success": score.success,
                "verified_success": score.verified_success,
                "completion": None if completion is None else dump(dict(completion.answers)),
                "violations": tuple(v.kind for v in episode.trace.violations),
                "trace": dump(episode.trace.to_json()),
            }
        return observation, info

    # ---- problems ---------------------------------------------------------------------------------------------------
    def _choose(self, options: Mapping[str, Any]) -> Problem:
        if unknown := set(options) - {"problem_id"}:
            raise ConfigurationError(f"reset knows the option problem_id, got {', '.join(sorted(map(str, unknown)))}")
        if "problem_id" in options:
            return library.problem(options["problem_id"], self.toolbox)
        if self.split == "test":
            chosen = self.deployed[self._position % len(self.deployed)]
            self._position += 1
            return library.deployed_problem(chosen)
        for _ in range(_ATTEMPTS):
            template_id = self.choices[int(self.np_random.integers(len(self.choices)))]
            found = library.template(template_id)
            regimes = [r for r in found.regimes if self.regimes is None or r in self.regimes]
            if not regimes:
                continue
            regime = regimes[int(self.np_random.integers(len(regimes)))]
            key = f"{found.id}@{found.version}/{regime}/{int(self.np_random.integers(2**31))}"
            problem = library.problem(key, self.toolbox)
            if not library.is_deployed(problem):
                return problem
        raise ConfigurationError(
            f"no problem of {', '.join(self.choices)} has a regime of {sorted(self.regimes or ())}"
        )

    # ---- snapshots and pictures -------------------------------------------------------------------------------------
    def get_state(self) -> Episode:
        """Return a snapshot of the episode, for tree search and step-level credit."""
        return self.episode

    def set_state(self, state: Episode) -> None:
        """Go on from a snapshot; the snapshot stays as it is."""
        if not isinstance(state, Episode):
            raise EpisodeError(f"a state is what get_state returned, got {type(state).__name__}")
        self._episode = state
        self._tools = offered(state.problem, self.offer)

    def render(self) -> Any:
        """Return the problem, the steps so far with their verdicts, and the score as text; print it for `human`."""
        if self.render_mode is None:
            raise EpisodeError('there is nothing to render with render_mode=None; make the environment with "ansi"')
        text = draw_episode(self.episode.problem, self.episode.trace, self.episode.score)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None


def _as_text(action: ToolCall | Completion) -> str:
    """Write a parsed action. Raises TypeError for content that is no JSON."""
    try:
        if isinstance(action, ToolCall):
            return json.dumps(action.to_json(), ensure_ascii=False, allow_nan=False)
        return f"PROBLEM_COMPLETED {json.dumps(dict(action.answers), ensure_ascii=False, allow_nan=False)}"
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise TypeError(f"the content of a {type(action).__name__} must be JSON: {error}") from None


def _one_of(name: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}={value!r} is not known; choose one of {', '.join(map(repr, allowed))}")


def _choices(split: library.Split, domains: Sequence[str] | None, templates: Sequence[str] | None) -> tuple[str, ...]:
    for name, value in (("domains", domains), ("templates", templates)):
        if isinstance(value, str):
            raise ConfigurationError(f"{name} is a list of names, got the text {value!r}; write [{value!r}]")
    for domain in domains or ():
        _one_of("domains: item", domain, DOMAINS)
    known = library.split_templates(split)
    for name in templates or ():
        if name not in library.template_files():
            library.template(name)  # raises with near matches
        if name not in known:
            raise UnknownProblem(f"the template {name!r} is not in the split {split!r}")
    chosen = tuple(
        t
        for t in known
        if (templates is None or t in templates) and (domains is None or t.partition("/")[0] in domains)
    )
    if not chosen:
        raise ConfigurationError(f"the split {split!r} has no template of domains={domains}, templates={templates}")
    return chosen


def _check_regimes(regimes: Sequence[str] | None, choices: Sequence[str]) -> None:
    if regimes is None:
        return
    if isinstance(regimes, str):
        raise ConfigurationError(f"regimes is a list of names, got the text {regimes!r}; write [{regimes!r}]")
    known = {regime for name in choices for regime in library.template(name).regimes}
    for regime in regimes:
        _one_of("regimes: item", regime, sorted(known))


def _deployed(split: library.Split, choices: Sequence[str], regimes: frozenset[str] | None) -> tuple[str, ...]:
    if split != "test":
        return ()
    found = tuple(
        entry.problem_id
        for entry in library.deployment().instances.values()
        if entry.template_id in choices and (regimes is None or entry.regime in regimes)
    )
    if not found:
        raise ConfigurationError(f"no deployed instance has a regime of {', '.join(sorted(regimes or ()))}")
    return found


def _sample_calls() -> tuple[str, ...]:
    """Return valid calls for `action_space.sample`: the tools' own examples."""
    from maven_env.tools.registry import registry

    return tuple(
        json.dumps({"tool_id": spec.tool_id, "input": spec.example}, ensure_ascii=False) for spec in registry().values()
    )
