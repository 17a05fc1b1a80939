"""References to artifacts: `${step-01.output.roots[0]}`, one syntax for calls, answers and templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maven_env.errors import BadReference
from maven_env.types import Artifact, Json

PATTERN = re.compile(r"\$\{([^{}]{1,200})\}")
_FORM = re.compile(r"([A-Za-z][\w-]*)\.((?:output|diagnostics|units|input)(?:\.[\w-]+|\[\d{1,6}\])*)", re.ASCII)
_PART = re.compile(r"\.?([\w-]+)|\[(\d+)\]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reference:
    """A step id and a path into its artifact."""

    step_id: str
    path: str

    def __str__(self) -> str:
        return f"${{{self.step_id}.{self.path}}}"


def parse_reference(body: str) -> Reference:
    """Read the text between the braces. Raises BadReference with the right form."""
    match = _FORM.fullmatch(body.strip())
    if match is None:
        raise BadReference(f"${{{body}}} is no reference", "write ${step-01.output.expr} or ${step-01.output.roots[0]}")
    return Reference(match[1], match[2])


def is_reference(value: Json) -> bool:
    """Return whether `value` is a string that is exactly one reference."""
    return isinstance(value, str) and value.startswith("${") and PATTERN.fullmatch(value.strip()) is not None


def references_in(value: Json) -> tuple[str, ...]:
    """Return the step ids that a JSON value refers to, in order, each once."""
    found: dict[str, None] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            for match in PATTERN.finditer(item):
                found.setdefault(match[1].strip().partition(".")[0])
        elif isinstance(item, Mapping):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
    return tuple(found)


def follow(artifact: Artifact, path: str) -> Json:
    """Return the value at `path`, such as `output.roots[0]`. Raises BadReference that lists what exists."""
    value: Any = {
        "output": artifact.output,
        "diagnostics": artifact.diagnostics,
        "units": artifact.units,
        "input": artifact.resolved_input if artifact.resolved_input is not None else artifact.input,
    }
    walked = ""
    for name, index in _PART.findall(path):
        if name:
            if not isinstance(value, Mapping) or name not in value:
                raise BadReference(f"{artifact.step_id} has no {path}", _what_exists(artifact.step_id, walked, value))
            value, walked = value[name], f"{walked}.{name}" if walked else name
        else:
            if not isinstance(value, list | tuple) or int(index) >= len(value):
                raise BadReference(f"{artifact.step_id} has no {path}", _what_exists(artifact.step_id, walked, value))
            value, walked = value[int(index)], f"{walked}[{index}]"
    return value


def _what_exists(step_id: str, walked: str, value: Any) -> str:
    place = f"{step_id}.{walked}" if walked else step_id
    if isinstance(value, Mapping):
        return f"{place} has: {', '.join(map(str, value)) or 'nothing'}"
    if isinstance(value, list | tuple):
        return f"{place} is a list of {len(value)}" + (f", [0] to [{len(value) - 1}]" if value else "")
    return f"{place} is a single value"
