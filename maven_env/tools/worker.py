"""What the guarded process runs: one request, a tool's id with its resolved input."""

from __future__ import annotations

from maven_env.errors import BadReference, ToolError
from maven_env.tools.registry import find, registry
from maven_env.tools.results import jsonable
from maven_env.types import Json, JsonObject

_WARMING = ("integrate", "solve_equation", "symbolic_simplify")  # their examples fill the caches that most calls need


def execute(request: JsonObject) -> JsonObject:
    """Run a tool and return its output and diagnostics as JSON. Raises ToolError."""
    spec = find(request["tool_id"])
    arguments, _ = spec.read(request["input"], _no_reference)
    result = spec.run(arguments)
    return {"output": jsonable(result.output), "diagnostics": jsonable(result.diagnostics)}


def warm() -> None:
    """Import every tool and run a few, so that each forked child starts with warm caches."""
    for tool_id in _WARMING:
        if tool_id in registry():
            try:
                execute({"tool_id": tool_id, "input": find(tool_id).example})
            except ToolError:  # an example that is declined warms the caches as well
                continue


def _no_reference(body: str) -> Json:
    raise BadReference(f"${{{body}}} was not resolved before it came to the guarded process")
