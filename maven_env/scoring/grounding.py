"""Which artifacts are supported: grounded (no number from nowhere) and rooted (computed from the given)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from maven_env.errors import ToolError
from maven_env.expressions import Node, Number, free_symbols, number_node, parse, to_text
from maven_env.expressions import replace as put
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.numeric import compile_complex, compile_real
from maven_env.references import PATTERN, follow, parse_reference
from maven_env.scoring.literals import Constant, Source, constants, is_structural, numbers_in, source_of
from maven_env.tools.registry import registry
from maven_env.types import Artifact, Json, Problem

NUDGES = (0.5, 0.01, -0.01, 1e-4)  # relative; the next one is tried where a value leaves the domain
MOVES = 1e-6  # relative change that counts as dependence, so that `2 + 1e-30*given` computes nothing


@dataclass(frozen=True)
class Support:
    """What supports the calls so far. `sources` are in order of appearance, so the latest is found first from the end."""

    sources: tuple[Source, ...]
    artifacts: Mapping[str, Artifact]
    grounded: frozenset[str] = frozenset({"given"})
    rooted: frozenset[str] = frozenset({"given"})
    ancestors: Mapping[str, frozenset[str]] = field(default_factory=lambda: {"given": frozenset()})
    unsupported: int = 0
    references: int = 0  # values taken by reference
    copies: int = 0  # values copied as literals

    def source(self, number: Fraction) -> str | None:
        """Return the latest artifact that showed `number`."""
        return next((s.step_id for s in reversed(self.sources) if s.shows(number)), None)

    def supports(self, constant: Constant) -> frozenset[str] | None:
        """Return where a constant comes from: nothing for a structural one, None if it comes from nowhere.

        Small integers that make up a number that is none are no support: 2 + 3/10 is 2.3 to whoever knows the answer.
        """
        if is_structural(constant.value):
            return frozenset()
        if found := self.source(constant.value):
            return frozenset({found})
        parts = [self.supports(literal) for literal in constant.literals]
        if any(part is None for part in parts):
            return None
        return frozenset[str]().union(*(part for part in parts if part)) or None


def initial_support(problem: Problem) -> Support:
    """Return what supports a first call: the given values and the numbers of the statement."""
    given = [constant.value for constant in constants(dict(problem.given.output))]
    stated = [number for text in problem.statement_numbers for number in numbers_in(text)]
    return Support((source_of("given", [*given, *stated]),), {"given": problem.given})


def extend(support: Support, artifact: Artifact) -> Support:
    """Return the support after one more call."""
    spec = registry().get(artifact.tool_id)
    exempt = frozenset(p.name for p in spec.parameters if p.steers) if spec else frozenset()
    found = [(constant, support.supports(constant)) for constant in constants(artifact.input, exempt)]
    bad = sum(sources is None for _, sources in found)
    copied = frozenset[str]().union(*(sources for _, sources in found if sources))
    parents = frozenset(artifact.parents) | copied
    changed = replace(
        support,
        unsupported=support.unsupported + bad,
        references=support.references + len(artifact.parents),
        copies=support.copies + sum(bool(sources) for _, sources in found),
    )
    if not artifact.persisted or artifact.step_id in support.artifacts:
        return changed
    lineage = parents.union(*(support.ancestors.get(parent, frozenset()) for parent in parents))
    grounded, rooted, sources = support.grounded, support.rooted, support.sources
    if artifact.ok and not bad and grounded.issuperset(artifact.parents):
        grounded = grounded | {artifact.step_id}
        shown = [c.value for c in constants([artifact.output, artifact.diagnostics])]
        sources = (*sources, source_of(artifact.step_id, shown))
        if parents & rooted and (not artifact.parents or depends(artifact, support.artifacts)):
            rooted = rooted | {artifact.step_id}
    return replace(
        changed,
        sources=sources,
        artifacts={**support.artifacts, artifact.step_id: artifact},
        grounded=grounded,
        rooted=rooted,
        ancestors={**support.ancestors, artifact.step_id: lineage},
    )


def depends(artifact: Artifact, artifacts: Mapping[str, Artifact]) -> bool:
    """Return whether the output moves when the referenced values do: `2 + 0*${given.output.T}` computes nothing.

    Asked of the tools that only evaluate; the roots of a polynomial rightly stay when it is scaled. The expression is
    evaluated twice at one point, once with every referenced value changed a little, each by a factor of its own.
    """
    spec = registry().get(artifact.tool_id)
    if spec is None or not spec.evaluates:
        return True
    try:
        reading = _Reading(artifacts)
        node = reading.whole(artifact.input)
        names = sorted(free_symbols(node))
        before = _value(node, names, [reading.at(name, 0.0) for name in names])
    except (ToolError, OverflowError, KeyError):
        return True  # no value at the point: nothing speaks against it
    for size in NUDGES:
        try:
            after = _value(node, names, [reading.at(name, size) for name in names])
        except (ToolError, OverflowError):
            continue
        return abs(before - after) > MOVES * abs(before)
    return True


class _Reading:
    """Reads the input of an evaluating tool with a symbol for each reference, so that their values can be moved."""

    def __init__(self, artifacts: Mapping[str, Artifact]) -> None:
        self._artifacts = artifacts
        self._references: dict[str, tuple[Node, float]] = {}  # symbol -> value, spread of its nudge

    def whole(self, given: Mapping[str, Json]) -> Node:
        values = given.get("subs") or given.get("quantities") or {}
        if isinstance(values, list):
            values = {item["name"]: item["value"] for item in values}
        return put(self._read(given["expr"]), {name: self._read(value) for name, value in values.items()})

    def at(self, name: str, size: float) -> float:
        """Return the value of a symbol, a reference moved by about the relative `size`, each by a factor of its own.

        Free symbols are positive, of order one, fixed by their names.
        """
        if name not in self._references:
            return 0.5 + zlib.crc32(name.encode()) % 997 / 613
        node, spread = self._references[name]
        return _double(node) * (1 + size * spread)

    def _read(self, value: Json) -> Node:
        if not isinstance(value, str):
            return number_node(_number(value))
        return parse(PATTERN.sub(lambda match: f"({self._symbol(match[1])})", _magnitude(value.strip())))

    def _symbol(self, body: str) -> str:
        """Return what stands for a reference: a symbol for a number, the text itself for an expression."""
        reference = parse_reference(body)
        value = follow(self._artifacts[reference.step_id], reference.path)
        if isinstance(value, Mapping):
            value = value.get("value")
        node = parse(value) if isinstance(value, str) else number_node(_number(value))
        name = f"ref{zlib.crc32(str(reference).encode())}"
        spread = 1 + zlib.crc32(str(reference).encode()) % 89 / 97  # the same reference, the same factor
        if free_symbols(node):
            self._references[name] = (Number(Fraction(1)), spread)
            return f"{name}*({to_text(node)})"
        self._references[name] = (node, spread)
        return name


@lru_cache(maxsize=8_192)
def _double(node: Node) -> float:
    return nearest_double(node)


def _value(node: Node, names: list[str], point: list[float]) -> complex:
    try:
        return complex(compile_real(node, names)(*point))
    except ToolError:
        return compile_complex(node, names)(*point)


def _number(value: Json) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ToolError("BAD_INPUT", "no number")
    return value


def _magnitude(text: str) -> str:
    """Return the number of a quantity such as `3.2 m/s`; other text as it is."""
    head, _, unit = text.partition(" ")
    is_quantity = bool(unit) and (head[:1].isdigit() or head.startswith("${")) and unit[:1].isalpha()
    return head if is_quantity else text
