"""Solution sets of one equation: candidates put back, filtered by domain and interval, periodic families listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, Relation, difference, free_symbols, number_node, to_text
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import Call, Negative, Number, Power, Product, Sum, rational_value, walk
from maven_env.tools.equations.assumed_signs import assumed, sign_under
from maven_env.tools.equations.branches import Branch, Unsolved, tidied
from maven_env.tools.equations.candidates import BITS, Candidate, ordered, sign_of
from maven_env.tools.equations.solving import Solver
from maven_env.tools.equations.verifying import holds_with_parameters, satisfies
from maven_env.tools.results import declining

Domain = Literal["real", "complex", "positive"]
_MEMBERS = 200  # of periodic families in an interval


@dataclass(frozen=True)
class Solution:
    """What is known of a solution set."""

    branches: tuple[Branch, ...]
    removed: int
    complete: bool
    notes: tuple[str, ...] = ()


Key = tuple[Any, ...]


def key_of(arguments: Mapping[str, Any]) -> Key:
    """Return the arguments of solve_equation as one hashable value, defaults put in."""
    interval = arguments.get("interval")
    flags = assumed(arguments.get("assumptions"))
    frozen = tuple(sorted((name, tuple(sorted(words))) for name, words in flags.items()))
    return (
        arguments["equation"],
        arguments["unknown"],
        arguments.get("domain") or "real",
        frozen,
        None if interval is None else tuple(interval),
    )


@lru_cache(maxsize=256)
def _solve_cached(key: tuple[Any, ...]) -> Solution | ToolError:
    try:
        with declining("the exact methods do not treat this equation", "use find_all_roots or nsolve"):
            return _solve(*key)
    except ToolError as error:
        return error


def exactly(*key: Any) -> Solution:
    found = _solve_cached(key)
    if isinstance(found, ToolError):
        found.__traceback__ = None
        raise found
    return found


def _solve(
    equation: Relation,
    unknown: str,
    domain: Domain,
    frozen: tuple[tuple[str, tuple[str, ...]], ...],
    interval: tuple[Node, ...] | None,
) -> Solution:
    """Solve by exact algebra. Raises Unsolved where that does not apply."""
    assumptions = {name: set(words) for name, words in frozen}
    _check(equation, unknown, interval, domain)
    real = domain != "complex"
    solver = Solver(unknown, real)
    residual = difference(equation)
    branches = solver.branches(residual)
    names = free_symbols(residual) - {unknown}
    notes: list[str] = []
    if solver.without_unknown is not None:
        rest = to_text(solver.without_unknown)
        raise ToolError("NO_SOLUTION", "the unknown cancels: no solution" + (f" unless {rest} = 0" if names else ""))
    if names or any(b.candidate.parameters for b in branches):
        return _with_parameters(residual, unknown, domain, branches, assumptions, interval)
    kept = distinct(branches)
    removed = 0
    if not solver.is_polynomial:
        good = [b for b in kept if satisfies(residual, unknown, b.candidate, real=real)]
        removed = len(kept) - len(good)
        kept = good
    if real:
        kept = [b for b in kept if b.candidate.is_real()]
    odd = bool(removed) and _has_odd_root(residual)
    complete = all(b.period is None for b in kept) and not odd
    if interval is not None:
        kept, complete = within(kept, interval), not odd
    elif any(b.period is not None for b in kept):
        kept = _in_one_period(kept) if real else kept
    if domain == "positive":
        kept = [b for b in kept if b.period is not None or _sign(b.candidate) > 0]
    if not kept and odd:
        raise ToolError("UNSOLVED", "no solution with the principal values of odd roots", _none_hint(residual, domain))
    if not kept:
        raise ToolError("NO_SOLUTION", _none_message(domain, interval, removed), _none_hint(residual, domain))
    if odd:
        notes.append("odd roots of negative numbers are their principal, complex values")
    kept = _sorted(kept)
    return Solution(tuple(kept), removed, complete, tuple(notes))


def _check(equation: Relation, unknown: str, interval: tuple[Node, ...] | None, domain: Domain) -> None:
    if unknown not in free_symbols(equation):
        names = ", ".join(sorted(free_symbols(equation))) or "none"
        raise ToolError("UNKNOWN_SYMBOL", f"{unknown} does not occur in the equation", f"symbols there: {names}")
    if interval is not None:
        if len(interval) != 2:
            raise ToolError("BAD_INPUT", f"interval: expected [lo, hi], got {len(interval)} numbers")
        if domain == "complex":
            raise ToolError("BAD_INPUT", "an interval goes with the domain real or positive")
        if sign_of(Sum((interval[1], Negative(interval[0]))), {}) not in (0, 1):
            raise ToolError("BAD_INPUT", "interval: lo must not exceed hi", "write [lo, hi] with finite numbers")


def distinct(branches: list[Branch]) -> list[Branch]:
    """Drop candidates that came twice, the same to 120 digits; the larger multiplicity stays."""
    kept: list[Branch] = []
    balls: list[Any] = []
    for branch in sorted(branches, key=lambda b: -b.candidate.multiplicity):
        try:
            value = branch.candidate.ball(BITS)
        except ToolError:
            continue  # the candidate has no finite value, so it is no solution
        if any(value.overlaps(other) and b.period == branch.period for other, b in zip(balls, kept, strict=True)):
            continue
        kept.append(branch)
        balls.append(value)
    return kept


def _sorted(branches: list[Branch]) -> list[Branch]:
    order = ordered([b.candidate for b in branches])
    place = {id(candidate): i for i, candidate in enumerate(order)}
    return sorted(branches, key=lambda b: place[id(b.candidate)])


def _sign(candidate: Candidate) -> int:
    sign = sign_of(candidate.node, candidate.decimals)
    if sign is None:
        value = candidate.ball(2_200).real
        if value.contains(0):
            return 0
        return 1 if value > 0 else -1
    return sign


def _shifted(branch: Branch, k: int) -> Candidate:
    assert branch.period is not None
    node = tidied(Sum((branch.candidate.node, Product((number_node(k), branch.period)))))
    return Candidate(node, branch.candidate.decimals, branch.candidate.multiplicity)


def _turns(branch: Branch, point: Node) -> Any:
    """Return the ball of (point - base)/period."""
    assert branch.period is not None
    with precision(BITS):
        known = branch.candidate.known(BITS)
        return ((ball(point, {}) - ball(branch.candidate.node, known)) / ball(branch.period, {})).real


def _in_one_period(branches: list[Branch]) -> list[Branch]:
    """Move each family's member into [0, period)."""
    moved = []
    for branch in branches:
        if branch.period is None:
            moved.append(branch)
            continue
        turns = _turns(branch, Number(Fraction(0)))
        whole = turns.unique_fmpz()
        k = int(whole) if whole is not None else int(turns.ceil().unique_fmpz() or 0)
        moved.append(Branch(_shifted(branch, k), _positive_period(branch.period)))
    return distinct(moved)


def _positive_period(period: Node) -> Node:
    return period if sign_of(period, {}) == 1 else tidied(Negative(period))


def within(branches: list[Branch], interval: tuple[Node, ...]) -> list[Branch]:
    """List all members in the interval, ends included."""
    low, high = interval
    found: list[Branch] = []
    for branch in branches:
        if branch.period is None:
            candidates = [branch.candidate]
        else:
            bounds = sorted(float(_turns(branch, end).mid()) for end in interval)
            if bounds[1] - bounds[0] > _MEMBERS:
                raise ToolError("LIMIT_EXCEEDED", f"more than {_MEMBERS} solutions there", "shorten it", limit="size")
            first, last = int(bounds[0] // 1), int(bounds[1] // 1) + 1
            candidates = [_shifted(branch, k) for k in range(first, last + 1)]
        found += [Branch(c) for c in candidates if _sign(_gap(c, low, 1)) >= 0 and _sign(_gap(c, high, -1)) >= 0]
    return distinct(found)


def _gap(candidate: Candidate, end: Node, sign: int) -> Candidate:
    gap: Node = Sum((candidate.node, Negative(end)))
    return Candidate(gap if sign > 0 else Negative(gap), candidate.decimals)


def _none_message(domain: Domain, interval: tuple[Node, ...] | None, removed: int) -> str:
    where = (
        "in the interval"
        if interval is not None
        else {"real": "real", "positive": "positive", "complex": "complex"}[domain]
    )
    text = f"proved: no solution {where}" if interval is not None else f"proved: no {where} solution"
    return f"{text}; {removed} candidates do not solve it as it stands" if removed else text


def _none_hint(residual: Node, domain: Domain) -> str:
    if _has_odd_root(residual):
        return "x^(1/3) and cbrt are principal values; for the real cube root raise both sides to the third power"
    return "" if domain == "complex" else "try the domain complex"


def _has_odd_root(node: Node) -> bool:
    for part in walk(node):
        if isinstance(part, Call) and part.function == "cbrt":
            return True
        if isinstance(part, Power):
            exponent = rational_value(part.exponent)
            if exponent is not None and exponent.denominator % 2 and exponent.denominator > 1:
                return True
    return False


# ---- parameters ------------------------------------------------------------------------------------------------------
def _with_parameters(
    residual: Node,
    unknown: str,
    domain: Domain,
    branches: list[Branch],
    assumptions: Mapping[str, set[str]],
    interval: tuple[Node, ...] | None,
) -> Solution:
    if interval is not None:
        raise Unsolved("whether a solution lies in the interval depends on the parameters", "substitute numbers first")
    kept, flags, removed = [], [], 0
    for branch in branches:
        candidate = branch.candidate
        yes, no, real = holds_with_parameters(residual, unknown, candidate, assumptions)
        if not yes:
            removed += 1
            continue
        text = candidate.text
        if no:
            flags.append(f"{text} solves the equation for some values of the parameters only")
        if domain != "complex" and real < yes:
            if not real:
                flags.append(f"{text} is not real at any of the values tried and is left out")
                continue
            flags.append(f"{text} is real for some values of the parameters only")
        if domain == "positive":
            sign = sign_under(candidate.node, assumptions)
            if sign is not None and sign <= 0:
                continue
            if sign is None:
                flags.append(f"the sign of {text} depends on the parameters")
        kept.append(branch)
    if not kept:
        raise Unsolved(
            "no solution that holds for generic parameters was found", "state assumptions, or substitute numbers"
        )
    unique = {(b.candidate.text, b.period): b for b in reversed(kept)}
    kept = [b for b in kept if unique.get((b.candidate.text, b.period)) is b]
    complete = all(b.period is None for b in kept) and not any("left out" in flag for flag in flags)
    return Solution(tuple(kept), removed, complete, tuple(dict.fromkeys(flags)))
