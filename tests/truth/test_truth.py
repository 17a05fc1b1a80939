"""The published cases: nothing wrong in any set, and as much right as the project promises."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cases import Set, Tools, Truth
from report import TRUTH, Outcome, run, sets

Run = Callable[[Set], Outcome]

# The smallest share of the items of a set that must be right, by the beginning of its name.
FLOORS = {
    "integrals_definite: integrate": 0.85,
    "integrals_definite: quadrature": 0.85,
    "integrals_mit_bee: integrate": 0.85,
    "integrals_mit_bee: quadrature": 0.85,
    "integrals_indefinite_rubi": 0.6,
    "ode_ivp: solve_ode_explicit": 0.85,
    "regression_linear_nist": 1.0,
    "regression_nonlinear_nist": 1.0,
    "constants_codata2022": 1.0,
    "physics_restated_tasks": 1.0,
    "optimisation_roots": 1.0,
}

pytestmark = pytest.mark.skipif(not TRUTH.is_dir(), reason=f"the published cases are not at {TRUTH}")


@pytest.fixture(scope="module")
def judged() -> Run:
    """Return a function that runs a set, once."""
    truth, tools = Truth(TRUTH), Tools()
    known: dict[str, Outcome] = {}

    def outcome(chosen: Set) -> Outcome:
        if chosen.name not in known:
            known[chosen.name] = run(chosen, truth, tools)
        return known[chosen.name]

    return outcome


def _parameters() -> list[object]:
    return [pytest.param(found, id=found.name, marks=[pytest.mark.slow] if found.slow else []) for found in sets()]


@pytest.mark.parametrize("chosen", _parameters())
def test_nothing_is_wrong_and_the_floor_is_kept(chosen: Set, judged: Run) -> None:
    outcome = judged(chosen)
    assert outcome.items("wrong") == []
    floor = next((share for name, share in FLOORS.items() if chosen.name.startswith(name)), 0.0)
    assert outcome.count("right") >= floor * len(outcome.judgements), outcome.items("declined")


def test_every_unit_conversion_is_right_but_for_the_listed_ones(judged: Run) -> None:
    outcome = judged(next(found for found in sets() if found.file == "units_conversions"))
    assert outcome.count("right") + outcome.count("disputed") == len(outcome.judgements)


def test_every_file_of_the_folder_is_covered() -> None:
    assert {found.file for found in sets()} == {path.stem for path in TRUTH.glob("*.json")}


def test_every_item_is_met() -> None:
    """Every item of every file is a case of some set, if only to say why it is not tried."""
    truth = Truth(TRUTH)
    for file in sorted({found.file for found in sets()}):
        met = {case.item for found in sets() if found.file == file for case in found.cases(truth)}
        for item in truth.items(file):
            assert any(case == item["id"] or case.startswith((f"{item['id']},", f"{item['id']} ")) for case in met), (
                item
            )
