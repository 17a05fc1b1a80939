"""Trees as rational functions over kernels, in python-flint: the exact algebra under equations and polynomials.

A kernel is a symbol, a constant such as pi, or a function of something, such as log(x/a); each is one generator of a
polynomial ring over the rationals, so common factors cancel exactly. Roots and Abs carry their relation (u^q = a,
u^2 = a^2), exponentials of multiples share one generator, hyperbolic functions become exponentials, and trigonometric
functions of multiples of one angle become rational in the tangent of its half. Everything that a tree divides by is
kept in `poles`, because cancelling would widen its domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions.algebra.algebraic import square_part
from maven_env.expressions.tree import (
    ONE,
    ZERO,
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
    rational_value,
    walk,
)

GENERATORS = 24
TERMS = 3_000
STEPS = 6_000  # additions and multiplications of one conversion
DEGREE = 400
_NODES = 5_000  # of the tree of one kernel: sin(sin(...)) holds each argument twice in the next
_ANGLES = 16  # largest multiple of an angle that is expanded
_HYPERBOLIC = ("sinh", "cosh", "tanh", "coth", "sech", "csch")
_TRIGONOMETRIC = ("sin", "cos", "tan", "cot", "sec", "csc")


class NotAlgebraic(ToolError):
    """A tree that these kernels do not cover, such as a Piecewise or an infinity."""

    def __init__(self, message: str) -> None:
        super().__init__("UNSOLVED", message)


@lru_cache(maxsize=1)
def context() -> Any:
    """Return the one polynomial ring that is used: fmpq in GENERATORS variables."""
    from flint import Ordering, fmpq_mpoly_ctx

    return fmpq_mpoly_ctx.get([f"g{i}" for i in range(GENERATORS)], Ordering.lex)


@dataclass(frozen=True)
class Kernel:
    """A generator: `kind` is symbol, constant, root, Abs, exp, tanhalf, or the name of a function of `argument`."""

    index: int
    kind: str
    node: Node
    argument: Ratio | None = None
    order: int = 1  # of a root
    nodes: int = 1  # of the tree


@dataclass(frozen=True)
class Ratio:
    """top/bottom, cancelled; `bottom` is no zero polynomial."""

    top: Any
    bottom: Any


class Ring:
    """Turns trees into ratios of polynomials in kernels, which it numbers as they come."""

    def __init__(self, unknown: str | None = None) -> None:
        self.ctx = context()
        self.one = self.ctx.constant(1)
        self.zero = self.ctx.constant(0)
        self.unknown = unknown
        self.kernels: list[Kernel] = []
        self.poles: list[Any] = []
        self._known: dict[Any, Kernel] = {}
        self._units: dict[Any, Fraction] = {}  # exponentials and angles: the step of which all multiples are whole
        self._stale = False
        self._steps = 0
        if unknown is not None:
            self._kernel(("symbol", unknown), "symbol", Symbol(unknown))

    # ---- in ----------------------------------------------------------------------------------------------------------
    def ratio(self, node: Node) -> Ratio:
        """Return `node` as a ratio. Raises NotAlgebraic, LimitExceeded, UNDEFINED_VALUE."""
        for _ in range(6):
            self._stale = False
            self.kernels, self.poles, self._known = [], [], {}
            if self.unknown is not None:
                self._kernel(("symbol", self.unknown), "symbol", Symbol(self.unknown))
            result = self._convert(node)
            if not self._stale:
                return result
        raise NotAlgebraic("the exponents have no common step")

    def ratios(self, nodes: Sequence[Node], symbols: Sequence[str] = ()) -> tuple[list[Any], list[Any]]:
        """Return the numerators of several trees over the same kernels, and everything that they divide by."""
        for _ in range(6):
            self._stale = False
            self.kernels, self.poles, self._known = [], [], {}
            for name in symbols:
                self._kernel(("symbol", name), "symbol", Symbol(name))
            found = [self._convert(node).top for node in nodes]
            if not self._stale:
                return found, self.poles
        raise NotAlgebraic("the exponents have no common step")

    def _kernel(self, key: Any, kind: str, node: Node, argument: Ratio | None = None, order: int = 1) -> Kernel:
        known = self._known.get(key)
        if known is None:
            if len(self.kernels) == GENERATORS:
                raise LimitExceeded(
                    "size", f"more than {GENERATORS} different symbols and functions", "put values in first"
                )
            nodes = sum(1 for _ in walk(node)) if argument is None else 2 + self._nodes_of(argument)
            if nodes > _NODES:
                raise NotAlgebraic("functions are nested here so that their arguments grow beyond measure")
            known = Kernel(len(self.kernels), kind, node, argument, order, nodes)
            self.kernels.append(known)
            self._known[key] = known
        return known

    def _nodes_of(self, value: Ratio) -> int:
        """Return about how many nodes the tree of a ratio has, without walking it: its parts are shared many times."""
        sizes = [kernel.nodes for kernel in self.kernels]
        terms = (exponents for polynomial in (value.top, value.bottom) for exponents in polynomial.to_dict())
        return sum(1 + sum(size for size, e in zip(sizes, exponents, strict=False) if e) for exponents in terms)

    def generator(self, kernel: Kernel) -> Ratio:
        return Ratio(self.ctx.gens()[kernel.index], self.one)

    def constant(self, value: Fraction) -> Ratio:
        from flint import fmpq

        return Ratio(self.ctx.constant(fmpq(value.numerator, value.denominator)), self.one)

    def _convert(self, node: Node) -> Ratio:
        match node:
            case Number(value):
                return self.constant(value)
            case Symbol(name):
                return self.generator(self._kernel(("symbol", name), "symbol", node))
            case Constant(name):
                if name == "oo":
                    raise NotAlgebraic("an infinity is no number to solve with")
                return self.generator(self._kernel(("constant", name), "constant", node))
            case Negative(a):
                inner = self._convert(a)
                return Ratio(-inner.top, inner.bottom)
            case Sum(items):
                total = self._convert(items[0])
                for item in items[1:]:
                    total = self.add(total, self._convert(item))
                return total
            case Product(items):
                total = self._convert(items[0])
                for item in items[1:]:
                    total = self.multiply(total, self._convert(item))
                return total
            case Quotient(a, b):
                return self.divide(self._convert(a), self._convert(b))
            case Power(a, b):
                return self._power(a, b)
            case Call(name, arguments):
                return self._call(name, arguments)
        raise NotAlgebraic(f"a {type(node).__name__.lower()} is not treated here")

    # ---- arithmetic --------------------------------------------------------------------------------------------------
    def add(self, a: Ratio, b: Ratio) -> Ratio:
        common = a.bottom.gcd(b.bottom)
        left, right = b.bottom / common, a.bottom / common
        return self._cancelled(self._times(a.top, left) + self._times(b.top, right), self._times(a.bottom, left))

    def multiply(self, a: Ratio, b: Ratio) -> Ratio:
        return self._cancelled(self._times(a.top, b.top), self._times(a.bottom, b.bottom))

    def divide(self, a: Ratio, b: Ratio) -> Ratio:
        if b.top == 0:
            raise ToolError("UNDEFINED_VALUE", "the expression divides by zero", "mend the denominator")
        if not b.top.is_constant():
            self.poles.append(b.top)
        return self.multiply(a, Ratio(b.bottom, b.top))

    def power(self, a: Ratio, n: int) -> Ratio:
        if n < 0:
            return self.power(self.divide(Ratio(self.one, self.one), a), -n)
        result = Ratio(self.one, self.one)
        base = a
        while n:
            if n & 1:
                result = self.multiply(result, base)
            n >>= 1
            if n:
                base = self.multiply(base, base)
        return result

    def _times(self, a: Any, b: Any) -> Any:
        if len(a) * len(b) > 40 * TERMS or a.total_degree() + b.total_degree() > DEGREE:
            raise LimitExceeded("size", "multiplied out, the expression is too large", "put values in, or split it")
        return self._reduced(a * b)

    def _cancelled(self, top: Any, bottom: Any) -> Ratio:
        self._steps += 1
        if self._steps > STEPS:
            raise LimitExceeded("size", "too many steps to multiply the expression out", "put values in, or split it")
        if top == 0:
            return Ratio(self.zero, self.one)
        common = top.gcd(bottom)
        top, bottom = top / common, bottom / common
        if len(top) > TERMS or len(bottom) > TERMS:
            raise LimitExceeded("size", f"more than {TERMS} terms multiplied out", "put values in, or split it")
        if bottom.is_constant():
            top, bottom = top / bottom.leading_coefficient(), self.one
        return Ratio(top, bottom)

    def _reduced(self, polynomial: Any) -> Any:
        """Use I^2 = -1 and (a^(1/q))^q = a, which makes closed zeros vanish."""
        for kernel in self.kernels:
            if kernel.kind == "constant" and kernel.node == Constant("I"):
                order, value = 2, self.ctx.constant(-1)
            elif kernel.kind in ("surd", "root") and kernel.argument is not None and kernel.argument.bottom == 1:
                order, value = kernel.order, kernel.argument.top
            else:
                continue
            if polynomial.degrees()[kernel.index] >= order:
                polynomial = self._lowered(polynomial, kernel.index, order, value)
        return polynomial

    def _lowered(self, polynomial: Any, index: int, order: int, value: Any) -> Any:
        parts: dict[int, dict[Any, Any]] = {}
        for exponents, coefficient in polynomial.to_dict().items():
            turns, rest = divmod(int(exponents[index]), order)
            parts.setdefault(turns, {})[(*exponents[:index], rest, *exponents[index + 1 :])] = coefficient
        total = self.zero
        for turns, part in parts.items():
            if turns * len(part) * len(value) > 40 * TERMS:
                raise LimitExceeded("size", "multiplied out, the expression is too large", "put values in, or split it")
            total = total + self.ctx.from_dict(part) * value**turns
        return total

    # ---- powers and functions ----------------------------------------------------------------------------------------
    def _power(self, base: Node, exponent: Node) -> Ratio:
        n = rational_value(exponent)
        if n is None:
            return self._general_power(base, exponent)
        inner = self._convert(base)
        if n.denominator == 1:
            if abs(n) > DEGREE:
                raise LimitExceeded("size", f"the exponent {n} is beyond {DEGREE}", "substitute for the power")
            return self.power(inner, int(n))
        return self.power(self._root(inner, base, n.denominator), n.numerator)

    def _general_power(self, base: Node, exponent: Node) -> Ratio:
        value = rational_value(base)
        if value is not None and value > 0:
            return self._exponential(self.multiply(self._convert(exponent), self._logarithm(value)))
        inner, power = self._convert(base), self._convert(exponent)
        node = Power(self.node(inner), self.node(power))
        return self.generator(self._kernel(("power", _key(inner), _key(power)), "power", node, inner))

    def _logarithm(self, value: Fraction) -> Ratio:
        """Return log of a positive rational; powers of one number share its generator."""
        if value == 1:
            return Ratio(self.zero, self.one)
        base, power = _perfect_power(value)
        argument = self.constant(base)
        kernel = self._kernel(("log", _key(argument)), "log", Call("log", (Number(base),)), argument)
        return self.multiply(self.constant(Fraction(power)), self.generator(kernel))

    def _root(self, inner: Ratio, base: Node, order: int) -> Ratio:
        if inner.top == 0:
            return inner
        value = rational_of(inner)
        if value is not None:
            return self._surd(value, order)
        # roots of one base share the finest order, so that x^(1/2) is the square of x^(1/4)
        key = ("root", _key(inner))
        finest = self._unit(key, Fraction(1, order))
        step = Fraction(1, order) / finest
        root = _root_node(self.node(inner), finest.denominator)
        kernel = self._kernel(key, "root", root, inner, finest.denominator)
        return self.power(self.generator(kernel), int(step))

    def _surd(self, value: Fraction, order: int) -> Ratio:
        if value < 0:
            if order != 2:
                argument = self.constant(value)
                node = Power(Negative(Number(-value)), Number(Fraction(1, order)))
                return self.generator(self._kernel(("surd", value, order), "surd", node, argument, order))
            return self.multiply(self._convert(Constant("I")), self._surd(-value, 2))
        # a/b under the root is a*b^(q-1) over b
        radicand, outside = value.numerator * value.denominator ** (order - 1), Fraction(1, value.denominator)
        if order == 2:
            s, radicand = square_part(radicand)
            outside *= s
        else:
            exact = _exact_root(radicand, order)
            if exact is not None:
                outside, radicand = outside * exact, 1
        if radicand == 1:
            return self.constant(outside)
        argument = self.constant(Fraction(radicand))
        root = _root_node(Number(Fraction(radicand)), order)
        kernel = self._kernel(("surd", radicand, order), "surd", root, argument, order)
        return self.multiply(self.constant(outside), self.generator(kernel))

    def _call(self, name: str, arguments: tuple[Node, ...]) -> Ratio:
        if name in ("sqrt", "cbrt"):
            return self._root(self._convert(arguments[0]), arguments[0], 2 if name == "sqrt" else 3)
        parts = [self._convert(argument) for argument in arguments]
        inner = parts[0]
        if name == "exp":
            return self._exponential(inner)
        if name in _HYPERBOLIC:
            return self._hyperbolic(name, inner)
        if name in _TRIGONOMETRIC and self.depends(inner):
            return self._trigonometric(name, inner)
        if name == "log":
            value = rational_of(inner)
            if len(parts) == 2:
                return self.divide(self._call("log", arguments[:1]), self._call("log", arguments[1:]))
            if value is not None and value > 0:
                return self._logarithm(value)
        if name == "Abs":
            return self._modulus(inner)
        if name in ("Max", "Min"):
            sign = Fraction(1 if name == "Max" else -1)
            for other in parts[1:]:
                gap = self._modulus(self.add(inner, Ratio(-other.top, other.bottom)))
                inner = self.add(self.add(inner, other), self.multiply(self.constant(sign), gap))
                inner = self.multiply(self.constant(Fraction(1, 2)), inner)
            return inner
        if name in _TRIGONOMETRIC:
            special = self._special_angle(name, inner)
            if special is not None:
                return special
        node = Call(name, tuple(self.node(part) for part in parts))
        key = (name, *map(_key, parts))
        single = inner if len(parts) == 1 else None
        return self.generator(self._kernel(key, name if single else "other", node, single))

    def _modulus(self, inner: Ratio) -> Ratio:
        value = rational_of(inner)
        if value is not None:
            return self.constant(abs(value))
        if _leads_negative(inner.top):
            inner = Ratio(-inner.top, inner.bottom)
        kernel = self._kernel(("Abs", _key(inner)), "Abs", Call("Abs", (self.node(inner),)), inner)
        return self.generator(kernel)

    def _exponential(self, inner: Ratio) -> Ratio:
        """exp of a sum is the product over its terms; multiples of one term are powers of one generator."""
        if not inner.bottom.is_constant():
            return self._exponential_of(inner, Fraction(1)) if inner.top != 0 else self.constant(Fraction(1))
        result = Ratio(self.one, self.one)
        for exponents, coefficient in inner.top.to_dict().items():
            term = Ratio(self.ctx.from_dict({exponents: 1}), self.one)
            result = self.multiply(result, self._exponential_of(term, _rational(coefficient)))
        return result

    def _exponential_of(self, term: Ratio, coefficient: Fraction) -> Ratio:
        # exp(n*log(b)) with whole n is b^n
        if coefficient.denominator == 1 and abs(coefficient) <= DEGREE:
            for kernel in self.kernels:
                is_term = term.bottom == 1 and term.top == self.ctx.gens()[kernel.index]
                if kernel.kind == "log" and kernel.argument and is_term:
                    return self.power(kernel.argument, int(coefficient))
        step = self._unit(("exp", _key(term)), coefficient)
        inner = self.multiply(self.constant(step), term)
        kernel = self._kernel(("exp", _key(term)), "exp", Call("exp", (self.node(inner),)), inner)
        return self.power(self.generator(kernel), int(coefficient / step))

    def _unit(self, key: Any, coefficient: Fraction) -> Fraction:
        """Return the common step of all multiples seen under `key`; a finer one makes the conversion start again."""
        known = self._units.get(key)
        step = abs(coefficient) if known is None else _rational_gcd(known, coefficient)
        if step != known:
            self._stale = self._stale or known is not None
            self._units[key] = step
        if abs(coefficient / step) > DEGREE:
            raise LimitExceeded("size", "the exponents are too different", "substitute for the common part")
        return step

    def _hyperbolic(self, name: str, inner: Ratio) -> Ratio:
        up = self._exponential(inner)
        down = self._exponential(Ratio(-inner.top, inner.bottom))
        half = self.constant(Fraction(1, 2))
        sinh = self.multiply(half, self.add(up, Ratio(-down.top, down.bottom)))
        cosh = self.multiply(half, self.add(up, down))
        one = self.constant(Fraction(1))
        quotients = {"tanh": (sinh, cosh), "coth": (cosh, sinh), "sech": (one, cosh), "csch": (one, sinh)}
        return sinh if name == "sinh" else cosh if name == "cosh" else self.divide(*quotients[name])

    def _trigonometric(self, name: str, inner: Ratio) -> Ratio:
        sine, cosine = self._sine_and_cosine(inner)
        one = self.constant(Fraction(1))
        quotients = {"tan": (sine, cosine), "cot": (cosine, sine), "sec": (one, cosine), "csc": (one, sine)}
        return sine if name == "sin" else cosine if name == "cos" else self.divide(*quotients[name])

    def _sine_and_cosine(self, inner: Ratio) -> tuple[Ratio, Ratio]:
        """Return sin and cos: whole multiples of the angle by de Moivre, a constant part by the addition theorem."""
        moving, still = self._split(inner)
        scale = _rational(moving.top.leading_coefficient())
        primitive = Ratio(moving.top / moving.top.leading_coefficient(), moving.bottom)
        step = self._unit(("angle", _key(primitive)), scale)
        multiple = int(scale / step)
        if abs(multiple) > _ANGLES:
            raise LimitExceeded("size", f"multiples of an angle beyond {_ANGLES}", "use find_all_roots")
        angle = self.multiply(self.constant(step), primitive)
        half = self.multiply(self.constant(Fraction(1, 2)), angle)
        node = Call("tan", (self.node(half),))
        t = self.generator(self._kernel(("tanhalf", _key(primitive)), "tanhalf", node, angle))
        norm = self.add(self.constant(Fraction(1)), self.multiply(t, t))
        below = Ratio(norm.bottom, norm.top)  # 1 + t^2 is no pole
        cosine = self.multiply(self.add(self.constant(Fraction(1)), self._minus(self.multiply(t, t))), below)
        sine = self.multiply(self.multiply(self.constant(Fraction(2)), t), below)
        c, s = self.constant(Fraction(1)), self.constant(Fraction(0))
        for _ in range(abs(multiple)):
            c, s = self._turned(c, s, cosine, sine)
        if multiple < 0:
            s = self._minus(s)
        if still.top == 0:
            return s, c
        shift = self.node(still)
        cos_shift = self._known_call("cos", shift, still)
        sin_shift = self._known_call("sin", shift, still)
        c, s = self._turned(c, s, cos_shift, sin_shift)
        return s, c

    def _turned(self, c: Ratio, s: Ratio, cosine: Ratio, sine: Ratio) -> tuple[Ratio, Ratio]:
        turned = self.add(self.multiply(c, cosine), self._minus(self.multiply(s, sine)))
        return turned, self.add(self.multiply(s, cosine), self.multiply(c, sine))

    def _special_angle(self, name: str, inner: Ratio) -> Ratio | None:
        """Return the value at a multiple of pi/12, or None."""
        turns = self._multiple_of_pi(inner)
        if turns is None or (turns * 12).denominator != 1:
            return None
        k = int(turns * 12)
        sine, cosine = self._twelfth(k - 6), self._twelfth(k)  # sin(a) = cos(a - pi/2)
        one = self.constant(Fraction(1))
        if name in ("sin", "cos"):
            return sine if name == "sin" else cosine
        quotients = {"tan": (sine, cosine), "cot": (cosine, sine), "sec": (one, cosine), "csc": (one, sine)}
        return self.divide(*quotients[name])

    def _multiple_of_pi(self, inner: Ratio) -> Fraction | None:
        if inner.top == 0:
            return Fraction(0)
        pi = next((k for k in self.kernels if k.node == Constant("pi")), None)
        if pi is None or not inner.bottom.is_constant():
            return None
        return rational_of(self._cancelled(inner.top, inner.bottom * self.ctx.gens()[pi.index]))

    def _twelfth(self, k: int) -> Ratio:
        """Return cos(k pi/12)."""
        k = abs(k) % 24
        k = min(k, 24 - k)
        if k > 6:
            return self._minus(self._twelfth(12 - k))
        two, three = self._surd(Fraction(2), 2), self._surd(Fraction(3), 2)
        half = self.constant(Fraction(1, 2))
        if k in (1, 5):
            sign = self.constant(Fraction(1 if k == 1 else -1))
            return self.multiply(self.multiply(self.constant(Fraction(1, 4)), two), self.add(three, sign))
        values = {0: self.constant(Fraction(1)), 2: self.multiply(half, three), 3: self.multiply(half, two), 4: half}
        return values.get(k, self.constant(Fraction(0)))

    def _known_call(self, name: str, argument: Node, inner: Ratio) -> Ratio:
        special = self._special_angle(name, inner)
        if special is not None:
            return special
        return self.generator(self._kernel((name, _key(inner)), name, Call(name, (argument,)), inner))

    def _minus(self, a: Ratio) -> Ratio:
        return Ratio(-a.top, a.bottom)

    def _split(self, inner: Ratio) -> tuple[Ratio, Ratio]:
        """Split into the terms that depend on the unknown, and the others."""
        if self.depends_polynomial(inner.bottom):
            return inner, Ratio(self.zero, self.one)
        moving: dict[Any, Any] = {}
        still: dict[Any, Any] = {}
        dependent = self.dependent()
        for exponents, coefficient in inner.top.to_dict().items():
            (moving if any(exponents[i] for i in dependent) else still)[exponents] = coefficient
        first = self._cancelled(self.ctx.from_dict(moving), inner.bottom)
        return first, self._cancelled(self.ctx.from_dict(still), inner.bottom)

    # ---- questions ---------------------------------------------------------------------------------------------------
    def dependent(self) -> list[int]:
        """Return the indices of the kernels that depend on the unknown."""
        found: list[int] = []
        for kernel in self.kernels:
            if kernel.node == Symbol(self.unknown or "") or (
                kernel.kind not in ("symbol", "constant", "surd") and _mentions(kernel.node, self.unknown)
            ):
                found.append(kernel.index)
        return found

    def depends(self, value: Ratio) -> bool:
        return self.depends_polynomial(value.top) or self.depends_polynomial(value.bottom)

    def depends_polynomial(self, polynomial: Any) -> bool:
        degrees = polynomial.degrees()
        return any(degrees[i] > 0 for i in self.dependent())

    def used(self, polynomial: Any) -> list[Kernel]:
        """Return the kernels that occur in a polynomial."""
        degrees = polynomial.degrees()
        return [kernel for kernel in self.kernels if degrees[kernel.index] > 0]

    # ---- out ---------------------------------------------------------------------------------------------------------
    def node(self, value: Ratio) -> Node:
        """Return the tree of a ratio."""
        if value.bottom.is_constant():
            return self.polynomial_node(value.top / value.bottom.leading_coefficient())
        top, bottom = _primitive(value.top, value.bottom)
        if _leads_negative(bottom):
            top, bottom = -top, -bottom
        if _leads_negative(top):
            return Negative(Quotient(self.polynomial_node(-top), self.polynomial_node(bottom)))
        return Quotient(self.polynomial_node(top), self.polynomial_node(bottom))

    def polynomial_node(self, polynomial: Any) -> Node:
        """Return the tree of a polynomial, terms in lexicographic order of its kernels."""
        below = _denominator(polynomial)
        if below != 1 and len(polynomial) > 1:
            return Quotient(self.polynomial_node(polynomial * below), Number(Fraction(below)))
        terms = [self._term(exponents, _rational(c)) for exponents, c in polynomial.to_dict().items()]
        if not terms:
            return ZERO
        if isinstance(terms[0], Negative):  # b^2 - 4*a*c rather than -4*a*c + b^2
            terms.sort(key=lambda term: isinstance(term, Negative))
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def _term(self, exponents: tuple[Any, ...], coefficient: Fraction) -> Node:
        factors: list[Node] = []
        size = abs(coefficient)
        if size.numerator != 1 or not any(exponents):
            factors.append(Number(Fraction(size.numerator)))
        for kernel in self.kernels:
            power = int(exponents[kernel.index])
            if power:
                factors.append(_power_node(kernel, power))
        top = factors[0] if len(factors) == 1 else Product(tuple(factors)) if factors else ONE
        node = Quotient(top, Number(Fraction(size.denominator))) if size.denominator != 1 else top
        return Negative(node) if coefficient < 0 else node


def rational_of(value: Ratio) -> Fraction | None:
    """Return a ratio without kernels as a number, or None."""
    if not value.top.is_constant() or not value.bottom.is_constant():
        return None
    top, bottom = _fraction(value.top), _fraction(value.bottom)
    return top / bottom


def _fraction(polynomial: Any) -> Fraction:
    return Fraction(0) if polynomial == 0 else _rational(polynomial.leading_coefficient())


def _rational(value: Any) -> Fraction:
    return Fraction(int(value.numer()), int(value.denom())) if hasattr(value, "numer") else Fraction(int(value))


def _key(value: Ratio) -> tuple[str, str]:
    return str(value.top), str(value.bottom)


def _denominator(polynomial: Any) -> int:
    return lcm(*(_rational(c).denominator for c in polynomial.coeffs())) if polynomial != 0 else 1


def _primitive(top: Any, bottom: Any) -> tuple[Any, Any]:
    """Scale both by one number so that their coefficients are whole and have no common factor."""
    from flint import fmpq

    values = [_rational(c) for c in (*top.coeffs(), *bottom.coeffs())]
    common = lcm(*(v.denominator for v in values))
    scale = Fraction(common, gcd(*(int(v * common) for v in values)))
    factor = fmpq(scale.numerator, scale.denominator)
    return top * factor, bottom * factor


def _leads_negative(polynomial: Any) -> bool:
    return bool(polynomial != 0 and polynomial.leading_coefficient() < 0)


def _mentions(node: Node, name: str | None) -> bool:
    from maven_env.expressions.tree import free_symbols

    return name in free_symbols(node)


def _rational_gcd(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def _exact_root(n: int, order: int) -> int | None:
    root = round(n ** (1 / order)) if n < 1 << 900 else 0
    return next((r for r in (root - 1, root, root + 1) if r > 0 and r**order == n), None)


def _perfect_power(value: Fraction) -> tuple[Fraction, int]:
    """Return (b, n) with b^n = value and n as large as possible; b > 1."""
    if value < 1:
        base, power = _perfect_power(1 / value)
        return base, -power
    for n in range(min(64, max(value.numerator.bit_length(), 1)), 1, -1):
        top = _exact_root(value.numerator, n)
        bottom = _exact_root(value.denominator, n)
        if top is not None and bottom is not None:
            return Fraction(top, bottom), n
    return value, 1


def _root_node(base: Node, order: int) -> Node:
    return Call("sqrt", (base,)) if order == 2 else Power(base, Number(Fraction(1, order)))


def _power_node(kernel: Kernel, power: int) -> Node:
    if power == 1:
        return kernel.node
    if kernel.kind in ("root", "surd"):
        match kernel.node:
            case Call("sqrt", (base,)):
                return base if power == 2 and kernel.kind == "surd" else Power(kernel.node, Number(Fraction(power)))
            case Power(base, _):
                return Power(base, Number(Fraction(power, kernel.order)))
    if kernel.kind == "exp" and isinstance(kernel.node, Call):
        return Call("exp", (_multiple(kernel.node.arguments[0], power),))
    return Power(kernel.node, Number(Fraction(power)))


def _multiple(node: Node, factor: int) -> Node:
    match node:
        case Negative(a):
            return Negative(_multiple(a, factor))
        case Quotient(Number(value), b):
            return Quotient(Number(value * factor), b)
        case Quotient(a, Number(value)):
            n = Fraction(factor) / value
            top = a if n.numerator == 1 else Product((Number(Fraction(n.numerator)), a))
            return top if n.denominator == 1 else Quotient(top, Number(Fraction(n.denominator)))
        case _:
            return Product((Number(Fraction(factor)), node))
