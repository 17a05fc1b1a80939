"""Rationals of python-flint as those of Python and back, and inverses modulo a polynomial over them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def fraction(value: Any) -> Fraction:
    """Return an fmpq as a Fraction."""
    return Fraction(int(value.p), int(value.q))


def as_fmpq(value: Fraction) -> Any:
    """Return a Fraction as an fmpq."""
    from flint import fmpq

    return fmpq(value.numerator, value.denominator)


def inverse_modulo(value: Any, modulus: Any) -> Any:
    """Return 1/value modulo a polynomial without common factor."""
    g, s, _ = value.xgcd(modulus)
    return s / g[0]
