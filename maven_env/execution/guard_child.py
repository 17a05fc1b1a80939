"""The far side of the guard: a helper process that forks one pristine child a call.

`main` runs in a fresh interpreter that the host starts (see guard.py). It prepares an image once (guard_image.py) and
forks from it. Each child serves one request and ends, so an answer is a function of the request alone. The helper
computes nothing itself and keeps one child forked ahead.

The helper ends with its host: by the end of the control socket, or, where a foreign fork still holds that socket, by
noticing that its parent changed. Children end with the helper: it kills its process group, and on Linux each child
also asks the kernel for that. Elsewhere a child whose helper was killed by a signal may live until its processor time
is spent.
"""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from maven_env.execution import fuel
from maven_env.execution.guard_image import Target, prepare
from maven_env.execution.guard_wire import (
    COMMAND,
    END,
    FORGET,
    JSON,
    REPLY,
    REQUEST,
    TAKE,
    decode,
    encode,
    frame,
    receive_exactly,
)

_PR_SET_PDEATHSIG = 1
_PARENT_CHECK_MS = 2000
_LONGEST_MESSAGE = 2000  # characters
_SPARE_MEMORY = 64 << 20  # bytes beyond the limit, opened to report that the limit was hit


def main(control_fd: int, host_pid: int, target: str, preload: Sequence[str]) -> NoReturn:
    """Serve as helper on `control_fd` until the host is gone."""
    control = socket.socket(fileno=control_fd)
    try:
        serve = prepare(target, preload)
        libc = _libc()
        _default_signals()
    except BaseException:
        control.sendall(frame(traceback.format_exc()))
        os._exit(1)
    control.sendall(frame(None))
    try:
        _helper_loop(control, host_pid, serve, libc)
    finally:
        _end_all()


def once(target: str, preload: Sequence[str], units: int, wall_s: float) -> None:
    """Serve one request from standard input to standard output: the way of platforms without fork.

    After `wall_s` seconds the process ends, whether or not its host is still there to kill it.
    """
    alarm = threading.Timer(wall_s, os._exit, (1,))
    alarm.daemon = True
    alarm.start()
    with os.fdopen(os.dup(1), "wb") as output, open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # what the target prints must not mix with the answer
        output.write(_answer(prepare(target, preload), sys.stdin.buffer.read(), units))


def _default_signals() -> None:
    # A host may have ignored or blocked signals, and both survive exec.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGCHLD, signal.SIGXCPU, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _libc() -> Any:
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)


def _end_all() -> NoReturn:
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _helper_loop(control: socket.socket, host_pid: int, serve: Target, libc: Any) -> None:
    poll = select.poll()
    poll.register(control, select.POLLIN)
    ready: tuple[int, socket.socket] | None = _fork(control, serve, libc)
    while True:
        while not poll.poll(_PARENT_CHECK_MS):
            if os.getppid() != host_pid:
                return
        try:
            operation, pid = COMMAND.unpack(receive_exactly(control, COMMAND.size))
            if operation == TAKE:
                try:
                    pid, end = ready or _fork(control, serve, libc)
                except OSError as problem:
                    control.sendall(REPLY.pack(-(problem.errno or errno.EAGAIN), 0, 0.0, 0))
                    continue
                socket.send_fds(control, [REPLY.pack(pid, 0, 0.0, 0)], [end.fileno()])
                end.close()
                ready = None
                ready = _fork_ahead(control, serve, libc)
            elif operation in (FORGET, END):
                status, seconds, peak = _kill_and_reap(pid)
                if operation == END:
                    control.sendall(REPLY.pack(pid, status, seconds, peak))
        except (EOFError, OSError):
            return


def _fork_ahead(control: socket.socket, serve: Target, libc: Any) -> tuple[int, socket.socket] | None:
    try:
        return _fork(control, serve, libc)
    except OSError:  # no process or memory to spare now: tried again when a child is asked for
        return None


def _fork(control: socket.socket, serve: Target, libc: Any) -> tuple[int, socket.socket]:
    """Fork one child. Returns its pid and the host's end of its socket."""
    ours, theirs = socket.socketpair()
    helper = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid:
        theirs.close()
        return pid, ours
    try:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == helper:
            ours.close()
            control.close()
            _serve_one(theirs, serve)
    finally:
        os._exit(0)


def _kill_and_reap(pid: int) -> tuple[int, float, int]:
    try:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return 0, 0.0, 0
    peak = usage.ru_maxrss // 1024 if sys.platform == "darwin" else usage.ru_maxrss
    return status, usage.ru_utime + usage.ru_stime, peak


def _serve_one(connection: socket.socket, serve: Target) -> None:
    gc.collect()  # only what the helper allocated since the freeze: resets the collector's counters
    try:
        size, units, cpu_s, memory_mb = REQUEST.unpack(receive_exactly(connection, REQUEST.size))
    except EOFError:  # the host closed: this child is not needed
        return
    _set_limits(cpu_s, memory_mb)
    try:
        body = receive_exactly(connection, size)
    except MemoryError:
        _discard(connection, size)
        reply = encode(_limit("memory", "the request does not fit into the memory limit", 0))
    else:
        reply = _answer(serve, body, units)
    connection.sendall(len(reply).to_bytes(8, "little"))
    connection.sendall(reply)


def _discard(connection: socket.socket, count: int) -> None:
    while count > 0 and (data := connection.recv(min(count, 1 << 16))):
        count -= len(data)


def _set_limits(cpu_s: int, memory_mb: int) -> None:
    import resource

    _set_limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    _set_limit(resource.RLIMIT_CORE, 0, 0)
    if sys.platform == "linux":  # macOS accepts RLIMIT_AS and ignores it
        with open("/proc/self/statm", "rb") as statm:
            present = int(statm.read().split()[0]) * resource.getpagesize()
        with open("/proc/self/oom_score_adj", "wb") as score:
            score.write(b"1000")  # where memory runs out all the same, the kernel is to take this process
        allowed = present + (memory_mb << 20)
        _set_limit(resource.RLIMIT_AS, allowed, allowed + _SPARE_MEMORY)
    _set_limit(resource.RLIMIT_FSIZE, 0, 0)


def _set_limit(which: int, soft: int, hard: int) -> None:
    import resource

    _, ceiling = resource.getrlimit(which)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(which, (soft, hard))


def _open_spare_memory() -> None:
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _answer(serve: Target, body: bytes | bytearray, units: int) -> bytes:
    try:
        return run(serve, body, units)
    except MemoryError:
        pass  # the frames that held the memory go with the exception
    used = units - fuel.left()
    fuel.fill(fuel.UNLIMITED)
    _open_spare_memory()
    return encode(_limit("memory", "the computation ran out of memory", used))


def run(serve: Target, body: bytes | bytearray, units: int) -> bytes:
    """Call the target on the JSON `body` with `units` of fuel.

    Returns the fields of an Outcome as JSON, whatever the target does; only MemoryError passes.
    """
    fuel.fill(units)
    try:
        value = serve(decode(body))
        if fuel.left() >= 0:
            return encode(_fields("done", value, None, units - fuel.left()))
    except fuel.FuelExhausted:
        pass
    except RecursionError:
        return encode(_limit("depth", "the computation nests too deeply", units - fuel.left()))
    except MemoryError:
        raise
    except BaseException as problem:
        used = units - fuel.left()
        fuel.fill(fuel.UNLIMITED)  # the text of a message may build expressions
        if used <= units:
            return encode(_fields("error", _describe(problem), None, used))
    # Also where the target swallowed FuelExhausted: what it made of that is no result.
    return encode(_limit("fuel", f"the computation needs more than {units} units of fuel", units))


def _fields(status: str, value: JSON, limit: str | None, used: int) -> dict[str, Any]:
    return {"status": status, "value": value, "limit": limit, "fuel": used, "reproducible": limit != "memory"}


def _limit(kind: str, message: str, used: int) -> dict[str, Any]:
    value = {"code": "LIMIT_EXCEEDED", "message": message, "hint": "", "details": {"limit": kind}}
    return _fields("limit", value, kind, used)


def _describe(problem: BaseException) -> dict[str, Any]:
    code = getattr(problem, "code", None)
    if isinstance(problem, Exception) and isinstance(code, str):
        message, hint = str(getattr(problem, "message", problem)), str(getattr(problem, "hint", ""))
        described = {"code": code, "message": message[:_LONGEST_MESSAGE], "hint": hint[:_LONGEST_MESSAGE]}
        details = getattr(problem, "details", None)
        return {**described, "details": details} if details and _is_json(details) else described
    message = f"{type(problem).__name__}: {problem}"[:_LONGEST_MESSAGE]
    trace = "".join(traceback.format_exception(problem, limit=-8))[-4 * _LONGEST_MESSAGE :]
    details = {"type": type(problem).__name__, "traceback": trace}
    return {"code": "INTERNAL", "message": message, "hint": "", "details": details}


def _is_json(value: object) -> bool:
    try:
        encode(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
