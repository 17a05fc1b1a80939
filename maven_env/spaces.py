"""ToolText, the space of actions and observations: Unicode text of bounded length, right in every vector environment.

`gymnasium.spaces.Text` refuses Unicode outside its charset, takes milliseconds for long text, and gives a constant
string in the default AsyncVectorEnv. ToolText registers shared-memory handlers of its own: a 4-byte length, then UTF-8.
"""

from __future__ import annotations

import multiprocessing as mp
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gymnasium.spaces import Space
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

_HEADER = 4  # bytes of the length before each text
_BYTES_PER_CHARACTER = 4  # UTF-8 at most


class ToolText(Space[str]):
    """All Unicode text of up to `max_length` characters.

    `samples` are texts that `sample` draws from, such as valid tool calls; without them it draws short printable text.
    """

    def __init__(self, max_length: int = 100_000, samples: Sequence[str] = (), seed: int | None = None) -> None:
        if max_length < 1:
            raise ValueError(f"max_length must be positive, got {max_length}")
        self.max_length = max_length
        self.samples = tuple(samples)
        super().__init__(shape=None, dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw one of the samples, or a short text, from the space's own generator."""
        if mask is not None or probability is not None:
            raise ValueError("ToolText takes neither mask nor probability")
        if self.samples:
            return self.samples[int(self.np_random.integers(len(self.samples)))]
        size = int(self.np_random.integers(0, min(32, self.max_length) + 1))
        return "".join(chr(int(c)) for c in self.np_random.integers(32, 127, size=size))

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        return list(sample_n)

    def from_jsonable(self, sample_n: Sequence[Any]) -> list[str]:
        return [str(text) for text in sample_n]

    def __repr__(self) -> str:
        return f"ToolText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolText) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash(("ToolText", self.max_length))


class TextView(Sequence[str]):
    """The texts in shared memory, read when asked. Gymnasium keeps one view for all steps; a copy is a plain tuple."""

    def __init__(self, memory: Any, count: int, size: int) -> None:
        self._memory = memory
        self._count = count
        self._size = size

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        view = memoryview(self._memory.get_obj()).cast("B")
        start = (index % self._count) * self._size
        length = int.from_bytes(view[start : start + _HEADER], "little")
        return bytes(view[start + _HEADER : start + _HEADER + length]).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(self._count))

    def __deepcopy__(self, memo: Any) -> tuple[str, ...]:
        return tuple(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _stride(space: ToolText) -> int:
    return _HEADER + _BYTES_PER_CHARACTER * space.max_length


@create_shared_memory.register(ToolText)
def _create(space: ToolText, n: int = 1, ctx: Any = mp) -> Any:
    return ctx.Array("B", n * _stride(space))


@read_from_shared_memory.register(ToolText)
def _read(space: ToolText, shared_memory: Any, n: int = 1) -> TextView:
    return TextView(shared_memory, n, _stride(space))


@write_to_shared_memory.register(ToolText)
def _write(space: ToolText, index: int, value: str, shared_memory: Any) -> None:
    data = value.encode("utf-8")
    size = _stride(space)
    if _HEADER + len(data) > size:
        raise ValueError(f"a text of {len(value)} characters does not fit into {space!r}")
    view = memoryview(shared_memory.get_obj()).cast("B")
    start = index * size
    view[start : start + _HEADER] = len(data).to_bytes(_HEADER, "little")
    view[start + _HEADER : start + _HEADER + len(data)] = data
