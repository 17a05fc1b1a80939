"""All roots and poles of one equation in an interval: exactly where that works, else by interval search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Node, Relation, difference, free_symbols, to_text
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import ZERO
from maven_env.tools.equations.branches import Unsolved
from maven_env.tools.equations.solution_sets import exactly, key_of
from maven_env.tools.numeric.isolation import (
    BITS,
    Box,
    Isolation,
    cleared,
    is_continuous,
    isolate,
    refined,
    sign_at,
    value_at,
)


@dataclass
class Scan:
    method: str
    roots: list[float] = field(default_factory=list)
    tangential: list[float] = field(default_factory=list)
    poles: list[float] = field(default_factory=list)
    unsettled: list[float] = field(default_factory=list)
    complete: bool = True
    boxes: int = 0


def all_roots(equation: Relation, unknown: str, low: Node, high: Node, most: int) -> Scan:
    """Return every root and pole in [low, high]; `complete` says whether that is proved."""
    residual = difference(equation)
    top, bottom = cleared(residual)
    scan = _exact_scan(equation, unknown, low, high, residual)
    if scan is None:
        scan = _search(residual, top, bottom, unknown, low, high, most)
    poles = _zeros(bottom, unknown, low, high, most)
    scan.boxes += poles.boxes
    scan.complete = scan.complete and poles.complete
    scan.unsettled += poles.unsettled
    for place in (*poles.roots, *poles.tangential):
        if _vanishes_near(top, unknown, place):
            scan.unsettled.append(place)  # 0/0: the limit there is not looked at
        else:
            scan.poles.append(place)
    return scan


def _exact_scan(equation: Relation, unknown: str, low: Node, high: Node, residual: Node) -> Scan | None:
    """Use the exact solution set, where there is a complete one."""
    try:
        found = exactly(*key_of({"equation": equation, "unknown": unknown, "interval": [low, high]}))
    except Unsolved:
        return None
    except ToolError as error:
        if error.code == "NO_SOLUTION":
            return Scan("exact")
        if error.code == "UNDERDETERMINED":
            raise
        return None
    if not found.complete:
        return None
    scan = Scan("exact")
    for branch in found.branches:
        value = branch.candidate.value()
        assert isinstance(value, float)
        sides = [_sign_beside(residual, unknown, branch.candidate.ball, way) for way in (-1, 1)]
        (scan.tangential if sides[0] is not None and sides[0] == sides[1] else scan.roots).append(value)
    return scan


def _sign_beside(residual: Node, unknown: str, point: Any, way: int) -> int | None:
    with precision(BITS):
        x = point(BITS).real
        place = (x + way * (abs(x) + 1) * 2.0**-70).mid()
    return sign_at(residual, unknown, lambda: place)


def _search(residual: Node, top: Node, bottom: Node, unknown: str, low: Node, high: Node, most: int) -> Scan:
    found = _zeros(top, unknown, low, high, most)
    scan = Scan("interval search", boxes=found.boxes, complete=found.complete, unsettled=list(found.unsettled))
    for name in ("roots", "tangential"):
        for place in getattr(found, name):
            if bottom != ZERO and unknown in free_symbols(bottom) and _vanishes_near(bottom, unknown, place):
                continue  # named with the poles
            getattr(scan, name).append(place)
    if _is_undefined(residual, unknown, low, high) and not scan.roots:
        message = f"{to_text(residual)[:80]} has no real value at any place tried in the interval"
        raise ToolError("DOMAIN_ERROR", message, "choose an interval inside the domain")
    return scan


def _is_undefined(residual: Node, unknown: str, low: Node, high: Node) -> bool:
    with precision(BITS):
        a, b = ball(low, {}).real, ball(high, {}).real
        for k in range(1, 30):
            found = value_at(residual, unknown, (a + (b - a) * k / 30.37).mid())
            if found is not None and found.imag.contains(0):
                return False
    return True


def _zeros(node: Node, unknown: str, low: Node, high: Node, most: int) -> Scan:
    """Return the zeros of a function without poles."""
    if unknown not in free_symbols(node):
        return Scan("none")
    with precision(BITS):
        a, b = ball(low, {}).real, ball(high, {}).real
    found = isolate(node, unknown, a, b, most)
    scan = Scan("interval search", boxes=found.boxes, complete=not found.exhausted)
    scan.roots = [_refined_box(node, unknown, box) for box in found.simple]
    scan.roots += [float(point.mid()) for point in found.points]
    for box in found.clusters:
        _classify(node, unknown, box, found, scan)
    return scan


def _refined_box(node: Node, unknown: str, box: Box) -> float:
    sign = sign_at(node, unknown, lambda: box.low)
    return refined(node, unknown, box.low, box.high, sign or -1)[0]


def _classify(node: Node, unknown: str, box: Box, found: Isolation, scan: Scan) -> None:
    """A cluster: a multiple root if the function is continuous there, else an unsettled place."""
    scan.complete = False
    place = float(((box.low + box.high) / 2).mid())
    with precision(BITS):
        is_wide = box.high - box.low > 1e-6 * (1 + abs(box.high))
        continuous = is_continuous(node, unknown, box.low, box.high)
    if (found.exhausted and is_wide) or not continuous:
        scan.unsettled.append(place)
        return
    left, right = (sign_at(node, unknown, lambda end=end: end) for end in (box.low, box.high))  # type: ignore[misc]
    if left is not None and right is not None and left * right < 0:
        scan.roots.append(refined(node, unknown, box.low, box.high, left)[0])
    else:
        scan.tangential.append(_turning_point(node, unknown, box, place))


def _turning_point(node: Node, unknown: str, box: Box, place: float) -> float:
    """Return where the slope vanishes in a cluster, to a double, or its middle."""
    try:
        slope = derivative(node, unknown)
        left, right = (sign_at(slope, unknown, lambda end=end: end) for end in (box.low, box.high))  # type: ignore[misc]
        if left is not None and right is not None and left * right < 0:
            return refined(slope, unknown, box.low, box.high, left)[0]
    except ToolError:
        pass
    return place


def _vanishes_near(node: Node, unknown: str, place: float) -> bool:
    from flint import arb

    with precision(BITS):
        found = value_at(node, unknown, arb(place, abs(place) * 2.0**-50 + 2.0**-300))
        return found is None or found.contains(0)
