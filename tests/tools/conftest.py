"""Calling one tool as an agent would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maven_env.artifacts import MemoryStore
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall

Call = Callable[..., Artifact]


@pytest.fixture
def call(toolbox: Toolbox) -> Call:
    """Return `call(tool_id, **input)`, which executes one call on an empty store."""

    def execute(tool_id: str, **given: Any) -> Artifact:
        return toolbox.call(ToolCall(tool_id, given), MemoryStore("test"))

    return execute
