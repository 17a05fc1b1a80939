"""Places in a range where an expression is not surely bounded, located to any precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Negative,
    Node,
    Power,
    Product,
    Quotient,
    Sum,
    free_symbols,
    number_node,
    rational_value,
    to_text,
    walk,
)
from maven_env.expressions.algebra.algebraic import exact_fraction
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import ONE

BITS = 128
_DEPTH = 40  # halvings of the range
_CELLS = 4_000
_OPEN = 1 / 32  # share of the range that an improper end may take
_ARGUMENT_ZERO = ("Ei", "Ci", "Chi", "besselk", "bessely", "expint", "uppergamma", "sqrt", "cbrt", "coth", "csch")
_ARGUMENT_ONE = ("elliptic_k", "elliptic_e", "zeta", "li", "polylog", "acosh", "atanh", "acoth")
_POLES_AT_INTEGERS = ("gamma", "loggamma", "digamma", "polygamma")


@dataclass(frozen=True)
class Place:
    """A point of the line: exact as a tree, or the zero of `function` near `start`."""

    name: str
    node: Node | None
    end: int = 0  # -1 and 1 for the ends of the range
    function: Node | None = None
    slope: Node | None = None
    wrt: str = ""
    start: Any = None  # arb

    def at(self, bits: int) -> Any:
        """Return an acb of the place, right to more than `bits`; call it under that precision."""
        from flint import acb

        if self.node is not None:
            return ball(self.node, {})
        x = acb(self.start)
        if self.function is None or self.slope is None:
            return x
        reached = 60
        while reached < 2 * bits:
            x = acb((x - ball(self.function, {self.wrt: x}) / ball(self.slope, {self.wrt: x})).real.mid())
            reached *= 2
        return x


def end_place(node: Node, end: int) -> Place:
    return Place(to_text(node), node, end)


def singular_places(node: Node, wrt: str, low: Place, high: Place, is_open: bool) -> list[Place] | None:
    """Return the places of the closed range where `node` is not surely bounded, None where one cannot be located.

    With `is_open` the low end is known to be improper, and a wider neighbourhood of it may stay without bounds.
    """
    with precision(BITS):
        a, b = low.at(BITS).real, high.at(BITS).real
        cells = _unbounded_cells(node, wrt, a, b, is_open)
        if cells is None:
            return None
        places = [low] if is_open else []
        for left, right in joined(cells):
            if not left > a:
                if not is_open:
                    places.append(low)
                if not right - left < (b - a) * (_OPEN if is_open else 1e-6):
                    return None
            elif not right < b:
                places.append(high)
                if not right - left < (b - a) * 1e-6:
                    return None
            else:
                place = located(node, wrt, left, right)
                if place is None:
                    return None
                places.append(place)
        return places


def _unbounded_cells(node: Node, wrt: str, a: Any, b: Any, is_open: bool) -> list[tuple[Any, Any]] | None:
    """Bisect until the integrand is bounded on every cell but the smallest; the cells left stand in order."""
    from flint import acb

    extension = compile_analytic(node, wrt)
    found: list[tuple[Any, Any]] = []
    stack = [(a, b, 0)]
    seen = 0
    edge = a + (b - a) * _OPEN / 2
    while stack:
        left, right, depth = stack.pop()
        seen += 1
        if seen > _CELLS or len(found) > 64:
            return None
        if extension(acb(left.union(right)), False).is_finite():
            continue
        if depth == _DEPTH or (is_open and right < edge):
            found.append((left, right))
            continue
        middle = ((left + right) / 2).mid()
        stack += [(middle, right, depth + 1), (left, middle, depth + 1)]
    return found


def joined(cells: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    whole: list[tuple[Any, Any]] = []
    for left, right in cells:
        if whole and not left > whole[-1][1]:
            whole[-1] = (whole[-1][0], right)
        else:
            whole.append((left, right))
    return whole


# ---- which functions vanish there ------------------------------------------------------------------------------------
def critical_functions(node: Node, wrt: str) -> list[Node]:
    """Return functions of `wrt` that have a zero at every singular point of `node`."""
    found = (part for function in _critical(node) for part in factors_of(function))
    return [function for function in dict.fromkeys(found) if wrt in free_symbols(function)]


def factors_of(node: Node) -> Iterator[Node]:
    """Split into parts of which one vanishes where `node` does."""
    match node:
        case Product(items):
            for item in items:
                yield from factors_of(item)
        case Quotient(a, _) | Power(a, _) | Negative(a) | Call("Abs" | "sqrt" | "cbrt", (a,)):
            yield from factors_of(a)
        case _:
            yield node


def _critical(node: Node) -> Iterator[Node]:
    for part in walk(node):
        match part:
            case Quotient(_, bottom):
                yield bottom
            case Power(base, exponent):
                power = rational_value(exponent)
                if power is None or power < 0 or power.denominator != 1:
                    yield base
            case Call("tan" | "sec", (a,)):
                yield Call("cos", (a,))
            case Call("cot" | "csc", (a,)):
                yield Call("sin", (a,))
            case Call("log", arguments):
                yield from arguments
            case Call(name, arguments) if name in _ARGUMENT_ZERO:
                yield arguments[-1]
            case Call("asin" | "acos", (a,)):
                yield Sum((a, Negative(ONE)))
                yield Sum((a, ONE))
            case Call(name, arguments) if name in _ARGUMENT_ONE:
                yield Sum((arguments[-1], Negative(ONE)))
                yield Sum((arguments[-1], ONE))
            case Call(name, arguments) if name in _POLES_AT_INTEGERS:
                yield Call("sin", (Product((Constant("pi"), arguments[-1])),))
            case Call("factorial", (a,)):
                yield Call("sin", (Product((Constant("pi"), a)),))


def located(node: Node, wrt: str, left: Any, right: Any, functions: list[Node] | None = None) -> Place | None:
    """Return the zero of a critical function in the small interval."""
    rational = _simple_between(left, right)
    for function in functions or critical_functions(node, wrt):
        if rational is not None and _is_zero(function, wrt, rational):
            return end_place(rational, 0)
        place = _zero(function, wrt, left, right)
        if place is not None:
            return place
    return None


def _simple_between(left: Any, right: Any) -> Node | None:
    """Return the rational of small denominator at the interval, if there is one."""
    middle = exact_fraction(((left + right) / 2).mid())
    width = exact_fraction((right - left).mid())
    near = middle.limit_denominator(10_000)
    return number_node(near) if abs(near - middle) <= 2 * width else None


def _is_zero(function: Node, wrt: str, at: Node) -> bool:
    with precision(4 * BITS):
        try:
            value = ball(function, {wrt: ball(at, {})})
        except (ToolError, ValueError, ZeroDivisionError):
            return False
        return bool(value.contains(0) and abs(value).upper() < 1e-60)


def _zero(function: Node, wrt: str, left: Any, right: Any) -> Place | None:
    """Refine a zero of `function` near the interval by Newton's steps, or of its derivative for a double one."""
    original = function
    for _ in range(2):
        try:
            slope = derivative(function, wrt)
            x = _newton(function, slope, wrt, (left + right) / 2)
            reach = (right - left) * 4
            if x > left - reach and x < right + reach and _is_small(original, wrt, x):
                return Place(f"{wrt} = {float(x)!r}", None, 0, function, slope, wrt, x)
            function = slope
        except (ToolError, ValueError, ZeroDivisionError):
            return None
    return None


def _newton(function: Node, slope: Node, wrt: str, start: Any) -> Any:
    from flint import acb

    x = start.mid()
    for _ in range(8):
        z = acb(x)
        x = (z - ball(function, {wrt: z}) / ball(slope, {wrt: z})).real.mid()
    return x


def _is_small(function: Node, wrt: str, x: Any) -> bool:
    from flint import acb

    return bool(abs(ball(function, {wrt: acb(x)})) < 1e-30)
