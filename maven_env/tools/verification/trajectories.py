"""Checks along a solution: invariants of a motion, and conditions at the ends of an interval."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols, rational_value, replace, to_text
from maven_env.expressions.balls import precision
from maven_env.expressions.equality import equal
from maven_env.expressions.numeric import compile_array, unknown_symbols
from maven_env.expressions.tree import ZERO
from maven_env.tools.kinds import Expr, FloatMatrix, FloatVector, Name, Range, Setting, Value, bad_input
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.verification.boundaries import Value as BoundaryValue
from maven_env.tools.verification.boundaries import at_grid, at_point, is_infinite, needs_limit
from maven_env.tools.verification.evidence import (
    all_hold,
    closed,
    double,
    enclosed,
    judged,
    largest_term,
    terms_of,
    upper_double,
)

_BITS = 192
_NEGLIGIBLE = 1e-13  # a start below this part of its terms counts as zero


@tool(
    kind="verification",
    tier=0,
    near=("check_residual", "check_convergence", "cross_check_numeric"),
    backend=("python-flint", "numpy"),
)
def check_conservation(
    invariant: Expr,
    variables: list[Name] | None = None,
    states: FloatMatrix | None = None,
    before: dict[str, Value] | None = None,
    after: dict[str, Value] | None = None,
    params: dict[str, Value] | None = None,
    tol: Annotated[Setting, Range(0, 1)] = 1e-6,
) -> ToolResult:
    """Ask whether an invariant is constant along a trajectory, or equal before and after.

    The drift is relative to the start; an invariant that starts at zero is measured against the largest of its terms.
    A drift far below the error tolerance of the solver is luck, not accuracy. Passed below tol/10, failed above 10 tol.

    Args:
        invariant: expression in the state
        variables: names of the rows of states
        states: one row of values for each variable, as ODE solvers give in y
        before: values of the symbols before, instead of states
        after: values of the symbols after
        params: values of the other symbols
        tol: relative drift that is allowed

    Returns:
        verdict (passed | failed | inconclusive): whether it is conserved
        initial (number): value at the start
        final (number): value at the end
        max_relative_drift (number): largest deviation from the start, relative
        monotone (bool): whether the drift goes one way only
        tolerance (number): the tolerance used

    Diagnostics:
        samples: number of states
        scale: what the drift is relative to
        evidence: what the verdict rests on

    Raises:
        BAD_INPUT: neither states with variables nor before and after
        SHAPE_MISMATCH: the states do not fit the variables
        UNKNOWN_SYMBOL: a symbol has no value
        DOMAIN_ERROR: the invariant is undefined at a state

    Example:
        {"invariant": "p^2/2 - cos(q)", "before": {"q": 0, "p": 1}, "after": {"q": "1/2", "p": "sqrt(2*cos(1/2) - 1)"}}
    """
    node = replace(invariant, params or {})
    if states is not None:
        if variables is None or before is not None or after is not None:
            raise bad_input("states need variables, and no before or after")
        values, size = _along(node, variables, states)
    elif before is not None and after is not None:
        values, size = _twice(node, before, after)
    else:
        raise bad_input("give variables and states, or before and after")
    start = values[0]
    scale = abs(start) if abs(start) > _NEGLIGIBLE * size else size
    drifts = [value - start for value in values]
    worst = max(abs(d) for d in drifts)
    relative = worst / scale if scale else worst
    steps = [b - a for a, b in pairwise(values)]
    holds = judged(relative, tol)
    output = {
        "verdict": verdict(holds),
        "initial": start,
        "final": values[-1],
        "max_relative_drift": relative,
        "monotone": all(s >= 0 for s in steps) or all(s <= 0 for s in steps),
        "tolerance": tol,
    }
    what = "the start" if scale == abs(start) else "the largest of its terms, for it starts at zero"
    return ToolResult(
        output, {"samples": len(values), "scale": scale, "evidence": f"drift {relative:.3g} relative to {what}"}
    )


def _along(node: Node, variables: list[str], states: Any) -> tuple[list[float], float]:
    """Return the values along the states, and the largest size of a term."""
    import numpy as np

    if len(variables) != states.shape[0]:
        hint = "give one row for each variable" + ("; transpose" if states.shape[1] == len(variables) else "")
        raise ToolError("SHAPE_MISMATCH", f"{len(variables)} variables and {states.shape[0]} rows of states", hint)
    missing = unknown_symbols(node, variables)
    if missing is not None:
        raise missing
    values = np.atleast_1d(compile_array(node, variables)(*states))
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ToolError("DOMAIN_ERROR", f"the invariant has no finite value at state {place}")
    terms = [np.abs(compile_array(term, variables)(*states)) for term in terms_of(node)]
    size = max((float(np.max(term)) for term in terms if np.isfinite(term).all()), default=0.0)
    return [float(v) for v in values], size


def _twice(node: Node, before: dict[str, Node], after: dict[str, Node]) -> tuple[list[float], float]:
    nodes = [closed(node, side) for side in (before, after)]
    balls = [enclosed(n, _BITS) for n in nodes]
    if any(not value.imag.contains(0) for value in balls):
        raise ToolError("DOMAIN_ERROR", "the invariant is not real", "take re(...) or Abs(...)")
    size = upper_double(largest_term(nodes, _BITS))
    first = double(balls[0].real)
    with precision(_BITS):
        gap = balls[1].real - balls[0].real
        drift = 0.0 if gap.contains(0) else double(gap)
    return [first, first + drift if drift else first], size


# ---- boundary --------------------------------------------------------------------------------------------------------
def _tier(arguments: Mapping[str, Any]) -> int:
    expr, wrt = arguments.get("expr"), arguments.get("wrt")
    if expr is None or wrt is None:
        return 0
    node = replace(expr, arguments.get("params") or {})
    return 2 if any(needs_limit(node, wrt, condition) for condition in arguments["conditions"]) else 0


@tool(kind="verification", tier=_tier, near=("check_residual",), backend=("python-flint", "sympy"))
def check_boundary_conditions(
    conditions: list[dict[str, Value]],
    expr: Expr | None = None,
    wrt: Name | None = None,
    x: FloatVector | None = None,
    y: FloatVector | None = None,
    tol: Annotated[Setting, Range(0, 1)] = 1e-8,
    params: dict[str, Value] | None = None,
) -> ToolResult:
    """Verify initial, boundary or limit values of a closed form or of a computed profile.

    Conditions at infinity, and at places where the formula itself has no value, are tested as limits. On a grid a
    derivative comes from a polynomial through the five nearest nodes, which limits its accuracy.

    Args:
        conditions: list of {"at": place, "derivative": order (0 if left out), "value": wanted value}; at may be oo
        expr: closed form, as a function of wrt
        wrt: its variable
        x: nodes of a computed profile, instead of expr; each place must be a node
        y: its values
        tol: defect allowed, relative to the larger of the wanted value and the terms that make up the value
        params: values of the other symbols; symbols without a value are compared as symbols

    Returns:
        verdict (passed | failed | inconclusive): all conditions together
        defects (list of number): distance of each value from what is wanted; null if compared as symbols
        tolerance (number): the tolerance used

    Diagnostics:
        worst_condition: index of the condition with the largest defect
        values: the values found
        evidence: what the verdict rests on

    Raises:
        BAD_INPUT: a condition is not understood, or a place is no node
        SHAPE_MISMATCH: x and y differ in length
        DOMAIN_ERROR: there is no value and no limit
        UNSOLVED: a derivative has no form in the functions that can be written

    Example:
        {"expr": "exp(-x)", "wrt": "x", "conditions": [{"at": 0, "value": 1}, {"at": 0, "derivative": 1, "value": -1}]}
    """
    if not conditions:
        raise bad_input("there is no condition to check", 'give [{"at": 0, "value": 1}]')
    read = [_read(condition, params or {}) for condition in conditions]
    if expr is not None:
        if wrt is None or x is not None or y is not None:
            raise bad_input("a closed form needs expr and wrt, and no x or y")
        node = replace(expr, params or {})
        found = [at_point(node, wrt, place, order, _BITS) for place, order, _ in read]
    elif x is not None and y is not None:
        if len(x) != len(y) or len(x) < 2:
            raise ToolError("SHAPE_MISMATCH", f"x has {len(x)} and y {len(y)} entries", "give equally long lists")
        found = [at_grid(x, y, closed(place, {}), order) for place, order, _ in read]
    else:
        raise bad_input("give expr and wrt, or x and y")
    results = [_defect(value, wanted, tol) for value, (_, _, wanted) in zip(found, read, strict=True)]
    relatives = [relative if relative is not None else (0.0 if holds else 1.0) for _, relative, holds in results]
    worst = max(range(len(results)), key=lambda i: relatives[i])
    output = {
        "verdict": verdict(all_hold([holds for _, _, holds in results])),
        "defects": [defect for defect, _, _ in results],
        "tolerance": tol,
    }
    evidence = f"the worst condition is number {worst}, off by {relatives[worst]:.3g} relative"
    return ToolResult(
        output,
        {"worst_condition": worst, "values": [value.shown() for value in found], "evidence": evidence},
    )


def _read(condition: dict[str, Node], params: Mapping[str, Node]) -> tuple[Node, int, Node]:
    extra = sorted(set(condition) - {"at", "derivative", "value"})
    if extra or "at" not in condition or "value" not in condition:
        raise bad_input(
            f"a condition has the keys {', '.join(condition)}", 'write {"at": 0, "derivative": 1, "value": 2}'
        )
    order = rational_value(condition.get("derivative", ZERO))
    if order is None or order.denominator != 1 or not 0 <= order <= 8:
        raise bad_input(f"derivative {to_text(condition['derivative'])} is no order from 0 to 8")
    return replace(condition["at"], params), int(order), replace(condition["value"], params)


def _defect(found: BoundaryValue, wanted: Node, tol: float) -> tuple[float | None, float | None, bool | None]:
    """Return the defect, the relative defect, and whether the condition holds."""
    if is_infinite(wanted):
        return None, None, bool(found.node is not None and found.node == wanted)
    if found.node is not None:
        if is_infinite(found.node):
            return None, None, False
        verdict_ = equal(found.node, wanted)
        if verdict_ == "equal":
            return 0.0, 0.0, True
        if free_symbols(found.node) or free_symbols(wanted):
            return None, None, False if verdict_ == "different" else None
    if free_symbols(wanted):
        raise ToolError("UNKNOWN_SYMBOL", f"the wanted value {to_text(wanted)} has symbols", "give them in params")
    value = found.ball if found.ball is not None else enclosed(found.node or ZERO, _BITS)
    target = enclosed(wanted, _BITS)
    with precision(_BITS):
        gap = value - target
        defect = 0.0 if gap.contains(0) else upper_double(abs(gap))
        scale = max(upper_double(abs(target)), found.size)
    relative = defect / scale if scale else defect
    return defect, relative, judged(relative, tol)
