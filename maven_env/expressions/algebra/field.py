"""Exact arithmetic on expressions: fractions of polynomials over the rationals, in python-flint.

The generators are the symbols, constants and functions that occur. Known relations (I^2 = -1, sqrt(2)^2 = 2,
sin^2 + cos^2 = 1, exp(2*t) = exp(t)^2) are reduced, so cancellation is seen; where generators may hide further
relations, a value counts as non-zero only if ball arithmetic proves it at a point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions.algebra.elements import TERMS, Element
from maven_env.expressions.algebra.generators import (
    common_factor,
    exponential,
    factored,
    is_plain,
    monomials,
    outside,
    product,
    radicands,
    raised,
    rank,
    root,
    scaled,
)
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import (
    ONE,
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    free_symbols,
    rational_value,
)

__all__ = ["Element", "Field"]

WORK = 3_000_000  # products of terms in all
_ANGLES = 16  # largest multiple of an angle
_COEFFICIENT_BITS = 3_300  # about 1000 digits, what a literal may have


@dataclass(frozen=True, slots=True)
class _Generator:
    """One generator: the expression it stands for, and its relation g^degree = radicand (of a sine, its cosine)."""

    node: Node
    degree: int = 0
    radicand: Node | None = None


class Field:
    """The field of fractions that the given expressions live in. Raises ToolError for what is no finite expression.

    `algebraic` gives symbols that stand for a root: name -> (degree d, value of its d-th power by lower powers), of an
    irreducible polynomial.
    """

    def __init__(self, nodes: Iterable[Node], algebraic: Mapping[str, tuple[int, Node]] | None = None) -> None:
        from flint import fmpq_mpoly_ctx

        self._algebraic = algebraic or {}

        self.work = 0
        self._keys: dict[Node, _Generator] = {}
        self._common: dict[Node, Fraction] = {}  # common rational factor of all c in exp(c*m), b^(c*m), sin(c*m)
        nodes = tuple(nodes)
        for node in nodes:
            self._collect(node)
        order = sorted(self._keys, key=lambda node: (rank(node), to_text(node)))
        self.generators = tuple(self._keys[node] for node in order)
        self._index = {node: i for i, node in enumerate(order)}
        self._ring = fmpq_mpoly_ctx.get([f"g{i}" for i in range(max(1, len(order)))], "lex")
        self._gens = self._ring.gens()
        self.zero = Element(self, self._ring.constant(0), self._ring.constant(1))
        self.one = Element(self, self._ring.constant(1), self._ring.constant(1))
        self.canonical = self._is_canonical()
        self._relations: tuple[tuple[int, int, Any, bool], ...] = ()
        self._relations = tuple(self._prepare())

    # ---- generators --------------------------------------------------------------------------------------------------
    def _collect(self, node: Node) -> None:
        match node:
            case Number():
                return
            case Symbol(name):
                self._keys.setdefault(node, _Generator(node, *self._algebraic.get(name, ())))
            case Constant("oo"):
                raise ToolError("UNDEFINED_VALUE", "an infinite entry has no exact arithmetic", "use finite entries")
            case Constant(name):
                self._keys.setdefault(
                    node, _Generator(node, 2, Number(Fraction(-1))) if name == "I" else _Generator(node)
                )
            case Sum(items) | Product(items):
                for item in items:
                    self._collect(item)
            case Quotient(a, b):
                self._collect(a)
                self._collect(b)
            case Negative(a):
                self._collect(a)
            case Power(a, b):
                exponent = rational_value(b)
                if exponent is None:
                    self._collect_exponential(a, b)
                else:
                    self._collect(a)
                    if exponent.denominator != 1:
                        self._collect_root(a, exponent.denominator)
            case Call("sqrt", (a,)):
                self._collect(a)
                self._collect_root(a, 2)
            case Call("exp", (a,)):
                self._collect_exponential(None, a)
            case Call("sin" | "cos", (a,)):
                coefficient, factors = factored(a)
                if coefficient == 0:
                    return
                inner = product([], factors) if factors else ONE
                cosine, sine = Call("cos", (inner,)), Call("sin", (inner,))
                self._share(cosine, coefficient)
                self._keys.setdefault(cosine, _Generator(cosine))
                self._keys.setdefault(sine, _Generator(sine, 2, cosine))
            case Relation():
                raise ToolError("BAD_INPUT", "a relation is no entry of a matrix", "give an expression")
            case _:
                self._keys.setdefault(node, _Generator(node))

    def _collect_exponential(self, base: Node | None, exponent: Node) -> None:
        """Note the powers of exp(1) or of a base by the monomials of the exponent; a rational base stays as it is."""
        if base is not None:
            self._collect(base)
        for monomial, coefficient in monomials(exponent):
            if base is not None and monomial == ONE:
                if coefficient.denominator != 1:
                    self._collect_root(base, coefficient.denominator)
                continue
            key = exponential(base, monomial)
            self._share(key, coefficient)
            self._keys.setdefault(key, _Generator(key))

    def _share(self, key: Node, coefficient: Fraction) -> None:
        known = self._common.get(key)
        if coefficient:
            self._common[key] = abs(coefficient) if known is None else common_factor(known, coefficient)

    def _collect_root(self, base: Node, degree: int) -> None:
        value = rational_value(base)
        for part in (base,) if value is None else map(Number, radicands(value, degree)):
            key = Constant("I") if part == Number(Fraction(-1)) and degree == 2 else root(part, degree)
            self._keys.setdefault(key, _Generator(key, degree, part))

    def _is_canonical(self) -> bool:
        """Whether an element is zero only if its numerator is, because no relation is hidden."""
        trig = any(isinstance(g.node, Call) and g.node.function in ("sin", "cos") for g in self.generators)
        arguments = {g.node.arguments for g in self.generators if isinstance(g.node, Call) and g.node.function == "sin"}
        for generator in self.generators:
            node = generator.node
            match node:
                case Symbol() | Constant():
                    fine = not (trig and node == Constant("I"))
                case Call("sqrt", (Number(),)):
                    fine = True
                case Call("exp", (m,)):
                    fine = not trig and is_plain(m)
                case Call("sin" | "cos", (m,)):
                    fine = isinstance(m, Symbol) and len(arguments) == 1
                case _:
                    fine = False
            if not fine:
                return False
        return True

    def _prepare(self) -> Iterator[tuple[int, int, Any, bool]]:
        """Yield the relations, last generator first: index, degree, radicand, whether it is a constant."""
        for i in reversed(range(len(self.generators))):
            generator = self.generators[i]
            if generator.radicand is None:
                continue
            node = generator.node
            if isinstance(node, Call) and node.function == "sin":
                value = self.one - self.generator(generator.radicand).power(2)
            else:
                value = self.element(generator.radicand)
            if value.den.is_constant() and value.den == 1:
                yield i, generator.degree, value.num, rational_value(generator.radicand) is not None

    # ---- in ----------------------------------------------------------------------------------------------------------
    def element(self, node: Node) -> Element:
        """Return the element that an expression stands for. Raises UNDEFINED_VALUE for a division by zero."""
        exact = rational_value(node)
        if exact is not None:
            return self.constant(exact)
        match node:
            case Sum(items):
                total = self.zero
                for item in items:
                    total = total + self.element(item)
                return total
            case Product(items):
                total = self.one
                for item in items:
                    total = total * self.element(item)
                return total
            case Negative(a):
                return -self.element(a)
            case Quotient(a, b):
                return self.element(a) / self.element(b)
            case Power(a, b):
                exponent = rational_value(b)
                if exponent is None:
                    return self._exponential(a, b)
                return self._rational_power(a, exponent)
            case Call("sqrt", (a,)):
                return self._radical(a, 2)
            case Call("exp", (a,)):
                return self._exponential(None, a)
            case Call("sin" | "cos" as name, (a,)):
                return self._multiple_angle(name, a)
            case _:
                return self.generator(node)

    def constant(self, value: Fraction) -> Element:
        from flint import fmpq

        return Element(self, self._ring.constant(fmpq(value.numerator, value.denominator)), self.one.num)

    def from_terms(self, terms: Mapping[tuple[int, ...], Any]) -> Element:
        """Return the polynomial with these coefficients by powers of the generators."""
        return Element(self, self._ring.from_dict(dict(terms)), self.one.num)

    def generator(self, node: Node) -> Element:
        """Return the element of one of the generators, by its node."""
        return Element(self, self._gens[self._index[node]], self.one.num)

    def _exponential(self, base: Node | None, exponent: Node) -> Element:
        total = self.one
        for monomial, coefficient in monomials(exponent):
            if base is not None and monomial == ONE:
                total = total * self._rational_power(base, coefficient)
                continue
            key = exponential(base, monomial)
            total = total * self.generator(key).power((coefficient / self._common[key]).numerator)
        return total

    def _rational_power(self, base: Node, exponent: Fraction) -> Element:
        if exponent.denominator == 1:
            return self.element(base).power(exponent.numerator)
        return self._radical(base, exponent.denominator).power(exponent.numerator)

    def _multiple_angle(self, name: str, argument: Node) -> Element:
        """Write sin or cos of k times an angle by sin and cos of the angle."""
        coefficient, factors = factored(argument)
        if coefficient == 0:
            return self.zero if name == "sin" else self.one
        inner = product([], factors) if factors else ONE
        cosine, sine = Call("cos", (inner,)), Call("sin", (inner,))
        k = (coefficient / self._common[cosine]).numerator
        if abs(k) > _ANGLES:
            raise LimitExceeded("size", f"angles that are {abs(k)} times another are beyond {_ANGLES}", "use one angle")
        c, s = self.generator(cosine), self.generator(sine)
        real, imaginary = self.one, self.zero
        for _ in range(abs(k)):
            real, imaginary = real * c - imaginary * s, real * s + imaginary * c
        return real if name == "cos" else -imaginary if k < 0 else imaginary

    def _radical(self, base: Node, degree: int) -> Element:
        value = rational_value(base)
        if value is None:
            return self.generator(root(base, degree))
        if value == 0:
            return self.zero
        total = self.constant(outside(value, degree))
        for part in radicands(value, degree):
            key = Constant("I") if part == -1 and degree == 2 else root(Number(part), degree)
            total = total * self.generator(key)
        return total

    # ---- arithmetic --------------------------------------------------------------------------------------------------
    def charge(self, a: Any, b: Any) -> None:
        """Count the work of a product before it is done."""
        cost = len(a) * len(b)
        self.work += cost
        if self.work > WORK or cost > 20 * TERMS:
            raise LimitExceeded(
                "size", "the exact entries grow beyond the bound", "put numbers for symbols, or use fewer"
            )

    def reduce(self, polynomial: Any) -> Any:
        """Apply the relations to a polynomial."""
        changed = bool(self._relations)
        while changed and not polynomial.is_zero():
            changed = False
            for index, degree, radicand, _ in self._relations:
                if polynomial.degrees()[index] >= degree:
                    polynomial = self._fold(polynomial, index, degree, radicand)
                    changed = True
        if len(polynomial) > TERMS:
            raise LimitExceeded("size", f"an exact result has more than {TERMS} terms", "put numbers for symbols")
        return polynomial

    def _fold(self, polynomial: Any, index: int, degree: int, radicand: Any) -> Any:
        groups: dict[int, dict[tuple[int, ...], Any]] = {}
        for powers, coefficient in polynomial.to_dict().items():
            times = int(powers[index]) // degree
            rest = (*powers[:index], int(powers[index]) % degree, *powers[index + 1 :])
            group = groups.setdefault(times, {})
            group[rest] = group.get(rest, 0) + coefficient
        total = self._ring.constant(0)
        for times, group in groups.items():
            part = self._ring.from_dict(group)
            factor = radicand**times
            self.charge(part, factor)
            total = total + part * factor
        return total

    def fraction(self, num: Any, den: Any) -> Element:
        """Return num/den in lowest terms, free of constant radicals in the denominator, with a monic denominator."""
        num, den = self.reduce(num), self.reduce(den)
        if den.is_zero():
            raise ToolError("UNDEFINED_VALUE", "a division by zero occurs", "check the entries")
        if num.is_zero():
            return self.zero
        num, den = _cancelled(num, den)
        if not den.is_constant():
            num, den = _cancelled(*self._rationalised(num, den))
        lead = den.leading_coefficient()
        return Element(self, num / lead, den / lead) if lead != 1 else Element(self, num, den)

    def _rationalised(self, num: Any, den: Any) -> tuple[Any, Any]:
        """Free a closed denominator of constant square roots; beside symbols that would only make it longer."""
        if any(free_symbols(self.generators[i].node) for i in self.used(den)):
            return num, den
        for index, degree, _, constant in self._relations:
            if degree == 2 and constant and den.degrees()[index] == 1:
                other = self._conjugate(den, index)
                self.charge(num, other)
                self.charge(den, other)
                num, den = self.reduce(num * other), self.reduce(den * other)
        return num, den

    def _conjugate(self, polynomial: Any, index: int) -> Any:
        return self._ring.from_dict({p: -c if int(p[index]) % 2 else c for p, c in polynomial.to_dict().items()})

    # ---- out ---------------------------------------------------------------------------------------------------------
    def polynomial_text(self, polynomial: Any) -> str:
        """Write a polynomial in the grammar, terms in lexical order."""
        if polynomial.is_zero():
            return "0"
        text = ""
        for powers, coefficient in polynomial.terms():
            negative = coefficient < 0
            term = self._term(powers, -coefficient if negative else coefficient)
            if not text:
                text = f"-{term}" if negative else term
            else:
                text += f" - {term}" if negative else f" + {term}"
        return text

    def _term(self, powers: Any, coefficient: Any) -> str:
        if max(coefficient.p.bit_length(), coefficient.q.bit_length()) > _COEFFICIENT_BITS:
            raise LimitExceeded("size", "an exact result has numbers of more than 1000 digits", "use a numeric tool")
        parts = [] if coefficient.p == 1 else [str(coefficient.p)]
        radicand = 1
        for i, power in enumerate(powers):
            if power:
                match self.generators[i].node:
                    case Call("sqrt", (Number(prime),)):
                        radicand *= prime.numerator
                    case _:
                        parts.append(self._power_text(i, int(power)))
        if radicand > 1:
            parts.append(f"sqrt({radicand})")
        text = "*".join(parts) or "1"
        return text if coefficient.q == 1 else f"{text}/{coefficient.q}"

    def _power_text(self, index: int, power: int) -> str:
        node = self.generators[index].node
        match node:
            case Call("exp", _) | Power(_, _) if node in self._common:
                return to_text(raised(node, self._common[node] * power))
            case Power(base, exponent):
                return to_text(Power(base, Number(power * (rational_value(exponent) or Fraction(1)))))
            case _:
                shown = self.standing_for(index)
                return to_text(shown) if power == 1 else to_text(Power(shown, Number(Fraction(power))))

    def standing_for(self, index: int) -> Node:
        """Return the expression that a generator stands for."""
        node = self.generators[index].node
        match node:
            case Call("sin" | "cos" as name, (inner,)):
                return Call(name, (scaled(inner, self._common.get(Call("cos", (inner,)), Fraction(1))),))
            case _:
                return raised(node, self._common[node]) if node in self._common else node

    def used(self, *polynomials: Any) -> list[int]:
        """Return the indices of the generators that occur."""
        count = len(self.generators)
        return [i for i in range(count) if any(not p.is_zero() and p.degrees()[i] > 0 for p in polynomials)]


def _cancelled(num: Any, den: Any) -> tuple[Any, Any]:
    """Divide out the greatest common divisor of two polynomials."""
    if den.is_constant():
        return num, den
    common = num.gcd(den)
    return (num, den) if common.is_one() else (num / common, den / common)
