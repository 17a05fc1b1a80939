"""The check of dimensions: whether the two sides of an equation, or a formula and its unit, can be equal at all."""

from __future__ import annotations

from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Relation
from maven_env.expressions.tree import ZERO
from maven_env.tools.kinds import Formula, Unit
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.units.dimensions import dimension_of
from maven_env.tools.units.unit_text import read_unit
from maven_env.tools.units.unit_values import UnitValue, dimension_text


@tool(kind="verification", tier=0, near=("quantity_eval",), backend=("pint",))
def check_units(equation: Formula, units: dict[str, Unit], expected_unit: Unit | None = None) -> ToolResult:
    """Check the dimensions of an equation, or of a formula against its unit.

    It cannot see a missing factor 2 or pi, a wrong sign, metres against kilometres, or degrees against radians. Terms
    of a sum must agree; exponents and the arguments of functions must be pure numbers. A symbol as the exponent of
    something with a dimension leaves the verdict open.

    Args:
        equation: left = right, or an expression
        units: symbol: unit, such as {"v": "m/s"}; "" for a pure number
        expected_unit: unit that an expression, or both sides of an equation, must have in dimension

    Returns:
        verdict (passed | failed | inconclusive): whether the dimensions agree
        lhs_dimension (text): dimension of the left side or of the expression, such as [length]/[time]
        rhs_dimension (text): dimension of the right side or of expected_unit

    Diagnostics:
        offending_term: what does not agree
        evidence: what the verdict rests on

    Raises:
        UNKNOWN_SYMBOL: a symbol has no unit
        UNKNOWN_UNIT: a unit is not known

    Example:
        {"equation": "m*v^2/2", "units": {"m": "kg", "v": "m/s"}, "expected_unit": "J"}
    """
    known = {name: read_unit(unit) for name, unit in units.items()}
    expected = None if expected_unit is None else read_unit(expected_unit)
    sides = [equation.left, equation.right] if isinstance(equation, Relation) else [equation]
    found: list[UnitValue | None] = []
    offending = []
    is_open = False
    for side in sides:
        try:
            found.append(None if side == ZERO else dimension_of(side, known))
        except ToolError as error:
            if error.code != "UNIT_MISMATCH":
                raise
            found.append(None)
            is_open = is_open or bool(error.details.get("undecided"))
            offending.append(error.message)
    shown: list[Any] = [None if unit is None else dimension_text(unit) for unit in found]
    if expected is not None:
        found.append(expected)
    wanted = [dimension_text(unit) for unit in found if unit is not None]
    agree = len(set(wanted)) <= 1
    if not agree and not offending:
        offending.append(f"{wanted[0]} against {next(w for w in wanted if w != wanted[0])}")
    output = {
        "verdict": verdict(None if is_open else agree and not offending),
        "lhs_dimension": shown[0],
        "rhs_dimension": shown[1] if len(shown) > 1 else None if expected is None else dimension_text(expected),
    }
    if offending:
        return ToolResult(output, {"offending_term": offending[0], "evidence": "; ".join(offending)})
    checked = "all terms agree in dimension" if wanted else "nothing here has a dimension"
    return ToolResult(output, {"offending_term": None, "evidence": checked})
