"""Agents by name. A factory makes one agent for one episode; names are imported when they are asked for."""

from __future__ import annotations

import importlib
from difflib import get_close_matches

from maven_env.errors import ConfigurationError
from maven_env.types import Agent, ChatModel

AGENTS = {
    "oracle": "maven_agents.scripted:Oracle",
    "memoriser": "maven_agents.scripted:Memoriser",
    "random": "maven_agents.scripted:RandomCalls",
    "lucky": "maven_agents.scripted:Lucky",
    "no-op": "maven_agents.scripted:NoOp",
    "direct": "maven_agents.direct:DirectAgent",
}
BUILT_IN = ("oracle", "memoriser", "random", "lucky", "no-op")


def make(name: str, model: ChatModel | None = None) -> Agent:
    """Return a fresh agent. Raises ConfigurationError for an unknown name, or a chat agent without a model."""
    if name not in AGENTS:
        near = get_close_matches(name, AGENTS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"there is no agent {name!r}; known: {', '.join(AGENTS)}{hint}")
    module, _, attribute = AGENTS[name].partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    if name in BUILT_IN:
        agent: Agent = factory()
        return agent
    if model is None:
        raise ConfigurationError(f"the agent {name!r} needs a model; give --model and --base-url")
    chat: Agent = factory(model)
    return chat
