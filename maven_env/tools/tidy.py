"""Bounded simplification: what makes a sympy result readable without ever running away.

`sympy.simplify` has no bound and is for the guarded process only; these steps are safe in process.
"""

from __future__ import annotations

import math
from typing import Any

_SMALL = 200  # operations up to which rational forms are merged
_TERMS = 1_000  # up to which a polynomial is multiplied out


def tidy(value: Any, wrt: str | None = None) -> tuple[Any, bool]:
    """Return a tidied sympy expression and whether it could be treated.

    A polynomial in `wrt` (or in all its symbols) is multiplied out in descending powers, a rational function is put
    over one denominator, anything else keeps its form with common factors drawn out. Large input is left alone.
    """
    import sympy

    if value.is_Atom or value.is_number:
        return value, True
    if value.count_ops() > _SMALL:
        return value, False
    symbols = [sympy.Symbol(wrt)] if wrt is not None else sorted(value.free_symbols, key=str)
    if terms_of(value) > _TERMS:
        return value, False
    if value.is_polynomial(*symbols):
        return _fewer(sympy.expand(value), value), True
    if value.is_rational_function(*value.free_symbols) and len(value.free_symbols) <= 4:
        return sympy.factor_terms(sympy.cancel(value)), True
    return sympy.factor_terms(value), True


def _fewer(expanded: Any, value: Any) -> Any:
    """Keep a compact form where multiplying out would blow it up, such as (x+1)^40."""
    return expanded if len(expanded.args) <= 12 else value


def terms_of(value: Any) -> int:
    """Return an upper bound of the terms of an expression multiplied out, at most a million."""
    if value.is_Add:
        count = sum(map(terms_of, value.args))
    elif value.is_Mul:
        count = math.prod(map(terms_of, value.args))
    elif value.is_Pow and value.exp.is_Integer:
        inner, n = terms_of(value.base), abs(int(value.exp))
        count = math.comb(n + inner - 1, min(n, inner - 1)) if min(n, inner) < 1_000 else 10**6
    else:
        count = 1
    return min(count, 10**6)
