"""References: one syntax, clear errors."""

from __future__ import annotations

import pytest

from maven_env.errors import BadReference
from maven_env.references import Reference, follow, is_reference, parse_reference, references_in
from maven_env.types import Artifact

ARTIFACT = Artifact(
    True, "P", "step-01", "tool", "1", {}, {}, {"roots": ["1", ["2", "3"]], "expr": "x"}, {"condition_number": 4.0}
)


def test_a_reference_names_a_step_and_a_path() -> None:
    assert parse_reference("step-01.output.roots[0]") == Reference("step-01", "output.roots[0]")
    assert str(Reference("given", "output.A")) == "${given.output.A}"
    assert parse_reference("velocity.diagnostics.condition_number").step_id == "velocity"


@pytest.mark.parametrize(
    "body", ["", "step-01", "step-01.", "step-01.secret.x", "1.output.x", "a.output[0", "a..output", "a.output.x[-1]"]
)
def test_other_text_is_refused_with_the_right_form(body: str) -> None:
    with pytest.raises(BadReference) as caught:
        parse_reference(body)
    assert "${step-01.output.expr}" in caught.value.hint


def test_paths_are_followed_into_lists_and_maps() -> None:
    assert follow(ARTIFACT, "output.roots[1][0]") == "2"
    assert follow(ARTIFACT, "diagnostics.condition_number") == 4.0


@pytest.mark.parametrize(
    ("path", "exists"),
    [
        ("output.root", "roots, expr"),
        ("output.roots[7]", "[0] to [1]"),
        ("output.expr.x", "a single value"),
        ("output.roots.x", "list of 2"),
    ],
)
def test_a_missing_field_lists_what_exists(path: str, exists: str) -> None:
    with pytest.raises(BadReference) as caught:
        follow(ARTIFACT, path)
    assert exists in caught.value.hint


def test_references_are_found_in_nested_input_in_order_and_once() -> None:
    value = {"a": ["${step-02.output.x} + ${given.output.B}"], "b": {"c": "${step-02.output.y}"}}
    assert references_in(value) == ("step-02", "given")


def test_only_a_lone_reference_is_one() -> None:
    assert is_reference("${step-01.output.expr}")
    assert not is_reference("2*${step-01.output.expr}")
    assert not is_reference(3)
