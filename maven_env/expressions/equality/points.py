"""Where two expressions are compared: exact points derived from a key, over declared domains and across branches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

Bounds = tuple[Fraction | None, Fraction | None]  # None: no bound on that side
Domain = Mapping[str, Bounds]  # by symbol; symbols that are not named are positive
Region = Literal["positive", "real", "complex"]
Point = dict[str, tuple[Fraction, Fraction]]  # real and imaginary part by symbol

POSITIVE: Bounds = (Fraction(0), None)

_MODEST = ((Fraction(1, 10), 1), (1, 2), (2, 5), (Fraction(1, 50), Fraction(1, 10)))
_WIDE = (*_MODEST, (5, 30), (30, 1_000), (1_000, 100_000), (Fraction(1, 10_000), Fraction(1, 100)))


def points(
    key: bytes,
    names: Sequence[str],
    domain: Domain,
    region: Region,
    count: int,
    *,
    wide: bool = False,
    scales: Sequence[Fraction] = (),
) -> Iterator[Point]:
    """Yield `count` points, and one at each of `scales`.

    `region` says where symbols without a declared domain go; `wide` takes them over nine decades instead of two.
    """
    strata = _WIDE if wide else _MODEST
    for i in range(count):
        yield {name: _coordinate(key, name, i, k, domain.get(name), region, strata) for k, name in enumerate(names)}
    for i, scale in enumerate(scales):
        place = ((scale / 2, scale * 2),)
        point = {n: _coordinate(key, n, i, k, domain.get(n), region, place) for k, n in enumerate(names)}
        if all(inside(re, domain.get(n, (None, None))) for n, (re, _) in point.items()):
            yield point


def inside(value: Fraction, bounds: Bounds) -> bool:
    """Return whether `value` is strictly within `bounds`."""
    low, high = bounds
    return (low is None or low < value) and (high is None or value < high)


def _coordinate(
    key: bytes,
    name: str,
    index: int,
    place: int,
    bounds: Bounds | None,
    region: Region,
    strata: Sequence[tuple[Fraction | int, Fraction | int]],
) -> tuple[Fraction, Fraction]:
    digest = hashlib.sha256(key + f"{index} {name}".encode()).digest()
    share = Fraction(int.from_bytes(digest[:4], "big") % 991 + 9, 1_009)  # in (0, 1)
    low, high = bounds if bounds is not None else POSITIVE
    if low is not None and high is not None:
        return low + (high - low) * share, Fraction(0)
    bottom, top = strata[(index + (digest[4] if place else 0)) % len(strata)]
    size = bottom + (top - bottom) * share
    if bounds is None and region != "positive":
        imaginary = (
            Fraction(int.from_bytes(digest[5:7], "big") % 1_500 + 11, 1_013) if region == "complex" else Fraction(0)
        )
        return (-size if digest[7] & 1 else size), imaginary
    if low is not None:
        return low + size, Fraction(0)
    if high is not None:
        return high - size, Fraction(0)
    return (-size if (digest[7] + index) & 1 else size), Fraction(0)
