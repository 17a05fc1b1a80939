"""The rubric: what honest and dishonest work is worth, on every template and regime."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maven_env.episode import Episode, play
from maven_env.evaluation.policies import POLICIES, careless, memoriser, useless_calls
from maven_env.evaluation.scripts import script
from maven_env.problems import library
from maven_env.scoring import Rubric, score
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Action, Completion, Problem, Score, ToolCall, Trace

TEMPLATES = list(library.template_files())
CASES = [(t, r) for t in TEMPLATES for r in library.template(t).regimes]
TOOLBOX = Toolbox()


def problem_of(template_id: str, regime: str, seed: int = 0) -> Problem:
    found = library.template(template_id)
    return library.problem(f"{found.id}@{found.version}/{regime}/{seed}", TOOLBOX)


def total(value: Score) -> float:
    assert value.total is not None
    return value.total


@pytest.mark.parametrize(("template_id", "regime"), CASES)
def test_policies_get_what_they_are_worth(template_id: str, regime: str) -> None:
    problem = problem_of(template_id, regime)
    for name, (policy, expected) in POLICIES.items():
        found = play(problem, policy(problem, TOOLBOX), TOOLBOX).score
        assert expected.low - 1e-9 <= total(found) <= expected.high + 1e-9, (name, total(found), found.metrics)
        assert expected.may_succeed or not found.success, name
    assert play(problem, script(problem), TOOLBOX).score.verified_success


@pytest.mark.parametrize(("template_id", "regime"), CASES)
def test_every_declared_path_scores_100(template_id: str, regime: str) -> None:
    problem = problem_of(template_id, regime, seed=1)
    for name in problem.reference.paths:
        found = play(problem, script(problem, name), TOOLBOX).score
        assert total(found) == pytest.approx(100), name
        assert found.verified_success


@pytest.mark.parametrize(("template_id", "regime"), CASES)
def test_every_pitfall_costs_success_and_points(template_id: str, regime: str) -> None:
    problem = problem_of(template_id, regime)
    for pitfall in library.template(template_id).pitfalls:
        if regime in pitfall.regimes:
            found = play(problem, careless(pitfall.name)(problem, TOOLBOX), TOOLBOX).score
            assert not found.success
            assert total(found) <= 95


@pytest.mark.parametrize("template_id", TEMPLATES)
def test_the_memoriser_fails_in_some_adversarial_regime(template_id: str) -> None:
    outcomes = {}
    for regime in library.template(template_id).regimes:
        problem = problem_of(template_id, regime)
        outcomes[regime] = play(problem, memoriser(problem, TOOLBOX), TOOLBOX).score
    assert outcomes["nominal"].success
    assert any(not s.success and total(s) <= 90 for r, s in outcomes.items() if r != "nominal")


def _random_actions(problem: Problem, rng: random.Random) -> list[Action]:
    """A mixture of right calls in any order, right calls of another path, useless calls, and perhaps the end."""
    calls: list[Action] = [
        a for name in problem.reference.paths for a in script(problem, name) if isinstance(a, ToolCall)
    ]
    rng.shuffle(calls)
    mixed = [*calls[: rng.randint(0, len(calls))], *useless_calls(rng, rng.randint(0, 4))]
    rng.shuffle(mixed)
    ordered = list(script(problem))[: rng.randint(0, 8)]
    actions = [a for a in ordered if isinstance(a, ToolCall)] + mixed
    if rng.random() < 0.5:
        answers = {label: a.value for label, a in problem.reference.answers.items() if rng.random() < 0.7}
        actions.append(Completion(answers))
    return actions


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_step_rewards_telescope_and_a_useless_call_never_raises_a_score(seed: int) -> None:
    rng = random.Random(seed)
    template_id, regime = rng.choice(CASES)
    problem = problem_of(template_id, regime)
    actions = _random_actions(problem, rng)
    episode = Episode.start(problem)
    assert episode.potential == 0
    rewards = []
    for action in actions:
        artifact = TOOLBOX.call(action, episode.store) if isinstance(action, ToolCall) else None
        following = episode.after("", action, artifact, 1_000)
        rewards.append(following.potential - episode.potential)
        if not isinstance(action, Completion):
            useless = useless_calls(rng, 1)[0]
            assert isinstance(useless, ToolCall)
            padded = following.after("", useless, TOOLBOX.call(useless, following.store), 1_000)
            assert padded.potential <= following.potential + 1e-12
        episode = following
    assert sum(rewards) == pytest.approx(episode.potential)
    assert total(score(problem, episode.trace)) == total(episode.score)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_useless_call_before_the_end_never_raises_the_final_score(seed: int) -> None:
    rng = random.Random(seed)
    template_id, regime = rng.choice(CASES)
    problem = problem_of(template_id, regime)
    *calls, end = script(problem)
    kept = [c for c in calls if rng.random() < 0.8]
    plain = play(problem, [*kept, end], TOOLBOX).score
    padded = play(problem, [*kept, *useless_calls(rng, 1), end], TOOLBOX).score
    assert total(padded) <= total(plain) + 1e-9


def test_scoring_is_pure_and_works_on_a_saved_trace(paper_problem: Problem) -> None:
    episode = play(paper_problem, script(paper_problem), TOOLBOX)
    again = Trace.from_json(episode.trace.to_json())
    assert score(paper_problem, again) == score(paper_problem, again) == episode.score


def test_a_state_of_scoring_does_not_change(paper_problem: Problem) -> None:
    start = Rubric.start(paper_problem)
    episode = play(paper_problem, script(paper_problem), TOOLBOX)
    before = start.score()
    start.after(episode.trace.steps[0])
    assert start.score() == before


def test_an_answer_in_another_unit_is_converted(paper_problem: Problem) -> None:
    *calls, end = script(paper_problem)
    assert isinstance(end, Completion)
    for quantity, right in (({"value": "${X}", "unit": "mJ"}, True), ({"value": "${X}", "unit": "kg"}, False)):
        value = paper_problem.reference.answers["c"].value
        changed = {**quantity, "value": f"1000*({value})"}
        answers = {**end.answers, "c": changed}
        found = play(paper_problem, [*calls, Completion(answers)], TOOLBOX).score
        assert found.success is right


def test_a_part_that_could_not_be_judged_leaves_no_total() -> None:
    judged = Score(70.0, 20.0, 10.0, True, True, "canonical")
    assert judged.total == 100
    assert replace(judged, approach=None).total is None


def test_violations_cost_success_but_not_the_work(paper_problem: Problem) -> None:
    from maven_env.types import Violation

    breach = Violation("NO_ACTION", "hm", "send a call")
    found = play(paper_problem, [breach, *script(paper_problem)], TOOLBOX).score
    assert not found.success
    assert 90 < total(found) < 100
    assert found.metrics["violations.NO_ACTION"] == 1
    assert "violations" in found.flags
