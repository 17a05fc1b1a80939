"""The bare model: the problem, then artifacts, as chat messages; whatever it answers is the action."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from maven_env.protocol import from_native
from maven_env.types import ChatModel, Json, Usage


class DirectAgent:
    """Sends the whole conversation each time and passes the reply on unchanged.

    With `native_tools` the tools go through the API's own tool calling, and native calls are written in the wrapper, so
    that one parser judges both ways alike.
    """

    def __init__(self, model: ChatModel, *, native_tools: bool = False) -> None:
        self.model = model
        self.native_tools = native_tools
        self.usage: Usage | None = None
        self._messages: list[Mapping[str, Json]] = []
        self._tools: list[Mapping[str, Json]] = []

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        if not self._messages:
            self._messages.append({"role": "system", "content": prompt("direct")})
            if self.native_tools:
                self._tools = [_function(tool) for tool in json.loads(info["tools"])]
        self._messages.append({"role": "user", "content": observation})
        reply = self.model.complete(self._messages, self._tools)
        self.usage = reply.usage
        text = from_native(reply.tool_calls, reply.content)
        self._messages.append({"role": "assistant", "content": text})
        return text


def prompt(name: str) -> str:
    """Return a prompt of this package."""
    return (files("maven_agents") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _function(tool: Mapping[str, Json]) -> Mapping[str, Json]:
    function = {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
    return {"type": "function", "function": function}
