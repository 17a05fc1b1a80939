"""Results by the identity of their computation, so that rollouts of a group do not compute the same call twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any


class Memo:
    """A bounded cache in memory, least recently used out first; safe to share between threads.

    Values are JSON objects that nobody changes. `hits` and `misses` count look-ups.
    """

    def __init__(self, size: int = 10_000) -> None:
        self.size = size
        self.hits = 0
        self.misses = 0
        self._values: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Mapping[str, Any] | None:
        with self._lock:
            value = self._values.get(key)
            if value is None:
                self.misses += 1
                return None
            self.hits += 1
            self._values.move_to_end(key)
            return value

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self.size:
                self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)
