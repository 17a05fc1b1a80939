"""JSON schemas of the tools: one canonical form, and the views that strict clients need."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from maven_env.tools.registry import ToolSpec
from maven_env.types import Json, JsonObject


def input_schema(spec: ToolSpec) -> JsonObject:
    """Return the canonical schema of a tool's input: a closed object, defaults and meanings with every property."""
    properties = {}
    for parameter in spec.parameters:
        schema = copy.deepcopy(dict(parameter.kind.schema))
        schema["description"] = f"{parameter.kind.name}: {parameter.meaning}"
        if not parameter.required and parameter.default is not None:
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": [p.name for p in spec.parameters if p.required],
        "additionalProperties": False,
    }


def describe(spec: ToolSpec) -> str:
    """Return the text that a model reads: what the tool does, its traps, what comes back."""
    outputs = "; ".join(f"{f.name} ({f.kind}): {f.meaning}" for f in spec.outputs)
    return f"{spec.description}\n\nReturns {outputs}."


def tool_schemas(tools: Mapping[str, ToolSpec]) -> list[JsonObject]:
    """Return name, description and input schema of each tool."""
    return [{"name": s.tool_id, "description": describe(s), "input_schema": input_schema(s)} for s in tools.values()]


def openai_tools(tools: Mapping[str, ToolSpec], *, strict: bool = False) -> list[JsonObject]:
    """Return the tools in the form of the chat-completions API.

    The strict view requires every property, makes optionals nullable, has no defaults, and writes maps as lists of
    {name, value}; the tools take both forms.
    """
    functions = []
    for spec in tools.values():
        schema = input_schema(spec)
        function: JsonObject = {"name": spec.tool_id, "description": describe(spec), "parameters": schema}
        if strict:
            required = set(schema["required"])
            function["parameters"] = _strict_object(schema, required)
            function["strict"] = True
        functions.append({"type": "function", "function": function})
    return functions


def gemini_tools(tools: Mapping[str, ToolSpec]) -> list[JsonObject]:
    """Return function declarations for Gemini: no additionalProperties, no defaults, no patterns."""
    return [
        {"name": s.tool_id, "description": describe(s), "parameters": _plain(input_schema(s))} for s in tools.values()
    ]


def _strict_object(schema: Mapping[str, Json], required: set[str]) -> JsonObject:
    properties = {}
    for name, value in schema["properties"].items():
        strict = _strict(value)
        strict["description"] = value.get("description", "")
        properties[name] = strict if name in required else _nullable(strict)
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _strict(schema: Mapping[str, Json]) -> JsonObject:
    if "anyOf" in schema:
        return {"anyOf": [_strict(option) for option in schema["anyOf"]]}
    if schema.get("type") == "array":
        return {"type": "array", "items": _strict(schema["items"])}
    if schema.get("type") == "object":
        value = _strict(schema["additionalProperties"])
        pair = {"name": {"type": "string"}, "value": value}
        item = {"type": "object", "properties": pair, "required": ["name", "value"], "additionalProperties": False}
        return {"type": "array", "items": item}
    return {key: copy.deepcopy(schema[key]) for key in ("type", "enum", "pattern") if key in schema}


def _nullable(schema: JsonObject) -> JsonObject:
    description = schema.pop("description", "")
    options = schema.pop("anyOf") if "anyOf" in schema else [schema]
    return {"anyOf": [*options, {"type": "null"}], "description": description}


def _plain(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        if schema.get("type") == "object" and "properties" not in schema:
            inner = _plain(schema["additionalProperties"])
            pair = {"name": {"type": "string"}, "value": inner}
            item = {"type": "object", "properties": pair, "required": ["name", "value"]}
            kept = {"type": "array", "items": item}
            return kept | ({"description": schema["description"]} if "description" in schema else {})
        dropped = ("additionalProperties", "default", "pattern")
        return {key: _plain(value) for key, value in schema.items() if key not in dropped}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema
