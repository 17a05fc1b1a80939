"""Newton's method for systems in doubles, then a proof: the interval Newton operator maps a small box into itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Node
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.numeric import compile_real

_BITS = 256
_HALVINGS = 30


@dataclass(frozen=True)
class NewtonRoot:
    point: list[float]
    residual: float
    iterations: int
    condition: float
    digits: tuple[Any, ...] = ()  # the point as arbs with many digits


def newton(
    residuals: Sequence[Node], unknowns: Sequence[str], start: Sequence[float], tol: float, most: int
) -> NewtonRoot:
    """Return a certified root. Raises NO_CONVERGENCE, SINGULAR, DOMAIN_ERROR."""
    slopes = [[derivative(residual, name) for name in unknowns] for residual in residuals]
    functions = [compile_real(residual, unknowns) for residual in residuals]
    rows = [[compile_real(slope, unknowns) for slope in row] for row in slopes]
    x = np.array(start, dtype=float)
    f = _values(functions, x)
    if f is None:
        raise ToolError("DOMAIN_ERROR", "the equations have no real value at the start", "choose another start")
    for iteration in range(1, most + 1):
        step = _step(rows, x, f, start_there=iteration == 1)
        x_new, f_new = _damped(functions, x, f, step)
        if x_new is None or f_new is None:
            if _is_tiny(step, x, 1e-8):
                return certified_root(residuals, slopes, unknowns, x, iteration, start)
            _no_convergence(x, f, "no step reduces the residual: a minimum of it, or an edge of the domain")
        x, f = x_new, f_new
        if _is_tiny(step, x, tol) or not np.any(f):
            return certified_root(residuals, slopes, unknowns, x, iteration, start)
    _no_convergence(x, f, f"{most} iterations were not enough")


def _values(functions: Sequence[Callable[..., float]], x: Any) -> Any | None:
    try:
        found = np.array([function(*x.tolist()) for function in functions])
    except ToolError:
        return None
    return found if np.all(np.isfinite(found)) else None


def _step(rows: Sequence[Sequence[Callable[..., float]]], x: Any, f: Any, *, start_there: bool) -> Any:
    try:
        jacobian = np.array([[entry(*x.tolist()) for entry in row] for row in rows])
    except ToolError:
        raise ToolError("DOMAIN_ERROR", f"the Jacobian has no value at {x.tolist()}", "choose another start") from None
    if not np.all(np.isfinite(jacobian)) or _condition(jacobian) > 1e15:
        where = "at the start" if start_there else f"at {x.tolist()}"
        raise ToolError("SINGULAR", f"the Jacobian is singular {where}", "choose another start, or use find_all_roots")
    return np.linalg.solve(jacobian, -f)


def _condition(jacobian: Any) -> float:
    """Return the condition number after the rows are scaled, so that units do not matter."""
    scale = np.max(np.abs(jacobian), axis=1)
    if np.any(scale == 0):
        return float("inf")
    return float(np.linalg.cond(jacobian / scale[:, None]))


def _damped(functions: Sequence[Callable[..., float]], x: Any, f: Any, step: Any) -> tuple[Any | None, Any | None]:
    """Shorten the step until the residual falls."""
    size, factor = float(np.max(np.abs(f))), 1.0
    for _ in range(_HALVINGS):
        trial = x + factor * step
        value = _values(functions, trial)
        if value is not None and float(np.max(np.abs(value))) < size * (1 - 1e-4 * factor):
            return trial, value
        if value is not None and not np.any(value):
            return trial, value
        factor /= 2
    return None, None


def _is_tiny(step: Any, x: Any, tol: float) -> bool:
    return bool(np.all(np.abs(step) <= tol * (np.abs(x) + 1e-300)) or np.all(np.abs(step) <= 1e-300))


def _no_convergence(x: Any, f: Any, reason: str) -> NoReturn:
    message = f"{reason}; it ended at {x.tolist()} with residual {float(np.max(np.abs(f))):g}"
    raise ToolError("NO_CONVERGENCE", message, "choose another start, or use find_all_roots", last=x.tolist())


def certified_root(
    residuals: Sequence[Node],
    slopes: Sequence[Sequence[Node]],
    unknowns: Sequence[str],
    x: Any,
    iterations: int,
    start: Sequence[float],
) -> NewtonRoot:
    """Polish with many digits and prove that the root exists and is the only one nearby."""
    from flint import acb, acb_mat, arb

    with precision(_BITS):
        point = [arb(float(value)) for value in x]
        jacobian: Any = None
        for _ in range(8):
            jacobian, f = _at(residuals, slopes, unknowns, [acb(p) for p in point])
            try:
                step = jacobian.solve(f)
            except ZeroDivisionError:
                _singular(point)
            point = [(p - step[i, 0].real).mid() for i, p in enumerate(point)]
        for exponent in (-180, -120, -80, -50):
            box = [p + (abs(p) + arb(2) ** -60) * arb(0, 1) * arb(2) ** exponent for p in point]
            if _maps_into_itself(residuals, slopes, unknowns, point, box):
                break
        else:
            _singular(point)
        doubles = _snapped(residuals, slopes, unknowns, [float(p) for p in point], start)
        _, f = _at(residuals, slopes, unknowns, [acb(value) for value in doubles])
        residual = max(float(abs(f[i, 0]).mid()) for i in range(len(residuals)))
        sizes = acb_mat(jacobian)
        numeric = np.array([[complex(sizes[i, j]).real for j in range(len(unknowns))] for i in range(len(unknowns))])
    return NewtonRoot(doubles, residual, iterations, _condition(numeric), tuple(point))


def _snapped(
    residuals: Sequence[Node],
    slopes: Sequence[Sequence[Node]],
    unknowns: Sequence[str],
    point: list[float],
    start: Sequence[float],
) -> list[float]:
    """Write 0.0 for what many-digit Newton left of an exact zero, where the equations hold with it."""
    from flint import acb

    trial = [0.0 if abs(p) < 1e-45 * (1 + abs(s)) else p for p, s in zip(point, start, strict=True)]
    if trial == point:
        return point
    try:
        _, f = _at(residuals, slopes, unknowns, [acb(value) for value in trial])
    except ToolError:
        return point
    return trial if all(f[i, 0].contains(0) for i in range(len(residuals))) else point


def _at(
    residuals: Sequence[Node], slopes: Sequence[Sequence[Node]], unknowns: Sequence[str], point: Sequence[Any]
) -> tuple[Any, Any]:
    from flint import acb_mat

    values = dict(zip(unknowns, point, strict=True))
    try:
        f = acb_mat([[ball(residual, values)] for residual in residuals])
        jacobian = acb_mat([[ball(slope, values) for slope in row] for row in slopes])
    except Undecided:
        raise ToolError("NO_CONVERGENCE", "the equations have no value at the end of the iteration") from None
    return jacobian, f


def _maps_into_itself(
    residuals: Sequence[Node],
    slopes: Sequence[Sequence[Node]],
    unknowns: Sequence[str],
    point: Sequence[Any],
    box: Sequence[Any],
) -> bool:
    """Return whether point - J(box)^-1 F(point) lies inside the box, which proves one root in it."""
    from flint import acb

    try:
        jacobian, _ = _at(residuals, slopes, unknowns, [acb(side) for side in box])
        _, f = _at(residuals, slopes, unknowns, [acb(p) for p in point])
        step = jacobian.solve(f)
    except (ZeroDivisionError, ToolError):
        return False
    images = [p - step[i, 0].real for i, p in enumerate(point)]
    return all(
        step[i, 0].imag.contains(0) and side.contains_interior(image)
        for i, (side, image) in enumerate(zip(box, images, strict=True))
    )


def _singular(point: Sequence[Any]) -> NoReturn:
    place = [float(p) for p in point]
    hint = "a multiple root? use polynomial_roots_exact, solve_equation or find_all_roots"
    raise ToolError("SINGULAR", f"no proof of a root near {place}: the Jacobian is singular there", hint, last=place)
