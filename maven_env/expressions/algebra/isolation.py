"""Complex roots of exact polynomials as disjoint balls, refused where two of them are too close to be told apart."""

from __future__ import annotations

from typing import Any

from maven_env.errors import LimitExceeded
from maven_env.expressions.balls import precision

_HARD = 2_000  # degree times bits of the coefficients: below it the worst polynomial takes half a second
_BITS = 512  # at which roots must come apart


def complex_roots(polynomial: Any) -> list[tuple[Any, int]]:
    """Return (acb, multiplicity) of every root of a non-constant polynomial, at the precision in force.

    python-flint raises its precision until all roots are apart, which takes minutes for a Mignotte polynomial. Raises
    LimitExceeded for roots that 512 bits cannot separate.
    """
    from flint import fmpq_poly, fmpz_poly

    whole = polynomial.numer() if isinstance(polynomial, fmpq_poly) else polynomial
    if isinstance(whole, fmpz_poly) and whole.degree() * whole.height_bits() > _HARD:
        for factor, _ in whole.factor_squarefree()[1]:
            if factor.degree() > 1:
                _try_to_separate(factor)
    found: list[tuple[Any, int]] = polynomial.complex_roots()
    return found


def _try_to_separate(factor: Any) -> None:
    from flint import acb_poly

    with precision(max(_BITS, factor.height_bits()) + 64):
        try:
            acb_poly(factor).roots(maxprec=_BITS)
        except ValueError:
            message = f"two roots of a polynomial of degree {factor.degree()} are too close to be told apart"
            raise LimitExceeded("size", message, "use smaller numbers, or a numeric tool") from None
