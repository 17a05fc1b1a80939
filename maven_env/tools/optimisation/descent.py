"""Local minima: descent in doubles, then a proof by the interval Newton method and the definite Hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Negative, Node
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.numeric import compile_real
from maven_env.tools.numeric.newton import certified_root

STEPS = 2_000
FAR = 1e12
LOW = -1e60


@dataclass(frozen=True)
class Minimum:
    x: list[float]
    value: float
    gradient_norm: float
    eigenvalues: list[float]
    iterations: int
    certified: bool  # a strict local minimum is proved in the nearest box


class Objective:
    """A function with exact derivatives, compiled."""

    def __init__(self, expr: Node, variables: Sequence[str]) -> None:
        self.expr = expr
        self.variables = list(variables)
        self.f = compile_real(expr, self.variables)

    @cached_property
    def gradient(self) -> list[Node]:
        return [derivative(self.expr, name) for name in self.variables]

    @cached_property
    def hessian(self) -> list[list[Node]]:
        return [[derivative(row, name) for name in self.variables] for row in self.gradient]

    @cached_property
    def _slopes(self) -> list[Callable[..., float]]:
        return [compile_real(g, self.variables) for g in self.gradient]

    @cached_property
    def _bends(self) -> list[list[Callable[..., float]]]:
        return [[compile_real(h, self.variables) for h in row] for row in self.hessian]

    def value(self, x: Any) -> float:
        """Return f(x), infinity outside its domain."""
        try:
            found = self.f(*x.tolist())
        except ToolError:
            return float("inf")
        return found if found == found else float("inf")

    def slope(self, x: Any) -> Any:
        return np.array([g(*x.tolist()) for g in self._slopes])

    def bend(self, x: Any) -> Any:
        return np.array([[h(*x.tolist()) for h in row] for row in self._bends])


def minimum(objective: Objective, start: Sequence[float], method: str) -> Minimum:
    """Return a local minimum. Raises NO_CONVERGENCE, UNBOUNDED, DOMAIN_ERROR."""
    x = np.array(start, dtype=float)
    if not np.isfinite(objective.value(x)):
        raise ToolError("DOMAIN_ERROR", "the objective has no real value at the start", "choose another start")
    try:
        found = _descended(objective, x, method)
    except ToolError as error:
        if error.code != "UNBOUNDED" or method == "newton":
            raise
        try:  # short steps may stay in a basin that long ones left, as over a pole
            found = _descended(objective, x, "newton")
        except ToolError:
            raise error from None
    return found


def _descended(objective: Objective, start: Any, method: str) -> Minimum:
    x, iterations = start, 0
    if method != "newton":
        x, iterations = _by_scipy(objective, x, method)
    for _ in range(5):
        x, more = _trust_region(objective, x, method == "newton")
        iterations += more
        lower = _off_saddle(objective, x)
        if lower is None:
            break
        x = lower
    x = _rounded(objective, x)
    try:
        return _proved(objective, x, iterations)
    except ToolError as error:
        if error.code not in ("SINGULAR", "NO_CONVERGENCE", "DOMAIN_ERROR", "UNSOLVED"):
            raise
    return _unproved(objective, x, iterations)


def _off_saddle(objective: Objective, x: Any) -> Any | None:
    """Return a lower point along the most negative curvature, or None."""
    try:
        values, vectors = np.linalg.eigh(objective.bend(x))
    except (ToolError, np.linalg.LinAlgError):
        return None
    if not np.all(np.isfinite(values)) or values[0] >= -1e-9 * max(abs(values[-1]), 1e-300):
        return None
    value = objective.value(x)
    trials = [
        x + sign * t * vectors[:, 0] * (1 + float(np.max(np.abs(x)))) for t in (1e-1, 1e-2, 1e-3) for sign in (1, -1)
    ]
    best = min(trials, key=objective.value)
    return best if objective.value(best) < value else None


def _by_scipy(objective: Objective, x: Any, method: str) -> tuple[Any, int]:
    from scipy.optimize import minimize

    best = [objective.value(x), x]

    def tracked(point: Any) -> float:
        value = objective.value(np.asarray(point))
        if value < best[0]:
            best[:] = [value, np.array(point)]
        if value < LOW or np.max(np.abs(point)) > 1e60:
            _unbounded()
        return value

    name: Any = "BFGS" if method == "bfgs" else "Nelder-Mead"

    def jacobian(point: Any) -> Any:
        try:
            return objective.slope(np.asarray(point))
        except ToolError:
            return np.zeros(len(point))

    with np.errstate(all="ignore"):
        options: Any = {"maxiter": 400 * len(x)}
        found: Any = minimize(tracked, x, method=name, jac=jacobian if method == "bfgs" else None, options=options)
    return np.asarray(best[1]), int(found.nit)


def _trust_region(objective: Objective, x: Any, careful: bool) -> tuple[Any, int]:
    """Newton steps with the Hessian shifted to be positive definite, shortened until the value falls.

    `careful` also shortens steps that fall by far more than the slope says, because they may have crossed a pole.
    """
    value, radius = objective.value(x), float(np.max(np.abs(x)) + 1)
    for iteration in range(STEPS):
        try:
            g, h = objective.slope(x), objective.bend(x)
        except ToolError:
            return x, iteration
        if not (np.all(np.isfinite(g)) and np.all(np.isfinite(h))) or not np.any(g):
            return x, iteration
        with np.errstate(all="ignore"):
            step = _shifted_step(g, h, radius)
        if not np.all(np.isfinite(step)):
            return x, iteration
        moved = False
        for _ in range(60):
            trial = x + step
            there = objective.value(trial)
            if there < value and (not careful or value - there <= -1.2 * float(g @ step) + 1e-12 * abs(value)):
                moved = True
                break
            step = step / 4
        if not moved:
            return x, iteration
        if there < LOW or (np.max(np.abs(trial)) > FAR * (1 + np.max(np.abs(x))) and there < value - abs(value)):
            _unbounded()
        radius = max(4 * float(np.linalg.norm(step)), 1e-8 * (1 + float(np.max(np.abs(trial)))))
        settled = np.all(np.abs(step) <= 1e-15 * np.abs(trial)) or abs(value - there) <= 1e-18 * abs(value)
        x, value = trial, there
        if settled:
            return x, iteration + 1
        if np.max(np.abs(x)) > FAR:
            _unbounded()
    return x, STEPS


def _shifted_step(g: Any, h: Any, radius: float) -> Any:
    scale = np.sqrt(np.maximum(np.abs(np.diag(h)), 1e-12 * np.max(np.abs(h), initial=1e-300)) + 1e-300)
    values, vectors = np.linalg.eigh(h / np.outer(scale, scale))
    floor = 1e-14 * max(float(np.max(np.abs(values))), 1e-300)
    values = np.maximum(np.abs(values), floor)
    step = -(vectors @ ((vectors.T @ (g / scale)) / values)) / scale
    longest = radius
    size = float(np.linalg.norm(step))
    return step if size <= longest else step * (longest / size)


def _rounded(objective: Objective, x: Any) -> Any:
    """Try short decimals near the point: where the value is no higher there, they are taken for the place meant."""
    value = objective.value(x)
    for digits in (3, 6, 9):
        trial = np.round(x, digits) + 0.0
        if np.max(np.abs(trial - x)) < 1e-3 * 10.0 ** (-digits / 2) and objective.value(trial) <= value:
            return trial
    return x


def _proved(objective: Objective, x: Any, iterations: int) -> Minimum:
    root = certified_root(objective.gradient, objective.hessian, objective.variables, x, iterations, x.tolist())
    if np.max(np.abs(np.array(root.point) - x) / (1 + np.abs(x))) > 1e-3:
        raise ToolError("NO_CONVERGENCE", "the stationary point nearby is another one")
    eigenvalues = _eigenvalues(objective, root.point)
    if not is_definite(objective.hessian, objective.variables, root.point):
        raise ToolError("NO_CONVERGENCE", "the stationary point is no minimum")
    value = exact_value(objective.expr, objective.variables, root.digits)
    return Minimum(root.point, value, root.residual, eigenvalues, iterations, True)


def exact_value(expr: Node, variables: Sequence[str], point: Sequence[Any]) -> float:
    """Return the nearest double of the value at a point of doubles or arbs; 0.0 for what is zero to 60 digits."""
    from flint import acb, arb

    with precision(300):
        try:
            found = ball(expr, {name: acb(arb(v)) for name, v in zip(variables, point, strict=True)})
        except Undecided:
            raise ToolError("DOMAIN_ERROR", "the objective has no value at the end of the descent") from None
        middle = float(found.real.mid())
        return 0.0 if abs(middle) < 1e-60 else middle


def _eigenvalues(objective: Objective, point: Sequence[float]) -> list[float]:
    try:
        h = objective.bend(np.array(point))
    except ToolError:
        return []
    return np.linalg.eigvalsh(h).tolist() if np.all(np.isfinite(h)) else []


def is_definite(hessian: Sequence[Sequence[Node]], variables: Sequence[str], point: Sequence[float]) -> bool:
    """Return whether the Hessian is surely positive definite around a point: its leading minors are positive."""
    from flint import acb, acb_mat, arb

    with precision(256):
        values = {n: acb(arb(v, abs(v) * 2.0**-50 + 2.0**-200)) for n, v in zip(variables, point, strict=True)}
        try:
            rows = [[ball(entry, values) for entry in row] for row in hessian]
        except Undecided:
            return False
        return all(bool(acb_mat([row[:k] for row in rows[:k]]).det().real > 0) for k in range(1, len(rows) + 1))


def _unproved(objective: Objective, x: Any, iterations: int) -> Minimum:
    """A flat or cornered place: accepted if the function does not fall away from it on any scale looked at."""
    try:
        norm = float(np.max(np.abs(objective.slope(x))))
    except ToolError:
        norm = float("nan")
    if falls_somewhere(objective, x):
        _no_minimum(x, norm, "lower values or the edge of the domain lie near the place where the descent ended")
    value = exact_value(objective.expr, objective.variables, x.tolist())
    return Minimum(x.tolist(), value, norm, _eigenvalues(objective, x.tolist()), iterations, False)


def falls_somewhere(objective: Objective, x: Any) -> bool:
    """Compare with points around in many digits: a fall that is no small part of the rise on other sides tells."""
    scale = 1 + np.abs(x)
    with precision(200):
        here = _many_digits(objective, x)
        for radius in (0.3, 1e-1, 1e-2, 1e-3):
            straight = [x + radius * scale * d for d in _directions(len(x))]
            for points, share in ((straight, 0.05), (_on_curves(x, radius), 0.01)):
                changes = [_many_digits(objective, point) - here for point in points]
                if any(not change.is_finite() for change in changes):
                    return True  # an edge of the domain, beyond which nothing is known
                if changes and min(changes) < 0 and min(changes) < -share * max(changes):
                    return True
    return False


def _many_digits(objective: Objective, x: Any) -> Any:
    """Return the value as an arb, positive infinity outside the domain; call it under `precision`."""
    from flint import acb, arb

    try:
        found = ball(objective.expr, {n: acb(float(v)) for n, v in zip(objective.variables, x, strict=True)})
    except Undecided:
        return arb.pos_inf()
    return found.real.mid() if found.imag.contains(0) else arb.pos_inf()


def _on_curves(x: Any, radius: float) -> list[Any]:
    """Return points on parabolas: (y - x^2)(y - 3 x^2) is lower only between two of them."""
    if len(x) != 2:
        return []
    steps = [
        np.array([sign * radius, bend * radius**2]) for bend in (-3, -2, -1.5, -0.5, 0.5, 1.5, 2, 3) for sign in (-1, 1)
    ]
    return [x + step for step in steps] + [x + step[::-1] for step in steps]


def _directions(n: int) -> Any:
    """Return fixed unit directions: axes, diagonals, and a seeded spread."""
    rng = np.random.default_rng(20_240_601)
    spread = rng.normal(size=(40, n))
    axes = np.vstack([np.eye(n), -np.eye(n)])
    whole = np.vstack([axes, spread])
    return whole / np.linalg.norm(whole, axis=1)[:, None]


def _unbounded() -> NoReturn:
    raise ToolError(
        "UNBOUNDED", "the objective falls without bound along the descent", "add bounds and use minimize_global"
    )


def _no_minimum(x: Any, norm: float, reason: str) -> NoReturn:
    message = f"{reason}; it ended at {x.tolist()} with gradient {norm:g}"
    raise ToolError(
        "NO_CONVERGENCE", message, "choose another start or method, or use minimize_global", last=x.tolist()
    )


def negated(expr: Node, maximize: bool) -> Node:
    return Negative(expr) if maximize else expr
