"""What the guard is tested with: functions that answer, fail, loop, crash and fill the memory."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import sys
import time
from typing import Any


class Refused(Exception):
    """An error with a code, as a ToolError has."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = "BAD_INPUT"
        self.message = message
        self.hint = "send something else"
        self.details = {"position": 3}


def execute(request: dict[str, Any]) -> Any:
    """Do what request["do"] names."""
    return _DEEDS[request["do"]](request)


def _echo(request: dict[str, Any]) -> Any:
    return request["value"]


def _integrate(request: dict[str, Any]) -> str:
    import sympy as sp

    x = sp.Symbol("x")
    integrands = [
        sp.exp(x) * sp.sin(x) / (1 + x**2),
        sp.sqrt(1 + x**4),
        sp.log(x) ** 2 / (x + 1),
        sp.tan(x) ** 3 * x,
        sp.exp(x**2) * sp.erf(x) / x,
    ]
    return str(sp.integrate(integrands[request.get("which", 0)], x))


def _groebner(request: dict[str, Any]) -> str:
    import sympy as sp

    x, y, z, t = sp.symbols("x y z t")
    return str(sp.groebner([x**5 + y**4 + z**3 - 1, x**3 + y**3 + z**2 - t, x * y * z * t - 3], x, y, z, t))


def _dummies(request: dict[str, Any]) -> list[Any]:
    import sympy as sp

    return [sp.Dummy("d").dummy_index, hash("text"), hash(sp.Symbol("q"))]


def _endless_sympy(request: dict[str, Any]) -> None:
    import sympy as sp

    x = sp.Symbol("x")
    for n in itertools.count():
        try:
            sp.expand((x + n) ** 2)
        except Exception:  # as sympy does
            continue


def _swallow(request: dict[str, Any]) -> str:
    try:
        _endless_sympy(request)
    except BaseException:
        return "nothing happened"
    return ""


def _endless_python(request: dict[str, Any]) -> None:
    for _ in itertools.count():
        pass


def _sleep(request: dict[str, Any]) -> str:
    time.sleep(request["seconds"])
    return "slept"


def _bomb(request: dict[str, Any]) -> int:
    return len([bytearray(1 << 20) for _ in range(1 << 16)])


def _big_text(request: dict[str, Any]) -> str:
    return "x" * (1 << 33)


def _recurse(request: dict[str, Any]) -> Any:
    return _recurse(request)


def _nest(request: dict[str, Any]) -> Any:
    value: Any = 0
    for _ in range(request["depth"]):
        value = [value]
    return value


def _read(request: dict[str, Any]) -> str:
    with open(request["path"]) as file:
        return file.read()


def _abort(request: dict[str, Any]) -> None:
    os.abort()


def _segfault(request: dict[str, Any]) -> None:
    ctypes.string_at(0)


def _kill(request: dict[str, Any]) -> None:
    os.kill(os.getpid(), getattr(signal, request["signal"]))


def _leave(request: dict[str, Any]) -> None:
    os._exit(7)


def _refuse(request: dict[str, Any]) -> None:
    raise Refused("cannot be done")


def _bug(request: dict[str, Any]) -> None:
    raise KeyError("oops")


def _set(request: dict[str, Any]) -> Any:
    return {1, 2}


def _print(request: dict[str, Any]) -> str:
    print("noise", flush=True)
    print("noise", file=sys.stderr, flush=True)
    os.write(1, b"noise")
    return "quiet"


def _pid(request: dict[str, Any]) -> list[int]:
    return [os.getpid(), os.getppid()]


def _kill_parent(request: dict[str, Any]) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def _write_file(request: dict[str, Any]) -> None:
    with open(request["path"], "w") as file:
        file.write("x" * 10)


_DEEDS = {name[1:]: deed for name, deed in list(globals().items()) if name.startswith("_") and callable(deed)}
