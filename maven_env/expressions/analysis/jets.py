"""Rigorous derivatives: Taylor coefficients of a tree in one variable, as power series of complex balls.

No tree is differentiated, so nothing grows: each function acts on a truncated power series. The variable is real; at a
corner, a jump or the end of a branch there is no derivative, which is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.balls import Undecided, ball, precision, real_part
from maven_env.expressions.tree import (
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    rational_value,
)

MAX_ORDER = 24


@contextmanager
def _length(terms: int) -> Iterator[None]:
    """Cut power series after `terms`; call it under `precision`, which holds the lock."""
    from flint import ctx

    before = ctx.cap
    ctx.cap = terms
    try:
        yield
    finally:
        ctx.cap = before


def jet(node: Node, values: Mapping[str, Any], direction: Mapping[str, Any], order: int) -> list[Any]:
    """Return the Taylor coefficients c_0 ... c_order of node(values + s direction) in s, at the precision in force.

    `values` and `direction` hold acb by name. Raises Undecided where there is no derivative or the balls cannot decide,
    DOMAIN_ERROR for functions without derivatives here.
    """
    from flint import acb, acb_series

    terms = order + 1
    with precision(_current()), _length(terms):
        place = {
            name: acb_series([value, direction[name]] if name in direction else [value], terms)
            for name, value in values.items()
        }
        found = _series(node, place, terms)
        coefficients = [acb(found[i]) for i in range(terms)]
    if not all(c.is_finite() for c in coefficients):
        raise Undecided("no derivative here")
    return coefficients


def derivative_ball(node: Node, values: Mapping[str, Any], variable: str, order: int = 1) -> Any:
    """Return an acb of the derivative with respect to `variable`, at the precision in force."""
    from math import factorial

    from flint import acb

    return jet(node, values, {variable: acb(1)}, order)[order] * factorial(order)


def _current() -> int:
    from flint import ctx

    return int(ctx.prec)


def _series(node: Node, place: Mapping[str, Any], terms: int) -> Any:
    from flint import acb_series

    match node:
        case Number() | Constant():
            return acb_series([ball(node, {})], terms)
        case Symbol(name):
            if name not in place:
                raise ToolError("UNKNOWN_SYMBOL", f"no value for {name}", f"known: {', '.join(place) or 'none'}")
            return place[name]
        case Sum(items):
            total = _series(items[0], place, terms)
            for item in items[1:]:
                total = total + _series(item, place, terms)
            return total
        case Product(items):
            total = _series(items[0], place, terms)
            for item in items[1:]:
                total = total * _series(item, place, terms)
            return total
        case Negative(a):
            return -_series(a, place, terms)
        case Quotient(a, b):
            return _series(a, place, terms) * _inverse(_series(b, place, terms))
        case Power(a, b):
            return _power(a, b, place, terms)
        case Call(name, arguments):
            return _call(name, [_series(argument, place, terms) for argument in arguments], terms)
        case Piecewise(branches):
            for value, condition in branches:
                if condition is None or _holds(condition, place, terms):
                    return _series(value, place, terms)
            raise Undecided("no branch holds")
        case Relation():
            raise ToolError("BAD_INPUT", "a relation has no numeric value", "give one side of it")


def _holds(relation: Relation, place: Mapping[str, Any], terms: int) -> bool:
    """A condition must hold or fail around the point, not only at it."""
    gap = (_series(relation.left, place, terms) - _series(relation.right, place, terms))[0]
    if relation.operator in ("=", "!="):
        if gap.contains(0):
            raise Undecided("at the border of a branch")
        return relation.operator == "!="
    real = -real_part(gap) if relation.operator in ("<", "<=") else real_part(gap)
    if real > 0:
        return True
    if real < 0:
        return False
    raise Undecided("at the border of a branch")


def _inverse(series: Any) -> Any:
    if series[0].contains(0):
        raise Undecided("division by zero")
    return 1 / series


def _power(base: Node, exponent: Node, place: Mapping[str, Any], terms: int) -> Any:
    from flint import acb_series

    inner, exact = _series(base, place, terms), rational_value(exponent)
    if exact is not None and exact.denominator == 1:
        n = exact.numerator
        if n == 0:
            return acb_series([1], terms)
        return _raised(inner, n) if n > 0 else _inverse(_raised(inner, -n))
    if inner.length() == 0 and exact is not None and exact > 0:
        return inner
    if exact is not None and exact.denominator == 2:
        root = _root(inner)
        return _raised(root, exact.numerator) if exact > 0 else _inverse(_raised(root, -exact.numerator))
    return (_log(inner) * _series(exponent, place, terms)).exp()


def _raised(series: Any, n: int) -> Any:
    if n > 10_000:
        raise Undecided("too high a power")
    return series**n


def _root(series: Any) -> Any:
    _off_the_cut(series)
    return series.sqrt()


def _log(series: Any) -> Any:
    _off_the_cut(series)
    return series.log()


def _off_the_cut(series: Any) -> None:
    """Roots and logarithms: the value must not be zero, and must not cross the negative axis."""
    if series[0].contains(0):
        raise Undecided("a root or logarithm of zero has no derivative")
    _not_across(series)


def _not_across(series: Any) -> None:
    """Refuse a value that may cross the negative axis; real values stay on it, where the function is smooth."""
    value = series[0]
    if not value.real > 0 and value.imag.contains(0) and not _is_real(series):
        raise Undecided("on a branch cut")


def _is_real(series: Any) -> bool:
    return all(series[k].imag == 0 for k in range(series.length()))


def _grown(start: Any, slope: Any, terms: int) -> Any:
    """Return start + the integral of slope."""
    from flint import acb_series

    return acb_series([start], terms) + slope.integral()


def _composed(outer: list[Any], series: Any, terms: int) -> Any:
    """Return sum outer[k] (series - series[0])^k."""
    from flint import acb_series

    step = series - acb_series([series[0]], terms)
    total = acb_series([outer[-1]], terms)
    for coefficient in reversed(outer[:-1]):
        total = total * step + coefficient
    return total


def _call(name: str, arguments: list[Any], terms: int) -> Any:
    function = _functions().get(name)
    if function is None:
        raise ToolError("DOMAIN_ERROR", f"{name} has no rigorous derivative here", "differentiate it another way")
    return function(terms, *arguments)


@lru_cache(maxsize=1)
def _functions() -> dict[str, Callable[..., Any]]:
    from flint import acb, acb_series

    def plain(method: str) -> Callable[..., Any]:
        return lambda n, u: getattr(u, method)()

    def cut(method: str) -> Callable[..., Any]:
        """A function with its cut on the negative axis."""

        def act(n: int, u: Any) -> Any:
            _not_across(u)
            return getattr(u, method)()

        return act

    def constant(value: Any, n: int) -> Any:
        return acb_series([value], n)

    def grown(value: str, slope: Callable[[Any], Any]) -> Callable[..., Any]:
        def act(n: int, u: Any) -> Any:
            if value in ("atan", "atanh") and not _is_real(u):
                turned = u * acb(0, 1) if value == "atan" else u
                _off_the_cut(1 - turned)
                _off_the_cut(1 + turned)
            return _grown(getattr(u[0], value)(), u.derivative() * slope(u), n)

        return act

    def locally(value: Callable[[Any], Any], factor: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        """A function with a corner or jump at zero."""

        def act(n: int, u: Any) -> Any:
            x = real_part(u[0])
            if x.contains(0):
                raise Undecided("a corner or a jump")
            return factor(value(x), u) if n else u

        return act

    def sign_of(x: Any) -> int:
        return 1 if x > 0 else -1

    def stepwise(method: str) -> Callable[..., Any]:
        def act(n: int, u: Any) -> Any:
            x = real_part(u[0])
            if x.contains_integer():
                raise Undecided("a jump")
            return constant(acb(getattr(x, method)()), n)

        return act

    def extreme(n: int, *items: Any, greatest: bool) -> Any:
        best = items[0]
        for item in items[1:]:
            gap = real_part((item - best)[0])
            if gap.contains(0):
                raise Undecided("two arguments meet")
            best = item if (gap > 0) == greatest else best
        return best

    def part(pick: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda n, u: acb_series([pick(u[k]) for k in range(n)], n)

    def logarithm(n: int, u: Any, base: Any = None) -> Any:
        return _log(u) if base is None else _log(u) * _inverse(_log(base))

    def atan2(n: int, y: Any, x: Any) -> Any:
        from flint import arb

        if not x[0].real > 0 and y[0].contains(0):
            raise Undecided("atan2 on its cut")
        start = acb(arb.atan2(real_part(y[0]), real_part(x[0])))
        return _grown(start, (x * y.derivative() - y * x.derivative()) * _inverse(x * x + y * y), n)

    def polygamma(n: int, order: Any, u: Any) -> Any:
        m = order[0].unique_fmpz()
        if m is None or order.length() > 1 or not 0 <= int(m) <= 100:
            raise Undecided("polygamma of an order that is no small number")
        outer, factor = [], acb(1)
        for k in range(n):
            outer.append(u[0].polygamma(acb(int(m) + k)) / factor if int(m) + k else u[0].digamma())
            factor *= k + 1
        return _composed(outer, u, n)

    def bessel(method: str, sign: int) -> Callable[..., Any]:
        """Derivatives of J and Y (sign -1) and of I (1) by their recurrences; K alternates in sign."""

        def act(n: int, order: Any, u: Any) -> Any:
            if order.length() > 1:
                raise Undecided("a Bessel function of variable order")
            _not_across(u)
            nu, z = order[0], u[0]
            kept = {j: getattr(z, method)(nu + j) for j in range(-(n - 1), n)}
            outer, factor = [], acb(1)
            for k in range(n):
                total = acb(0)
                for i in range(k + 1):
                    total += (sign**i) * _binomial(k, i) * kept[-k + 2 * i]
                outer.append(total / factor * (-1 if method == "bessel_k" and k % 2 else 1))
                factor *= 2 * (k + 1)
            return _composed(outer, u, n)

        return act

    def elliptic_k(n: int, m: Any) -> Any:
        _not_across(1 - m)
        return m.elliptic_k()

    one_over = _inverse
    table: dict[str, Callable[..., Any]] = {
        "sin": plain("sin"), "cos": plain("cos"), "exp": plain("exp"), "gamma": plain("gamma"), "erf": plain("erf"),
        "erfc": plain("erfc"), "erfi": plain("erfi"), "Ei": cut("ei"), "li": cut("li"), "Si": plain("si"),
        "Ci": cut("ci"), "Shi": plain("shi"), "Chi": cut("chi"), "fresnels": plain("fresnel_s"),
        "fresnelc": plain("fresnel_c"), "elliptic_k": elliptic_k, "airyai": plain("airy_ai"),
        "airybi": plain("airy_bi"), "loggamma": cut("lgamma"),
        "tan": lambda n, u: u.sin() * one_over(u.cos()), "cot": lambda n, u: u.cos() * one_over(u.sin()),
        "sec": lambda n, u: one_over(u.cos()), "csc": lambda n, u: one_over(u.sin()),
        "sinh": lambda n, u: (u.exp() - (-u).exp()) / 2, "cosh": lambda n, u: (u.exp() + (-u).exp()) / 2,
        "tanh": grown("tanh", lambda u: 4 * one_over((u.exp() + (-u).exp()) ** 2)),
        "coth": grown("coth", lambda u: -4 * one_over((u.exp() - (-u).exp()) ** 2)),
        "sech": lambda n, u: 2 * one_over(u.exp() + (-u).exp()),
        "csch": lambda n, u: 2 * one_over(u.exp() - (-u).exp()),
        "asin": grown("asin", lambda u: one_over(_root(1 - u * u))),
        "acos": grown("acos", lambda u: -one_over(_root(1 - u * u))),
        "atan": grown("atan", lambda u: one_over(1 + u * u)),
        "asinh": grown("asinh", lambda u: one_over(_root(1 + u * u))),
        "acosh": grown("acosh", lambda u: one_over(_root(u - 1) * _root(u + 1))),
        "atanh": grown("atanh", lambda u: one_over(1 - u * u)),
        "sqrt": lambda n, u: _root(u) if u.length() else u, "log": logarithm, "atan2": atan2,
        "cbrt": lambda n, u: (_log(u) / 3).exp(),
        "Abs": locally(sign_of, lambda s, u: s * u), "sign": locally(sign_of, lambda s, u: 0 * u + s),
        "Heaviside": locally(lambda x: (sign_of(x) + 1) // 2, lambda s, u: 0 * u + s),
        "floor": stepwise("floor"), "ceiling": stepwise("ceil"),
        "Max": lambda n, *u: extreme(n, *u, greatest=True), "Min": lambda n, *u: extreme(n, *u, greatest=False),
        "re": part(lambda c: acb(c.real)), "im": part(lambda c: acb(c.imag)),
        "conjugate": part(lambda c: acb(c.real, -c.imag)),
        "factorial": lambda n, u: (u + 1).gamma(),
        "digamma": lambda n, u: polygamma(n, constant(acb(0), n), u), "polygamma": polygamma,
        "besselj": bessel("bessel_j", -1), "bessely": bessel("bessel_y", -1), "besseli": bessel("bessel_i", 1),
        "besselk": bessel("bessel_k", 1),
        "LambertW": lambda n, u, k=None: _lambert(u, k),
        "uppergamma": lambda n, s, u: _grown(
            u[0].gamma_upper(s[0]), -u.derivative() * ((s - 1) * _log(u)).exp() * (-u).exp(), n
        ) if s.length() <= 1 else _refuse(),
        "zeta": lambda n, s, a=None: s.zeta() if a is None else s.zeta(a[0]) if a.length() <= 1 else _refuse(),
    }  # fmt: skip
    table["acot"] = lambda n, u: table["atan"](n, one_over(u))
    table["asec"] = lambda n, u: table["acos"](n, one_over(u))
    table["acsc"] = lambda n, u: table["asin"](n, one_over(u))
    table["acoth"] = lambda n, u: table["atanh"](n, one_over(u))
    table["binomial"] = lambda n, m, k: (m + 1).gamma() * (k + 1).rgamma() * (m - k + 1).rgamma()
    return table


def _lambert(u: Any, k: Any) -> Any:
    _not_across(u)
    if k is not None and (k.length() > 1 or k[0].unique_fmpz() is None):
        raise Undecided("the branch of LambertW is no integer")
    return u.lambertw(0 if k is None else int(k[0].unique_fmpz()))


def _refuse() -> Any:
    raise Undecided("no derivative with respect to this argument")


def _binomial(n: int, k: int) -> int:
    from math import comb

    return comb(n, k)
