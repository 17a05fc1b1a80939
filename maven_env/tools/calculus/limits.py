"""One-sided limits: exact for analytic and rational functions, else by sympy and compared with values nearby."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import (
    Constant,
    Negative,
    Node,
    Number,
    Quotient,
    Symbol,
    free_symbols,
    number_node,
    rational_value,
    replace,
    to_text,
)
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.balls import ball, is_real, precision
from maven_env.expressions.equality import equal
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ONE, ZERO
from maven_env.tools.calculus.antiderivatives import attempt, sample_values
from maven_env.tools.calculus.improper_ends import Unsettled, near
from maven_env.tools.calculus.unbounded_places import end_place
from maven_env.tools.symbolic.substitution import simplified

Side = Literal["+", "-"]
INFINITY = Constant("oo")
MINUS_INFINITY = Negative(INFINITY)
_DEPTHS: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
_FAR: tuple[int, ...] = (4, 5, 6, 7, 8, 9, 10, 11, 14, 20, 40, 80, 160, 320)  # powers of 2
_FUEL = 110_000


class Disagrees(Exception):
    """Values nearby do not approach the limit proposed."""


# ---- exact -----------------------------------------------------------------------------------------------------------
def exact_limit(node: Node, wrt: str, to: Node) -> tuple[Node, Node] | None:
    """Return (left, right) limits where they follow exactly: rational functions, and analytic ones at a point.

    At infinity both are the limit there. None where this does not apply.
    """
    found = _rational_limits(node, wrt, to)
    if found is not None:
        return found
    if to in (INFINITY, MINUS_INFINITY) or free_symbols(to) or free_symbols(node) - {wrt}:
        return None
    try:
        extension = compile_analytic(node, wrt)
        from flint import acb, arb

        with precision(256):
            at = ball(to, {})
            if not is_real(at):
                return None
            around = acb(arb(at.real.mid(), 1e-30), arb(0, 1e-30))
            if not extension(around, True).is_finite():
                return None
        value = simplified(replace(node, {wrt: to}))
    except ToolError:
        return None
    return value, value


def _rational_limits(node: Node, wrt: str, to: Node) -> tuple[Node, Node] | None:
    form = rational_form(node, wrt)
    if form is None:
        return None
    top, bottom = form
    if not any(top.coeffs()):
        return ZERO, ZERO
    if to in (INFINITY, MINUS_INFINITY):
        gap = int(top.degree() - bottom.degree())
        ratio = fraction(top[top.degree()] / bottom[bottom.degree()])
        if gap < 0:
            return ZERO, ZERO
        if gap == 0:
            return number_node(ratio), number_node(ratio)
        sign = (1 if ratio > 0 else -1) * (1 if to == INFINITY or gap % 2 == 0 else -1)
        far = INFINITY if sign > 0 else MINUS_INFINITY
        return far, far
    point = rational_value(to)
    if point is None:
        return None
    from flint import fmpq

    x = fmpq(point.numerator, point.denominator)
    below = bottom(x)
    if below != 0:
        value = number_node(fraction(top(x) / below))
        return value, value
    order, rest = 0, bottom
    from flint import fmpq_poly

    while rest(x) == 0:
        rest, order = divmod(rest, fmpq_poly([-x, 1]))[0], order + 1
    lead = top(x) / rest(x)
    right = 1 if lead > 0 else -1
    left = right * (-1) ** order
    return tuple(INFINITY if sign > 0 else MINUS_INFINITY for sign in (left, right))  # type: ignore[return-value]


# ---- by sympy --------------------------------------------------------------------------------------------------------
def one_sided_limit(node: Node, wrt: str, to: Node, side: Side) -> Node:
    """Return the limit from one side, compared with values nearby. Raises NO_LIMIT, UNSOLVED."""
    import sympy

    x = sympy.Symbol(wrt, real=True)
    value = to_sympy(node).xreplace({sympy.Symbol(wrt): x})
    place = to_sympy(to)
    found = attempt(lambda: sympy.limit(value, x, place, side), _FUEL)
    proposal: Node | None = None
    if found is not None:
        if found.has(sympy.AccumBounds) and not found.has(sympy.Limit):
            if _settles(node, wrt, to, side) is False:
                raise ToolError("NO_LIMIT", "the values keep oscillating", "ask for bounds, or another point")
            found = None
        elif found.has(sympy.zoo):
            found = None
    if found is not None:
        proposal = attempt(lambda: from_sympy(found.xreplace({x: sympy.Symbol(wrt)})), 20_000)
    if proposal is None:
        if _settles(node, wrt, to, side) is False:
            raise ToolError("NO_LIMIT", "the values do not settle", "ask for one side, or another point")
        raise ToolError(
            "UNSOLVED", "no limit could be found", "substitute numbers for parameters, or expand in a series"
        )
    try:
        check_limit(node, wrt, to, side, proposal)
    except Disagrees as error:
        if _settles(node, wrt, to, side) is False:
            raise ToolError("NO_LIMIT", "the values do not settle", "ask for one side, or another point") from error
        message = f"the limit {to_text(proposal)[:60]} that was found disagrees with values nearby"
        raise ToolError("UNSOLVED", message, "rewrite the expression, or evaluate it near the point") from error
    return proposal


def samples(node: Node, wrt: str, to: Node, side: Side, mantissa: int = 2) -> list[Any]:
    """Return balls of the function ever closer to the point (acb); parameters take fixed positive values."""
    from flint import arb

    names = sorted((free_symbols(node) | free_symbols(to)) - {wrt})
    values = {n: number_node(v) for n, v in sample_values(names, {n: {"positive"} for n in names}).items()}
    node, to = replace(node, values), replace(to, values)
    found = []
    if to in (INFINITY, MINUS_INFINITY):
        # x = 1/s, so that the place is 0
        inner = Quotient(ONE if to == INFINITY else Number(Fraction(-1)), Symbol(wrt))
        node, place, direction, depths = replace(node, {wrt: inner}), end_place(ZERO, -1), 1, _FAR
    else:
        place, direction, depths = end_place(to, -1), 1 if side == "+" else -1, _DEPTHS
    for depth in depths:
        with precision(2 * depth + 128):
            s = (arb(2) ** -depth / arb(mantissa).sqrt()).mid()  # no whole numbers, where sin(pi*x) vanishes
        try:
            found.append(near(node, wrt, place, direction, s, 3 * depth + 192, 64))
        except Unsettled:
            if len(found) >= 4:
                break
            found.clear()
    return found


def check_limit(node: Node, wrt: str, to: Node, side: Side, limit: Node) -> None:
    """Compare with values nearby. Raises Disagrees."""
    names = sorted((free_symbols(node) | free_symbols(to)) - {wrt})
    values = {n: number_node(v) for n, v in sample_values(names, {n: {"positive"} for n in names}).items()}
    wanted = replace(limit, values)
    for mantissa in (2, 3, 7):
        found = samples(node, wrt, to, side, mantissa)
        if len(found) < 3:
            raise Disagrees("too few values nearby")
        if wanted in (INFINITY, MINUS_INFINITY):
            _check_growth(found, 1 if wanted == INFINITY else -1)
            continue
        with precision(4_096):
            try:
                target = ball(wanted, {})
            except (ToolError, ValueError, ZeroDivisionError) as error:
                raise Disagrees("the limit has no value") from error
            gaps = [_log_size(value - target) for value in found]
        size = max(0.0, _log_of(wanted))
        if gaps[-1] < size - 30 and gaps[-1] <= gaps[0]:
            continue
        falling = all(b < a - 1e-6 for a, b in zip(gaps[-4:], gaps[-3:], strict=False))
        if not (falling and gaps[-1] < gaps[0] - 3 and gaps[-1] < size - 5):
            raise Disagrees("the values do not approach it")


def _check_growth(found: list[Any], sign: int) -> None:
    if not all((value.real > 0) if sign > 0 else (value.real < 0) for value in found[-3:]):
        raise Disagrees("the sign differs")
    sizes = [_log_size(value) for value in found]
    if not (all(b > a for a, b in zip(sizes[-4:], sizes[-3:], strict=False)) and sizes[-1] > 3):
        raise Disagrees("the values do not grow")
    if not all(abs(value.imag) < abs(value.real) for value in found[-2:]):
        raise Disagrees("the values are not real")


def _log_of(node: Node) -> float:
    with precision(256):
        return _log_size(ball(node, {}))


def _log_size(value: Any) -> float:
    from flint import arb

    upper = abs(value).upper()
    if upper == 0:
        return -math.inf
    size = (upper.log() / arb(2).log()).mid()
    return float(size) if abs(size) < 1e300 else math.inf if size > 0 else -math.inf


def _settles(node: Node, wrt: str, to: Node, side: Side) -> bool | None:
    """Return False where values at the closest places surely differ much, None where nothing can be said."""
    ends = []
    for mantissa in (2, 3, 5, 7):
        found = samples(node, wrt, to, side, mantissa)
        if len(found) < 3:
            return None
        ends += found[-2:]
    with precision(256):
        for i, a in enumerate(ends):
            for b in ends[:i]:
                scale = max(_log_size(a), _log_size(b))
                if scale < 60 and _log_size(a - b) > max(scale, 0) - 4:
                    return False
    return True


def same_value(a: Node, b: Node) -> bool:
    return a == b or equal(a, b) == "equal"


def indeterminate_form(node: Node, wrt: str, to: Node) -> str | None:
    """Return what plain substitution gives where it gives no value, such as 0/0."""
    try:
        simplified(replace(node, {wrt: to}))
    except ToolError as error:
        if error.code != "UNDEFINED_VALUE":
            return None
        if to in (INFINITY, MINUS_INFINITY):
            return "at infinity"
        return _quotient_form(node, wrt, to)
    return None


def _quotient_form(node: Node, wrt: str, to: Node) -> str:
    if isinstance(node, Quotient):
        forms = []
        for part in (node.numerator, node.denominator):
            try:
                forms.append("0" if simplified(replace(part, {wrt: to})) == ZERO else "c")
            except ToolError:
                forms.append("oo")
        return "/".join(forms)
    return "undefined"
