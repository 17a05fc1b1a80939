"""Roots of polynomials over kernels as candidates for solutions: trees with rigorous values to any precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.algebra.algebraic import Factor, Root, decimal_text, roots_of
from maven_env.expressions.algebra.kernels import Kernel, Ratio, Ring, rational_of
from maven_env.expressions.balls import MAX_BITS, Undecided, ball, precision
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import Call, Node, Symbol, free_symbols

BITS = 420  # of a first look: about 60 digits and a wide margin
DIGITS = 60  # of decimals in exact output


@dataclass(frozen=True)
class Candidate:
    """A value for the unknown. Symbols of `node` named in `decimals` stand for roots that have no short radicals."""

    node: Node
    decimals: Mapping[str, Any] = field(default_factory=dict)  # name -> Root
    multiplicity: int = 1

    @property
    def parameters(self) -> list[str]:
        return sorted(free_symbols(self.node) - set(self.decimals))

    @property
    def is_exact(self) -> bool:
        return not self.decimals

    def ball(self, bits: int, values: Mapping[str, Any] | None = None) -> Any:
        """Return an acb of the value. Raises Undecided."""
        with precision(bits):
            return ball(self.node, {**(values or {}), **self.known(bits)})

    def known(self, bits: int) -> dict[str, Any]:
        return {name: root.refined(bits) for name, root in self.decimals.items()}

    @property
    def text(self) -> str:
        text = to_text(self.node)
        for name, root in self.decimals.items():
            text = root.text if text == name else text.replace(name, f"({root.text})")
        return text

    def is_real(self) -> bool:
        """Return whether a closed value is real; what is so to 600 digits is taken for it."""
        for bits in (BITS, 2_200):
            imaginary = self.ball(bits).imag
            if imaginary == 0:
                return True
            if not imaginary.contains(0):
                return False
        return True

    def value(self) -> float | complex:
        """Return the nearest double, or pair of doubles."""
        found = self.ball(BITS)
        re, im = (0.0 if part.contains(0) else float(part.mid()) for part in (found.real, found.imag))
        return complex(re, im) if im else re


def of_root(root: Root, name: str) -> Candidate:
    if root.node is not None:
        return Candidate(root.node, {}, root.multiplicity)
    return Candidate(Symbol(name), {name: root}, root.multiplicity)


def sign_of(node: Node, decimals: Mapping[str, Any]) -> int | None:
    """Return the sign of a closed real value, 0 only if it is exactly zero; None if it is not real or undecided."""
    bits = 128
    while bits <= MAX_BITS:
        try:
            with precision(bits):
                found = ball(node, {name: root.refined(bits) for name, root in decimals.items()})
        except Undecided:
            return None
        if not found.imag.contains(0):
            return None
        if found.real > 0:
            return 1
        if found.real < 0:
            return -1
        if found.real == 0:
            return 0
        bits *= 4
    return None


def ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Sort closed candidates by real, then imaginary part; with parameters they keep their order."""
    if any(candidate.parameters for candidate in candidates):
        return candidates
    balls = {id(candidate): candidate.ball(BITS) for candidate in candidates}

    def compare(a: Candidate, b: Candidate) -> int:
        x, y = balls[id(a)], balls[id(b)]
        for p, q in ((x.real, y.real), (x.imag, y.imag)):
            if not p.overlaps(q):
                return -1 if p < q else 1
        return 0

    return sorted(candidates, key=cmp_to_key(compare))


def by_powers(ring: Ring, polynomial: Any, index: int) -> list[Any]:
    """Return the coefficients of the powers of one generator, ascending."""
    parts: list[dict[Any, Any]] = [{} for _ in range(max(int(polynomial.degrees()[index]), 0) + 1)]
    for exponents, coefficient in polynomial.to_dict().items():
        key = (*exponents[:index], 0, *exponents[index + 1 :])
        parts[int(exponents[index])][key] = coefficient
    return [ring.ctx.from_dict(part) for part in parts]


def univariate(polynomial: Any, index: int) -> Any:
    """Return the fmpq_poly of a polynomial in one generator alone."""
    from flint import fmpq_poly

    coefficients = [0] * (int(polynomial.degrees()[index]) + 1)
    for exponents, coefficient in polynomial.to_dict().items():
        coefficients[int(exponents[index])] = coefficient
    return fmpq_poly(coefficients)


class ClosedPolynomial:
    """A polynomial whose coefficients are closed irrational trees; its roots are isolated with balls."""

    def __init__(self, coefficients: list[Node]) -> None:
        self.coefficients = coefficients

    def complex_roots(self) -> list[tuple[Any, int]]:
        """Return isolating balls at the precision in force. Raises UNSOLVED if some roots cannot be told apart."""
        from flint import acb, acb_poly, arb, ctx

        values = [ball(c, {}) for c in self.coefficients]
        if values[-1].contains(0):
            raise ToolError("UNSOLVED", "the leading coefficient cannot be told from zero", "simplify the coefficients")
        try:
            found = acb_poly(values).roots(tol=arb(2) ** -(ctx.prec * 3 // 4))
        except ValueError:
            hint = "simplify the coefficients, or replace them by decimals"
            raise ToolError("UNSOLVED", "some roots coincide or cannot be told apart", hint) from None
        if all(v.imag == 0 for v in values):
            found = [self._settled(root, found) for root in found]
        return [(root if root != 0 else acb(0), 1) for root in found]

    @staticmethod
    def _settled(root: Any, others: list[Any]) -> Any:
        """A ball of a real polynomial that alone meets its own mirror image holds a real root."""
        from flint import acb

        mirror = acb(root.real, -root.imag)
        if sum(1 for other in others if other.overlaps(mirror)) == 1 and root.imag.contains(0):
            return acb(root.real)
        return root


def roots_of_factor(ring: Ring, factor: Any, kernel: Kernel, multiplicity: int, prefix: str) -> list[Candidate]:
    """Return the roots of an irreducible polynomial in the generator of `kernel`; other kernels are coefficients.

    All of them, for coefficients where the leading one is not zero. Raises UNSOLVED where no formula is used.
    """
    coefficients = by_powers(ring, factor, kernel.index)
    if all(c.is_constant() or c == 0 for c in coefficients):
        roots = roots_of(univariate(factor, kernel.index), DIGITS)
        return [_raised(of_root(root, f"{prefix}{i}_"), multiplicity) for i, root in enumerate(roots)]
    degree = len(coefficients) - 1
    is_closed = not any(k.kind == "symbol" or free_symbols(k.node) for c in coefficients for k in ring.used(c))
    if degree == 1:
        ratios = [_quotient(ring, -coefficients[0], coefficients[1])]
    elif degree == 2:
        ratios = _quadratic(ring, *coefficients)
    elif is_closed:
        return _isolated(ring, coefficients, multiplicity, prefix)
    elif not any(c != 0 for c in coefficients[1:-1]):
        return [
            Candidate(node, {}, multiplicity) for node in _pure_power(ring, coefficients[0], coefficients[-1], degree)
        ]
    else:
        message = f"degree {degree} with symbolic coefficients has no short formula"
        raise ToolError("UNSOLVED", message, "substitute numbers for the parameters")
    if is_closed and sign_of(Call("Abs", (ring.polynomial_node(coefficients[-1]),)), {}) != 1:
        raise ToolError("UNSOLVED", "the leading coefficient cannot be told from zero", "simplify the coefficients")
    repeated = multiplicity * (degree // len(ratios))  # a quadratic without discriminant has one double root
    return [Candidate(ring.node(ratio), {}, repeated) for ratio in ratios]


def _raised(candidate: Candidate, multiplicity: int) -> Candidate:
    return Candidate(candidate.node, candidate.decimals, candidate.multiplicity * multiplicity)


def _quotient(ring: Ring, top: Any, bottom: Any) -> Ratio:
    return ring.multiply(Ratio(top, ring.one), Ratio(ring.one, bottom))


def _quadratic(ring: Ring, c: Any, b: Any, a: Any) -> list[Ratio]:
    """Return both roots of a x^2 + b x + c, the minus sign first; squares are drawn out of the discriminant."""
    if a.leading_coefficient() < 0:
        a, b, c = -a, -b, -c
    discriminant = ring.reduced(b * b - 4 * a * c)
    if discriminant == 0:
        return [_quotient(ring, -b, 2 * a)]
    outside, surd = root_of_polynomial(ring, discriminant)
    step = ring.multiply(Ratio(outside, ring.one), surd)
    below = Ratio(ring.one, 2 * a)
    minus = Ratio(-step.top, step.bottom)
    return [ring.multiply(ring.add(Ratio(-b, ring.one), part), below) for part in (minus, step)]


def root_of_polynomial(ring: Ring, polynomial: Any) -> tuple[Any, Ratio]:
    """Return (s, r) with s*r a square root of `polynomial` up to sign, s a polynomial."""
    content, factors = polynomial.factor()
    outside, inside = ring.one, ring.ctx.constant(content)
    for factor, power in factors:
        outside = outside * factor ** (int(power) // 2)
        inside = inside * factor ** (int(power) % 2)
    value = rational_of(Ratio(inside, ring.one))
    if value is not None:
        return outside, ring.surd(value, 2)
    common = _square_content(inside)
    inside = inside / ring.ctx.constant(common[0])
    outside = outside * ring.ctx.constant(common[1])
    node = Call("sqrt", (ring.polynomial_node(inside),))
    kernel = ring.kernel(("surd of", str(inside)), "root", node, Ratio(inside, ring.one), 2)
    return outside, ring.generator(kernel)


def _square_content(polynomial: Any) -> tuple[Any, Any]:
    """Return (q^2, q) for the largest rational square that divides every coefficient."""
    from math import gcd, lcm

    from flint import fmpq

    from maven_env.expressions.algebra.algebraic import square_part

    values = [Fraction(int(c.numer()), int(c.denom())) for c in polynomial.coeffs()]
    top, bottom = gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values))
    s, d = square_part(top)[0], square_part(bottom)[0]
    while bottom % (d * d):  # pragma: no cover - square_part divides by construction
        d = 1
    q = Fraction(s, d) if square_part(bottom)[1] == 1 else Fraction(s)
    return fmpq(q.numerator**2, q.denominator**2), fmpq(q.numerator, q.denominator)


def _pure_power(ring: Ring, low: Any, high: Any, degree: int) -> list[Node]:
    """Return the solutions of high*x^degree + low = 0 as principal roots times roots of unity."""
    from maven_env.expressions.algebra.algebraic import product_text, unit
    from maven_env.expressions.parser import parse

    base = to_text(ring.node(_quotient(ring, -low, high)))
    if degree > 12:
        raise ToolError(
            "UNSOLVED", f"degree {degree} with symbolic coefficients", "substitute numbers for the parameters"
        )
    return [parse(product_text(f"({base})^(1/{degree})", unit(Fraction(j, degree)))) for j in range(degree)]


def _isolated(ring: Ring, coefficients: list[Any], multiplicity: int, prefix: str) -> list[Candidate]:
    factor = Factor(ClosedPolynomial([ring.polynomial_node(c) for c in coefficients]))
    candidates = []
    for i, isolating in enumerate(factor.roots(BITS + 200)):
        root = Root(decimal_text(isolating, DIGITS), None, isolating.imag == 0, multiplicity, isolating, factor)
        candidates.append(of_root(root, f"{prefix}{i}_"))
    return candidates
