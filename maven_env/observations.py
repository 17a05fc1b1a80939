"""What the agent sees: the problem at the start, artifacts after calls, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import parse, rational_value
from maven_env.expressions.numeric import float_of
from maven_env.protocol import rules
from maven_env.tools.registry import ToolSpec
from maven_env.types import Artifact, Json, JsonObject, Problem


@dataclass(frozen=True)
class View:
    """What is shown. The switches serve studies of what helps an agent; scoring never depends on them."""

    detail: Literal["compact", "full"] = "compact"
    show_diagnostics: bool = True
    show_provenance: bool = True
    references: bool = True
    numbers: Literal["exact", "decimal"] = "exact"
    max_length: int = 200_000

    def problem(self, problem: Problem, tools: Mapping[str, ToolSpec], max_steps: int) -> str:
        """Write the first observation."""
        given = {
            name: {"value": self._numbers(value), "unit": problem.given.units.get(name, "")}
            | ({"meaning": problem.meanings[name]} if name in problem.meanings else {})
            for name, value in problem.given.output.items()
        }
        questions = [
            {"label": q.label, "form": q.form}
            | ({"unit": q.unit} if q.unit else {})
            | ({"rtol": q.rtol} if q.rtol else {})
            | ({"atol": q.atol} if q.atol else {})
            | ({"vocabulary": list(q.vocabulary)} if q.vocabulary else {})
            for q in problem.sub_questions
        ]
        return dump(
            {
                "problem_id": problem.problem_id,
                "statement": problem.statement,
                "sub_questions": questions,
                "given": given,
                "tools": [f"{spec.signature()}: {spec.purpose}" for spec in tools.values()],
                "rules": rules(references=self.references),
                "max_steps": max_steps,
            }
        )

    def artifact(self, artifact: Artifact) -> str:
        """Write the observation after a call; what is too long to show is cut and says so."""
        record = artifact.record()
        if self.detail == "compact":
            record = {key: record[key] for key in ("ok", "result_id", "step_id", "output", "diagnostics", "error")}
            if record["error"] is None:
                del record["error"]
        if not self.show_diagnostics:
            record.pop("diagnostics")
        if not self.show_provenance:
            record.pop("provenance", None)
        record["output"] = self._numbers(record["output"])
        text = dump(record)
        if len(text) > self.max_length:
            record["output"] = {key: _cut(value) for key, value in record["output"].items()}
            record["cut"] = "values too long to show were shortened; the artifact holds them whole"
            record.pop("resolved_input", None)
            record.pop("input", None)
            text = dump(record)
        return text if len(text) <= self.max_length else dump(_summary(artifact))

    def _numbers(self, value: Json) -> Json:
        if self.numbers == "exact":
            return value
        if isinstance(value, Mapping):
            return {key: self._numbers(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._numbers(item) for item in value]
        return _decimal(value) if isinstance(value, str) else value


def dump(record: JsonObject) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _decimal(text: str) -> Json:
    """Return an exact fraction in text as the nearest double; integers and everything else stay."""
    try:
        value = rational_value(parse(text))
    except ToolError:
        return text
    return text if value is None or value.denominator == 1 else float_of(value)


def _cut(value: Any, size: int = 2_000) -> Json:
    text = dump(value) if not isinstance(value, str) else value
    return value if len(text) <= size else f"{text[:size]}... ({len(text)} characters)"


def _summary(artifact: Artifact) -> JsonObject:
    return {
        "ok": artifact.ok,
        "result_id": artifact.result_id,
        "step_id": artifact.step_id,
        "output": {key[:100]: "too long to show" for key in list(artifact.output)[:100]},
        "diagnostics": {},
        "error": None
        if artifact.error is None
        else {"code": artifact.error.code, "message": artifact.error.message[:500]},
    }
