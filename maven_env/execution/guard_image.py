"""The image that every guarded child starts from: target imported, sympy warm, everything random made fixed.

Two calls with the same request then see the same caches, hashes, Dummy indices and order of queries, in any helper on
any host of a platform, and burn the same fuel.
"""

from __future__ import annotations

import gc
import importlib
import os
import random
import sys
from collections.abc import Callable, Sequence

from maven_env.execution import fuel
from maven_env.execution.guard_wire import JSON

Target = Callable[[JSON], JSON]

_ADDR_NO_RANDOMIZE = 0x0040000
_MARK = "MAVEN_GUARD_LAYOUT"
_FIRST_DUMMY = 1_000_000  # far above what warming uses: an index must not come twice


def fix_layout() -> None:
    """Start this interpreter again without address randomization, where the kernel allows that (Linux).

    Sets of classes, and of None, are ordered by address. No difference in fuel was seen once assumptions are sorted
    (see below), so a refusal (seccomp in some containers) is harmless; fixed addresses cost 20 ms and leave no doubt.
    """
    if sys.platform != "linux" or _MARK in os.environ:
        return
    import ctypes

    os.environ[_MARK] = "1"  # set first: at most one restart
    if ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE) != -1:
        os.execv(sys.executable, sys.orig_argv)


def prepare(target: str, preload: Sequence[str]) -> Target:
    """Import `preload` and `target` ("module:function"), warm them, and freeze the image. Returns the function.

    A module of the target that defines `warm()` has it called here, with unlimited fuel. A target that uses sympy
    must have it in `preload`: otherwise its Dummy symbols differ from helper to helper, and fuel with them.
    """
    if "sympy" in preload:
        _seed_dummies()
    for name in preload:
        importlib.import_module(name)
    module_name, _, function_name = target.partition(":")
    module = importlib.import_module(module_name)
    function: Target = getattr(module, function_name)
    if "sympy" in sys.modules:
        fuel.install()
        _sort_assumptions()
        warm_sympy()
    warm = getattr(module, "warm", None)
    if warm is not None:
        warm()
    if "sympy" in sys.modules:
        _rewind_sympy()
    random.seed(0)
    gc.collect()
    gc.freeze()
    return function


def _seed_dummies() -> None:
    # sympy draws the first index of its Dummy symbols from an unseeded Random when it is imported.
    system = random.Random
    random.Random = lambda *_: system(0)  # type: ignore[assignment, misc]
    try:
        importlib.import_module("sympy.core.symbol")
    finally:
        random.Random = system  # type: ignore[misc]


def _sort_assumptions() -> None:
    # sympy asks related assumptions in a shuffled order of a set. Even a seeded shuffle follows the order of that set,
    # which depends on the hash seed with which sympy's bytecode was compiled when it was installed.
    assumptions = importlib.import_module("sympy.core.assumptions")
    assumptions.shuffle = list.sort  # type: ignore[attr-defined]


def _rewind_sympy() -> None:
    # How far the warming went through random numbers and Dummy indices must not matter.
    from sympy.core.random import seed
    from sympy.core.symbol import Dummy

    seed(0)
    Dummy._count = _FIRST_DUMMY


def warm_sympy() -> None:
    """Import the modules and build the tables that sympy leaves for the first use: 0.5 s here, or in every child."""
    import sympy as sp

    x, y = sp.symbols("x y")
    f = sp.Function("f")
    sp.integrate(x**2 * sp.exp(x) + 2 * x + 1, x)
    sp.integrate(sp.exp(-(x**2)) * x, (x, 0, sp.oo))
    sp.solve(x**2 - 5 * x + 6, x)
    sp.nonlinsolve([x * y - 1, x - 2], [x, y])
    sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2)
    sp.dsolve(f(x).diff(x, 2) + 3 * f(x).diff(x) + 2 * f(x), f(x))
    sp.limit(sp.sin(x) / x, x, 0)
    sp.series(sp.sin(x) / x, x, 0, 6)
    sp.summation(1 / x**2, (x, 1, sp.oo))
    sp.factor(x**4 - y**4)
    sp.apart(1 / (x**4 - 1), x)
    sp.laplace_transform(sp.sin(x), x, y)
    sp.rsolve(f(x + 1) - 2 * f(x), f(x))
    sp.Matrix([[1, 2], [y, 4]]).eigenvects()
    str(sp.sqrt(2).evalf(30))
