"""Constrained optima: sequential quadratic programming, then the Karush-Kuhn-Tucker equations solved with a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Negative, Node, number_node, rational_value, replace
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.tree import ZERO, Product, Sum, Symbol
from maven_env.tools.equations.branches import tidied
from maven_env.tools.numeric.newton import certified_root
from maven_env.tools.optimisation.descent import Objective, exact_value
from maven_env.tools.optimisation.simplex import Bound, Programme, Row, solve

FEASIBLE = 1e-7
ACTIVE = 1e-6


@dataclass(frozen=True)
class Bounds:
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class ConstrainedOptimum:
    x: list[float]
    value: float
    multipliers: list[float]  # equalities, then inequalities; gradient f = sum multiplier * gradient
    active: list[int]
    iterations: int
    violation: float
    kkt_residual: float
    certified: bool
    curvature: str  # minimum, or not decided


class Problem:
    """Minimise f over equalities = 0, inequalities >= 0 and bounds."""

    def __init__(
        self,
        expr: Node,
        variables: Sequence[str],
        equalities: Sequence[Node],
        inequalities: Sequence[Node],
        bounds: Bounds,
    ) -> None:
        self.f = Objective(expr, variables)
        self.variables = list(variables)
        self.equalities = [Objective(e, variables) for e in equalities]
        self.inequalities = [Objective(e, variables) for e in inequalities]
        self.bounds = bounds

    def violation(self, x: Any) -> float:
        parts = [abs(e.value(x)) for e in self.equalities] + [max(0.0, -e.value(x)) for e in self.inequalities]
        parts += [max(0.0, low - v) for low, v in zip(self.bounds.low, x, strict=True)]
        parts += [max(0.0, v - high) for high, v in zip(self.bounds.high, x, strict=True)]
        return max(parts, default=0.0)


def constrained_minimum(problem: Problem, start: Sequence[float]) -> ConstrainedOptimum:
    """Return a local minimum under constraints. Raises NO_CONVERGENCE, UNBOUNDED."""
    x, iterations = np.array(start, dtype=float), 0
    for _ in range(3):  # again from beside a saddle or a maximum
        try:
            return _one_descent(problem, x, iterations)
        except _NotLowest as place:
            x, iterations = place.beside, place.iterations
    _give_up(x, "the stationary points reached are no minima of the constrained problem")


class _NotLowest(Exception):
    def __init__(self, beside: Any, iterations: int) -> None:
        super().__init__("a stationary point that is no minimum")
        self.beside = beside
        self.iterations = iterations


def _one_descent(problem: Problem, start: Any, before: int) -> ConstrainedOptimum:
    x, iterations = _by_slsqp(problem, start)
    iterations += before
    scale = 1 + float(np.max(np.abs(x)))
    if not problem.violation(x) <= 1e-4 * scale:
        _give_up(x, "no feasible point was found from this start, which proves nothing")
    active = [i for i, e in enumerate(problem.inequalities) if e.value(x) <= ACTIVE * scale * _steepness(e, x)]
    fixed = _fixed(problem, x)
    for _ in range(len(active) + len(fixed) + 1):
        found = _kkt(problem, x, active, fixed, iterations)
        if found is None:
            break
        if isinstance(found, ConstrainedOptimum):
            return found
        active, fixed = found
    return _unproved(problem, x, active, iterations)


def refuse_infeasible(
    equal: Sequence[Node], unequal: Sequence[Node], variables: Sequence[str], ends: Sequence[Bound]
) -> None:
    """Raise INFEASIBLE where the linear ones among the constraints exclude every point, decided exactly."""
    rows: dict[bool, list[tuple[Row, Fraction]]] = {True: [], False: []}
    for is_equal, nodes in ((True, equal), (False, unequal)):
        for node in nodes:
            affine = _affine(node, variables)
            if affine is not None:
                rows[is_equal].append(affine)
    upper = [[-a for a in row] for row, _ in rows[False]]  # row.x + c >= 0
    right = [c for _, c in rows[False]]
    equal_rows, equal_right = [row for row, _ in rows[True]], [-c for _, c in rows[True]]
    if upper or equal_rows:
        solve(Programme([Fraction(0)] * len(variables), upper, right, equal_rows, equal_right, ends))


def _affine(node: Node, variables: Sequence[str]) -> tuple[Row, Fraction] | None:
    """Return coefficients and constant of an affine expression with rational numbers, else None."""
    origin = dict.fromkeys(variables, ZERO)
    coefficients = []
    for name in variables:
        try:
            slope = tidied(derivative(node, name))
        except ToolError:
            return None
        value = rational_value(slope)
        if value is None:
            return None
        coefficients.append(value)
    constant = rational_value(replace(node, origin))
    return None if constant is None else (coefficients, constant)


def _steepness(constraint: Objective, x: Any) -> float:
    try:
        return 1 + float(np.max(np.abs(constraint.slope(x))))
    except ToolError:
        return 1.0


def _by_slsqp(problem: Problem, x: Any) -> tuple[Any, int]:
    from scipy.optimize import minimize

    def guarded(function: Any, n: int | None) -> Any:
        def call(point: Any) -> Any:
            try:
                found = function(np.asarray(point))
            except ToolError:
                return 1e30 if n is None else np.zeros(n)
            return found if np.all(np.isfinite(found)) else 1e30 if n is None else np.zeros(n)

        return call

    n = len(x)
    constraints: Any = [
        {"type": kind, "fun": guarded(lambda p, e=e: e.value(p), None), "jac": guarded(lambda p, e=e: e.slope(p), n)}
        for kind, group in (("eq", problem.equalities), ("ineq", problem.inequalities))
        for e in group
    ]
    limits: Any = list(zip(problem.bounds.low, problem.bounds.high, strict=True))
    options: Any = {"maxiter": 300, "ftol": 1e-14}
    best = x
    iterations = 0
    with np.errstate(all="ignore"):
        for _ in range(3):
            found: Any = minimize(
                guarded(problem.f.value, None), best, jac=guarded(problem.f.slope, n), method="SLSQP",
                bounds=limits, constraints=constraints, options=options,
            )  # fmt: skip
            iterations += int(found.nit)
            if not np.all(np.isfinite(found.x)):
                break
            best = found.x
            if found.success:
                break
    if problem.f.value(best) < -1e25 or np.max(np.abs(best)) > 1e25:
        raise ToolError(
            "UNBOUNDED", "the objective falls without bound along the descent", "add a constraint or bounds"
        )
    return best, iterations


def _fixed(problem: Problem, x: Any) -> dict[int, float]:
    """Return the variables that lie on a bound."""
    fixed = {}
    for i, (low, high, value) in enumerate(zip(problem.bounds.low, problem.bounds.high, x, strict=True)):
        for end in (low, high):
            if np.isfinite(end) and abs(value - end) <= ACTIVE * (1 + abs(end)):
                fixed[i] = end
    return fixed


def _kkt(
    problem: Problem, x: Any, active: list[int], fixed: dict[int, float], iterations: int
) -> ConstrainedOptimum | tuple[list[int], dict[int, float]] | None:
    """Solve the stationarity equations for an active set; return the optimum, a smaller active set, or None."""
    put = {problem.variables[i]: number_node(Fraction(end)) for i, end in fixed.items()}
    free = [name for i, name in enumerate(problem.variables) if i not in fixed]
    held = [e.expr for e in problem.equalities] + [problem.inequalities[i].expr for i in active]
    names = [f"multiplier_{i}" for i in range(len(held))]
    terms: list[Node] = [problem.f.expr]
    terms += [Negative(Product((Symbol(name), node))) for name, node in zip(names, held, strict=True)]
    lagrangian = Sum(tuple(terms))
    residuals = [replace(derivative(lagrangian, name), put) for name in free] + [replace(node, put) for node in held]
    unknowns = [*free, *names]
    if not unknowns:
        return _finished(problem, fixed, {}, [], active, iterations)
    start = [*(float(x[problem.variables.index(name)]) for name in free), *_guess(problem, x, active)]
    try:
        slopes = [[derivative(residual, name) for name in unknowns] for residual in residuals]
        root = certified_root(residuals, slopes, unknowns, np.array(start), iterations, start)
    except ToolError as error:
        if error.code not in ("SINGULAR", "NO_CONVERGENCE", "DOMAIN_ERROR", "UNSOLVED"):
            raise
        return None
    point = dict(zip(unknowns, root.point, strict=True))
    if any(abs(point[name] - float(x[problem.variables.index(name)])) > 1e-2 * (1 + abs(point[name])) for name in free):
        return None
    return _finished(problem, fixed, point, names, active, iterations)


def _guess(problem: Problem, x: Any, active: Sequence[int]) -> list[float]:
    rows = [e.slope(x) for e in problem.equalities] + [problem.inequalities[i].slope(x) for i in active]
    if not rows:
        return []
    found: list[float] = np.linalg.lstsq(np.array(rows).T, problem.f.slope(x), rcond=None)[0].tolist()
    return found


def _finished(
    problem: Problem,
    fixed: dict[int, float],
    point: dict[str, float],
    names: Sequence[str],
    active: list[int],
    iterations: int,
) -> ConstrainedOptimum | tuple[list[int], dict[int, float]] | None:
    full = np.array([fixed.get(i, point.get(name, 0.0)) for i, name in enumerate(problem.variables)])
    lambdas = [point[name] for name in names]
    count = len(problem.equalities)
    for k, i in enumerate(active):  # a constraint that pulls the wrong way is let go
        if lambdas[count + k] < -1e-9 * (1 + max(map(abs, lambdas))):
            return [j for j in active if j != i], fixed
    gradient = _lagrangian_slope(problem, full, lambdas, active)
    for i, end in fixed.items():
        at_low = end == problem.bounds.low[i]
        if (gradient[i] < -1e-9) if at_low else (gradient[i] > 1e-9):
            return active, {j: e for j, e in fixed.items() if j != i}
    if problem.violation(full) > FEASIBLE * (1 + float(np.max(np.abs(full)))):
        return None
    strong = all(abs(value) > 1e-9 for value in lambdas[count:]) and all(abs(gradient[i]) > 1e-9 for i in fixed)
    curvature, direction = _curvature(problem, full, lambdas, active, fixed)
    if curvature < 0 and strong:
        raise _NotLowest(full + 0.2 * (1 + float(np.max(np.abs(full)))) * direction, iterations)
    multipliers = [*lambdas[:count], *(0.0 for _ in problem.inequalities)]
    for k, i in enumerate(active):
        multipliers[count + i] = lambdas[count + k]
    rest = max((abs(g) for i, g in enumerate(gradient) if i not in fixed), default=0.0)
    return ConstrainedOptimum(
        full.tolist(), exact_value(problem.f.expr, problem.variables, full.tolist()), multipliers, sorted(active),
        iterations, problem.violation(full), float(rest), curvature > 0, "minimum" if curvature > 0 else "not decided",
    )  # fmt: skip


def _lagrangian_slope(problem: Problem, x: Any, lambdas: Sequence[float], active: Sequence[int]) -> Any:
    total = problem.f.slope(x)
    held = [*problem.equalities, *(problem.inequalities[i] for i in active)]
    for value, constraint in zip(lambdas, held, strict=True):
        total = total - value * constraint.slope(x)
    return total


def _curvature(
    problem: Problem, x: Any, lambdas: Sequence[float], active: Sequence[int], fixed: dict[int, float]
) -> tuple[int, Any]:
    """Return 1 if the Lagrangian curves up along all tangents, -1 if down along one, else 0; and the lowest one."""
    held = [*problem.equalities, *(problem.inequalities[i] for i in active)]
    h = problem.f.bend(x)
    for value, constraint in zip(lambdas, held, strict=True):
        h = h - value * constraint.bend(x)
    rows = [constraint.slope(x) for constraint in held]
    rows += [np.eye(len(x))[i] for i in fixed]
    tangent = _null_space(np.array(rows)) if rows else np.eye(len(x))
    if tangent.shape[1] == 0:
        return 1, np.zeros(len(x))
    values, vectors = np.linalg.eigh(tangent.T @ h @ tangent)
    size = max(float(np.max(np.abs(h))), 1e-300)
    direction = tangent @ vectors[:, 0]
    direction = direction if direction[np.argmax(np.abs(direction))] > 0 else -direction
    return (1 if values[0] > 1e-9 * size else -1 if values[0] < -1e-7 * size else 0), direction


def _null_space(rows: Any) -> Any:
    _, s, vt = np.linalg.svd(rows)
    rank = int(np.sum(s > 1e-10 * max(s[0], 1e-300))) if s.size else 0
    return vt[rank:].T


def _unproved(problem: Problem, x: Any, active: list[int], iterations: int) -> ConstrainedOptimum:
    """Accept the descent's end if it is feasible and stationary to many digits."""
    try:
        lambdas = _guess(problem, x, active)
        gradient = _lagrangian_slope(problem, x, lambdas, active)
    except (ToolError, np.linalg.LinAlgError):
        _give_up(x, "the gradients have no value at the end")
    fixed = _fixed(problem, x)
    rest = max((abs(g) for i, g in enumerate(gradient) if i not in fixed), default=0.0)
    count = len(problem.equalities)
    size = 1 + float(np.max(np.abs(problem.f.slope(x))))
    wrong = any(value < -1e-4 * size for value in lambdas[count:])
    if rest > 1e-5 * size or wrong or problem.violation(x) > FEASIBLE * (1 + float(np.max(np.abs(x)))):
        _give_up(x, "the end is no stationary point of the constrained problem to the accuracy needed")
    multipliers = [*lambdas[:count], *(0.0 for _ in problem.inequalities)]
    for k, i in enumerate(active):
        multipliers[count + i] = lambdas[count + k]
    value = exact_value(problem.f.expr, problem.variables, x.tolist())
    return ConstrainedOptimum(
        x.tolist(),
        value,
        multipliers,
        sorted(active),
        iterations,
        problem.violation(x),
        float(rest),
        False,
        "not decided",
    )


def _give_up(x: Any, reason: str) -> NoReturn:
    hint = "choose another start, or look at the constraints"
    raise ToolError(
        "NO_CONVERGENCE", f"{reason}; it ended at {np.asarray(x).tolist()}", hint, last=np.asarray(x).tolist()
    )
