"""A problem as JSON and back, so that a deployed instance is ready without running anything."""

from __future__ import annotations

from dataclasses import asdict

from maven_env.types import (
    Accepted,
    Alternative,
    Answer,
    Artifact,
    Check,
    Checkpoint,
    JsonObject,
    Path,
    PathStep,
    Problem,
    Reference,
    SubQuestion,
)


def problem_to_json(problem: Problem) -> JsonObject:
    """Write everything that makes a problem, its reference among it."""
    record = asdict(problem)
    record["given"] = problem.given.to_json()
    return record


def problem_from_json(record: JsonObject) -> Problem:
    """Read what `problem_to_json` wrote."""
    reference = record["reference"]
    return Problem(
        problem_id=record["problem_id"],
        key=record["key"],
        title=record["title"],
        domain=record["domain"],
        regime=record["regime"],
        statement=record["statement"],
        sub_questions=tuple(
            SubQuestion(q["label"], q["form"], q["unit"], tuple(q["vocabulary"]), q["rtol"], q["atol"])
            for q in record["sub_questions"]
        ),
        given=Artifact.from_json(record["given"]),
        meanings=record["meanings"],
        statement_numbers=tuple(record["statement_numbers"]),
        reference=Reference(
            {name: _path(path) for name, path in reference["paths"].items()},
            {label: Answer(**answer) for label, answer in reference["answers"].items()},
        ),
        digest=record["digest"],
    )


def _path(record: JsonObject) -> Path:
    steps = {
        name: PathStep(s["tool"], s["input"], s["resolved_input"], tuple(Accepted(**a) for a in s["accept"]))
        for name, s in record["steps"].items()
    }
    checks = {name: _check(c) for name, c in record["checks"].items()}
    return Path(record["name"], steps, {n: Checkpoint(**c) for n, c in record["checkpoints"].items()}, checks)


def _check(record: JsonObject) -> Check:
    accept = tuple(Alternative(**alternative) for alternative in record["accept"])
    return Check(**(record | {"settles": tuple(record["settles"]), "accept": accept}))
