"""Looser sorts of equality: up to an added constant, up to sign, and as multisets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from maven_env.errors import LimitExceeded
from maven_env.expressions.equality.agreement import Comparison, Verdict, by_points
from maven_env.expressions.equality.comparing import (
    by_residues,
    compare,
    defined_somewhere,
    equal,
    has_infinity,
    key_of,
    opaque_calls,
)
from maven_env.expressions.equality.points import POSITIVE, Domain
from maven_env.expressions.tree import (
    Negative,
    Node,
    Relation,
    Sum,
    Symbol,
    free_symbols,
    replace,
)

MULTISET = 64


def equal_up_to_constant(a: Node, b: Node, variable: str, domain: Domain | None = None) -> Verdict:
    """Return whether a - b does not depend on `variable`: they are antiderivatives of the same function.

    The constant may differ between the pieces of the domain, as between log(x - 1) and log(1 - x).
    """
    return compare_up_to_constant(a, b, variable, domain).verdict


def compare_up_to_constant(a: Node, b: Node, variable: str, domain: Domain | None = None) -> Comparison:
    """Return the verdict of `equal_up_to_constant` with its evidence."""
    from maven_env.expressions.analysis.jets import derivative_ball

    domain = domain or {}
    if isinstance(a, Relation) or isinstance(b, Relation):
        return Comparison("unknown", "a relation")
    gap, key = Sum((a, Negative(b))), key_of(a, b)
    exact, same_form = by_residues(gap, gap, key, renamed=variable)
    if exact is not None:
        return Comparison(exact, "exact")
    names = sorted(free_symbols(gap))
    is_opaque = bool(opaque_calls((gap,)))
    if has_infinity(gap) or (is_opaque and variable in names and not same_form):
        return Comparison("unknown", "no derivative here")
    if same_form or variable not in names:  # equal, if there are values at all
        return Comparison("equal", "form") if is_opaque else defined_somewhere(a, b, key, names, domain)

    def slope(node: Node, values: dict[str, Any]) -> Any:
        return derivative_ball(node, values, variable)

    found = by_points(a, b, key, names, domain, slope)
    if found.samples or found.verdict != "unknown":
        return found
    again = f"{variable} again"
    moved = {**domain, again: domain.get(variable, POSITIVE)}
    return compare(gap, replace(gap, {variable: Symbol(again)}), moved)


def equal_up_to_sign(a: Node, b: Node, domain: Domain | None = None) -> Verdict:
    """Return whether a = b or a = -b on the whole domain."""
    verdicts = (equal(a, b, domain), equal(a, Negative(b), domain))
    return "equal" if "equal" in verdicts else "different" if set(verdicts) == {"different"} else "unknown"


def same_multiset(u: Sequence[Node], v: Sequence[Node], same: Callable[[Node, Node], Verdict] = equal) -> Verdict:
    """Return whether the elements of u and v can be paired off as equal, in any order.

    `same` judges a pair, for instance with a tolerance. Raises LimitExceeded beyond 64 elements.
    """
    if len(u) != len(v):
        return "different"
    if len(u) > MULTISET:
        raise LimitExceeded("size", f"{len(u)} elements to pair off, the bound is {MULTISET}")
    table = [[same(x, y) for y in v] for x in u]
    if _can_pair_off([[verdict == "equal" for verdict in row] for row in table]):
        return "equal"
    return "unknown" if _can_pair_off([[verdict != "different" for verdict in row] for row in table]) else "different"


def _can_pair_off(allowed: Sequence[Sequence[bool]]) -> bool:
    """Find a perfect matching by augmenting paths."""
    partner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, fits in enumerate(allowed[row]):
            if fits and column not in seen:
                seen.add(column)
                if column not in partner or place(partner[column], seen):
                    partner[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(allowed)))
