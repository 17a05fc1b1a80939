"""ToolText: fast, Unicode, and right in shared memory."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import pytest
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

from maven_env.spaces import TextView, ToolText

TEXT = "x² + \u03c0 → \U0001d4b3 ünïcode"


def test_any_text_up_to_the_length_is_contained() -> None:
    space = ToolText(20)
    assert space.contains(TEXT[:20])
    assert "" in space
    assert not space.contains("x" * 21)
    assert not space.contains(b"x")
    assert not space.contains(None)


def test_a_space_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        ToolText(0)


def test_samples_come_from_the_spaces_own_generator() -> None:
    first, second = ToolText(100, samples=("a", "b", "c"), seed=3), ToolText(100, samples=("a", "b", "c"), seed=3)
    drawn = [first.sample() for _ in range(10)]
    assert drawn == [second.sample() for _ in range(10)]
    assert set(drawn) <= {"a", "b", "c"}
    plain = ToolText(8, seed=1)
    assert all(plain.contains(plain.sample()) for _ in range(50))
    with pytest.raises(ValueError, match="mask"):
        plain.sample(mask=object())


def test_a_space_is_short_to_print_comparable_and_portable() -> None:
    space = ToolText(100)
    assert repr(space) == "ToolText(100)"
    assert space == ToolText(100) != ToolText(99)
    assert pickle.loads(pickle.dumps(space)) == space
    assert space.from_jsonable(space.to_jsonable([TEXT])) == [TEXT]
    assert not space.is_np_flattenable


def test_shared_memory_keeps_unicode_and_a_copy_does_not_change_with_it() -> None:
    space = ToolText(50)
    memory = create_shared_memory(space, n=2, ctx=multiprocessing.get_context("spawn"))
    view = read_from_shared_memory(space, memory, n=2)
    assert isinstance(view, TextView)
    write_to_shared_memory(space, 0, TEXT, memory)
    write_to_shared_memory(space, 1, "\U0001f600" * 50, memory)
    kept = copy.deepcopy(view)
    assert kept == (TEXT, "\U0001f600" * 50)
    write_to_shared_memory(space, 0, "", memory)
    assert view[0] == ""
    assert view[-1] == "\U0001f600" * 50
    assert kept[0] == TEXT
    assert list(view[0:1]) == [""]
    with pytest.raises(IndexError):
        view[2]
    with pytest.raises(ValueError, match="does not fit"):
        write_to_shared_memory(space, 0, "x" * 201, memory)
