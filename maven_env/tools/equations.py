"""Equations: exact solution sets of one equation or of systems, inequalities, recurrences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, Relation, difference, free_symbols, number_node, to_text
from maven_env.expressions.tree import Call, Constant, Negative, Number, Power, Product, Sum, rational_value, walk
from maven_env.tools.candidates import BITS, Candidate, ordered, sign_of
from maven_env.tools.kinds import Count, Equation, Exact, JsonMap, Name, Range
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.assumed_signs import assumed, sign_under
from maven_env.tools.solving import Branch, Solver, Unsolved, _tidied
from maven_env.tools.verifying import holds_with_parameters, satisfies

Domain = Literal["real", "complex", "positive"]
_MEMBERS = 200  # of periodic families in an interval


@dataclass(frozen=True)
class Solution:
    """What is known of a solution set."""

    branches: tuple[Branch, ...]
    removed: int
    complete: bool
    notes: tuple[str, ...] = ()


def _tier(arguments: Mapping[str, Any]) -> int:
    try:
        _exactly(*_arguments(arguments))
    except Unsolved:
        return 2
    except ToolError:
        return 0
    return 0


def _arguments(arguments: Mapping[str, Any]) -> tuple[Any, ...]:
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


@tool(
    kind="symbolic",
    tier=_tier,
    near=("nsolve", "bracketed_root", "find_all_roots", "polynomial_roots_exact"),
    backend=("python-flint", "sympy"),
)
def solve_equation(
    equation: Equation,
    unknown: Name,
    domain: Domain = "real",
    assumptions: JsonMap | None = None,
    interval: list[Exact] | None = None,
) -> ToolResult:
    """Solve one equation exactly for one unknown.

    Every solution is put back into the equation as it stands, so squaring or clearing denominators adds none; over the
    reals every root and logarithm in it must be real, and x^(1/3) is the principal value. complete = true means that none
    is missing; with parameters that holds for generic values. A periodic family is listed by its members in one period,
    with complete = false, unless an interval is given.

    Args:
        equation: left = right; an expression alone means = 0
        unknown: symbol to solve for
        domain: real, positive or complex
        assumptions: what parameters are, as {"a": "positive"}; words positive, negative, nonnegative, nonzero, real, integer
        interval: [lo, hi], both ends included: only real solutions there

    Returns:
        solutions (list[expr]): solutions in ascending order (with parameters, the minus sign of a root first)
        n (int): how many are listed
        values (list[number]): nearest doubles, complex ones as [re, im]; null with parameters
        solution_set (text): the set in words, with families and conditions

    Diagnostics:
        complete: whether no solution is missing
        spurious_removed: candidates that do not solve the equation
        multiplicities: multiplicity of each as a root of its factor
        exact: whether every solution is exact, not a 60-digit decimal
        period: period of the families
        branch_flags: solutions that hold for some values of the parameters only, and conventions that mattered

    Raises:
        NO_SOLUTION: proved that there is none in the domain
        UNSOLVED: no exact method applies; this says nothing about the solutions
        UNDERDETERMINED: the equation holds for every number
        UNKNOWN_SYMBOL: the unknown does not occur

    Example:
        {"equation": "q/r = k*(b - r)", "unknown": "r", "domain": "complex"}
    """
    given = {"equation": equation, "unknown": unknown, "domain": domain, "assumptions": assumptions, "interval": interval}
    try:
        found = _exactly(*_arguments(given))
    except Unsolved as reason:
        from maven_env.tools.symbolic_solving import solve_with_sympy

        proposals = solve_with_sympy(equation, unknown, domain, assumed(assumptions), interval)
        if proposals is None:
            raise reason from None
        found = Solution(tuple(proposals[0]), proposals[1], False, ("proposed by sympy and verified; others may be missing",))
    return _result(found, unknown)


@lru_cache(maxsize=256)
def _solve_cached(key: tuple[Any, ...]) -> Solution | ToolError:
    try:
        return _solve(*key)
    except ToolError as error:
        return error


def _exactly(*key: Any) -> Solution:
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
    kept = _distinct(branches)
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
        kept, complete = _within(kept, interval), not odd
    elif any(b.period is not None for b in kept):
        kept = _in_one_period(kept) if real else kept
    if domain == "positive":
        kept = [b for b in kept if b.period is not None or _sign(b.candidate) > 0]
    if not kept and odd:
        raise ToolError("UNSOLVED", "no solution with the principal values of odd roots", _none_hint(residual, domain))
    if not kept:
        raise ToolError("NO_SOLUTION", _none_message(residual, domain, interval, removed), _none_hint(residual, domain))
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


def _distinct(branches: list[Branch]) -> list[Branch]:
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
    node = _tidied(Sum((branch.candidate.node, Product((number_node(k), branch.period)))))
    return Candidate(node, branch.candidate.decimals, branch.candidate.multiplicity)


def _turns(branch: Branch, point: Node) -> Any:
    """Return the ball of (point - base)/period."""
    assert branch.period is not None
    from maven_env.expressions.balls import ball, precision

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
    return _distinct(moved)


def _positive_period(period: Node) -> Node:
    return period if sign_of(period, {}) == 1 else _tidied(Negative(period))


def _within(branches: list[Branch], interval: tuple[Node, ...]) -> list[Branch]:
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
    return _distinct(found)


def _gap(candidate: Candidate, end: Node, sign: int) -> Candidate:
    gap: Node = Sum((candidate.node, Negative(end)))
    return Candidate(gap if sign > 0 else Negative(gap), candidate.decimals)


def _none_message(residual: Node, domain: Domain, interval: tuple[Node, ...] | None, removed: int) -> str:
    where = "in the interval" if interval is not None else {"real": "real", "positive": "positive", "complex": "complex"}[domain]
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
        raise Unsolved("no solution that holds for generic parameters was found", "state assumptions, or substitute numbers")
    unique = {(b.candidate.text, b.period): b for b in reversed(kept)}
    kept = [b for b in kept if unique.get((b.candidate.text, b.period)) is b]
    complete = all(b.period is None for b in kept) and not any("left out" in flag for flag in flags)
    return Solution(tuple(kept), removed, complete, tuple(dict.fromkeys(flags)))


# ---- output ----------------------------------------------------------------------------------------------------------
def _result(found: Solution, unknown: str) -> ToolResult:
    candidates = [branch.candidate for branch in found.branches]
    texts = [candidate.text for candidate in candidates]
    values = [None if candidate.parameters else candidate.value() for candidate in candidates]
    output = {
        "solutions": texts,
        "n": len(texts),
        "values": values,
        "solution_set": _set_text(found, unknown),
    }
    diagnostics: dict[str, object] = {
        "complete": found.complete,
        "spurious_removed": found.removed,
        "multiplicities": [candidate.multiplicity for candidate in candidates],
        "exact": all(candidate.is_exact for candidate in candidates),
    }
    periods = list(dict.fromkeys(to_text(b.period) for b in found.branches if b.period is not None))
    if periods:
        diagnostics["period"] = periods[0] if len(periods) == 1 else periods
    if found.notes:
        diagnostics["branch_flags"] = list(found.notes)
    return ToolResult(output, diagnostics)


def _set_text(found: Solution, unknown: str) -> str:
    parts = []
    for branch in found.branches:
        text = branch.candidate.text
        parts.append(text if branch.period is None else f"{text} + k*({to_text(branch.period)})")
    body = f"{unknown} in {{{', '.join(parts)}}}"
    if any(branch.period is not None for branch in found.branches):
        body += ", k any integer"
    return body


# ---- systems ---------------------------------------------------------------------------------------------------------
@tool(
    kind="symbolic",
    tier=lambda arguments: _system_tier(arguments),
    near=("nsolve", "solve_linear_exact", "solve_equation"),
    backend=("python-flint", "sympy"),
)
def solve_system(
    equations: list[Equation],
    unknowns: list[Name],
    domain: Domain = "complex",
    max_solutions: Annotated[Count, Range(1, 200)] = 32,
) -> ToolResult:
    """Solve a system of algebraic equations exactly.

    All branches are listed, the trivial one too, and each is put back into the equations. An unknown that stays free is
    not among the names of its solution. With parameters the set is the generic one: branch_flags name what was taken as
    nonzero, and at its zeros there may be more solutions.

    Args:
        equations: equations, each left = right or an expression = 0
        unknowns: symbols to solve for
        domain: real, positive (all unknowns) or complex
        max_solutions: most solutions to list, 1 to 200

    Returns:
        solutions (list[map]): values by unknown, in ascending order of the first unknown, then the second
        n (int): how many are listed

    Diagnostics:
        complete: whether no solution is missing
        dimension: number of unknowns that stay free, 0 for isolated solutions
        branch_flags: what was taken as nonzero
        spurious_removed: candidates that do not solve the system as it stands
        exact: whether every value is exact, not a 60-digit decimal

    Raises:
        NO_SOLUTION: proved that there is none in the domain
        UNSOLVED: the elimination is too entangled, or functions of the unknowns occur
        UNKNOWN_SYMBOL: an unknown does not occur
        LIMIT_EXCEEDED: the system grows too large

    Example:
        {"equations": ["x + y = 5", "x*y = 6"], "unknowns": ["x", "y"]}
    """
    from maven_env.tools.system_solutions import solve_by_sympy, solved

    try:
        return solved(tuple(equations), tuple(unknowns), domain, max_solutions)
    except Unsolved as reason:
        found = solve_by_sympy(tuple(equations), tuple(unknowns), domain, max_solutions)
        if found is None:
            raise reason from None
        return found


def _system_tier(arguments: Mapping[str, Any]) -> int:
    from maven_env.tools.system_solutions import solved

    try:
        solved(
            tuple(arguments["equations"]),
            tuple(arguments["unknowns"]),
            arguments.get("domain") or "complex",
            arguments.get("max_solutions") or 32,
        )
    except Unsolved:
        return 2
    except ToolError:
        return 0
    return 0
