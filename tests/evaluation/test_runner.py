"""Runs: a record each, and a fault of server or host makes a void one that keeps what there was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from maven_agents.scripted import Oracle

from maven_env.env import MavenBenchEnv
from maven_env.errors import InfrastructureError, ModelError, UnknownProblem
from maven_env.evaluation.records import read_records
from maven_env.evaluation.runner import Plan, deployed_ids, play_one, run
from maven_env.evaluation.summary import summarise
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Agent, Artifact, ToolCall, Trace, Usage

PAPER = "MAVEN-Bench-0001"
KEY = "classical_mechanics/kinetic-energy-maxima@1/nominal"


class Failing:
    """Plays the oracle's script until its model's server fails."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.usage: Usage | None = None
        self.oracle = Oracle()

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        if self.calls == 0:
            raise ModelError("the server is gone")
        self.calls -= 1
        self.usage = Usage(10, self.calls)
        return self.oracle.act(observation, info)


class BrokenHost(Toolbox):
    """Loses its helper at every call."""

    def call(self, call: ToolCall, store: Any) -> Artifact:
        raise InfrastructureError("the helper died")


def plan(*agents: str, ids: tuple[str, ...] = (PAPER,)) -> Plan:
    return Plan(agents, ids, "test", None, {"split": "test"})


def test_a_void_record_keeps_the_trace_so_far(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    records = list(run(plan("failing"), lambda name: Failing(2), file))
    assert records == list(read_records(file))
    assert records[0]["void"] == {"type": "ModelError", "message": "the server is gone"}
    trace = Trace.from_json(records[0]["trace"])
    assert [artifact.tool_id for artifact in trace.calls] == ["symbolic_diff", "polynomial_roots_exact"]
    assert trace.ended is None
    assert records[0]["usage"] == [{"prompt_tokens": 10, "completion_tokens": n} for n in (1, 0)]
    assert "score" not in records[0]


def test_a_void_instance_does_not_stop_the_run() -> None:
    agents: Iterator[Agent] = iter([Failing(1), Oracle()])
    first, second = run(plan("agent", ids=(PAPER, PAPER)), lambda name: next(agents))
    assert "void" in first
    assert second["score"]["total"] == pytest.approx(100)
    (summary,) = summarise([first, second])
    assert (summary.instances, summary.void) == (2, 1)
    assert summary.score == pytest.approx(100)


def test_a_fault_of_the_host_is_void() -> None:
    env = MavenBenchEnv(split="test", toolbox=BrokenHost())
    record = play_one(env, Oracle(), "oracle", PAPER, plan("oracle"))
    assert record["void"]["type"] == "InfrastructureError"
    assert record["trace"]["steps"] == []


def test_an_episode_that_never_began_has_no_trace() -> None:
    env = MavenBenchEnv(split="test", toolbox=BrokenHost())
    play_one(env, Oracle(), "oracle", PAPER, plan("oracle"))
    record = play_one(env, Oracle(), "oracle", f"{KEY}/0", plan("oracle"))
    assert record["void"]["type"] == "InfrastructureError"
    assert record["trace"] is None


@pytest.mark.parametrize("problem_id", [PAPER, f"{KEY}/deployed", f"{KEY}/3"])
def test_the_oracle_knows_a_problem_by_its_id_and_by_its_key(problem_id: str, toolbox: Toolbox) -> None:
    env = MavenBenchEnv(split="test", toolbox=toolbox)
    record = play_one(env, Oracle(), "oracle", problem_id, plan("oracle"))
    assert record["score"]["total"] == pytest.approx(100)
    assert record["score"]["verified_success"]


def test_the_deployed_ids_can_be_restricted() -> None:
    assert deployed_ids(1) == deployed_ids(wanted=[PAPER]) == (PAPER,)
    with pytest.raises(UnknownProblem, match="did you mean MAVEN-Bench-00"):
        deployed_ids(wanted=["MAVEN-Bench-001"])
