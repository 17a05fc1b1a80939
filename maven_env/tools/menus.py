"""Which tools an agent is offered: a domain's set with its near-duplicates, a small set for one problem, or all."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Literal

from maven_env.errors import ConfigurationError
from maven_env.tools.registry import ToolSpec, registry
from maven_env.types import Problem

Offer = Literal["domain", "problem", "all"]
OFFERS: tuple[Offer, ...] = ("domain", "problem", "all")
SMALL = 24  # tools offered for one problem

_COMMON = ("symbolic", "equations", "calculus", "numeric", "verification", "state")
_OF_DOMAIN: Mapping[str, tuple[str, ...]] = {
    "calculus": (*_COMMON, "optimisation", "transforms"),
    "algebra": (*_COMMON, "linear_algebra", "optimisation"),
    "linear_algebra": (*_COMMON, "linear_algebra", "statistics", "units"),
    "classical_mechanics": (*_COMMON, "units", "ode", "optimisation", "statistics", "linear_algebra"),
    "thermodynamics": (*_COMMON, "units", "ode", "optimisation", "statistics"),
    "electromagnetism": (*_COMMON, "units", "ode", "optimisation", "linear_algebra", "transforms"),
    "applied_mathematics": (*_COMMON, "ode", "optimisation", "statistics", "linear_algebra", "transforms", "units"),
}


def is_of_domain(tool_id: str, domain: str) -> bool:
    """Return whether a tool belongs to the set of a domain. Raises KeyError for an unknown tool or domain."""
    return registry()[tool_id].family in _OF_DOMAIN[domain]


def offered(problem: Problem, offer: Offer) -> Mapping[str, ToolSpec]:
    """Return the tools that an agent is offered for `problem`, in the registry's order.

    `problem` takes what the problem's paths need plus distractors of its domain, drawn by the problem's key, with
    near-duplicates of the needed ones first.
    """
    tools = registry()
    if offer == "all":
        return tools
    needed = {step.tool for path in problem.reference.paths.values() for step in path.steps.values()}
    domain = {name: spec for name, spec in tools.items() if is_of_domain(name, problem.domain) or name in needed}
    if offer == "domain":
        return domain
    if offer != "problem":
        raise ConfigurationError(f"tools={offer!r} is not known; choose one of {', '.join(OFFERS)}")
    near = {other for name in needed for other in tools[name].near if other in domain}
    rng = random.Random(problem.key)
    chosen = set(needed)
    for pool in (sorted(near - needed), sorted(set(domain) - near - needed)):
        rng.shuffle(pool)
        chosen.update(pool[: max(0, SMALL - len(chosen))])
    return {name: spec for name, spec in domain.items() if name in chosen}
