"""The command line as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maven_env.cli import app
from maven_env.errors import ConfigurationError
from maven_env.evaluation.records import read_records
from maven_env.evaluation.runner import deployed_ids
from maven_env.problems import library
from maven_env.scoring import score
from maven_env.types import Trace

RUNNER = CliRunner()
PAPER = "MAVEN-Bench-0001"


def test_run_plays_the_built_in_agents_and_prints_the_papers_columns(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["run", "--limit", "2", "--out", str(tmp_path)], env={"COLUMNS": "140"})
    assert result.exit_code == 0, result.output
    for word in (
        "acc.",
        "/100",
        "/70",
        "corr.",
        "appr.",
        "verified",
        "oracle",
        "100.0",
    ):
        assert word in result.output
    records = list(read_records(tmp_path / "records.jsonl"))
    assert len(records) == 5 * len(deployed_ids(2))
    assert {record["agent"] for record in records} == {"oracle", "memoriser", "random", "lucky", "no-op"}


def test_records_suffice_to_score_again(tmp_path: Path) -> None:
    RUNNER.invoke(app, ["run", "--limit", "2", "--out", str(tmp_path)])
    for record in read_records(tmp_path / "records.jsonl"):
        problem = library.problem(record["problem_id"])
        assert problem.digest == record["digest"]
        assert score(problem, Trace.from_json(record["trace"])).to_json() == record["score"]


def test_run_refuses_what_it_does_not_know_before_it_begins(tmp_path: Path) -> None:
    for arguments, mend in (
        (["--agent", "oracel"], "oracle"),
        (["--agent", "direct"], "--model"),
        (["--ids", "MAVEN-Bench-9999"], "MAVEN-Bench-9999"),
    ):
        result = RUNNER.invoke(app, ["run", *arguments])
        assert result.exit_code != 0
        assert mend in str(result.exception)
    RUNNER.invoke(app, ["run", "--limit", "1", "--agent", "no-op", "--out", str(tmp_path)])
    result = RUNNER.invoke(app, ["run", "--limit", "1", "--agent", "no-op", "--out", str(tmp_path)])
    assert "exists already" in str(result.exception)


def test_run_refuses_a_folder_that_it_cannot_write(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for out, reason in ((file, "is a file"), (file / "below", "cannot be written"), (Path("/proc/none"), "written")):
        result = RUNNER.invoke(app, ["run", "--agent", "no-op", "--out", str(out)])
        assert isinstance(result.exception, ConfigurationError), result.exception
        assert reason in str(result.exception)


@pytest.mark.parametrize("option", [["--base-url", "http://127.0.0.1:1/v1"], ["--native-tools"], ["--max-tokens", "9"]])
def test_options_of_a_model_need_a_model(option: list[str]) -> None:
    result = RUNNER.invoke(app, ["run", "--agent", "no-op", *option])
    assert isinstance(result.exception, ConfigurationError)
    assert option[0] in str(result.exception)
    assert "--model" in str(result.exception)


def test_a_run_without_a_single_score_has_status_1(tmp_path: Path) -> None:
    arguments = [
        "run",
        "--model",
        "nothing",
        "--base-url",
        "http://127.0.0.1:1/v1",
        "--limit",
        "1",
        "--out",
        str(tmp_path),
    ]
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 1
    (record,) = read_records(tmp_path / "records.jsonl")
    assert record["void"]["type"] == "ModelError"
    assert record["trace"]["steps"] == []


def test_templates_are_listed_shown_and_proven() -> None:
    result = RUNNER.invoke(app, ["templates", "list"], env={"COLUMNS": "200"})
    assert "kinetic-energy-maxima" in result.output
    assert PAPER in result.output
    shown = RUNNER.invoke(app, ["templates", "show", PAPER])
    for word in ("Canonical trace", "symbolic_diff", "Pitfalls", "wrong_mass", "Answers"):
        assert word in shown.output
    drawn = RUNNER.invoke(app, ["templates", "show", "classical_mechanics/retreating-shuttle", "--regime", "reversed"])
    assert "/reversed/0" in drawn.output
    proof = RUNNER.invoke(app, ["templates", "prove", "classical_mechanics/retreating-shuttle", "--draws", "1"])
    assert proof.exit_code == 0, proof.output
    unknown = RUNNER.invoke(app, ["templates", "prove", "classical_mechanics/nothing"])
    assert "classical_mechanics/nothing" in str(unknown.exception)


def test_tools_are_listed_shown_and_called() -> None:
    assert "symbolic_diff(expr, wrt" in RUNNER.invoke(app, ["tools", "list"], env={"COLUMNS": "200"}).output
    shown = RUNNER.invoke(app, ["tools", "show", "symbolic_diff"]).output
    for word in ("Arguments", "Returns", "Errors", "Example", "Compare"):
        assert word in shown
    called = RUNNER.invoke(app, ["tools", "call", "symbolic_diff", '{"expr": "x^3", "wrt": "x"}'])
    assert json.loads(called.output)["output"] == {"expr": "3*x^2"}
    failed = RUNNER.invoke(app, ["tools", "call", "symbolic_diff", '{"expr": "x^3"}'])
    assert failed.exit_code == 1
    assert json.loads(failed.output)["error"]["code"] == "BAD_INPUT"
    assert "no JSON" in str(RUNNER.invoke(app, ["tools", "call", "symbolic_diff", "{"]).exception)


def test_an_error_is_one_line_and_status_1() -> None:
    command = [sys.executable, "-m", "maven_env.cli", "run", "--agent", "nobody"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: there is no agent 'nobody'")
    assert "Traceback" not in result.stderr
