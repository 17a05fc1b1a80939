"""Records of a run: one JSON object a line and instance, enough to score it again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from maven_env.errors import ConfigurationError
from maven_env.types import JsonObject, Problem, Score, Trace, Usage

SCHEMA = 1


def make_record(
    agent: str, model: str | None, problem: Problem, trace: Trace, score: Score, usages: list[Usage | None], split: str
) -> JsonObject:
    """Return the record of a finished episode."""
    return {
        "schema": SCHEMA,
        "agent": agent,
        "model": model,
        "split": split,
        "problem_id": problem.problem_id,
        "problem_key": problem.key,
        "digest": problem.digest,
        "template": problem.template_id,
        "domain": problem.domain,
        "regime": problem.regime,
        "minimal_steps": len(problem.reference.canonical.steps),
        "score": score.to_json(),
        "trace": trace.to_json(),
        "usage": [None if usage is None else usage.to_json() for usage in usages],
        "versions": versions(),
    }


def failure_record(agent: str, model: str | None, problem_id: str, split: str, error: Exception) -> JsonObject:
    """Return the record of an episode that the host or the model's server spoiled; it is void, not a failure."""
    return {
        "schema": SCHEMA,
        "agent": agent,
        "model": model,
        "split": split,
        "problem_id": problem_id,
        "void": {"type": type(error).__name__, "message": str(error)},
        "versions": versions(),
    }


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Return the versions that results depend on."""
    import maven_env

    packages = ("gymnasium", "sympy", "python-flint", "numpy", "scipy", "pint", "mpmath")
    found = {package: metadata.version(package) for package in packages}
    return {"maven_env": maven_env.__version__, "python": platform.python_version(), **found}


class RecordWriter:
    """Appends records to a file; each line is written and flushed as one piece."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.file = file
        self._handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        os.write(self._handle, line.encode("utf-8"))
        os.fsync(self._handle)

    def close(self) -> None:
        os.close(self._handle)


def read_records(file: Path) -> Iterator[JsonObject]:
    """Yield the records of a file. Raises ConfigurationError for a broken line, with its number."""
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ConfigurationError(f"{file}:{number}: no JSON record: {error}") from None
            if record.get("schema") != SCHEMA:
                raise ConfigurationError(f"{file}:{number}: schema {record.get('schema')!r}, this version reads {SCHEMA}")
            yield record
