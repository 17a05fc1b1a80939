"""The engine of nonlinear least squares: Levenberg-Marquardt, variable projection, and a check of the minimum.

Methods: Levenberg-Marquardt with Nielsen's damping; variable projection after Golub and Pereyra in Kaufman's form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols
from maven_env.expressions.numeric import compile_array

Array = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

ITERATIONS = 600
CONVERGED = 1e-6  # relative Gauss-Newton step of a stationary point
_EPS = 2.0**-52


@dataclass(frozen=True)
class Problem:
    """Weighted residuals and their derivatives by the parameters; those in `linear` enter linearly."""

    residual: Callable[[Array], Array]  # (p,) -> (n,)
    derivative: Callable[[Array], Array]  # (p,) -> (n, p)
    linear: tuple[int, ...]
    lower: Array
    upper: Array

    def cost(self, b: Array) -> float:
        """Return the sum of squares; oo where the model has no real value or b is out of bounds."""
        if (b < self.lower).any() or (b > self.upper).any():
            return math.inf
        r = self.residual(b)
        total = float(r @ r)
        return total if math.isfinite(total) else math.inf


def problem_of(
    model: Node, derivatives: Sequence[Node], x: str, parameters: Sequence[str], data: tuple[Array, Array, Array]
) -> Problem:
    """Compile the model. `data` are x, y and the standard deviations (ones without weights)."""
    xs, ys, sigma = data
    names = [x, *parameters]
    value = compile_array(model, names)
    parts = [compile_array(d, names) for d in derivatives]

    def residual(b: Array) -> Array:
        return np.asarray((ys - value(xs, *b)) / sigma)

    def derivative(b: Array) -> Array:
        return -np.array([part(xs, *b) / sigma for part in parts]).T

    linear = _linear_parameters(derivatives, parameters)
    unbounded = np.full(len(parameters), np.inf)
    return Problem(residual, derivative, linear, -unbounded, unbounded)


def _linear_parameters(derivatives: Sequence[Node], parameters: Sequence[str]) -> tuple[int, ...]:
    """Return a largest set, greedily, of parameters that the model is jointly linear in."""
    chosen: list[int] = []
    for i, derivative in enumerate(derivatives):
        names = free_symbols(derivative)
        if parameters[i] not in names and not any(parameters[j] in names for j in chosen):
            chosen.append(i)
    return tuple(chosen)


@dataclass(frozen=True)
class Minimum:
    """Where an iteration ended: `step` is the last relative Gauss-Newton step, small at a stationary point."""

    parameters: Array
    cost: float
    step: float
    iterations: int


def minimise(problem: Problem, start: Array) -> list[Minimum]:
    """Return the stationary points that are reached from the start by several ways, best first."""
    ways = [start]
    projected = _projected(problem, start)
    found: list[Minimum] = []
    if projected is not None:
        found.append(projected)
        ways.append(_with_linear(problem, start))
    for way in ways:
        if math.isfinite(problem.cost(way)):
            found.append(levenberg_marquardt(problem, way))
    if not any(m.step < CONVERGED for m in found):
        found += [levenberg_marquardt(problem, way, ITERATIONS // 4) for way in _other_starts(problem, start)]
    converged = [m for m in found if m.step < CONVERGED and math.isfinite(m.cost)]
    return sorted(converged or [m for m in found if math.isfinite(m.cost)], key=lambda m: m.cost)


def _other_starts(problem: Problem, start: Array) -> list[Array]:
    """Return starts with the nonlinear parameters scaled by powers of ten, the linear ones solved for; best first."""
    others = [i for i in range(len(start)) if i not in problem.linear]
    if len(others) > 3:
        return []
    found: list[tuple[float, int, Array]] = []
    for k, factors in enumerate(itertools.product((1.0, 0.1, 10.0, 0.01, 100.0), repeat=len(others))):
        way = start.copy()
        way[others] *= factors
        way = _with_linear(problem, way) if problem.linear else way
        cost = problem.cost(way)
        if math.isfinite(cost):
            found.append((cost, k, way))
    return [way for _, _, way in sorted(found, key=lambda item: item[:2])[:8]]


def levenberg_marquardt(problem: Problem, start: Array, iterations: int = ITERATIONS) -> Minimum:
    """Minimise from `start`; columns are scaled by the largest norms that they have had."""
    b, cost = start.copy(), problem.cost(start)
    damping, growth = 1e-3, 2.0
    scale = np.zeros(len(b))
    count = 0
    while count < iterations:
        count += 1
        r, j = problem.residual(b), problem.derivative(b)
        if not (np.isfinite(r).all() and np.isfinite(j).all()):
            return Minimum(b, math.inf, math.inf, count)
        free = _free(problem, b, j.T @ r)
        scale = np.maximum(scale, np.linalg.norm(j, axis=0))
        weights = np.where(scale > 0, scale, 1.0)
        if _relative_step(b, _gauss_newton(j, r, weights, free)) < 4 * _EPS:
            break
        accepted = False
        for _ in range(40):
            step = _damped_step(j, r, weights, free, damping)
            trial = np.clip(b + step, problem.lower, problem.upper)
            value = problem.cost(trial)
            predicted = cost - float(np.sum((r + j @ (trial - b)) ** 2))
            if value < cost and predicted > 0:
                ratio = (cost - value) / predicted
                damping *= max(1 / 3, 1 - (2 * ratio - 1) ** 3)
                growth = 2.0
                b, cost, accepted = trial, value, True
                break
            damping *= growth
            growth *= 2
            if _relative_step(b, step) < _EPS:
                break
        if not accepted:
            break
    return _finished(problem, b, cost, scale, count)


def _finished(problem: Problem, b: Array, cost: float, scale: Array, count: int) -> Minimum:
    """Take plain Gauss-Newton steps as long as they shrink: near the minimum the cost no longer tells points apart."""
    weights = np.where(scale > 0, scale, 1.0)
    last = math.inf
    for _ in range(8):
        r, j = problem.residual(b), problem.derivative(b)
        step = _gauss_newton(j, r, weights, _free(problem, b, j.T @ r))
        size = _relative_step(b, step)
        trial = np.clip(b + step, problem.lower, problem.upper)
        value = problem.cost(trial)
        if not (size < 1e-4 and size < last / 2) or value > cost * (1 + 1e-9) + 1e-300:
            return Minimum(b, cost, min(size, last), count)
        b, cost, last = trial, value, size
    return Minimum(b, cost, last, count)


def _free(problem: Problem, b: Array, gradient: Array) -> Flags:
    """Return which parameters are not held at a bound by the gradient."""
    return np.asarray(~(((b <= problem.lower) & (gradient > 0)) | ((b >= problem.upper) & (gradient < 0))))


def _damped_step(j: Array, r: Array, weights: Array, free: Flags, damping: float) -> Array:
    scaled = (j / weights)[:, free]
    step = np.zeros(j.shape[1])
    matrix = np.vstack([scaled, math.sqrt(damping) * np.eye(int(free.sum()))])
    solved = np.linalg.lstsq(matrix, -np.concatenate([r, np.zeros(int(free.sum()))]), rcond=None)[0]
    step[free] = solved / weights[free]
    return step


def _gauss_newton(j: Array, r: Array, weights: Array, free: Flags) -> Array:
    step = np.zeros(j.shape[1])
    step[free] = np.linalg.lstsq((j / weights)[:, free], -r, rcond=1e-15)[0] / weights[free]
    return step


def _relative_step(b: Array, step: Array) -> float:
    sizes = np.maximum(np.abs(b), 1e-300)
    return float((np.abs(step) / sizes).max())


# ---- variable projection ---------------------------------------------------------------------------------------------
def _with_linear(problem: Problem, b: Array) -> Array:
    """Return b with the linear parameters solved for."""
    linear = list(problem.linear)
    result = b.copy()
    r, j = problem.residual(b), problem.derivative(b)[:, linear]
    if np.isfinite(r).all() and np.isfinite(j).all():
        result[linear] += np.linalg.lstsq(j, -r, rcond=1e-14)[0]
    return result


def _projected(problem: Problem, start: Array) -> Minimum | None:
    """Minimise over the nonlinear parameters alone, the linear ones following; then over all."""
    linear = list(problem.linear)
    others = [i for i in range(len(start)) if i not in linear]
    if not linear or not others or np.isfinite(problem.lower).any() or np.isfinite(problem.upper).any():
        return None

    def whole(c: Array) -> Array:
        b = start.copy()
        b[others] = c
        return _with_linear(problem, b)

    def residual(c: Array) -> Array:
        return problem.residual(whole(c))

    def derivative(c: Array) -> Array:
        j = problem.derivative(whole(c))
        basis = np.linalg.qr(j[:, linear])[0] if np.isfinite(j).all() else np.zeros((len(j), 0))
        part = j[:, others]
        return part - basis @ (basis.T @ part)

    unbounded = np.full(len(others), np.inf)
    inner = Problem(residual, derivative, (), -unbounded, unbounded)
    if not math.isfinite(inner.cost(start[others])):
        return None
    reached = levenberg_marquardt(inner, start[others])
    if not math.isfinite(reached.cost):
        return None
    final = levenberg_marquardt(problem, whole(reached.parameters))
    return replace(final, iterations=final.iterations + reached.iterations)


# ---- the check -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Curvature:
    """What the derivatives at a minimum say: inverse of J^T J, condition with columns of norm 1, error by rounding."""

    inverse: Array
    condition: float
    rounding: float


def curvature_at(problem: Problem, b: Array, size: float) -> Curvature:
    """Return the curvature at b. `size` is the norm of the data, which fixes the rounding of the residuals.

    Raises NO_CONVERGENCE if the parameters are not identifiable.
    """
    j = problem.derivative(b)
    norms = np.linalg.norm(j, axis=0)
    if not (np.isfinite(j).all() and (norms > 0).all()):
        raise ToolError("NO_CONVERGENCE", "a parameter has no influence at the minimum", "drop it, or change the start")
    _, values, vt = np.linalg.svd(j / norms, full_matrices=False)
    condition = float(values[0] / values[-1]) if values[-1] > 0 else math.inf
    if not condition < 1e12:
        message = f"the parameters are not identifiable: the derivatives have condition {condition:.2g}"
        raise ToolError("NO_CONVERGENCE", message, "fix or drop a parameter", condition_number=condition)
    root = (vt.T / values) / norms[:, None]
    rounding = 8 * _EPS * size * float((np.linalg.norm(root, axis=1) / np.maximum(np.abs(b), 1e-300)).max())
    return Curvature(root @ root.T, condition, rounding)


def is_minimum(problem: Problem, minimum: Minimum, curvature: Curvature, size: float) -> bool:
    """Whether the sum of squares grows in the main directions around the point; a perfect fit is a minimum."""
    if minimum.cost <= (1e-9 * size) ** 2:
        return True
    values, vectors = np.linalg.eigh(curvature.inverse)
    free = len(problem.residual(minimum.parameters)) - len(minimum.parameters)
    spread = math.sqrt(minimum.cost / max(free, 1)) or 1.0
    slack = minimum.cost * (1 - 1e-9)
    for value, vector in zip(values, vectors.T, strict=True):
        step = 1e-2 * spread * math.sqrt(max(float(value), 0.0)) * vector
        if min(problem.cost(minimum.parameters + step), problem.cost(minimum.parameters - step)) < slack:
            return False
    return True
