"""The store of one problem's artifacts: put, get and query, in memory or in a SQLite file, with one contract."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from maven_env.errors import BadReference, ToolError
from maven_env.types import Artifact, Json


class ArtifactStore(Protocol):
    """Artifacts of one problem by step id, in the order of their arrival.

    Nothing is overwritten. Only what is persisted can be got; every call takes its step id all the same.
    """

    @property
    def problem_id(self) -> str: ...

    def put(self, artifact: Artifact) -> None:
        """Keep `artifact`. Raises ToolError(BAD_INPUT) if its step id is taken."""
        ...

    def get(self, step_id: str) -> Artifact:
        """Return a persisted artifact. Raises BadReference that lists what exists."""
        ...

    def next_step_id(self) -> str:
        """Return the lowest `step-NN` above all that were taken in order."""
        ...

    def is_taken(self, step_id: str) -> bool: ...

    def all(self) -> tuple[Artifact, ...]:
        """Return every persisted artifact in order, `given` first."""
        ...


def _missing(step_id: str, known: list[str]) -> BadReference:
    return BadReference(f"there is no step {step_id!r}", f"known: {', '.join(known) or 'none'}")


def _taken(step_id: str) -> ToolError:
    return ToolError("BAD_INPUT", f"step id {step_id!r} is taken", "leave step_id out, or choose an unused one")


def _numbered(count: int) -> str:
    return f"step-{count:02d}"


class MemoryStore:
    """A store in a dictionary: the environment's default. Not shared between threads."""

    def __init__(self, problem_id: str) -> None:
        self._problem_id = problem_id
        self._artifacts: dict[str, Artifact] = {}
        self._next = 1

    @property
    def problem_id(self) -> str:
        return self._problem_id

    def put(self, artifact: Artifact) -> None:
        if artifact.step_id in self._artifacts:
            raise _taken(artifact.step_id)
        self._artifacts[artifact.step_id] = artifact
        while _numbered(self._next) in self._artifacts:
            self._next += 1

    def get(self, step_id: str) -> Artifact:
        found = self._artifacts.get(step_id)
        if found is None:
            raise _missing(step_id, [a.step_id for a in self.all() if a.ok])
        if not found.persisted:
            raise BadReference(f"{step_id} was not kept (persist: false)", "repeat the call with persist: true")
        return found

    def next_step_id(self) -> str:
        return _numbered(self._next)

    def is_taken(self, step_id: str) -> bool:
        return step_id in self._artifacts

    def all(self) -> tuple[Artifact, ...]:
        return tuple(artifact for artifact in self._artifacts.values() if artifact.persisted)

    def copy(self) -> MemoryStore:
        """Return an independent store with the same content; artifacts are immutable and shared."""
        twin = MemoryStore(self._problem_id)
        twin._artifacts = dict(self._artifacts)
        twin._next = self._next
        return twin


_SCHEMA = """
CREATE TABLE IF NOT EXISTS artifacts (
    problem_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (problem_id, step_id)
) WITHOUT ROWID
"""


class SqliteStore:
    """A store in a SQLite file in WAL mode, for servers and long runs: many processes and threads, survives a kill.

    One file holds many problems. Each thread has its own connection; a put is one transaction.
    """

    def __init__(self, file: Path | str, problem_id: str) -> None:
        self._file = str(file)
        self._problem_id = problem_id
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        with self._transaction() as connection:
            connection.execute(_SCHEMA)

    @property
    def problem_id(self) -> str:
        return self._problem_id

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._file, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            self._local.connection = connection
            self._connections.append(connection)
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def put(self, artifact: Artifact) -> None:
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT COALESCE(MAX(position), -1) + 1 FROM artifacts WHERE problem_id = ?", (self._problem_id,)
            ).fetchone()
            record = json.dumps(artifact.to_json(), ensure_ascii=False, allow_nan=False)
            try:
                connection.execute(
                    "INSERT INTO artifacts VALUES (?, ?, ?, ?)", (self._problem_id, artifact.step_id, row[0], record)
                )
            except sqlite3.IntegrityError:
                raise _taken(artifact.step_id) from None

    def get(self, step_id: str) -> Artifact:
        row = (
            self._connection()
            .execute("SELECT record FROM artifacts WHERE problem_id = ? AND step_id = ?", (self._problem_id, step_id))
            .fetchone()
        )
        if row is None:
            raise _missing(step_id, [a.step_id for a in self.all() if a.ok])
        artifact = Artifact.from_json(json.loads(row[0]))
        if not artifact.persisted:
            raise BadReference(f"{step_id} was not kept (persist: false)", "repeat the call with persist: true")
        return artifact

    def next_step_id(self) -> str:
        taken = {
            row[0]
            for row in self._connection().execute(
                "SELECT step_id FROM artifacts WHERE problem_id = ?", (self._problem_id,)
            )
        }
        count = 1
        while _numbered(count) in taken:
            count += 1
        return _numbered(count)

    def is_taken(self, step_id: str) -> bool:
        query = "SELECT 1 FROM artifacts WHERE problem_id = ? AND step_id = ?"
        return self._connection().execute(query, (self._problem_id, step_id)).fetchone() is not None

    def all(self) -> tuple[Artifact, ...]:
        rows = self._connection().execute(
            "SELECT record FROM artifacts WHERE problem_id = ? ORDER BY position", (self._problem_id,)
        )
        found = (Artifact.from_json(json.loads(row[0])) for row in rows)
        return tuple(artifact for artifact in found if artifact.persisted)

    def close(self) -> None:
        """Close the connections of every thread."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()


def fields_of(artifact: Artifact) -> list[str]:
    """Return the paths that a reference to `artifact` may take at the first level."""
    return [f"output.{name}" for name in artifact.output] + [f"diagnostics.{name}" for name in artifact.diagnostics]


def given_artifact(problem_id: str, values: dict[str, Json], units: dict[str, str]) -> Artifact:
    """Return the first artifact of a problem: its public quantities as exact text, with their units."""
    return Artifact(
        ok=True,
        problem_id=problem_id,
        step_id="given",
        tool_id="given",
        tool_version="1",
        input={},
        resolved_input={},
        output=values,
        diagnostics={"type": "given"},
        units=units,
    )
