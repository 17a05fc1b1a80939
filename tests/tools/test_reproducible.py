"""The same calls give the same artifacts and use the same fuel: over hash seeds, BLAS threads, fresh and warm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from reproduction import MeasuringGuard, path_records, record

from maven_env.execution.guard import Limits, Outcome
from maven_env.execution.memo import Memo
from maven_env.problems import library
from maven_env.tools.toolbox import Toolbox

SCRIPT = Path(__file__).with_name("reproduction.py")
BUDGET = Limits().fuel
ROOMY = Limits(fuel=2 * BUDGET, cpu_s=60)  # tells what needs twice the budget from what needs a bit more than it


def fresh(hash_seed: int, threads: int, parts: list[str]) -> dict[str, Any]:
    """Return the record of a fresh process."""
    settings = {"PYTHONHASHSEED": str(hash_seed), "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    run = subprocess.run([sys.executable, str(SCRIPT), *parts], env={**os.environ, **settings}, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare byte for byte: numbers too, which is more than the checkpoints need."""
    for name, artifact in expected["artifacts"].items():
        assert json.dumps(found["artifacts"][name]) == json.dumps(artifact), name
    assert found == expected


def test_examples_are_the_same_in_a_fresh_process_and_in_a_warm_one() -> None:
    warm = [json.loads(json.dumps(record(["examples"]))) for _ in range(2)]
    assert len(warm[0]["artifacts"]) == 75
    assert len(warm[0]["fuel"]) > 8
    assert_same(warm[1], warm[0])
    assert_same(fresh(1, 2, ["examples"]), warm[0])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_examples_and_canonical_paths_are_the_same_over_hash_seeds_and_threads() -> None:
    expected = fresh(0, 1, ["examples", "templates"])
    assert {key.partition("@")[0] for key in expected["artifacts"] if "/" in key} == set(library.template_files())
    for hash_seed in (1, 2):
        assert_same(fresh(hash_seed, 1 + hash_seed % 2, ["examples", "templates"]), expected)


@pytest.fixture(scope="module")
def roomy() -> Iterator[MeasuringGuard]:
    guard = MeasuringGuard(ROOMY)
    yield guard
    guard.close()


@pytest.mark.parametrize("template_id", library.template_files())
def test_no_call_of_a_template_is_near_its_fuel_budget(template_id: str, roomy: MeasuringGuard) -> None:
    roomy.outcomes.clear()
    toolbox = Toolbox(Memo(), roomy)
    dict(path_records(library.template(template_id), toolbox, (0, "deployed"), mistakes=True))
    near = [(outcome.status, outcome.fuel, request) for request, outcome in roomy.outcomes if is_near(outcome)]
    assert near == []


def is_near(outcome: Outcome) -> bool:
    """Whether a call needs more than a quarter and no more than twice the budget, or more of what is not measured."""
    if outcome.status == "limit":
        return outcome.limit != "fuel"
    return outcome.fuel > BUDGET / 4
