"""Agents for MavenBench: scripted baselines that need no model, and chat agents for any OpenAI-compatible endpoint."""

from maven_agents.registry import AGENTS, BUILT_IN, make

__all__ = ["AGENTS", "BUILT_IN", "make"]
