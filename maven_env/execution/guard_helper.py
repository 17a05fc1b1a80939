"""The host's hold on one helper process: start it, take children from it, end them, end it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import NoReturn

from maven_env.errors import InfrastructureError
from maven_env.execution.guard_wire import COMMAND, END, FORGET, JSON, LENGTH, REPLY, TAKE, decode, receive_exactly

_START_S = 120.0  # s; importing sympy on a loaded machine
_REPLY_S = 60.0  # s; a helper answers in milliseconds
_CANCEL_CHECK_MS = 20
_IDLE_CPU_SHARE = 0.02  # below this share of one core, a child counts as asleep

_KEPT_PYTHON_VARIABLES = frozenset({"PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE", "PYTHONPLATLIBDIR"})
_THREAD_VARIABLES = (
    "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


class HelperLost(InfrastructureError):
    """The helper ended or hangs: it and its children are of no more use."""


class ChildDied(Exception):
    """The child ended without an answer."""


class ChildStalled(Exception):
    """The child neither answered nor used the processor for as long as the wall-clock backstop lasts."""


@dataclass(frozen=True)
class Death:
    """How a child ended, as the helper's wait4 saw it."""

    status: int  # as os.wait reports it
    cpu_s: float  # user and system time, s
    peak_mb: float  # largest resident memory, MiB

    @property
    def signal(self) -> int:
        """The signal that ended it, 0 if it exited."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0


@dataclass(frozen=True)
class Child:
    """One forked child, waiting for its request on `connection` (non-blocking)."""

    pid: int
    connection: socket.socket

    def exchange(self, request: Sequence[bytes], wall_s: float, cancel: threading.Event | None) -> JSON:
        """Send the parts of the request and return the decoded answer.

        Raises ChildDied, ChildStalled after `wall_s` without progress, or CancelledError once `cancel` is set.
        """
        watch = _Watch(self, wall_s, cancel)
        try:
            for part in request:
                rest = memoryview(part)
                while rest:
                    watch.wait(select.POLLOUT)
                    rest = rest[self.connection.send(rest) :]
            (length,) = LENGTH.unpack(self._receive(LENGTH.size, watch))
            return decode(self._receive(length, watch))
        except (EOFError, OSError) as problem:
            raise ChildDied from problem

    def _receive(self, count: int, watch: _Watch) -> bytearray:
        buffer = bytearray(count)
        rest = memoryview(buffer)
        while rest:
            watch.wait(select.POLLIN)
            received = self.connection.recv_into(rest)
            if not received:
                raise EOFError
            rest = rest[received:]
        return buffer


class _Watch:
    """Wait for a child's socket, for cancellation, and for signs of life."""

    def __init__(self, child: Child, wall_s: float, cancel: threading.Event | None) -> None:
        self._child, self._wall_s, self._cancel = child, wall_s, cancel
        self._deadline = time.monotonic() + wall_s
        self._cpu_s = 0.0

    def wait(self, event: int) -> None:
        """Return when `event` (or a hangup) is there. Raises ChildStalled and CancelledError."""
        poll = select.poll()
        poll.register(self._child.connection, event)
        while True:
            if self._cancel is not None and self._cancel.is_set():
                raise CancelledError("the guarded computation was cancelled")
            remaining = int(1000 * (self._deadline - time.monotonic())) + 1
            if poll.poll(remaining if self._cancel is None else min(remaining, _CANCEL_CHECK_MS)):
                return
            if time.monotonic() >= self._deadline:
                self._extend()

    def _extend(self) -> None:
        # A crowded machine may give a busy child little time: it has until its processor time is spent.
        used = _cpu_seconds(self._child.pid)
        if used is None or used - self._cpu_s < _IDLE_CPU_SHARE * self._wall_s:
            raise ChildStalled
        self._cpu_s = used
        self._deadline = time.monotonic() + self._wall_s


def _cpu_seconds(pid: int) -> float | None:
    """Return user and system time of a process in s, None where there is no /proc to tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Helper:
    """A running helper process. The guard calls it under its lock.

    Methods raise HelperLost, or another InfrastructureError where the helper itself is sound.
    """

    def __init__(self, target: str, preload: Sequence[str]) -> None:
        """Start the process and wait until it is warm."""
        self._connections: set[socket.socket] = set()
        try:
            self._control, theirs = socket.socketpair()
        except OSError as problem:
            raise InfrastructureError(f"the guard's helper has no socket: {problem}") from problem
        try:
            self._process = subprocess.Popen(
                helper_command("main", theirs.fileno(), os.getpid(), target, list(preload)),
                env=helper_environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as problem:
            self._control.close()
            raise InfrastructureError(f"the guard's helper could not be started: {problem}") from problem
        finally:
            theirs.close()
        self._control.settimeout(_START_S)
        try:
            fault = decode(self._read(LENGTH.unpack(self._read(LENGTH.size))[0]))
        except BaseException:
            self.end()
            raise
        if fault is not None:
            self.end()
            raise InfrastructureError(f"the guard's helper could not prepare {target}:\n{fault}")
        self._control.settimeout(_REPLY_S)

    def take(self) -> Child:
        """Return a fresh child."""
        self._command(TAKE, 0)
        try:
            data, ancillary, _, _ = self._control.recvmsg(
                REPLY.size, socket.CMSG_SPACE(4), getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
        except OSError as problem:
            self._fail(problem)
        if len(data) < REPLY.size:
            self._fail(EOFError("stream ended"))
        pid = REPLY.unpack(data)[0]
        if pid < 0:
            raise InfrastructureError(f"the guard's helper could not fork: {os.strerror(-pid)}")
        if not ancillary:
            self._command(FORGET, pid)
            raise InfrastructureError("the host received no socket from the guard's helper: too many open files?")
        connection = socket.socket(fileno=int.from_bytes(ancillary[0][2][:4], sys.byteorder))
        connection.set_inheritable(False)
        connection.setblocking(False)
        self._connections.add(connection)
        return Child(pid, connection)

    def forget(self, child: Child) -> None:
        """End a child whose answer has come, or that nobody waits for."""
        self._drop(child)
        self._command(FORGET, child.pid)

    def autopsy(self, child: Child) -> Death:
        """End a child and return how it died."""
        self._drop(child)
        self._command(END, child.pid)
        _, status, cpu_s, peak_kb = REPLY.unpack(self._read(REPLY.size))
        return Death(status, cpu_s, peak_kb / 1024)

    def is_alive(self) -> bool:
        """Tell whether the process still runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kill the helper and all its children, and reap it. Idempotent.

        Connections are left to the threads that wait on them: they see the end of the stream.
        """
        self._control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # The helper leads its own group; while it is not reaped its number is not given to another.
            if self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def abandon(self) -> None:
        """Let go of a helper that belongs to the process this one was forked from."""
        self._process.returncode = 0  # not our child: Popen must neither wait for it nor warn
        self._control.close()
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def _drop(self, child: Child) -> None:
        self._connections.discard(child.connection)
        child.connection.close()

    def _command(self, operation: int, pid: int) -> None:
        try:
            self._control.sendall(COMMAND.pack(operation, pid))
        except OSError as problem:
            self._fail(problem)

    def _read(self, count: int) -> bytearray:
        try:
            return receive_exactly(self._control, count)
        except (EOFError, OSError) as problem:
            self._fail(problem)

    def _fail(self, problem: Exception) -> NoReturn:
        code = self._process.poll()
        state = "hangs" if code is None else f"ended with code {code}"
        raise HelperLost(f"the guard's helper {state}: {problem}") from problem


def helper_command(function: str, *arguments: JSON) -> list[str]:
    """Return the command line that calls `guard_child.function(*arguments)` in a fresh interpreter."""
    if not sys.executable:
        raise InfrastructureError("sys.executable is empty: the guard cannot start its helper from this interpreter")
    code = (
        "import json, sys; sys.path[:], function, arguments = json.loads(sys.argv[1]); "
        "from maven_env.execution import guard_image; guard_image.fix_layout(); "
        "from maven_env.execution import guard_child; getattr(guard_child, function)(*arguments)"
    )
    path = [os.path.abspath(entry) for entry in sys.path]
    return [sys.executable, "-P", "-c", code, json.dumps([path, function, arguments])]


def helper_environment() -> dict[str, str]:
    """Return the host's environment without what would change results: Python's and sympy's switches, BLAS threads."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "SYMPY_", "MAVEN_GUARD_")) or name in _KEPT_PYTHON_VARIABLES
    }
    return {**environment, **dict.fromkeys(_THREAD_VARIABLES, "1"), "PYTHONHASHSEED": "0"}
