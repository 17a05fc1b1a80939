"""The stores of artifacts: one contract, in memory and in a SQLite file."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from maven_env.artifacts import ArtifactStore, MemoryStore, SqliteStore, given_artifact
from maven_env.errors import BadReference, ToolError
from maven_env.types import Artifact, CallError

PROBLEM = "MAVEN-Bench-0001"
MakeStore = Callable[[], ArtifactStore]


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    if request.param == "memory":
        kept = MemoryStore(PROBLEM)
        return lambda: kept
    return lambda: SqliteStore(tmp_path / "artifacts.db", PROBLEM)


def artifact(step_id: str, **changes: object) -> Artifact:
    base = Artifact(
        ok=True,
        problem_id=PROBLEM,
        step_id=step_id,
        tool_id="symbolic_diff",
        tool_version="1",
        input={"expr": "x²"},
        resolved_input={"expr": "x^2"},
        output={"expr": "2*x", "values": [1.5, "1/3"]},
        diagnostics={"type": "symbolic"},
        parents=("given",),
        backend={"sympy": "1.14.0"},
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def test_what_is_put_can_be_got_whole(make_store: MakeStore) -> None:
    store = make_store()
    first = artifact("step-01")
    failed = artifact("step-02", ok=False, output={}, error=CallError("PARSE_ERROR", "no", "mend", {"position": 3}))
    store.put(given_artifact(PROBLEM, {"A": "1/2"}, {"A": "m/s^2"}))
    store.put(first)
    store.put(failed)
    assert store.get("step-01") == first
    assert store.get("step-02") == failed
    assert store.get("given").units == {"A": "m/s^2"}
    assert [a.step_id for a in store.all()] == ["given", "step-01", "step-02"]


def test_step_ids_are_given_in_order_and_skip_what_is_taken(make_store: MakeStore) -> None:
    store = make_store()
    assert store.next_step_id() == "step-01"
    store.put(artifact("step-02"))
    assert store.next_step_id() == "step-01"
    store.put(artifact("step-01"))
    assert store.next_step_id() == "step-03"
    store.put(artifact("mine"))
    assert store.next_step_id() == "step-03"
    assert store.is_taken("mine")
    assert not store.is_taken("step-03")


def test_nothing_is_overwritten(make_store: MakeStore) -> None:
    store = make_store()
    store.put(artifact("step-01"))
    with pytest.raises(ToolError, match="taken"):
        store.put(artifact("step-01", output={"expr": "other"}))
    assert store.get("step-01").output["expr"] == "2*x"


def test_a_missing_step_lists_what_exists(make_store: MakeStore) -> None:
    store = make_store()
    store.put(artifact("step-01"))
    with pytest.raises(BadReference) as caught:
        store.get("step-07")
    assert "step-01" in caught.value.hint


def test_what_is_not_persisted_takes_its_id_but_cannot_be_got(make_store: MakeStore) -> None:
    store = make_store()
    store.put(artifact("step-01", persisted=False))
    assert store.next_step_id() == "step-02"
    assert store.all() == ()
    with pytest.raises(BadReference, match="not kept"):
        store.get("step-01")


def test_a_record_is_a_copy_that_shares_nothing() -> None:
    first = artifact("step-01")
    record = first.to_json()
    record["output"]["values"].append("spoiled")
    assert first.output["values"] == [1.5, "1/3"]
    assert Artifact.from_json(first.to_json()) == first


def test_a_file_holds_many_problems_and_survives_reopening(tmp_path: Path) -> None:
    file = tmp_path / "artifacts.db"
    store = SqliteStore(file, PROBLEM)
    store.put(artifact("step-01"))
    store.close()
    other = SqliteStore(file, "MAVEN-Bench-0002")
    assert other.next_step_id() == "step-01"
    assert SqliteStore(file, PROBLEM).get("step-01") == artifact("step-01")


def test_many_threads_write_to_one_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "artifacts.db", PROBLEM)

    def put(worker: int) -> None:
        for number in range(20):
            store.put(artifact(f"w{worker}-{number}"))

    threads = [threading.Thread(target=put, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.all()) == 80
    store.close()


def _write_until_killed(file: Path) -> None:
    store = SqliteStore(file, PROBLEM)
    for number in range(1_000_000):
        store.put(artifact(f"n-{number}"))


def test_a_killed_writer_leaves_whole_records(tmp_path: Path) -> None:
    file = tmp_path / "artifacts.db"
    writer = multiprocessing.get_context("spawn").Process(target=_write_until_killed, args=(file,))
    writer.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (file.exists() and len(SqliteStore(file, PROBLEM).all()) > 3):
        time.sleep(0.05)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    kept = SqliteStore(file, PROBLEM).all()
    assert len(kept) > 3
    assert all(a.output["expr"] == "2*x" for a in kept)
