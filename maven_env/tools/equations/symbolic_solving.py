"""The last resort for one equation: sympy proposes, balls verify. What it finds is never called complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Relation, difference, free_symbols
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import Node
from maven_env.tools.equations.branches import Branch
from maven_env.tools.equations.candidates import Candidate, sign_of
from maven_env.tools.equations.verifying import holds_with_parameters, satisfies
from maven_env.tools.results import declining

MOST = 32


def solve_with_sympy(
    equation: Relation,
    unknown: str,
    domain: str,
    assumptions: Mapping[str, set[str]],
    interval: list[Node] | None,
) -> tuple[list[Branch], int] | None:
    """Return verified solutions and the number of proposals that failed; None if no solution is left."""
    residual = difference(equation)
    kept: list[Branch] = []
    removed = 0
    for node in _proposals(residual, unknown):
        candidate = Candidate(node)
        if candidate.parameters or free_symbols(residual) - {unknown}:
            yes, no, _ = holds_with_parameters(residual, unknown, candidate, assumptions)
            good = yes > 0 and no == 0 and interval is None and domain != "positive"
        else:
            good = satisfies(residual, unknown, candidate, real=domain != "complex") and _is_in(
                candidate, domain, interval
            )
        if good:
            kept.append(Branch(candidate))
        else:
            removed += 1
    if not kept:
        return None
    closed = [b for b in kept if not b.candidate.parameters]
    if len(closed) == len(kept):
        kept.sort(key=lambda b: _place(b.candidate))
    return kept, removed


def _place(candidate: Candidate) -> tuple[float, float]:
    value = complex(candidate.value())
    return value.real, value.imag


def _is_in(candidate: Candidate, domain: str, interval: list[Node] | None) -> bool:
    if domain == "complex":
        return True
    if not candidate.is_real() or (domain == "positive" and sign_of(candidate.node, {}) != 1):
        return False
    if interval is None:
        return True
    value = candidate.ball(420).real
    low, high = (Candidate(end).ball(420).real for end in interval)
    return not value < low and not value > high


def _proposals(residual: Node, unknown: str) -> list[Node]:
    import sympy

    symbol = sympy.Symbol(unknown)
    try:
        with declining("no exact solution was found"):
            found = sympy.solve(to_sympy(residual), symbol, dict=True)
    except ToolError as error:
        if error.code != "UNSOLVED":
            raise
        return []
    nodes: list[Node] = []
    for solution in found[:MOST]:
        value: Any = solution.get(symbol)
        if value is None or value.has(symbol):
            continue
        try:
            nodes.append(from_sympy(value))
        except ToolError:
            continue
    return sorted(set(nodes), key=str)
