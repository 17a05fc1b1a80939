"""Read a template file, and refuse a broken one with file, line, place and reason."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from maven_env.errors import TemplateError
from maven_env.problems import strict_yaml
from maven_env.problems.consistency import check
from maven_env.problems.faults import Fault, fault_of
from maven_env.problems.template import Template


def load(file: Path) -> Template:
    """Read one template file. Raises TemplateError: `file:line: place: reason` of the first fault."""
    data, text = strict_yaml.read(file)
    if not isinstance(data, dict):
        raise TemplateError(f"{file}:1: expected the keys of a template, got {type(data).__name__}")
    try:
        template = _validated(data)
        check(template)
        if file.stem != template.id.partition("/")[2] or file.parent.name != template.domain:
            raise Fault(f"the file must stand as {template.id}.yaml", "id")
    except Fault as fault:
        line = strict_yaml.line_of(text, fault.location)
        place = ".".join(map(str, fault.location))
        raise TemplateError(f"{file}:{line}: {place}: {fault.reason}") from None
    return template


def _validated(data: dict[str, object]) -> Template:
    try:
        return Template.model_validate(data)
    except ValidationError as error:
        raise fault_of(error) from None
