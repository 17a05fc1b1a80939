"""Exact solution of one equation: a complete set of candidates by exact algebra, then every candidate put back.

The equation becomes a polynomial over kernels (see expressions.algebra.kernels) and is factored. Factors in the unknown
alone, in one invertible kernel, in roots and moduli (eliminated by resultants), in logarithms, inverse angles, or of
Lambert's form are solved; each step can only add candidates, never lose one. A factor of any other form makes the whole
unsolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.algebra.kernels import Kernel, NotAlgebraic, Ring
from maven_env.expressions.balls import Undecided, ball, precision
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
    free_symbols,
)
from maven_env.expressions.tree import replace as put
from maven_env.tools.equations.branches import PI, Branch, Unsolved, linear_parts, minus, quotient_node, tidied
from maven_env.tools.equations.candidates import BITS, Candidate, by_powers, roots_of_factor, sign_of
from maven_env.tools.equations.inverse_values import angle_of, preimages, sine_and_cosine
from maven_env.tools.equations.lambert import lambert_candidates

DEPTH = 6


FACTOR_TERMS = 400


FACTOR_DEGREE = 60  # of a polynomial in several kernels


RESULTANT = 60  # product of degrees in the eliminated kernel and total degree


class Solver:
    """Collects candidates for `unknown`. `real`: only real solutions are wanted."""

    def __init__(self, unknown: str, real: bool) -> None:
        self.unknown = unknown
        self.real = real
        self.count = 0
        self.without_unknown: Node | None = None  # what is left if the unknown cancels: no solution unless it is zero
        self.is_polynomial = False  # the equation was a polynomial alone, whose roots are certified already

    def branches(self, node: Node, depth: int = 0, known: Mapping[str, Any] | None = None) -> list[Branch]:
        """Return branches that hold every solution of node = 0. Raises Unsolved, UNDERDETERMINED, LimitExceeded."""
        if depth > DEPTH:
            raise Unsolved("the equation nests too many functions")
        known = known or {}
        ring = Ring(self.unknown)
        try:
            ratio = ring.ratio(node)
        except NotAlgebraic as error:
            raise Unsolved(error.message) from None
        if ratio.top == 0:
            message = "both sides are equal wherever they are defined"
            raise ToolError("UNDERDETERMINED", message, "every number of the domain is a solution")
        if depth == 0:
            self.is_polynomial = not ring.poles and all(k.index == 0 for k in ring.used(ratio.top))
        _bounded(ring, ratio.top)
        if depth == 0 and not ring.depends_polynomial(ratio.top):
            self.without_unknown = ring.polynomial_node(ratio.top)
        found: list[Branch] = []
        for factor, power in ratio.top.factor()[1]:
            if ring.depends_polynomial(factor):
                found += self._factor(ring, factor, int(power), depth, known)
            else:
                self._nonzero(ring, factor)
        for kernel in ring.kernels:
            if kernel.kind == "tanhalf" and kernel.index in ring.dependent():
                found += self._opposite(ring, kernel, depth)
        return found

    def _nonzero(self, ring: Ring, factor: Any) -> None:
        """A closed factor must be told from zero, or the equation might hold everywhere."""
        node = ring.polynomial_node(factor)
        if not free_symbols(node) and _is_zero(node, {}):
            raise Unsolved("a constant factor cannot be told from zero", "simplify the constants")

    def _name(self) -> str:
        self.count += 1
        return f"root{self.count}n"

    # ---- factors -----------------------------------------------------------------------------------------------------
    def _factor(self, ring: Ring, factor: Any, power: int, depth: int, known: Mapping[str, Any]) -> list[Branch]:
        dependent = set(ring.dependent())
        kernels = [k for k in ring.used(factor) if k.index in dependent]
        variable = ring.kernels[0]
        if len(kernels) == 1:
            values = [self._with(c, known) for c in roots_of_factor(ring, factor, kernels[0], power, self._name())]
            if kernels[0] is variable:
                return [Branch(value) for value in values]
            found = [b for value in values for b in self._inverted(ring, kernels[0], value, depth)]
            return found
        algebraic = [k for k in kernels if k.kind in ("root", "Abs")]
        if algebraic:
            return self._eliminated(ring, factor, algebraic[-1], depth, known)
        if all(k.kind == "log" for k in kernels):
            return self._logarithms(ring, factor, kernels, depth, known)
        if all(k.kind in ("asin", "acos", "atan") for k in kernels):
            return self._angles(ring, factor, kernels, depth, known)
        if len(kernels) == 2 and variable in kernels:
            other = kernels[1] if kernels[0] is variable else kernels[0]
            if other.kind == "exp":
                if not self.real:
                    raise Unsolved(
                        "over the complex numbers this has infinitely many solutions", "choose the domain real"
                    )
                return [Branch(value) for value in lambert_candidates(ring, factor, other, self.unknown, known)]
            if other.kind == "log":
                return self._through_log(ring, factor, other, depth, known)
        raise Unsolved("no exact method covers this mixture of functions of the unknown")

    def _with(self, candidate: Candidate, known: Mapping[str, Any]) -> Candidate:
        names = free_symbols(candidate.node)
        used = {name: root for name, root in known.items() if name in names}
        return replace(candidate, decimals={**used, **candidate.decimals}) if used else candidate

    def _solve(self, node: Node, depth: int, value: Candidate) -> list[Branch]:
        """Solve an inner equation; branches keep the multiplicity of the value that they come from."""
        return [
            Branch(replace(b.candidate, multiplicity=b.candidate.multiplicity * value.multiplicity), b.period)
            for b in self.branches(node, depth + 1, value.decimals)
        ]

    # ---- one kernel, inverted ----------------------------------------------------------------------------------------
    def _inverted(self, ring: Ring, kernel: Kernel, value: Candidate, depth: int) -> list[Branch]:
        """Solve kernel(argument) = value."""
        if kernel.argument is None or kernel.kind in ("power", "other"):
            raise Unsolved(f"the function {_name_of(kernel.node)} has no inverse here")
        argument, u = ring.node(kernel.argument), value.node
        if kernel.kind == "tanhalf":
            base = angle_of(value)
            return self._periodic(argument, base, Product((Number(Fraction(2)), PI)), depth, value)
        if kernel.kind == "exp":
            if self.real:
                sign = sign_of(u, value.decimals) if not value.parameters else 1
                if sign is None and value.is_real():
                    raise Unsolved("the sign of an exponential cannot be decided")
                return self._solve(minus(argument, Call("log", (u,))), depth, value) if sign == 1 else []
            if not value.parameters and sign_of(Call("Abs", (u,)), value.decimals) == 0:
                return []
            turn = Product((Number(Fraction(2)), PI, Constant("I")))
            return self._periodic(argument, Call("log", (u,)), turn, depth, value)
        targets = preimages(kernel, u, self.real)
        if self.real and not value.parameters and not value.is_real():
            return []
        return [branch for target in targets for branch in self._solve(minus(argument, target), depth, value)]

    def _periodic(self, argument: Node, base: Node, turn: Node, depth: int, value: Candidate) -> list[Branch]:
        """Solve argument = base + k*turn, k any integer, for an argument that is linear in the unknown."""
        parts = linear_parts(argument, self.unknown)
        if parts is None:
            raise Unsolved("a periodic function of something that is not linear in the unknown")
        slope = quotient_node(parts[0], parts[1], parts[3])
        found = self._solve(minus(argument, base), depth, value)
        period = tidied(Quotient(turn, slope))
        return [Branch(branch.candidate, period) for branch in found]

    def _opposite(self, ring: Ring, kernel: Kernel, depth: int) -> list[Branch]:
        """Half-angle tangents miss the angle pi, so it is tried too."""
        assert kernel.argument is not None
        return self._periodic(ring.node(kernel.argument), PI, Product((Number(Fraction(2)), PI)), depth, Candidate(PI))

    # ---- several kernels ---------------------------------------------------------------------------------------------
    def _eliminated(
        self, ring: Ring, factor: Any, kernel: Kernel, depth: int, known: Mapping[str, Any]
    ) -> list[Branch]:
        """Eliminate u with u^q = a (or u^2 = a^2) by a resultant."""
        if kernel.kind == "Abs" and not self.real:
            raise Unsolved("moduli are treated over the reals only", "choose the domain real")
        assert kernel.argument is not None
        top, bottom = kernel.argument.top, kernel.argument.bottom
        u = ring.ctx.gens()[kernel.index]
        relation = u**2 * bottom**2 - top**2 if kernel.kind == "Abs" else u**kernel.order * bottom - top
        effort = factor.degrees()[kernel.index] * int(relation.total_degree()) + kernel.order * int(
            factor.total_degree()
        )
        if effort > RESULTANT or len(factor) * len(relation) > FACTOR_TERMS:
            raise Unsolved("the roots in the equation are too many to eliminate")
        result = factor.resultant(relation, f"g{kernel.index}")
        if result == 0:
            hint = "split the cases by hand, or look at a given interval with find_all_roots"
            raise Unsolved("the equation may hold on a whole interval", hint)
        return self._superset(ring.polynomial_node(result), depth, known)

    def _superset(self, node: Node, depth: int, known: Mapping[str, Any]) -> list[Branch]:
        """Solve an equation that follows from the one at hand; multiplicities there mean nothing."""
        branches = self.branches(node, depth + 1, known)
        return [Branch(replace(b.candidate, multiplicity=1), b.period) for b in branches]

    def _logarithms(
        self, ring: Ring, factor: Any, kernels: list[Kernel], depth: int, known: Mapping[str, Any]
    ) -> list[Branch]:
        """sum n log(a) + c = 0 gives prod a^n = exp(-c)."""
        coefficients, rest = _linear(ring, factor, kernels)
        if max(map(abs, coefficients)) > 12:
            raise Unsolved("the coefficients of the logarithms are too large")
        powers = [
            Power(ring.node(k.argument), Number(Fraction(n))) if n > 0 else
            Quotient(ONE, Power(ring.node(k.argument), Number(Fraction(-n))))
            for k, n in zip(kernels, coefficients, strict=True)
            if k.argument is not None
        ]  # fmt: skip
        right = Call("exp", (Negative(ring.polynomial_node(rest)),))
        return self._superset(minus(Product(tuple(powers)), right), depth, known)

    def _angles(
        self, ring: Ring, factor: Any, kernels: list[Kernel], depth: int, known: Mapping[str, Any]
    ) -> list[Branch]:
        """sum n u + c = 0 with inverse angles u gives sin(sum n u + c) = 0, which is algebraic."""
        coefficients, rest = _linear(ring, factor, kernels)
        if sum(map(abs, coefficients)) > 4:
            raise Unsolved("too many inverse trigonometric functions")
        constant = ring.polynomial_node(rest)
        sine: Node = Call("sin", (constant,)) if constant != ZERO else ZERO
        cosine: Node = Call("cos", (constant,)) if constant != ZERO else ONE
        for kernel, n in zip(kernels, coefficients, strict=True):
            assert kernel.argument is not None
            s, c = sine_and_cosine(kernel.kind, ring.node(kernel.argument))
            if n < 0:
                s = Negative(s)
            for _ in range(abs(n)):
                sine, cosine = (
                    Sum((Product((sine, c)), Product((cosine, s)))),
                    Sum((Product((cosine, c)), Negative(Product((sine, s))))),
                )
        return self._superset(sine, depth, known)

    def _through_log(
        self, ring: Ring, factor: Any, kernel: Kernel, depth: int, known: Mapping[str, Any]
    ) -> list[Branch]:
        """With u = log(c x + d), x = (exp(u) - d)/c turns the equation into one for u."""
        assert kernel.argument is not None
        parts = linear_parts(ring.node(kernel.argument), self.unknown)
        if parts is None:
            raise Unsolved("the unknown stands beside a logarithm in no form of Lambert's equation")
        inner, a, b, below = parts
        slope, shift = quotient_node(inner, a, below), quotient_node(inner, b, below)
        u = "logarithm_u"

        def back(value: Node) -> Node:
            return tidied(Quotient(minus(Call("exp", (value,)), shift), slope))

        body = ring.polynomial_node(factor)
        body = put(_exchange(body, kernel.node, Symbol(u)), {self.unknown: back(Symbol(u))})
        solver = Solver(u, self.real)
        solver.count = self.count + 100
        found = solver.branches(body, depth + 1, known)
        if any(branch.period is not None for branch in found):
            raise Unsolved("infinitely many solutions over the complex numbers", "choose the domain real")
        return [Branch(replace(b.candidate, node=back(b.candidate.node))) for b in found]


def _linear(ring: Ring, factor: Any, kernels: list[Kernel]) -> tuple[list[int], Any]:
    """Return whole coefficients of kernels that occur linearly, and the rest."""
    from flint import fmpq

    rest, found = factor, []
    for kernel in kernels:
        parts = by_powers(ring, rest, kernel.index)
        if len(parts) != 2 or not parts[1].is_constant():
            raise Unsolved("no exact method covers this mixture of functions of the unknown")
        found.append(parts[1].leading_coefficient())
        rest = parts[0]
    scale = Fraction(lcm(*(int(c.denom()) for c in found)), gcd(*(int(c.numer()) for c in found)))
    whole = [int(Fraction(int(c.numer()), int(c.denom())) * scale) for c in found]
    return whole, rest * fmpq(scale.numerator, scale.denominator)


def _bounded(ring: Ring, polynomial: Any) -> None:
    several = len(ring.used(polynomial)) > 1
    if several and (len(polynomial) > FACTOR_TERMS or polynomial.total_degree() > FACTOR_DEGREE):
        raise Unsolved("the equation is too large for exact methods", "put numbers in, or use find_all_roots")


def _name_of(node: Node) -> str:
    return node.function if isinstance(node, Call) else type(node).__name__.lower()


def _exchange(node: Node, old: Node, new: Node) -> Node:
    from maven_env.expressions.tree import rebuild

    return new if node == old else rebuild(node, lambda part: _exchange(part, old, new))


def _is_zero(node: Node, decimals: Mapping[str, Any]) -> bool:
    for bits in (BITS, 2_200):
        with precision(bits):
            try:
                if not ball(node, {name: root.refined(bits) for name, root in decimals.items()}).contains(0):
                    return False
            except Undecided:
                continue
    return True
