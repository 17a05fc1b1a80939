"""Problems: drawn by their key, the same everywhere, with a reference that the paths make."""

from __future__ import annotations

import dataclasses
import json

import pytest

from maven_env.errors import TemplateError, UnknownProblem
from maven_env.expressions import rational_value
from maven_env.problems import library
from maven_env.problems.drawing import draw
from maven_env.problems.instantiation import digest_of, instantiate
from maven_env.problems.stored import problem_from_json, problem_to_json
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Problem

SHUTTLE = "classical_mechanics/retreating-shuttle"


def test_a_draw_depends_on_its_key_alone() -> None:
    template = library.template(SHUTTLE)
    assert draw(template, "nominal", 3) == draw(template, "nominal", 3)
    assert draw(template, "nominal", 3).key == f"{SHUTTLE}@1/nominal/3"
    drawn = {str(draw(template, "nominal", seed).values) for seed in range(20)}
    assert len(drawn) > 10
    with pytest.raises(TemplateError, match="known: nominal"):
        draw(template, "abnormal", 0)


def test_draws_keep_what_is_required() -> None:
    template = library.template(SHUTTLE)
    for seed in range(20):
        values = {n: rational_value(v) for n, v in draw(template, "reversed", seed).values.items()}
        assert values["t1"] + values["gap"] < values["T"]  # type: ignore[operator]


def test_a_requirement_that_cannot_be_kept_is_an_error() -> None:
    template = library.template(SHUTTLE).model_copy(update={"require": ("t1 > 1000",)})
    with pytest.raises(TemplateError, match="100 draws"):
        draw(template, "nominal", 0)


def test_a_problem_has_statement_given_questions_and_reference(toolbox: Toolbox) -> None:
    problem = instantiate(library.template(SHUTTLE), "nominal", 0, toolbox)
    assert problem.problem_id == problem.key == f"{SHUTTLE}@1/nominal/0"
    assert "{" not in problem.statement
    assert str(problem.given.output["position"]) in problem.statement
    assert problem.given.units["T"] == "s"
    assert [q.label for q in problem.sub_questions] == ["a", "b", "c", "d", "e"]
    assert problem.sub_questions[4].vocabulary == ("yes", "no")
    assert set(problem.reference.paths) == {"canonical", "by_positions"}
    assert set(problem.reference.answers) == {"a", "b", "c", "d", "e"}
    assert problem.reference.answers["e"].is_word


def test_regimes_change_readings_and_words(toolbox: Toolbox) -> None:
    template = library.template(SHUTTLE)
    words = {r: instantiate(template, r, 1, toolbox).reference.answers["e"].value for r in template.regimes}
    assert words == {"nominal": "yes", "near_degenerate": "no", "reversed": "yes"}


@pytest.mark.parametrize("problem_id", list(library.deployment().instances))
def test_a_stored_problem_is_the_one_that_its_key_makes(problem_id: str, toolbox: Toolbox) -> None:
    stored = library.deployed_problem(problem_id)
    name, _, rest = stored.key.partition("@")
    fresh = instantiate(library.template(name), rest.split("/")[1], rest.split("/")[2], toolbox, problem_id)
    assert fresh.digest == stored.digest == digest_of(stored) == library.deployment().instances[problem_id].digest


def test_a_problem_survives_json(paper_problem: Problem) -> None:
    record = json.loads(json.dumps(problem_to_json(paper_problem)))
    assert problem_to_json(problem_from_json(record)) == problem_to_json(paper_problem)


def test_a_digest_covers_what_is_exact(paper_problem: Problem) -> None:
    assert digest_of(dataclasses.replace(paper_problem, statement="other")) != paper_problem.digest
    assert digest_of(dataclasses.replace(paper_problem, title="other")) == paper_problem.digest


def test_the_first_deployed_problem_is_the_papers_own(paper_problem: Problem) -> None:
    assert paper_problem.problem_id == "MAVEN-Bench-0001"
    assert paper_problem.template_id == "classical_mechanics/kinetic-energy-maxima"


def test_an_agent_sees_an_id_that_hides_the_regime(toolbox: Toolbox) -> None:
    problem = library.problem(f"{SHUTTLE}@1/reversed/4", toolbox)
    assert problem.problem_id.startswith("MAVEN-")
    assert "reversed" not in problem.problem_id
    assert problem.regime == "reversed"
    with pytest.raises(UnknownProblem, match="version 1"):
        library.problem(f"{SHUTTLE}@9/reversed/4")
    with pytest.raises(UnknownProblem, match="known: nominal"):
        library.problem(f"{SHUTTLE}@1/sideways/4")


def test_a_deployed_draw_is_recognised(paper_problem: Problem) -> None:
    assert library.is_deployed(paper_problem)
    other = dataclasses.replace(paper_problem, given=dataclasses.replace(paper_problem.given, output={"A": "1"}))
    assert not library.is_deployed(other)


def test_an_unknown_template_lists_near_ones() -> None:
    with pytest.raises(UnknownProblem, match="retreating-shuttle"):
        library.template("classical_mechanics/retreating-shutle")
