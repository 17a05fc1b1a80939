"""The baselines, and the direct agent through a real HTTP server on loopback."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import maven_agents
import pytest
from maven_agents.chat import OpenAIChat, ScriptedChat
from maven_agents.direct import DirectAgent, prompt
from maven_agents.scripted import Oracle, write

from maven_env.env import MavenBenchEnv
from maven_env.errors import ConfigurationError, ModelError
from maven_env.evaluation.scripts import script
from maven_env.problems import library
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Agent, NativeCall, Reply, Score

sys.path.insert(0, str(Path(__file__).parent))
from chat_server import serving

PAPER = "MAVEN-Bench-0001"
DEPLOYED = list(library.deployment().instances)


def play(agent: Agent, env: MavenBenchEnv, problem_id: str = PAPER) -> Score:
    observation, info = env.reset(options={"problem_id": problem_id})
    over = False
    while not over:
        observation, _, terminated, truncated, step_info = env.step(agent.act(observation, info))
        info = {**info, **step_info}
        over = terminated or truncated
    return env.episode.score


@pytest.mark.parametrize("problem_id", DEPLOYED)
def test_the_oracle_scores_100_with_verified_success(env: MavenBenchEnv, problem_id: str) -> None:
    score = play(maven_agents.make("oracle"), env, problem_id)
    assert score.total == pytest.approx(100)
    assert score.success
    assert score.verified_success


@pytest.mark.parametrize("problem_id", DEPLOYED)
@pytest.mark.parametrize("name", ["no-op", "lucky"])
def test_doing_nothing_and_knowing_the_answers_score_0(env: MavenBenchEnv, name: str, problem_id: str) -> None:
    score = play(maven_agents.make(name), env, problem_id)
    assert score.total == 0
    assert not score.success


@pytest.mark.parametrize("problem_id", DEPLOYED)
def test_random_valid_calls_score_below_15(env: MavenBenchEnv, problem_id: str) -> None:
    score = play(maven_agents.make("random"), env, problem_id)
    assert score.total is not None
    assert score.total < 15
    assert not score.success
    assert score.metrics["calls"] == 12


def test_random_calls_are_well_formed(env: MavenBenchEnv) -> None:
    play(maven_agents.make("random"), env)
    codes = {a.error.code for a in env.trace.calls if a.error is not None}
    assert not codes & {"UNKNOWN_TOOL", "BAD_REFERENCE"}
    assert env.trace.violations == ()


def test_every_declared_path_can_be_played_by_the_oracle(env: MavenBenchEnv) -> None:
    for name in library.deployed_problem(PAPER).reference.paths:
        assert play(Oracle(name), env).total == pytest.approx(100)


def test_the_oracle_plays_drawn_problems_too(toolbox: Toolbox) -> None:
    env = MavenBenchEnv(split="heldout", toolbox=toolbox)
    observation, info = env.reset(seed=2)
    agent = maven_agents.make("oracle")
    over = False
    while not over:
        observation, _, terminated, truncated, _ = env.step(agent.act(observation, info))
        over = terminated or truncated
    assert env.episode.score.total == pytest.approx(100)


def test_an_unknown_agent_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="oracle"):
        maven_agents.make("oracel")
    with pytest.raises(ConfigurationError, match="--model"):
        maven_agents.make("direct")


def canonical_texts() -> list[str]:
    return [write(action) for action in script(library.deployed_problem(PAPER))]


def test_the_direct_agent_solves_a_problem_over_http(env: MavenBenchEnv) -> None:
    texts = canonical_texts()
    texts[0] = f"I differentiate first.\n```json\n{texts[0]}\n```"
    with serving(texts) as server:
        agent = DirectAgent(OpenAIChat("scripted", server.url, retries=0))
        score = play(agent, env)
        assert score.total == pytest.approx(100)
        assert agent.usage is not None
        assert agent.usage.completion_tokens == 10
        first = server.requests[0]
        assert [m["role"] for m in first["messages"]] == ["system", "user"]
        assert first["messages"][0]["content"] == prompt("direct")
        assert json.loads(first["messages"][1]["content"])["problem_id"] == PAPER
        assert "tools" not in first
        last = server.requests[-1]["messages"]
        assert last[2] == {"role": "assistant", "content": texts[0]}
        assert json.loads(last[3]["content"])["step_id"] == "step-01"


def test_native_tool_calls_are_written_in_the_wrapper(env: MavenBenchEnv) -> None:
    replies: list[str | dict[str, Any] | int] = []
    for action in script(library.deployed_problem(PAPER)):
        record = json.loads(write(action)) if not write(action).startswith("PROBLEM") else None
        if record is None:
            replies.append(write(action))
        else:
            function = {"name": record["tool_id"], "arguments": json.dumps(record["input"])}
            replies.append({"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]})
    with serving(replies) as server:
        agent = DirectAgent(OpenAIChat("scripted", server.url, retries=0), native_tools=True)
        assert play(agent, env).total == pytest.approx(100)
        names = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
    assert "symbolic_diff" in names


def test_two_native_calls_in_one_message_are_a_violation(env: MavenBenchEnv) -> None:
    call = NativeCall("symbolic_diff", '{"expr": "t", "wrt": "t"}')
    score = play(DirectAgent(ScriptedChat([Reply("", (call, call)), "PROBLEM_COMPLETED {}"])), env)
    assert score.metrics["violations.MULTIPLE_CALLS"] == 1
    assert env.trace.calls == ()


def test_a_server_that_fails_is_no_answer(env: MavenBenchEnv) -> None:
    with serving([503]) as server:
        agent = DirectAgent(OpenAIChat("scripted", server.url, retries=0))
        observation, info = env.reset(options={"problem_id": PAPER})
        with pytest.raises(ModelError, match="scripted"):
            agent.act(observation, info)
    assert env.trace.steps == ()


def test_a_model_without_key_or_address_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        OpenAIChat("gpt-4.1")
