"""Fuel: a count of the objects that sympy builds, which bounds a computation without looking at a clock.

One unit is one `Basic` object, one power, one term handed to `Add.flatten` or `Mul.flatten`, one polynomial ring
element, or one step of a division of such elements. Unlike seconds, the count is the same on a slow and on a fast
machine, so a refusal that it causes can be scored and cached. It does not see loops that build no sympy object (dense
univariate polynomials, python-flint, numpy): those are bounded by the size of their input, and by the guard's
processor time in the last resort.

`install` replaces methods of sympy for the life of the process. Only the guard's helper calls it, never the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

UNLIMITED = 1 << 62
_TERMS_PER_UNIT = 64  # of a ring element searched for its leading term: about as long as one construction

_left = UNLIMITED
_installed = False


class FuelExhausted(BaseException):
    """The fuel is spent. A BaseException, because sympy's own `except Exception` must not swallow it.

    Where it is swallowed all the same (a destructor, a bare except), the next construction raises it again.
    """


def fill(units: int) -> None:
    """Set the remaining fuel to `units`."""
    global _left
    _left = units


def left() -> int:
    """Return the remaining fuel; negative once it was exhausted."""
    return _left


class PortionSpent(Exception):
    """A part of a computation needed more than its portion; the rest may go on."""


@contextmanager
def portion(units: int) -> Iterator[None]:
    """Let what runs inside use at most `units`; raise PortionSpent where it needs more. No bound without `install`."""
    global _left
    before = _left
    _left = part = min(units, before)
    try:
        yield
    except FuelExhausted:
        if part == before:
            raise
        raise PortionSpent(f"more than {units} units of fuel") from None
    finally:
        _left = before - (part - _left)


def _burn(units: int) -> None:
    global _left
    _left -= units
    if _left < 0:
        raise FuelExhausted


def install() -> None:
    """Make sympy's constructors burn fuel. Idempotent; imports sympy."""
    global _installed
    if _installed:
        return
    from sympy.core.add import Add
    from sympy.core.basic import Basic
    from sympy.core.mul import Mul
    from sympy.core.power import Pow
    from sympy.polys.rings import PolyElement

    _meter_basic(Basic)
    for operation in (Add, Mul):
        _meter_flatten(operation)
    _meter_pow(Pow)
    _meter_ring_element(PolyElement)
    _installed = True


def _meter_basic(basic: Any) -> None:
    construct: Callable[..., Any] = basic.__new__

    def __new__(cls: Any, *args: Any) -> Any:
        # _burn written out: this is the hottest line of every computation.
        global _left
        _left -= 1
        if _left < 0:
            raise FuelExhausted
        return construct(cls, *args)

    basic.__new__ = staticmethod(__new__)


def _meter_flatten(operation: Any) -> None:
    flatten: Callable[..., Any] = operation.flatten.__func__

    def metered(cls: Any, seq: list[Any]) -> Any:
        _burn(1 + len(seq))
        return flatten(cls, seq)

    operation.flatten = classmethod(metered)


def _meter_pow(power: Any) -> None:
    # sympy wraps the constructor in a cache: a hit costs fuel too, so the count does not depend on what was evicted.
    construct: Callable[..., Any] = power.__new__

    def __new__(cls: Any, b: Any, e: Any, evaluate: Any = None) -> Any:
        _burn(1)
        return construct(cls, b, e, evaluate)

    power.__new__ = staticmethod(__new__)


def _meter_ring_element(element: Any) -> None:
    # Groebner bases, multivariate gcd and factorization spend their time here and build no Basic object.
    initialize: Callable[..., None] = element.__init__
    leading_expv: Callable[..., Any] = element.leading_expv

    def __init__(self: Any, ring: Any, init: Any) -> None:
        _burn(1)
        initialize(self, ring, init)

    def metered(self: Any) -> Any:
        _burn(1 + len(self) // _TERMS_PER_UNIT)
        return leading_expv(self)

    element.__init__ = __init__
    element.leading_expv = metered  # one step of a division that changes its dividend in place
