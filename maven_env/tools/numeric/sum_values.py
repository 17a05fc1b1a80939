"""Values of infinite sums within balls: rational and hypergeometric series, and series that vary slowly.

A series is summed only after its convergence is settled. Rational and hypergeometric terms have modules of their own.
Others are split into waves exp(i*phase*n)*g(n), which are added directly where they fall geometrically, and expanded
behind a head where g is smooth.
"""

from __future__ import annotations

from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, Number, Piecewise, free_symbols, rational_value, walk
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.balls import decimal, precision
from maven_env.tools.numeric.euler_maclaurin import expanded_sum
from maven_env.tools.numeric.finite_sums import GOAL, SumValue, diverges, is_real, term_at, undecided
from maven_env.tools.numeric.hypergeometric_series import hypergeometric_sum
from maven_env.tools.numeric.rational_series import rational_sum
from maven_env.tools.numeric.ratios import term_ratio
from maven_env.tools.numeric.sectors import profile_of
from maven_env.tools.numeric.wave_convergence import classify, keeps_size
from maven_env.tools.numeric.waves import Wave, size_at, waves_of
from maven_env.tools.transforms.modes import modes

_STEPPED = ("floor", "ceiling", "Heaviside", "DiracDelta", "Max", "Min", "Abs", "sign", "re", "im", "conjugate", "arg")
_LARGE = 500  # numbers in a fast term beyond which bumps far out are not excluded


def infinite_sum(term: Node, index: str, start: int, max_terms: int) -> SumValue:
    """Return the sum from `start` to infinity. Raises DIVERGENT, NO_CONVERGENCE where nothing is certain."""
    if rational_value(term) == 0:
        return SumValue(decimal(0), "exact zero", 0)
    form = rational_form(term, index)
    if form is not None:
        return rational_sum(*form, index, start)
    _check_smooth(term, index)
    ratio = term_ratio(term, index)
    if ratio is not None:
        found = hypergeometric_sum(term, index, start, ratio, max_terms)
        if found is not None:
            return found
    return _wave_sum(term, index, start, max_terms)


def _check_smooth(term: Node, index: str) -> None:
    for part in walk(term):
        stepped = isinstance(part, Piecewise) or (isinstance(part, Call) and part.function in _STEPPED)
        if stepped and index in free_symbols(part):
            raise undecided(f"the term has cases or steps in {index}, so its far behaviour is not certain")


def _wave_sum(term: Node, index: str, start: int, max_terms: int) -> SumValue:
    waves = waves_of(modes(term, index), index)
    fast = _fast(term, index, start, waves, max_terms)
    if fast is not None:
        return fast
    if len(waves) == 1 and keeps_size(waves[0].g, index):
        diverges("the terms do not tend to zero")
    profiles = [profile_of(wave.g, index) for wave in waves]
    problems: list[ToolError] = []
    divergent: list[str] = []
    for wave, profile in zip(waves, profiles, strict=True):
        try:
            classify(wave, index)
        except ToolError as error:
            if error.code == "DIVERGENT" and profile.one_sign:
                divergent.append(error.message)
            else:
                problems.append(
                    undecided("the terms oscillate or vary too much far out") if error.code == "DIVERGENT" else error
                )
    if len(divergent) == 1 and not problems:
        raise ToolError("DIVERGENT", divergent[0], "sum up to a finite stop")
    if divergent or problems:
        raise problems[0] if problems else undecided("several parts of the series diverge; their sum is not certain")
    return expanded_sum(term, index, start, waves, profiles, max_terms)


def _fast(term: Node, index: str, start: int, waves: list[Wave], max_terms: int) -> SumValue | None:
    """Sum directly where the sizes of all waves fall at least geometrically, seen far out."""
    from flint import acb, arb

    base = max(start, 1) + 40
    worst = _slowest_fall(waves, index, base)
    if worst is None:
        return None
    bound = min(worst * 1.02, 0.985)
    for work in (192, 512, 1_024):
        with precision(work):
            total, n = decimal(0), start
            while n - start <= max_terms:
                if n >= base:
                    parts = [size_at(wave.g, index, n) for wave in waves]
                    if any(part is None for part in parts):
                        return None
                    rest = sum(parts[1:], parts[0]) / (1 - bound)
                    if rest < abs(total).lower() * arb(2) ** -(GOAL + 8) or rest < arb(2) ** -(4 * work):
                        break
                total += term_at(term, index, n)
                n += 1
            else:
                return None
            radius = arb(0, float(rest.abs_upper()) + 1e-300)
            total += acb(radius, 0 if is_real(term) else radius)
            _no_bump(waves, index, n, rest)
            if total.rel_accuracy_bits() >= GOAL - 4:
                return SumValue(total, "direct", n - start, float(rest.abs_upper()))
    raise undecided("the terms cancel too much for a certain sum")


def _slowest_fall(waves: list[Wave], index: str, base: int) -> float | None:
    """Return the largest ratio of neighbouring sizes from `base` on, None where it is not surely below 0.97."""
    worst = 0.0
    for wave in waves:
        for place in (base, 2 * base, 4 * base, 8 * base, 16 * base):
            for step in (0, 1, 3):
                a, b = size_at(wave.g, index, place + step), size_at(wave.g, index, place + step + 1)
                if a is None or b is None:
                    return None
                if a == 0 and b == 0:
                    continue
                if a == 0:
                    return None
                with precision(64):
                    quotient = float((b / a).mid())
                if quotient > 0.97:
                    return None
                worst = max(worst, quotient)
    return worst


def _no_bump(waves: list[Wave], index: str, after: int, rest: Any) -> None:
    """Refuse where terms may rise again behind the place where they seemed to be negligible."""
    for wave in waves:
        numbers = [abs(part.value) for part in walk(wave.g) if isinstance(part, Number)]
        if max(numbers, default=0) > _LARGE:
            raise undecided(f"the term holds numbers beyond {_LARGE}, so it may rise again far out")
        for n in range(after, after + 4 * _LARGE):
            size = size_at(wave.g, index, n)
            if size is None or size > rest:
                raise undecided(f"the terms rise again near {index} = {n}")
