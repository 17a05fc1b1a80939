"""A tool as a page of text for people."""

from __future__ import annotations

import json

from maven_env.tools.registry import ToolSpec


def draw_tool(spec: ToolSpec) -> str:
    """Return purpose, arguments, outputs, diagnostics, errors, near-alternatives and an example."""
    lines = [f"{spec.tool_id}  (family {spec.family}, version {spec.version})", "", spec.description, "", "Arguments"]
    for parameter in spec.parameters:
        need = "required" if parameter.required else f"default {json.dumps(parameter.default)}"
        lines.append(f"  {parameter.name} ({parameter.kind.name}, {need}): {parameter.meaning}")
    lines += ["", "Returns", *(f"  {f.name} ({f.kind}): {f.meaning}" for f in spec.outputs)]
    if spec.diagnostics:
        lines += ["", "Diagnostics", *(f"  {name}: {meaning}" for name, meaning in spec.diagnostics.items())]
    if spec.errors:
        lines += ["", "Errors", *(f"  {code}: {meaning}" for code, meaning in spec.errors.items())]
    if spec.near:
        lines += ["", f"Compare: {', '.join(spec.near)}"]
    call = {"tool_id": spec.tool_id, "input": spec.example}
    return "\n".join([*lines, "", "Example", f"  {json.dumps(call, ensure_ascii=False)}"])
