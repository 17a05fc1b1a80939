"""Double-precision evaluation of a tree exactly as written, compiled to closures; no generated code.

`compile_real` works on Python floats (fast for single points), `compile_complex` on complex numbers, `compile_array` on
numpy arrays, elementwise. Outside the real domain `compile_real` raises DOMAIN_ERROR; arrays give nan there.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
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
    free_symbols,
)

Closure = Callable[[Sequence[Any]], Any]


def float_of(value: Fraction) -> float:
    """Return the nearest double; beyond the range of doubles an infinity."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def unknown_symbols(node: Node, names: Sequence[str]) -> ToolError | None:
    """Return the error for symbols of `node` that are not in `names`, or None."""
    missing = sorted(free_symbols(node) - set(names))
    if not missing:
        return None
    return ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(missing)}", f"known: {', '.join(names) or 'none'}")


def compile_real(node: Node, names: Sequence[str] = ()) -> Callable[..., float]:
    """Return f(*values) -> float for values in the order of `names`.

    Raises UNKNOWN_SYMBOL at once; calls raise DOMAIN_ERROR (no real value, a pole) and OVERFLOW.
    """
    closure = _compiled(node, tuple(names), "real")

    def function(*values: float) -> float:
        try:
            return float(closure(values))
        except OverflowError:
            raise ToolError("OVERFLOW", "the value is beyond double precision", "use evaluate_high_precision") from None
        except ZeroDivisionError:
            raise ToolError("DOMAIN_ERROR", "division by zero", "take a limit, or move off the pole") from None
        except (ValueError, TypeError):
            raise ToolError("DOMAIN_ERROR", "the value is not real here") from None

    return function


def compile_complex(node: Node, names: Sequence[str] = ()) -> Callable[..., complex]:
    """Return f(*values) -> complex; principal branches. Errors as `compile_real`."""
    closure = _compiled(node, tuple(names), "complex")

    def function(*values: complex) -> complex:
        try:
            return complex(closure([complex(v) for v in values]))
        except OverflowError:
            raise ToolError("OVERFLOW", "the value is beyond double precision", "use evaluate_high_precision") from None
        except ZeroDivisionError:
            raise ToolError("DOMAIN_ERROR", "division by zero", "take a limit, or move off the pole") from None
        except (ValueError, TypeError):
            raise ToolError("DOMAIN_ERROR", "the function has no value here") from None

    return function


def compile_array(node: Node, names: Sequence[str] = ()) -> Callable[..., Any]:
    """Return f(*arrays) -> float64 array by broadcasting; nan where there is no real value."""
    import numpy as np

    closure = _compiled(node, tuple(names), "array")

    def function(*values: Any) -> Any:
        arrays = [np.asarray(v, dtype=np.float64) for v in values]
        with np.errstate(all="ignore"):
            result = np.asarray(closure(arrays), dtype=np.float64)
        shape = np.broadcast_shapes(*(a.shape for a in arrays)) if arrays else ()
        return np.broadcast_to(result, shape) if result.shape != shape else result

    return function


@lru_cache(maxsize=4_096)
def _compiled(node: Node, names: tuple[str, ...], field: str) -> Closure:
    error = unknown_symbols(node, names)
    if error is not None:
        raise error
    return _compile(node, {name: i for i, name in enumerate(names)}, field)


def _compile(node: Node, slots: dict[str, int], field: str) -> Closure:
    match node:
        case Number(value):
            number = float_of(value)
            return lambda v: number
        case Constant(name):
            constant = _constant(name, field)
            return lambda v: constant
        case Symbol(name):
            slot = slots[name]
            return lambda v: v[slot]
        case Negative(a):
            inner = _compile(a, slots, field)
            return lambda v: -inner(v)
        case Quotient(a, b):
            top, bottom = _compile(a, slots, field), _compile(b, slots, field)
            return lambda v: top(v) / bottom(v)
        case Sum(items):
            return _fold_sum([_compile(item, slots, field) for item in items])
        case Product(items):
            return _fold_product([_compile(item, slots, field) for item in items])
        case Power(a, b):
            return _compile_power(a, b, slots, field)
        case Call(name, arguments):
            return _compile_call(name, [_compile(a, slots, field) for a in arguments], field)
        case Piecewise(branches):
            return _compile_piecewise(branches, slots, field)
        case Relation():
            raise ToolError("BAD_INPUT", "a relation has no numeric value", "give one side of it, or use check_domain")


def _constant(name: str, field: str) -> Any:
    if name == "pi":
        return math.pi
    if name == "oo":
        return math.inf
    if field == "complex":
        return 1j
    raise ToolError("DOMAIN_ERROR", "the imaginary unit has no real value")


def _fold_sum(parts: list[Closure]) -> Closure:
    if len(parts) == 2:
        a, b = parts
        return lambda v: a(v) + b(v)
    head, rest = parts[0], parts[1:]

    def add(v: Sequence[Any]) -> Any:
        total = head(v)
        for part in rest:
            total = total + part(v)
        return total

    return add


def _fold_product(parts: list[Closure]) -> Closure:
    if len(parts) == 2:
        a, b = parts
        return lambda v: a(v) * b(v)
    head, rest = parts[0], parts[1:]

    def multiply(v: Sequence[Any]) -> Any:
        total = head(v)
        for part in rest:
            total = total * part(v)
        return total

    return multiply


def _compile_power(base: Node, exponent: Node, slots: dict[str, int], field: str) -> Closure:
    inner = _compile(base, slots, field)
    if isinstance(exponent, Number) and exponent.value.denominator == 1:
        n = exponent.value.numerator
        if n == 2:
            return lambda v: (lambda x: x * x)(inner(v))
        if field == "array":
            import numpy as np

            return lambda v: np.power(inner(v), float(n))
        return lambda v: inner(v) ** n
    outer = _compile(exponent, slots, field)
    if field == "array":
        import numpy as np

        return lambda v: np.power(inner(v), outer(v))
    if field == "complex":
        return lambda v: inner(v) ** outer(v)

    def power(v: Sequence[Any]) -> Any:
        result = inner(v) ** outer(v)
        if isinstance(result, complex):
            raise ValueError("a negative base with a fractional exponent")
        return result

    return power


def _compile_call(name: str, arguments: list[Closure], field: str) -> Closure:
    table = {"real": _real_functions, "complex": _complex_functions, "array": _array_functions}[field]()
    function = table.get(name)
    if function is None and field == "real" and name in _array_functions():
        function = _scalar(_array_functions()[name])
    found = function if function is not None else _rounded(name, field)
    if len(arguments) == 1:
        (a,) = arguments
        return lambda v: found(a(v))
    return lambda v: found(*(a(v) for a in arguments))


def _scalar(function: Callable[..., Any]) -> Callable[..., float]:
    """Wrap an array function for single points: nan from numbers means that there is no real value, infinity a pole."""

    def single(*values: float) -> float:
        result = float(function(*values))
        if not math.isfinite(result) and all(math.isfinite(v) for v in values):
            raise ValueError("no real value") if math.isnan(result) else OverflowError
        return result

    return single


def _rounded(name: str, field: str) -> Closure:
    """Return a function that has no table entry as the rounded value of its ball at the given doubles."""
    from maven_env.expressions.balls import nearest_complex

    def single(*values: Any) -> Any:
        numbers = [complex(v) for v in values]
        if not all(cmath.isfinite(z) for z in numbers):
            raise ValueError("no value at infinity")
        result = nearest_complex(Call(name, tuple(_number_of(z) for z in numbers)))
        if field != "complex" and result.imag:
            raise ValueError("no real value")
        return result if field == "complex" else result.real

    if field != "array":
        return single
    import numpy as np

    def real_or_nan(*values: float) -> float:
        try:
            return float(single(*values))
        except (ToolError, ValueError, OverflowError):
            return math.nan

    return np.vectorize(real_or_nan, otypes=[float])


def _number_of(value: complex) -> Node:
    re, im = Number(Fraction(value.real)), Number(Fraction(value.imag))
    return re if value.imag == 0 else Sum((re, Product((im, Constant("I")))))


def _compile_piecewise(
    branches: tuple[tuple[Node, Relation | None], ...], slots: dict[str, int], field: str
) -> Closure:
    values = [_compile(value, slots, field) for value, _ in branches]
    tests = [None if c is None else _compile_test(c, slots, field) for _, c in branches]
    if field == "array":
        import numpy as np

        def select(v: Sequence[Any]) -> Any:
            shape = np.broadcast_shapes(*(np.shape(x) for x in v)) if len(v) else ()
            conditions = [np.broadcast_to(True if t is None else t(v), shape) for t in tests]
            return np.select(conditions, [np.broadcast_to(value(v), shape) for value in values], default=np.nan)

        return select

    def choose(v: Sequence[Any]) -> Any:
        for value, test in zip(values, tests, strict=True):
            if test is None or test(v):
                return value(v)
        raise ValueError("no branch holds")

    return choose


def _compile_test(relation: Relation, slots: dict[str, int], field: str) -> Closure:
    left, right = _compile(relation.left, slots, field), _compile(relation.right, slots, field)

    def real(x: Any) -> Any:
        return x.real if isinstance(x, complex) else x

    match relation.operator:
        case "<":
            return lambda v: real(left(v)) < real(right(v))
        case "<=":
            return lambda v: real(left(v)) <= real(right(v))
        case ">":
            return lambda v: real(left(v)) > real(right(v))
        case ">=":
            return lambda v: real(left(v)) >= real(right(v))
        case "=":
            return lambda v: left(v) == right(v)
        case "!=":
            return lambda v: left(v) != right(v)


# ---- function tables -------------------------------------------------------------------------------------------------
def _real_sqrt(x: float) -> float:
    return math.sqrt(x)


@lru_cache(maxsize=1)
def _real_functions() -> dict[str, Callable[..., float]]:
    return {
        "sin": math.sin, "cos": math.cos, "tan": math.tan, "exp": math.exp, "log": math.log, "sqrt": _real_sqrt,
        "cot": lambda x: 1 / math.tan(x), "sec": lambda x: 1 / math.cos(x), "csc": lambda x: 1 / math.sin(x),
        "asin": math.asin, "acos": math.acos, "atan": math.atan, "atan2": math.atan2,
        "acot": lambda x: math.atan(1 / x) if x else math.pi / 2,
        "asec": lambda x: math.acos(1 / x), "acsc": lambda x: math.asin(1 / x),
        "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "coth": lambda x: 1 / math.tanh(x),
        "sech": lambda x: 1 / math.cosh(x), "csch": lambda x: 1 / math.sinh(x),
        "asinh": math.asinh, "acosh": math.acosh, "atanh": math.atanh, "acoth": lambda x: math.atanh(1 / x),
        "Abs": abs, "sign": lambda x: math.copysign(1.0, x) if x else 0.0, "Min": min, "Max": max,
        "floor": lambda x: float(math.floor(x)), "ceiling": lambda x: float(math.ceil(x)),
        "cbrt": lambda x: _positive(x) ** (1 / 3), "re": lambda x: x, "im": lambda x: 0.0, "conjugate": lambda x: x,
        "arg": lambda x: 0.0 if x > 0 else math.pi, "Heaviside": lambda x: 1.0 if x > 0 else 0.0 if x < 0 else 0.5,
        "erf": math.erf, "erfc": math.erfc, "loggamma": lambda x: math.lgamma(_positive(x)),
    }  # fmt: skip


def _positive(x: float) -> float:
    if x < 0:
        raise ValueError("the principal value is not real")
    return x


@lru_cache(maxsize=1)
def _complex_functions() -> dict[str, Callable[..., Any]]:
    return {
        "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "exp": cmath.exp, "log": cmath.log, "sqrt": cmath.sqrt,
        "cot": lambda x: 1 / cmath.tan(x), "sec": lambda x: 1 / cmath.cos(x), "csc": lambda x: 1 / cmath.sin(x),
        "asin": cmath.asin, "acos": cmath.acos, "atan": cmath.atan,
        "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh, "coth": lambda x: 1 / cmath.tanh(x),
        "asinh": cmath.asinh, "acosh": cmath.acosh, "atanh": cmath.atanh,
        "Abs": abs, "cbrt": lambda x: x ** (1 / 3), "re": lambda x: x.real, "im": lambda x: x.imag,
        "conjugate": lambda x: x.conjugate(), "arg": cmath.phase,
    }  # fmt: skip


@lru_cache(maxsize=1)
def _array_functions() -> dict[str, Callable[..., Any]]:
    import numpy as np
    from scipy import special

    def least(*values: Any) -> Any:
        return np.minimum.reduce(np.broadcast_arrays(*values))

    def greatest(*values: Any) -> Any:
        return np.maximum.reduce(np.broadcast_arrays(*values))

    def zeta(x: Any, q: Any = None) -> Any:
        return special.zeta(x) if q is None else special.zeta(x, q)

    def where_positive(function: Callable[..., Any]) -> Callable[..., Any]:
        """Cut off the half line on which the principal value is not real though scipy gives a number."""
        return lambda x: np.where(np.asarray(x) > 0, function(x), np.nan)

    def with_order(function: Callable[..., Any]) -> Callable[..., Any]:
        """Give nan for an order that is no natural number instead of cutting it off."""

        def checked(n: Any, x: Any) -> Any:
            order = np.asarray(n, dtype=float)
            whole = np.where(np.isfinite(order), np.floor(order), -1).astype(int)
            return np.where((whole == order) & (whole >= 0), function(np.maximum(whole, 0), x), np.nan)

        return checked

    def lambert(x: Any, k: Any = 0) -> Any:
        value = special.lambertw(x, np.asarray(k, dtype=int))
        return np.where(np.imag(value) == 0, np.real(value), np.nan)

    def elliptic_e(*values: Any) -> Any:
        return special.ellipe(*values) if len(values) == 1 else special.ellipeinc(*values)

    def logarithm(x: Any, base: Any = None) -> Any:
        return np.log(x) if base is None else np.log(x) / np.log(base)

    return {
        "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": logarithm, "sqrt": np.sqrt,
        "cot": lambda x: 1 / np.tan(x), "sec": lambda x: 1 / np.cos(x), "csc": lambda x: 1 / np.sin(x),
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
        "acot": lambda x: np.arctan(1 / x), "asec": lambda x: np.arccos(1 / x), "acsc": lambda x: np.arcsin(1 / x),
        "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "coth": lambda x: 1 / np.tanh(x),
        "sech": lambda x: 1 / np.cosh(x), "csch": lambda x: 1 / np.sinh(x),
        "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "acoth": lambda x: np.arctanh(1 / x),
        "Abs": np.abs, "sign": np.sign, "Min": least, "Max": greatest, "floor": np.floor, "ceiling": np.ceil,
        "cbrt": lambda x: np.power(x, 1 / 3), "re": lambda x: x, "im": lambda x: 0 * x, "conjugate": lambda x: x,
        "arg": lambda x: np.where(x > 0, 0.0, np.pi), "Heaviside": lambda x: np.heaviside(x, 0.5),
        "erf": special.erf, "erfc": special.erfc, "erfi": special.erfi, "erfinv": special.erfinv,
        "erfcinv": special.erfcinv, "gamma": special.gamma, "loggamma": where_positive(special.gammaln),
        "digamma": special.digamma,
        "polygamma": with_order(special.polygamma), "factorial": lambda x: special.gamma(x + 1),
        "binomial": special.binom,
        "zeta": zeta, "LambertW": lambert, "besselj": special.jv, "bessely": special.yv, "besseli": special.iv,
        "besselk": special.kv, "elliptic_k": special.ellipk, "elliptic_e": elliptic_e,
        "elliptic_f": special.ellipkinc, "Ei": special.expi, "Si": lambda x: special.sici(x)[0],
        "Ci": where_positive(lambda x: special.sici(x)[1]), "Shi": lambda x: special.shichi(x)[0],
        "Chi": where_positive(lambda x: special.shichi(x)[1]),
        "li": where_positive(lambda x: special.expi(np.log(np.maximum(x, 5e-324)))), "expint": with_order(special.expn),
        "fresnels": lambda x: special.fresnel(x)[0], "fresnelc": lambda x: special.fresnel(x)[1],
        "airyai": lambda x: special.airy(x)[0], "airyaiprime": lambda x: special.airy(x)[1],
        "airybi": lambda x: special.airy(x)[2], "airybiprime": lambda x: special.airy(x)[3],
        "lowergamma": lambda a, x: special.gammainc(a, x) * special.gamma(a),
        "uppergamma": lambda a, x: special.gammaincc(a, x) * special.gamma(a),
    }  # fmt: skip
