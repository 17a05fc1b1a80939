"""Roots of polynomials with rational coefficients: all of them, certified, as short radicals or as long decimals.

The polynomial is factored over the rationals; each irreducible factor has its roots isolated by python-flint, which
decides rigorously which are real. Factors of degree 1 and 2, pure powers and biquadratics are written in radicals, and
each radical is matched with its isolating ball; other roots are decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from math import gcd, isqrt
from typing import Any

from maven_env.errors import LimitExceeded
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.balls import Undecided, ball, dyadic, precision
from maven_env.expressions.parser import parse
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import Node

DEGREE = 200
COEFFICIENT_BITS = 40_000
_DEEPEST_RADICAL = 6  # x^k = u is written with radicals up to this k if u is a quadratic number


class Factor:
    """A polynomial that isolates its own roots, kept for each precision; anything with `complex_roots`."""

    def __init__(self, polynomial: Any) -> None:
        self.polynomial = polynomial
        self._known: dict[int, list[Any]] = {}

    def roots(self, bits: int) -> list[Any]:
        if bits not in self._known:
            with precision(bits):
                self._known[bits] = [_clean(found) for found, _ in complex_roots(self.polynomial)]
        return self._known[bits]


@dataclass(frozen=True)
class Root:
    """One root. `text` is exact or has `digits` digits; `node` is its tree if exact. `ball` isolates it."""

    text: str
    node: Node | None
    is_real: bool
    multiplicity: int
    ball: Any  # acb
    factor: Factor  # whose root it is

    @property
    def is_exact(self) -> bool:
        return self.node is not None

    @property
    def value(self) -> float | complex:
        """The nearest double or pair of doubles."""
        re = float(self.ball.real.mid())
        return re if self.is_real else complex(re, float(self.ball.imag.mid()))

    def refined(self, bits: int) -> Any:
        """Return an acb of the root to about `bits`."""
        return next(found for found in self.factor.roots(bits) if found.overlaps(self.ball))


def roots_of(polynomial: Any, digits: int = 60) -> list[Root]:
    """Return the distinct roots of a nonzero fmpq_poly in ascending order (real part, then imaginary part).

    Raises LimitExceeded where degree or coefficients are too large.
    """
    if polynomial.degree() > DEGREE:
        raise LimitExceeded(
            "size", f"degree {polynomial.degree()}, the bound is {DEGREE}", "factor the polynomial first"
        )
    whole = polynomial.numer()
    if whole.height_bits() > COEFFICIENT_BITS:
        raise LimitExceeded("size", f"coefficients of {whole.height_bits()} bits, the bound is {COEFFICIENT_BITS}")
    bits = max(320, int(digits * 3.33) + 96)
    found = []
    for factor, multiplicity in whole.factor()[1]:
        found += _irreducible(factor, int(multiplicity), digits, bits)
    return sorted(found, key=cmp_to_key(_order))


def _order(a: Root, b: Root) -> int:
    """Compare by real part, then imaginary part; parts that agree to all the bits known are taken as equal."""
    for x, y in ((a.ball.real, b.ball.real), (a.ball.imag, b.ball.imag)):
        if not x.overlaps(y):
            return -1 if x < y else 1
    return 0


def _irreducible(factor: Any, multiplicity: int, digits: int, bits: int) -> list[Root]:
    holder = Factor(factor)
    balls = holder.roots(bits)
    with precision(bits):
        nodes = _match(_radicals(factor), balls)
    roots = []
    for isolating, node in zip(balls, nodes, strict=True):
        text = decimal_text(isolating, digits) if node is None else to_text(node)
        roots.append(Root(text, node, isolating.imag == 0, multiplicity, isolating, holder))
    return roots


def _clean(value: Any) -> Any:
    """Set a real part to exact zero where it cannot be told from it: purely imaginary roots come out so."""
    from flint import acb

    return acb(0, value.imag) if value.real.contains(0) and not value.imag.contains(0) else value


def _match(texts: list[str], balls: list[Any]) -> list[Node | None]:
    """Assign each radical to the one ball that it lies in; if that fails, none is used."""
    if len(texts) != len(balls):
        return [None] * len(balls)
    nodes: list[Node | None] = [None] * len(balls)
    for text in texts:
        node = parse(text)
        try:
            value = ball(node, {})
        except Undecided:
            return [None] * len(balls)
        places = [i for i, isolating in enumerate(balls) if isolating.overlaps(value)]
        if len(places) != 1 or nodes[places[0]] is not None:
            return [None] * len(balls)
        nodes[places[0]] = node
    return nodes


# ---- radicals --------------------------------------------------------------------------------------------------------
def _radicals(factor: Any) -> list[str]:
    """Return the roots of an irreducible factor as texts, or nothing where radicals would be long."""
    degree = factor.degree()
    if degree == 1:
        return [str(Fraction(-int(factor[0]), int(factor[1])))]
    if degree == 2:
        return _quadratic(int(factor[2]), int(factor[1]), int(factor[0]))
    inner, k = factor.deflation()
    k = int(k)
    if inner.degree() == 1 and k <= 12:
        return _powers_of_rational(Fraction(-int(inner[0]), int(inner[1])), k)
    if inner.degree() == 2 and k <= _DEEPEST_RADICAL:
        a, b, c = int(inner[2]), int(inner[1]), int(inner[0])
        is_real = b * b > 4 * a * c
        return [text for u in _quadratic(a, b, c) for text in _powers(u, k, is_real)]
    return []


@lru_cache(maxsize=4_096)
def square_part(n: int) -> tuple[int, int]:
    """Return (s, r) with n = s^2 r for n > 0; r is free of squares of primes below 1000."""
    s, r, p = 1, n, 2
    while p < 1_000 and p * p <= r:
        while r % (p * p) == 0:
            r //= p * p
            s *= p
        p += 1 if p == 2 else 2
    root = isqrt(r)
    return (s * root, 1) if root * root == r else (s, r)


def _quadratic(a: int, b: int, c: int) -> list[str]:
    """Return the roots of a x^2 + b x + c with a > 0, the minus sign first."""
    discriminant = b * b - 4 * a * c
    s, r = square_part(abs(discriminant))
    divisor = gcd(gcd(b, s), 2 * a)
    p, q, n = -b // divisor, s // divisor, 2 * a // divisor
    surd = "*".join(
        [str(q)] * (q != 1 or (r == 1 and discriminant > 0)) + [f"sqrt({r})"] * (r != 1) + ["I"] * (discriminant < 0)
    )
    if p == 0:
        below = "" if n == 1 else f"/{n}"
        return [f"-{surd}{below}", f"{surd}{below}"]
    pair = [f"{p} - {surd}", f"{p} + {surd}"]
    return pair if n == 1 else [f"({text})/{n}" for text in pair]


def _powers_of_rational(u: Fraction, k: int) -> list[str]:
    """Return the solutions of x^k = u."""
    modulus = f"{abs(u)}^(1/{k})" if u.denominator == 1 else f"({abs(u)})^(1/{k})"
    if k == 2:
        modulus = f"sqrt({abs(u)})"
    if abs(u) == 1:
        modulus = "1"
    turns = [Fraction(2 * j + (u < 0), 2 * k) for j in range(k)]
    return [product_text(modulus, unit(turn)) for turn in turns]


def _powers(u: str, k: int, is_real: bool) -> list[str]:
    """Return the solutions of x^k = u for a quadratic number u; a negative one is turned first."""
    with precision(128):
        negative = is_real and ball(parse(u), {}).real < 0
    base = to_text(parse(f"-({u})")) if negative else u
    modulus = f"sqrt({base})" if k == 2 else f"({base})^(1/{k})"
    return [product_text(modulus, unit(Fraction(2 * j + negative, 2 * k))) for j in range(k)]


_UNITS = {
    Fraction(0): "1", Fraction(1, 2): "-1", Fraction(1, 4): "I", Fraction(3, 4): "-I",
    Fraction(1, 3): "(-1 + sqrt(3)*I)/2", Fraction(2, 3): "(-1 - sqrt(3)*I)/2",
    Fraction(1, 6): "(1 + sqrt(3)*I)/2", Fraction(5, 6): "(1 - sqrt(3)*I)/2",
    Fraction(1, 8): "(1 + I)*sqrt(2)/2", Fraction(3, 8): "(-1 + I)*sqrt(2)/2",
    Fraction(5, 8): "(-1 - I)*sqrt(2)/2", Fraction(7, 8): "(1 - I)*sqrt(2)/2",
    Fraction(1, 12): "(sqrt(3) + I)/2", Fraction(5, 12): "(-sqrt(3) + I)/2",
    Fraction(7, 12): "(-sqrt(3) - I)/2", Fraction(11, 12): "(sqrt(3) - I)/2",
}  # fmt: skip


def unit(turn: Fraction) -> str:
    """Return exp(2 pi I turn) as text, in radicals where they are short."""
    turn %= 1
    return _UNITS.get(turn) or f"(cos({2 * turn}*pi) + sin({2 * turn}*pi)*I)"


def product_text(modulus: str, factor: str) -> str:
    if factor == "1":
        return modulus
    if factor in ("-1", "I", "-I"):
        sign, rest = ("-", factor[1:]) if factor[0] == "-" else ("", factor)
        return sign + (modulus if rest == "1" else rest if modulus == "1" else f"{modulus}*{rest}")
    return factor if modulus == "1" else f"{modulus}*{factor}"


# ---- decimals --------------------------------------------------------------------------------------------------------
def exact_fraction(value: Any) -> Fraction:
    """Return the midpoint of an arb, which is dyadic."""
    return dyadic(value.mid())


def rounded_text(value: Fraction, digits: int) -> str:
    """Write a rational as a decimal of `digits` significant digits, without trailing zeros."""
    from decimal import ROUND_HALF_EVEN, Context, Decimal

    if value == 0:
        return "0"
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    exponent = quotient.adjusted()
    if -6 <= exponent < digits:
        text = format(quotient, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return format(quotient.normalize(context), "e").replace("e+", "e")


def decimal_text(value: Any, digits: int) -> str:
    """Write an acb as text that parses again: a decimal, or re + im*I."""
    re = rounded_text(exact_fraction(value.real), digits)
    if value.imag == 0:
        return re
    im = rounded_text(exact_fraction(value.imag), digits)
    sign, size = ("-", im[1:]) if im.startswith("-") else ("+", im)
    if re == "0":
        return f"{'-' if sign == '-' else ''}{size}*I"
    return f"{re} {sign} {size}*I"
