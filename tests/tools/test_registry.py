"""Every tool: schema that all clients take, documentation that is complete, an example that runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from maven_env.artifacts import MemoryStore, given_artifact
from maven_env.errors import ToolError
from maven_env.expressions import parse
from maven_env.tools.documentation import draw_tool
from maven_env.tools.registry import ToolSpec, find, registry
from maven_env.tools.schemas import gemini_tools, input_schema, openai_tools, tool_schemas
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall

TOOLS = list(registry().values())
TOOLBOX = Toolbox()
FORBIDDEN = {"$ref", "$defs", "oneOf", "allOf", "not", "const", "prefixItems"}


def run_example(spec: ToolSpec) -> Artifact:
    """Run a tool's own example in a problem that has what the examples of the state tools refer to."""
    store = MemoryStore("example")
    store.put(given_artifact("example", {"A": "1/2", "B": "3"}, {"A": "m", "B": "s"}))
    store.put(TOOLBOX.call(ToolCall("evaluate_numeric", {"expr": "1/3"}), store))
    return TOOLBOX.call(ToolCall(spec.tool_id, spec.example), store)


def nodes(schema: Any, depth: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    if isinstance(schema, dict):
        yield schema, depth
        for key, value in schema.items():
            inner = depth + (key in ("properties", "items", "additionalProperties"))
            for item in value.values() if key == "properties" else [value]:
                yield from nodes(item, inner)
    elif isinstance(schema, list):
        for item in schema:
            yield from nodes(item, depth)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda s: s.tool_id)
def test_the_schema_of_a_tool_is_taken_by_every_client(spec: ToolSpec) -> None:
    schema = input_schema(spec)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,39}", spec.tool_id)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert not {"anyOf", *FORBIDDEN} & set(schema)
    for name, value in schema["properties"].items():
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}", name)
        assert value["description"]
    for node, depth in nodes(schema):
        assert not FORBIDDEN & set(node)
        assert depth <= 5
        if node.get("type") == "array":
            assert "items" in node
        if node.get("type") == "object" and "properties" not in node:
            assert isinstance(node["additionalProperties"], dict)
    json.dumps(schema, allow_nan=False)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda s: s.tool_id)
def test_a_field_that_is_no_string_takes_a_reference_too(spec: ToolSpec) -> None:
    for name, value in input_schema(spec)["properties"].items():
        kinds = [option.get("type") for option in value.get("anyOf", [value])]
        assert "string" in kinds or value.get("type") == "object", (spec.tool_id, name)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda s: s.tool_id)
def test_a_tool_is_documented(spec: ToolSpec) -> None:
    assert spec.purpose.endswith(".")
    assert spec.purpose[0].isupper()
    assert all(parameter.meaning for parameter in spec.parameters)
    assert all(field.meaning and field.kind for field in spec.outputs)
    assert all(near in registry() for near in spec.near), spec.near
    assert all(re.fullmatch(r"[A-Z_]+", code) for code in spec.errors)
    page = draw_tool(spec)
    assert spec.tool_id in page
    assert "Example" in page
    assert len(spec.signature()) < 400


@pytest.mark.parametrize("spec", TOOLS, ids=lambda s: s.tool_id)
def test_the_example_of_a_tool_runs_and_gives_what_is_documented(spec: ToolSpec) -> None:
    artifact = run_example(spec)
    assert artifact.ok, artifact.error
    documented = {field.name for field in spec.outputs}
    assert set(artifact.output) <= documented, set(artifact.output) - documented
    assert artifact.diagnostics["type"] == spec.kind
    undocumented = set(artifact.diagnostics) - set(spec.diagnostics) - {"type"}
    assert not undocumented, undocumented
    json.dumps(artifact.to_json(), allow_nan=False)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda s: s.tool_id)
def test_expressions_that_a_tool_writes_can_be_read_again(spec: ToolSpec) -> None:
    artifact = run_example(spec)
    for field in spec.outputs:
        value = artifact.output.get(field.name)
        if field.kind == "expr" and isinstance(value, str):
            parse(value)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda s: s.tool_id)
def test_a_tool_refuses_unknown_fields_and_wrong_types_with_a_mend(spec: ToolSpec) -> None:
    store = MemoryStore("bad")
    artifact = TOOLBOX.call(ToolCall(spec.tool_id, {**spec.example, "nonsense": 1}), store)
    assert artifact.error is not None
    assert artifact.error.code == "BAD_INPUT"
    assert artifact.error.hint
    for parameter in spec.parameters:
        if parameter.required:
            artifact = TOOLBOX.call(ToolCall(spec.tool_id, {**spec.example, parameter.name: {"x": [1]}}), store)
            if artifact.error is None:
                continue
            assert artifact.error.code in ("BAD_INPUT", "PARSE_ERROR", "SHAPE_MISMATCH", "UNKNOWN_SYMBOL"), (
                artifact.error
            )
            assert parameter.name in artifact.error.message


def test_the_catalogue_is_complete() -> None:
    assert len(TOOLS) == 75


def test_verification_tools_give_verdicts() -> None:
    checks = [spec for spec in TOOLS if spec.kind == "verification"]
    assert len(checks) == 11
    for spec in checks:
        assert run_example(spec).output["verdict"] in ("passed", "failed", "inconclusive")


def test_an_unknown_tool_lists_near_ones() -> None:
    with pytest.raises(ToolError, match="symbolic_dif") as caught:
        find("symbolic_dif")
    assert "symbolic_diff" in caught.value.hint
    with pytest.raises(ToolError):
        find(None)


def test_views_for_strict_clients_are_generated() -> None:
    for function in openai_tools(registry(), strict=True):
        parameters = function["function"]["parameters"]
        assert parameters["required"] == list(parameters["properties"])
        for node, _ in nodes(parameters):
            assert not ({"default", "pattern"} - {"pattern"}) & set(node)
            if node.get("type") == "object":
                assert node["additionalProperties"] is False
    for declaration in gemini_tools(registry()):
        for node, _ in nodes(declaration["parameters"]):
            assert not {"additionalProperties", "default", "pattern"} & set(node)
    assert len(tool_schemas(registry())) == len(TOOLS)


def test_maps_may_come_as_lists_of_pairs() -> None:
    pairs = {"expr": "a*b", "subs": [{"name": "a", "value": "2"}, {"name": "b", "value": "3"}]}
    artifact = TOOLBOX.call(ToolCall("substitute", pairs), MemoryStore("pairs"))
    assert artifact.output["expr"] == "6"


def test_a_null_optional_is_an_absent_one() -> None:
    call = ToolCall("symbolic_diff", {"expr": "x^2", "wrt": "x", "order": None, "simplify": None})
    assert TOOLBOX.call(call, MemoryStore("null")).output == {"expr": "2*x"}
