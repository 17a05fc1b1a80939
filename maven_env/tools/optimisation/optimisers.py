"""Optimisation: local and global minima, constrained optima, linear programmes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Negative, Node, Relation, difference, free_symbols, rational_value, to_text
from maven_env.expressions.balls import nearest_double
from maven_env.tools.kinds import (
    Condition,
    Count,
    Equation,
    Exact,
    ExactMatrix,
    ExactVector,
    Expr,
    Name,
    Range,
    Real,
)
from maven_env.tools.optimisation.boxes import box_minimum
from maven_env.tools.optimisation.descent import Objective, minimum, negated
from maven_env.tools.optimisation.multipliers import Bounds, Problem, constrained_minimum, refuse_infeasible
from maven_env.tools.optimisation.simplex import Bound, Programme, Row, solve
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread
from maven_env.tools.weight import guarded_above

_VARIABLES = 12


@tool(
    kind="numeric", tier=0, near=("minimize_global", "constrained_optimize", "solve_system"), backend=("scipy", "numpy")
)
def minimize_local(
    expr: Expr,
    variables: list[Name],
    start: list[Real],
    method: Literal["bfgs", "nelder_mead", "newton"] = "bfgs",
    maximize: bool = False,
) -> ToolResult:
    """Find an unconstrained local minimum near a start.

    Local only. Whatever the method, the end is polished by Newton steps with the exact Hessian, and certified = true
    means that a strict local minimum is proved; at a flat place (Hessian near singular) or a corner it is false, so
    look at hessian_eigenvalues and at the values around.

    Args:
        expr: objective
        variables: variables
        start: start values, in the order of the variables
        method: bfgs, nelder_mead (no derivatives at first, for corners) or newton
        maximize: maximise instead

    Returns:
        x (list[number]): optimum, in the order of the variables
        value (number): objective there
        gradient_norm (number): largest component of the gradient there; null where there is none

    Diagnostics:
        method: method used
        converged: always true for a result
        certified: whether a strict local optimum is proved
        iterations: number of iterations
        hessian_eigenvalues: of the objective (negative ones at a maximum)

    Raises:
        NO_CONVERGENCE: no minimum was reached; the message says where the descent ended
        UNBOUNDED: the objective falls without bound along the descent
        DOMAIN_ERROR: no real value at the start
        SHAPE_MISMATCH: variables and start values differ in number
        UNKNOWN_SYMBOL: a symbol without value

    Example:
        {"expr": "(1 - x)^2 + 100*(y - x^2)^2", "variables": ["x", "y"], "start": [-1.2, 1]}
    """
    _check(expr, variables)
    if len(start) != len(variables):
        raise ToolError("SHAPE_MISMATCH", f"{len(variables)} variables and {len(start)} start values", "give as many")
    if not all(map(math.isfinite, start)):
        raise ToolError("BAD_INPUT", "the start values must be finite")
    with one_thread():
        found = minimum(Objective(negated(expr, maximize), variables), start, method)
    sign = -1.0 if maximize else 1.0
    output = {"x": found.x, "value": sign * found.value + 0.0, "gradient_norm": _known(found.gradient_norm)}
    diagnostics = {
        "method": method,
        "converged": True,
        "certified": found.certified,
        "iterations": found.iterations,
        "hessian_eigenvalues": sorted(sign * value for value in found.eigenvalues),
    }
    return ToolResult(output, diagnostics)


def _known(value: float) -> float | None:
    """Return null for a gradient that does not exist, as at a corner."""
    return value if math.isfinite(value) else None


def _check(expr: Node, variables: list[str], others: tuple[Node, ...] = ()) -> None:
    if not variables or len(variables) > _VARIABLES or len(set(variables)) != len(variables):
        raise ToolError("BAD_INPUT", f"expected 1 to {_VARIABLES} different variables, got {len(variables)}")
    extra = sorted({name for node in (expr, *others) for name in free_symbols(node)} - set(variables))
    if extra:
        raise ToolError(
            "UNKNOWN_SYMBOL", f"no value for {', '.join(extra)}", "substitute numbers, or name it a variable"
        )
    absent = sorted(set(variables) - {name for node in (expr, *others) for name in free_symbols(node)})
    if absent:
        raise ToolError("UNKNOWN_SYMBOL", f"{', '.join(absent)} does not occur in {to_text(expr)[:80]}")


@tool(
    kind="numeric",
    tier=guarded_above(8),
    near=("minimize_local", "find_all_roots"),
    backend=("scipy", "numpy", "python-flint"),
)
def minimize_global(
    expr: Expr,
    variables: list[Name],
    bounds: list[list[Exact]],
    grid: Annotated[Count, Range(5, 400)] = 60,
    maximize: bool = False,
) -> ToolResult:
    """Find the global minimum in a box, for up to 3 variables.

    A grid gives starts, each is polished, and branch and bound with ball arithmetic gives a rigorous lower bound:
    proven says whether it meets the value. Minima narrower than the grid can be missed where it does not. With
    on_boundary the optimum is no stationary point.

    Args:
        expr: objective
        variables: at most 3 variables
        bounds: [lo, hi] for each variable
        grid: points per axis, 5 to 400
        maximize: maximise instead

    Returns:
        x (list[number]): best point; of several with the same value, the first in local_minima
        value (number): objective there
        local_minima (list): distinct local optima found, the best first, at most 8, each with x and value

    Diagnostics:
        method: grid, descent, branch and bound
        proven: whether no point of the box is better by more than 1e-6 relative
        rigorous_bound: bound that no point of the box passes
        n_evals: grid points and boxes
        on_boundary: whether the best point lies on the boundary of the box
        runner_up_gap: distance in value to the second best local optimum; 0 means that the best point is not unique

    Raises:
        DOMAIN_ERROR: no real value in the box
        UNBOUNDED: the objective has no finite optimum in the box
        NO_CONVERGENCE: the rigorous bound and the best point found contradict each other
        LIMIT_EXCEEDED: too many grid points
        UNKNOWN_SYMBOL: a symbol without value

    Example:
        {"expr": "x^4 - 3*x^2 + x", "variables": ["x"], "bounds": [[-3, 3]]}
    """
    _check(expr, variables)
    if len(variables) > 3:
        raise ToolError(
            "LIMIT_EXCEEDED", f"{len(variables)} variables, the bound is 3", "use minimize_local", limit="size"
        )
    box = _box(bounds, len(variables))
    with one_thread():
        found = box_minimum(negated(expr, maximize), variables, box, grid)
    sign = -1.0 if maximize else 1.0
    best = found.places[0]
    values = [place.value for place in found.places]
    output = {
        "x": best.x,
        "value": sign * best.value + 0.0,
        "local_minima": [{"x": place.x, "value": sign * place.value + 0.0} for place in found.places],
    }
    diagnostics = {
        "method": "grid, descent, branch and bound",
        "proven": found.is_proved,
        "rigorous_bound": None if found.lower_bound is None else sign * found.lower_bound,
        "n_evals": found.evaluations + found.boxes,
        "on_boundary": best.on_boundary,
        "runner_up_gap": _gap(values),
    }
    return ToolResult(output, diagnostics)


def _gap(values: list[float]) -> float | None:
    """Return the distance of the two best values, 0.0 where they agree to 11 digits."""
    if len(values) < 2:
        return None
    gap = values[1] - values[0]
    return gap if gap > 1e-11 * (1 + abs(values[0])) else 0.0


def _box(bounds: list[list[Node]], n: int) -> list[tuple[Node, Node]]:
    if len(bounds) != n or any(len(pair) != 2 for pair in bounds):
        raise ToolError("SHAPE_MISMATCH", f"expected {n} pairs [lo, hi] in bounds, got {len(bounds)}")
    for low, high in bounds:
        if not nearest_double(low) < nearest_double(high):
            raise ToolError(
                "BAD_INPUT", f"bounds: [{to_text(low)}, {to_text(high)}] is empty", "write [lo, hi], lo < hi"
            )
    return [(low, high) for low, high in bounds]


@tool(
    kind="numeric",
    tier=0,
    near=("minimize_local", "solve_system", "linear_program"),
    backend=("scipy", "numpy", "python-flint"),
)
def constrained_optimize(
    expr: Expr,
    variables: list[Name],
    start: list[Real],
    equalities: list[Equation] | None = None,
    inequalities: list[Condition] | None = None,
    bounds: list[list[Exact]] | None = None,
    maximize: bool = False,
) -> ToolResult:
    """Find a local optimum under equality and inequality constraints, with multipliers.

    The Karush-Kuhn-Tucker equations are solved with a proof where they are regular (certified = true). The multipliers
    satisfy gradient(expr) = sum of multiplier*gradient(constraint), equalities first, then inequalities; bounds are not
    among them. Other local optima may be better: try other starts.

    Args:
        expr: objective
        variables: variables
        start: start values
        equalities: each an expression that must be 0, or left = right
        inequalities: each an expression that must be >= 0, or a relation with <= or >=
        bounds: [lo, hi] for each variable, with "-oo" and "oo" for none
        maximize: maximise instead

    Returns:
        x (list[number]): optimum
        value (number): objective there
        multipliers (list[number]): Lagrange multipliers; 0 for inequalities that are not active
        active (list[int]): active inequalities, counted from 0

    Diagnostics:
        method: sequential quadratic programming, then Newton on the optimality equations
        converged: always true for a result
        certified: whether a strict local optimum is proved
        second_order: minimum (or maximum), or not decided by the curvature
        iterations: number of iterations
        kkt_residual: largest component of the gradient of the Lagrangian
        constraint_violation: largest violation

    Raises:
        INFEASIBLE: proved that no point meets the constraints
        NO_CONVERGENCE: no feasible optimum was reached
        UNBOUNDED: the objective falls without bound along the descent
        SHAPE_MISMATCH: sizes that do not fit
        UNKNOWN_SYMBOL: a symbol without value

    Example:
        {"expr": "x*y", "variables": ["x", "y"], "start": [1, 2], "equalities": ["x + y = 10"], "maximize": true}
    """
    equal = [difference(equation) for equation in equalities or []]
    unequal = [_at_least_zero(condition) for condition in inequalities or []]
    _check(expr, variables, (*equal, *unequal))
    if len(start) != len(variables):
        raise ToolError("SHAPE_MISMATCH", f"{len(variables)} variables and {len(start)} start values", "give as many")
    ends = _bounds(bounds, len(variables)) if bounds is not None else [(None, None)] * len(variables)
    limits = Bounds(
        [-math.inf if low is None else _double(low) for low, _ in ends],
        [math.inf if high is None else _double(high) for _, high in ends],
    )
    refuse_infeasible(equal, unequal, variables, ends)
    with one_thread():
        found = constrained_minimum(Problem(negated(expr, maximize), variables, equal, unequal, limits), start)
    sign = -1.0 if maximize else 1.0
    output = {
        "x": found.x,
        "value": sign * found.value + 0.0,
        "multipliers": [sign * value + 0.0 for value in found.multipliers],
        "active": found.active,
    }
    diagnostics = {
        "method": "sequential quadratic programming, then Newton",
        "converged": True,
        "certified": found.certified,
        "second_order": "maximum" if found.certified and maximize else found.curvature,
        "iterations": found.iterations,
        "kkt_residual": found.kkt_residual,
        "constraint_violation": found.violation,
    }
    return ToolResult(output, diagnostics)


def _at_least_zero(condition: Node) -> Node:
    """Return g of g >= 0."""
    if not isinstance(condition, Relation):
        return condition
    if condition.operator not in ("<=", ">="):
        hint = "write an expression that must be >= 0, or use <= or >="
        raise ToolError("BAD_INPUT", f"the relation {condition.operator!r} is no constraint with its boundary", hint)
    return difference(condition) if condition.operator == ">=" else Negative(difference(condition))


@tool(kind="exact", tier=0, near=("constrained_optimize",), backend=())
def linear_program(
    c: ExactVector,
    A_ub: ExactMatrix | None = None,
    b_ub: ExactVector | None = None,
    A_eq: ExactMatrix | None = None,
    b_eq: ExactVector | None = None,
    bounds: list[list[Exact]] | None = None,
    maximize: bool = False,
) -> ToolResult:
    """Solve a linear programme exactly, with duals and what is active.

    The arithmetic is rational, so degeneracy and ties are decided, not guessed. With degenerate or alternative_optima
    the vertex or the duals are not unique: report the value, not the vertex.

    Args:
        c: cost of each variable, to be minimised
        A_ub: rows of the inequalities A_ub x <= b_ub
        b_ub: their right side
        A_eq: rows of the equalities A_eq x = b_eq
        b_eq: their right side
        bounds: [lo, hi] for each variable, with "-oo" and "oo" for none; 0 to oo if left out
        maximize: maximise instead

    Returns:
        x (list[number]): an optimal vertex
        value (number): objective there
        slack (list[number]): b_ub - A_ub x
        duals (list[number]): change of the value per unit of each right side, inequalities first, then equalities
        active (list[int]): inequalities with zero slack, counted from 0

    Diagnostics:
        status: optimal
        exact: value and vertex as exact numbers
        degenerate: whether a basic variable is zero, so the duals may not be unique
        alternative_optima: whether other points have the same value
        pivots: number of pivots

    Raises:
        INFEASIBLE: proved that no point meets the constraints
        UNBOUNDED: proved that the objective has no finite optimum
        SHAPE_MISMATCH: sizes that do not fit
        LIMIT_EXCEEDED: more than 40 variables or 60 constraints

    Example:
        {"c": [-3, -5], "A_ub": [[1, 0], [0, 2], [3, 2]], "b_ub": [4, 12, 18]}
    """
    n = len(c)
    upper, b_upper = _constraints("ub", A_ub, b_ub, n)
    equal, b_equal = _constraints("eq", A_eq, b_eq, n)
    sign = -1 if maximize else 1
    costs = [sign * _rational(entry, "c") for entry in c]
    found = solve(Programme(costs, upper, b_upper, equal, b_equal, _bounds(bounds, n)))
    value = sign * found.value
    output = {
        "x": [_double(v) for v in found.x],
        "value": _double(value),
        "slack": [_double(v) for v in found.slack],
        "duals": [_double(sign * v) for v in found.duals],
        "active": [i for i, slack in enumerate(found.slack) if slack == 0],
    }
    diagnostics = {
        "status": "optimal",
        "exact": {"x": [str(v) for v in found.x], "value": str(value)},
        "degenerate": found.degenerate,
        "alternative_optima": found.alternatives,
        "pivots": found.pivots,
    }
    return ToolResult(output, diagnostics)


def _double(value: Fraction) -> float:
    return value.numerator / value.denominator


def _rational(node: Node, place: str) -> Fraction:
    """Return an entry exactly; an irrational one as the rational that is its nearest double."""
    exact = rational_value(node)
    if exact is not None:
        return exact
    if free_symbols(node):
        raise ToolError("UNKNOWN_SYMBOL", f"{place}: {to_text(node)} is no number", "substitute numbers first")
    return Fraction(nearest_double(node))


def _constraints(
    kind: str, matrix: tuple[tuple[Node, ...], ...] | None, right: tuple[Node, ...] | None, n: int
) -> tuple[list[Row], Row]:
    if (matrix is None) != (right is None):
        raise ToolError("SHAPE_MISMATCH", f"A_{kind} and b_{kind} go together, one is missing")
    if matrix is None or right is None:
        return [], []
    if len(matrix) != len(right) or len(matrix[0]) != n:
        shape = f"A_{kind} is {len(matrix)} x {len(matrix[0])}, b_{kind} has {len(right)}, c has {n}"
        raise ToolError("SHAPE_MISMATCH", shape, "a row for each constraint, a column for each variable")
    rows = [[_rational(entry, f"A_{kind}") for entry in row] for row in matrix]
    return rows, [_rational(entry, f"b_{kind}") for entry in right]


def _bounds(bounds: list[list[Node]] | None, n: int) -> list[Bound]:
    if bounds is None:
        return [(Fraction(0), None)] * n
    if len(bounds) != n or any(len(pair) != 2 for pair in bounds):
        raise ToolError("SHAPE_MISMATCH", f"expected {n} pairs [lo, hi] in bounds", 'write "oo" or "-oo" for none')
    found: list[Bound] = []
    for low, high in bounds:
        pair = (_end(low, "-oo"), _end(high, "oo"))
        if pair[0] is not None and pair[1] is not None and pair[0] > pair[1]:
            raise ToolError("INFEASIBLE", f"bounds: {pair[0]} to {pair[1]} holds no number")
        found.append(pair)
    return found


def _end(node: Node, infinite: str) -> Fraction | None:
    text = to_text(node)
    if text == infinite:
        return None
    if text in ("oo", "-oo"):
        raise ToolError("BAD_INPUT", f"bounds: {text} stands where {infinite} or a number is expected")
    return _rational(node, "bounds")
