"""YAML that cannot surprise: data only, no repeated keys, no `yes` for true, no dates or octals, and lines for errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from maven_env.errors import TemplateError

_AMBIGUOUS = {"yes", "no", "on", "off"}


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2's plain scalars: `1e-9` is a number, `2024-01-01` and `0o17` are text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"null|~", "n~"),
    ("bool", r"true|false", "tf"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-+0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first))


def _mapping(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        line = key_node.start_mark.line + 1
        if key_node.tag == "tag:yaml.org,2002:merge" or key_node.value == "<<":
            raise TemplateError(f"line {line}: merge keys are not read; write the entries out")
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int):
            raise TemplateError(f"line {line}: a key must be text, got {key!r}")
        if key in seen:
            raise TemplateError(f"line {line}: the key {key!r} stands twice")
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


def _text(loader: _Loader, node: yaml.ScalarNode) -> str:
    if node.style is None and node.value.lower() in _AMBIGUOUS:
        raise TemplateError(
            f'line {node.start_mark.line + 1}: write "{node.value}" in quotes; bare it reads as a boolean'
        )
    return str(node.value)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:str", _text)


def read(file: Path) -> tuple[Any, str]:
    """Return the data of a YAML file and its text. Raises TemplateError with file, line and reason."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{file}: cannot be read as UTF-8 text: {error}") from None
    try:
        return yaml.load(text, _Loader), text
    except TemplateError as error:
        raise TemplateError(f"{file}: {error}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise TemplateError(f"{file}:{line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise TemplateError(f"{file}: {str(error)[:300]}") from None


def line_of(text: str, location: Sequence[str | int]) -> int:
    """Return the line of the entry at `location`, or of the nearest entry around it."""
    node, line = yaml.compose(text, _Loader), 1
    for key in location:
        if isinstance(node, yaml.MappingNode):
            match = [(k, v) for k, v in node.value if k.value == str(key)]
            if not match:
                continue  # a name that the model adds, such as the arm of a union
            line, node = match[0][0].start_mark.line + 1, match[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
            line = node.start_mark.line + 1
    return line
