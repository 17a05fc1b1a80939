"""Initial value problems: two runs at different tolerances that must agree, events, and an estimate of stiffness."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, Power, Product, Quotient, Sum, free_symbols, replace, walk
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.numeric import compile_real
from maven_env.tools.threads import one_thread

EVALUATIONS = 400_000  # of the right-hand sides, both runs together
STIFF_STEPS = 12_000  # both runs together
_PARTS = 8  # of a step, searched for events
_EVENTS = 2_000
_TIGHTER = 100.0
_ROWS = 200  # times in the output if none are asked for
_TINY = 1e-15  # of the size of a component: the absolute tolerance of the second run

State = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Problem:
    """y' = rhs(t, y) from `start` to `end`; parameters are put in already."""

    rhs: tuple[Node, ...]
    names: tuple[str, ...]
    time: str
    start: float
    end: float
    y0: State
    event: Node | None
    direction: int
    stop: bool

    @property
    def order(self) -> tuple[str, ...]:
        return (self.time, *self.names)


@dataclass(frozen=True)
class Trajectory:
    """One run: the dense solution between `times`, the events, and what it cost."""

    times: list[float]
    solution: Callable[[float], State]
    event_times: list[float]
    n_steps: int
    n_evals: int
    n_lu: int
    min_step: float
    largest: State

    @property
    def end(self) -> float:
        return self.times[-1]


def problem(
    rhs: Sequence[Node],
    variables: Sequence[str],
    time: str,
    span: Sequence[float],
    y0: Sequence[float],
    params: Mapping[str, Node],
    event: Node | None,
    direction: int,
    stop: bool,
) -> Problem:
    """Check sizes and names. Raises SHAPE_MISMATCH, UNKNOWN_SYMBOL, BAD_INPUT."""
    if not len(rhs) == len(variables) == len(y0):
        message = f"{len(rhs)} right-hand sides, {len(variables)} variables, {len(y0)} initial values"
        raise ToolError("SHAPE_MISMATCH", message, "give as many of each")
    if not 1 <= len(rhs) <= 60:
        raise LimitExceeded("size", f"{len(rhs)} equations, the bound is 60")
    if len({time, *variables}) != len(variables) + 1:
        raise ToolError("BAD_INPUT", f"the names {', '.join((time, *variables))} are not all different", "rename them")
    if len(span) != 2 or not all(math.isfinite(end) for end in span) or span[0] == span[1]:
        raise ToolError("BAD_INPUT", "t_span must be two different finite times", 'write ["0", "10"]')
    known = {time, *variables}
    clash = sorted(known & set(params))
    if clash:
        raise ToolError("BAD_INPUT", f"params: {', '.join(clash)} is a variable", "rename one of them")
    filled = tuple(replace(node, dict(params)) for node in (*rhs, *([event] if event is not None else [])))
    for node in filled:
        missing = sorted(free_symbols(node) - known)
        if missing:
            hint = f"known: {', '.join((time, *variables, *params))}; give numbers in params"
            raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(missing)}", hint)
    start = np.array(y0, dtype=np.float64)
    if not np.all(np.isfinite(start)):
        raise ToolError("BAD_INPUT", "the initial values must be finite")
    return Problem(
        filled[: len(rhs)],
        tuple(variables),
        time,
        span[0],
        span[1],
        start,
        filled[-1] if event is not None else None,
        direction,
        stop,
    )


class _Work:
    """Evaluations that are left; one for both runs."""

    def __init__(self) -> None:
        self.left = EVALUATIONS

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            hint = "shorten t_span, loosen the tolerances, or use solve_ode_stiff if the problem is stiff"
            raise LimitExceeded("fuel", f"more than {EVALUATIONS} evaluations of the right-hand sides", hint)


def jacobian(task: Problem) -> Callable[[float, State], State] | None:
    """Return the exact Jacobian, or None where an entry has no rule."""
    try:
        rows = [[compile_real(derivative(node, name), task.order) for name in task.names] for node in task.rhs]
    except ToolError:
        return None

    def entries(t: float, y: State) -> State:
        values = (t, *y.tolist())
        return np.array([[entry(*values) for entry in row] for row in rows], dtype=np.float64)

    return entries


def solve(task: Problem, method: str, rtol: float, atol: float, max_steps: int) -> tuple[Trajectory, Trajectory, float]:
    """Return the run at the tolerances asked for, a tighter one, and their largest difference.

    Raises BLOW_UP, NO_CONVERGENCE (also where the runs disagree), LIMIT_EXCEEDED, DOMAIN_ERROR.
    """
    work = _Work()
    exact = jacobian(task) if method != "DOP853" else None
    with one_thread():
        loose = _run(task, method, rtol, np.full(len(task.y0), atol), max_steps, work, exact, math.inf)
        fine = np.minimum(atol / _TIGHTER, _TINY * np.maximum(loose.largest, 1e-300))
        longest = abs(task.end - task.start) / 150
        tighter = max(rtol / _TIGHTER, 3e-14 if method == "DOP853" else 1e-12)
        tight = _run(task, method, tighter, fine, 4 * max_steps, work, exact, longest)
        error = _difference(task, loose, tight, rtol, atol)
    return loose, tight, error


def _difference(task: Problem, loose: Trajectory, tight: Trajectory, rtol: float, atol: float) -> float:
    """Return the largest difference of the runs; raise NO_CONVERGENCE if it is beyond what the tolerance explains."""
    size = np.maximum(loose.largest, tight.largest)
    end = min(loose.end, tight.end) if task.end > task.start else max(loose.end, tight.end)
    times = [task.start + (end - task.start) * k / 24 for k in range(1, 25)]
    gap = np.max(np.abs([loose.solution(t) - tight.solution(t) for t in times]), axis=0)
    allowed = max(3e3 * rtol, 1e-9) * size + 1e3 * atol
    if np.any(gap > allowed) or np.any(gap > 1e-4 * size + 1e3 * atol):
        worst = int(np.argmax(gap / (size + 1e-300)))
        message = f"two runs differ by {gap[worst]:.1g} in {task.names[worst]}: the solution is too sensitive to trust"
        raise ToolError("NO_CONVERGENCE", message, "tighten rtol and atol, or shorten t_span")
    events = (loose.event_times, tight.event_times)
    if len(events[0]) != len(events[1]):
        message = f"two runs find {len(events[0])} and {len(events[1])} events"
        raise ToolError("NO_CONVERGENCE", message, "tighten rtol and atol, or end t_span away from an event")
    span = abs(task.end - task.start)
    if any(abs(a - b) > 1e-5 * span for a, b in zip(*events, strict=True)):
        raise ToolError("NO_CONVERGENCE", "two runs put an event at different times", "tighten rtol and atol")
    return float(np.max(gap))


def _run(
    task: Problem,
    method: str,
    rtol: float,
    atol: State,
    max_steps: int,
    work: _Work,
    exact: Callable[[float, State], State] | None,
    longest: float,
) -> Trajectory:
    from scipy import integrate

    functions = [compile_real(node, task.order) for node in task.rhs]

    def rhs(t: float, y: State) -> State:
        work.spend()
        values = (float(t), *y.tolist())
        return np.array([f(*values) for f in functions], dtype=np.float64)

    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "max_step": longest}
    if method != "DOP853":
        options["jac"] = exact
    watch = None if task.event is None else _Watch(task, compile_real(task.event, task.order))
    try:
        solver = getattr(integrate, method)(rhs, task.start, task.y0.copy(), task.end, **options)
    except ToolError as error:
        raise _located(error, task.start, task) from None
    pieces: list[Any] = []
    times = [task.start]
    largest = np.abs(task.y0)
    while solver.status == "running":
        if len(pieces) >= max_steps or (method != "DOP853" and len(pieces) >= STIFF_STEPS):
            hint = "shorten t_span, raise max_steps, or use solve_ode_stiff if explicit steps stay tiny"
            raise LimitExceeded("fuel", f"{len(pieces)} steps reach {times[-1]:.6g} of {task.end:.6g}", hint)
        try:
            with np.errstate(all="ignore"):
                message = solver.step()
        except ToolError as error:
            if error.code == "OVERFLOW":
                raise _blow_up(task, times[-1], solver.y) from None
            raise _located(error, times[-1], task) from None
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            if _grew(task, solver.y, largest):
                raise _blow_up(task, times[-1], solver.y)
            what = message or "the solution is not finite"
            hint = "a singularity of the equation may lie there; end t_span before it"
            raise ToolError("NO_CONVERGENCE", f"no step leads on from {task.time} = {times[-1]:.8g}: {what}", hint)
        times.append(float(solver.t))
        pieces.append(solver.dense_output())
        largest = np.maximum(largest, np.abs(solver.y))
        if watch is not None and watch.search(pieces[-1], times[-2], times[-1]) and task.stop:
            times[-1] = watch.times[-1]
            break
    steps = [abs(b - a) for a, b in pairwise(times)]
    return Trajectory(
        times,
        _dense(times, pieces),
        watch.times if watch else [],
        len(pieces),
        int(solver.nfev),
        int(getattr(solver, "nlu", 0)),
        min(steps),
        largest,
    )


def _located(error: ToolError, time: float, task: Problem) -> ToolError:
    return ToolError(
        error.code, f"{error.message} near {task.time} = {time:.8g}", error.hint or "check the right-hand sides"
    )


def _grew(task: Problem, state: State, largest: State) -> bool:
    size = float(np.max(np.abs(state))) if np.all(np.isfinite(state)) else math.inf
    return max(size, float(np.max(largest))) > 1e6 * (1 + float(np.max(np.abs(task.y0))))


def _blow_up(task: Problem, time: float, state: State) -> ToolError:
    size = float(np.max(np.abs(np.nan_to_num(state, nan=math.inf))))
    return ToolError(
        "BLOW_UP",
        f"the solution leaves every bound near {task.time} = {time:.8g} (it has reached {size:.2g})",
        f"end t_span before {time:.6g}",
    )


def _dense(times: list[float], pieces: list[Any]) -> Callable[[float], State]:
    knots = np.array(times)
    forward = knots[-1] >= knots[0]
    ascending = knots if forward else knots[::-1]

    def solution(t: float) -> State:
        place = int(np.searchsorted(ascending, t, side="left"))
        place = min(max(place, 1), len(pieces))
        return np.asarray(pieces[place - 1 if forward else len(pieces) - place](t), dtype=np.float64)

    return solution


class _Watch:
    """Finds sign changes of the event expression along the steps."""

    def __init__(self, task: Problem, function: Callable[..., float]) -> None:
        self.task = task
        self.function = function
        self.times: list[float] = []
        self.sign = _sign(function(task.start, *task.y0.tolist()))

    def search(self, piece: Any, start: float, end: float) -> bool:
        """Look at parts of one step; return whether an event was recorded."""
        found = False

        def value(t: float) -> float:
            return self.function(t, *np.asarray(piece(t)).tolist())

        last = start
        for k in range(1, _PARTS + 1):
            t = end if k == _PARTS else start + (end - start) * k / _PARTS
            now = _sign(value(t))
            if now and self.sign and now != self.sign and self.task.direction in (0, now):
                self.times.append(_root(value, last, t, self.sign))
                found = True
                if len(self.times) > _EVENTS:
                    raise LimitExceeded("size", f"more than {_EVENTS} events", "shorten t_span")
            if now:
                self.sign = now
                last = t
            if found and self.task.stop:
                return True
        return found


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _root(value: Callable[[float], float], a: float, b: float, sign: int) -> float:
    """Bisect to the last bit."""
    for _ in range(200):
        middle = (a + b) / 2
        if middle in (a, b):
            break
        now = _sign(value(middle))
        if now == 0:
            return middle
        if now == sign:
            a = middle
        else:
            b = middle
    return b


def output_times(task: Problem, loose: Trajectory, tight: Trajectory, wanted: Sequence[float] | None) -> list[float]:
    """Return the times of the output: those wanted, or steps of the run, thinned out."""
    low, high = sorted((task.start, tight.end))
    if wanted is not None:
        outside = [t for t in wanted if not low <= t <= high]
        if outside and not task.stop:
            raise ToolError("BAD_INPUT", f"t_eval: {outside[0]:g} is outside t_span", "give times inside it")
        return [t for t in wanted if low <= t <= high]
    inside = [t for t in loose.times if low <= t <= high]
    step = -(-len(inside) // _ROWS)
    times = inside[::step]
    return times if times[-1] == tight.end else [*times, tight.end]


def stiffness_ratio(task: Problem, run: Trajectory) -> float | None:
    """Return the fastest decay rate over the slowest rate that matters, the largest found along the run."""
    exact = jacobian(task)
    if exact is None:
        return None
    span = abs(task.end - task.start)
    ratios = []
    for t in (run.times[0], run.times[len(run.times) // 2], run.end):
        try:
            matrix = exact(t, run.solution(t))
        except ToolError:
            continue
        if not np.all(np.isfinite(matrix)):
            continue
        with one_thread():
            rates = -np.linalg.eigvals(matrix).real * (1 if task.end > task.start else -1)
        falling = rates[rates > 1e-14 * np.max(np.abs(rates), initial=0.0)]
        if falling.size:
            slowest = max(float(np.min(falling)), 1 / span)
            ratios.append(float(np.max(falling)) / slowest)
    return float(f"{max(ratios):.3g}") if ratios else 1.0


def may_branch(task: Problem) -> bool:
    """Tell whether the slope is not Lipschitz at the start, so that other solutions may leave from there."""
    if not any(isinstance(part, Power | Quotient | Sum | Product) for node in task.rhs for part in walk(node)):
        return False
    exact = jacobian(task)
    if exact is None:
        return False
    try:
        return not np.all(np.isfinite(exact(task.start, task.y0)))
    except ToolError:
        return True
