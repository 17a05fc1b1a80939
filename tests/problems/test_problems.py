"""Problems: drawn by their key, the same everywhere, with a reference that the paths make."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from maven_env.errors import TemplateError, UnknownProblem
from maven_env.evaluation.proof import prove
from maven_env.expressions import rational_value
from maven_env.problems import library, strict_yaml
from maven_env.problems.drawing import draw
from maven_env.problems.instantiation import digest_of, instantiate
from maven_env.problems.stored import problem_from_json, problem_to_json
from maven_env.problems.template import Template
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Problem

SHUTTLE = "classical_mechanics/retreating-shuttle"
PAPERS = "classical_mechanics/kinetic-energy-maxima"


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


def test_a_deployed_draw_is_recognised(paper_problem: Problem, toolbox: Toolbox) -> None:
    assert library.is_deployed(paper_problem)
    assert library.is_deployed(library.problem(paper_problem.key, toolbox))
    assert not library.is_deployed(library.problem(f"{PAPERS}@1/nominal/0", toolbox))
    assert not library.is_deployed(library.problem(f"{PAPERS}@1/branch/0", toolbox))


def test_a_deployed_draw_is_recognised_in_another_form_and_with_other_distractors(
    paper_problem: Problem, toolbox: Toolbox
) -> None:
    drawn = library.problem(f"{PAPERS}@1/nominal/114406", toolbox)
    assert dict(drawn.given.output) != dict(paper_problem.given.output)
    assert library.is_deployed(drawn)


@pytest.mark.parametrize(
    "problem_id",
    [
        None,
        7,
        ["MAVEN-Bench-0001"],
        f"{SHUTTLE}@\u00b9/nominal/0",
        f"{SHUTTLE}@\u0661/nominal/0",
        f"{SHUTTLE}@01/nominal/0",
        f"{SHUTTLE}@1/nominal",
        f"{SHUTTLE}@1/nominal/",
        f"{SHUTTLE}@1/nominal/007",
        f"{SHUTTLE}@1/nominal/0\n",
        f"{SHUTTLE}@1/nominal/\ud800",
        f"{SHUTTLE}@1/nominal/0/0",
    ],
)
def test_what_is_no_problem_id_is_refused_with_the_right_form(problem_id: Any) -> None:
    with pytest.raises(UnknownProblem, match="id@version/regime/seed"):
        library.problem(problem_id)


BROKEN_RUNS = {
    "canonical step": (
        ("steps", "distance", "input", "expr"),
        "log(0)*d*s",
        r"path canonical: step 'distance' \(substitute\) fails: ",
    ),
    "checkpoint": (
        ("checkpoints", "duration", "of"),
        "${duration.output.text}",
        "checkpoint 'duration' finds nothing at duration",
    ),
    "check": (
        ("checks", "residual", "field"),
        "verdicts",
        "check 'residual' has no reading: residual.output.verdicts is None",
    ),
    "path step": (
        ("paths", "by_positions", "steps", "end", "input", "expr"),
        "1/0 + p",
        "path by_positions: step 'end'",
    ),
}


@pytest.mark.parametrize(("place", "value", "reason"), BROKEN_RUNS.values(), ids=BROKEN_RUNS)
def test_a_path_that_does_not_run_through_gives_no_problem(
    place: tuple[str, ...], value: str, reason: str, toolbox: Toolbox
) -> None:
    data, _ = strict_yaml.read(library.template_files()[SHUTTLE])
    entry = data
    for key in place[:-1]:
        entry = entry[key]
    entry[place[-1]] = value
    broken = Template.model_validate(data)
    with pytest.raises(TemplateError, match=rf"retreating-shuttle@1/nominal/0: .*{reason}"):
        instantiate(broken, "nominal", 0, toolbox)
    faults = prove(broken, 1, toolbox).faults
    assert any(fault.startswith("nominal: no problem: ") for fault, _ in faults)


def test_an_unknown_template_lists_near_ones() -> None:
    with pytest.raises(UnknownProblem, match="retreating-shuttle"):
        library.template("classical_mechanics/retreating-shutle")
