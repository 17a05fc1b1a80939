"""Exact arithmetic on expressions: fractions of polynomials over the rationals, in python-flint.

The generators are the symbols, constants and functions that occur. Known relations (I^2 = -1, sqrt(2)^2 = 2,
sin^2 + cos^2 = 1, exp(2*t) = exp(t)^2) are reduced, so cancellation is seen; where generators may hide further
relations, a value counts as non-zero only if ball arithmetic proves it at a point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.numeric import float_of
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

WORK = 3_000_000  # products of terms in all
TERMS = 5_000  # of one polynomial
_EXPONENT = 200  # of one integer power
_RADICAND_BITS = 96  # that are factored into primes
_SAMPLES = ((3, 7), (5, 11), (13, 9), (2, 17), (19, 23))  # rational points for the proof that a value is not zero
_BITS = 192
_ANGLES = 16  # largest multiple of an angle
_COEFFICIENT_BITS = 3_300  # about 1000 digits, what a literal may have


@dataclass(frozen=True, slots=True)
class _Generator:
    """One generator: the expression it stands for, and its relation g^degree = radicand."""

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
        order = sorted(self._keys, key=lambda node: (_rank(node), to_text(node)))
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
                coefficient, factors = _factored(a)
                inner = _product([], factors) if factors else ONE
                cosine, sine = Call("cos", (inner,)), Call("sin", (inner,))
                self._share(cosine, coefficient)
                self._keys.setdefault(cosine, _Generator(cosine))
                self._keys.setdefault(
                    sine, _Generator(sine, 2, Sum((ONE, Negative(Power(cosine, Number(Fraction(2)))))))
                )
            case Relation():
                raise ToolError("BAD_INPUT", "a relation is no entry of a matrix", "give an expression")
            case _:
                self._keys.setdefault(node, _Generator(node))

    def _collect_exponential(self, base: Node | None, exponent: Node) -> None:
        """Note the powers of exp(1) or of a base by the monomials of the exponent; a rational base stays as it is."""
        if base is not None:
            self._collect(base)
        for monomial, coefficient in _monomials(exponent):
            if base is not None and monomial == ONE:
                if coefficient.denominator != 1:
                    self._collect_root(base, coefficient.denominator)
                continue
            key = _exponential(base, monomial)
            self._share(key, coefficient)
            self._keys.setdefault(key, _Generator(key))

    def _share(self, key: Node, coefficient: Fraction) -> None:
        known = self._common.get(key)
        if coefficient:
            self._common[key] = abs(coefficient) if known is None else _common_factor(known, coefficient)

    def _collect_root(self, base: Node, degree: int) -> None:
        value = rational_value(base)
        for part in (base,) if value is None else map(Number, _radicands(value, degree)):
            key = Constant("I") if part == Number(Fraction(-1)) and degree == 2 else _root(part, degree)
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
                    fine = not trig and _is_plain(m)
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
                return self._generator(node)

    def constant(self, value: Fraction) -> Element:
        from flint import fmpq

        return Element(self, self._ring.constant(fmpq(value.numerator, value.denominator)), self.one.num)

    def from_terms(self, terms: Mapping[tuple[int, ...], Any]) -> Element:
        """Return the polynomial with these coefficients by powers of the generators."""
        return Element(self, self._ring.from_dict(dict(terms)), self.one.num)

    def _generator(self, node: Node) -> Element:
        return Element(self, self._gens[self._index[node]], self.one.num)

    def _exponential(self, base: Node | None, exponent: Node) -> Element:
        total = self.one
        for monomial, coefficient in _monomials(exponent):
            if base is not None and monomial == ONE:
                total = total * self._rational_power(base, coefficient)
                continue
            key = _exponential(base, monomial)
            total = total * self._generator(key).power((coefficient / self._common[key]).numerator)
        return total

    def _rational_power(self, base: Node, exponent: Fraction) -> Element:
        if exponent.denominator == 1:
            return self.element(base).power(exponent.numerator)
        return self._radical(base, exponent.denominator).power(exponent.numerator)

    def _multiple_angle(self, name: str, argument: Node) -> Element:
        """Write sin or cos of k times an angle by sin and cos of the angle."""
        coefficient, factors = _factored(argument)
        if coefficient == 0:
            return self.zero if name == "sin" else self.one
        inner = _product([], factors) if factors else ONE
        cosine, sine = Call("cos", (inner,)), Call("sin", (inner,))
        k = (coefficient / self._common[cosine]).numerator
        if abs(k) > _ANGLES:
            raise LimitExceeded("size", f"angles that are {abs(k)} times another are beyond {_ANGLES}", "use one angle")
        c, s = self._generator(cosine), self._generator(sine)
        real, imaginary = self.one, self.zero
        for _ in range(abs(k)):
            real, imaginary = real * c - imaginary * s, real * s + imaginary * c
        return real if name == "cos" else -imaginary if k < 0 else imaginary

    def _radical(self, base: Node, degree: int) -> Element:
        value = rational_value(base)
        if value is None:
            return self._generator(_root(base, degree))
        if value == 0:
            return self.zero
        total = self.constant(_outside(value, degree))
        for part in _radicands(value, degree):
            key = Constant("I") if part == -1 and degree == 2 else _root(Number(part), degree)
            total = total * self._generator(key)
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
        if not den.is_constant():
            num, den = self._rationalised(num, den)
            common = num.gcd(den)
            if not common.is_one():
                num, den = num / common, den / common
        lead = den.leading_coefficient()
        return Element(self, num / lead, den / lead) if lead != 1 else Element(self, num, den)

    def _rationalised(self, num: Any, den: Any) -> tuple[Any, Any]:
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
                return to_text(_raised(node, self._common[node] * power))
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
                return Call(name, (_scaled(inner, self._common.get(Call("cos", (inner,)), Fraction(1))),))
            case _:
                return _raised(node, self._common[node]) if node in self._common else node

    def used(self, *polynomials: Any) -> list[int]:
        """Return the indices of the generators that occur."""
        count = len(self.generators)
        return [i for i in range(count) if any(not p.is_zero() and p.degrees()[i] > 0 for p in polynomials)]


class Element:
    """A fraction of two polynomials in lowest terms."""

    __slots__ = ("den", "field", "num")

    def __init__(self, field: Field, num: Any, den: Any) -> None:
        self.field, self.num, self.den = field, num, den

    def __add__(self, other: Element) -> Element:
        field = self.field
        if self.den == other.den:
            num = self.num + other.num
            return Element(field, field.reduce(num), self.den) if self.den.is_one() else field.fraction(num, self.den)
        field.charge(self.num, other.den)
        field.charge(other.num, self.den)
        return field.fraction(self.num * other.den + other.num * self.den, self.den * other.den)

    def __neg__(self) -> Element:
        return Element(self.field, -self.num, self.den)

    def __sub__(self, other: Element) -> Element:
        return self + (-other)

    def __mul__(self, other: Element) -> Element:
        field = self.field
        field.charge(self.num, other.num)
        if self.den.is_one() and other.den.is_one():
            return Element(field, field.reduce(self.num * other.num), self.den)
        field.charge(self.den, other.den)
        return field.fraction(self.num * other.num, self.den * other.den)

    def __truediv__(self, other: Element) -> Element:
        if other.is_zero():
            raise ToolError("UNDEFINED_VALUE", "a division by zero occurs", "check the entries")
        self.field.charge(self.num, other.den)
        self.field.charge(self.den, other.num)
        return self.field.fraction(self.num * other.den, self.den * other.num)

    def power(self, n: int) -> Element:
        if abs(n) > _EXPONENT and len(self.num) + len(self.den) > 2:
            raise LimitExceeded("size", f"the exponent {n} is beyond {_EXPONENT}", "use a smaller exponent")
        if n < 0:
            return self.field.one / self.power(-n)
        terms = math.comb(min(n, _EXPONENT) + len(self.num) - 1, len(self.num) - 1) if len(self.num) > 1 else 1
        if terms > TERMS:
            raise LimitExceeded("size", f"a power here has about {terms} terms", "use a smaller exponent")
        return self.field.fraction(self.num**n, self.den**n)

    def is_zero(self) -> bool:
        """Decide whether the value is identically zero. Raises UNSOLVED where that cannot be proved."""
        if self.num.is_zero():
            return True
        if self.field.canonical or self.num.is_constant() or self._is_nonzero_somewhere():
            return False
        raise ToolError(
            "UNSOLVED",
            f"it cannot be decided whether {str(self)[:200]} is zero",
            "simplify the entries first, write roots and angles in one way, or put numbers for symbols",
        )

    def is_number(self) -> bool:
        """Whether this is a rational number."""
        return bool(self.num.is_constant() and self.den.is_constant())

    def rational(self) -> Fraction:
        if self.num.is_zero():
            return Fraction(0)
        value = self.num.leading_coefficient() / self.den.leading_coefficient()
        return Fraction(int(value.p), int(value.q))

    def symbols(self) -> list[str]:
        """Return the names of the symbols that occur, sorted."""
        used = self.field.used(self.num, self.den)
        return sorted(frozenset().union(*(free_symbols(self.field.generators[i].node) for i in used)) if used else ())

    def value(self) -> complex | None:
        """Return the nearest complex double; None if symbols remain or it cannot be decided."""
        if self.num.is_zero():
            return 0j
        if self.is_number():
            return complex(float_of(self.rational()))
        if self.symbols():
            return None
        for bits in (_BITS, 4 * _BITS, 16 * _BITS):
            with precision(bits):
                try:
                    found = self._ball(self.num, {}) / self._ball(self.den, {})
                except (ToolError, ValueError, ZeroDivisionError):
                    continue
                if all(part.rel_accuracy_bits() > 60 or part == 0 for part in (found.real, found.imag)):
                    return complex(float(found.real.mid()), float(found.imag.mid()))
                if not found.real.contains(0) and found.imag.contains(0) and found.rel_accuracy_bits() > 300:
                    return complex(float(found.real.mid()), 0.0)
                if not found.imag.contains(0) and found.real.contains(0) and found.rel_accuracy_bits() > 300:
                    return complex(0.0, float(found.imag.mid()))
        return None

    def _ball(self, polynomial: Any, values: dict[str, Any]) -> Any:
        from flint import acb

        powers_of = {i: ball(self.field.standing_for(i), values) for i in self.field.used(polynomial)}
        total = acb(0)
        for powers, coefficient in polynomial.terms():
            term = acb(coefficient)
            for i, value in powers_of.items():
                if powers[i]:
                    term *= value ** int(powers[i])
            total += term
        return total

    def rational_content(self) -> Fraction:
        """Return the rational factor that factoring numerator and denominator leaves."""
        content = self.num.factor()[0] / self.den.factor()[0]
        return Fraction(int(content.p), int(content.q))

    def _is_nonzero_somewhere(self) -> bool:
        from flint import acb, fmpq

        names = self.symbols()
        for a, b in _SAMPLES if names else _SAMPLES[:1]:
            with precision(_BITS):
                values = {name: acb(fmpq(a * (i + 2) + b, b + 3 * i + 1)) for i, name in enumerate(names)}
                try:
                    total = self._ball(self.num, values)
                except (ToolError, ValueError, ZeroDivisionError):
                    continue
                if not total.contains(0):
                    return True
        return False

    def __str__(self) -> str:
        if self.den.is_one():
            return self.field.polynomial_text(self.num)
        scale = _denominator(self.den)
        scale *= _denominator(self.num * scale)
        num, den = self.num * scale, self.den * scale
        top, bottom = self.field.polynomial_text(num), self.field.polynomial_text(den)
        if len(num) > 1:
            top = f"({top})"
        powers = next(iter(den.monoms()))
        plain = len(den) == 1 and den.leading_coefficient() == 1 and sum(int(p > 0) for p in powers) == 1
        return f"{top}/{bottom}" if plain else f"{top}/({bottom})"


def _denominator(polynomial: Any) -> int:
    """Return the least common denominator of the coefficients."""
    return math.lcm(*(int(c.q) for c in polynomial.coeffs())) if len(polynomial) else 1


# ---- canonical pieces ------------------------------------------------------------------------------------------------
def _exponential(base: Node | None, monomial: Node) -> Node:
    return Call("exp", (monomial,)) if base is None else Power(base, monomial)


def _raised(node: Node, factor: Fraction) -> Node:
    """Return exp(m) or b^m with the exponent multiplied by a rational."""
    if isinstance(node, Power):
        return Power(node.base, _scaled(node.exponent, factor))
    if isinstance(node, Call) and node.function == "exp":
        return Call("exp", (_scaled(node.arguments[0], factor),))
    return node


def _rank(node: Node) -> int:
    """Symbols come first, then functions, then constants, then radicals and I."""
    match node:
        case Symbol():
            return 0
        case Constant("I"):
            return 7
        case Constant():
            return 6
        case Call("cos", _):
            return 3
        case Call("sin", _):
            return 4
        case Call("sqrt", (Number(),)) | Power(Number(), Number()):
            return 8
        case Call("sqrt", _) | Power(_, Quotient() | Number()):
            return 5
        case _:
            return 2


def _root(base: Node, degree: int) -> Node:
    return Call("sqrt", (base,)) if degree == 2 else Power(base, Number(Fraction(1, degree)))


def _radicands(value: Fraction, degree: int) -> list[Fraction]:
    """Return the radicals that the root of a rational needs: primes (with multiplicity below the degree), -1 first."""
    from flint import fmpz

    if value == 0:
        return []
    whole = abs(value.numerator) * value.denominator ** (degree - 1)
    parts = [Fraction(-1)] if value < 0 else []
    if whole.bit_length() > _RADICAND_BITS:
        raise LimitExceeded("size", "a root of a large number has no exact arithmetic here", "give it as a decimal")
    for prime, power in fmpz(whole).factor():
        parts += [Fraction(int(prime))] * (int(power) % degree)
    return parts


def _outside(value: Fraction, degree: int) -> Fraction:
    """Return the rational factor before the radicals of a root."""
    from flint import fmpz

    whole = abs(value.numerator) * value.denominator ** (degree - 1)
    outside = 1
    for prime, power in fmpz(whole).factor() if whole > 1 else ():
        outside *= int(prime) ** (int(power) // degree)
    return Fraction(outside, value.denominator)


def _product(head: list[Node], rest: list[Node]) -> Node:
    items = head + rest
    return items[0] if len(items) == 1 else Product(tuple(items))


def _monomials(node: Node) -> list[tuple[Node, Fraction]]:
    """Split an exponent into terms coefficient * monomial, as exp(a + b) = exp(a) exp(b)."""
    match node:
        case Sum(items):
            found: dict[Node, Fraction] = {}
            for item in items:
                for monomial, coefficient in _monomials(item):
                    found[monomial] = found.get(monomial, Fraction(0)) + coefficient
            return [(m, c) for m, c in found.items() if c]
        case Negative(a):
            return [(m, -c) for m, c in _monomials(a)]
        case _:
            coefficient, factors = _factored(node)
            if coefficient == 0:
                return []
            return [(_product([], factors) if factors else ONE, coefficient)]


def _factored(node: Node) -> tuple[Fraction, list[Node]]:
    """Split a product into its rational coefficient and its other factors, sorted."""
    exact = rational_value(node)
    if exact is not None:
        return exact, []
    match node:
        case Product(items):
            coefficient, factors = Fraction(1), []
            for item in items:
                c, rest = _factored(item)
                coefficient *= c
                factors += rest
            return coefficient, sorted(factors, key=to_text)
        case Negative(a):
            coefficient, factors = _factored(a)
            return -coefficient, factors
        case Quotient(a, b):
            coefficient, factors = _factored(a)
            bottom = rational_value(b)
            if bottom:
                return coefficient / bottom, factors
            if not factors:
                return coefficient, [Quotient(ONE, b)]
            return coefficient, [Quotient(_product([], factors), b)]
        case _:
            return Fraction(1), [node]


def _scaled(monomial: Node, factor: Fraction) -> Node:
    if factor == 1:
        return monomial
    if monomial == ONE:
        return Number(factor)
    top: Node = monomial if factor.numerator == 1 else Product((Number(Fraction(abs(factor.numerator))), monomial))
    value = top if factor.denominator == 1 else Quotient(top, Number(Fraction(factor.denominator)))
    return value if factor > 0 else Negative(value)


def _common_factor(a: Fraction, b: Fraction) -> Fraction:
    """Return the greatest rational of which both are integer multiples."""
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def _is_plain(node: Node) -> bool:
    """Whether a monomial is a product of symbols only, so that its exponentials are independent."""
    return isinstance(node, Symbol) or (isinstance(node, Product) and all(isinstance(f, Symbol) for f in node.factors))
