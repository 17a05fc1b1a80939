"""Arithmetic of ratios of polynomials in kernels, in python-flint and within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions.algebra.algebraic import square_part
from maven_env.expressions.algebra.generators import root
from maven_env.expressions.algebra.kernel_trees import Kernel, Ratio, polynomial_node, ratio_node, rational
from maven_env.expressions.algebra.perfect_powers import exact_root, rational_gcd
from maven_env.expressions.tree import Constant, Negative, Node, Number, Power, Symbol, free_symbols, walk

GENERATORS = 24
TERMS = 3_000
STEPS = 6_000  # additions and multiplications of one conversion
DEGREE = 400
_NODES = 5_000  # of the tree of one kernel: sin(sin(...)) holds each argument twice in the next


class NotAlgebraic(ToolError):
    """A tree that these kernels do not cover, such as a Piecewise or an infinity."""

    def __init__(self, message: str) -> None:
        super().__init__("UNSOLVED", message)


@lru_cache(maxsize=1)
def context() -> Any:
    """Return the one polynomial ring that is used: fmpq in GENERATORS variables."""
    from flint import Ordering, fmpq_mpoly_ctx

    return fmpq_mpoly_ctx.get([f"g{i}" for i in range(GENERATORS)], Ordering.lex)


class Ratios:
    """Ratios of polynomials in kernels, which are numbered as they come; `unknown` is the first, if there is one."""

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
        self._restart(self._own_symbols())

    def _own_symbols(self) -> tuple[str, ...]:
        return () if self.unknown is None else (self.unknown,)

    def _restart(self, symbols: Sequence[str]) -> None:
        """Forget all kernels but the symbols, which come first."""
        self._stale = False
        self.kernels, self.poles, self._known = [], [], {}
        for name in symbols:
            self.kernel(("symbol", name), "symbol", Symbol(name))

    # ---- kernels -----------------------------------------------------------------------------------------------------
    def kernel(self, key: Any, kind: str, node: Node, argument: Ratio | None = None, order: int = 1) -> Kernel:
        """Return the kernel that is known under `key`, numbered now if it is new."""
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

    def unit(self, key: Any, coefficient: Fraction) -> Fraction:
        """Return the common step of all multiples seen under `key`; a finer one makes the conversion start again."""
        known = self._units.get(key)
        step = abs(coefficient) if known is None else rational_gcd(known, coefficient)
        if step != known:
            self._stale = self._stale or known is not None
            self._units[key] = step
        if abs(coefficient / step) > DEGREE:
            raise LimitExceeded("size", "the exponents are too different", "substitute for the common part")
        return step

    def generator(self, kernel: Kernel) -> Ratio:
        return Ratio(self.ctx.gens()[kernel.index], self.one)

    def constant(self, value: Fraction) -> Ratio:
        from flint import fmpq

        return Ratio(self.ctx.constant(fmpq(value.numerator, value.denominator)), self.one)

    def surd(self, value: Fraction, order: int) -> Ratio:
        """Return the root of a rational; whole powers are drawn out."""
        if value < 0:
            if order != 2:
                argument = self.constant(value)
                node = Power(Negative(Number(-value)), Number(Fraction(1, order)))
                return self.generator(self.kernel(("surd", value, order), "surd", node, argument, order))
            unit = self.kernel(("constant", "I"), "constant", Constant("I"))
            return self.multiply(self.generator(unit), self.surd(-value, 2))
        # a/b under the root is a*b^(q-1) over b
        radicand, outside = value.numerator * value.denominator ** (order - 1), Fraction(1, value.denominator)
        if order == 2:
            s, radicand = square_part(radicand)
            outside *= s
        else:
            exact = exact_root(radicand, order)
            if exact is not None:
                outside, radicand = outside * exact, 1
        if radicand == 1:
            return self.constant(outside)
        argument = self.constant(Fraction(radicand))
        tree = root(Number(Fraction(radicand)), order)
        kernel = self.kernel(("surd", radicand, order), "surd", tree, argument, order)
        return self.multiply(self.constant(outside), self.generator(kernel))

    def node(self, value: Ratio) -> Node:
        """Return the tree of a ratio."""
        return ratio_node(self.kernels, value)

    def polynomial_node(self, polynomial: Any) -> Node:
        """Return the tree of a polynomial, terms in lexicographic order of its kernels."""
        return polynomial_node(self.kernels, polynomial)

    # ---- arithmetic --------------------------------------------------------------------------------------------------
    def add(self, a: Ratio, b: Ratio) -> Ratio:
        if a.bottom == 1 and b.bottom == 1:
            return self.cancelled(a.top + b.top, self.one)
        common = a.bottom.gcd(b.bottom)
        left, right = b.bottom / common, a.bottom / common
        return self.cancelled(self._times(a.top, left) + self._times(b.top, right), self._times(a.bottom, left))

    def multiply(self, a: Ratio, b: Ratio) -> Ratio:
        if a.bottom == 1 and b.bottom == 1:
            return self.cancelled(self._times(a.top, b.top), self.one)
        return self.cancelled(self._times(a.top, b.top), self._times(a.bottom, b.bottom))

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

    def minus(self, a: Ratio) -> Ratio:
        return Ratio(-a.top, a.bottom)

    def _times(self, a: Any, b: Any) -> Any:
        if len(a) * len(b) > 40 * TERMS or a.total_degree() + b.total_degree() > DEGREE:
            raise LimitExceeded("size", "multiplied out, the expression is too large", "put values in, or split it")
        return self.reduced(a * b)

    def cancelled(self, top: Any, bottom: Any) -> Ratio:
        """Return top/bottom in lowest terms."""
        self._steps += 1
        if self._steps > STEPS:
            raise LimitExceeded("size", "too many steps to multiply the expression out", "put values in, or split it")
        if top == 0:
            return Ratio(self.zero, self.one)
        if bottom != 1:
            common = top.gcd(bottom)
            top, bottom = top / common, bottom / common
        if len(top) > TERMS or len(bottom) > TERMS:
            raise LimitExceeded("size", f"more than {TERMS} terms multiplied out", "put values in, or split it")
        if bottom != 1 and bottom.is_constant():
            top, bottom = top / bottom.leading_coefficient(), self.one
        return Ratio(top, bottom)

    def reduced(self, polynomial: Any) -> Any:
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

    # ---- questions ---------------------------------------------------------------------------------------------------
    def dependent(self) -> list[int]:
        """Return the indices of the kernels that depend on the unknown."""
        found: list[int] = []
        for kernel in self.kernels:
            if kernel.node == Symbol(self.unknown or "") or (
                kernel.kind not in ("symbol", "constant", "surd") and self.unknown in free_symbols(kernel.node)
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

    def split(self, inner: Ratio) -> tuple[Ratio, Ratio]:
        """Split into the terms that depend on the unknown, and the others."""
        if self.depends_polynomial(inner.bottom):
            return inner, Ratio(self.zero, self.one)
        moving: dict[Any, Any] = {}
        still: dict[Any, Any] = {}
        dependent = self.dependent()
        for exponents, coefficient in inner.top.to_dict().items():
            (moving if any(exponents[i] for i in dependent) else still)[exponents] = coefficient
        first = self.cancelled(self.ctx.from_dict(moving), inner.bottom)
        return first, self.cancelled(self.ctx.from_dict(still), inner.bottom)


def rational_of(value: Ratio) -> Fraction | None:
    """Return a ratio without kernels as a number, or None."""
    if not value.top.is_constant() or not value.bottom.is_constant():
        return None
    top, bottom = _fraction(value.top), _fraction(value.bottom)
    return top / bottom


def _fraction(polynomial: Any) -> Fraction:
    return Fraction(0) if polynomial == 0 else rational(polynomial.leading_coefficient())


def key_of(value: Ratio) -> tuple[str, str]:
    return str(value.top), str(value.bottom)
