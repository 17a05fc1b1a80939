"""Solutions of systems: put back, filtered by domain, ordered; and sympy's proposals where elimination gives up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key, lru_cache
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Relation, difference, free_symbols, parse_relation, to_text
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.tree import Node
from maven_env.tools.equations.branches import Unsolved
from maven_env.tools.equations.candidates import BITS, Candidate
from maven_env.tools.equations.systems import SystemSolver
from maven_env.tools.equations.verifying import sample_rows
from maven_env.tools.results import ToolResult, declining

MOST_EQUATIONS = 16


def solved(equations: tuple[Relation, ...], unknowns: tuple[str, ...], domain: str, most: int) -> ToolResult:
    """Solve by complete elimination. Raises Unsolved where that gives up; remembers what it did."""
    found = _remembered(equations, unknowns, domain, most)
    if isinstance(found, ToolError):
        found.__traceback__ = None
        raise found
    return found


@lru_cache(maxsize=128)
def _remembered(
    equations: tuple[Relation, ...], unknowns: tuple[str, ...], domain: str, most: int
) -> ToolResult | ToolError:
    try:
        with declining("the exact methods do not treat this system", "use nsolve with start values"):
            return _solve(equations, unknowns, domain, most)
    except ToolError as error:
        return error


def _solve(equations: tuple[Relation, ...], unknowns: tuple[str, ...], domain: str, most: int) -> ToolResult:
    _check(equations, unknowns)
    residuals = [difference(equation) for equation in equations]
    solver = SystemSolver.of(residuals, unknowns)
    points = [
        {
            name: Candidate(solver.ring.node(values[name]), _used(solver, values[name]))
            for name in unknowns
            if name in values
        }
        for values in solver.found
    ]
    return _finished(residuals, unknowns, domain, most, points, solver.generic, complete=True)


def _used(solver: SystemSolver, value: Any) -> dict[str, Any]:
    names = free_symbols(solver.ring.node(value))
    return {name: root for name, root in solver.decimals.items() if name in names}


def _check(equations: Sequence[Relation], unknowns: Sequence[str]) -> None:
    if not equations or not unknowns:
        raise ToolError("BAD_INPUT", "at least one equation and one unknown are needed")
    if len(equations) > MOST_EQUATIONS or len(unknowns) > MOST_EQUATIONS:
        raise ToolError("LIMIT_EXCEEDED", f"more than {MOST_EQUATIONS} equations or unknowns", limit="size")
    if len(set(unknowns)) != len(unknowns):
        raise ToolError("BAD_INPUT", "an unknown is named twice")
    known = {name for equation in equations for name in free_symbols(equation)}
    missing = [name for name in unknowns if name not in known]
    if missing:
        raise ToolError(
            "UNKNOWN_SYMBOL", f"{', '.join(missing)} occurs in no equation", f"symbols: {', '.join(sorted(known))}"
        )


def _finished(
    residuals: Sequence[Node],
    unknowns: Sequence[str],
    domain: str,
    most: int,
    points: Sequence[Mapping[str, Candidate]],
    generic: Sequence[str],
    *,
    complete: bool,
) -> ToolResult:
    kept = [point for point in points if _solves(residuals, unknowns, point)]
    removed = len(points) - len(kept)
    closed = all(not c.parameters for point in kept for c in point.values()) and not _parameters(residuals, unknowns)
    notes = [text for text in generic if not any(name in unknowns for name in free_symbols(parse_relation(text)))]
    if closed:
        kept = _distinct(kept, unknowns)
        if domain != "complex":
            kept = [point for point in kept if all(_fits(candidate, domain) for candidate in point.values())]
        kept = _without_special_cases(kept)
        kept.sort(key=cmp_to_key(lambda a, b: _compare(a, b, unknowns)))
    else:
        unique = {tuple(sorted((name, c.text) for name, c in point.items())): point for point in reversed(kept)}
        kept = _without_special_cases(list(reversed(unique.values())))
        if domain != "complex":
            notes.append(f"which solutions are {domain} depends on the parameters or free unknowns; none was left out")
    if not kept:
        where = "" if domain == "complex" else f"{domain} "
        if removed and complete and not closed:
            raise Unsolved("no solution that holds for generic parameters was found")
        unless = f" (taken as nonzero: {', '.join(generic)})" if generic else ""
        hint = "the domain complex may hold some" if where else ""
        raise ToolError("NO_SOLUTION", f"proved: no {where}solution{unless}", hint)
    listed = kept[:most]
    free = max(len(unknowns) - len(point) for point in kept)
    output = {"solutions": [{n: p[n].text for n in unknowns if n in p} for p in listed], "n": len(listed)}
    diagnostics: dict[str, object] = {
        "complete": complete and len(listed) == len(kept),
        "dimension": free,
        "spurious_removed": removed,
        "exact": all(c.is_exact for point in listed for c in point.values()),
    }
    if notes:
        diagnostics["branch_flags"] = notes
    return ToolResult(output, diagnostics)


def _parameters(residuals: Sequence[Node], unknowns: Sequence[str]) -> list[str]:
    return sorted({name for residual in residuals for name in free_symbols(residual)} - set(unknowns))


def _fits(candidate: Candidate, domain: str) -> bool:
    if not candidate.is_real():
        return False
    return domain == "real" or bool(candidate.ball(2_200).real > 0)


def _solves(residuals: Sequence[Node], unknowns: Sequence[str], point: Mapping[str, Candidate]) -> bool:
    """Put a point back, at sample values of parameters and free unknowns; one row where it holds is enough."""
    names = {name for candidate in point.values() for name in candidate.parameters} | set(
        _parameters(residuals, unknowns)
    )
    names |= set(unknowns) - set(point)
    if not names:
        return _holds(residuals, point, {})
    return any(_holds(residuals, point, row) for row in sample_rows(sorted(names), {}))


def _holds(residuals: Sequence[Node], point: Mapping[str, Candidate], row: Mapping[str, Any]) -> bool:
    from maven_env.expressions.balls import decimal

    last: list[Any] | None = None
    for bits in (BITS, 1_300, 4_000):
        with precision(bits):
            values = {name: decimal(value) for name, value in row.items()}
            try:
                for name, candidate in point.items():
                    values[name] = ball(candidate.node, {**values, **candidate.known(bits)})
                found = [ball(residual, values) for residual in residuals]
            except Undecided:
                continue
            if not all(value.contains(0) for value in found):
                return False
            radii = [value.rad() for value in found]
            if last is not None and all(r == 0 or r < b * 2.0**-200 for r, b in zip(radii, last, strict=True)):
                return True
            last = radii
    return False


def _distinct(points: Sequence[Mapping[str, Candidate]], unknowns: Sequence[str]) -> list[Mapping[str, Candidate]]:
    kept: list[Mapping[str, Candidate]] = []
    for point in points:
        if not any(set(point) == set(other) and _compare(point, other, unknowns) == 0 for other in kept):
            kept.append(point)
    return kept


def _without_special_cases(points: Sequence[Mapping[str, Candidate]]) -> list[Mapping[str, Candidate]]:
    """Drop a point that another one, with more unknowns free, contains word for word."""
    texts = [{name: candidate.text for name, candidate in point.items()} for point in points]
    return [p for p, text in zip(points, texts, strict=True) if not any(o.items() < text.items() for o in texts)]


def _compare(a: Mapping[str, Candidate], b: Mapping[str, Candidate], unknowns: Sequence[str]) -> int:
    for name in unknowns:
        if name not in a or name not in b:
            if (name in a) != (name in b):
                return -1 if name in a else 1
            continue
        x, y = a[name].ball(BITS), b[name].ball(BITS)
        for p, q in ((x.real, y.real), (x.imag, y.imag)):
            if not p.overlaps(q):
                return -1 if p < q else 1
    return 0


def solve_by_sympy(equations: Sequence[Relation], unknowns: Sequence[str], domain: str, most: int) -> ToolResult | None:
    """Return sympy's proposals that hold, never called complete; None if there are none."""
    import sympy

    from maven_env.expressions.symbolic import from_sympy, to_sympy

    residuals = [difference(equation) for equation in equations]
    symbols = [sympy.Symbol(name) for name in unknowns]
    try:
        with declining("no exact solution was found"):
            found = sympy.solve([to_sympy(residual) for residual in residuals], symbols, dict=True)
    except ToolError as error:
        if error.code != "UNSOLVED":
            raise
        return None
    points: list[dict[str, Candidate]] = []
    for solution in found[:most]:
        try:
            points.append({str(key): Candidate(from_sympy(value)) for key, value in solution.items()})
        except ToolError:
            continue
    points.sort(key=lambda point: sorted((name, to_text(c.node)) for name, c in point.items()))
    if not any(_solves(residuals, unknowns, point) for point in points):
        return None
    try:
        return _finished(residuals, unknowns, domain, most, points, (), complete=False)
    except ToolError as error:
        if error.code == "NO_SOLUTION":
            return None
        raise
