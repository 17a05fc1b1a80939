"""Fuel is counted in the helper, ends sympy's loops, and is the same however and wherever a request runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from maven_env.execution.guard import Guard, Limits

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    sys.path.insert(0, str(HERE))
    guard = Guard("guard_targets:execute")
    try:
        yield guard
    finally:
        guard.close()
        sys.path.remove(str(HERE))


def test_sympy_in_the_host_is_left_alone(guard: Guard) -> None:
    guard.call({"do": "dummies"})
    code = (
        "from maven_env.execution import fuel, guard; from sympy import Basic, Add; "
        "assert Basic.__new__.__module__ == 'sympy.core.basic', Basic.__new__.__module__"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=HERE.parent.parent)


def test_fuel_is_counted(guard: Guard) -> None:
    outcome = guard.call({"do": "dummies"})
    assert outcome.status == "done"
    assert 0 < outcome.fuel < 100


def test_an_endless_sympy_loop_ends_at_its_fuel(guard: Guard) -> None:
    outcome = guard.call({"do": "endless_sympy"}, Limits(fuel=5000))
    assert (outcome.status, outcome.limit, outcome.fuel, outcome.reproducible) == ("limit", "fuel", 5000, True)
    assert outcome.value["code"] == "LIMIT_EXCEEDED"


def test_a_target_that_swallows_everything_still_ends_at_its_fuel(guard: Guard) -> None:
    outcome = guard.call({"do": "swallow"}, Limits(fuel=5000))
    assert (outcome.status, outcome.limit) == ("limit", "fuel")


def test_groebner_bases_burn_fuel(guard: Guard) -> None:
    outcome = guard.call({"do": "groebner"}, Limits(fuel=2000, cpu_s=20))
    assert (outcome.status, outcome.limit) == ("limit", "fuel")


def test_the_same_request_burns_the_same_fuel_whatever_ran_before(guard: Guard) -> None:
    requests = [{"do": "integrate", "which": which} for which in (1, 3)]
    first = [guard.call(request) for request in requests]
    guard.call({"do": "endless_sympy"}, Limits(fuel=3000))
    again = [guard.call(request) for request in reversed(requests)]
    assert again[::-1] == first
    assert min(outcome.fuel for outcome in first) > 100


@pytest.mark.parametrize("layout", ["fixed", "random"])
def test_two_helpers_agree_whatever_the_host(guard: Guard, layout: str, tmp_path: Path) -> None:
    # Other hash seed, environment, address layout, and bytecode compiled afresh: sets of sympy are then filled in
    # another order.
    code = (
        "import os, sys; from maven_env.execution import guard, guard_helper\n"
        f"if {layout!r} == 'random':\n"
        "    environment = guard_helper.helper_environment\n"
        "    guard_helper.helper_environment = lambda: environment() | {'MAVEN_GUARD_LAYOUT': '1'}\n"
        "g = guard.Guard('guard_targets:execute')\n"
        "print([g.call({'do': 'integrate', 'which': 1}), g.call({'do': 'dummies'})])"
    )
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "12345",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SOMETHING_LONG": "x" * 5000,
        "SYMPY_USE_CACHE": "no",
    }
    if layout == "random":
        environment |= {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    else:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    there = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    here = [guard.call({"do": "integrate", "which": 1}), guard.call({"do": "dummies"})]
    assert there.stdout.strip() == str(here)
