"""Laplace transforms and their inverses: proposals of sympy, compared with the defining integral at points."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    free_symbols,
    number_node,
    rational_value,
    replace,
    walk,
)
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.expressions.tree import ZERO
from maven_env.tools.calculus.antiderivatives import Symbols, attempt, sample_values
from maven_env.tools.calculus.definite_integrals import integral_value
from maven_env.tools.calculus.definite_values import Diverges, Unsettled
from maven_env.tools.results import declining
from maven_env.tools.symbolic.substitution import simplified_if_possible
from maven_env.tools.transforms.modes import modes
from maven_env.tools.transforms.rational_inverses import rational_inverse, residue_value

_FUEL = 100_000
_PAIR = re.compile(r"(Derivative\(\s*\w+\(\s*\w+\s*\))\s*,\s*\(\s*(\w+)\s*,\s*(\d+)\s*\)\s*\)")
_STEPS = (Fraction(6, 5), Fraction(23, 8))  # distances of the test points from the abscissa


@dataclass(frozen=True)
class Transform:
    node: Node
    abscissa: Node
    conditions: tuple[str, ...] = ()


def forward(node: Node, t: str, s: str) -> Transform:
    """Return the transform, verified at points right of the abscissa. Raises DIVERGENT, UNSOLVED."""
    import sympy

    impulses, rest = _impulses(node)
    parts: list[Node] = [_impulse_transform(part, t, s) for part in impulses]
    if rest == ZERO:
        return Transform(_sum(parts), Negative(Constant("oo")))
    names = sorted(free_symbols(rest) - {t})
    last: Exception | None = None
    for words in ({"positive"}, {"real"}):
        symbols = Symbols({**{name: set(words) for name in names}, t: {"positive"}, s: set()})

        def work(symbols: Symbols = symbols) -> Any:
            value = symbols.into(rest)
            found, bound, condition = sympy.laplace_transform(value, symbols.assumed[t], symbols.assumed[s])
            if found.has(sympy.LaplaceTransform, sympy.Integral):
                return None
            return from_sympy(symbols.out(sympy.factor_terms(found))), _bound(symbols.out(bound)), condition

        found = attempt(work, _FUEL)
        if found is None:
            continue
        transform, bound, _ = found
        try:
            conditions = _verified(rest, transform, bound, t, s, names)
        except Diverges as error:
            last = error
            continue
        if conditions is not None:
            return Transform(simplified_if_possible(_sum([*parts, transform])), bound, conditions)
    if last is None and not names:
        try:
            weight = Call("exp", (Product((Number(Fraction(-1_000)), Symbol(t))),))
            integral_value(Product((rest, weight)), t, ZERO, Constant("oo"))
        except Diverges as error:
            last = error
        except Unsettled:
            pass
    if last is not None:
        raise ToolError("DIVERGENT", f"the transform does not exist: {last}", "check the growth of the function")
    raise ToolError("UNSOLVED", "no transform could be found and verified", "put numbers for parameters")


def _bound(value: Any) -> Node:
    import sympy

    return Negative(Constant("oo")) if value == -sympy.oo else from_sympy(value)


def _sum(parts: list[Node]) -> Node:
    return ZERO if not parts else parts[0] if len(parts) == 1 else Sum(tuple(parts))


def _terms(node: Node) -> Iterator[Node]:
    match node:
        case Sum(items):
            for item in items:
                yield from _terms(item)
        case Negative(a):
            for item in _terms(a):
                yield Negative(item)
        case _:
            yield node


def _impulses(node: Node) -> tuple[list[Node], Node]:
    """Split off the terms with DiracDelta."""
    has = [term for term in _terms(node) if _has_delta(term)]
    rest = [term for term in _terms(node) if not _has_delta(term)]
    return has, _sum(rest)


def _has_delta(node: Node) -> bool:
    return any(isinstance(part, Call) and part.function == "DiracDelta" for part in walk(node))


def _impulse_transform(term: Node, t: str, s: str) -> Node:
    """Return the transform of c*DiracDelta(t - a) with a >= 0; an impulse at 0 counts whole."""
    import sympy

    value, x = to_sympy(term), sympy.Symbol(t)
    deltas = sorted(value.atoms(sympy.DiracDelta), key=str)
    with declining("this impulse has no transform here"):
        factor = sympy.cancel(value / deltas[0])
        inner = deltas[0].args[0]
        slope = sympy.diff(inner, x)
        place = sympy.simplify(x - inner / slope)
        if len(deltas) != 1 or slope.has(x) or place.has(x) or place.is_negative:
            raise ToolError("UNSOLVED", "only impulses such as c*DiracDelta(t - a) with a >= 0 are treated")
        return from_sympy(factor.subs(x, place) / sympy.Abs(slope) * sympy.exp(-place * sympy.Symbol(s)))


def _verified(node: Node, transform: Node, bound: Node, t: str, s: str, names: list[str]) -> tuple[str, ...] | None:
    """Compare with the integral at two points; return sign conditions on parameters, None where refuted."""
    sample = sample_values(names, {name: {"positive"} for name in names})
    if _agrees(node, transform, bound, t, s, sample) is not True:
        return None
    conditions = []
    for name in names:
        try:
            turned = _agrees(node, transform, bound, t, s, {**sample, name: -sample[name]})
        except Diverges:
            turned = False
        if turned is not True:
            conditions.append(f"{name} > 0")
    return tuple(conditions)


def _agrees(node: Node, transform: Node, bound: Node, t: str, s: str, sample: dict[str, Fraction]) -> bool | None:
    values = {name: number_node(value) for name, value in sample.items()}
    edge = _edge(replace(bound, values))
    if edge is None:
        return None
    for step in _STEPS:
        place = number_node(edge + step)
        weight = Call("exp", (Negative(Product((place, Symbol(t)))),))
        try:
            wanted = integral_value(Product((replace(node, values), weight)), t, ZERO, Constant("oo"))
        except Unsettled:
            return None
        with precision(160):
            try:
                found = ball(replace(transform, {**values, s: place}), {})
            except (ToolError, ValueError, ZeroDivisionError):
                return None
            gap = float(abs(found - wanted.ball).upper())
            if gap > max(1e-11 * float(abs(wanted.ball).upper()), 8 * float(wanted.ball.real.rad()), 1e-18):
                return False
    return True


def _edge(bound: Node) -> Fraction | None:
    """Return a rational close to the abscissa; 0 for none."""
    from maven_env.expressions.balls import nearest_double

    if bound == Negative(Constant("oo")):
        return Fraction(0)
    try:
        return Fraction(nearest_double(bound)).limit_denominator(1_000)
    except ToolError:
        return None


# ---- differential equations ------------------------------------------------------------------------------------------
def transform_equation(text: str, t: str, s: str, initial: list[Node]) -> Transform:
    """Return Y(s) of a linear equation with constant coefficients. Raises BAD_INPUT, UNSOLVED."""
    import sympy

    from maven_env.tools.ode.symbolic_odes import read_equation

    name = _unknown(text)
    text = _PAIR.sub(r"\1, \2, \3)", text)  # Derivative(y(t), (t, 2)) as Derivative(y(t), t, 2)
    equation = read_equation(text, f"{name}({t})")
    order = equation.order
    if len(initial) != order:
        wanted = ", ".join(f"{name}{chr(39) * k}(0)" for k in range(order))
        raise ToolError("BAD_INPUT", f"initial: expected {order} values, got {len(initial)}", f"give [{wanted}]")
    slots = [sympy.Symbol(f"y{k}_") for k in range(order + 1)]
    x = sympy.Symbol(t)
    residual = sympy.expand(equation.residual)
    coefficients = [sympy.diff(residual, slot) for slot in slots]
    forcing = -residual.subs(dict.fromkeys(slots, 0))
    linear = sum((c * slot for c, slot in zip(coefficients, slots, strict=True)), sympy.S.Zero) - forcing
    if any(c.has(x, *slots) for c in coefficients) or sympy.expand(linear - residual) != 0:
        raise ToolError(
            "UNSOLVED", "only linear equations with constant coefficients are transformed", "use solve_ode_symbolic"
        )
    source = forward(from_sympy(forcing), t, s) if forcing != 0 else Transform(ZERO, Negative(Constant("oo")))
    p = sympy.Symbol(s)
    start = [to_sympy(value) for value in initial]
    below = sum((c * p**k for k, c in enumerate(coefficients)), sympy.S.Zero)
    above = to_sympy(source.node)
    for k, c in enumerate(coefficients):
        above += sum((c * p ** (k - 1 - j) * start[j] for j in range(k)), sympy.S.Zero)
    with declining("the transform could not be written"):
        result = from_sympy(sympy.factor_terms(sympy.together(above / below)))
    return Transform(
        simplified_if_possible(result), _pole_bound(from_sympy(below), s, source.abscissa), source.conditions
    )


def _unknown(text: str) -> str:
    found = re.search(r"([A-Za-z]\w*)'", text) or re.search(r"Derivative\(\s*([A-Za-z]\w*)", text)
    if found is None:
        raise ToolError("BAD_INPUT", "ode: no derivative is found", "write it as y'' + 3*y' + 2*y = exp(-t)")
    return found[1]


def _pole_bound(below: Node, s: str, source: Node) -> Node:
    """Return the abscissa: the largest real part of a pole, where it is a number, else what the source needs."""
    form = rational_form(below, s)
    if form is None:
        return source
    from maven_env.expressions.balls import nearest_double

    real = [complex(root).real for root in poles(form[0])]
    edges = real if source == Negative(Constant("oo")) else [*real, nearest_double(source)]
    return number_node(Fraction(repr(max(edges)))) if edges else source


def poles(polynomial: Any) -> list[Any]:
    """Return the distinct complex roots of an fmpq_poly as acb."""
    if polynomial.degree() < 1:
        return []
    squarefree = polynomial / polynomial.gcd(polynomial.derivative())
    roots: Any = squarefree.numer().complex_roots()
    return [root for root, _ in roots]


# ---- inverse ---------------------------------------------------------------------------------------------------------
def inverse(node: Node, s: str, t: str) -> Transform:
    """Return f(t) for t > 0, verified by transforming it forward. Raises UNSOLVED."""
    import sympy

    form = rational_form(node, s)
    if form is not None:
        try:
            return Transform(rational_inverse(*form, t), ZERO)
        except ToolError as error:
            if error.code != "UNSOLVED" or any(factor.degree() > 2 for factor, _ in form[1].factor()[1]):
                raise  # roots of cubics run away in sympy; repeated quadratics do not
    names = sorted(free_symbols(node) - {s})
    for words in ({"positive"}, {"real"}):
        symbols = Symbols({**{name: set(words) for name in names}, t: {"real"}, s: set()})

        def work(symbols: Symbols = symbols) -> Any:
            value, p, x = symbols.into(node), symbols.assumed[s], symbols.assumed[t]
            if value.is_rational_function(p):
                value = sympy.apart(value, p)
            found = sympy.inverse_laplace_transform(value, p, x)
            if found.has(sympy.InverseLaplaceTransform, sympy.Integral):
                return None
            return from_sympy(symbols.out(sympy.factor_terms(found.subs(sympy.Heaviside(x), 1))))

        found = attempt(work, _FUEL)
        if found is None:
            continue
        impulses, rest = _impulses(found)
        sample = sample_values(names, {name: {"positive"} for name in names})
        if _returns(node, impulses, rest, s, t, sample):
            conditions = [
                f"{n} > 0" for n in names if not _returns(node, impulses, rest, s, t, {**sample, n: -sample[n]})
            ]
            return Transform(simplified_if_possible(found), ZERO, tuple(conditions))
    raise ToolError("UNSOLVED", "no inverse could be found and verified", "use method talbot for numbers")


def _returns(node: Node, impulses: list[Node], rest: Node, s: str, t: str, sample: dict[str, Fraction]) -> bool:
    """Return whether the transform of impulses + rest is `node` at two points right of the growth of `rest`."""
    values = {name: number_node(value) for name, value in sample.items()}
    inner = replace(node, values)
    form = rational_form(inner, s)
    edge = max((complex(root).real for root in poles(form[1])), default=0.0) if form is not None else 2.0
    known = [_impulse_transform(replace(part, values), t, s) for part in impulses]
    for step in _STEPS:
        place = Fraction(edge).limit_denominator(1_000) + step
        weight = Call("exp", (Negative(Product((number_node(place), Symbol(t)))),))
        try:
            if rest == ZERO:
                back: Any = None
            else:
                back = integral_value(Product((replace(rest, values), weight)), t, ZERO, Constant("oo")).ball
        except (Unsettled, Diverges):
            return False
        with precision(160):
            try:
                wanted = ball(inner, {s: decimal(place)})
                for part in known:
                    wanted = wanted - ball(part, {s: decimal(place)})
            except (ToolError, ValueError, ZeroDivisionError):
                return False
            gap = wanted if back is None else wanted - back
            size = max(float(abs(wanted).upper()), 1e-6)
            if not float(abs(gap).upper()) < 1e-10 * size:
                return False
    return True


def talbot(node: Node, s: str, time: Fraction) -> tuple[float, float]:
    """Return f(time) by Talbot's contour, and the gap between two resolutions. Raises NO_CONVERGENCE."""
    delayed = _delayed(node, s)
    if delayed is not None:
        return _superposed(delayed, time)
    _check_contour(node, s, time, 24)
    values = [_talbot(node, s, time, nodes) for nodes in (24, 32, 48)]
    gap = max(abs(values[2] - values[1]), abs(values[2] - values[0]) / 1e4)
    if not all(math.isfinite(value) for value in values) or not gap <= 1e-10 * max(abs(values[2]), 1e-8):
        message = "the contour sum does not settle: poles far from the real axis, or a discontinuous function"
        raise ToolError("NO_CONVERGENCE", message, "use method exact, or split off factors such as exp(-a*s)")
    return values[2] if abs(values[2]) > 1e3 * gap else 0.0, gap


def _check_contour(node: Node, s: str, time: Fraction, count: int) -> None:
    """Refuse where singular points may lie beyond the contour: |F| must fall steadily along the imaginary direction."""
    from flint import acb, arb

    with precision(128):
        t = arb(time.numerator) / time.denominator
        reach = arb(2 * count) / (5 * t) * arb.pi() / 2
        message = "poles may lie outside the contour: the time is too large for the oscillation"
        failure = ToolError("NO_CONVERGENCE", message, "use method exact")
        for polynomial in _singular_polynomials(node, s):
            if any(not abs(root.imag) < reach for root in poles(polynomial)):
                raise failure
        before = None
        for k in range(400):
            z = acb(1 / t, reach * arb(1.05) ** k)
            try:
                size = abs(ball(node, {s: z}))
            except (ToolError, ValueError, ZeroDivisionError):
                raise failure from None
            if before is not None and not size.mid() <= before * (1 + arb(1e-9)):
                raise failure
            before = size.mid()


def _delayed(node: Node, s: str) -> list[tuple[Fraction, Any]] | None:
    """Return (delay, rational form) of every term R(s)*exp(-delay*s), None where there are others."""
    found = []
    for mode in modes(node, s):
        delay, form = rational_value(mode.decay), rational_form(mode.factor, s)
        if delay is None or delay > 0 or mode.phase != ZERO or form is None:
            return None
        found.append((-delay, form))
    return found


def has_residues(node: Node, s: str) -> bool:
    """Tell whether the inverse is a sum of residues: rational functions, delayed or not."""
    return _delayed(node, s) is not None


def _superposed(delayed: list[tuple[Fraction, Any]], time: Fraction) -> tuple[float, float]:
    """Add the residues of every term whose delay is over."""
    for work in (256, 1_024):
        with precision(work):
            total = decimal(0).real
            for delay, (top, bottom) in delayed:
                if time == delay and top.degree() >= bottom.degree() - 1:
                    raise ToolError("NO_CONVERGENCE", f"the function jumps at {delay}", "take a time beside it")
                if time > delay:
                    total += residue_value(top, bottom, time - delay, work)
            if total == 0 or total.rel_accuracy_bits() >= 60:
                value = float(total.mid())
                if not math.isfinite(value):
                    raise ToolError("OVERFLOW", "the value is beyond double precision", "take a smaller time")
                return value, float(total.rad())
    raise ToolError("NO_CONVERGENCE", "the terms cancel too much for a certain value", "use method exact")


def _singular_polynomials(node: Node, s: str) -> Iterator[Any]:
    """Yield polynomials whose roots may be singular: denominators, and what stands under roots and logarithms."""
    for part in walk(node):
        match part:
            case Quotient(_, bottom):
                places = [bottom, *(bottom.factors if isinstance(bottom, Product) else ())]
            case Power(base, exponent) if not (rational_value(exponent) or Fraction(-1)) >= 0 or (
                (rational_value(exponent) or Fraction(1, 2)).denominator > 1
            ):
                places = [base, *(base.factors if isinstance(base, Product) else ())]
            case Call(_, arguments):
                places = list(arguments)
            case _:
                continue
        for place in places:
            form = rational_form(place, s)
            if form is not None:
                yield from form


def _talbot(node: Node, s: str, time: Fraction, count: int) -> float:
    """Abate and Valko's fixed Talbot rule with `count` nodes, at 4 bits a node."""
    from flint import acb, arb

    with precision(4 * count + 128):
        t = arb(time.numerator) / time.denominator
        r = arb(2 * count) / (5 * t)

        def value(z: Any) -> Any:
            return ball(node, {s: z})

        try:
            total = (r * t).exp() * value(acb(r)) / 2
            for k in range(1, count):
                theta = arb.pi() * k / count
                cot = theta.cos() / theta.sin()
                z = acb(r * theta * cot, r * theta)
                sigma = theta + (theta * cot - 1) * cot
                total = total + (z * t).exp() * value(z) * acb(1, sigma)
        except (ToolError, ValueError, ZeroDivisionError) as error:
            raise ToolError(
                "NO_CONVERGENCE", "the transform has no value on the contour", "use method exact"
            ) from error
        return float((total * r / count).real.mid())
