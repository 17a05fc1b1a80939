"""Records of a run: one JSON object a line and instance, enough to score it again."""

from __future__ import annotations

import json
import os
import platform
from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from maven_env.errors import ConfigurationError, MavenError
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
        "usage": _usage(usages),
        "versions": versions(),
    }


def void_record(
    agent: str,
    model: str | None,
    problem_id: str,
    trace: Trace | None,
    error: MavenError,
    usages: list[Usage | None],
    split: str,
) -> JsonObject:
    """Return the record of an episode that the host or the model's server spoiled: void, not a failure, not scored.

    `trace` is what there was before; None if the episode had not begun.
    """
    return {
        "schema": SCHEMA,
        "agent": agent,
        "model": model,
        "split": split,
        "problem_id": problem_id,
        "void": {"type": type(error).__name__, "message": str(error)},
        "trace": None if trace is None else trace.to_json(),
        "usage": _usage(usages),
        "versions": versions(),
    }


def _usage(usages: list[Usage | None]) -> list[JsonObject | None]:
    return [None if usage is None else usage.to_json() for usage in usages]


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Return the versions that results depend on."""
    import maven_env

    packages = ("gymnasium", "sympy", "python-flint", "numpy", "scipy", "pint", "mpmath")
    found = {package: metadata.version(package) for package in packages}
    return {"maven_env": maven_env.__version__, "python": platform.python_version(), **found}


class RecordWriter:
    """Appends records to a file; each line is written and flushed as one piece.

    Raises ConfigurationError if the file cannot be written, or ends in a half-written record.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise ConfigurationError(f"{file} cannot be written: {error.strerror or error}") from None
        if _lacks_an_end(file):
            os.close(self._handle)
            raise ConfigurationError(f"{file} ends in a half-written record; mend its last line, or choose another")

    def write(self, record: Mapping[str, Any]) -> None:
        line = (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
        while line:
            line = line[os.write(self._handle, line) :]
        os.fsync(self._handle)

    def close(self) -> None:
        os.close(self._handle)


def _lacks_an_end(file: Path) -> bool:
    with file.open("rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - 1))
        return content.read(1) not in (b"", b"\n")


def is_cut_off(file: Path) -> bool:
    """Return whether the last line is half-written, as a killed process leaves it. Raises ConfigurationError."""
    return any(_is_half(line) for line in deque(_lines(file), maxlen=1))


def read_records(file: Path) -> Iterator[JsonObject]:
    """Yield the records of a file. A half-written last line is left out; `is_cut_off` tells whether there is one.

    Raises ConfigurationError for a file that cannot be read, and for any other broken line, with its number.
    """
    for number, line in enumerate(_lines(file), start=1):
        if _is_half(line):
            return
        yield _record(line, f"{file}:{number}")


def _lines(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as lines:
            yield from lines
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror or error}") from None


def _is_half(line: bytes) -> bool:
    """Return whether a line has no end and is no JSON; only the last one can be so."""
    if line.endswith(b"\n"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _record(line: bytes, place: str) -> JsonObject:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{place}: no JSON record: {error}") from None
    if not isinstance(record, dict):
        raise ConfigurationError(f"{place}: expected a JSON object, got {type(record).__name__}")
    if record.get("schema") != SCHEMA:
        raise ConfigurationError(f"{place}: schema {record.get('schema')!r}, this version reads {SCHEMA}")
    return record
