"""Ordinary differential equations in closed form, every solution checked by putting it back into the equation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Call, Node, Number, Symbol, difference, parse, parse_equation
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.expressions.symbolic import from_sympy, sympy_text, to_sympy
from maven_env.expressions.tree import rebuild
from maven_env.tools.kinds import JsonMap, Ode, Text, bad_input
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, declining

_ORDER = 4
_PRIME = re.compile(r"([A-Za-z]\w*)('+)(?:\(\s*([A-Za-z]\w*)\s*\))?")
_FUNCTION = re.compile(r"^\s*([A-Za-z]\w*)\s*(?:\(\s*([A-Za-z]\w*)\s*\))?\s*$")
_CONDITION = re.compile(
    r"^\s*(?:(?P<d>d)(?P<n>[2-4]?))?(?P<name>[A-Za-z]\w*?)(?P<primes>'*)\s*\(\s*(?P<at>.+?)\s*\)\s*$"
)
_POINTS = ("3/7", "5/11", "11/13", "17/19", "23/17", "31/23", "-2/9", "-5/7")
_CONSTANTS = ("7/5", "-3/4", "11/8", "5/6")


@dataclass(frozen=True)
class _Equation:
    """residual(x, y, y', ...) = 0, with y0_, y1_, ... standing for the unknown and its derivatives."""

    residual: Any  # sympy, in the symbols y0_, y1_, ...
    unknown: str
    variable: str
    order: int

    def at(self, solution: Any) -> Any:
        """Put a solution in."""
        import sympy

        x = sympy.Symbol(self.variable)
        return self.residual.xreplace({_slot(k): sympy.diff(solution, x, k) for k in range(self.order + 1)})


def _slot(k: int) -> Any:
    import sympy

    return sympy.Symbol(f"y{k}_")


@tool(
    kind="symbolic", tier=2, near=("solve_ode_explicit", "laplace_transform", "matrix_exponential"), backend=("sympy",)
)
def solve_ode_symbolic(
    ode: Ode, function: Text, conditions: JsonMap | None = None, assumptions: dict[str, Text] | None = None
) -> ToolResult:
    """Solve an ordinary differential equation in closed form, with initial or boundary values.

    The solution and the conditions are checked by substitution; what cannot be checked is declined. General formulas
    divide by differences of roots and fail where parameters make roots equal: put numbers in first.

    Args:
        ode: equation, with y'' or Derivative(y(x), x, 2) for derivatives
        function: the unknown with its variable, such as y(x)
        conditions: values such as {"y(0)": "1", "y'(0)": "0"}; dy(0) is y'(0) too
        assumptions: positive, real or nonzero for parameters, such as {"m": "positive"}

    Returns:
        expr (expr): the solution, right-hand side only
        constants (list): free constants C1, C2, ... left in it

    Diagnostics:
        ode_class: order, and linear or nonlinear
        checked: always true; otherwise the call fails
        branch_flags: said where there are other solutions or the choice of a branch matters

    Raises:
        UNSOLVED: no closed form was found, or it could not be checked
        INCONSISTENT: the conditions contradict the equation
        UNKNOWN_SYMBOL: a name is used in two ways

    Example:
        {"ode": "y'' + 4*y = 0", "function": "y(x)", "conditions": {"y(0)": "1", "y'(0)": "0"}}
    """
    import sympy

    equation = read_equation(ode, function)
    x = sympy.Symbol(equation.variable)
    places = [_read_condition(key, value, equation) for key, value in (conditions or {}).items()]
    signs = _assumed(assumptions or {})
    linear = _is_linear(equation)
    flags: list[str] = []
    good: list[Any] = []
    contradictory = False
    if places and not linear:
        good = [v for v in _known_solutions(equation, places) if _satisfies(v, equation, places)]
    if not good:
        contradictory = True
        for solution in _general_solutions(equation, signs):
            settled, solvable = _fit(solution, equation, places)
            contradictory = contradictory and not solvable
            good.extend(found for found in settled if _satisfies(found, equation, places))
            if good:
                break
    if not good:
        if places and linear and contradictory:
            raise ToolError("INCONSISTENT", "no solution of the equation meets all conditions", "check the conditions")
        hint = "try solve_ode_explicit for numbers, or put numbers for parameters first"
        raise ToolError("UNSOLVED", "no closed form was found that passes the check", hint)
    good = [v for v in good if len(_constants(v)) == max(equation.order - len(places), 0)] or (
        [] if not places else good
    )
    if not good:
        raise ToolError("UNSOLVED", "sympy gives fewer solutions than the order of the equation", "give conditions")
    chosen = min(good, key=lambda value: (value.count_ops(), str(value)))
    if not linear and places and not _is_lipschitz(equation, places):
        flags.append(
            "not unique: the equation is not Lipschitz at the initial value, other solutions may leave from there"
        )
    if not linear and not places:
        flags.append("a nonlinear equation may have other, singular solutions")
    names = _constants(chosen)
    kind = "linear" if linear else "nonlinear"
    return ToolResult(
        {"expr": sympy_text(chosen, None if chosen.has(sympy.exp, sympy.sin) else str(x)), "constants": names},
        {"ode_class": f"order {equation.order}, {kind}", "checked": True, "branch_flags": flags},
    )


def _constants(solution: Any) -> list[str]:
    return sorted(str(s) for s in solution.free_symbols if re.fullmatch(r"C\d+", str(s)))


# ---- reading ---------------------------------------------------------------------------------------------------------
def read_equation(text: str, function: str) -> _Equation:
    match = _FUNCTION.match(function)
    if match is None:
        raise bad_input(f"function: expected the unknown with its variable, got {function[:40]!r}", 'write "y(x)"')
    unknown, variable = match[1], match[2] or "x"
    if len(text) > 2_000:
        raise LimitExceeded("size", f"an equation of {len(text)} characters, the bound is 2000")

    def put(found: re.Match[str]) -> str:
        if found[1] != unknown:
            raise bad_input(f"ode: {found[0]!r} is a derivative of {found[1]}, the unknown is {unknown}", 'write "y\'"')
        if found[3] not in (None, variable):
            raise bad_input(
                f"ode: {found[0]!r} is taken at {found[3]}", f"write {unknown}'({variable}) in the equation"
            )
        return f"Derivative({unknown}({variable}), {variable}, {len(found[2])})"

    relation = parse_equation(_PRIME.sub(put, text), functions=frozenset({unknown, "Derivative", "diff"}))
    order = 0

    def lower(node: Node) -> Node:
        nonlocal order
        if isinstance(node, Call) and node.function in ("Derivative", "diff"):
            k = _derivative_order(node, unknown, variable)
            order = max(order, k)
            return Symbol(f"y{k}_")
        if isinstance(node, Call) and node.function == unknown:
            if node.arguments != (Symbol(variable),):
                raise bad_input(f"ode: {unknown} is taken at another place than {variable}", "delays are not solved")
            return Symbol("y0_")
        if node == Symbol(unknown):
            return Symbol("y0_")
        return rebuild(node, lower)

    residual = lower(difference(relation))
    if order == 0:
        raise bad_input(
            "ode: the equation has no derivative", f"write {unknown}' or Derivative({unknown}({variable}), {variable})"
        )
    if order > _ORDER:
        raise LimitExceeded("size", f"order {order}, the bound is {_ORDER}", "solve it numerically as a system")
    return _Equation(to_sympy(residual), unknown, variable, order)


def _derivative_order(node: Call, unknown: str, variable: str) -> int:
    first, *rest = node.arguments
    base = 0
    if isinstance(first, Call) and first.function in ("Derivative", "diff"):
        base = _derivative_order(first, unknown, variable)
    elif not (first == Symbol(unknown) or first == Call(unknown, (Symbol(variable),))):
        raise bad_input(
            f"ode: only derivatives of {unknown}({variable}) are read",
            f"write Derivative({unknown}({variable}), {variable})",
        )
    count = 0
    for part in rest or [Symbol(variable)]:
        if part == Symbol(variable):
            count += 1
        elif isinstance(part, Number) and part.value.denominator == 1 and 1 <= part.value <= _ORDER and count == 1:
            count = int(part.value)
        else:
            raise bad_input(
                "ode: a derivative is by the variable, with its order",
                f"write Derivative({unknown}({variable}), {variable}, 2)",
            )
    return base + count


def _read_condition(key: str, value: Any, equation: _Equation) -> tuple[int, Any, Any]:
    """Return (order of the derivative, place, value)."""
    match = _CONDITION.match(key)
    hint = f"write {equation.unknown}(0) or {equation.unknown}'(0)"
    if match is None:
        raise bad_input(f"conditions: {key[:40]!r} cannot be read", hint)
    name, order = match["name"], len(match["primes"])
    if match["d"] and name == equation.unknown:
        order += int(match["n"] or 1)
    elif match["d"]:
        name = f"{match['d']}{match['n']}{name}"
    if name != equation.unknown or order >= max(equation.order, 1) + (0 if equation.order else 1):
        raise bad_input(
            f"conditions: {key[:40]!r} is no value of {equation.unknown} below its order {equation.order}", hint
        )
    place, wanted = (to_sympy(parse(text if isinstance(text, str) else repr(text))) for text in (match["at"], value))
    return order, place, wanted


def _assumed(assumptions: Mapping[str, str]) -> dict[str, dict[str, bool]]:
    known = {"positive", "negative", "real", "nonzero", "nonnegative", "integer"}
    result = {}
    for name, words in assumptions.items():
        parts = words.replace(",", " ").split()
        if not parts or set(parts) - known:
            raise bad_input(f"assumptions: {words[:40]!r} for {name}", f"known: {', '.join(sorted(known))}")
        result[name] = dict.fromkeys(parts, True)
    return result


# ---- solving ---------------------------------------------------------------------------------------------------------
def _is_linear(equation: _Equation) -> bool:
    import sympy

    slots = [_slot(k) for k in range(equation.order + 1)]
    slopes = [sympy.diff(equation.residual, slot) for slot in slots]
    return not any(slope.free_symbols & set(slots) for slope in slopes)


def _general_solutions(equation: _Equation, signs: Mapping[str, Mapping[str, bool]]) -> list[Any]:
    """Return explicit right-hand sides that sympy proposes, assumptions put in and taken out again."""
    import sympy

    strong = {sympy.Symbol(name): sympy.Symbol(name, **marks) for name, marks in sorted(signs.items())}
    plain = {value: key for key, value in strong.items()}
    x, y = sympy.Symbol(equation.variable), sympy.Function(equation.unknown)
    problem = equation.residual.xreplace(
        {_slot(k): sympy.diff(y(x), x, k) if k else y(x) for k in range(equation.order + 1)}
    )
    with declining("no closed form was found", "try solve_ode_explicit"):
        found = sympy.dsolve(problem.xreplace(strong), y(x))
    found = found if isinstance(found, list) else [found]
    explicit = []
    for item in found:
        if item.lhs == y(x) and not item.rhs.has(y):
            explicit.append(item.rhs.xreplace(plain))
        elif not item.has(sympy.Integral):
            try:
                roots = sympy.solve(item, y(x))
            except (NotImplementedError, ValueError, TypeError):
                continue
            explicit.extend(root.xreplace(plain) for root in roots if not root.has(y))
    return [value for value in explicit if not value.has(sympy.Integral, sympy.Derivative, sympy.Order)]


def _known_solutions(equation: _Equation, places: list[tuple[int, Any, Any]]) -> list[Any]:
    """Return what needs no general formula, which may lose it or take long: constants, and y' = quadratic in y."""
    import sympy

    values = {value for order, _, value in places if order == 0}
    found: list[Any] = []
    if len(values) == 1 and all(value == 0 for order, _, value in places if order):
        (value,) = values
        if sympy.expand(equation.at(value)) == 0:
            return [value]
    if equation.order == 1 and len(places) == 1:
        y, slope = _slot(0), _slot(1)
        lead = sympy.diff(equation.residual, slope)
        if not lead.has(y, slope, sympy.Symbol(equation.variable)) and lead != 0:
            right = sympy.expand(-equation.residual.xreplace({slope: sympy.S.Zero}) / lead)
            if (
                right.is_polynomial(y)
                and sympy.degree(right, y) == 2
                and not right.has(sympy.Symbol(equation.variable))
            ):
                found.append(_quadratic_flow(sympy.Poly(right, y).all_coeffs(), equation, places[0]))
    return found


def _quadratic_flow(coefficients: list[Any], equation: _Equation, place: tuple[int, Any, Any]) -> Any:
    """Return the solution of y' = a*y^2 + b*y + c with y(t0) = y0, by completing the square."""
    import sympy

    a, b, c = coefficients
    _, start, value = place
    time = sympy.Symbol(equation.variable) - start
    centre = -b / (2 * a)
    square = centre**2 - c / a  # y' = a*((y - centre)^2 - square)
    gap = value - centre
    if square == 0:
        return centre + gap / (1 - a * gap * time)
    if square.is_negative:
        root = sympy.sqrt(-square)
        angle = a * root * time
        return centre + root * (gap * sympy.cos(angle) + root * sympy.sin(angle)) / (
            root * sympy.cos(angle) - gap * sympy.sin(angle)
        )
    root = sympy.sqrt(square)
    angle = a * root * time
    if gap == 0:
        return centre - root * sympy.tanh(angle)
    bend = sympy.tanh(angle)
    return centre + root * (gap - root * bend) / (root - gap * bend)


def _fit(solution: Any, equation: _Equation, places: list[tuple[int, Any, Any]]) -> tuple[list[Any], bool]:
    """Return the solutions with their constants found from the conditions, and whether that system was solvable."""
    import sympy

    if not places:
        return [solution], True
    x = sympy.Symbol(equation.variable)
    constants = [sympy.Symbol(name) for name in _constants(solution)]
    demands = []
    for order, place, value in places:
        left = sympy.diff(solution, x, order).subs(x, place)
        if left.has(sympy.zoo, sympy.nan, sympy.oo):
            return [], True
        demands.append(left - value)
    if not constants:
        return [solution], True
    try:
        roots = sympy.solve(demands, constants, dict=True)
    except (NotImplementedError, ValueError, TypeError, AttributeError):
        return [], True
    if not roots:
        return [], False
    results: list[Any] = []
    for root in roots:
        fitted = solution.subs(root)
        results.extend((sympy.simplify(fitted), fitted) if fitted.count_ops() < 120 else (fitted,))
    return results, True


# ---- checks ----------------------------------------------------------------------------------------------------------
def _satisfies(solution: Any, equation: _Equation, places: list[tuple[int, Any, Any]]) -> bool:
    """Check the equation at points, and the conditions, by balls; parameters and constants take fixed values."""
    import sympy

    x = sympy.Symbol(equation.variable)
    try:
        residual = equation.at(solution)
        if residual != 0 and not _vanishes(residual, x):
            return False
        for order, place, value in places:
            gap = sympy.diff(solution, x, order).subs(x, place) - value
            if gap != 0 and not _vanishes(gap, None):
                return False
        from_sympy(solution)
    except ToolError:
        return False
    return True


def _vanishes(expression: Any, x: Any) -> bool:
    """Tell whether an expression is 0 to 30 digits at several points where it is defined."""
    node = from_sympy(expression)
    names = sorted(str(s) for s in expression.free_symbols if s != x)
    hits = 0
    for shift, point in enumerate(_POINTS):
        with precision(400):
            values = {}
            for i, name in enumerate(names):
                values[name] = decimal(Fraction(_CONSTANTS[(i + shift) % len(_CONSTANTS)]) + Fraction(i, 9))
            if x is not None:
                values[str(x)] = decimal(Fraction(point))
            try:
                found = ball(node, values)
            except (ToolError, ValueError, ZeroDivisionError, OverflowError):
                continue
            if not found.is_finite() or float(found.rad()) > 1e-30:
                continue
            if not found.contains(0):
                return False
            hits += 1
        if x is None and not names:
            return True
    return hits >= 3


def _is_lipschitz(equation: _Equation, places: list[tuple[int, Any, Any]]) -> bool:
    """Tell whether the highest derivative depends smoothly on the lower ones at the initial values."""
    import sympy

    known = {order: (place, value) for order, place, value in places}
    if set(known) != set(range(equation.order)) or len({str(place) for place, _ in known.values()}) != 1:
        return True
    x = sympy.Symbol(equation.variable)
    values = {_slot(k): value for k, (_, value) in known.items()} | {x: known[0][0]}
    top = sympy.diff(equation.residual, _slot(equation.order))
    try:
        if top.subs(values) == 0:
            return False
        for k in range(equation.order):
            slope = (sympy.diff(equation.residual, _slot(k)) / top).subs(values)
            if slope.has(sympy.zoo, sympy.nan, sympy.oo):
                return False
    except (TypeError, ValueError, ZeroDivisionError):
        return False
    return True
