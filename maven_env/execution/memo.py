"""Results by the identity of their computation, so that rollouts of a group do not compute the same call twice."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA = "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True)
class Hits:
    """How look-ups went: found in memory, found on disk, not found."""

    memory: int
    disk: int
    missed: int

    @property
    def rate(self) -> float | None:
        """The share of look-ups that were found, or None before the first."""
        total = self.memory + self.disk + self.missed
        return (self.memory + self.disk) / total if total else None


class Memo:
    """A bounded cache in memory, least recently used out first, over an optional file that outlives the process.

    Safe to share between threads; the file may be shared between processes (SQLite in WAL mode) and grows without
    bound, so delete it when it is no more wanted. Values are JSON objects that nobody changes. Keys name tool, version,
    back-end versions and input, so an entry never goes stale.
    """

    def __init__(self, size: int = 10_000, file: Path | str | None = None) -> None:
        self.size = size
        self.file = None if file is None else str(file)
        self._memory = self._disk = self._missed = 0
        self._values: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0

    @property
    def hits(self) -> Hits:
        return Hits(self._memory, self._disk, self._missed)

    def get(self, key: str) -> Mapping[str, Any] | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._memory += 1
                self._values.move_to_end(key)
                return value
            value = self._read(key)
            if value is None:
                self._missed += 1
                return None
            self._disk += 1
            self._keep(key, value)
            return value

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        with self._lock:
            self._keep(key, value)
            if self.file is not None:
                text = json.dumps(value, ensure_ascii=False, allow_nan=False)
                self._database().execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (_digest(key), text))

    def __len__(self) -> int:
        return len(self._values)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    def __getstate__(self) -> dict[str, Any]:
        """Carry size and file to another process; what is remembered stays where it is."""
        return {"size": self.size, "file": self.file}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _keep(self, key: str, value: Mapping[str, Any]) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self.size:
            self._values.popitem(last=False)

    def _read(self, key: str) -> Mapping[str, Any] | None:
        if self.file is None:
            return None
        row = self._database().execute("SELECT value FROM results WHERE key = ?", (_digest(key),)).fetchone()
        if row is None:
            return None
        found: Mapping[str, Any] = json.loads(row[0])
        return found

    def _database(self) -> sqlite3.Connection:
        """Return the connection of this process; one must not be carried over a fork."""
        if self._connection is None or self._owner != os.getpid():
            self._connection = sqlite3.connect(
                self.file or "", timeout=30, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_SCHEMA)
            self._owner = os.getpid()
        return self._connection


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
