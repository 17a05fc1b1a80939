"""Run every tool's example and every template's canonical path, and write what came of them as JSON to standard output.

    python tests/tools/reproduction.py [examples] [templates]

The record holds each artifact, and the fuel of each guarded call in order.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fuzzing import furnished_store

from maven_env.execution.guard import Guard, Limits, Outcome
from maven_env.execution.memo import Memo
from maven_env.problems import library
from maven_env.problems.drawing import draw
from maven_env.problems.instantiation import build, run_patch
from maven_env.problems.paths import exists_in
from maven_env.problems.template import Patch, Template
from maven_env.tools.registry import registry
from maven_env.tools.toolbox import Toolbox
from maven_env.types import ToolCall


class MeasuringGuard(Guard):
    """A guard that keeps the outcome of each call."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits=limits or Limits())
        self.outcomes: list[tuple[str, Outcome]] = []

    def call(self, request: Any, *arguments: Any, **options: Any) -> Outcome:
        outcome = super().call(request, *arguments, **options)
        self.outcomes.append((json.dumps(request, sort_keys=True), outcome))
        return outcome


def example_records(toolbox: Toolbox) -> Iterator[tuple[str, Any]]:
    """Yield (tool, artifact) of every example."""
    store = furnished_store()
    for spec in registry().values():
        yield spec.tool_id, toolbox.call(ToolCall(spec.tool_id, spec.example), store).to_json()


def path_records(
    template: Template, toolbox: Toolbox, seeds: tuple[int | str, ...] = (0,), *, mistakes: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield (draw, path and step, artifact) of the canonical path in every regime; with `mistakes` of all others too.

    The others are the declared paths and the pitfalls.
    """
    for regime in template.regimes:
        patches = {"canonical": Patch()}
        if mistakes:
            patches |= {name: path for name, path in template.paths.items() if exists_in(path.regimes, regime)}
            patches |= {p.name: p.mistake for p in template.pitfalls if exists_in(tuple(p.regimes), regime)}
        for seed in seeds:
            drawn = draw(template, regime, seed)
            given = build(template, regime, drawn, toolbox, drawn.key).given
            for name, patch in patches.items():
                for step, artifact in run_patch(template, regime, given, patch, name, toolbox).artifacts.items():
                    yield f"{drawn.key} {name} {step}", artifact.to_json()


def record(parts: list[str]) -> dict[str, Any]:
    guard = MeasuringGuard()
    toolbox = Toolbox(Memo(), guard)
    found: dict[str, Any] = {}
    if "examples" in parts:
        found |= dict(example_records(toolbox))
    if "templates" in parts:
        for template_id in library.template_files():
            found |= dict(path_records(library.template(template_id), toolbox))
    guard.close()
    return {"artifacts": found, "fuel": [[request, outcome.fuel] for request, outcome in guard.outcomes]}


if __name__ == "__main__":
    json.dump(record(sys.argv[1:] or ["examples", "templates"]), sys.stdout, allow_nan=False)
