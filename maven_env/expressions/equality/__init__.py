"""Whether two expressions are equal: `equal`, `different` or `unknown`, in bounded time, without simplifying anything.

What the verdicts rest on:

- `different` is proven: residues of rational functions differ, or complex balls that contain the two values at one
  point of the domain have no point in common.
- `equal` of rational functions, and of trees that are the same rational function of the same functions: residues agree
  at two moduli of 128 bits (see `residues`). Closed numbers in radicals: proven by a separation bound (`separation`).
- `equal` of anything else rests on evidence: all points of the domain that could be judged agree to at least 60 bits
  more than the sizes of the numbers in the trees can hide; closed transcendental numbers agree to 500 bits.

Symbols are positive unless a domain is declared, so sqrt(x^2) equals x. Only where nothing is defined at positive
values are negative and complex ones tried. Without the imaginary unit in them, expressions are compared as real
functions: points where neither is real decide only if there are no others.
"""

from __future__ import annotations

from maven_env.expressions.equality.agreement import Comparison, Verdict
from maven_env.expressions.equality.closeness import close
from maven_env.expressions.equality.comparing import compare, equal, equal_up_to_scale
from maven_env.expressions.equality.points import Bounds, Domain, Point
from maven_env.expressions.equality.similarity import (
    compare_up_to_constant,
    equal_up_to_constant,
    equal_up_to_sign,
    same_multiset,
)

__all__ = [
    "Bounds",
    "Comparison",
    "Domain",
    "Point",
    "Verdict",
    "close",
    "compare",
    "compare_up_to_constant",
    "equal",
    "equal_up_to_constant",
    "equal_up_to_scale",
    "equal_up_to_sign",
    "same_multiset",
]
