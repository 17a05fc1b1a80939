"""Jacobians and the operators of vector analysis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maven_env.types import Artifact

Call = Callable[..., Artifact]

CARTESIAN = ["x", "y", "z"]
SPHERICAL = ["r", "theta", "phi"]


def test_the_jacobian_of_polar_coordinates_is_r(call: Call) -> None:
    artifact = call("jacobian", exprs=["r*cos(t)", "r*sin(t)"], variables=["r", "t"])
    assert artifact.output["determinant"] == "r"
    assert artifact.output["value"] is None


def test_a_zero_eigenvalue_is_exactly_zero(call: Call) -> None:
    # Robertson's reactions: conservation of mass makes the Jacobian singular
    exprs = ["-k1*A + k2*B*C", "k1*A - k2*B*C - k3*B^2", "k3*B^2"]
    at = {"A": "0.9", "B": "0.00002", "C": "0.1", "k1": "0.04", "k2": 10000, "k3": 30000000}
    artifact = call("jacobian", exprs=exprs, variables=["A", "B", "C"], at=at)
    assert artifact.output["eigenvalues"][-1] == 0.0
    assert artifact.diagnostics["singular_at_point"] is True
    assert artifact.diagnostics["condition_number"] == "oo"


def test_one_function_gives_its_gradient(call: Call) -> None:
    artifact = call("jacobian", exprs=["x^2 + y^2"], variables=["x", "y"], at={"x": 1, "y": 2})
    assert artifact.output["matrix"] == [["2*x", "2*y"]]
    assert artifact.output["value"] == [[2.0, 4.0]]
    assert artifact.output["determinant"] is None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"exprs": [], "variables": ["x"]}, "SHAPE_MISMATCH"),
        ({"exprs": ["x"], "variables": ["x", "x"]}, "BAD_INPUT"),
        ({"exprs": ["x*y"], "variables": ["x"], "at": {"x": 1}}, "UNKNOWN_SYMBOL"),
        ({"exprs": ["log(x)"], "variables": ["x"], "at": {"x": 0}}, "DOMAIN_ERROR"),
    ],
)
def test_bad_jacobians_are_refused(call: Call, given: dict[str, Any], code: str) -> None:
    artifact = call("jacobian", **given)
    assert artifact.error is not None
    assert artifact.error.code == code


@pytest.mark.parametrize(
    ("op", "field", "variables", "coordinates", "expected"),
    [
        ("div", ["x*y", "y*z", "z*x"], CARTESIAN, "cartesian", "x + y + z"),
        ("div", ["q/r^2", "0", "0"], SPHERICAL, "spherical", "0"),
        ("laplacian", "1/r", SPHERICAL, "spherical", "0"),
        ("laplacian", "1/sqrt(x^2 + y^2 + z^2)", CARTESIAN, "cartesian", "0"),
        ("laplacian", "r^2*(3*cos(theta)^2 - 1)", SPHERICAL, "spherical", "0"),
        ("laplacian", "log(r)", ["r", "theta", "z"], "cylindrical", "0"),
        ("curl", ["-y", "x", "0"], CARTESIAN, "cartesian", ["0", "0", "2"]),
        ("curl", ["0", "mu*J/(2*pi*r)", "0"], ["r", "phi", "z"], "cylindrical", ["0", "0", "0"]),
        ("grad", "p*cos(theta)/r^2", SPHERICAL, "spherical", ["-2*p*cos(theta)/r^3", "-p*sin(theta)/r^3", "0"]),
    ],
)
def test_operators(call: Call, op: str, field: Any, variables: list[str], coordinates: str, expected: Any) -> None:
    artifact = call("vector_calculus", op=op, field=field, variables=variables, coordinates=coordinates)
    assert artifact.output["components" if isinstance(expected, list) else "expr"] == expected


def test_a_hidden_source_is_on_the_singular_locus(call: Call) -> None:
    given = {"op": "div", "field": ["q/r^2", "0", "0"], "variables": SPHERICAL, "coordinates": "spherical"}
    assert call("vector_calculus", **given).diagnostics["singular_locus"] == ["r", "sin(theta)"]


def test_a_scalar_has_no_divergence(call: Call) -> None:
    artifact = call("vector_calculus", op="div", field="x", variables=CARTESIAN)
    assert artifact.error is not None
    assert artifact.error.code == "SHAPE_MISMATCH"
