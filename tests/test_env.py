"""The environment as users of Gymnasium meet it."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import maven_env
from maven_env.env import MavenBenchEnv
from maven_env.errors import ConfigurationError, EpisodeError, UnknownProblem
from maven_env.evaluation.scripts import script
from maven_env.problems import library
from maven_env.problems.template import DOMAINS
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Completion, ToolCall, Trace

PAPER = "MAVEN-Bench-0001"
DIFF = {"tool_id": "symbolic_diff", "input": {"expr": "A*t^3 - B*t^2 + C*t", "wrt": "t"}}


def texts(problem_id: str = PAPER) -> list[str]:
    """The canonical path as an agent would send it."""
    actions = script(library.problem(problem_id))
    return [
        json.dumps(a.to_json()) if isinstance(a, ToolCall) else f"PROBLEM_COMPLETED {json.dumps(a.answers)}"
        for a in actions
    ]


def play(env: gym.Env[str, str], actions: list[str], problem_id: str = PAPER) -> tuple[list[float], dict[str, Any]]:
    env.reset(options={"problem_id": problem_id})
    rewards = []
    info: dict[str, Any] = {}
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return rewards, info


@pytest.mark.parametrize("name", ["MavenBench-v0", "maven_env:MavenBench-v0"])
def test_the_environment_is_made_by_its_id(name: str) -> None:
    env = gym.make(name, split="test")
    observation, info = env.reset(seed=0)
    assert json.loads(observation)["problem_id"] == info["problem_id"] == PAPER
    env.close()


def test_the_checker_of_gymnasium_has_nothing_to_say() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gym.make("MavenBench-v0").unwrapped)
        check_env(gym.make("MavenBench-v0", split="test", render_mode="ansi").unwrapped)
    assert [str(w.message) for w in caught] == []


def test_the_first_observation_tells_everything_that_is_needed(env: MavenBenchEnv) -> None:
    observation, info = env.reset(options={"problem_id": PAPER})
    shown = json.loads(observation)
    assert set(shown) == {"problem_id", "statement", "sub_questions", "given", "tools", "rules", "max_steps"}
    assert shown["given"]["m"]["unit"] == "kg"
    assert {q["label"] for q in shown["sub_questions"]} == {"a", "b", "c", "d", "e"}
    assert any(line.startswith("symbolic_diff(expr, wrt, order=1") for line in shown["tools"])
    assert "PROBLEM_COMPLETED" in shown["rules"]
    schemas = json.loads(info["tools"])
    assert {schema["name"] for schema in schemas} == set(env.tools)


def test_the_observation_hides_regime_reference_and_what_is_hidden(env: MavenBenchEnv, toolbox: Toolbox) -> None:
    drawn = MavenBenchEnv(split="train", toolbox=toolbox)
    observation, info = drawn.reset(seed=5)
    assert info["regime"] == "nominal" or info["regime"] not in observation
    template = library.template(info["template"])
    hidden = [name for name, parameter in template.parameters.items() if parameter.hidden]
    assert hidden
    assert not set(hidden) & set(json.loads(observation)["given"])


def test_figure_3_of_the_paper_is_given_exactly(env: MavenBenchEnv) -> None:
    env.reset(options={"problem_id": PAPER})
    observation, *_ = env.step(json.dumps(DIFF | {"step_id": "step-01", "persist": True, "problem_id": PAPER}))
    shown = json.loads(observation)
    assert shown["ok"] is True
    assert shown["result_id"] == "MAVEN-Bench-0001-step-01-result"
    assert shown["output"] == {"expr": "3*A*t^2 - 2*B*t + C"}
    assert shown["diagnostics"] == {"type": "symbolic", "simplified": True}
    query = {"tool_id": "query_state", "input": {"from_step": "step-01", "fields": ["output.expr"]}}
    observation, *_ = env.step(json.dumps(query))
    shown = json.loads(observation)
    assert shown["ok"] is True
    assert shown["output"]["matches"] == [
        {"result_id": "MAVEN-Bench-0001-step-01-result", "output": {"expr": "3*A*t^2 - 2*B*t + C"}}
    ]


def test_rewards_telescope_to_the_score(env: MavenBenchEnv) -> None:
    rewards, info = play(env, texts())
    assert info["score"]["total"] == pytest.approx(100)
    assert sum(rewards) == pytest.approx(1)
    assert info["success"]
    assert info["is_success"]
    assert info["verified_success"]
    assert info["violations"] == ()
    assert Trace.from_json(json.loads(info["trace"])) == env.trace


@pytest.mark.parametrize("mode", ["terminal", "success"])
def test_other_reward_modes_pay_at_the_end(mode: str, toolbox: Toolbox) -> None:
    env = MavenBenchEnv(split="test", reward=mode, toolbox=toolbox)  # type: ignore[arg-type]
    rewards, _ = play(env, texts())
    assert rewards[-1] == pytest.approx(1)
    assert not any(rewards[:-1])
    rewards, _ = play(env, ["PROBLEM_COMPLETED {}"])
    assert rewards == [0.0]


def test_the_budget_truncates_and_the_trace_is_scored(toolbox: Toolbox) -> None:
    env = MavenBenchEnv(split="test", max_steps=2, toolbox=toolbox)
    env.reset(options={"problem_id": PAPER})
    first, second = texts()[:2]
    assert env.step(first)[2:4] == (False, False)
    _, _, terminated, truncated, info = env.step(second)
    assert (terminated, truncated) == (False, True)
    assert 0 < info["score"]["total"] < 100
    assert info["completion"] is None


def test_nothing_changes_after_the_end(env: MavenBenchEnv) -> None:
    _, info = play(env, texts())
    before = env.get_state()
    observation, reward, terminated, truncated, after = env.step(texts()[0])
    assert json.loads(observation)["violation"] == "ACTION_AFTER_END"
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert after["score"] == info["score"]
    assert env.get_state() == before


def test_a_step_before_reset_is_an_error_of_the_caller(toolbox: Toolbox) -> None:
    env = MavenBenchEnv(split="test", toolbox=toolbox)
    with pytest.raises(EpisodeError, match="reset"):
        env.step("x")


BAD_ACTIONS = {
    '{"tool_id": "symbolic_diff", "input": {"expr": ': "MALFORMED_JSON",
    json.dumps(DIFF) * 2: "MULTIPLE_CALLS",
    "symbolic_diff('x', 'x')": "MISSING_WRAPPER",
    "": "NO_ACTION",
    "\ud800": "MALFORMED_JSON",
    "x" * 100_001: "MALFORMED_JSON",
}


@pytest.mark.parametrize(("action", "kind"), BAD_ACTIONS.items(), ids=lambda v: repr(v[:20]))
def test_a_violation_is_answered_and_the_episode_goes_on(env: MavenBenchEnv, action: str, kind: str) -> None:
    env.reset(options={"problem_id": PAPER})
    observation, _, terminated, truncated, info = env.step(action)
    assert info["violation"] == kind
    shown = json.loads(observation)
    assert shown["ok"] is False
    assert "tool_id" in shown["message"] + shown["expected"]
    observation.encode("utf-8")
    assert not terminated
    assert not truncated
    observation, *_ = env.step(json.dumps(DIFF))
    assert json.loads(observation)["step_id"] == "step-01"


def test_bytes_that_are_no_utf8_are_a_violation(env: MavenBenchEnv) -> None:
    env.reset(options={"problem_id": PAPER})
    observation, *_, info = env.step(b"\xff\xfe{")  # type: ignore[arg-type]
    assert info["violation"] == "MALFORMED_JSON"
    assert "UTF-8" in json.loads(observation)["message"]
    with pytest.raises(TypeError, match="an action is text"):
        env.step(3)  # type: ignore[arg-type]


BAD_CALLS = [
    ({"tool_id": "symbolic_dif", "input": {}}, "UNKNOWN_TOOL", "symbolic_diff"),
    ({"tool_id": "symbolic_diff", "input": {"exp": "x"}}, "BAD_INPUT", "expr"),
    ({"tool_id": "symbolic_diff", "input": {"expr": "x"}}, "BAD_INPUT", "wrt"),
    ({"tool_id": "symbolic_diff", "input": {"expr": ["x"], "wrt": "x"}}, "BAD_INPUT", "text"),
    ({"tool_id": "symbolic_diff", "input": {"expr": "x", "wrt": "x", "order": 99}}, "BAD_INPUT", "1 to 8"),
    ({"tool_id": "symbolic_diff", "input": {"expr": "x(", "wrt": "x"}}, "PARSE_ERROR", "x*(...)"),
    ({"tool_id": "symbolic_diff", "input": {"expr": "9^9^9", "wrt": "x"}}, "LIMIT_EXCEEDED", "smaller"),
    ({"tool_id": "symbolic_diff", "input": {"expr": "${step-09.output.expr}", "wrt": "x"}}, "BAD_REFERENCE", "given"),
    ({"tool_id": "symbolic_diff", "input": {"expr": "${given.output.Q}", "wrt": "x"}}, "BAD_REFERENCE", "position"),
    (DIFF | {"step_id": "given"}, "BAD_INPUT", "leave step_id out"),
    (DIFF | {"problem_id": "MAVEN-Bench-0002"}, "BAD_INPUT", "MAVEN-Bench-0001"),
    (DIFF | {"note": "hm"}, "BAD_INPUT", "tool_id, input, persist, step_id"),
]


@pytest.mark.parametrize(("call", "code", "mend"), BAD_CALLS, ids=[code for _, code, _ in BAD_CALLS])
def test_a_bad_call_is_an_artifact_that_says_how_to_mend_it(
    env: MavenBenchEnv, call: Any, code: str, mend: str
) -> None:
    env.reset(options={"problem_id": PAPER})
    observation, *_, info = env.step(json.dumps(call))
    shown = json.loads(observation)
    assert shown["ok"] is False
    assert shown["error"]["code"] == code
    assert mend in shown["error"]["message"] + shown["error"]["hint"]
    assert shown["step_id"] == "step-01"
    assert json.loads(info["artifact"])["input"] == call["input"]


def test_a_used_step_id_is_refused_and_nothing_is_overwritten(env: MavenBenchEnv) -> None:
    env.reset(options={"problem_id": PAPER})
    env.step(json.dumps(DIFF | {"step_id": "mine"}))
    observation, *_ = env.step(json.dumps(DIFF | {"step_id": "mine", "input": {"expr": "t", "wrt": "t"}}))
    shown = json.loads(observation)
    assert shown["error"]["code"] == "BAD_INPUT"
    assert shown["step_id"] == "step-01"
    assert env.episode.store.get("mine").output["expr"] == "3*A*t^2 - 2*B*t + C"


def test_what_is_not_persisted_is_shown_but_cannot_be_referenced(env: MavenBenchEnv) -> None:
    env.reset(options={"problem_id": PAPER})
    observation, *_ = env.step(json.dumps(DIFF | {"persist": False}))
    assert json.loads(observation)["output"]["expr"] == "3*A*t^2 - 2*B*t + C"
    call = {"tool_id": "symbolic_diff", "input": {"expr": "${step-01.output.expr}", "wrt": "t"}}
    observation, *_ = env.step(json.dumps(call))
    assert json.loads(observation)["error"]["code"] == "BAD_REFERENCE"


def test_actions_may_come_parsed(env: MavenBenchEnv) -> None:
    env.reset(options={"problem_id": PAPER})
    env.step(ToolCall("symbolic_diff", {"expr": "t^2", "wrt": "t"}))
    *_, info = env.step(Completion({"a": 1}))
    assert info["completion"] == '{"a": 1}'
    assert len(env.trace.calls) == 1


def test_the_same_seed_gives_the_same_episode(toolbox: Toolbox) -> None:
    first, second = MavenBenchEnv(toolbox=toolbox), MavenBenchEnv(toolbox=Toolbox())
    assert first.reset(seed=11) == second.reset(seed=11)
    assert first.reset() == second.reset()
    assert first.reset(seed=12)[0] != second.reset(seed=13)[0]


_PRINT_EPISODES = """
import json, maven_env
from maven_env.env import MavenBenchEnv
env = MavenBenchEnv(split="train")
out = []
for seed in range(4):
    out.append(list(env.reset(seed=seed)))
    out.append([env.action_space.sample()])
    step = env.step(env.action_space.sample())
    out.append([step[0], step[1], step[4]])
print(json.dumps(out))
"""


def test_equal_seeds_give_equal_bytes_in_processes_with_different_hash_seeds() -> None:
    outputs = set()
    for hash_seed in ("0", "1", "31337"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run([sys.executable, "-c", _PRINT_EPISODES], env=environment, capture_output=True, check=True)
        outputs.add(run.stdout)
    assert len(outputs) == 1


def test_train_and_heldout_share_no_template_and_test_walks_through_the_deployed(env: MavenBenchEnv) -> None:
    train, held = set(library.split_templates("train")), set(library.split_templates("heldout"))
    assert held
    assert not train & held
    assert {name.partition("/")[0] for name in train | held} == set(DOMAINS)
    ids = [env.reset()[1]["problem_id"] for _ in range(len(env.deployed) + 1)]
    assert ids == [*library.deployment().instances, PAPER]


def test_draws_can_be_restricted(toolbox: Toolbox) -> None:
    env = MavenBenchEnv(domains=["algebra"], regimes=["nominal"], toolbox=toolbox)
    infos = [env.reset(seed=seed)[1] for seed in range(3)]
    assert {(info["domain"], info["regime"]) for info in infos} == {("algebra", "nominal")}


BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"split": "tset"}, ConfigurationError, "train"),
    ({"domains": ["alchemy"]}, ConfigurationError, "algebra"),
    ({"templates": ["calculus/nothing"]}, UnknownProblem, "calculus/"),
    ({"reward": "gold"}, ConfigurationError, "rubric"),
    ({"max_steps": 0}, ConfigurationError, "positive"),
    ({"tools": "some"}, ConfigurationError, "domain"),
    ({"observation": "short"}, ConfigurationError, "compact"),
    ({"render_mode": "rgb_array"}, ConfigurationError, "ansi"),
]


@pytest.mark.parametrize(("options", "error", "mend"), BAD_OPTIONS, ids=[str(o) for o, _, _ in BAD_OPTIONS])
def test_a_bad_option_is_refused_with_what_is_known(options: dict[str, Any], error: type[Exception], mend: str) -> None:
    with pytest.raises(error, match=mend):
        MavenBenchEnv(**options)


@pytest.mark.parametrize(
    ("problem_id", "mend"),
    [("MAVEN-Bench-9999", "MAVEN-Bench-"), ("x@1", "write MAVEN-Bench-0001"), ("calculus/x@1/nominal/0", "template")],
)
def test_an_unknown_problem_is_refused_with_the_right_form(env: MavenBenchEnv, problem_id: str, mend: str) -> None:
    with pytest.raises(UnknownProblem, match=mend):
        env.reset(options={"problem_id": problem_id})
    with pytest.raises(ConfigurationError, match="problem_id"):
        env.reset(options={"problem": problem_id})


def test_a_snapshot_lets_an_episode_branch(env: MavenBenchEnv) -> None:
    actions = texts()
    env.reset(options={"problem_id": PAPER})
    for action in actions[:3]:
        env.step(action)
    fork = env.get_state()
    env.step("PROBLEM_COMPLETED {}")
    poor = env.episode.score.total
    env.set_state(fork)
    for action in actions[3:]:
        *_, info = env.step(action)
    assert info["score"]["total"] == pytest.approx(100)
    assert poor is not None
    assert poor < 60
    env.set_state(fork)
    assert len(env.trace.steps) == 3


def test_the_picture_shows_problem_steps_verdicts_and_score(toolbox: Toolbox) -> None:
    env = MavenBenchEnv(split="test", render_mode="ansi", toolbox=toolbox)
    play(env, [*texts()[:-1], "no action", texts()[-1]])
    picture = env.render()
    for part in (
        "MAVEN-Bench-0001",
        "kinetic energy",
        "symbolic_diff",
        "[passed]",
        "NO_ACTION",
        "PROBLEM_COMPLETED",
        "/70",
    ):
        assert part in picture
    plain = MavenBenchEnv(split="test", toolbox=toolbox)
    play(plain, texts()[:1])
    with pytest.raises(EpisodeError, match="ansi"):
        plain.render()


def test_human_rendering_prints(toolbox: Toolbox, capsys: pytest.CaptureFixture[str]) -> None:
    env = MavenBenchEnv(split="test", render_mode="human", toolbox=toolbox)
    play(env, texts()[:1])
    assert "symbolic_diff" in capsys.readouterr().out


def test_study_switches_change_what_is_shown_and_not_the_score(toolbox: Toolbox) -> None:
    env = MavenBenchEnv(
        split="test",
        observation="full",
        show_diagnostics=False,
        show_provenance=False,
        numbers="decimal",
        toolbox=toolbox,
    )
    _, info = play(env, texts())
    assert info["score"]["total"] == pytest.approx(100)
    observation, _ = env.reset(options={"problem_id": PAPER})
    assert isinstance(json.loads(observation)["given"]["A"]["value"], float)
    shown = json.loads(env.step(texts()[0])[0])
    assert "diagnostics" not in shown
    assert "provenance" not in shown
    assert shown["resolved_input"]["wrt"] == "t"
    closed = MavenBenchEnv(split="test", allow_references=False, toolbox=toolbox)
    closed.reset(options={"problem_id": PAPER})
    assert json.loads(closed.step(texts()[0])[0])["error"]["code"] == "BAD_REFERENCE"


def test_the_small_menu_holds_what_the_paths_need(toolbox: Toolbox) -> None:
    small, whole = (MavenBenchEnv(split="test", tools=t, toolbox=toolbox) for t in ("problem", "all"))  # type: ignore[arg-type]
    for problem_id in small.deployed:
        small.reset(options={"problem_id": problem_id})
        needed = {s.tool for p in small.problem.reference.paths.values() for s in p.steps.values()}
        assert needed <= set(small.tools)
        assert len(small.tools) == 24
    whole.reset()
    assert len(whole.tools) > 24


def test_a_tool_that_is_not_offered_is_unknown(toolbox: Toolbox) -> None:
    env = MavenBenchEnv(split="test", tools="problem", toolbox=toolbox)
    env.reset()
    whole = MavenBenchEnv(split="test", tools="all", toolbox=toolbox)
    whole.reset()
    hidden = next(name for name in whole.tools if name not in env.tools)
    observation, *_ = env.step(json.dumps({"tool_id": hidden, "input": {}}))
    assert json.loads(observation)["error"]["code"] == "UNKNOWN_TOOL"


def _make() -> gym.Env[str, str]:
    return gym.make("MavenBench-v0", split="test")


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_vector_environments_see_what_a_single_one_sees(kind: Any) -> None:
    unicode_call = json.dumps({"tool_id": "∂_π", "input": {}}, ensure_ascii=False)
    actions = [*texts()[:2], unicode_call, "π is no call → ∅", *texts()[2:]]
    single = _make()
    expected = [single.reset(seed=7)[0]]
    expected += [single.step(action)[0] for action in actions]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vector = kind([_make, _make])
        observations, _ = vector.reset(seed=[7, 7])
        seen = [tuple(observations)]
        for action in actions:
            observations, _, terminated, _, infos = vector.step((action, action))
            seen.append(tuple(observations))
        assert all(terminated)
        assert tuple(infos["is_success"]) == tuple(vector_success(infos))
        vector.close()
    assert [pair[0] for pair in seen] == expected
    assert all(a == b for a, b in seen)
    assert any(not text.isascii() for text in expected)


def vector_success(infos: dict[str, Any]) -> list[bool]:
    return [
        json.loads(trace)["ended"] == "completed" and success
        for trace, success in zip(infos["trace"], infos["success"], strict=True)
    ]


def test_make_vec_and_episode_statistics_work() -> None:
    vector = gym.make_vec("MavenBench-v0", num_envs=2, vectorization_mode="sync", vector_kwargs={}, split="test")
    vector.reset(seed=1)
    vector.close()
    env = gym.wrappers.RecordEpisodeStatistics(_make())
    _, info = play(env, texts())
    assert float(info["episode"]["r"]) == pytest.approx(1)


def test_the_package_imports_no_heavy_library() -> None:
    code = (
        "import sys, maven_env; heavy = {'sympy', 'scipy', 'pint', 'flint', 'pydantic'} & set(sys.modules); "
        "assert not heavy, heavy; import maven_env.env; assert not {'sympy', 'scipy', 'pint'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_pinned() -> None:
    assert maven_env.__all__ == [
        "Artifact", "Completion", "MavenBenchEnv", "Problem", "Score", "ToolCall", "ToolText", "Trace", "Violation",
        "problem", "score",
    ]  # fmt: skip
    assert all(getattr(maven_env, name) is not None for name in maven_env.__all__)
    with pytest.raises(AttributeError):
        _ = maven_env.nothing


@pytest.mark.parametrize(
    "action", ['PROBLEM_COMPLETED {"a": 1e999}', '{"tool_id": "x", "input": ' + "[" * 700 + "]" * 700 + "}"]
)
def test_json_beyond_what_can_be_kept_is_a_violation_and_nothing_breaks(env: MavenBenchEnv, action: str) -> None:
    env.reset(options={"problem_id": PAPER})
    assert env.step(action)[4]["violation"] == "MALFORMED_JSON"
    *_, terminated, _, info = env.step("PROBLEM_COMPLETED {}")
    assert terminated
    assert json.loads(info["trace"])["ended"] == "completed"


def test_content_that_is_no_json_is_refused_before_anything_happens(env: MavenBenchEnv) -> None:
    env.reset(options={"problem_id": PAPER})
    for bad in (ToolCall("symbolic_diff", {"expr": {1, 2}}), Completion({"a": float("nan")})):
        with pytest.raises(TypeError, match="must be JSON"):
            env.step(bad)
    assert env.trace.steps == ()
    for state in (None, {"a": 1}):
        with pytest.raises(EpisodeError, match="get_state"):
            env.set_state(state)  # type: ignore[arg-type]
    assert env.problem.problem_id == PAPER


def test_an_environment_can_be_copied_and_sent_to_another_process(env: MavenBenchEnv) -> None:
    env.reset(options={"problem_id": PAPER})
    env.step(texts()[0])
    twin = pickle.loads(pickle.dumps(env))
    other = copy.deepcopy(env)
    for step in texts()[1:]:
        results = [e.step(step) for e in (env, twin, other)]
        assert results[0] == results[1] == results[2]
    assert twin.episode.score.total == pytest.approx(100)


def test_looking_at_the_state_is_free_and_changes_nothing(env: MavenBenchEnv) -> None:
    actions = texts()
    queries = [
        json.dumps(
            {"tool_id": "query_state", "input": {"from_step": "step-02", "fields": ["output", "output.roots[0]"]}}
        ),
        json.dumps({"tool_id": "query_state", "input": {"from_step": "given", "fields": ["output.A", "diagnostics"]}}),
        json.dumps({"tool_id": "list_artifacts", "input": {}}),
    ]
    env.reset(options={"problem_id": PAPER})
    for action in actions[:2]:
        env.step(action)
    before = env.episode.store.get("step-02").to_json()
    potential = env.episode.potential
    for query in queries:
        env.step(query)
    assert env.episode.potential == pytest.approx(potential)
    assert env.episode.store.get("step-02").to_json() == before
    for action in actions[2:]:
        for number in range(len(actions), 2, -1):
            action = action.replace(f"step-{number:02d}", f"step-{number + 3:02d}")
        *_, info = env.step(action)
    assert info["score"]["total"] == pytest.approx(100)


def test_a_value_that_was_looked_up_can_be_used(env: MavenBenchEnv) -> None:
    first, *rest = texts()
    env.reset(options={"problem_id": PAPER})
    env.step(first)
    env.step(json.dumps({"tool_id": "query_state", "input": {"from_step": "step-01", "fields": ["output.expr"]}}))
    for action in rest:
        for number in range(20, 1, -1):
            action = action.replace(f"step-{number:02d}", f"step-{number + 1:02d}")
        action = action.replace("${step-01.output.expr}", "${step-02.output.matches[0].output.expr}")
        *_, info = env.step(action)
    assert info["success"]
    assert info["score"]["total"] > 95


def test_tolerances_are_told(env: MavenBenchEnv) -> None:
    observation, _ = env.reset(options={"problem_id": PAPER})
    questions = {q["label"]: q for q in json.loads(observation)["sub_questions"]}
    assert questions["c"]["rtol"] == 1e-9
