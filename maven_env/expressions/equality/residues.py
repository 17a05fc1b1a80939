"""Exact values of a tree modulo a big integer: the fast and sure part of equality.

Every symbol takes a residue derived from a key. What is not rational arithmetic (functions, fractional powers, `pi`)
counts as an independent unknown whose residue is derived from the residues of its arguments, so equal arguments give
equal residues. Hence different residues of purely rational trees prove them different, and equal residues at two
independent moduli leave a chance below 2^-60 that the trees are not equal as written.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

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

_PRIMORIAL = 614_889_782_588_491_410  # of the primes to 47: fractions with such denominators always have residues


class NoResidue(Exception):
    """A division by something without an inverse: at most points, a division by zero."""


class Residues:
    """One point: a modulus of about 128 bits and a residue for every symbol, all derived from `key`.

    The modulus need not be prime: an identity over the rationals holds modulo every integer where its inverses exist.
    `renamed` gives a symbol another residue than its own name has. `is_rational` tells whether all that was evaluated
    so far was rational arithmetic.
    """

    def __init__(self, key: bytes, renamed: str | None = None) -> None:
        digest = int.from_bytes(hashlib.sha256(key).digest()[:16], "big") | 1 << 127
        self.modulus = digest // _PRIMORIAL * _PRIMORIAL + 1
        self.key = key
        self.renamed = renamed
        self.is_rational = True
        self._symbols: dict[str, int] = {}

    def of(self, node: Node) -> int:
        """Return the residue. Raises NoResidue."""
        match node:
            case Number(value):
                return self._fraction(value)
            case Symbol(name):
                return self._symbol(name)
            case Sum(terms):
                return sum(map(self.of, terms)) % self.modulus
            case Product(factors):
                total = 1
                for factor in factors:
                    total = total * self.of(factor) % self.modulus
                return total
            case Negative(operand):
                return -self.of(operand) % self.modulus
            case Quotient(top, bottom):
                return self.of(top) * self._inverse(self.of(bottom)) % self.modulus
            case Power(base, exponent):
                return self._power(base, exponent)
            case Constant(name):
                return self._unknown(name)
            case Call("sqrt", (argument,)):
                return self._power(argument, Number(Fraction(1, 2)))
            case Call(name, arguments):
                return self._unknown(name, *arguments)
            case Relation(operator, left, right):
                return self._unknown(operator, left, right)
            case Piecewise(branches):
                return self._unknown("Piecewise", *(p for b in branches for p in (b[0], b[1] or Number(Fraction(1)))))

    def _power(self, base: Node, exponent: Node) -> int:
        exact = rational_value(exponent)
        if exact is None or exact.denominator != 1:
            return self._unknown("^", base, exponent)
        n, value = exact.numerator, self.of(base)
        return pow(value if n >= 0 else self._inverse(value), abs(n), self.modulus)

    def _fraction(self, value: Fraction) -> int:
        if value.denominator == 1:
            return value.numerator % self.modulus
        return value.numerator * self._inverse(value.denominator) % self.modulus

    def _symbol(self, name: str) -> int:
        found = self._symbols.get(name)
        if found is None:
            shown = f"{name} again" if name == self.renamed else name
            found = self._symbols[name] = self._hashed(f"symbol {shown}")
        return found

    def _unknown(self, name: str, *arguments: Node) -> int:
        self.is_rational = False
        return self._hashed(f"{name} {[self.of(argument) for argument in arguments]}")

    def _hashed(self, text: str) -> int:
        digest = hashlib.sha256(self.key + text.encode()).digest()
        return int.from_bytes(digest[:16], "big") % self.modulus

    def _inverse(self, value: int) -> int:
        try:
            return pow(value, -1, self.modulus)
        except ValueError:
            raise NoResidue from None
