"""Looking at the state of the problem: fields of earlier artifacts, and what there is."""

from __future__ import annotations

import copy
from typing import Any, Literal

from maven_env.artifacts import fields_of
from maven_env.errors import BadReference
from maven_env.references import follow
from maven_env.tools.kinds import Text
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.toolbox import ToolContext


@tool(kind="state", tier=0, near=("list_artifacts",))
def query_state(from_step: Text, fields: list[Text], context: ToolContext | None = None) -> ToolResult:
    """Retrieve fields of a persisted artifact.

    It costs a step: a value is used more cheaply by referring to it, as in ${step-01.output.expr}. Ask where a decision
    depends on a diagnostic that was not shown.

    Args:
        from_step: step id, such as step-01, or given
        fields: dotted paths, such as output.expr or diagnostics.condition_number

    Returns:
        matches (list): the fields wanted, with the result_id

    Diagnostics:
        n_matches: number of artifacts found
        missing_fields: fields that the artifact lacks
        known_fields: the fields that it has, if one is missing

    Raises:
        BAD_REFERENCE: there is no such step

    Example:
        {"from_step": "given", "fields": ["output.A"]}
    """
    if context is None:
        raise BadReference("there is no problem, so no artifacts")
    artifact = context.artifact(from_step)
    match: dict[str, Any] = {"result_id": artifact.result_id}
    missing = []
    for field in fields:
        try:
            value = follow(artifact, field)
        except BadReference:
            missing.append(field)
            continue
        _nest(match, field, copy.deepcopy(value))
    diagnostics: dict[str, object] = {"n_matches": 1}
    if missing:
        diagnostics["missing_fields"] = missing
        diagnostics["known_fields"] = fields_of(artifact)
    return ToolResult({"matches": [match]}, diagnostics)


def _nest(match: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at a dotted path: output.expr becomes {"output": {"expr": ...}}."""
    *outer, last = path.split(".")
    place = match
    for name in outer:
        inner = place.setdefault(name, {})
        if not isinstance(inner, dict):
            return  # a field and a part of it were both wanted: the whole is there already
        place = inner
    place.setdefault(last, value)


@tool(kind="state", tier=0, near=("query_state",))
def list_artifacts(
    tool_id: Text | None = None,
    status: Literal["all", "ok", "failed"] = "all",
    context: ToolContext | None = None,
) -> ToolResult:
    """List the persisted artifacts of the problem with their fields.

    Args:
        tool_id: only artifacts of this tool
        status: only artifacts that are ok, or that failed

    Returns:
        artifacts (list): step_id, tool_id, ok, fields, parents, and the verdict of a verification

    Diagnostics:
        n_artifacts: number listed

    Example:
        {}
    """
    if context is None:
        raise BadReference("there is no problem, so no artifacts")
    found = []
    for artifact in context.store.all():
        if tool_id not in (None, artifact.tool_id) or (status != "all" and artifact.ok != (status == "ok")):
            continue
        entry = {
            "step_id": artifact.step_id,
            "tool_id": artifact.tool_id,
            "ok": artifact.ok,
            "fields": fields_of(artifact),
            "parents": list(artifact.parents),
        }
        if "verdict" in artifact.output:
            entry["verdict"] = artifact.output["verdict"]
        found.append(entry)
    return ToolResult({"artifacts": found}, {"n_artifacts": len(found)})
