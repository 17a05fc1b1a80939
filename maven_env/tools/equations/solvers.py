"""Equations: exact solution sets of one equation or of systems, inequalities, recurrences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, Relation, free_symbols, to_text
from maven_env.expressions.balls import nearest_double
from maven_env.tools.equations.assumed_signs import assumed
from maven_env.tools.equations.branches import Unsolved
from maven_env.tools.equations.inequalities import piece_map, set_text, solution_set
from maven_env.tools.equations.recurrences import (
    LISTED,
    ORDER,
    Recurrence,
    closed_form,
    read_recurrence,
    run_backward,
    run_exactly,
    run_in_doubles,
)
from maven_env.tools.equations.solution_sets import Domain, Solution, exactly, key_of
from maven_env.tools.equations.system_solutions import solve_by_sympy, solved
from maven_env.tools.kinds import Condition, Count, Equation, Exact, Expr, Index, JsonMap, Name, Ode, Range
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.weight import is_light


def _tier(arguments: Mapping[str, Any]) -> int:
    try:
        exactly(*key_of(arguments))
    except Unsolved:
        return 2
    except ToolError:
        return 0
    return 0


def _system_tier(arguments: Mapping[str, Any]) -> int:
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
    reals every root and logarithm in it must be real, and x^(1/3) is the principal value. complete = true means that
    none is missing; with parameters that holds for generic values. A periodic family is listed by its members in one
    period, with complete = false, unless an interval is given.

    Args:
        equation: left = right; an expression alone means = 0
        unknown: symbol to solve for
        domain: real, positive or complex
        assumptions: as {"a": "positive"}; words positive, negative, nonnegative, nonzero, real, integer
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
    given = {
        "equation": equation,
        "unknown": unknown,
        "domain": domain,
        "assumptions": assumptions,
        "interval": interval,
    }
    try:
        found = exactly(*key_of(given))
    except Unsolved as reason:
        from maven_env.tools.equations.symbolic_solving import solve_with_sympy

        proposals = solve_with_sympy(equation, unknown, domain, assumed(assumptions), interval)
        if proposals is None:
            raise reason from None
        found = Solution(
            tuple(proposals[0]), proposals[1], False, ("proposed by sympy and verified; others may be missing",)
        )
    return _result(found, unknown)


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
    tier=_system_tier,
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
    try:
        return solved(tuple(equations), tuple(unknowns), domain, max_solutions)
    except Unsolved as reason:
        found = solve_by_sympy(tuple(equations), tuple(unknowns), domain, max_solutions)
        if found is None:
            raise reason from None
        return found


# ---- inequalities ----------------------------------------------------------------------------------------------------
def _inequality_tier(arguments: Mapping[str, Any]) -> int:
    return 0 if is_light(arguments, 1) else 2


@tool(kind="symbolic", tier=_inequality_tier, near=("check_sign", "check_domain"), backend=("python-flint",))
def solve_inequality(inequality: Condition, unknown: Name, domain: list[Exact] | None = None) -> ToolResult:
    """Solve an inequality in one real unknown exactly.

    Nothing is multiplied out, so the sign of a denominator cannot get lost; points where a side is undefined are no
    solutions. Where there would be infinitely many intervals, as with sin(x) > 0, give a domain.

    Args:
        inequality: relation with <, <=, > or >=, such as 6/(x - 3) <= 3
        unknown: real unknown
        domain: [lo, hi], ends included, to restrict the unknown to

    Returns:
        intervals (list): disjoint intervals in ascending order, each with lo, hi, lo_open, hi_open
        set (text): their union, such as (-oo, 3) U [5, oo), or empty

    Diagnostics:
        boundary_points: where both sides are equal
        excluded_points: where a side is undefined although the set reaches there

    Raises:
        UNSOLVED: a sign change might be missed, or parameters occur; says nothing about the solutions
        UNKNOWN_SYMBOL: the unknown does not occur
        BAD_INPUT: it is no inequality

    Example:
        {"inequality": "6/(x - 3) <= 3", "unknown": "x"}
    """
    if not isinstance(inequality, Relation) or inequality.operator in ("=", "!="):
        raise ToolError("BAD_INPUT", "expected a relation with <, <=, > or >=", "solve an equation with solve_equation")
    if domain is not None and len(domain) != 2:
        raise ToolError("BAD_INPUT", f"domain: expected [lo, hi], got {len(domain)} numbers")
    bounds = None if domain is None else (domain[0], domain[1])
    found = solution_set(inequality, unknown, bounds)
    output = {"intervals": [piece_map(piece) for piece in found.pieces], "set": set_text(found.pieces)}
    diagnostics = {
        "boundary_points": [point.text for point in found.boundary],
        "excluded_points": [point.text for point in found.excluded],
    }
    return ToolResult(output, diagnostics)


# ---- recurrences -----------------------------------------------------------------------------------------------------
@tool(kind="exact", tier=0, near=("evaluate_high_precision", "solve_equation"), backend=("python-flint",))
def solve_recurrence(
    recurrence: Ode,
    initial: list[Expr],
    n: Annotated[Index, Range(0, 100_000)] | None = None,
    mode: Literal["closed_form", "forward", "backward_miller"] = "closed_form",
    precision: Literal["exact", "double"] = "exact",
) -> ToolResult:
    """Solve a linear recurrence in closed form, or run it.

    The recurrence is the expression of y(n+k) in y(n), ..., y(n+k-1); k is the number of initial values. Forward
    recursion of a decaying solution in double precision is swamped by the growing one: its error grows like
    growth_factor^n. Run it exactly, or backwards with backward_miller, which gives the minimal solution with the first
    initial value.

    Args:
        recurrence: expression of y(n+k), such as 3*y(n+1) - y(n) for y(n+2)
        initial: y(0), ..., y(k-1)
        n: index wanted
        mode: closed_form, forward, or backward_miller
        precision: exact, or double for a run with rounding errors; backward_miller is always in double

    Returns:
        closed_form (expr): y(n) as an expression in n, in mode closed_form
        value (expr): y(n) at the n given
        sequence (list[number]): y(0), y(1), ... up to n, at most 200 of them, as nearest doubles; null with parameters

    Diagnostics:
        method: characteristic roots, forward recursion, or Miller's backward recursion
        characteristic_roots: roots of the characteristic polynomial, for constant coefficients
        growth_factor: largest |root| over the smallest: what errors grow by per step, relative to a minimal solution
        minimal_solution: whether the solution is the one that decays fastest, where that is known

    Raises:
        UNSOLVED: no closed form; use forward
        BAD_INPUT: it is not linear, or n is missing for a run
        NO_CONVERGENCE: the backward recursion does not settle
        LIMIT_EXCEEDED: n above 2000 in exact arithmetic, or numbers too long

    Example:
        {"recurrence": "5/2*y(n+1) - y(n)", "initial": [1, "1/2"], "n": 10}
    """
    order = len(initial)
    if not 1 <= order <= ORDER:
        raise ToolError("BAD_INPUT", f"expected 1 to {ORDER} initial values, got {order}")
    read = read_recurrence(recurrence, order)
    if mode != "closed_form" and n is None:
        raise ToolError("BAD_INPUT", f"mode {mode} needs n", "give the index wanted")
    if mode == "backward_miller":
        doubles = run_backward(read, _double_of(initial[0]), n or 0)
        return ToolResult(
            {"value": doubles[-1], "sequence": doubles[:LISTED]}, {"method": "Miller's backward recursion"}
        )
    diagnostics = _characteristics(read, initial)
    if mode == "forward" and precision == "double":
        doubles = run_in_doubles(read, [_double_of(value) for value in initial], n or 0)
        diagnostics["method"] = "forward recursion in double precision"
        return ToolResult({"value": doubles[-1], "sequence": doubles[:LISTED]}, diagnostics)
    output: dict[str, Any] = {}
    if mode == "closed_form":
        output["closed_form"] = closed_form(read, initial).node
        diagnostics["method"] = "characteristic roots"
    else:
        diagnostics["method"] = "forward recursion, exact"
    if n is not None:
        values = run_exactly(read, initial, n)
        output["value"] = values[-1]
        output["sequence"] = [_listed(value) for value in values[:LISTED]]
    return ToolResult(output, diagnostics)


def _double_of(node: Node) -> float:
    missing = sorted(free_symbols(node))
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"a run in double precision has no value for {', '.join(missing)}")
    return nearest_double(node)


def _listed(node: Node) -> float | None:
    if free_symbols(node):
        return None
    try:
        return nearest_double(node)
    except ToolError:
        return None


def _characteristics(read: Recurrence, initial: list[Node]) -> dict[str, object]:
    """Return what the characteristic roots say, where they are known."""
    try:
        found = closed_form(read, initial)
    except ToolError:
        return {}
    diagnostics: dict[str, object] = {"characteristic_roots": list(found.roots)}
    if found.growth is not None and found.smallest:
        diagnostics["growth_factor"] = found.growth / found.smallest
    if found.is_minimal is not None:
        diagnostics["minimal_solution"] = found.is_minimal
    return diagnostics
