"""Rigorous evaluation: complex balls of python-flint that surely contain the value, to any precision.

`value_ball` is the base of signs, comparisons, high precision and equivalence. Precision is a global of python-flint,
so every use goes through `precision`, which holds a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import ToolError
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

_LOCK = threading.RLock()
MAX_BITS = 8_192
_BINARY_EXPONENT = 1 << 17


class Undecided(ToolError):
    """A ball that is too wide to answer, or a point where the value is undefined."""

    def __init__(self, message: str) -> None:
        super().__init__("DOMAIN_ERROR", message)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work at `bits` of precision; one thread at a time."""
    from flint import ctx

    with _LOCK:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def ball(node: Node, values: Mapping[str, Any]) -> Any:
    """Return an acb that contains the value at `values` (acb by name), at the precision in force.

    Raises Undecided where the ball meets a pole or a cut that it cannot decide, UNKNOWN_SYMBOL for a missing value.
    """
    from flint import acb, fmpq

    match node:
        case Number(value):
            return acb(fmpq(value.numerator, value.denominator))
        case Symbol(name):
            if name not in values:
                raise ToolError("UNKNOWN_SYMBOL", f"no value for {name}", f"known: {', '.join(values) or 'none'}")
            return values[name]
        case Constant(name):
            if name == "oo":
                raise Undecided("an infinite value")
            return acb.pi() if name == "pi" else acb(0, 1)
        case Sum(items):
            total = ball(items[0], values)
            for item in items[1:]:
                total = total + ball(item, values)
            return total
        case Product(items):
            total = ball(items[0], values)
            for item in items[1:]:
                total = total * ball(item, values)
            return total
        case Negative(a):
            return -ball(a, values)
        case Quotient(a, b):
            return ball(a, values) / _nonzero(ball(b, values))
        case Power(a, b):
            return _power(a, b, values)
        case Call(name, arguments):
            return _call(name, [ball(argument, values) for argument in arguments])
        case Piecewise(branches):
            for branch, condition in branches:
                if condition is None or holds(condition, values):
                    return ball(branch, values)
            raise Undecided("no branch holds")
        case Relation():
            raise ToolError("BAD_INPUT", "a relation has no numeric value", "give one side of it")


def holds(relation: Relation, values: Mapping[str, Any]) -> bool:
    """Return whether a relation surely holds at `values`; raises Undecided where the balls overlap."""
    left, right = ball(relation.left, values), ball(relation.right, values)
    if relation.operator in ("=", "!="):
        if left.overlaps(right):
            if left.is_exact() and right.is_exact():
                return relation.operator == "="
            raise Undecided("the two sides cannot be told apart")
        return relation.operator == "!="
    gap = (left - right).real
    if relation.operator in ("<", "<="):
        gap = -gap
    if gap > 0:
        return True
    if gap < 0:
        return False
    if gap == 0:
        return relation.operator in ("<=", ">=")
    raise Undecided("the two sides cannot be told apart")


def decimal(value: Fraction | int) -> Any:
    """Return an acb of an exact rational."""
    from flint import acb, fmpq

    exact = Fraction(value)
    return acb(fmpq(exact.numerator, exact.denominator))


def value_ball(node: Node, values: Mapping[str, Node] | None = None, digits: int = 20, max_bits: int = MAX_BITS) -> Any:
    """Return an acb of the closed value with at least `digits` correct significant digits of its magnitude.

    Precision is raised until the ball is narrow, up to `max_bits`; a value that stays within about 2^-(max_bits/8) of
    zero returns a ball around zero (see `is_exact`). Raises Undecided, UNKNOWN_SYMBOL, LIMIT_EXCEEDED never.
    """
    values = values or {}
    bits = int(digits * 3.33) + 32
    last: ToolError | None = None
    while bits <= max_bits:
        with precision(bits):
            try:
                found = ball(node, {name: ball(value, {}) for name, value in values.items()})
            except Undecided as error:
                last, bits = error, bits * 2
                continue
            except (ValueError, ZeroDivisionError, OverflowError) as error:
                last, bits = Undecided(str(error) or "no value here"), bits * 2
                continue
            if not found.is_finite():
                last, bits = Undecided("no finite value here"), bits * 2
                continue
            if found.rel_accuracy_bits() >= digits * 3.33 or found.is_exact():
                return found
        last, bits = None, bits * 2
    if last is not None:
        raise last
    if not found.abs_upper() < _arb_power(-max_bits // 8):
        raise Undecided("the value cannot be decided: a jump or a branch cut lies here, or too much cancels")
    return found


def _arb_power(exponent: int) -> Any:
    from flint import arb

    return arb(2) ** exponent


def can_evaluate(function: str) -> bool:
    """Return whether a function has rigorous values here."""
    return function in _functions()


def _nonzero(value: Any) -> Any:
    if value.contains(0):
        raise Undecided("division by zero")
    return value


def _power(base: Node, exponent: Node, values: Mapping[str, Any]) -> Any:
    exact = rational_value(exponent)
    inner = ball(base, values)
    if exact is not None and exact.denominator == 1:
        n = int(exact)
        return inner**n if n >= 0 else 1 / _nonzero(inner**-n)
    if exact is not None and exact == Fraction(1, 2):
        return inner.sqrt()
    if inner == 0:
        if exact is not None and exact > 0:
            return inner
        raise Undecided("zero to a power that is not positive")
    return inner ** ball(exponent, values)


def is_real(value: Any) -> bool:
    """Tell whether an acb is surely real."""
    return bool(value.imag == 0)


def real_part(value: Any) -> Any:
    """Return the real part of an acb that is surely real; raises Undecided for others."""
    if not value.imag == 0:
        raise Undecided("needs a real argument")
    return value.real


def _call(name: str, arguments: list[Any]) -> Any:
    function = _functions().get(name)
    if function is None:
        raise ToolError("DOMAIN_ERROR", f"{name} has no rigorous evaluation here")
    result = function(*arguments)
    if not result.is_finite():
        raise Undecided(f"{name} has no finite value here")
    return result


@lru_cache(maxsize=1)
def _functions() -> dict[str, Callable[..., Any]]:
    from flint import acb, arb

    def sign(z: Any) -> Any:
        x = real_part(z)
        if x > 0:
            return acb(1)
        if x < 0:
            return acb(-1)
        if x == 0:
            return acb(0)
        raise Undecided("the sign cannot be decided")

    def extreme(values: tuple[Any, ...], *, greatest: bool) -> Any:
        reals = [real_part(z) for z in values]
        best = reals[0]
        for value in reals[1:]:
            best = arb.max(best, value) if greatest else arb.min(best, value)
        return acb(best)

    def log(z: Any, base: Any = None) -> Any:
        value = _nonzero(z).log()
        return value if base is None else value / _nonzero(_nonzero(base).log())

    def step(z: Any) -> Any:
        return (sign(z) + 1) / 2

    def floor(z: Any) -> Any:
        value = real_part(z).floor()
        if not value.is_exact():
            raise Undecided("which integer lies next cannot be decided")
        return acb(value)

    def binomial(n: Any, k: Any) -> Any:
        return (n + 1).gamma() * (k + 1).rgamma() * (n - k + 1).rgamma()

    def zeta(s: Any, a: Any = None) -> Any:
        if not abs(s.imag) < 10_000:
            raise Undecided("zeta so far up the critical strip takes too long")
        return s.zeta() if a is None else s.zeta(a)

    def lambert(z: Any, k: Any = None) -> Any:
        branch = 0 if k is None else int(float(real_part(k)))
        return z.lambertw(branch)

    def atan2(y: Any, x: Any) -> Any:
        return acb(arb.atan2(real_part(y), real_part(x)))

    def elliptic_e(*z: Any) -> Any:
        return acb.elliptic_e(z[0]) if len(z) == 1 else acb.elliptic_e_inc(z[0], z[1])

    def polygamma(n: Any, z: Any) -> Any:
        return z.polygamma(n)

    one = acb(1)
    return {
        "sin": acb.sin, "cos": acb.cos, "tan": acb.tan, "cot": acb.cot, "sec": acb.sec, "csc": acb.csc,
        "asin": acb.asin, "acos": acb.acos, "atan": acb.atan,
        "acot": lambda z: (one / _nonzero(z)).atan(), "asec": lambda z: (one / _nonzero(z)).acos(),
        "acsc": lambda z: (one / _nonzero(z)).asin(),
        "sinh": acb.sinh, "cosh": acb.cosh, "tanh": acb.tanh, "coth": acb.coth, "sech": acb.sech, "csch": acb.csch,
        "asinh": acb.asinh, "acosh": acb.acosh, "atanh": acb.atanh, "acoth": lambda z: (one / _nonzero(z)).atanh(),
        "exp": acb.exp, "log": log, "sqrt": acb.sqrt, "cbrt": lambda z: z if z == 0 else (z.log() / 3).exp(),
        "Abs": lambda z: acb(abs(z)), "sign": sign, "re": lambda z: acb(z.real), "im": lambda z: acb(z.imag),
        "conjugate": lambda z: acb(z.real, -z.imag), "arg": lambda z: acb(_nonzero(z).arg()),
        "Max": lambda *z: extreme(z, greatest=True), "Min": lambda *z: extreme(z, greatest=False),
        "floor": floor, "ceiling": lambda z: -floor(-z), "Heaviside": step, "atan2": atan2,
        "gamma": acb.gamma, "loggamma": acb.lgamma, "digamma": acb.digamma, "polygamma": polygamma,
        "factorial": lambda z: (z + 1).gamma(), "binomial": binomial, "zeta": zeta, "LambertW": lambert,
        "erf": acb.erf, "erfc": acb.erfc, "erfi": acb.erfi, "erfinv": lambda z: acb(real_part(z).erfinv()),
        "erfcinv": lambda z: acb(real_part(z).erfcinv()),
        "besselj": lambda n, z: z.bessel_j(n), "bessely": lambda n, z: z.bessel_y(n),
        "besseli": lambda n, z: z.bessel_i(n), "besselk": lambda n, z: z.bessel_k(n),
        "elliptic_k": acb.elliptic_k, "elliptic_e": elliptic_e,
        "elliptic_f": lambda phi, m: acb.elliptic_f(phi, m),
        "polylog": lambda s, z: z.polylog(s), "Ei": acb.ei, "li": acb.li, "Si": acb.si, "Ci": acb.ci,
        "Shi": acb.shi, "Chi": acb.chi, "expint": lambda n, z: z.expint(n),
        "fresnels": acb.fresnel_s, "fresnelc": acb.fresnel_c,
        "lowergamma": lambda s, z: s.gamma() - z.gamma_upper(s), "uppergamma": lambda s, z: z.gamma_upper(s),
        "airyai": acb.airy_ai, "airybi": acb.airy_bi,
        "airyaiprime": lambda z: z.airy_ai(derivative=1), "airybiprime": lambda z: z.airy_bi(derivative=1),
    }  # fmt: skip


def dyadic(value: Any) -> Fraction:
    """Return an exact arb, such as a midpoint, as a rational. Raises OVERFLOW where that would fill the memory."""
    mantissa, exponent = (int(part) for part in value.man_exp())
    if abs(exponent) > _BINARY_EXPONENT:
        raise ToolError("OVERFLOW", "a value is too large or too small to be written out", "take its logarithm")
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def nearest_double(node: Node, values: Mapping[str, Node] | None = None) -> float:
    """Return the double nearest to a closed real value, whatever cancels on the way.

    Raises DOMAIN_ERROR if the value is not real or undefined, UNKNOWN_SYMBOL, OVERFLOW.
    """
    if not values:
        exact = rational_value(node)
        if exact is not None:
            return _quotient(exact)
    found = value_ball(node, values, digits=20)
    if not found.imag.contains(0):
        raise ToolError("DOMAIN_ERROR", "the value is not real")
    return float(found.real.mid()) if not found.real.contains(0) else 0.0


def nearest_complex(node: Node, values: Mapping[str, Node] | None = None) -> complex:
    """Return the complex double nearest to a closed value."""
    if not values:
        exact = rational_value(node)
        if exact is not None:
            return complex(_quotient(exact))
    found = value_ball(node, values, digits=20)
    parts = (0.0 if part.contains(0) else float(part.mid()) for part in (found.real, found.imag))
    return complex(*parts)


def _quotient(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        raise ToolError("OVERFLOW", "the value is beyond double precision", "use evaluate_high_precision") from None
