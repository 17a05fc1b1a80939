"""Values of sums within balls: finite ones, rational and hypergeometric series, and series that vary slowly.

A series is summed only after its convergence is settled. Rational terms: by digamma and zeta functions at the poles.
Hypergeometric terms: Gauss's test on the exact ratio, then a bound of the geometric tail, or Levin's u transformation
beyond the scale of the ratio, two of which must agree. Others are split into modes exp(i*phase*n)*g(n): with g analytic
in a sector around the axis, which balls cover, the Euler-Maclaurin formula (phase 0) or its analogue holds, with a
remainder bounded by Cauchy's estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import (
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Symbol,
    free_symbols,
    rational_value,
    replace,
    to_text,
    walk,
)
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.analysis.analytic import compile_analytic
from maven_env.expressions.analysis.jets import jet
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.expressions.tree import ONE
from maven_env.tools.calculus.definite_values import Unsettled, definite_value
from maven_env.tools.calculus.exact_integrals import exact_antiderivative
from maven_env.tools.calculus.improper_ends import Diverges
from maven_env.tools.numeric.ratios import Ratio, term_ratio
from maven_env.tools.transforms.modes import Mode, added, modes, negative, number, over, times

_STEPPED = ("floor", "ceiling", "Heaviside", "DiracDelta", "Max", "Min", "Abs", "sign", "re", "im", "conjugate", "arg")
_GOAL = 64  # bits of a value
_HEAD = 20_000  # most terms before an expansion
_TERMS = 40  # of the Euler-Maclaurin expansion
_DEPTHS = (40, 80, 160, 320, 640)  # log2 of the indices at which the far behaviour is seen
_MARGIN = 0.005
_LARGE = 500  # numbers in a fast term beyond which bumps far out are not excluded


@dataclass
class SumValue:
    """The value within a ball, how it was found, how many terms were added, and a bound of what was estimated."""

    ball: Any
    method: str
    n_terms: int
    tail: float = 0.0
    notes: list[str] = field(default_factory=list)


def undecided(message: str) -> ToolError:
    hint = "give a finite stop, or bring the term into a simpler form"
    return ToolError("NO_CONVERGENCE", message, hint)


def diverges(message: str) -> NoReturn:
    raise ToolError("DIVERGENT", f"the series diverges: {message}", "sum up to a finite stop")


# ---- finite sums -----------------------------------------------------------------------------------------------------
def finite_sum(term: Node, index: str, start: int, stop: int, bits: int = _GOAL) -> SumValue:
    """Add the terms from start to stop by balls, to `bits` of the sum."""
    count = max(stop - start + 1, 0)
    for work in (128, 256, 512, 1_024, 2_048, 4_096):
        if work > 512 and count * work > 4_000_000:
            break
        with precision(work):
            total = _head(term, index, start, stop + 1)
            if total.rel_accuracy_bits() >= bits or total.is_exact():
                return SumValue(total, "direct", count)
            if work >= 2_048 and total.contains(0) and float(total.abs_upper()) < 1e-300:
                return SumValue(total, "direct", count)
    raise undecided(f"the {count} terms cancel too much for a certain sum")


def _head(term: Node, index: str, start: int, stop: int) -> Any:
    from flint import acb

    total = acb(0)
    for n in range(start, stop):
        total += term_at(term, index, n)
    return total


def term_at(term: Node, index: str, n: int) -> Any:
    """Return a ball of one term. Raises DOMAIN_ERROR where it has no value."""
    from flint import acb

    try:
        value = ball(term, {index: acb(n)})
    except (ValueError, ZeroDivisionError, OverflowError):
        value = acb("nan")
    except ToolError as error:
        if error.code != "DOMAIN_ERROR":
            raise
        value = acb("nan")
    if not value.is_finite():
        raise ToolError("DOMAIN_ERROR", f"the term has no value at {index} = {n}", "start the sum behind it")
    return value


# ---- infinite sums ---------------------------------------------------------------------------------------------------
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
        found = _hypergeometric(term, index, start, ratio, max_terms)
        if found is not None:
            return found
    return _by_modes(term, index, start, max_terms)


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
            if total.is_finite() and total.rel_accuracy_bits() >= _GOAL:
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
        for pole, _ in factor.numer().complex_roots():
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


def _check_smooth(term: Node, index: str) -> None:
    for part in walk(term):
        stepped = isinstance(part, Piecewise) or (isinstance(part, Call) and part.function in _STEPPED)
        if stepped and index in free_symbols(part):
            raise undecided(f"the term has cases or steps in {index}, so its far behaviour is not certain")


# ---- hypergeometric series -------------------------------------------------------------------------------------------
def _hypergeometric(term: Node, index: str, start: int, ratio: Ratio, max_terms: int) -> SumValue | None:
    if ratio.top == 0:
        return None
    last = ratio.ends_at(start)
    if last is not None:
        if last - start > max_terms:
            raise LimitExceeded("size", f"{last - start + 1} terms that are not zero, the bound is {max_terms}")
        return finite_sum(term, index, start, last)
    with precision(256):
        size = ratio.limit_size()
        if size is None:
            diverges(f"the terms grow faster than any power c^{index}")
        if size > 1:
            diverges("the ratio of neighbouring terms tends to more than 1 in size")
        if size < 1:
            return _geometric(term, index, start, ratio, max_terms)
        turn = ratio.limit()
        if turn == 1 or turn == -1:
            power = ratio.power()  # |terms| fall as n^-power
            if turn == 1 and power <= 1:
                diverges(f"the terms fall as {index}^-({power}) without change of sign")
            if turn == -1 and power <= 0:
                diverges("the terms do not tend to zero")
            return _levin(term, index, start, ratio.scale(), max_terms)
    return None


def _geometric(term: Node, index: str, start: int, ratio: Ratio, max_terms: int) -> SumValue | None:
    """Add terms until the bound of the rest is negligible; the bound of the ratio holds beyond the scale."""
    from flint import acb, arb

    first = max(start, int(2 * ratio.scale()) + 2)
    far = ratio.bound(2 * first + 20_000)
    if far is not None and far**20_000 > arb(2) ** -80:
        return None  # slower than any direct sum should be
    for work in (192, 512, 1_024, 2_048):
        with precision(work):
            total, n = decimal(0), start
            while n - start <= max_terms:
                value = term_at(term, index, n)
                if n >= first:
                    bound = ratio.bound(n)
                    if bound is not None and bound < 0.98:
                        rest = abs(value) / (1 - bound)
                        if rest < abs(total).lower() * arb(2) ** -(_GOAL + 8) or rest < arb(2) ** -(4 * work):
                            radius = arb(0, float(rest.abs_upper()) + 1e-300)
                            total += acb(radius, 0 if is_real(term) else radius)
                            break
                total += value
                n += 1
            else:
                return None
            if total.rel_accuracy_bits() >= _GOAL - 4:
                return SumValue(total, "direct", n - start, float(rest.abs_upper()))
            if n - start > 20_000:
                break
    raise undecided("the terms cancel too much for a certain sum")


def _levin(term: Node, index: str, start: int, scale: float, max_terms: int) -> SumValue:
    """Apply Levin's u transformation beyond the scale of the terms; two orders and starts must agree."""
    offset = int(2 * scale) + 4
    if offset > min(_HEAD, max_terms):
        raise undecided(f"the terms settle only beyond {index} = {offset}, which is too far")
    with precision(1_024):
        base = start + offset if start + offset > 2 * scale else int(2 * scale) + 4
        head = _head(term, index, start, base)
        values = [_levin_tail(term, index, base + shift, order, base) for shift, order in ((0, 44), (7, 36))]
        gap = abs(values[0] - values[1])
        sums = [head + value for value in values]
        size = abs(sums[0])
        from flint import acb, arb

        if not gap < size * arb(2) ** -_GOAL:
            raise undecided("Levin's transformation does not settle")
        radius = arb(0, float(gap.abs_upper()) * 4 + 1e-300)
        total = sums[0] + acb(radius, 0 if is_real(term) else radius)
        return SumValue(total, "levin", base + 45 - start, float(gap.abs_upper()))


def _levin_tail(term: Node, index: str, low: int, order: int, base: int) -> Any:
    """Return the transformed sum from `base`, using terms from `low` to low + order."""
    partial = _head(term, index, base, low)
    top, bottom = decimal(0), decimal(0)
    for j in range(order + 1):
        value = term_at(term, index, low + j)
        if value == 0:
            raise undecided("some terms are zero, which Levin's transformation does not take")
        partial += value
        weight = decimal((-1) ** j * math.comb(order, j)) * decimal(Fraction(low + j + 1, low + order + 1)) ** (
            order - 1
        )
        weight = weight / (value * (low + j + 1))
        top += weight * partial
        bottom += weight
    return top / bottom


# ---- modes -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Wave:
    """exp(i*phase*n) * g(n), the decay being part of g; phase as a ball in (-pi, pi], or None for 0."""

    g: Node
    phase: Any


def _by_modes(term: Node, index: str, start: int, max_terms: int) -> SumValue:
    waves = _waves(modes(term, index), index)
    fast = _fast(term, index, start, waves, max_terms)
    if fast is not None:
        return fast
    if len(waves) == 1 and _stays(waves[0].g, index):
        diverges("the terms do not tend to zero")
    profiles = [_profile(wave, index) for wave in waves]
    problems: list[ToolError] = []
    divergent: list[str] = []
    for wave, profile in zip(waves, profiles, strict=True):
        try:
            _classify(wave, index)
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
    return _expanded(term, index, start, waves, profiles, max_terms)


def _waves(found: list[Mode], index: str) -> list[_Wave]:
    """Merge modes of equal phase."""
    from flint import arb

    groups: list[tuple[Any, list[Node]]] = []
    with precision(512):
        for mode in found:
            angle = ball(mode.phase, {}).real
            turns = (angle / (2 * arb.pi()) + arb(0.5)).floor()
            if not turns.is_exact():
                turns = (angle / (2 * arb.pi()) + arb(0.25)).floor()  # the phase is an odd multiple of pi
            angle = angle - 2 * arb.pi() * turns
            growth: Node = Call("exp", (times(mode.decay, Symbol(index)),))
            g = mode.factor if mode.decay == number(0) else times(growth, mode.factor)
            for known, members in groups:
                if abs(known - angle) < arb(2) ** -300 or abs(abs(known - angle) - 2 * arb.pi()) < arb(2) ** -300:
                    members.append(g)
                    break
            else:
                groups.append((angle, [g]))
        return [_Wave(added(members), None if abs(a) < arb(2) ** -300 else a) for a, members in groups]


def _size(node: Node, index: str, at: int) -> Any:
    """Return |node| at a far index as a ball of 60 bits or more, or None."""
    from flint import acb

    for work in (256, 1_024, 4_096):
        with precision(work):
            try:
                value = ball(node, {index: acb(at)})
            except (ToolError, ValueError, ZeroDivisionError, OverflowError):
                continue
            if value.is_finite() and (value.rel_accuracy_bits() > 40 or value == 0):
                return abs(value)
    return None


def _fast(term: Node, index: str, start: int, waves: list[_Wave], max_terms: int) -> SumValue | None:
    """Sum directly where the sizes of all modes fall at least geometrically, seen far out."""
    from flint import acb, arb

    base = max(start, 1) + 40
    places = [base, 2 * base, 4 * base, 8 * base, 16 * base]
    worst = 0.0
    for wave in waves:
        for place in places:
            for step in (0, 1, 3):
                a, b = _size(wave.g, index, place + step), _size(wave.g, index, place + step + 1)
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
    bound = min(worst * 1.02, 0.985)
    for work in (192, 512, 1_024):
        with precision(work):
            total, n = decimal(0), start
            while n - start <= max_terms:
                if n >= base:
                    parts = [_size(wave.g, index, n) for wave in waves]
                    if any(part is None for part in parts):
                        return None
                    rest = sum(parts[1:], parts[0]) / (1 - bound)
                    if rest < abs(total).lower() * arb(2) ** -(_GOAL + 8) or rest < arb(2) ** -(4 * work):
                        break
                total += term_at(term, index, n)
                n += 1
            else:
                return None
            radius = arb(0, float(rest.abs_upper()) + 1e-300)
            total += acb(radius, 0 if is_real(term) else radius)
            _no_bump(waves, index, n, rest)
            if total.rel_accuracy_bits() >= _GOAL - 4:
                return SumValue(total, "direct", n - start, float(rest.abs_upper()))
    raise undecided("the terms cancel too much for a certain sum")


def _stays(g: Node, index: str) -> bool:
    """Tell whether far terms all have the same size, so that they cannot tend to zero."""
    sizes = [_size(g, index, m * 2**depth) for depth in _DEPTHS for m in (3, 5, 7)]
    known = [size for size in sizes if size is not None]
    with precision(64):
        return len(known) == len(sizes) and all(size > 0 and abs(size - known[0]) < known[0] * 1e-9 for size in known)


def _no_bump(waves: list[_Wave], index: str, after: int, rest: Any) -> None:
    """Refuse where terms may rise again behind the place where they seemed to be negligible."""
    for wave in waves:
        numbers = [abs(part.value) for part in walk(wave.g) if isinstance(part, Number)]
        if max(numbers, default=0) > _LARGE:
            raise undecided(f"the term holds numbers beyond {_LARGE}, so it may rise again far out")
        for n in range(after, after + 4 * _LARGE):
            size = _size(wave.g, index, n)
            if size is None or size > rest:
                raise undecided(f"the terms rise again near {index} = {n}")


def _classify(wave: _Wave, index: str) -> None:
    """Return if the sum of one wave surely converges. Raises DIVERGENT or NO_CONVERGENCE."""
    logs = []
    for depth in _DEPTHS:
        size = _size(wave.g, index, 3 * 2**depth)
        if size is None:
            raise undecided("the terms have no certain values far out")
        if size == 0:
            return
        with precision(64):
            log = (size.log() / decimal(2).log().real).mid()
            logs.append(float(log) if abs(log) < 1e300 else math.copysign(math.inf, float(log > 0) - 0.5))
    if logs[-1] == -math.inf or logs[-2] == -math.inf:
        return
    if logs[-1] == math.inf or logs[-1] > logs[-2] or abs(logs[-1] - logs[-2]) < 1e-9:
        diverges("the terms do not tend to zero")
    slopes = [(b - a) / (q - p) for (a, b), (p, q) in zip(pairwise(logs), pairwise(_DEPTHS), strict=True)]
    if wave.phase is not None:
        if logs[-2] - logs[-1] > 0.4 and logs[0] - logs[-1] > 1:
            return
        raise undecided("whether the terms tend to zero could not be decided")
    if max(slopes[-2:]) < -1 - _MARGIN:
        return
    if min(slopes[-2:]) > -1 + _MARGIN or all(abs(slope + 1) < 1e-9 for slope in slopes[-2:]):
        diverges(f"the terms fall as {index}^({slopes[-1]:.3g}) only")
    _condense(logs, index)


def _condense(logs: list[float], index: str) -> None:
    """Cauchy: 2^k a(2^k) as a series in k decides where the terms are near 1/n."""
    places = [depth + math.log2(3) for depth in _DEPTHS]
    inner = [log + place for log, place in zip(logs, places, strict=True)]
    slopes = [(b - a) / math.log2(q / p) for (a, b), (p, q) in zip(pairwise(inner), pairwise(places), strict=True)]
    if min(slopes[-2:]) > -0.9 or all(abs(slope + 1) < 1e-9 for slope in slopes[-2:]):
        diverges(f"condensed after Cauchy its terms fall too slowly (near 1/{index})")
    if max(slopes[-2:]) < -1.1:
        return
    raise undecided("the terms fall nearly as 1/n; whether the series converges could not be decided")


def _expanded(
    term: Node, index: str, start: int, waves: list[_Wave], profiles: list[_Profile], max_terms: int
) -> SumValue:
    """Add a head, and the tail by the Euler-Maclaurin expansion of every wave."""
    from flint import acb, arb

    nearest = min((float(abs(w.phase).lower()) for w in waves if w.phase is not None), default=2 * math.pi)
    begin = max(start + 8, math.ceil(150 / min(nearest, 2 * math.pi)), 40, *(profile.begin for profile in profiles))
    if begin - start > min(max_terms, _HEAD):
        raise undecided(f"the expansion holds only beyond {index} = {begin}, which is too far")
    with precision(192):
        total = _head(term, index, start, begin)
        error = 0.0
        for wave, profile in zip(waves, profiles, strict=True):
            value, more = _tail(wave, profile, index, begin)
            total += value
            error += more
        radius = arb(0, error + 1e-300)
        total = total + acb(radius, 0 if is_real(term) else radius)
        if is_real(term) and total.imag.contains(0):
            total = acb(total.real)
        if not math.isfinite(error) or total.rel_accuracy_bits() < _GOAL - 4:
            raise undecided("the accuracy aimed at was not reached")
    return SumValue(total, "euler_maclaurin", begin - start, error)


def is_real(term: Node) -> bool:
    """Tell whether the term is written without the imaginary unit."""
    return not any(part == Constant("I") for part in walk(term))


@dataclass(frozen=True)
class _Profile:
    """From `begin` on g is analytic in the sector |arg z| <= 30 degrees; shells (low, high, log of the largest |g|)."""

    begin: int
    shells: tuple[tuple[float, float, float], ...]
    one_sign: bool  # g keeps its sign on the axis, and is no larger beside it


def _profile(wave: _Wave, index: str) -> _Profile:
    """Cover the sector by balls. Raises NO_CONVERGENCE where g is not certainly analytic far out."""
    from flint import acb

    try:
        g = compile_analytic(wave.g, index)
    except ToolError as error:
        raise undecided(error.message) from error
    last_bad, beside = 0.0, 0.0
    shells: list[tuple[float, float, float]] = []
    signs: set[tuple[bool, ...]] = set()
    budget = [20_000]
    with precision(320):
        r = 8.0
        largest = -math.inf
        while r < 2.0**50:
            wide = 1.09 if r < 2.0**16 else 1.6
            high = r * wide
            size = _shell(g, r, high, budget)
            if size is None:
                last_bad, shells, largest = high, [], -math.inf
                signs, beside = set(), 0.0
                if last_bad > _HEAD:
                    raise undecided(f"the terms are not certainly smooth near {index} = {last_bad:.3g}")
            else:
                shells.append((r, high, size))
                largest = max(largest, size)
                axis = [g(acb(r + (high - r) * k / 7), False) for k in range(7)]
                for value in axis:
                    parts = [part for part in (value.real, value.imag) if not part.contains(0)]
                    signs.add(tuple(bool(part > 0) for part in parts))
                low = min((_log_size(value) for value in axis), default=-math.inf)
                beside = max(beside, size - low)
                if size + math.log(high) < largest - 250:
                    break
            r = high
    return _Profile(
        math.ceil(last_bad * 1.1) * 2 + 1 if last_bad else 16, tuple(shells), len(signs) == 1 and beside < 30
    )


def _log_size(value: Any) -> float:
    if not value.is_finite() or value.contains(0):
        return -math.inf
    return float(abs(value).log().mid())


def _shell(g: Any, low: float, high: float, budget: list[int]) -> float | None:
    """Return the log of the largest |g| on the part of the sector with low <= |z| <= high, None if not analytic."""
    steps = 8
    worst = -math.inf
    for k in range(-steps, steps):
        size = _cell(g, low, high, math.pi / 6 * k / steps, math.pi / 6 * (k + 1) / steps, 3, budget)
        if size is None:
            return None
        worst = max(worst, size)
    return worst


def _cell(g: Any, low: float, high: float, first: float, last: float, depth: int, budget: list[int]) -> float | None:
    from flint import acb, arb

    budget[0] -= 1
    if budget[0] < 0:
        return None

    def between(a: float, b: float) -> Any:
        return arb((a + b) / 2, (b - a) / 2 * (1 + 1e-9) + 1e-12 * high)

    flat, steep = sorted((abs(first), abs(last)))
    re = between(low * math.cos(steep), high * math.cos(flat))
    heights = [radius * math.sin(angle) for radius in (low, high) for angle in (first, last)]
    im = between(min(heights), max(heights))
    value = g(acb(re, im), True)
    if value.is_finite():
        upper = value.abs_upper()
        size = -1e300 if upper == 0 else float(upper.log().abs_upper()) * (1 if upper > 1 else -1)
        middle = _log_size(g(acb(re.mid(), im.mid()), False))
        if size - middle < 12 or depth == 0:
            return size
    if depth == 0:
        return None
    r, angle = math.sqrt(low * high), (first + last) / 2
    worst = -math.inf
    for a, b in ((low, r), (r, high)):
        for c, d in ((first, angle), (angle, last)):
            found = _cell(g, a, b, c, d, depth - 1, budget)
            if found is None:
                return None
            worst = max(worst, found)
    return worst


def _tail(wave: _Wave, profile: _Profile, index: str, begin: int) -> tuple[Any, float]:
    """Return the sum from `begin` of one wave and a bound of its error."""
    from flint import acb, acb_series, ctx

    order = _TERMS
    coefficients = jet(wave.g, {index: acb(begin)}, {index: acb(1)}, order)
    if wave.phase is None:
        total, error = _integral(wave.g, index, begin)
        total += coefficients[0] / 2
        for k in range(1, order // 2 + 1):
            total -= decimal(_bernoulli(2 * k)) / (2 * k) * coefficients[2 * k - 1]
        distance = 2 * math.pi
    else:
        turn = acb(0, wave.phase)
        before = ctx.cap
        ctx.cap = order + 1
        try:
            series = 1 / (1 - (acb_series([turn, 1], order + 1)).exp())
        finally:
            ctx.cap = before
        total, factor = acb(0), acb(1)
        for k in range(order):
            total += series[k] * coefficients[k] * factor
            factor = factor * (k + 1)
        total = total * (turn * begin).exp()
        distance, error = float(abs(wave.phase).lower()), 0.0
    return total, error + _remainder(profile, begin, order, distance)


def _remainder(profile: _Profile, begin: int, order: int, distance: float) -> float:
    """Bound the remainder: 4/distance^K times the integral of |g^(K)|, |g^(K)(x)| <= K! max|g| / (x/2)^K (Cauchy)."""
    total = 0.0
    for k, (low, high, _) in enumerate(profile.shells):
        if high < begin:
            continue
        near = [size for a, b, size in profile.shells[max(k - 12, 0) : k + 13] if b > 0.4 * low and a < 1.6 * high]
        x = max(low, begin)
        log = max(near) + math.lgamma(order + 1) - order * math.log(distance * x / 2) + math.log(high) + math.log(4)
        total += math.exp(min(log, 700.0)) if log < 700 else math.inf
    return total


def _bernoulli(k: int) -> Fraction:
    from flint import fmpq

    value = fmpq.bernoulli(k)
    return Fraction(int(value.p), int(value.q))


def _power_law(g: Node, index: str) -> tuple[Node, Fraction] | None:
    """Return (c, p) for g = c*n^(-p)."""
    if index not in free_symbols(g):
        return g, Fraction(0)
    match g:
        case Symbol():
            return ONE, Fraction(-1)
        case Negative(a):
            inner = _power_law(a, index)
            return None if inner is None else (negative(inner[0]), inner[1])
        case Call("sqrt", (a,)):
            return (ONE, Fraction(-1, 2)) if a == Symbol(index) else None
        case Power(a, b):
            k = rational_value(b)
            return (ONE, -k) if a == Symbol(index) and k is not None else None
        case Quotient(a, b):
            top, bottom = _power_law(a, index), _power_law(b, index)
            return None if top is None or bottom is None else (over(top[0], bottom[0]), top[1] - bottom[1])
        case Product(items):
            parts = [_power_law(item, index) for item in items]
            known = [part for part in parts if part is not None]
            return (
                (times(*(c for c, _ in known)), sum((p for _, p in known), Fraction(0)))
                if len(known) == len(parts)
                else None
            )
    return None


def _integral(g: Node, index: str, begin: int) -> tuple[Any, float]:
    """Return the integral of g from `begin` to infinity, and a bound of what is not in the ball."""
    exact = exact_antiderivative(g, index) if rational_form(g, index) is not None else None
    if exact is not None and exact.at_infinity is not None:
        return ball(exact.at_infinity[0], {}) - ball(replace(exact.real, {index: number(begin)}), {}), 0.0
    power = _power_law(g, index)
    if power is not None and power[1] > 1:
        p = decimal(power[1])
        return ball(power[0], {}) * decimal(begin) ** (1 - p) / (p - 1), 0.0
    try:
        value = definite_value(g, index, number(begin), Constant("oo"), 100)
    except Diverges as error:
        diverges(f"its integral diverges: {error}")
    except Unsettled as error:
        raise undecided(f"the integral of the tail {to_text(g)[:60]} is not certain: {error}") from error
    return value.ball, 0.0


def between(term: Node, index: str, start: int, stop: int, max_terms: int) -> SumValue:
    """Sum up to a far finite index: exactly for polynomials, else as the difference of two infinite sums."""
    form = rational_form(term, index)
    if form is not None and form[1].degree() == 0:
        return SumValue(decimal(_polynomial_sum(form[0] / form[1][0], start, stop)), "polynomial sum", 0)
    hint = "raise max_terms"
    try:
        whole = infinite_sum(term, index, start, max_terms)
        rest = infinite_sum(
            replace(term, {index: added([Symbol(index), number(stop + 1 - start)])}), index, start, max_terms
        )
    except ToolError as error:
        if error.code not in ("DIVERGENT", "NO_CONVERGENCE"):
            raise
        raise LimitExceeded("size", f"{stop - start + 1} terms, the bound is {max_terms}", hint) from error
    with precision(256):
        total = whole.ball - rest.ball
    if total.rel_accuracy_bits() < _GOAL - 6:
        raise LimitExceeded("size", f"{stop - start + 1} terms, the bound is {max_terms}", hint)
    return SumValue(total, "difference of two series", whole.n_terms + rest.n_terms, whole.tail + rest.tail)


def _polynomial_sum(polynomial: Any, start: int, stop: int) -> Fraction:
    """Sum a polynomial exactly by Bernoulli polynomials."""
    from flint import fmpq

    total = Fraction(0)
    for k in range(int(polynomial.degree()) + 1):
        c = Fraction(int(polynomial[k].p), int(polynomial[k].q))
        for j in range(k + 1):
            b = fmpq.bernoulli(j)
            weight = Fraction(math.comb(k + 1, j), k + 1) * Fraction(int(b.p), int(b.q))
            total += c * weight * (Fraction(stop + 1) ** (k + 1 - j) - Fraction(start) ** (k + 1 - j))
    return total
