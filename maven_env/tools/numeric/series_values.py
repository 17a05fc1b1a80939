"""Values of infinite series: first whether they converge, then the sum by two ways that must agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Constant, Node, Symbol, number_node, replace
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.analysis.jets import MAX_ORDER, jet
from maven_env.expressions.balls import precision
from maven_env.expressions.tree import Sum
from maven_env.tools.calculus.definite_values import definite_value
from maven_env.tools.calculus.improper_ends import Diverges, Unsettled
from maven_env.tools.numeric.finite_sums import SumValue, term_at
from maven_env.tools.numeric.sum_values import infinite_sum

Kind = Literal["geometric", "power", "alternating"]
_PROBES = tuple(2**k for k in range(4, 15))
_FAR = (20, 30, 45, 65, 90, 120)
_LEVIN = 56
_GUARD = 420  # bits of working precision beyond the result, against the growth inside Levin's transform


@dataclass(frozen=True)
class Behaviour:
    """How the terms fall: by a ratio, as a power of n, or as a power with alternating signs."""

    kind: Kind
    rate: float  # the ratio, or the power


class Terms:
    """The terms of a series as balls at the precision in force, by their index."""

    def __init__(self, term: Node, index: str) -> None:
        self.term, self.index = term, index

    def __call__(self, n: int) -> Any:
        return term_at(self.term, self.index, n, "start later")


# ---- convergence -----------------------------------------------------------------------------------------------------
def behaviour(term: Node, index: str, start: int) -> Behaviour:
    """Return how the terms fall. Raises DIVERGENT, or NO_CONVERGENCE where that stays open."""
    form = rational_form(term, index)
    if form is not None and any(form[0].coeffs()):
        degrees = int(form[1].degree() - form[0].degree())
        if degrees <= 1:
            raise _divergent(f"the terms fall as {index}^-1" if degrees > 0 else "the terms do not fall to zero")
        return Behaviour("power", float(degrees))
    sizes, signs = _sampled(term, index, start)
    if sizes[-1] == -math.inf or len(sizes) < 5:
        return Behaviour("geometric", 0.5)
    # ratio of neighbours at the largest index, from the fall between the last probes
    places = [max(start, 0) + n for n in _PROBES[: len(sizes)]]
    falls = [(a - b) / (q - p) for a, b, p, q in zip(sizes, sizes[1:], places, places[1:], strict=False)]
    powers = [(a - b) / math.log2(q / p) for a, b, p, q in zip(sizes, sizes[1:], places, places[1:], strict=False)]
    pattern = _pattern(signs)
    if falls[-1] > 0.01 and falls[-1] > 0.5 * falls[-2]:
        return Behaviour("geometric", 2.0 ** -min(falls[-1], 900.0))
    if powers[-1] > 40 and powers[-1] > powers[-2]:
        return Behaviour("geometric", 2.0 ** -falls[-1])
    if sizes[-1] > sizes[-3] - 1e-9:
        raise _divergent("the terms do not fall to zero")
    far = _far_powers(term, index)
    if pattern == "irregular":
        raise ToolError("NO_CONVERGENCE", "the signs of the terms follow no simple pattern", "use method exact")
    power, drift = (far[-1], abs(far[-1] - far[-2])) if len(far) > 1 else (powers[-1], abs(powers[-1] - powers[-2]))
    if pattern == "alternating":
        if power > 0.05 and drift < 0.2 * power:
            return Behaviour("alternating", power)
        raise ToolError("NO_CONVERGENCE", "the terms fall too slowly to decide on convergence", "use method exact")
    if power > 1.02 and drift < 0.1 * power:
        return Behaviour("power", power)
    steady = len(far) > 1 and drift < 1e-4
    if steady and (power < 1 - 1e-3 or (power <= 1 + 1e-6 and drift < 1e-8)):
        raise _divergent(f"the terms fall as {index}^-{power:.3g}")
    raise ToolError("NO_CONVERGENCE", "whether the series converges could not be decided", "use method exact")


def _far_powers(term: Node, index: str) -> list[float]:
    """Return the powers by which the terms fall between very large indices, as far as they can be evaluated."""
    terms = Terms(term, index)
    sizes: list[float] = []
    with precision(1_024):
        for exponent in _FAR:
            try:
                sizes.append(_log2(terms(2**exponent)))
            except ToolError:
                break
    powers = [(a - b) / (q - p) for a, b, p, q in zip(sizes, sizes[1:], _FAR, _FAR[1:], strict=False)]
    return [power for power in powers if math.isfinite(power)]


def _divergent(why: str) -> ToolError:
    return ToolError("DIVERGENT", f"the series diverges: {why}", "sum finitely many terms, or check the term")


def _sampled(term: Node, index: str, start: int) -> tuple[list[float], list[list[int]]]:
    """Return log2 |term| at doubling indices, and the signs of four neighbours at each."""
    from flint import arb

    terms = Terms(term, index)
    sizes: list[float] = []
    signs: list[list[int]] = []
    with precision(1_024):
        for probe in _PROBES:
            n = max(start, 0) + probe
            try:
                values = [terms(n + k) for k in range(4)]
            except ToolError as error:
                if error.code == "UNKNOWN_SYMBOL":
                    raise
                if probe < 64 and not sizes:
                    raise
                break
            top = max((abs(value).upper() for value in values[:2]), key=float)
            size = float((top.log() / arb(2).log()).mid()) if top > 0 else -math.inf
            sizes.append(size)
            signs.append([1 if v.real > 0 else -1 if v.real < 0 else 0 for v in values])
            if size == -math.inf or size < -1e6:
                break
    return sizes, signs


def _pattern(signs: list[list[int]]) -> str:
    last = signs[-4:]
    if all(len(set(row)) == 1 and row[0] for row in last) and len({row[0] for row in last}) == 1:
        return "constant"
    if all(row[k] and row[k] == -row[k + 1] for row in last for k in range(3)):
        return "alternating"
    return "irregular"


# ---- values ----------------------------------------------------------------------------------------------------------
def series_value(term: Node, index: str, start: int, bits: int, most: int, method: str = "auto") -> SumValue:
    """Return the sum from `start` to infinity. Raises DIVERGENT, NO_CONVERGENCE, DOMAIN_ERROR.

    Acceleration sees the first terms only and misses a pole near n = 1000, so the certified sum of `sum_values` must
    exist, and stands where the two disagree.
    """
    certain = infinite_sum(term, index, start, most)
    try:
        found = _accelerated(term, index, start, bits, most, method)
        _compare(found, certain.ball, bits, found.tail)
    except ToolError as error:
        if error.code not in ("NO_CONVERGENCE", "DIVERGENT") or (method == "direct" and certain.method != "direct"):
            raise
        return certain
    return found


def _accelerated(term: Node, index: str, start: int, bits: int, most: int, method: str) -> SumValue:
    """Return the sum to about `bits` by the method asked for."""
    how = behaviour(term, index, start)
    if method == "direct" or how.kind == "geometric":
        return _direct(term, index, start, bits, most, how)
    if method == "euler_maclaurin":
        if how.kind != "power":
            raise ToolError("NO_CONVERGENCE", "Euler-Maclaurin needs terms of one sign", "use levin")
        return _euler_maclaurin(term, index, start, bits)
    first = _first_nonzero(term, index, start)
    try:
        found = _levin(term, index, first, bits, ahead=start)
    except ToolError as error:
        if error.code != "NO_CONVERGENCE" or how.kind != "power":
            raise
        found = _euler_maclaurin(term, index, start, bits)
        second = _euler_maclaurin(term, index, start, bits, 37)
        _compare(found, second.ball, bits, found.tail + second.tail)
        return found
    if how.kind == "power":
        try:
            second = _euler_maclaurin(term, index, start, min(bits, 90))
        except ToolError as error:
            if error.code != "NO_CONVERGENCE":
                raise
            second = _levin(term, index, first + 5, bits, ahead=start)
    else:
        second = _levin(term, index, first + 6, bits, ahead=start)
    _compare(found, second.ball, bits, found.tail + second.tail)
    return found


def _first_nonzero(term: Node, index: str, start: int) -> int:
    terms = Terms(term, index)
    with precision(256):
        for n in range(start, start + 8):
            if not terms(n).contains(0):
                return n
    return start


def _compare(found: SumValue, second: Any, bits: int, error: float) -> None:
    """Raise NO_CONVERGENCE where two balls of one sum are further apart than their errors allow."""
    with precision(bits + 64):
        gap = float(abs(found.ball - second).upper())
        size = float(abs(found.ball).upper())
    if gap > max(1e-13 * size, 10 * error, 1e-25):
        raise ToolError("NO_CONVERGENCE", "two ways to accelerate the series disagree", "use method exact")


def _direct(term: Node, index: str, start: int, bits: int, most: int, how: Behaviour) -> SumValue:
    """Add terms until a bound of the tail is small. Raises NO_CONVERGENCE."""
    terms = Terms(term, index)
    with precision(2 * bits + 64):
        total: Any = None
        last = [0.0, 0.0, 0.0]
        for count in range(most):
            value = terms(start + count)
            total = value if total is None else total + value
            last = [*last[1:], _log2(value)]
            if count < 8 or count % 4:
                continue
            tail = _tail(start + count, how, last)
            if tail < _log2(total) - bits or (tail < -4 * bits and _log2(total) < -3 * bits):
                return SumValue(total, "direct", count + 1, 2.0 ** max(tail, -1_000))
    tail = _tail(start + most - 1, how, last)
    message = f"after {most} terms the tail is still about {2.0 ** min(tail, 900.0):.1g}"
    raise ToolError(
        "NO_CONVERGENCE", message, "use levin, euler_maclaurin or exact", tail_estimate=2.0 ** min(tail, 900.0)
    )


def _tail(n: int, how: Behaviour, last: list[float]) -> float:
    """Return log2 of an estimate of what is left after index n."""
    size = max(last)
    if how.kind == "geometric":
        step = (last[0] - last[2]) / 2  # bits by which the terms fall
        if step <= 0:
            return math.inf
        ratio = 2.0 ** -min(step, 60.0)
        return size - math.log2(max(1 - ratio, 1e-9)) + 2
    if how.kind == "alternating":
        return size
    return size + math.log2(max(n, 2) / max(how.rate - 1, 1e-3))


def _log2(value: Any) -> float:
    from flint import arb

    upper = abs(value).upper()
    if not upper > 0:
        return -math.inf
    return float((upper.log() / arb(2).log()).mid())


def _levin(term: Node, index: str, start: int, bits: int, ahead: int | None = None) -> SumValue:
    """Apply Levin's u transform; terms from `ahead` up to `start` are added as they are."""
    from flint import acb, arb, fmpz

    terms = Terms(term, index)
    with precision(2 * bits + _GUARD):
        total: Any = acb(0)
        for n in range(ahead if ahead is not None else start, start):
            total = total + terms(n)
        partial, tops, bottoms = total, [], []
        limits: list[Any] = []
        for j in range(_LEVIN):
            value = terms(start + j)
            partial = partial + value
            if value.contains(0):
                raise ToolError("NO_CONVERGENCE", "a term is zero, which the acceleration cannot use", "use exact")
            weight = 1 / (value * (j + 1))
            tops.append(partial * weight)
            bottoms.append(weight)
            if j < 12 or j % 4:
                continue
            above, below = acb(0), acb(0)
            for k in range(j + 1):
                factor = arb(fmpz(math.comb(j, k))) * (arb(k + 1) / (j + 1)) ** (j - 1) * (-1) ** k
                above, below = above + tops[k] * factor, below + bottoms[k] * factor
            if below.contains(0):
                continue
            limits.append(above / below)
            if len(limits) >= 3:
                gap = max(_log2(limits[-1] - limits[-2]), _log2(limits[-2] - limits[-3]))
                if gap < _log2(limits[-1]) - bits or gap < -2 * bits:
                    used = start + j + 1 - (ahead or start)
                    return SumValue(limits[-1], "levin", used, 2.0 ** max(gap, -1_000))
        if len(limits) >= 3:
            gap = max(_log2(limits[-1] - limits[-2]), _log2(limits[-2] - limits[-3]))
            if gap < _log2(limits[-1]) - 60:
                return SumValue(limits[-1], "levin", _LEVIN, 2.0**gap)
    raise ToolError("NO_CONVERGENCE", "the acceleration does not settle", "use euler_maclaurin or exact")


def _euler_maclaurin(term: Node, index: str, start: int, bits: int, count: int = 24) -> SumValue:
    """Add the first `count` terms and take the rest by the integral and derivatives at the cut."""
    from flint import acb, fmpq

    cut = max(start, 0) + count
    terms = Terms(term, index)
    shifted = replace(term, {index: Sum((Symbol(index), number_node(Fraction(cut))))})
    try:
        integral = definite_value(shifted, index, number_node(Fraction(0)), Constant("oo"), bits + 16)
    except Diverges as error:
        raise _divergent(str(error)) from error
    except Unsettled as error:
        raise ToolError("NO_CONVERGENCE", f"the integral of the term is not certain: {error}", "use levin") from error
    with precision(bits + 96):
        total: Any = acb(0)
        for n in range(start, cut):
            total = total + terms(n)
        total = total + integral.ball + terms(cut) / 2
        order = min(MAX_ORDER, 17)
        try:
            coefficients = jet(term, {index: acb(cut)}, {index: acb(1)}, order)
        except ToolError as error:
            raise ToolError("NO_CONVERGENCE", "the term has no derivatives here", "use levin") from error
        last = None
        for k in range(1, (order + 1) // 2 + 1):
            # B_2k/(2k)! f^(2k-1) = B_2k/(2k) c_(2k-1)
            last = coefficients[2 * k - 1] * acb(fmpq.bernoulli(2 * k)) / (2 * k)
            total = total - last
        error_size = _log2(last)
        if error_size > _log2(total) - min(bits, 50):
            raise ToolError("NO_CONVERGENCE", "the correction terms do not fall", "use levin")
    radius = max(float(integral.ball.real.rad()), float(integral.ball.imag.rad()))
    return SumValue(total, "euler_maclaurin", cut - start, 2.0 ** max(error_size, -1_000) + radius)
