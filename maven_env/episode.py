"""An episode as an immutable value: problem, artifacts, trace and the state of scoring; steps give the next one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from maven_env.artifacts import MemoryStore
from maven_env.scoring.rubric import Rubric
from maven_env.tools.toolbox import CallExecutor
from maven_env.types import Action, Artifact, Completion, Problem, Score, Step, ToolCall, Trace


@dataclass(frozen=True)
class Episode:
    """The state of an episode: a snapshot that can be kept, branched from, and gone on from."""

    problem: Problem
    store: MemoryStore
    trace: Trace
    rubric: Rubric
    potential: float  # score/100, whose differences are the step rewards

    @classmethod
    def start(cls, problem: Problem) -> Episode:
        """Return the state before the first action; `given` is the first artifact."""
        store = MemoryStore(problem.problem_id)
        store.put(problem.given)
        rubric = Rubric.start(problem)
        return cls(problem, store, Trace(problem.problem_id), rubric, rubric.potential())

    @property
    def score(self) -> Score:
        """The score as it stands, with its metrics."""
        return self.rubric.score()

    def after(self, text: str, action: Action, artifact: Artifact | None, max_steps: int) -> Episode:
        """Return the state after one more response; a completion or the last step of the budget ends the episode."""
        step = Step(text, action, artifact)
        trace = self.trace.append(step)
        if isinstance(action, Completion):
            trace = trace.end("completed")
        elif len(trace.steps) >= max_steps:
            trace = trace.end("budget")
        store = self.store
        if artifact is not None:
            store = store.copy()
            store.put(artifact)
        rubric = self.rubric.after(step)
        return replace(self, store=store, trace=trace, rubric=rubric, potential=rubric.potential())


def play(problem: Problem, actions: Iterable[Action], toolbox: CallExecutor, max_steps: int = 1_000) -> Episode:
    """Return the episode in which `actions` are taken one after another, without an environment around it."""
    episode = Episode.start(problem)
    for action in actions:
        if episode.trace.ended is not None:
            break
        artifact = toolbox.call(action, episode.store) if isinstance(action, ToolCall) else None
        episode = episode.after("", action, artifact, max_steps)
    return episode
