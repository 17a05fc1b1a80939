"""Integrals of oscillating functions to infinity, by turning the path into the complex plane.

A product of sines and cosines times a slowly falling function is split into terms h(x) exp(i w x). For each, the path
from A to infinity is turned upwards (downwards for w < 0), where the exponential falls; that is exact if h is analytic
there and vanishes at infinity, which is checked: h is a rational function times a power of x, and A lies beyond
its poles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    rational_value,
    replace,
    walk,
)
from maven_env.expressions.algebra.flint_rationals import fraction
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.balls import ball
from maven_env.expressions.tree import ONE, ZERO, rebuild

Frequency = tuple[Fraction, Fraction]  # a + b*pi
Terms = dict[Frequency, list[Node]]
_TERMS = 600
_POWER = 8
_PI = "pi_"


def has_waves(node: Node, name: str) -> bool:
    """Return whether `node` has a sine or cosine of the variable."""
    return any(isinstance(p, Call) and p.function in ("sin", "cos") and name in free_symbols(p) for p in walk(node))


def linear_phase(node: Node, name: str) -> tuple[Node, Fraction] | None:
    """Return the integrand with x = u^(1/p), for phases of the form c*x^p with one p, and p; None if they differ."""
    powers = set()
    for part in walk(node):
        if isinstance(part, Call) and part.function in ("sin", "cos") and name in free_symbols(part):
            form = rational_form(replace(part.arguments[0], {}), name)
            if form is None:
                form = rational_form(_pi_as_symbol_free(part.arguments[0]), name)
            if form is None or form[1].degree() > 0:
                return None
            degree = form[0].degree()
            if degree > 1 and any(form[0][k] != 0 for k in range(degree)):
                return None
            powers.add(degree)
    if len(powers) != 1:
        return None
    (p,) = powers
    if p == 1:
        return node, Fraction(1)
    root: Node = Power(Symbol(name), Number(Fraction(1, p)))
    slope: Node = Product((Number(Fraction(1, p)), Power(Symbol(name), Negative(Number(1 - Fraction(1, p))))))
    return Product((_powers_of(node, name, root, p), slope)), Fraction(p)


def _pi_as_symbol_free(node: Node) -> Node:
    """Put 3 for pi, which keeps the degrees in the variable."""
    return Number(Fraction(3)) if node == Constant("pi") else rebuild(node, _pi_as_symbol_free)


def _powers_of(node: Node, name: str, root: Node, p: int) -> Node:
    """Put x = u^(1/p); powers of x become powers of u at once, so that phases become linear."""
    if isinstance(node, Power) and node.base == Symbol(name):
        exact = rational_value(node.exponent)
        if exact is not None:
            q = exact / p
            return Symbol(name) if q == 1 else Power(Symbol(name), Number(q))
    if isinstance(node, Symbol):
        return root if node.name == name else node
    return rebuild(node, lambda part: _powers_of(part, name, root, p))


def wave_terms(node: Node, name: str) -> Terms | None:
    """Split `node` into {w: coefficients of exp(i*w*x)}, or None if it is no such sum."""
    if not has_waves(node, name):
        return {(Fraction(0), Fraction(0)): [node]}
    match node:
        case Negative(a):
            return _scaled(wave_terms(a, name), Number(Fraction(-1)))
        case Sum(items):
            total: Terms = {}
            for item in items:
                part = wave_terms(item, name)
                if part is None:
                    return None
                for w, coefficients in part.items():
                    total.setdefault(w, []).extend(coefficients)
            return total
        case Product(items):
            found: Terms | None = {(Fraction(0), Fraction(0)): [ONE]}
            for item in items:
                found = _times(found, wave_terms(item, name))
            return found
        case Quotient(a, b):
            return None if has_waves(b, name) else _scaled(wave_terms(a, name), Quotient(ONE, b))
        case Power(a, b):
            n = rational_value(b)
            if n is None or n.denominator != 1 or not 1 <= n <= _POWER:
                return None
            base = wave_terms(a, name)
            result: Terms | None = {(Fraction(0), Fraction(0)): [ONE]}
            for _ in range(int(n)):
                result = _times(result, base)
            return result
        case Call("sin" | "cos" as function, (phase,)):
            return _wave(function, phase, name)
    return None


def _wave(function: str, phase: Node, name: str) -> Terms | None:
    w = frequency(phase, name)
    if w is None:
        return None
    shift = replace(phase, {name: ZERO})
    half = Fraction(1, 2)
    turn: Node = Call("exp", (Product((Constant("I"), shift)),))
    back: Node = Call("exp", (Negative(Product((Constant("I"), shift))),))
    if function == "cos":
        return _summed([(w, Product((Number(half), turn))), ((-w[0], -w[1]), Product((Number(half), back)))])
    i_half: Node = Product((Number(half), Constant("I")))
    return _summed([(w, Negative(Product((i_half, turn)))), ((-w[0], -w[1]), Product((i_half, back)))])


def _summed(pairs: list[tuple[Frequency, Node]]) -> Terms:
    total: Terms = {}
    for w, coefficient in pairs:
        total.setdefault(w, []).append(coefficient)
    return total


def frequency(phase: Node, name: str) -> Frequency | None:
    """Return the slope a + b*pi of a linear phase, or None."""
    slope = derivative(phase, name)
    form = rational_form(_pi_to(slope), _PI)
    if form is None or form[1].degree() > 0 or form[0].degree() > 1:
        return None
    top, bottom = form[0], form[1][0]
    a, b = (top[k] / bottom for k in (0, 1))
    return fraction(a), fraction(b)


def _pi_to(node: Node) -> Node:
    return Symbol(_PI) if node == Constant("pi") else rebuild(node, _pi_to)


def _scaled(terms: Terms | None, factor: Node) -> Terms | None:
    return None if terms is None else {w: [Product((c, factor)) for c in cs] for w, cs in terms.items()}


def _times(first: Terms | None, second: Terms | None) -> Terms | None:
    if first is None or second is None:
        return None
    total: Terms = {}
    count = 0
    for v, a in first.items():
        for w, b in second.items():
            together = (v[0] + w[0], v[1] + w[1])
            for x in a:
                for y in b:
                    count += 1
                    if count > _TERMS:
                        return None
                    total.setdefault(together, []).append(y if x == ONE else Product((x, y)))
    return total


def turned_tail(coefficient: Node, name: str, w: Frequency, start: float, bits: int) -> tuple[Any, float] | None:
    """Return the integral of coefficient*exp(i*w*x) from `start` to infinity with its error, or None.

    None too if `coefficient` may have a singularity beyond `start` or does not vanish at infinity.
    """
    from flint import acb, arb

    limit = reach(coefficient, name)
    if limit is None or limit >= start:
        return None
    omega = arb(w[0].numerator) / w[0].denominator + arb.pi() * w[1].numerator / w[1].denominator
    sign = 1 if omega > 0 else -1
    h = compile_analytic(coefficient, name)
    decay = abs(omega)

    def g(s: Any, analytic: bool) -> Any:
        return h(acb(start) + acb(0, sign) * s, analytic) * (-acb(decay) * s).exp()

    end = (bits * 0.7 + 8) / float(decay.mid())
    value = acb.integral(g, acb(0), acb(end), rel_tol=arb(2) ** -bits, eval_limit=20_000)
    if not value.is_finite():
        return None
    size = abs(h(acb(start), False)).abs_upper()
    error = 100 * float(size) * math.exp(-float(decay.mid()) * end) / float(decay.mid())
    phase = (acb(0, 1) * omega * start).exp()
    return acb(0, sign) * phase * value, error


def reach(coefficient: Node, name: str) -> float | None:
    """Return a radius beyond which the coefficient is analytic for Re x > 0 and vanishes; None if not certain."""
    found = _growth(coefficient, name)
    if found is None or found[0] >= 0:
        return None
    return found[1]


Growth = tuple[Fraction, float]  # degree at infinity (an upper bound), radius that holds all singularities


def _growth(node: Node, name: str) -> Growth | None:
    if name not in free_symbols(node):
        return (Fraction(0), 0.0) if ball(node, {}).is_finite() else None
    form = rational_form(node, name)
    if form is not None:
        if form[0] == 0:
            return Fraction(-1), 0.0
        roots = complex_roots(form[1]) if form[1].degree() > 0 else []
        return Fraction(form[0].degree() - form[1].degree()), 1.01 * max(
            (float(abs(r).abs_upper()) for r, _ in roots), default=0.0
        )
    match node:
        case Negative(a):
            return _growth(a, name)
        case Product(items):
            return _all([_growth(item, name) for item in items])
        case Sum(items):
            parts = [_growth(item, name) for item in items]
            if any(part is None for part in parts):
                return None
            known = [part for part in parts if part is not None]
            return max(part[0] for part in known), max(part[1] for part in known)
        case Quotient(a, b):
            bottom = _growth(Power(b, Negative(ONE)), name)
            return _all([_growth(a, name), bottom])
        case Call("sqrt", (a,)):
            return _growth(Power(a, Number(Fraction(1, 2))), name)
        case Power(a, b):
            exponent = rational_value(b)
            if exponent is None:
                return None
            if isinstance(a, Call) and a.function == "sqrt":
                return _growth(Power(a.arguments[0], Number(exponent / 2)), name)
            if isinstance(a, Power):
                inner = rational_value(a.exponent)
                return (
                    None if inner is None or abs(inner) > 2 else _growth(Power(a.base, Number(inner * exponent)), name)
                )
            if a == Symbol(name):
                return exponent, 0.0
            base = rational_form(a, name)
            if base is None or (exponent.denominator != 1 and base[0].degree() + base[1].degree() > 1):
                return None
            degree = Fraction(base[0].degree() - base[1].degree()) * exponent
            values = [r for part in base if part.degree() > 0 for r, _ in complex_roots(part)]
            return degree, 1.01 * max((float(abs(r).abs_upper()) for r in values), default=0.0)
    return None


def _all(parts: list[Growth | None]) -> Growth | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return sum((part[0] for part in known), Fraction(0)), max(part[1] for part in known)


Piece = Callable[[Node, Node, Node], tuple[Any, float] | bool | None]


def oscillating_half_line(
    node: Node, name: str, start: Fraction, bits: int, integrate: Piece
) -> tuple[Any, float] | bool | None:
    """Return the integral of `node` from `start` to infinity (mid, error), True if it diverges, None if not certain.

    `integrate(node, low, high)` integrates what does not oscillate and the finite stretch before the path is turned.
    """
    from flint import acb

    if start < 0:
        return None
    try:
        linear = linear_phase(node, name)
        terms = wave_terms(linear[0], name) if linear is not None else None
        if linear is None or terms is None:
            return None
        groups = [(w, Sum(tuple(cs)) if len(cs) > 1 else cs[0]) for w, cs in sorted(terms.items())]
        zero = (Fraction(0), Fraction(0))
        limits = [reach(coefficient, name) for w, coefficient in groups if w != zero]
    except ToolError:
        return None
    if any(limit is None for limit in limits):
        return None
    power = linear[1]
    begin = Fraction(math.ceil(max([2.0, float(start**power) + 1, *(2 * limit + 1 for limit in limits if limit)])))
    first = integrate(node, Number(start), Power(Number(begin), Number(1 / power)))
    if first is None or isinstance(first, bool):
        return first
    total, error = acb(first[0]), first[1]
    for w, coefficient in groups:
        if w == zero:
            part = integrate(coefficient, Number(begin), Constant("oo"))
        else:
            part = turned_tail(coefficient, name, w, float(begin), bits)
        if part is None or isinstance(part, bool):
            return part
        total, error = total + part[0], error + part[1]
    return total, error
