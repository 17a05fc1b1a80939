"""MavenBench: a Gymnasium environment for agents that solve mathematics and physics by tool calls.

Importing this package registers `MavenBench-v0` and imports neither sympy, scipy nor pint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

__version__ = "0.1.0"

if TYPE_CHECKING:
    from maven_env.env import MavenBenchEnv
    from maven_env.problems.library import problem
    from maven_env.scoring import score
    from maven_env.spaces import ToolText
    from maven_env.types import Artifact, Completion, Problem, Score, ToolCall, Trace, Violation

_HOMES = {
    "Artifact": "maven_env.types",
    "Completion": "maven_env.types",
    "MavenBenchEnv": "maven_env.env",
    "Problem": "maven_env.types",
    "Score": "maven_env.types",
    "ToolCall": "maven_env.types",
    "ToolText": "maven_env.spaces",
    "Trace": "maven_env.types",
    "Violation": "maven_env.types",
    "problem": "maven_env.problems.library",
    "score": "maven_env.scoring",
}

__all__ = [
    "Artifact",
    "Completion",
    "MavenBenchEnv",
    "Problem",
    "Score",
    "ToolCall",
    "ToolText",
    "Trace",
    "Violation",
    "problem",
    "score",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


gymnasium.register(id="MavenBench-v0", entry_point="maven_env.env:MavenBenchEnv")
