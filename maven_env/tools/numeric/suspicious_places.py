"""Where an integrand may be singular or have a corner: roots of denominators, radicands, arguments of logarithms."""

from __future__ import annotations

from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Sum,
    free_symbols,
    rational_value,
    walk,
)
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.tree import ONE, Negative, difference

_SAMPLES = 240
_LIMIT = 60  # roots of one expression
_COSINE = frozenset({"tan", "sec"})
_SINE = frozenset({"cot", "csc"})
_POLES = frozenset({"gamma", "loggamma", "digamma", "polygamma", "factorial"})
_UNIT = frozenset({"asin", "acos", "atanh", "acosh", "acoth"})
_ITSELF = frozenset(
    {"log", "sqrt", "cbrt", "Abs", "sign", "Heaviside", "li", "Ei", "Ci", "Chi", "loggamma", "bessely", "besselk"}
)


def critical_expressions(node: Node, name: str) -> list[Node]:
    """Return expressions whose real roots are the suspicious places, each once, in the order of the tree."""
    found: dict[Node, None] = {}
    for part in walk(node):
        if name not in free_symbols(part):
            continue
        match part:
            case Quotient(_, bottom):
                _put(found, bottom, name)
            case Power(base, exponent):
                exact = rational_value(exponent)
                if exact is None or exact < 0 or exact.denominator != 1:
                    _put(found, base, name)
            case Call(function, arguments):
                inner = arguments[-1] if function != "log" else arguments[0]
                if function in _ITSELF:
                    _put(found, inner, name)
                if function == "li":
                    _put(found, Sum((inner, Negative(ONE))), name)
                if function in _COSINE:
                    _put(found, Call("cos", (inner,)), name)
                if function in _SINE:
                    _put(found, Call("sin", (inner,)), name)
                if function in _UNIT:
                    _put(found, Sum((inner, Negative(ONE))), name)
                    _put(found, Sum((inner, ONE)), name)
                if function in _POLES:
                    _put(found, Call("sin", (Product((Constant("pi"), inner)),)), name)
                if function in ("Min", "Max"):
                    for other in arguments[1:]:
                        _put(found, Sum((arguments[0], Negative(other))), name)
            case Piecewise(branches):
                for _, condition in branches:
                    if condition is not None:
                        _put(found, difference(condition), name)
    return list(found)


def _put(found: dict[Node, None], node: Node, name: str) -> None:
    """Add `node`, its factors one by one."""
    match node:
        case Product(factors):
            for factor in factors:
                _put(found, factor, name)
        case Negative(inner):
            _put(found, inner, name)
        case Power(base, Number()):
            _put(found, base, name)
        case Quotient(a, b):
            _put(found, a, name)
            _put(found, b, name)
        case Call("sqrt" | "Abs" | "cbrt", (inner,)):
            _put(found, inner, name)
        case _:
            if name in free_symbols(node):
                found.setdefault(node)


def singular_points(node: Node, name: str, low: Any, high: Any) -> list[Any] | None:
    """Return the suspicious places inside (low, high) as arb in order; None stands for an infinite end.

    Roots of polynomials are all found; of other expressions those with a change of sign on a grid. Returns None if
    there are too many. Works at the precision in force.
    """
    points: list[Any] = []
    for expression in critical_expressions(node, name):
        roots = _polynomial_roots(expression, name)
        if roots is None:
            roots = _sign_changes(expression, name, low, high)
        if len(roots) > _LIMIT:
            return None
        points.extend(roots)
    inside = [p for p in points if (low is None or p > low) and (high is None or p < high)]
    inside.sort(key=lambda p: float(p.mid()))
    distinct: list[Any] = []
    for point in inside:
        if not distinct or not (point - distinct[-1]).contains(0):
            distinct.append(point)
    return distinct


def _polynomial_roots(node: Node, name: str) -> list[Any] | None:
    form = rational_form(node, name)
    if form is None:
        return None
    top = form[0].numer() if hasattr(form[0], "numer") else form[0]
    if top.degree() < 1:
        return []
    return [root.real for root, _ in complex_roots(top) if root.imag == 0]


def _sign_changes(node: Node, name: str, low: Any, high: Any) -> list[Any]:
    from flint import acb, arb

    try:
        f = compile_analytic(node, name)
    except ToolError:
        return []
    grid = _grid(low, high)
    signs = []
    for x in grid:
        value = f(acb(x), False)
        usable = value.is_finite() and value.imag == 0
        signs.append(1 if usable and value.real > 0 else -1 if usable and value.real < 0 else 0)
    roots: list[Any] = []
    for i, sign in enumerate(signs):
        if sign == 0 and 0 < i < len(signs) - 1:
            value = f(acb(grid[i]), False)
            if value.is_finite() and value.contains(0):
                roots.append(arb(grid[i]))
        if i and sign * signs[i - 1] < 0:
            root = _bisect(f, grid[i - 1], grid[i], signs[i - 1])
            if root is not None:
                roots.append(root)
    return roots


def _grid(low: Any, high: Any) -> list[Any]:
    """Return sample points: even and slightly skew on a finite range, geometric on an infinite one."""
    from flint import arb

    n = _SAMPLES
    if low is not None and high is not None:
        return [low + (high - low) * arb(k) / n for k in range(1, n)]
    steps = [arb(2) ** (arb(k) / 8) for k in range(-80, 121)]
    if low is not None:
        return [low + step for step in steps]
    if high is not None:
        return [high - step for step in reversed(steps)]
    return [-step for step in reversed(steps)] + [arb(0)] + steps


def _bisect(f: Any, low: Any, high: Any, sign: int) -> Any:
    from flint import acb, arb, ctx

    low, high = arb(low.mid()), arb(high.mid())
    for _ in range(2 * ctx.prec):
        middle = arb(((low + high) / 2).mid())
        value = f(acb(middle), False)
        if not (value.is_finite() and value.imag == 0):
            return None
        if value.real.contains(0) or middle in (low, high):
            return _between(low, high) if (high - low) < arb(2) ** (-ctx.prec // 2) * (abs(middle) + 1) else middle
        if (value.real > 0) == (sign > 0):
            low = middle
        else:
            high = middle
        if (high - low) < arb(2) ** (-ctx.prec + 8) * (abs(middle) + arb(2) ** -ctx.prec):
            break
    return _between(low, high)


def _between(low: Any, high: Any) -> Any:
    return low.union(high)
