"""Ordinary differential equations: initial value problems and two-point boundary value problems, numerically."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from maven_env.tools.kinds import Count, Exact, Expr, Name, Range, Real, Setting
from maven_env.tools.ode.boundary_problems import solve_two_point
from maven_env.tools.ode.initial_values import may_branch, output_times, problem, solve, stiffness_ratio
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult

_Tolerance = Annotated[Setting, Range(1e-13, 1e-1)]
_Absolute = Annotated[Setting, Range(0.0, 1e3)]
_Steps = Annotated[Count, Range(1, 20_000)]


def _initial_value(
    method: str,
    rhs: list[Any],
    variables: list[str],
    t: str,
    t_span: list[float],
    y0: list[float],
    params: dict[str, Any] | None,
    t_eval: list[float] | None,
    rtol: float,
    atol: float,
    event: Any,
    event_direction: str,
    stop_at_event: bool,
    max_steps: int,
) -> ToolResult:
    task = problem(rhs, variables, t, t_span, y0, params or {}, event, int(event_direction), stop_at_event)
    loose, tight, error = solve(task, method, rtol, max(atol, 1e-300), max_steps)
    times = output_times(task, loose, tight, t_eval)
    states = [tight.solution(time) if time != task.start else task.y0 for time in times]
    output = {
        "t": times,
        "y": [[float(state[i]) for state in states] for i in range(len(variables))],
        "y_final": [float(value) for value in tight.solution(tight.end)],
        "event_times": tight.event_times,
        "event_states": [[float(value) for value in tight.solution(time)] for time in tight.event_times],
    }
    diagnostics: dict[str, Any] = {
        "method": {"DOP853": "dop853"}.get(method, method.lower()),
        "converged": True,
        "n_steps": loose.n_steps,
        "n_evals": loose.n_evals + tight.n_evals,
        "min_step": loose.min_step,
        "stiffness_ratio": stiffness_ratio(task, tight),
        "error_estimate": error,
    }
    if method != "DOP853":
        diagnostics["n_lu"] = loose.n_lu
    if may_branch(task):
        diagnostics["warning"] = "the slope is not Lipschitz at the start: other solutions may leave from there"
    return ToolResult(output, diagnostics)


@tool(kind="numeric", tier=2, near=("solve_ode_stiff", "solve_ode_symbolic"), backend=("scipy", "numpy"))
def solve_ode_explicit(
    rhs: list[Expr],
    variables: list[Name],
    t_span: list[Real],
    y0: list[Real],
    t: Name = "t",
    params: dict[str, Exact] | None = None,
    t_eval: list[Real] | None = None,
    rtol: _Tolerance = 1e-8,
    atol: _Absolute = 1e-10,
    event: Expr | None = None,
    event_direction: Literal["-1", "0", "1"] = "0",
    stop_at_event: bool = False,
    max_steps: _Steps = 20_000,
) -> ToolResult:
    """Solve an initial value problem by an explicit Runge-Kutta method of order 8 (DOP853).

    On stiff problems the step is limited by stability: LIMIT_EXCEEDED or stiffness_ratio far above 1e3 mean that
    solve_ode_stiff is needed. A second, tighter run must agree, and its values are given; chaotic problems are
    declined.

    Args:
        rhs: right-hand sides of y' = f(t, y), one for each variable
        variables: names of the state
        t_span: [start, end] of the independent variable
        y0: initial state
        t: name of the independent variable
        params: values of the other symbols
        t_eval: times of the output; steps of the method if it is left out
        rtol: relative tolerance
        atol: absolute tolerance; small components need a small one
        event: expression whose changes of sign are recorded; the start does not count
        event_direction: 1 for changes from minus to plus, -1 for the others, 0 for both
        stop_at_event: whether to end at the first event
        max_steps: most steps

    Returns:
        t (list): times
        y (list): states, one row for each variable
        y_final (list): last state
        event_times (list): times of the events
        event_states (list): states at the events, one row for each event

    Diagnostics:
        method: dop853
        converged: always true; otherwise the call fails
        n_steps: steps
        n_evals: evaluations of the right-hand sides
        min_step: smallest step
        stiffness_ratio: fastest decay rate over the slowest one or 1/length, from the Jacobian
        error_estimate: largest difference of the two runs
        warning: said where the solution may not be unique

    Raises:
        BLOW_UP: the solution leaves every bound before the end
        NO_CONVERGENCE: no step leads on, or the two runs disagree
        LIMIT_EXCEEDED: too many steps
        SHAPE_MISMATCH: numbers of equations, variables and values differ
        UNKNOWN_SYMBOL: a symbol has no value
        DOMAIN_ERROR: a right-hand side has no real value on the way

    Example:
        {"rhs": ["v", "-9.81/L*sin(th)"], "variables": ["th", "v"], "t_span": ["0", "2"], "y0": ["0.3", "0"],
         "params": {"L": "1.2"}, "event": "th", "event_direction": "-1"}
    """
    return _initial_value(
        "DOP853",
        rhs,
        variables,
        t,
        t_span,
        y0,
        params,
        t_eval,
        rtol,
        atol,
        event,
        event_direction,
        stop_at_event,
        max_steps,
    )


@tool(kind="numeric", tier=2, near=("solve_ode_explicit",), backend=("scipy", "numpy"))
def solve_ode_stiff(
    rhs: list[Expr],
    variables: list[Name],
    t_span: list[Real],
    y0: list[Real],
    t: Name = "t",
    params: dict[str, Exact] | None = None,
    t_eval: list[Real] | None = None,
    rtol: _Tolerance = 1e-8,
    atol: _Absolute = 1e-10,
    event: Expr | None = None,
    event_direction: Literal["-1", "0", "1"] = "0",
    stop_at_event: bool = False,
    max_steps: _Steps = 20_000,
    method: Literal["radau", "bdf"] = "radau",
) -> ToolResult:
    """Solve a stiff initial value problem by an implicit method with the exact Jacobian.

    BDF damps oscillations: for undamped motion over many periods use solve_ode_explicit. A second, tighter run must
    agree, and its values are given.

    Args:
        rhs: right-hand sides of y' = f(t, y), one for each variable
        variables: names of the state
        t_span: [start, end] of the independent variable
        y0: initial state
        t: name of the independent variable
        params: values of the other symbols
        t_eval: times of the output; steps of the method if it is left out
        rtol: relative tolerance
        atol: absolute tolerance; small components need a small one
        event: expression whose changes of sign are recorded; the start does not count
        event_direction: 1 for changes from minus to plus, -1 for the others, 0 for both
        stop_at_event: whether to end at the first event
        max_steps: most steps
        method: radau (order 5), or bdf (orders 1 to 5)

    Returns:
        t (list): times
        y (list): states, one row for each variable
        y_final (list): last state
        event_times (list): times of the events
        event_states (list): states at the events, one row for each event

    Diagnostics:
        method: radau or bdf
        converged: always true; otherwise the call fails
        n_steps: steps
        n_evals: evaluations of the right-hand sides
        n_lu: factorisations
        min_step: smallest step
        stiffness_ratio: fastest decay rate over the slowest one or 1/length, from the Jacobian
        error_estimate: largest difference of the two runs
        warning: said where the solution may not be unique

    Raises:
        BLOW_UP: the solution leaves every bound before the end
        NO_CONVERGENCE: no step leads on, or the two runs disagree
        LIMIT_EXCEEDED: too many steps
        SHAPE_MISMATCH: numbers of equations, variables and values differ
        UNKNOWN_SYMBOL: a symbol has no value
        DOMAIN_ERROR: a right-hand side has no real value on the way

    Example:
        {"rhs": ["-1000*(y - cos(t))"], "variables": ["y"], "t_span": ["0", "1"], "y0": ["0"], "rtol": 1e-8}
    """
    name = {"radau": "Radau", "bdf": "BDF"}[method]
    return _initial_value(
        name,
        rhs,
        variables,
        t,
        t_span,
        y0,
        params,
        t_eval,
        rtol,
        atol,
        event,
        event_direction,
        stop_at_event,
        max_steps,
    )


@tool(kind="numeric", tier=2, near=("solve_ode_symbolic", "nsolve"), backend=("scipy", "numpy"))
def solve_bvp(
    rhs: list[Expr],
    variables: list[Name],
    x: Name,
    interval: list[Real],
    bc: list[Expr],
    guess: list[Expr],
    params: dict[str, Exact] | None = None,
    tol: Annotated[Setting, Range(1e-11, 1e-1)] = 1e-6,
    n_mesh: Annotated[Count, Range(3, 2_000)] = 50,
    x_eval: list[Real] | None = None,
    mesh: Literal["uniform", "left_layer", "right_layer"] = "uniform",
) -> ToolResult:
    """Solve a two-point boundary value problem by collocation with mesh refinement.

    Non-linear problems may have several solutions, chosen by the guess. Layers much thinner than 1/n_mesh need a
    graded mesh. A second run on a finer mesh with a tighter tolerance must agree, and its values are given.

    Args:
        rhs: right-hand sides of the first-order system y' = f(x, y)
        variables: names of the unknowns
        x: independent variable
        interval: [a, b]
        bc: residuals that vanish, written with name_a and name_b, such as "y_a" and "y_b - 1"
        guess: initial guesses in x, one for each variable
        params: values of the other symbols
        tol: tolerance of the residual
        n_mesh: nodes of the first mesh
        x_eval: places of the output; 21 even ones if it is left out
        mesh: uniform, or graded towards a layer at one end

    Returns:
        x (list): places
        y (list): values, one row for each variable
        bc_residual (number): largest residual of the boundary conditions

    Diagnostics:
        converged: always true; otherwise the call fails
        iterations: refinements of the mesh
        rms_residual: largest relative residual of a mesh interval
        n_nodes: nodes of the last mesh
        error_estimate: largest difference of the two runs

    Raises:
        NO_CONVERGENCE: the collocation does not converge, or the two runs disagree
        SINGULAR: the linear system of the collocation is singular
        SHAPE_MISMATCH: numbers of equations, variables, conditions and guesses differ
        UNKNOWN_SYMBOL: a symbol has no value
        UNSOLVED: a derivative of the right-hand side has no form that can be evaluated

    Example:
        {"rhs": ["v", "-(v + y)/0.1"], "variables": ["y", "v"], "x": "x", "interval": ["0", "1"],
         "bc": ["y_a", "y_b - 1"], "guess": ["x", "0"], "x_eval": ["0", "0.3", "1"], "tol": 1e-8}
    """
    found = solve_two_point(rhs, variables, x, interval, bc, guess, params or {}, tol, n_mesh, x_eval, mesh)
    return ToolResult(
        {"x": found.places, "y": found.values, "bc_residual": found.residual},
        {
            "converged": True,
            "iterations": found.iterations,
            "rms_residual": found.rms,
            "n_nodes": found.nodes,
            "error_estimate": found.error,
        },
    )
