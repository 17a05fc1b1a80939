"""Whether the sum of a wave converges, from its sizes at indices up to 2^640."""

from __future__ import annotations

import math
from itertools import pairwise

from maven_env.expressions import Node
from maven_env.expressions.balls import decimal, precision
from maven_env.tools.numeric.finite_sums import diverges, undecided
from maven_env.tools.numeric.waves import Wave, size_at

_DEPTHS = (40, 80, 160, 320, 640)  # log2 of the indices at which the far behaviour is seen
_MARGIN = 0.005


def keeps_size(g: Node, index: str) -> bool:
    """Tell whether far terms all have the same size, so that they cannot tend to zero."""
    sizes = [size_at(g, index, m * 2**depth) for depth in _DEPTHS for m in (3, 5, 7)]
    known = [size for size in sizes if size is not None]
    with precision(64):
        return len(known) == len(sizes) and all(size > 0 and abs(size - known[0]) < known[0] * 1e-9 for size in known)


def classify(wave: Wave, index: str) -> None:
    """Return if the sum of one wave surely converges. Raises DIVERGENT or NO_CONVERGENCE."""
    logs = []
    for depth in _DEPTHS:
        size = size_at(wave.g, index, 3 * 2**depth)
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
