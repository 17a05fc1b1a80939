"""Run one request in a killable child process, with bounded fuel, processor time and memory.

    Guard.call -> helper (fresh interpreter, target imported and warm) -> forked child -> Outcome

The helper is started at the first call with `subprocess.Popen`, so a guard works from threads, daemonic workers,
notebooks and Ray actors; it ends with its host, however that ends. What a request can do to its child (loop, run out
of memory, crash) becomes an Outcome. Only a fault of the helper or the host raises InfrastructureError.

On Windows there is no fork: each call starts an interpreter of its own (about 1 s; same results and fuel), and only
fuel and the wall clock bound it. That way is tested on Linux, and has not been run on Windows.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any, Literal

from maven_env.errors import InfrastructureError
from maven_env.execution import guard_helper
from maven_env.execution.guard_wire import JSON, REQUEST, decode, encode

WALL_FACTOR = 6  # the wall-clock backstop, in units of the limit of processor time

_CAN_FORK = hasattr(os, "fork")
_SPAWNED_CHECK_S = 0.05
_CPU_TOLERANCE_S = 0.5  # a child killed this close to its limit of processor time died of it


@dataclass(frozen=True)
class Limits:
    """What one call may use.

    Sympy burns 43,000 to 120,000 units of fuel a second on a slow core, so the default fuel lasts 2 to 6 s there, and
    the processor time stays above: a limit that is not reproducible should not be met first.
    """

    fuel: int = 250_000  # sympy constructions, see fuel.py
    cpu_s: int = 10  # processor time, s
    memory_mb: int = 1024  # address space beyond what the helper has, MiB; Linux only

    def __post_init__(self) -> None:
        for name, value in (("fuel", self.fuel), ("cpu_s", self.cpu_s), ("memory_mb", self.memory_mb)):
            if not 0 < value < 1 << 31:
                raise ValueError(f"limit {name} must be between 1 and 2**31 - 1, not {value}")


@dataclass(frozen=True)
class Outcome:
    """What came of one call.

    `value` is the target's JSON value ("done"), or {"code", "message", "hint", "details"?} ("error", "limit").
    Code INTERNAL marks an exception that has no `code` of its own, or a crash: a bug of ours, never a score.
    """

    status: Literal["done", "error", "limit"]
    value: Any
    limit: str | None  # "fuel", "depth", "cpu" or "memory" for status "limit"
    fuel: int  # units used; 0 if unknown
    reproducible: bool  # False after a kill or a crash: such an outcome must not be cached


class Guard:
    """A target function behind a helper process.

    Threads may call at the same time: each call has a child of its own, and only the hand-over of a child is locked.
    After a fork of the host the copy of a guard starts a helper of its own at its first call.
    """

    def __init__(
        self,
        target: str = "maven_env.tools.worker:execute",
        preload: tuple[str, ...] = ("sympy",),
        limits: Limits = Limits(),
    ) -> None:
        """`target` is "module:function", importable from the host's sys.path, from a JSON value to a JSON value.

        Nothing starts before the first call. `preload` names further modules to import before forking.
        """
        self.target = target
        self.preload = preload
        self.limits = limits
        self._closed = False
        self._lock = threading.Lock()
        self._helper: guard_helper.Helper | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None
        _guards.add(self)

    def call(self, request: JSON, limits: Limits | None = None, cancel: threading.Event | None = None) -> Outcome:
        """Run the target on `request` and return what came of it.

        Raises InfrastructureError where helper or host failed twice in a row, concurrent.futures.CancelledError within
        20 ms once `cancel` is set, and TypeError or ValueError for a request that is no JSON.
        """
        limits = limits or self.limits
        body = encode(request)
        if cancel is not None and cancel.is_set():
            raise CancelledError("the guarded computation was cancelled")
        if not _CAN_FORK:
            return call_spawned(self.target, self.preload, body, limits, cancel)
        parts = (REQUEST.pack(len(body), limits.fuel, limits.cpu_s, limits.memory_mb), body)
        with contextlib.suppress(InfrastructureError):
            outcome = self._attempt(parts, limits, cancel)
            if outcome is not None:
                return outcome
        # A helper that was lost, or a child that somebody killed: once more. If it is killed again the request is
        # why, as when the kernel runs out of memory below our limit.
        return self._attempt(parts, limits, cancel) or _stopped("memory", "the computation was killed: out of memory")

    def close(self) -> None:
        """End the helper and all running children. A later call raises InfrastructureError. Idempotent."""
        with self._lock:
            self._closed = True
            self._discard(self._helper)

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def _attempt(self, parts: tuple[bytes, bytes], limits: Limits, cancel: threading.Event | None) -> Outcome | None:
        """Run one child. Returns None for a child that was killed for no reason to be seen."""
        helper, child = self._take()
        try:
            answer = child.exchange(parts, WALL_FACTOR * limits.cpu_s, cancel)
        except guard_helper.ChildDied:
            with self._exclusive(helper):
                death = helper.autopsy(child)
            return _classify(death, limits)
        except guard_helper.ChildStalled:
            self._forget(helper, child)
            return _stopped("cpu", f"no answer within {WALL_FACTOR * limits.cpu_s} s")
        except RecursionError:
            self._forget(helper, child)
            return _stopped("depth", "the result nests too deeply to be read where the host stands")
        except BaseException:
            self._forget(helper, child)
            raise
        self._forget(helper, child)
        return Outcome(**answer)

    def _take(self) -> tuple[guard_helper.Helper, guard_helper.Child]:
        with self._lock:
            if self._closed:
                raise InfrastructureError("this guard is closed")
            if self._helper is not None and not self._helper.is_alive():
                self._discard(self._helper)
            helper = self._helper or self._start()
        with self._exclusive(helper):
            return helper, helper.take()

    def _start(self) -> guard_helper.Helper:
        helper = self._helper = guard_helper.Helper(self.target, self.preload)
        self._finalizer = weakref.finalize(self, helper.end)  # also at the end of the interpreter
        return helper

    def _forget(self, helper: guard_helper.Helper, child: guard_helper.Child) -> None:
        with contextlib.suppress(InfrastructureError), self._exclusive(helper):
            helper.forget(child)

    @contextlib.contextmanager
    def _exclusive(self, helper: guard_helper.Helper) -> Iterator[None]:
        """Hold the control socket. An exchange that was broken off leaves it out of step: the helper is given up."""
        with self._lock:
            try:
                yield
            except BaseException as problem:
                if not isinstance(problem, InfrastructureError) or isinstance(problem, guard_helper.HelperLost):
                    self._discard(helper)
                raise

    def _discard(self, helper: guard_helper.Helper | None) -> None:
        if helper is None or helper is not self._helper:
            return
        self._helper = None
        if self._finalizer is not None:
            self._finalizer.detach()
        helper.end()

    def _after_fork(self) -> None:
        """Forget, in a forked copy of the host, the helper of the original; its lock may be held by a lost thread."""
        self._lock = threading.Lock()
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.abandon()
        if self._finalizer is not None:
            self._finalizer.detach()


def _stopped(limit: str, message: str) -> Outcome:
    value = {"code": "LIMIT_EXCEEDED", "message": message, "hint": "", "details": {"limit": limit}}
    return Outcome("limit", value, limit, 0, reproducible=False)


def _classify(death: guard_helper.Death, limits: Limits) -> Outcome | None:
    """Say what a child died of; None for a SIGKILL that its own processor time does not explain.

    SIGABRT is how GMP, FLINT and the C++ runtime end when an allocation fails or a number outgrows them. SIGSEGV and
    SIGBUS are nearly always a C stack that overflowed in deep recursion; above half the memory limit, memory.
    """
    cause = death.signal
    if cause == signal.SIGXCPU or (cause == signal.SIGKILL and death.cpu_s >= limits.cpu_s - _CPU_TOLERANCE_S):
        return _stopped("cpu", f"the computation needs more than {limits.cpu_s} s of processor time")
    if cause == signal.SIGKILL:
        return None
    overflow = cause in (signal.SIGSEGV, signal.SIGBUS)
    if cause == signal.SIGABRT or (overflow and death.peak_mb > limits.memory_mb / 2):
        return _stopped("memory", f"the computation needs more than {limits.memory_mb} MiB, or a number too large")
    if overflow:
        return _stopped("depth", "the computation nests too deeply")
    how = signal.Signals(cause).name if cause else f"exit code {os.waitstatus_to_exitcode(death.status)}"
    value = {"code": "INTERNAL", "message": f"the guarded process ended by {how} without an answer", "hint": ""}
    return Outcome("error", value, None, 0, reproducible=False)


def call_spawned(
    target: str, preload: tuple[str, ...], body: bytes, limits: Limits, cancel: threading.Event | None
) -> Outcome:
    """Run one request in an interpreter of its own, for platforms without fork. Raises as Guard.call does."""
    wall_s = WALL_FACTOR * limits.cpu_s
    process = subprocess.Popen(
        guard_helper.helper_command("once", target, list(preload), limits.fuel, 2 * wall_s),
        env=guard_helper.helper_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + wall_s
    unsent: bytes | None = body
    with process:
        try:
            while True:
                try:
                    answer, _ = process.communicate(unsent, timeout=_SPAWNED_CHECK_S)
                    break
                except subprocess.TimeoutExpired:
                    unsent = None  # communicate goes on with what it was given first
                if cancel is not None and cancel.is_set():
                    raise CancelledError("the guarded computation was cancelled")
                if time.monotonic() > deadline:
                    return _stopped("cpu", f"no answer within {wall_s} s")
        finally:
            process.kill()
    if not answer:
        raise InfrastructureError(f"the guarded interpreter ended with code {process.returncode} without an answer")
    return Outcome(**decode(answer))


_guards: weakref.WeakSet[Guard] = weakref.WeakSet()
_shared: Guard | None = None
_shared_lock = threading.Lock()


def shared_guard() -> Guard:
    """Return the guard of this process for the default target; made at the first call, and again once closed."""
    global _shared
    with _shared_lock:
        if _shared is None or _shared.is_closed:
            _shared = Guard()
        return _shared


def _after_fork_in_child() -> None:
    global _shared_lock
    _shared_lock = threading.Lock()
    for guard in list(_guards):
        guard._after_fork()


if _CAN_FORK:
    os.register_at_fork(after_in_child=_after_fork_in_child)
