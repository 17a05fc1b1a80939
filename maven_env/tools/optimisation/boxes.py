"""Global minima in a box: a grid, polished candidates, and a rigorous lower bound by branch and bound with balls."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, free_symbols, replace
from maven_env.expressions.analysis.jets import jet
from maven_env.expressions.balls import Undecided, ball, nearest_double, precision
from maven_env.expressions.numeric import compile_array
from maven_env.expressions.tree import walk
from maven_env.tools.optimisation.descent import Objective, exact_value, falls_somewhere, minimum

POINTS = 250_000
CANDIDATES = 40  # grid minima to descend from
POLISHED = 8  # places that are proved and listed
EFFORT = 40_000  # boxes times nodes of the objective
RECENTRED = 30
GAP = 1e-6  # relative distance of value and lower bound that counts as proved


@dataclass(frozen=True)
class Place:
    x: list[float]
    value: float
    on_boundary: bool
    certified: bool
    falling: bool = False  # lower values lie near it, as by a pole


@dataclass(frozen=True)
class BoxMinimum:
    places: list[Place]  # distinct local minima, the best first
    lower_bound: float | None
    boxes: int
    evaluations: int

    @property
    def is_proved(self) -> bool:
        best = self.places[0].value
        return self.lower_bound is not None and best - self.lower_bound <= GAP * (1 + abs(best))


def box_minimum(expr: Node, variables: Sequence[str], bounds: Sequence[tuple[Node, Node]], grid: int) -> BoxMinimum:
    """Minimise over a box. Raises DOMAIN_ERROR, UNBOUNDED, LimitExceeded."""
    if grid ** len(variables) > POINTS:
        raise LimitExceeded("size", f"{grid}^{len(variables)} points, the bound is {POINTS}", "take a coarser grid")
    ends = [(nearest_double(low), nearest_double(high)) for low, high in bounds]
    starts, evaluations = _grid_minima(expr, variables, ends, grid)
    objective = Objective(expr, variables)
    widths = [(b - a) / (grid - 1) for a, b in ends]
    lowered: list[tuple[float, list[float]]] = []
    for start in starts:
        value, x = _lowered(objective, start, ends, widths)
        if not any(_is_same(x, other, ends) for _, other in lowered):
            lowered.append((value, x))
    places: list[Place] = []
    for _, x in sorted(lowered)[:POLISHED]:
        place = _restricted(objective, np.array(x), _fixed(x, bounds, ends), ends)
        if place is not None and not any(_is_same(place.x, other.x, ends) for other in places):
            places.append(place)
    if not places:
        raise ToolError("DOMAIN_ERROR", "the objective has no real value at any grid point", "choose another box")
    places.sort(key=lambda place: (float(f"{place.value:.11e}"), place.x))
    if places[0].falling:
        message = f"the objective keeps falling near {places[0].x}, where it reaches {places[0].value:g}: a pole?"
        raise ToolError("NO_CONVERGENCE", message, "leave that place out of the box, or take a finer grid")
    places = [place for place in places if not place.falling]
    lower, boxes = _lower_bound(expr, variables, bounds, places[0].value)
    return BoxMinimum(places, lower, boxes, evaluations)


def _grid_minima(
    expr: Node, variables: Sequence[str], ends: Sequence[tuple[float, float]], grid: int
) -> tuple[list[Any], int]:
    """Return the grid points that are no higher than their neighbours, the lowest first."""
    axes = [np.linspace(low, high, grid) for low, high in ends]
    mesh = np.meshgrid(*axes, indexing="ij")
    values = np.asarray(compile_array(expr, tuple(variables))(*mesh), dtype=float)
    values = np.where(np.isfinite(values), values, np.inf)
    lowest = np.isfinite(values)
    for axis in range(values.ndim):
        for shift in (1, -1):
            other = np.roll(values, shift, axis=axis)
            edge = [slice(None)] * values.ndim
            edge[axis] = slice(0, 1) if shift == 1 else slice(-1, None)
            other[tuple(edge)] = np.inf
            lowest &= values <= other
    places = np.argwhere(lowest)
    order = sorted(range(len(places)), key=lambda i: (values[tuple(places[i])], tuple(places[i])))[:CANDIDATES]
    return [np.array([axes[k][j] for k, j in enumerate(places[i])]) for i in order], int(values.size)


def _lowered(
    objective: Objective, start: Any, ends: Sequence[tuple[float, float]], widths: Sequence[float]
) -> tuple[float, list[float]]:
    """Descend within the box."""
    from scipy.optimize import minimize

    def slope(x: Any) -> Any:
        try:
            found = objective.slope(x)
        except ToolError:
            return np.zeros(len(x))
        return np.where(np.isfinite(found), found, 0.0)

    def value(x: Any) -> float:
        return min(objective.value(x), 1e300)

    options: Any = {"maxiter": 200, "ftol": 1e-15, "gtol": 1e-12}
    x = start
    for _ in range(RECENTRED):  # the first step of the method is long, so it is kept to the cells around
        cell: Any = [(max(a, v - w), min(b, v + w)) for v, w, (a, b) in zip(x, widths, ends, strict=True)]
        with np.errstate(all="ignore"):
            found: Any = minimize(value, x, jac=slope, bounds=cell, method="L-BFGS-B", options=options)
        if not found.fun <= value(x):
            break
        x = np.asarray(found.x)
        inner = [(a < v < b) or v in (low, high) for v, (a, b), (low, high) in zip(x, cell, ends, strict=True)]
        if all(inner):
            break
    return value(x), x.tolist()


def _fixed(
    x: Sequence[float], bounds: Sequence[tuple[Node, Node]], ends: Sequence[tuple[float, float]]
) -> dict[int, Node]:
    """Return the ends that a place lies on."""
    fixed = {}
    for i, (value, (low, high), (a, b)) in enumerate(zip(x, bounds, ends, strict=True)):
        near = 1e-9 * (b - a)
        if value - a <= near or b - value <= near:
            fixed[i] = low if value - a <= near else high
    return fixed


def _restricted(
    objective: Objective, x: Any, fixed: dict[int, Node], ends: Sequence[tuple[float, float]]
) -> Place | None:
    names = objective.variables
    free = [name for i, name in enumerate(names) if i not in fixed]
    values = {names[i]: node for i, node in fixed.items()}
    expr = replace(objective.expr, values)
    point = [nearest_double(fixed[i]) if i in fixed else float(x[i]) for i in range(len(names))]
    part = Objective(expr, free) if fixed and free else objective
    certified, falling, best = not free, False, None
    if free and any(name in free_symbols(expr) for name in free):
        start = [point[names.index(name)] for name in free]
        try:
            found = minimum(part, start, "newton")
            inside = all(
                ends[names.index(n)][0] <= v <= ends[names.index(n)][1] for n, v in zip(free, found.x, strict=True)
            )
            near = all(abs(v - s) <= 1e-2 * (1 + abs(s)) for v, s in zip(found.x, start, strict=True))
            if inside and near:
                for name, v in zip(free, found.x, strict=True):
                    point[names.index(name)] = v
                certified, best = found.certified, found.value
        except ToolError:
            certified = False
        if not certified:
            here = np.array([point[names.index(name)] for name in free])
            falling = _is_undefined_near(expr, free, here) or falls_somewhere(part, here)
    try:
        value = exact_value(objective.expr, names, point) if best is None else best
    except ToolError:
        return None
    return Place(point, value, bool(fixed), certified, falling)


def _is_undefined_near(expr: Node, names: Sequence[str], x: Any) -> bool:
    """Return whether a small box around a place may hold a pole."""
    from flint import acb, arb

    with precision(96):
        box = {name: acb(arb(float(v), 1e-5 * (1 + abs(float(v))))) for name, v in zip(names, x, strict=True)}
        try:
            return not ball(expr, box).is_finite()
        except Undecided:
            return True


def _is_same(a: Sequence[float], b: Sequence[float], ends: Sequence[tuple[float, float]]) -> bool:
    return all(abs(p - q) <= 1e-6 * (high - low) for p, q, (low, high) in zip(a, b, ends, strict=True))


def _lower_bound(
    expr: Node, variables: Sequence[str], bounds: Sequence[tuple[Node, Node]], best: float
) -> tuple[float | None, int]:
    """Split boxes, the lowest bound first, until the bound is near `best` or the effort is spent."""
    with precision(96):
        first = [ball(low, {}).real.union(ball(high, {}).real) for low, high in bounds]
        start = _bound_of(expr, variables, first)
        heap: list[tuple[float, int, Any]] = [(start, 0, first)]
        count = 1
        most = max(60, min(1_500, EFFORT // sum(1 for _ in walk(expr))))
        goal = best - GAP * (1 + abs(best)) / 2
        while heap and heap[0][0] < goal and count < most:
            _, _, box = heapq.heappop(heap)
            widest = max(range(len(box)), key=lambda i: float(box[i].rad()))
            side = box[widest]
            for part in (side.lower().union(side.mid()), side.mid().union(side.upper())):
                half = [*box[:widest], part, *box[widest + 1 :]]
                count += 1
                heapq.heappush(heap, (_bound_of(expr, variables, half), count, half))
        lower = heap[0][0] if heap else best
    return (lower if lower > -np.inf else None), count


def _bound_of(expr: Node, variables: Sequence[str], box: Sequence[Any]) -> float:
    """Return a lower bound over a box: the better of the plain enclosure and the mean value form."""
    from flint import acb

    place = {name: acb(side) for name, side in zip(variables, box, strict=True)}
    lower = -np.inf
    try:
        found = ball(expr, place)
        if not found.imag.contains(0):
            return float(np.inf)  # no real value in the box
        lower = _down(found.real)
    except Undecided:
        return lower
    try:
        middle = {name: acb(side.mid()) for name, side in zip(variables, box, strict=True)}
        total = ball(expr, middle).real
        for name, side in zip(variables, box, strict=True):
            total = total + jet(expr, place, {name: acb(1)}, 1)[1].real * (side - side.mid())
        lower = max(lower, _down(total))
    except ToolError:
        pass
    return lower


def _down(value: Any) -> float:
    found = float(value.lower())
    return float(np.nextafter(found, -np.inf)) if np.isfinite(found) else -np.inf
