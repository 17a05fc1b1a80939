"""Integrals to infinity of oscillating functions, in double precision: smooth windows of ever larger width.

With a smooth cutoff of width T the oscillating part of the tail dies faster than any power of T, and what is left falls
as powers of T, which the epsilon algorithm removes. The amplitude must decay: otherwise the integral diverges.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, Number, Power, Product, Quotient, Symbol, free_symbols, replace, walk
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.numeric import compile_array
from maven_env.tools.calculus.improper_ends import Diverges, Unsettled

_WAVES = ("sin", "cos", "besselj", "bessely", "airyai")
_NODES = 20  # of a Gauss rule on each half wave
_WINDOWS = 11
_FIRST = 16.0  # half waves of the slowest motion in the first window
_MOST = 2_000_000  # evaluations of one window


def oscillating_tail(node: Node, wrt: str, start: float) -> tuple[complex, float]:
    """Return the integral from `start` > 0 to infinity and an estimate of its error.

    Raises Diverges where the oscillation does not decay or the mean falls too slowly, Unsettled otherwise.
    """
    degree, speeds = _phases(node, wrt)
    node = _straightened(node, wrt, degree)
    function = compile_array(node, (wrt,))
    fastest, slowest = max(speeds), min(speeds)
    begin = start**degree
    width = max(_FIRST * math.pi / slowest, begin)
    half_wave = math.pi / fastest
    values: list[complex] = []
    amplitudes: list[float] = []
    x, w = np.polynomial.legendre.leggauss(_NODES)
    for _ in range(_WINDOWS):
        panels = math.ceil((2 * width - begin) / half_wave)
        if panels * _NODES > _MOST:
            break
        edges = np.linspace(begin, 2 * width, panels + 1)
        middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        points = (middle[:, None] + half[:, None] * x[None, :]).ravel()
        weights = (half[:, None] * w[None, :]).ravel()
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(function(points)) * np.ones_like(points)
        except ToolError as error:
            raise Unsettled(error.message) from error
        if not np.all(np.isfinite(found)):
            raise Unsettled("the integrand has no values far out")
        values.append(complex(math.fsum((found * weights * _window(points / width)).tolist())))
        amplitudes.append(float(np.max(np.abs(found[points > width]))))
        width *= 2
    return _settled(values, amplitudes)


def _window(s: Any) -> Any:
    """Return 1 up to 1 and 0 from 2 on, with all derivatives continuous."""
    up, down = np.clip(s - 1, 0, 1), np.clip(2 - s, 0, 1)
    with np.errstate(all="ignore"):
        a, b = np.where(up > 0, np.exp(-1 / up), 0.0), np.where(down > 0, np.exp(-1 / down), 0.0)
    return b / (a + b)


def _settled(values: list[complex], amplitudes: list[float]) -> tuple[complex, float]:
    if len(values) < 6:
        raise Unsettled("the oscillation is too fast to be followed far out")
    if amplitudes[-1] > 0.97 * amplitudes[-3] and amplitudes[-1] > 0.9 * amplitudes[0]:
        raise Diverges("at infinity the oscillation does not decay")
    if amplitudes[-1] > 0.8 * amplitudes[-3]:
        raise Unsettled("the oscillation decays too slowly")
    steps = [b - a for a, b in pairwise(values)]
    scale = max(abs(value) for value in values)
    if abs(steps[-1]) > 1e-6 * scale:
        ratios = [abs(q / p) for p, q in zip(steps[-3:], steps[-2:], strict=False) if p]
        if ratios and min(ratios) > 0.999:
            raise Diverges("at infinity the mean falls as 1/x or slower")
        if ratios and max(ratios) > 0.9:
            raise Unsettled("the mean falls too slowly at infinity")
    limits = [_epsilon(values[:k]) for k in (len(values) - 2, len(values) - 1, len(values))]
    error = max(abs(limits[2] - limits[1]), abs(limits[2] - limits[0])) + 1e-13 * scale
    return limits[2], error


def _epsilon(values: list[complex]) -> complex:
    """Return the last even entry of Wynn's epsilon table."""
    before, row = [0j] * (len(values) + 1), list(values)
    best = values[-1]
    for k in range(1, len(values)):
        following = []
        for i in range(len(row) - 1):
            gap = row[i + 1] - row[i]
            if abs(gap) < 1e-15 * (abs(row[i]) + 1e-300):
                return row[i + 1] if k % 2 else best
            following.append(before[i + 1] + 1 / gap)
        before, row = row, following
        if k % 2 == 0:
            best = row[-1]
    return best


def _phases(node: Node, wrt: str) -> tuple[int, list[float]]:
    """Return the degree of the fastest phase, and the leading coefficients of the phases of that degree."""
    found: list[tuple[int, float]] = []
    for part in walk(node):
        if isinstance(part, Call) and part.function in _WAVES and wrt in free_symbols(part):
            form = rational_form(part.arguments[-1], wrt)
            if form is None:
                form = _scaled_form(part.arguments[-1], wrt)
            if form is None or form[1].degree() > 0:
                raise Unsettled("the phase of the oscillation is no polynomial")
            top = form[0]
            found.append((int(top.degree()), abs(float(top[top.degree()])) / abs(float(form[1][0]))))
    if not found:
        raise Unsettled("the integrand oscillates, but not by sin, cos or Bessel functions")
    degree = max(d for d, _ in found)
    if degree > 4:
        raise Unsettled("the phase of the oscillation is of too high a degree")
    return degree, [speed for d, speed in found if d == degree]


def _scaled_form(node: Node, wrt: str) -> Any:
    """Take a closed irrational factor, such as pi, for a near rational; only the spacing of points depends on it."""
    from maven_env.expressions.balls import nearest_double

    def change(part: Node) -> Node:
        if not free_symbols(part):
            return Number(Fraction(nearest_double(part)).limit_denominator(1_000))
        from maven_env.expressions.tree import rebuild

        return rebuild(part, change)

    try:
        return rational_form(change(node), wrt)
    except ToolError:
        return None


def _straightened(node: Node, wrt: str, degree: int) -> Node:
    """Put x = t^(1/degree), so that the fastest phase grows linearly."""
    if degree == 1:
        return node
    t = Symbol(wrt)
    power = Number(Fraction(1, degree))
    slope = Quotient(Power(t, Number(Fraction(1 - degree, degree))), Number(Fraction(degree)))
    return Product((replace(node, {wrt: Power(t, power)}), slope))
