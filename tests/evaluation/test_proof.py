"""The proof of a template reports what is wrong with it, by name."""

from __future__ import annotations

from typing import Any

import pytest

from maven_env.evaluation.proof import prove, unknown_units
from maven_env.problems import library, strict_yaml
from maven_env.problems.template import Template
from maven_env.tools.toolbox import Toolbox

SHUTTLE = "classical_mechanics/retreating-shuttle"


def shuttle(**changes: Any) -> Template:
    data, _ = strict_yaml.read(library.template_files()[SHUTTLE])
    for place, value in changes.items():
        entry = data
        *keys, last = place.split("__")
        for key in keys:
            entry = entry[key]
        entry[last] = value
    return Template.model_validate(data)


@pytest.mark.parametrize("template_id", list(library.template_files()))
def test_every_unit_of_the_project_is_known(template_id: str) -> None:
    assert list(unknown_units(library.template(template_id))) == []


def test_a_unit_that_does_not_exist_is_a_fault(toolbox: Toolbox) -> None:
    broken = shuttle(parameters__m__unit="kgg", checkpoints__distance__unit="mm/ss")
    faults = [fault for fault, _ in prove(broken, 1, toolbox).faults]
    assert any(fault.startswith("unit of m: there is no unit 'kgg'") for fault in faults)
    assert any(fault.startswith("unit of checkpoint distance: ") for fault in faults)


def test_a_step_that_fails_is_counted_once_for_each_draw(toolbox: Toolbox) -> None:
    broken = shuttle(steps__duration__input={"expr": "1/0 + b"})
    faults = dict(prove(broken, 2, toolbox).faults)
    failing = {fault: count for fault, count in faults.items() if fault.startswith("nominal: no problem: ")}
    assert list(failing.values()) == [2]
    assert "step 'duration' (substitute) fails: " in next(iter(failing))


def test_a_reading_that_is_not_declared_is_a_fault(toolbox: Toolbox) -> None:
    faults = [fault for fault, _ in prove(shuttle(checks__residual__reads={"all": "failed"}), 1, toolbox).faults]
    assert "nominal: check residual reads passed, declared failed" in faults
