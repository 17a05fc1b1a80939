"""YAML that cannot surprise: data only, no repeated keys, no `yes` for true, no octals, and lines for errors."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from maven_env.errors import TemplateError

_AMBIGUOUS = {"yes", "no", "on", "off"}
_INT_CHARACTERS = 41


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2's plain scalars: `1e-9` is a number, `2024-01-01` and `0o17` are text. No aliases."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _Refused(self.current_event, "aliases are not read; write the entries out")
        return super().compose_node(parent, index)


_CORE = {
    "null": (r"null|~", "n~"),
    "bool": (r"true|false", "tf"),
    "int": (r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    "float": (r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-+0123456789"),
}
_Loader.yaml_implicit_resolvers = {}
for _tag, (_pattern, _first) in _CORE.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first))


class _Refused(ValueError):
    """Content that YAML allows and templates do not, in a node or event of the file."""

    def __init__(self, node: Any, reason: str) -> None:
        super().__init__(reason)
        self.line: int = node.start_mark.line + 1


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    seen: set[str] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge" or key_node.value == "<<":
            raise _Refused(key_node, "merge keys are not read; write the entries out")
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise _Refused(key_node, f"a key must be text, got {key!r}; write it in quotes")
        if key in seen:
            raise _Refused(key_node, f"the key {key!r} stands twice")
        seen.add(key)
    return {str(key): value for key, value in loader.construct_mapping(node, deep=True).items()}


def _sequence(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    return loader.construct_sequence(node, deep=True)


def _text(loader: _Loader, node: yaml.ScalarNode) -> str:
    if node.style is None and node.value.lower() in _AMBIGUOUS:
        raise _Refused(node, f'write "{node.value}" in quotes; bare it reads as a boolean')
    return str(node.value)


def _plain(tag: str, node: yaml.ScalarNode) -> str:
    if not re.fullmatch(_CORE[tag][0], node.value):
        raise _Refused(node, f"{node.value[:60]!r} is no {tag}")
    return str(node.value)


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = _plain("int", node)
    if len(text) > _INT_CHARACTERS:
        raise _Refused(node, "an integer has at most 40 digits")
    return int(text)


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    value = float(_plain("float", node))
    if not math.isfinite(value):
        raise _Refused(node, f"{node.value[:60]!r} is beyond the range of a double")
    return value


_Loader.yaml_constructors = {
    "tag:yaml.org,2002:null": lambda loader, node: None,
    "tag:yaml.org,2002:bool": lambda loader, node: _plain("bool", node) == "true",
    "tag:yaml.org,2002:int": _int,
    "tag:yaml.org,2002:float": _float,
    "tag:yaml.org,2002:str": _text,
    "tag:yaml.org,2002:seq": _sequence,
    "tag:yaml.org,2002:map": _mapping,
    None: yaml.SafeLoader.construct_undefined,
}


def read(file: Path) -> tuple[Any, str]:
    """Return the data of a YAML file and its text. Raises TemplateError with file, line and reason."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{file}:1: cannot be read as UTF-8 text: {error}") from None
    try:
        return yaml.load(text, _Loader), text
    except _Refused as error:
        line, reason = error.line, str(error)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, reason = mark.line + 1 if mark else 1, error.problem or error.context or "no YAML"
    except yaml.reader.ReaderError as error:
        line, reason = text.count("\n", 0, error.position) + 1, f"the character {error.character!r} is not allowed"
    except RecursionError:
        line, reason = 1, "the content is nested too deeply"
    raise TemplateError(f"{file}:{line}: {reason}")


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
