"""Which artifacts are supported: grounded (no number from nowhere) and rooted (computed from the given)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from maven_env.errors import ToolError
from maven_env.expressions import (
    Negative,
    Node,
    Number,
    Quotient,
    Relation,
    Symbol,
    difference,
    free_symbols,
    number_node,
    parse,
    parse_relation,
    rational_value,
    to_text,
)
from maven_env.expressions import replace as put
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.numeric import compile_complex, compile_real
from maven_env.expressions.tree import rebuild
from maven_env.references import PATTERN, follow, parse_reference
from maven_env.scoring.literals import (
    OPTION_DIGITS,
    SMALL_LITERALS,
    Constant,
    Source,
    constants,
    is_structural,
    numbers_in,
    significant_digits,
    small_literals,
    source_of,
)
from maven_env.tools.registry import registry
from maven_env.types import Artifact, Json, Problem

NUDGES = (0.5, 0.01, -0.01, 1e-4)  # relative; the next one is tried where a value leaves the domain
MOVES = 1e-6  # relative change that counts as dependence, so that `2 + 1e-30*given` computes nothing


@dataclass(frozen=True)
class Support:
    """What supports the calls so far. `sources` are in order of appearance: the latest stands last."""

    sources: tuple[Source, ...]
    artifacts: Mapping[str, Artifact]
    grounded: frozenset[str] = frozenset({"given"})
    rooted: frozenset[str] = frozenset({"given"})
    ancestors: Mapping[str, frozenset[str]] = field(default_factory=lambda: {"given": frozenset()})
    unsupported: int = 0
    references: int = 0  # values taken by reference
    copies: int = 0  # values copied as literals

    def match(self, number: Fraction) -> Fraction | None:
        """Return the magnitude that the latest artifact with `number` shows for it."""
        return next((found for s in reversed(self.sources) if (found := s.match(number)) is not None), None)

    def source(self, number: Fraction) -> str | None:
        """Return the latest artifact that showed `number`."""
        return next((s.step_id for s in reversed(self.sources) if s.shows(number)), None)

    def holders(self, number: Fraction) -> frozenset[str]:
        """Return every artifact that a literal may have been copied from: a cross-check shows the same value again."""
        value = self.match(number)
        return frozenset(s.step_id for s in self.sources if value is not None and value in s.exact)

    def supports(self, constant: Constant) -> frozenset[str] | None:
        """Return where a constant comes from: nothing for a structural one, None if it comes from nowhere.

        Small integers that make up a number that is none are no support: 2 + 3/10 is 2.3 to whoever knows the answer.
        """
        if is_structural(constant.value):
            return frozenset()
        if found := self.holders(constant.value):
            return found
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
    bad = sum(sources is None for _, sources in found) + _disguised(support, artifact, exempt)
    copied = frozenset[str]().union(*(sources for _, sources in found if sources))
    is_look = spec is not None and spec.kind == "state"
    parents = frozenset(artifact.parents) | copied
    changed = replace(
        support,
        unsupported=support.unsupported + bad,
        references=support.references + (0 if is_look else len(artifact.parents)),
        copies=support.copies + sum(bool(sources) for _, sources in found),
    )
    if not artifact.persisted or artifact.step_id in support.artifacts:
        return changed
    lineage = parents.union(*(support.ancestors.get(parent, frozenset()) for parent in parents))
    grounded, rooted, sources = support.grounded, support.rooted, support.sources
    if artifact.ok and not bad and grounded.issuperset(artifact.parents):
        grounded = grounded | {artifact.step_id}
        if not is_look:  # what a look at the state shows has its source elsewhere
            echoed = _echoed(artifact, exempt)
            shown = (c.value for c in constants([artifact.output, artifact.diagnostics]))
            sources = (*sources, source_of(artifact.step_id, (value for value in shown if value not in echoed)))
        if parents & rooted and depends(artifact, support):
            rooted = rooted | {artifact.step_id}
    return replace(
        changed,
        sources=sources,
        artifacts={**support.artifacts, artifact.step_id: artifact},
        grounded=grounded,
        rooted=rooted,
        ancestors={**support.ancestors, artifact.step_id: lineage},
    )


def _disguised(support: Support, artifact: Artifact, options: frozenset[str]) -> int:
    """Count the values that come in disguise: in an option, as the echo of an option, or digit by digit."""
    steering = constants({name: value for name, value in artifact.input.items() if name in options})
    count = sum(_has_many_digits(c.value) and support.supports(c) is None for c in steering)
    for match in PATTERN.finditer(str(dict(artifact.input))):
        reference = parse_reference(match[1])
        source = support.artifacts.get(reference.step_id)
        spec = registry().get(source.tool_id) if source is not None else None
        if source is None or spec is None:
            continue
        echoed = _echoed(source, frozenset(p.name for p in spec.parameters if p.steers))
        values = [c.value for c in constants(follow(source, reference.path))] if artifact.ok else []
        count += any(abs(v) in echoed and not is_structural(v) and support.source(v) is None for v in values)
    return count + (small_literals(artifact.input, options) > SMALL_LITERALS)


def _echoed(artifact: Artifact, options: frozenset[str]) -> frozenset[Fraction]:
    """Return the numbers of the options of a call: where its output shows them, nothing was computed."""
    given = artifact.resolved_input or {}
    return frozenset(abs(c.value) for c in constants({n: v for n, v in given.items() if n in options}))


def _has_many_digits(value: Fraction) -> bool:
    digits = significant_digits(abs(value))
    return not is_structural(value) and (digits is None or digits > OPTION_DIGITS)


def depends(artifact: Artifact, support: Support) -> bool:
    """Return whether what is computed moves with the values that it is computed from.

    `2 + 0*${given.output.T}` computes nothing. A tool that only evaluates is asked as a whole, its substitutions put
    in; of any other tool each expression that holds a reference is asked. They are evaluated at one point, and again
    with every referenced value changed, each by a factor of its own. A copied literal moves with the reference that it
    is a copy of, so that `${given.output.C} - 1107/100 + 2` does not pass by moving one of two equal terms.
    """
    spec = registry().get(artifact.tool_id)
    if spec is None:
        return True
    if spec.evaluates and "expr" in artifact.input:
        return _moves(_Reading(support), lambda reading: reading.whole(artifact.input))
    return all(
        _moves(_Reading(support), lambda reading, text=text: reading.read(text))  # type: ignore[misc]
        for text in _mixed(artifact.input)
    )


def _mixed(value: Json) -> Iterator[str]:
    """Yield the strings that hold a reference among other text."""
    if isinstance(value, str):
        if PATTERN.search(value) and not PATTERN.fullmatch(value.strip()):
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _mixed(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _mixed(item)


def _moves(reading: _Reading, read: Callable[[_Reading], Node]) -> bool:
    try:
        node = read(reading)
        if isinstance(node, Relation):
            node = difference(node)
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
    """Reads expressions with a symbol for each value that comes from somewhere, so that values can be moved."""

    def __init__(self, support: Support) -> None:
        self._support = support
        self._values: dict[str, Fraction | float] = {}  # symbol -> value at the point
        self._copies: dict[Fraction, str] = {}  # magnitude -> the symbol that a copy of it gets

    def whole(self, given: Mapping[str, Json]) -> Node:
        """Return the expression of an evaluating tool with its substitutions put in."""
        values = given.get("subs") or given.get("quantities") or {}
        if isinstance(values, list):
            values = {item["name"]: item["value"] for item in values}
        for match in PATTERN.finditer(str(given)):
            self._reference(match[1])  # known before the literals, which may be copies of them
        return put(self.read(given["expr"]), {name: self.read(value) for name, value in values.items()})

    def read(self, value: Json) -> Node:
        if not isinstance(value, str):
            return self._literal(number_node(_number(value)))
        text = PATTERN.sub(lambda match: f"({self._reference(match[1])})", _magnitude(value.strip()))
        return self._literal(parse_relation(text))

    def at(self, name: str, size: float) -> float:
        """Return the value of a symbol, moved by about the relative `size`; free symbols are positive, of order one."""
        if name not in self._values:
            return 0.5 + zlib.crc32(name.encode()) % 997 / 613
        spread = 1 + zlib.crc32(name.encode()) % 89 / 97
        return float(self._values[name]) * (1 + size * spread)

    def _reference(self, body: str) -> str:
        """Return what stands for a reference: a symbol for a number; an expression moves as a whole."""
        reference = parse_reference(body)
        value = follow(self._support.artifacts[reference.step_id], reference.path)
        if isinstance(value, Mapping):
            value = value.get("value")
        node = parse(value) if isinstance(value, str) else number_node(_number(value))
        if free_symbols(node):
            name = f"ref{zlib.crc32(to_text(node).encode())}"
            self._values[name] = 1 + zlib.crc32(to_text(node).encode()) % 83 / 997
            return f"{name}*({to_text(node)})"
        exact = rational_value(node)
        number = Fraction(_double(node)) if exact is None else exact
        name = f"ref{zlib.crc32(str(reference).encode())}"
        self._values[name] = abs(number)
        self._copies.setdefault(abs(number), name)
        return name if number >= 0 else f"-{name}"

    def _literal(self, node: Node) -> Node:
        """Put symbols for the literals that were copied from somewhere."""
        exact = rational_value(node) if isinstance(node, Number | Quotient | Negative) else None
        if exact is not None and (isinstance(node, Number) or not _has_parts(node)):
            copied = None if is_structural(exact) else self._support.match(exact)
            if copied is None:
                return node
            name = self._copies.get(copied, f"val{zlib.crc32(str(copied).encode())}")
            if self._is_shown_twice(copied):
                name += f"_{len(self._values)}"  # a copy of either quantity: nothing says which
            self._values.setdefault(name, copied)
            return Symbol(name) if exact >= 0 else Negative(Symbol(name))
        return rebuild(node, self._literal)

    def _is_shown_twice(self, value: Fraction) -> bool:
        given = self._support.artifacts["given"].output.values()
        return sum(constant.value == value for text in given for constant in constants(text)) > 1


def _has_parts(node: Node) -> bool:
    """Return whether a closed node is more than one number or fraction."""
    inner = node.operand if isinstance(node, Negative) else node
    if isinstance(inner, Quotient):
        top = inner.numerator.operand if isinstance(inner.numerator, Negative) else inner.numerator
        return not (isinstance(top, Number) and isinstance(inner.denominator, Number))
    return not isinstance(inner, Number)


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
