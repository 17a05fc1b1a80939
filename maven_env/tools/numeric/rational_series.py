"""Sums of rational functions to infinity, by digamma and zeta functions at the poles."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.expressions.balls import decimal, precision
from maven_env.tools.numeric.finite_sums import GOAL, SumValue, diverges, undecided


def rational_sum(top: Any, bottom: Any, index: str, start: int) -> SumValue:
    """Sum a rational function over its poles p: c/(n-p)^j gives c*zeta(j, start-p), or -c*digamma(start-p)."""
    if top == 0:
        return SumValue(decimal(0), "exact zero", 0)
    _no_pole_among(bottom, index, start)
    gap = int(bottom.degree() - top.degree())
    if gap < 2:
        diverges("the terms do not tend to zero" if gap <= 0 else f"the terms fall as 1/{index} only")
    for work in (256, 512, 1_024, 2_048, 4_096):
        with precision(work):
            total = decimal(0)
            for coefficient, j, pole in principal_parts(top, bottom):
                place = start - pole
                total += -coefficient * place.digamma() if j == 1 else coefficient * decimal(j).zeta(place)
            if total.is_finite() and total.imag.contains(0):
                total = decimal(0) + total.real
            if total.is_finite() and total.rel_accuracy_bits() >= GOAL:
                return SumValue(total, "sum over the poles", 0)
            if total.is_finite() and total.contains(0) and float(total.abs_upper()) < 1e-250:
                return SumValue(total, "sum over the poles", 0)
    raise undecided("the terms cancel too much for a certain sum")


def principal_parts(top: Any, bottom: Any) -> list[tuple[Any, int, Any]]:
    """Return (coefficient, order, pole) of the partial fractions, as balls at the precision in force."""
    from flint import acb_poly, acb_series

    parts = []
    _, factors = bottom.factor()
    for factor, multiplicity in factors:
        m = int(multiplicity)
        others = bottom / factor**m
        for pole, _ in complex_roots(factor.numer()):
            shift = acb_poly([pole, 1])

            def local(polynomial: Any, shift: Any = shift, m: int = m) -> Any:
                values = [acb_poly(polynomial)(shift)[k] for k in range(m + 1)]
                return acb_series(values, m + 1)

            small = local(factor)
            step = acb_series([small[k + 1] for k in range(m)], m)  # factor / (x - pole)
            series = local(top) / (local(others) * step**m)
            parts += [(series[m - j], j, pole) for j in range(1, m + 1)]
    return parts


def _no_pole_among(bottom: Any, index: str, start: int) -> None:
    _, factors = bottom.factor()
    for factor, _ in factors:
        if factor.degree() == 1:
            root = Fraction(-int((factor[0] / factor[1]).p), int((factor[0] / factor[1]).q))
            if root.denominator == 1 and root >= start:
                raise ToolError("DOMAIN_ERROR", f"the term has no value at {index} = {root}", "start the sum behind it")
