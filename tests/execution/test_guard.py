"""A guard answers, survives whatever a request does to its child, and leaves nothing behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from maven_env.errors import InfrastructureError
from maven_env.execution.guard import Guard, Limits, call_spawned, shared_guard
from maven_env.execution.guard_wire import encode

HERE = Path(__file__).parent
TARGET = "guard_targets:execute"
LIGHT: tuple[str, ...] = ()  # preload nothing: such a helper starts in 0.1 s

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the helper needs fork")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc or an enforced RLIMIT_AS")


@pytest.fixture(autouse=True)
def _targets_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    guard = Guard(TARGET, LIGHT, Limits(fuel=1000, cpu_s=20, memory_mb=256))
    yield guard
    guard.close()


def _echo(guard: Guard, value: Any) -> Any:
    outcome = guard.call({"do": "echo", "value": value})
    assert (outcome.status, outcome.limit, outcome.reproducible) == ("done", None, True)
    return outcome.value


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def _runs(pid: int) -> bool:
    """Tell whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _descendants() -> list[str]:
    """State and pid of every process below this one."""
    parents: dict[str, list[str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(fields[1], []).append(entry.name)
    found, queue = [], [str(os.getpid())]
    while queue:
        children = parents.get(queue.pop(), [])
        found += children
        queue += children
    return found


def test_a_value_comes_back(guard: Guard) -> None:
    value = {"list": [1, 2.5, None, True, "ζ\ud800 text"], "nested": {"a": []}}
    assert _echo(guard, value) == value


def test_an_exception_with_a_code_is_an_error_to_show(guard: Guard) -> None:
    outcome = guard.call({"do": "refuse"})
    assert (outcome.status, outcome.reproducible) == ("error", True)
    assert outcome.value == {
        "code": "BAD_INPUT",
        "message": "cannot be done",
        "hint": "send something else",
        "details": {"position": 3},
    }


@pytest.mark.parametrize(
    ("deed", "text"),
    [("bug", "KeyError: 'oops'"), ("set", "set is not JSON"), ("leave", "exit code 7"), ("kill_fpe", "SIGFPE")],
)
def test_our_own_bugs_are_marked_internal(guard: Guard, deed: str, text: str) -> None:
    request = {"do": "kill", "signal": "SIGFPE"} if deed == "kill_fpe" else {"do": deed}
    outcome = guard.call(request)
    assert (outcome.status, outcome.value["code"]) == ("error", "INTERNAL")
    assert text in outcome.value["message"]
    assert _echo(guard, 1) == 1


def test_deep_recursion_is_a_limit(guard: Guard) -> None:
    outcome = guard.call({"do": "recurse"})
    assert (outcome.status, outcome.limit, outcome.reproducible) == ("limit", "depth", True)
    assert outcome.value["code"] == "LIMIT_EXCEEDED"
    assert _echo(guard, 1) == 1


def test_an_endless_loop_is_killed_by_its_processor_time(guard: Guard) -> None:
    outcome = guard.call({"do": "endless_python"}, Limits(cpu_s=1))
    assert (outcome.status, outcome.limit, outcome.reproducible) == ("limit", "cpu", False)
    assert _echo(guard, 1) == 1


@on_linux
@pytest.mark.parametrize("deed", ["bomb", "big_text"])
def test_a_memory_bomb_is_a_limit(guard: Guard, deed: str) -> None:
    outcome = guard.call({"do": deed})
    assert (outcome.status, outcome.limit, outcome.reproducible) == ("limit", "memory", False)
    assert _echo(guard, 1) == 1


@on_linux
def test_a_request_beyond_the_memory_limit_is_a_limit(guard: Guard) -> None:
    outcome = guard.call({"do": "echo", "value": "x" * (40 << 20)}, Limits(memory_mb=16))
    assert (outcome.status, outcome.limit) == ("limit", "memory")
    assert _echo(guard, 1) == 1


@pytest.mark.parametrize(
    ("request_", "limit"),
    [
        ({"do": "abort"}, "memory"),
        ({"do": "segfault"}, "depth"),
        ({"do": "kill", "signal": "SIGKILL"}, "memory"),
        ({"do": "kill", "signal": "SIGXCPU"}, "cpu"),
    ],
)
def test_a_crash_is_a_limit_and_not_reproducible(guard: Guard, request_: dict[str, Any], limit: str) -> None:
    outcome = guard.call(request_)
    assert (outcome.status, outcome.limit, outcome.reproducible) == ("limit", limit, False)
    assert _echo(guard, 1) == 1


@pytest.mark.slow
def test_a_sleeper_is_killed_by_the_wall_clock(guard: Guard) -> None:
    outcome = guard.call({"do": "sleep", "seconds": 60}, Limits(cpu_s=1))
    assert (outcome.status, outcome.limit, outcome.reproducible) == ("limit", "cpu", False)
    assert _echo(guard, 1) == 1


def test_a_result_too_deep_for_the_hosts_stack_is_a_limit(guard: Guard) -> None:
    def call_from(depth: int) -> str | None:
        return call_from(depth - 1) if depth else guard.call({"do": "nest", "depth": 800}).limit

    assert call_from(0) is None
    assert call_from(sys.getrecursionlimit() - 300) == "depth"
    assert _echo(guard, 1) == 1


@on_linux
def test_the_kernel_is_told_to_kill_a_child_rather_than_the_host(guard: Guard) -> None:
    assert guard.call({"do": "read", "path": "/proc/self/oom_score_adj"}).value.strip() == "1000"


def test_a_child_cannot_write_files(guard: Guard, tmp_path: Path) -> None:
    assert guard.call({"do": "write_file", "path": str(tmp_path / "file")}).status == "error"


def test_large_payloads_pass_both_ways(guard: Guard) -> None:
    text = "ab ζ" * (5 << 18)
    assert _echo(guard, text) == text


def test_what_the_target_prints_is_nowhere_to_be_seen(guard: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    assert guard.call({"do": "print"}).value == "quiet"
    fresh = Guard(TARGET, LIGHT)
    assert fresh.call({"do": "print"}).value == "quiet"
    fresh.close()
    assert capfd.readouterr() == ("", "")


def test_every_call_has_a_child_of_its_own(guard: Guard) -> None:
    pids = {guard.call({"do": "pid"}).value[0] for _ in range(5)}
    assert len(pids) == 5


def test_eight_threads_call_at_once(guard: Guard) -> None:
    def work(thread: int) -> list[int]:
        return [_echo(guard, 100 * thread + number) for number in range(10)]

    start = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        sleeps = [pool.submit(guard.call, {"do": "sleep", "seconds": 0.5}) for _ in range(8)]
        assert all(sleep.result().value == "slept" for sleep in sleeps)
        assert time.monotonic() - start < 3.5  # 4 s one after the other
        assert list(pool.map(work, range(8))) == [[100 * t + n for n in range(10)] for t in range(8)]


def test_cancel_kills_the_computation(guard: Guard) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(CancelledError):
        guard.call({"do": "endless_python"}, cancel=cancel)
    assert time.monotonic() - start < 2
    assert _echo(guard, 1) == 1
    with pytest.raises(CancelledError):
        guard.call({"do": "echo", "value": 1}, cancel=cancel)


def test_a_request_that_is_no_json_is_the_callers_error(guard: Guard) -> None:
    with pytest.raises(TypeError):
        guard.call({"do": object()})
    with pytest.raises(ValueError, match="not JSON"):
        guard.call({"do": float("nan")})


@pytest.mark.parametrize("name", ["fuel", "cpu_s", "memory_mb"])
def test_a_limit_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


def _in_worker(guard: Guard, answers: Any) -> None:
    answers.put(_echo(guard, os.getpid()))
    guard.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_daemonic_worker_made_by_fork_has_its_own_helper(guard: Guard) -> None:
    ours = guard.call({"do": "pid"}).value[1]
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    worker = context.Process(target=_in_worker, args=(guard, answers), daemon=True)
    worker.start()
    assert answers.get() == worker.pid
    worker.join(10)
    assert guard.call({"do": "pid"}).value[1] == ours


def test_a_daemonic_worker_made_by_spawn_can_call() -> None:
    code = (
        "import multiprocessing, guard_workers\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    answers = context.SimpleQueue()\n"
        "    worker = context.Process(target=guard_workers.call, args=(answers,), daemon=True)\n"
        "    worker.start(); print(answers.get()); worker.join(10)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "41"


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_after_a_fork_in_the_middle_of_a_call_both_sides_go_on(guard: Guard) -> None:
    ours = guard.call({"do": "pid"}).value[1]
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(guard.call, {"do": "sleep", "seconds": 0.5})
        time.sleep(0.1)
        pid = os.fork()
        if pid == 0:
            try:
                theirs = guard.call({"do": "pid"}).value[1]
                guard.close()
                os._exit(0 if theirs != ours else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert busy.result().value == "slept"
    assert guard.call({"do": "pid"}).value[1] == ours


_HOST = """
import ctypes, sys, threading
from maven_env.execution.guard import Guard
guard = Guard("guard_targets:execute", ())
helper = guard.call({"do": "pid"}).value[1]
threading.Thread(target=guard.call, args=({"do": "endless_python"},), daemon=True).start()
libc = ctypes.PyDLL(None)
if sys.argv[1] == "host with a foreign fork" and libc.fork() == 0:  # holds the control socket open, unseen by Python
    libc.sleep(10)
    libc._exit(0)
print(helper, flush=True)
sys.stdin.read()
"""


@on_linux
@pytest.mark.parametrize("victim", ["host", "host with a foreign fork", "helper"])
def test_kill_9_leaves_no_process_behind(victim: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", _HOST, victim],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL,
    ) as host:  # fmt: skip
        assert host.stdout is not None
        helper = int(host.stdout.readline())

        def group() -> list[int]:
            return [int(pid) for pid in _descendants() if _runs(int(pid)) and os.getpgid(int(pid)) == helper]

        assert _within(5, lambda: len(group()) == 3)  # the helper, the child that loops, and the one forked ahead
        processes = group()
        os.kill(helper if victim == "helper" else host.pid, signal.SIGKILL)
        assert _within(5, lambda: not any(_runs(pid) for pid in processes))
        host.kill()


@on_linux
def test_a_lost_helper_is_replaced_within_the_call(guard: Guard) -> None:
    helper = guard.call({"do": "pid"}).value[1]
    os.kill(helper, signal.SIGKILL)
    assert _echo(guard, 1) == 1
    helper = guard.call({"do": "pid"}).value[1]
    threading.Timer(0.2, os.kill, (helper, signal.SIGKILL)).start()
    assert guard.call({"do": "sleep", "seconds": 0.5}).value == "slept"
    with pytest.raises(InfrastructureError):
        guard.call({"do": "kill_parent"})
    assert _echo(guard, 1) == 1


def test_a_target_that_cannot_be_imported_is_named() -> None:
    guard = Guard("no_such_module:execute", LIGHT)
    with pytest.raises(InfrastructureError, match="no_such_module"):
        guard.call({})
    guard.close()


@on_linux
def test_close_ends_the_helper_and_refuses_calls() -> None:
    guard = Guard(TARGET, LIGHT)
    guard.close()
    guard = Guard(TARGET, LIGHT)
    child, helper = guard.call({"do": "pid"}).value
    guard.close()
    guard.close()
    assert not _runs(helper)
    assert _within(2, lambda: not _runs(child))
    with pytest.raises(InfrastructureError, match="closed"):
        guard.call({"do": "pid"})


@on_linux
def test_a_guard_that_is_dropped_ends_its_helper() -> None:
    guard = Guard(TARGET, LIGHT)
    helper = guard.call({"do": "pid"}).value[1]
    del guard
    assert not _runs(helper)


def test_the_shared_guard_is_one_until_it_is_closed() -> None:
    first = shared_guard()
    assert shared_guard() is first
    first.close()
    assert shared_guard() is not first


@on_linux
@pytest.mark.parametrize("calls", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_nothing_leaks(calls: int) -> None:
    guard = Guard(TARGET, LIGHT)

    def state() -> tuple[int, int, int]:
        helper = guard.call({"do": "pid"}).value[1]
        assert _within(5, lambda: len(_descendants()) <= quiet + 2)
        return len(os.listdir("/proc/self/fd")), len(os.listdir(f"/proc/{helper}/fd")), _resident_kb(helper)

    quiet = len(_descendants())
    _echo(guard, 0)
    before = state()
    for number in range(calls):
        if number % 50 == 7:
            guard.call({"do": "abort"})
        else:
            _echo(guard, number)
    after = state()
    assert after[:2] == before[:2]
    assert after[2] - before[2] < 512
    guard.close()


def _resident_kb(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


@pytest.mark.parametrize(
    "request_", [{"do": "echo", "value": ["ζ", 1]}, {"do": "print"}, {"do": "refuse"}, {"do": "recurse"}]
)
def test_a_spawned_interpreter_gives_the_same_outcome(guard: Guard, request_: dict[str, Any]) -> None:
    assert call_spawned(TARGET, LIGHT, encode(request_), Limits(), None) == guard.call(request_)


def test_a_spawned_interpreter_can_be_cancelled() -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(CancelledError):
        call_spawned(TARGET, LIGHT, encode({"do": "endless_python"}), Limits(), cancel)
