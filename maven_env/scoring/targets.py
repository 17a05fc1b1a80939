"""Whether a verification is the one that was required, however it is written.

A check counts by what it settles: the same claim with sides swapped, values put in, a negated relation read the other
way round, another tool for the same sign, units spelled differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations

from maven_env.errors import ToolError
from maven_env.expressions import (
    Negative,
    Node,
    Relation,
    Sum,
    Symbol,
    difference,
    free_symbols,
    parse,
    parse_equation,
    parse_relation,
    replace,
    to_text,
)
from maven_env.expressions.equality import equal, equal_up_to_scale
from maven_env.expressions.tree import ZERO
from maven_env.scoring.equivalence import is_same_expression, is_same_number
from maven_env.tools.registry import registry
from maven_env.tools.units.unit_text import read_unit
from maven_env.tools.units.unit_values import dimension_text
from maven_env.types import Alternative, Artifact, Check, Json, Reading

RTOL = 1e-12  # numbers in the input of a check
_UNORDERED = frozenset({"equations", "candidates", "conditions", "terms", "constraints"})
_NEGATED = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "=": "!=", "!=": "="}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "=": "=", "!=": "!="}
_EXPECTED = {"positive": ">", "negative": "<", "nonnegative": ">=", "nonpositive": "<=", "zero": "="}
_MOST_RENAMINGS = 24


def settles(tool: str, required: Mapping[str, Json], artifact: Artifact, check: Check) -> bool:
    """Return whether `artifact` is the required check, a call of `tool` with `required`, with its right reading."""
    if artifact.resolved_input is None:
        return False
    ours, theirs = _completed(tool, required), _completed(artifact.tool_id, artifact.resolved_input)
    if any(_is_alternative(other, artifact, theirs) for other in check.accept):
        return True
    try:
        if check.means is None and check.field == "verdict" and _is_sign(tool, ours):
            return _same_sign(tool, ours, artifact, theirs, check.reading)
        if artifact.tool_id != tool or reading_of(artifact, check) != check.reading:
            return False
        return _COMPARED.get(tool, is_same_target)(ours, theirs)
    except ToolError:
        return False


def _is_alternative(other: Alternative, artifact: Artifact, theirs: Mapping[str, Json]) -> bool:
    """Return whether an artifact is a call that counts as well, and gave what that call gives."""
    if other.field == "verdict":
        reading = other.value
        made = Check("", reading)
        return reading is not None and settles(other.tool, other.resolved_input, artifact, made)
    if artifact.tool_id != other.tool or artifact.output.get(other.field) != other.value:
        return False
    try:
        return _COMPARED.get(other.tool, is_same_target)(_completed(other.tool, other.resolved_input), theirs)
    except ToolError:
        return False


def reading_of(artifact: Artifact, check: Check) -> Reading | None:
    """Return the reading that an artifact gives to a check."""
    value = artifact.output.get(check.field)
    if check.means is not None:
        return check.means.get(value) if isinstance(value, str) else None
    return value if value in ("passed", "failed", "inconclusive") else None


def _completed(tool: str, given: Mapping[str, Json]) -> dict[str, Json]:
    """Return an input with the tool's defaults put in."""
    spec = registry().get(tool)
    defaults = {} if spec is None else {p.name: p.default for p in spec.parameters if p.default is not None}
    return defaults | dict(given)


# ---- signs -----------------------------------------------------------------------------------------------------------
Claim = tuple[Node, str]  # an expression and how it compares with zero


def _is_sign(tool: str, given: Mapping[str, Json]) -> bool:
    return tool in ("check_sign", "check_domain") and not given.get("interval")


def _claims(tool: str, given: Mapping[str, Json]) -> list[Claim]:
    if tool == "check_sign":
        return [(_put(given["expr"], given.get("subs")), _EXPECTED[given["expected"]])]
    claims: list[Claim] = []
    for text in given["conditions"]:
        node = parse_relation(text)
        if not isinstance(node, Relation):
            raise ToolError("BAD_INPUT", "no relation")
        values = {name: parse(str(value)) for name, value in given["values"].items()}
        claims.append((replace(difference(node), values), node.operator))
    return claims


def _put(text: Json, values: Mapping[str, Json] | None) -> Node:
    return replace(parse(str(text)), {name: parse(str(value)) for name, value in (values or {}).items()})


def _same_sign(
    tool: str, ours: Mapping[str, Json], artifact: Artifact, theirs: Mapping[str, Json], reading: Reading
) -> bool:
    if not _is_sign(artifact.tool_id, theirs):
        return False
    required, made = _claims(tool, ours), _claims(artifact.tool_id, theirs)
    if len(required) != len(made):
        return False
    if len(required) > 1:
        return artifact.output.get("verdict") == reading and _all_matched(required, made)
    side = _side_of(required[0][0], made[0])
    return side is not None and _implied(required[0][1], made[0][1], side, artifact) == reading


def _side_of(expression: Node, claim: Claim) -> int | None:
    """Return 1 if a claim is about `expression`, -1 if about its negative, None if about something else."""
    if _same_node(expression, claim[0]):
        return 1
    return -1 if _same_node(expression, Negative(claim[0])) else None


def _implied(required: str, made: str, side: int, artifact: Artifact) -> Reading | None:
    """Return the reading of the required comparison that follows from the one that was made on `side`."""
    verdict = artifact.output.get("verdict")
    made = made if side == 1 else _FLIPPED[made]
    if made == required or verdict == "inconclusive":
        return verdict
    if made == _NEGATED[required]:
        return {"passed": "failed", "failed": "passed"}.get(str(verdict))  # type: ignore[return-value]
    sign = artifact.output.get("sign")
    if sign not in (-1, 0, 1):
        return None
    sign *= side
    holds = {">": sign > 0, "<": sign < 0, ">=": sign >= 0, "<=": sign <= 0, "=": sign == 0, "!=": sign != 0}[required]
    return "passed" if holds else "failed"


def _all_matched(required: list[Claim], made: list[Claim]) -> bool:
    rest = list(made)
    for expression, operator in required:
        found = next((claim for claim in rest if _is_claim(claim, expression, operator)), None)
        if found is None:
            return False
        rest.remove(found)
    return True


def _is_claim(claim: Claim, expression: Node, operator: str) -> bool:
    side = _side_of(expression, claim)
    return side is not None and (claim[1] if side == 1 else _FLIPPED[claim[1]]) == operator


def _same_node(a: Node, b: Node) -> bool:
    if not free_symbols(a) and not free_symbols(b):
        return is_same_number(to_text(a), to_text(b), RTOL, 0.0)
    return free_symbols(a) == free_symbols(b) and equal(a, b) == "equal"


# ---- single tools ----------------------------------------------------------------------------------------------------
def _same_condition(ours: Mapping[str, Json], theirs: Mapping[str, Json]) -> bool:
    """Compare the terms of a sum up to a common sign."""
    if is_same_target(ours, theirs):
        return True
    if ours.get("kind") != "sum" or not isinstance(theirs.get("terms"), list):
        return False
    negated = [to_text(Negative(parse(str(term)))) for term in theirs["terms"]]
    return is_same_target(ours, dict(theirs) | {"terms": negated})


def _same_pair(ours: Mapping[str, Json], theirs: Mapping[str, Json]) -> bool:
    """Compare two sides without order, substitutions put in."""
    rest = {key: value for key, value in ours.items() if key not in ("a", "b", "subs")}
    if not is_same_target(rest, theirs):
        return False
    pairs = [[_side(given[key], given.get("subs")) for key in ("a", "b")] for given in (ours, theirs)]
    return is_same_target(pairs[0], pairs[1]) or is_same_target(pairs[0], pairs[1][::-1])


def _side(value: Json, values: Mapping[str, Json] | None) -> Json:
    if isinstance(value, list):
        return [_side(item, values) for item in value]
    return to_text(_put(value, values)) if values else value


def _same_residual(ours: Mapping[str, Json], theirs: Mapping[str, Json]) -> bool:
    """Compare equations up to a factor."""
    if "equations" not in ours or "equations" not in theirs:
        return is_same_target(ours, theirs)
    rest = {key: value for key, value in ours.items() if key not in ("equations", "tol", "digits")}
    if not is_same_target(rest, theirs) or len(ours["equations"]) != len(theirs["equations"]):
        return False
    left = [difference(parse_equation(text)) for text in ours["equations"]]
    right = [difference(parse_equation(text)) for text in theirs["equations"]]
    for node in left:
        found = next((i for i, other in enumerate(right) if _is_multiple(node, other)), None)
        if found is None:
            return False
        right.pop(found)
    return True


def _is_multiple(a: Node, b: Node) -> bool:
    """Return whether a and b are equal up to a constant factor: a(x)*b(y) = a(y)*b(x) at two points."""
    if free_symbols(a) != free_symbols(b):
        return False
    moved: dict[str, Node] = {name: Symbol(f"{name}_2") for name in free_symbols(a)}
    return equal_up_to_scale([a, replace(a, moved)], [b, replace(b, moved)]) == "equal"


def _same_units(ours: Mapping[str, Json], theirs: Mapping[str, Json]) -> bool:
    """Compare formulas up to the names of their symbols, which their dimensions tell apart."""
    formula, units, expected = _formula(ours)
    other, other_units, other_expected = _formula(theirs)
    if _dimension(expected) != _dimension(other_expected):
        return False
    wanted = {name: _dimension(units[name]) for name in sorted(free_symbols(formula))}
    found = {name: _dimension(other_units[name]) for name in sorted(free_symbols(other))}
    if sorted(wanted.values()) != sorted(found.values()):
        return False
    for count, order in enumerate(permutations(found)):
        if count >= _MOST_RENAMINGS * 30:
            return False
        renaming: dict[str, Node] = {old: Symbol(new) for old, new in zip(order, wanted, strict=True)}
        same = all(found[old] == wanted[new] for old, new in zip(order, wanted, strict=True))
        if same and equal(formula, replace(other, renaming)) == "equal":
            return True
    return False


def _formula(given: Mapping[str, Json]) -> tuple[Node, Mapping[str, str], str]:
    """Return the formula of check_units with the units of its symbols and of itself; `K = ...` gives the unit of K."""
    equation, units = parse_equation(given["equation"]), given["units"]
    if equation.right == ZERO and "expected_unit" in given:
        return equation.left, units, given["expected_unit"]
    for side, other in ((equation.left, equation.right), (equation.right, equation.left)):
        if isinstance(side, Symbol):
            return other, units, units[side.name]
    return Sum((equation.left, Negative(equation.right))), units, given.get("expected_unit", "")


def _dimension(unit: str) -> str:
    return dimension_text(read_unit(unit))


def _same_evidence(ours: Mapping[str, Json], theirs: Mapping[str, Json]) -> bool:
    """Compare what a tolerance or number of digits only steers by everything else."""
    return is_same_target(
        {key: value for key, value in ours.items() if key not in ("tol", "digits", "max_order")}, theirs
    )


_COMPARED: Mapping[str, Callable[[Json, Json], bool]] = {
    "check_condition": _same_condition,
    "cross_check_numeric": _same_pair,
    "check_equivalence": _same_pair,
    "check_residual": _same_residual,
    "check_units": _same_units,
    "second_derivative_test": _same_evidence,
}


def is_same_target(reference: Json, value: Json, *, ordered: bool = True) -> bool:
    """Compare two resolved inputs of one tool: mathematics by equivalence, options exactly.

    Every key of the reference must be there, further ones are the agent's own. Lists of equations, terms, conditions
    and candidates have no order.
    """
    if isinstance(reference, Mapping):
        return isinstance(value, Mapping) and all(
            key in value and is_same_target(item, value[key], ordered=key not in _UNORDERED)
            for key, item in reference.items()
        )
    if isinstance(reference, list):
        if not isinstance(value, list) or len(value) != len(reference):
            return False
        if ordered:
            return all(is_same_target(a, b) for a, b in zip(reference, value, strict=True))
        rest = list(value)
        for item in reference:
            match = next((i for i, other in enumerate(rest) if is_same_target(item, other)), None)
            if match is None:
                return False
            rest.pop(match)
        return True
    if isinstance(reference, bool) or isinstance(value, bool):
        return reference is value
    if reference == value:
        return True
    if isinstance(value, list | Mapping) or value is None or reference is None:
        return False
    return is_same_number(reference, value, RTOL, 0.0) or is_same_expression(reference, value)
