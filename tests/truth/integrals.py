"""Integrals: definite ones by three tools, indefinite ones by differentiating what came."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from cases import Case, Judgement, Set, Tools, Truth, exact_error, grammar, is_near, judgement, number, printed, refused

from maven_env.errors import ToolError
from maven_env.expressions import Node, Relation, parse, parse_relation
from maven_env.expressions.analysis.jets import derivative_ball
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.types import Artifact, Json, JsonObject

RTOL = 1e-8
ATOL = 1e-12  # where the integral is 0
BITS = 200  # of the balls that compare derivative and integrand
FILES = ("integrals_definite", "integrals_mit_bee")

Ask = Callable[[Tools, JsonObject], Artifact]


def _input(item: JsonObject) -> JsonObject:
    limits = [grammar(item["a"]), grammar(item["b"])]
    return {"expr": grammar(item["integrand"]), "wrt": item["var"], "limits": limits}


def _by_integrate(tools: Tools, item: JsonObject) -> Artifact:
    return tools.call("integrate", **_input(item))


def _by_quadrature(tools: Tools, item: JsonObject) -> Artifact:
    return tools.call("quadrature", **_input(item))


def _by_singular(tools: Tools, item: JsonObject) -> Artifact:
    given = _input(item)
    waves = "oo" in given["limits"] and re.search("sin|cos|bessel", given["expr"]) and "exp" not in given["expr"]
    return tools.call("quadrature_singular", **given, kind="oscillatory" if waves else "endpoint")


def _judge(tools: Tools, ask: Ask, item: JsonObject) -> Judgement:
    artifact = ask(tools, item)
    expected = item["numeric"]
    if expected is None:
        if artifact.ok:
            return Judgement("wrong", str(artifact.output), item["expect"])
        found = refused(artifact, item["expect"])
        is_said = artifact.error is not None and artifact.error.code == "DIVERGENT"
        return Judgement("right" if is_said else "declined", found.came, item["expect"])
    if not artifact.ok:
        return refused(artifact, expected, ("DIVERGENT",))
    return judgement(_is_right(artifact.output, expected), artifact.output, expected)


def _is_right(output: Mapping[str, Json], expected: str) -> bool:
    """Compare the double, and the closed form if there is one, which may lie beyond the range of doubles."""
    if output.get("expr") is not None:
        try:
            if exact_error(output["expr"], expected) > RTOL:
                return False
        except ToolError:
            return False
    value = output["value"]
    return value is None or is_near(number(value), printed(expected), RTOL, ATOL if printed(expected) == 0 else 0.0)


def _definite(file: str, ask: Ask) -> Callable[[Truth], Iterator[Case]]:
    def cases(truth: Truth) -> Iterator[Case]:
        for item in truth.items(file):
            yield Case(item["id"], partial(_judge, ask=ask, item=item))

    return cases


# ---- indefinite ------------------------------------------------------------------------------------------------------
def _indefinite(truth: Truth) -> Iterator[Case]:
    for item in truth.items("integrals_indefinite_rubi"):
        yield Case(item["id"], partial(_judge_indefinite, item=item))


def _judge_indefinite(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("integrate", expr=grammar(item["integrand"]), wrt=item["var"])
    if not artifact.ok:
        return refused(artifact, item["antiderivative"], ("DIVERGENT",))
    integrand, found = parse(grammar(item["integrand"])), parse(artifact.output["expr"])
    agreed = [
        agreement
        for point in item["check_points_ok"]
        if (agreement := _agreement(integrand, found, item, point, artifact.output["conditions"])) is not None
    ]
    came = f"{artifact.output['expr']} where {artifact.output['conditions'] or 'anywhere'}"
    if not agreed:
        return Judgement("not tried", f"no point of the item can judge {came}")
    return judgement(all(agreed), came, item["antiderivative"])


def _agreement(integrand: Node, found: Node, item: JsonObject, point: str, conditions: list[str]) -> bool | None:
    """Return whether the derivative of `found` is the integrand at `point`; None where that cannot be said."""
    with precision(BITS):
        values = {name: decimal(Fraction(value)) for name, value in {**item["params"], item["var"]: point}.items()}
        try:
            if not all(_holds(condition, values) for condition in conditions):
                return None
            height, slope = ball(integrand, values), derivative_ball(found, values, item["var"])
        except (ToolError, ValueError, ZeroDivisionError):
            return None
        if not (height.is_finite() and slope.is_finite()):
            return None
        return bool(height.overlaps(slope))


def _holds(condition: str, values: dict[str, Any]) -> bool:
    relation = parse_relation(condition)
    if not isinstance(relation, Relation):
        return True
    gap = (ball(relation.left, values) - ball(relation.right, values)).real
    signs = {">": gap > 0, ">=": gap >= 0, "<": gap < 0, "<=": gap <= 0, "!=": gap != 0, "=": gap.contains(0)}
    return bool(signs[relation.operator])


SETS = (
    *(Set(file, "integrate", _definite(file, _by_integrate), slow=True) for file in FILES),
    *(Set(file, "quadrature", _definite(file, _by_quadrature), slow=True) for file in FILES),
    *(Set(file, "quadrature_singular", _definite(file, _by_singular), slow=True) for file in FILES),
    Set("integrals_indefinite_rubi", "integrate", _indefinite, slow=True),
)
