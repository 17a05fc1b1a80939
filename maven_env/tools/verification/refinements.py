"""The check of convergence: a step repeated with finer settings, or a sequence of refinements."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any

from maven_env.errors import BadReference, ToolError
from maven_env.expressions import Node
from maven_env.expressions.balls import precision
from maven_env.references import follow
from maven_env.tools.kinds import JsonMap, Operand, Range, Setting, Text, bad_input, read_expr
from maven_env.tools.registry import find, tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.toolbox import ToolContext
from maven_env.tools.verification.comparisons import as_list, gap_of
from maven_env.tools.verification.evidence import closed, enclosed, judged, number_of, upper_double
from maven_env.types import Json, ToolCall


@tool(kind="verification", tier=0, near=("cross_check_numeric",), backend=("python-flint",))
def check_convergence(
    step: Text | None = None,
    override: JsonMap | None = None,
    field: Text | None = None,
    values: list[Operand] | None = None,
    tol: Annotated[Setting, Range(0, 1)] = 1e-6,
    context: ToolContext | None = None,
) -> ToolResult:
    """Repeat an earlier step with refined settings, or compare a sequence of refinements, and judge the last change.

    What has converged to the wrong root is still converged. Refining below the round-off floor makes things worse:
    changes that grow are inconclusive.

    Args:
        step: id of the step to run again, such as step-03
        override: inputs to change, such as {"rtol": 1e-11}; the others stay
        field: output field to compare, such as value or y_final[0]
        values: results of successive refinements instead, coarsest first; numbers, or lists of equal length
        tol: relative change that is allowed

    Returns:
        verdict (passed | failed | inconclusive): passed below tol/10, failed above 10 tol
        changes (list of number): relative changes from one to the next
        observed_order (number): log2 of the ratio of the last two changes, for three values of halved steps
        refined_value (number or list): the last value
        tolerance (number): the tolerance used

    Diagnostics:
        rerun_tool: the tool that was run again
        evidence: what the verdict rests on

    Raises:
        BAD_INPUT: neither step with override and field nor values
        BAD_REFERENCE: there is no such step or field
        SHAPE_MISMATCH: the values differ in length

    Example:
        {"values": [1.1, 1.025, 1.00625, 1.0015625], "tol": 0.1}
    """
    rerun = None
    if step is not None:
        if values is not None or not override or field is None:
            raise bad_input("a step needs override and field, and no values", "or give values alone")
        rerun, found = _rerun(step, override, field, context)
    elif values is not None and len(values) >= 2:
        found = [as_list(value) for value in values]
    else:
        raise bad_input("give step, override and field, or at least two values")
    if len({len(value) for value in found}) != 1:
        lengths = [len(value) for value in found]
        raise ToolError("SHAPE_MISMATCH", f"the values have lengths {lengths[:12]}", "the number of results changed")
    balls = [[enclosed(closed(node, {}), 192) for node in value] for value in found]
    changes = [_change(p, q) for p, q in itertools.pairwise(balls)]
    holds, evidence = judged(changes[-1], tol), f"the last relative change is {changes[-1]:.3g}"
    if holds and len(changes) > 1 and changes[-1] > 2 * changes[-2] and changes[-1] > tol / 1_000:
        holds, evidence = None, evidence + "; changes grow, which points to the round-off floor"
    order = None
    if len(changes) >= 2 and changes[-1] > 0 and changes[-2] > 0:
        order = math.log2(changes[-2] / changes[-1])
    last = [number_of(v) for v in balls[-1]]
    output = {
        "verdict": verdict(holds),
        "changes": changes,
        "observed_order": order,
        "refined_value": last if len(last) != 1 else last[0],
        "tolerance": tol,
    }
    return ToolResult(output, {"rerun_tool": rerun, "evidence": evidence})


def _change(p: list[Any], q: list[Any]) -> float:
    with precision(192):
        scale = max((upper_double(abs(v)) for v in q), default=0.0) or max(
            (upper_double(abs(v)) for v in p), default=0.0
        )
        gap = max((gap_of(u, v) for u, v in zip(p, q, strict=True)), default=0.0)
    return gap / scale if scale else 0.0


def _rerun(
    step: str, override: dict[str, Any], field: str, context: ToolContext | None
) -> tuple[str, list[tuple[Node, ...]]]:
    if context is None:
        raise BadReference("there is no problem, so no step to run again", "give values")
    artifact = context.store.get(step.strip().removeprefix("${").removesuffix("}"))
    if not artifact.ok or not artifact.tool_id or artifact.step_id == "given":
        raise BadReference(f"{step} has no result to repeat", "name a step that was executed and is ok")
    if find(artifact.tool_id).needs_context:
        raise bad_input(f"{artifact.tool_id} cannot be repeated", "repeat a step that computes")
    changed = {**artifact.input, **override}
    if changed == dict(artifact.input):
        raise bad_input("override changes nothing", f"the input was {dict(artifact.input)}")
    again = context.toolbox.call(ToolCall(artifact.tool_id, changed, persist=False), context.store)
    if again.error is not None:
        error = again.error
        raise ToolError(error.code, f"the repeated {artifact.tool_id}: {error.message}", error.hint)
    path = field if field.partition(".")[0] in ("output", "diagnostics") else f"output.{field}"
    return artifact.tool_id, [_numbers(follow(result, path), path) for result in (artifact, again)]


def _numbers(value: Json, path: str) -> tuple[Node, ...]:
    def none(body: str) -> Json:
        raise BadReference(f"${{{body}}} stands in a result")

    if isinstance(value, list):
        return tuple(node for item in value for node in _numbers(item, path))
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise bad_input(f"{path} is no number", "name a field with numbers")
    return (read_expr(value, none),)
