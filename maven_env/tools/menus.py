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

_COMMON = (
    "symbolic", "equations", "polynomials", "calculus", "numeric", "roots", "verification", "state",
)  # fmt: skip
_PHYSICS = (*_COMMON, "units", "quadratures", "ode", "optimisation", "statistics", "linear_algebra")
_OF_DOMAIN: Mapping[str, tuple[str, ...]] = {
    "calculus": (*_COMMON, "quadratures", "series", "optimisation", "vector_calculus", "transforms"),
    "algebra": (*_COMMON, "series", "linear_algebra", "optimisation"),
    "linear_algebra": (*_COMMON, "linear_algebra", "eigenvalues", "statistics", "units"),
    "classical_mechanics": (*_PHYSICS, "eigenvalues", "vector_calculus"),
    "thermodynamics": (*_PHYSICS, "series", "vector_calculus"),
    "electromagnetism": (*_PHYSICS, "vector_calculus", "transforms", "series", "eigenvalues"),
    "applied_mathematics": (*_PHYSICS, "transforms", "series", "eigenvalues", "vector_calculus"),
}


def offered(problem: Problem, offer: Offer) -> Mapping[str, ToolSpec]:
    """Return the tools that an agent is offered for `problem`, in the registry's order.

    `problem` takes what the problem's paths need plus distractors of its domain, drawn by the problem's key, with
    near-duplicates of the needed ones first.
    """
    tools = registry()
    if offer == "all":
        return tools
    families = set(_OF_DOMAIN[problem.domain])
    needed = {step.tool for path in problem.reference.paths.values() for step in path.steps.values()}
    domain = {name: spec for name, spec in tools.items() if _group(spec.family) in families or name in needed}
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


def _group(family: str) -> str:
    """Return the family that a module belongs to; a large family stands in several modules named after it."""
    return _GROUPS.get(family, family)


_GROUPS: dict[str, str] = {
    **dict.fromkeys(
        ("conditioning", "signs", "extrema", "comparisons", "refinements", "trajectories", "unit_checks"),
        "verification",
    ),
    "symbolic_odes": "ode",
}
