"""Numerical roots: Newton from a start, a bracketed root, and all roots in an interval, each certified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any

from maven_env.errors import ToolError
from maven_env.expressions import difference, free_symbols, to_text
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import Node
from maven_env.tools.kinds import Count, Equation, Exact, Name, Range, Real, Setting
from maven_env.tools.numeric.isolation import BITS, is_continuous, refined, sign_at, value_at
from maven_env.tools.numeric.newton import newton
from maven_env.tools.numeric.scanning import all_roots
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread
from maven_env.tools.weight import guarded_above

_STEPS = 200
_QUICK_SCAN = 4_000  # points that are scanned in process


@tool(
    kind="numeric",
    tier=0,
    near=("bracketed_root", "find_all_roots", "solve_equation"),
    backend=("numpy", "python-flint"),
)
def nsolve(
    equations: list[Equation],
    unknowns: list[Name],
    start: list[Real],
    tol: Annotated[Setting, Range(1e-15, 1e-2)] = 1e-12,
    max_iter: Annotated[Count, Range(1, 500)] = 50,
) -> ToolResult:
    """Find a root near a start value by Newton's method, for one equation or a system.

    It finds A root, not THE root: a large distance_from_start or jacobian_condition calls for bracketed_root or
    find_all_roots. The root is certified by interval arithmetic and correctly rounded; at a multiple root there is no
    certificate, and SINGULAR is raised.

    Args:
        equations: equations, each left = right or an expression = 0
        unknowns: as many symbols
        start: start values, in the order of the unknowns
        tol: relative step at which the iteration stops
        max_iter: most iterations, 1 to 500

    Returns:
        solution (list[number]): root, in the order of the unknowns
        residual (number): largest |left - right| at these doubles

    Diagnostics:
        method: damped Newton with an exact Jacobian
        converged: always true for a result
        certified: whether existence and uniqueness nearby are proved
        iterations: number of iterations
        jacobian_condition: condition number of the Jacobian at the root, its rows scaled
        distance_from_start: Euclidean distance

    Raises:
        NO_CONVERGENCE: no root was reached; the message says where the iteration ended
        SINGULAR: the Jacobian is singular at the start or at the root
        SHAPE_MISMATCH: numbers of equations, unknowns and start values differ
        UNKNOWN_SYMBOL: a symbol without value, or an unknown that does not occur

    Example:
        {"equations": ["x^2 + y^2 = 4", "y = exp(x)"], "unknowns": ["x", "y"], "start": [0.5, 1.5]}
    """
    if not len(equations) == len(unknowns) == len(start) or not equations:
        counts = f"{len(equations)} equations, {len(unknowns)} unknowns, {len(start)} start values"
        raise ToolError("SHAPE_MISMATCH", counts, "give as many of each")
    if len(equations) > 20:
        raise ToolError("LIMIT_EXCEEDED", f"{len(equations)} equations, the bound is 20", limit="size")
    residuals = [difference(equation) for equation in equations]
    _check_symbols(residuals, unknowns)
    if not all(math.isfinite(x) for x in start):
        raise ToolError("BAD_INPUT", "the start values must be finite")
    with one_thread():
        found = newton(residuals, unknowns, start, tol, max_iter)
    diagnostics = {
        "method": "damped Newton, exact Jacobian",
        "converged": True,
        "certified": True,
        "iterations": found.iterations,
        "jacobian_condition": found.condition,
        "distance_from_start": math.dist(found.point, start),
    }
    return ToolResult({"solution": found.point, "residual": found.residual}, diagnostics)


def _check_symbols(residuals: list[Node], unknowns: list[str]) -> None:
    known = {name for residual in residuals for name in free_symbols(residual)}
    extra, absent = sorted(known - set(unknowns)), sorted(set(unknowns) - known)
    if extra:
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(extra)}", "substitute numbers first")
    if absent:
        raise ToolError("UNKNOWN_SYMBOL", f"{', '.join(absent)} does not occur", f"symbols: {', '.join(sorted(known))}")


@tool(kind="numeric", tier=0, near=("nsolve", "find_all_roots", "solve_equation"), backend=("python-flint",))
def bracketed_root(
    equation: Equation,
    unknown: Name,
    bracket: list[Exact],
    xtol: Annotated[Setting, Range(0, 1)] = 1e-13,
) -> ToolResult:
    """Find a root in an interval over whose ends the sign changes.

    The sign change is followed by bisection with ball arithmetic, and the root is certified: a pole or a jump is told
    from a root. Double roots give NO_SIGN_CHANGE; of several roots in the interval one is returned.

    Args:
        equation: left = right, or an expression = 0
        unknown: symbol to solve for
        bracket: [a, b], plain numbers
        xtol: largest error accepted; the root is the nearest double wherever the function can be evaluated so exactly

    Returns:
        root (number): root
        f_root (number): left - right at that double

    Diagnostics:
        method: certified bisection
        converged: always true for a result
        iterations: number of bisections
        sign_change_kind: continuous, at a root
        error_bound: half the width of the last certified interval

    Raises:
        NO_SIGN_CHANGE: both ends have the same sign
        DOMAIN_ERROR: the sign changes at a pole or jump, or the function is undefined in the bracket
        NO_CONVERGENCE: the error stays above xtol
        UNKNOWN_SYMBOL: another symbol without value

    Example:
        {"equation": "cos(x) = x", "unknown": "x", "bracket": [0, 1]}
    """
    residual = difference(equation)
    _check_symbols([residual], [unknown])
    low, high = _ends(bracket)
    signs = [sign_at(residual, unknown, lambda end=end: _point(end)) for end in (low, high)]  # type: ignore[misc]
    for end, sign in zip((low, high), signs, strict=True):
        if sign is None:
            hint = "move the end of the bracket off the pole or into the domain"
            raise ToolError("DOMAIN_ERROR", f"the function has no real value at {to_text(end)}", hint)
        if sign == 0:
            return _bracketed(residual, unknown, float(_point(end).mid()), 0, 0.0)
    if signs[0] == signs[1]:
        message = f"the function is {'positive' if signs[0] == 1 else 'negative'} at both ends"
        raise ToolError("NO_SIGN_CHANGE", message, "choose another bracket, or use find_all_roots")
    root, steps, error = _followed(residual, unknown, low, high, signs[0] or 1)
    if error > xtol:
        raise ToolError("NO_CONVERGENCE", f"the error stays at {error:g}, above xtol", "raise xtol")
    return _bracketed(residual, unknown, root, steps, error)


def _bracketed(residual: Node, unknown: str, root: float, steps: int, error: float) -> ToolResult:
    diagnostics = {
        "method": "certified bisection",
        "converged": True,
        "iterations": steps,
        "sign_change_kind": "continuous",
        "error_bound": error,
    }
    return ToolResult({"root": root, "f_root": residual_at(residual, unknown, root)}, diagnostics)


def residual_at(residual: Node, unknown: str, root: float) -> float | None:
    """Return the value at a double, None where it is undefined just there."""
    from flint import arb

    with precision(BITS):
        found = value_at(residual, unknown, arb(root))
        return None if found is None else float(found.real.mid())


def _ends(bracket: list[Node]) -> tuple[Node, Node]:
    if len(bracket) != 2:
        raise ToolError("BAD_INPUT", f"expected [a, b], got {len(bracket)} numbers")
    low, high = bracket
    with precision(BITS):
        a, b = (ball(end, {}) for end in bracket)
        if not (a.imag == 0 and b.imag == 0):
            raise ToolError("BAD_INPUT", "the ends must be real")
        if a.real > b.real:
            low, high = high, low
        elif not a.real < b.real:
            raise ToolError("BAD_INPUT", "the two ends are equal", "give [a, b] with a < b")
    return low, high


def _point(node: Node) -> Any:
    return ball(node, {}).real


def _followed(residual: Node, unknown: str, low: Node, high: Node, sign: int) -> tuple[float, int, float]:
    """Bisect until the function is continuous over the interval, which proves a root, then refine."""
    from flint import arb

    with precision(BITS):
        a, b = _point(low), _point(high)
        width = b - a
        for step in range(_STEPS):
            if is_continuous(residual, unknown, a, b):
                root, left, right = refined(residual, unknown, a, b, sign)
                error = abs(arb(root) - left).max(abs(arb(root) - right))
                return root, step, float(error.upper())
            if b - a < width * 2.0**-100:
                break
            middle = ((a + b) / 2).mid()
            here = sign_at(residual, unknown, lambda middle=middle: middle)  # type: ignore[misc]
            if here is None:
                _refuse_jump(a, b)
            elif here == 0:
                return float(middle), step, 0.0
            a, b = (middle, b) if here == sign else (a, middle)
    _refuse_jump(a, b)
    raise AssertionError  # pragma: no cover


def _refuse_jump(a: Any, b: Any) -> None:
    place = float(((a + b) / 2).mid())
    hint = "choose a bracket without it, or use find_all_roots"
    raise ToolError(
        "DOMAIN_ERROR", f"the sign changes at a pole, a jump or an undefined place near {place!r}, no root", hint
    )


def _scan_tier(arguments: Mapping[str, Any]) -> int:
    return 2 if arguments.get("n_scan", 0) > _QUICK_SCAN else guarded_above(12)(arguments)


@tool(
    kind="numeric",
    tier=_scan_tier,
    near=("bracketed_root", "polynomial_roots_exact", "solve_equation"),
    backend=("python-flint",),
)
def find_all_roots(
    equation: Equation,
    unknown: Name,
    interval: list[Exact],
    n_scan: Annotated[Count, Range(10, 20_000)] = 2_000,
) -> ToolResult:
    """Find all roots in an interval: those where the sign changes, tangential ones, and poles.

    The interval is searched with ball arithmetic, which proves that the parts left out hold no root, and equations with
    an exact solution are solved exactly. Where the search cannot settle a place, completeness is not proven and the
    place is named.

    Args:
        equation: left = right, or an expression = 0
        unknown: symbol to solve for
        interval: [a, b], both ends included
        n_scan: effort: twice as many boxes are examined at most

    Returns:
        roots (list[number]): roots where the sign changes, ascending
        tangential (list[number]): roots that touch zero without a change of sign, or are suspected to
        poles (list[number]): poles
        n (int): number of roots where the sign changes

    Diagnostics:
        method: exact, or interval search
        completeness: proven, or not proven
        unsettled: places that may hold further roots
        min_separation: smallest distance between two roots
        boxes: number of boxes examined

    Raises:
        DOMAIN_ERROR: the function is undefined all over the interval
        UNDERDETERMINED: the equation holds everywhere
        UNKNOWN_SYMBOL: another symbol without value

    Example:
        {"equation": "tan(x) = x", "unknown": "x", "interval": [1, 10]}
    """
    _check_symbols([difference(equation)], [unknown])
    low, high = _ends(interval)
    found = all_roots(equation, unknown, low, high, 2 * n_scan)
    roots = sorted(found.roots)
    gaps = [b - a for a, b in pairwise(roots)]
    output = {"roots": roots, "tangential": sorted(found.tangential), "poles": sorted(found.poles), "n": len(roots)}
    diagnostics: dict[str, object] = {
        "method": found.method,
        "completeness": "proven" if found.complete else "not proven",
        "min_separation": min(gaps, default=None),
        "boxes": found.boxes,
    }
    if found.unsettled:
        diagnostics["unsettled"] = sorted(found.unsettled)
    return ToolResult(output, diagnostics)
