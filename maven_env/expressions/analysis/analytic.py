"""Balls for integration: a function of one real variable extended to complex balls, with a watch on analyticity.

`compile_analytic` gives f(z, analytic) as `acb.integral` wants it: with `analytic` set, a ball on which the extension
is not holomorphic (a pole, a branch cut, a corner) comes back as nan. Abs, sign, Min, floor and conditions are extended
piecewise from the real axis, which needs their arguments to be real there.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.balls import Undecided, ball, holds, is_real
from maven_env.expressions.tree import (
    Call,
    Negative,
    Node,
    Piecewise,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    free_symbols,
    rational_value,
)

Extension = Callable[[Any, bool], Any]


def compile_analytic(node: Node, name: str) -> Extension:
    """Return f(z, analytic) -> acb for the one free symbol `name`; constants follow the precision in force.

    Raises ToolError(UNSOLVED) at once for a function without an extension; calls never raise, they give nan.
    """
    from flint import acb

    inner = _compile(node, name)
    nowhere = acb("nan")

    def extension(z: Any, analytic: bool) -> Any:
        try:
            return inner(z, analytic)
        except (Undecided, ToolError, ValueError, ZeroDivisionError, OverflowError):
            return nowhere

    return extension


def _compile(node: Node, name: str) -> Extension:
    if name not in free_symbols(node) and not isinstance(node, Relation):
        return _constant(node)
    match node:
        case Symbol():
            return lambda z, analytic: z
        case Negative(a):
            inner = _compile(a, name)
            return lambda z, analytic: -inner(z, analytic)
        case Sum(items):
            parts = [_compile(item, name) for item in items]
            return lambda z, analytic: sum((part(z, analytic) for part in parts[1:]), parts[0](z, analytic))
        case Product(items):
            return _product([_compile(item, name) for item in items])
        case Quotient(a, b):
            top, bottom = _compile(a, name), _compile(b, name)
            return lambda z, analytic: top(z, analytic) / bottom(z, analytic)
        case Power(a, b):
            return _power(a, b, name)
        case Call(function, arguments):
            return _call(function, arguments, name)
        case Piecewise(branches):
            return _piecewise(branches, name)
    raise ToolError("BAD_INPUT", "a relation has no integral", "give one side of it")


def _constant(node: Node) -> Extension:
    known: dict[int, Any] = {}

    def value(z: Any, analytic: bool) -> Any:
        from flint import ctx

        if ctx.prec not in known:
            known[ctx.prec] = ball(node, {})
        return known[ctx.prec]

    return value


def _product(parts: list[Extension]) -> Extension:
    def multiply(z: Any, analytic: bool) -> Any:
        total = parts[0](z, analytic)
        for part in parts[1:]:
            total = total * part(z, analytic)
        return total

    return multiply


def _power(base: Node, exponent: Node, name: str) -> Extension:
    exact = rational_value(exponent)
    inner = _compile(base, name)
    if exact is not None and exact.denominator == 1:
        n = int(exact)
        if n >= 0:
            return lambda z, analytic: inner(z, analytic) ** n
        return lambda z, analytic: 1 / inner(z, analytic) ** -n
    if exact is not None and exact.denominator == 2:
        odd = exact.numerator
        root = _off_cut(inner, lambda w, analytic: w.sqrt(analytic=analytic), lambda value: _i() * value)
        if odd > 0:
            return lambda z, analytic: root(z, analytic) ** odd
        return lambda z, analytic: 1 / root(z, analytic) ** -odd
    outer = _compile(exponent, name)
    from flint import acb

    def power(z: Any, analytic: bool) -> Any:
        below = inner(z, analytic)
        if below == 0 and not analytic and exact is not None and exact > 0:
            return below
        above = outer(z, analytic)
        if exact is not None and exact > 0 and not analytic and below.contains(0):
            return _root_bound(below, exact)
        if analytic and _lies_on_cut(inner, below, z):
            return (-below).pow(above, analytic=True) * (acb.pi() * _i() * above).exp()
        return below.pow(above, analytic=analytic)

    return power


def _i() -> Any:
    from flint import acb

    return acb(0, 1)


def _lies_on_cut(inner: Extension, value: Any, z: Any) -> bool:
    """Tell whether a ball left of 0 comes from an argument that is negative on the axis: there one continues."""
    from flint import acb

    if not (value.imag.contains(0) and value.real < 0):
        return False
    on_axis = inner(acb(z.real), False)
    return is_real(on_axis) and bool(on_axis.real < 0)


def _off_cut(inner: Extension, method: Callable[[Any, bool], Any], turn: Callable[[Any], Any]) -> Extension:
    """Continue `method` over its cut where the argument is negative on the axis: it is `turn(method(-argument))`."""

    def rule(z: Any, analytic: bool) -> Any:
        value = inner(z, analytic)
        if analytic and _lies_on_cut(inner, value, z):
            return turn(method(-value, True))
        return method(value, analytic)

    return rule


def _root_bound(value: Any, exponent: Fraction) -> Any:
    """Return a ball around 0 that holds value^exponent for a ball that contains 0; a real one for values from 0 on."""
    from flint import acb, arb

    reach = arb(value.abs_upper()) ** (arb(exponent.numerator) / exponent.denominator)
    around = arb(0, float(reach.abs_upper()) * (1 + 1e-12) + 1e-300)
    return acb(around, around)


def _on_axis(arguments: list[Extension], z: Any) -> None:
    """Refuse arguments that are not real on the real axis under `z`."""
    from flint import acb

    axis = acb(z.real)
    for argument in arguments:
        if not is_real(argument(axis, False)):
            raise Undecided("the extension needs an argument that is real on the axis")


def _piecewise(branches: tuple[tuple[Node, Relation | None], ...], name: str) -> Extension:
    from flint import acb

    values = [_compile(value, name) for value, _ in branches]
    conditions = [condition for _, condition in branches]

    def choose(z: Any, analytic: bool) -> Any:
        axis = acb(z.real)
        for value, condition in zip(values, conditions, strict=True):
            if condition is None or holds(condition, {name: axis}):
                return value(z, analytic)
        raise Undecided("no branch holds")

    return choose


def _call(function: str, arguments: tuple[Node, ...], name: str) -> Extension:
    parts = [_compile(argument, name) for argument in arguments]
    from flint import acb

    if function == "sqrt":
        return _off_cut(parts[0], lambda w, analytic: w.sqrt(analytic=analytic), lambda value: _i() * value)
    if function == "log" and len(parts) == 1:
        return _off_cut(parts[0], lambda w, analytic: w.log(analytic=analytic), lambda value: value + acb.pi() * _i())
    real = _real_extensions().get(function)
    if real is not None:

        def extended(z: Any, analytic: bool) -> Any:
            _on_axis(parts, z)
            return real(analytic, *(part(z, analytic) for part in parts))

        return extended
    if function in ("re", "im", "conjugate"):

        def part_of(z: Any, analytic: bool) -> Any:
            _on_axis(parts, z)
            return acb(0) if function == "im" else parts[0](z, analytic)

        return part_of
    rule = _analytic_functions().get(function)
    if rule is None:
        raise ToolError("UNSOLVED", f"{function} has no certified integration here", "try quadrature_singular")
    return lambda z, analytic: rule(analytic, *(part(z, analytic) for part in parts))


Rule = Callable[..., Any]


@lru_cache(maxsize=1)
def _real_extensions() -> dict[str, Rule]:
    from flint import acb

    def extreme(method: Rule) -> Rule:
        def rule(analytic: bool, *values: Any) -> Any:
            best = values[0]
            for value in values[1:]:
                best = method(best, value, analytic=analytic)
            return best

        return rule

    return {
        "Abs": lambda a, z: acb.real_abs(z, analytic=a), "sign": lambda a, z: acb.real_sgn(z, analytic=a),
        "floor": lambda a, z: acb.real_floor(z, analytic=a), "ceiling": lambda a, z: acb.real_ceil(z, analytic=a),
        "Heaviside": lambda a, z: acb.real_heaviside(z, analytic=a),
        "Max": extreme(acb.real_max), "Min": extreme(acb.real_min),
    }  # fmt: skip


@lru_cache(maxsize=1)
def _analytic_functions() -> dict[str, Rule]:
    from flint import acb, arb

    one = acb(1)

    def entire(method: Rule) -> Rule:
        return lambda a, *z: method(*z)

    def off(method: Rule, touches: Callable[[Any], bool]) -> Rule:
        """Refuse balls that touch the branch cut of `method`, where only points and intervals of the axis are used."""

        def rule(analytic: bool, *z: Any) -> Any:
            if analytic and touches(z[-1]):
                raise Undecided("a branch cut")
            return method(*z)

        return rule

    def negative(z: Any) -> bool:
        return bool(z.imag.contains(0)) and not bool(z.real > 0)

    def beyond_one(z: Any) -> bool:
        return bool(z.imag.contains(0)) and not bool(abs(z.real) < 1)

    def imaginary(z: Any) -> bool:
        return bool(z.real.contains(0)) and not bool(abs(z.imag) < 1)

    def above_one(z: Any) -> bool:
        return bool(z.imag.contains(0)) and not bool(z.real < 1)

    def below_one(z: Any) -> bool:
        return bool(z.imag.contains(0)) and not bool(z.real > 1)

    def lambert_cut(z: Any) -> bool:
        return bool(z.imag.contains(0)) and not bool(z.real > -(arb(1).exp() ** -1))

    def log(a: bool, z: Any, base: Any = None) -> Any:
        value = z.log(analytic=a)
        return value if base is None else value / base.log(analytic=a)

    def cbrt(a: bool, z: Any) -> Any:
        if z.contains(0) and not a:
            return _root_bound(z, Fraction(1, 3))
        return z.pow(one / 3, analytic=a)

    def inverse(rule: Rule) -> Rule:
        return lambda a, z: rule(a, one / z)

    def lambert(z: Any, k: Any = None) -> Any:
        return z.lambertw(0 if k is None else int(float(k.real)))

    def bessel(method: Rule) -> Rule:
        """First kinds: cut along the negative axis unless the order is an integer."""

        def rule(a: bool, n: Any, z: Any) -> Any:
            whole = n.is_exact() and is_real(n) and n.real.is_integer()
            if a and not whole and negative(z):
                raise Undecided("a branch cut")
            return method(z, n)

        return rule

    def arc_cosine(z: Any) -> Any:
        """Bound acos on a real interval that reaches over 1 or -1: |acos x| <= pi/2 sqrt(2 |1 - x|)."""
        if is_real(z) and not abs(z.real) < 1 and z.real.abs_upper() < 2:
            near = one - z if z.real > 0 else one + z
            reach = arb(0, float((arb(2 * near.abs_upper()).sqrt() * arb.pi() / 2).abs_upper()) * (1 + 1e-12))
            around = acb(reach, reach)
            return around if z.real > 0 else acb.pi() - around
        return z.acos()

    atan, acos = off(acb.atan, imaginary), off(arc_cosine, beyond_one)
    asin = off(lambda z: acb.pi() / 2 - arc_cosine(z), beyond_one)
    asinh, atanh, acosh = off(acb.asinh, imaginary), off(acb.atanh, beyond_one), off(acb.acosh, below_one)
    return {
        **{name: entire(getattr(acb, name)) for name in ("sin", "cos", "tan", "cot", "sec", "csc", "exp", "gamma")},
        **{name: entire(getattr(acb, name)) for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch", "digamma")},
        **{name: entire(getattr(acb, name)) for name in ("erf", "erfc", "erfi", "shi")},
        "log": log, "cbrt": cbrt, "Si": entire(acb.si), "Shi": entire(acb.shi),
        "atan": atan, "asin": asin, "acos": acos, "acot": inverse(atan), "asec": inverse(acos), "acsc": inverse(asin),
        "asinh": asinh, "acosh": acosh, "atanh": atanh, "acoth": inverse(atanh),
        "factorial": entire(lambda z: (z + 1).gamma()), "loggamma": off(acb.lgamma, negative),
        "Ei": off(acb.ei, negative), "Ci": off(acb.ci, negative), "Chi": off(acb.chi, negative),
        "li": off(acb.li, below_one), "LambertW": lambda a, z, *k: off(lambda y: lambert(y, *k), lambert_cut)(a, z),
        "polylog": off(lambda s, z: z.polylog(s), above_one), "elliptic_k": off(acb.elliptic_k, above_one),
        "zeta": entire(lambda z, *a: z.zeta(*a)), "polygamma": entire(lambda n, z: z.polygamma(n)),
        "uppergamma": off(lambda s, z: z.gamma_upper(s), negative),
        "fresnels": entire(acb.fresnel_s), "fresnelc": entire(acb.fresnel_c),
        "airyai": entire(acb.airy_ai), "airybi": entire(acb.airy_bi),
        "besselj": bessel(acb.bessel_j), "besseli": bessel(acb.bessel_i),
        "bessely": off(lambda n, z: z.bessel_y(n), negative), "besselk": off(lambda n, z: z.bessel_k(n), negative),
    }  # fmt: skip
