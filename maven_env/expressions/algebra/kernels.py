"""Trees as rational functions over kernels, in python-flint: the exact algebra under equations and polynomials.

A kernel is a symbol, a constant such as pi, or a function of something, such as log(x/a); each is one generator of a
polynomial ring over the rationals, so common factors cancel exactly. Roots and Abs carry their relation (u^q = a,
u^2 = a^2), exponentials of multiples share one generator, hyperbolic functions become exponentials, and trigonometric
functions of multiples of one angle become rational in the tangent of its half. Everything that a tree divides by is
kept in `poles`, because cancelling would widen its domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from maven_env.errors import LimitExceeded
from maven_env.expressions.algebra.generators import root
from maven_env.expressions.algebra.half_angles import special_angle, trigonometric
from maven_env.expressions.algebra.kernel_ratios import DEGREE, NotAlgebraic, Ratios, key_of, rational_of
from maven_env.expressions.algebra.kernel_trees import Kernel, Ratio, leads_negative, rational
from maven_env.expressions.algebra.perfect_powers import perfect_power
from maven_env.expressions.tree import (
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
)

__all__ = ["Kernel", "NotAlgebraic", "Ratio", "Ring", "rational_of"]

_HYPERBOLIC = ("sinh", "cosh", "tanh", "coth", "sech", "csch")
_TRIGONOMETRIC = ("sin", "cos", "tan", "cot", "sec", "csc")


class Ring(Ratios):
    """Turns trees into ratios of polynomials in kernels, which it numbers as they come."""

    def ratio(self, node: Node) -> Ratio:
        """Return `node` as a ratio. Raises NotAlgebraic, LimitExceeded, UNDEFINED_VALUE."""
        for _ in range(6):
            self._restart(self._own_symbols())
            result = self.convert(node)
            if not self._stale:
                return result
        raise NotAlgebraic("the exponents have no common step")

    def ratios(self, nodes: Sequence[Node], symbols: Sequence[str] = ()) -> tuple[list[Any], list[Any]]:
        """Return the numerators of several trees over the same kernels, and everything that they divide by."""
        for _ in range(6):
            self._restart(symbols)
            found = [self.convert(node).top for node in nodes]
            if not self._stale:
                return found, self.poles
        raise NotAlgebraic("the exponents have no common step")

    def convert(self, node: Node) -> Ratio:
        """Return `node` as a ratio in the kernels known so far; `ratio` starts again where a finer step is met."""
        match node:
            case Number(value):
                return self.constant(value)
            case Symbol(name):
                return self.generator(self.kernel(("symbol", name), "symbol", node))
            case Constant(name):
                if name == "oo":
                    raise NotAlgebraic("an infinity is no number to solve with")
                return self.generator(self.kernel(("constant", name), "constant", node))
            case Negative(a):
                inner = self.convert(a)
                return Ratio(-inner.top, inner.bottom)
            case Sum(items):
                total = self.convert(items[0])
                for item in items[1:]:
                    total = self.add(total, self.convert(item))
                return total
            case Product(items):
                total = self.convert(items[0])
                for item in items[1:]:
                    total = self.multiply(total, self.convert(item))
                return total
            case Quotient(a, b):
                return self.divide(self.convert(a), self.convert(b))
            case Power(a, b):
                return self._power(a, b)
            case Call(name, arguments):
                return self._call(name, arguments)
        raise NotAlgebraic(f"a {type(node).__name__.lower()} is not treated here")

    # ---- powers and functions ----------------------------------------------------------------------------------------
    def _power(self, base: Node, exponent: Node) -> Ratio:
        n = rational_value(exponent)
        if n is None:
            return self._general_power(base, exponent)
        inner = self.convert(base)
        if n.denominator == 1:
            if abs(n) > DEGREE:
                raise LimitExceeded("size", f"the exponent {n} is beyond {DEGREE}", "substitute for the power")
            return self.power(inner, int(n))
        return self.power(self._root(inner, n.denominator), n.numerator)

    def _general_power(self, base: Node, exponent: Node) -> Ratio:
        value = rational_value(base)
        if value is not None and value > 0:
            return self._exponential(self.multiply(self.convert(exponent), self._logarithm(value)))
        inner, power = self.convert(base), self.convert(exponent)
        node = Power(self.node(inner), self.node(power))
        return self.generator(self.kernel(("power", key_of(inner), key_of(power)), "power", node, inner))

    def _logarithm(self, value: Fraction) -> Ratio:
        """Return log of a positive rational; powers of one number share its generator."""
        if value == 1:
            return Ratio(self.zero, self.one)
        base, power = perfect_power(value)
        argument = self.constant(base)
        kernel = self.kernel(("log", key_of(argument)), "log", Call("log", (Number(base),)), argument)
        return self.multiply(self.constant(Fraction(power)), self.generator(kernel))

    def _root(self, inner: Ratio, order: int) -> Ratio:
        if inner.top == 0:
            return inner
        value = rational_of(inner)
        if value is not None:
            return self.surd(value, order)
        # roots of one base share the finest order, so that x^(1/2) is the square of x^(1/4)
        key = ("root", key_of(inner))
        finest = self.unit(key, Fraction(1, order))
        step = Fraction(1, order) / finest
        node = root(self.node(inner), finest.denominator)
        kernel = self.kernel(key, "root", node, inner, finest.denominator)
        return self.power(self.generator(kernel), int(step))

    def _call(self, name: str, arguments: tuple[Node, ...]) -> Ratio:
        if name in ("sqrt", "cbrt"):
            return self._root(self.convert(arguments[0]), 2 if name == "sqrt" else 3)
        parts = [self.convert(argument) for argument in arguments]
        inner = parts[0]
        if name == "exp":
            return self._exponential(inner)
        if name in _HYPERBOLIC:
            return self._hyperbolic(name, inner)
        if name in _TRIGONOMETRIC and self.depends(inner):
            return trigonometric(self, name, inner)
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
            special = special_angle(self, name, inner)
            if special is not None:
                return special
        node = Call(name, tuple(self.node(part) for part in parts))
        key = (name, *map(key_of, parts))
        single = inner if len(parts) == 1 else None
        return self.generator(self.kernel(key, name if single else "other", node, single))

    def _modulus(self, inner: Ratio) -> Ratio:
        value = rational_of(inner)
        if value is not None:
            return self.constant(abs(value))
        if leads_negative(inner.top):
            inner = Ratio(-inner.top, inner.bottom)
        kernel = self.kernel(("Abs", key_of(inner)), "Abs", Call("Abs", (self.node(inner),)), inner)
        return self.generator(kernel)

    def _exponential(self, inner: Ratio) -> Ratio:
        """exp of a sum is the product over its terms; multiples of one term are powers of one generator."""
        if not inner.bottom.is_constant():
            return self._exponential_of(inner, Fraction(1)) if inner.top != 0 else self.constant(Fraction(1))
        result = Ratio(self.one, self.one)
        for exponents, coefficient in inner.top.to_dict().items():
            term = Ratio(self.ctx.from_dict({exponents: 1}), self.one)
            result = self.multiply(result, self._exponential_of(term, rational(coefficient)))
        return result

    def _exponential_of(self, term: Ratio, coefficient: Fraction) -> Ratio:
        # exp(n*log(b)) with whole n is b^n
        if coefficient.denominator == 1 and abs(coefficient) <= DEGREE:
            for kernel in self.kernels:
                is_term = term.bottom == 1 and term.top == self.ctx.gens()[kernel.index]
                if kernel.kind == "log" and kernel.argument and is_term:
                    return self.power(kernel.argument, int(coefficient))
        step = self.unit(("exp", key_of(term)), coefficient)
        inner = self.multiply(self.constant(step), term)
        kernel = self.kernel(("exp", key_of(term)), "exp", Call("exp", (self.node(inner),)), inner)
        return self.power(self.generator(kernel), int(coefficient / step))

    def _hyperbolic(self, name: str, inner: Ratio) -> Ratio:
        up = self._exponential(inner)
        down = self._exponential(Ratio(-inner.top, inner.bottom))
        half = self.constant(Fraction(1, 2))
        sinh = self.multiply(half, self.add(up, Ratio(-down.top, down.bottom)))
        cosh = self.multiply(half, self.add(up, down))
        one = self.constant(Fraction(1))
        quotients = {"tanh": (sinh, cosh), "coth": (cosh, sinh), "sech": (one, cosh), "csch": (one, sinh)}
        return sinh if name == "sinh" else cosh if name == "cosh" else self.divide(*quotients[name])
