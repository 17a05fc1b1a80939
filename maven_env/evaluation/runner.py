"""Run agents over problems: one episode after another, a record each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maven_env.env import MavenBenchEnv
from maven_env.errors import InfrastructureError, ModelError
from maven_env.evaluation.records import RecordWriter, make_record, void_record
from maven_env.types import Agent, JsonObject, Usage

MakeAgent = Callable[[str], Agent]


@dataclass(frozen=True)
class Plan:
    """What is run: agents by name over problems, with the options of the environment."""

    agents: tuple[str, ...]
    problem_ids: tuple[str, ...]
    split: str
    model: str | None
    options: dict[str, Any]

    def __len__(self) -> int:
        return len(self.agents) * len(self.problem_ids)


def run(plan: Plan, make_agent: MakeAgent, file: Path | None = None) -> Iterator[JsonObject]:
    """Yield the record of each instance, and append it to `file` where one is given.

    A fault of the model's server or of the host makes a void record, and the run goes on; anything else that goes wrong
    is a bug and raises.
    """
    writer = RecordWriter(file) if file is not None else None
    env = MavenBenchEnv(**plan.options)
    try:
        for name in plan.agents:
            for problem_id in plan.problem_ids:
                record = play_one(env, make_agent(name), name, problem_id, plan)
                if writer is not None:
                    writer.write(record)
                yield record
    finally:
        env.close()
        if writer is not None:
            writer.close()


def play_one(env: MavenBenchEnv, agent: Agent, name: str, problem_id: str, plan: Plan) -> JsonObject:
    """Play one episode and return its record; a void one keeps the trace so far."""
    usages: list[Usage | None] = []
    has_begun = False
    try:
        observation, info = env.reset(options={"problem_id": problem_id})
        has_begun = True
        over = False
        while not over:
            text = agent.act(observation, info)
            usages.append(agent.usage)
            observation, _, terminated, truncated, step_info = env.step(text)
            info = {**info, **step_info}
            over = terminated or truncated
    except (InfrastructureError, ModelError) as error:
        trace = env.trace if has_begun else None
        return void_record(name, plan.model, problem_id, trace, error, usages, plan.split)
    episode = env.episode
    return make_record(name, plan.model, episode.problem, episode.trace, episode.score, usages, plan.split)


def deployed_ids(limit: int | None = None, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the ids of the test split, in order; only `wanted` ones where given. Raises UnknownProblem."""
    from maven_env.problems import library

    known = library.deployment().instances
    for problem_id in wanted:
        if problem_id not in known:
            library.deployed_problem(problem_id)  # raises with near matches
    ids = tuple(problem_id for problem_id in known if not wanted or problem_id in wanted)
    return ids[:limit] if limit is not None else ids
