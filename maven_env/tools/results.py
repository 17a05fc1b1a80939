"""What tools return, and how it becomes JSON: trees as text, doubles in shortest form, no bare NaN or infinity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from maven_env.errors import MavenError, ToolError
from maven_env.expressions import Node, Number, to_text
from maven_env.types import Json, Reading

LARGEST_INTEGER = 2**53 - 1  # beyond it, JavaScript clients round
_NODES: tuple[type, ...] = get_args(Node)


@dataclass(frozen=True)
class ToolResult:
    """The output of a tool and its diagnostics; values are anything that `jsonable` takes."""

    output: Mapping[str, Any]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


def verdict(holds: bool | None) -> Reading:
    """Return passed, failed, or inconclusive for None."""
    return "inconclusive" if holds is None else "passed" if holds else "failed"


def jsonable(value: Any) -> Json:
    """Return `value` as JSON: trees and fractions as exact text, complex numbers as [re, im], infinities as "oo"."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= LARGEST_INTEGER else to_text(Number(Fraction(value)))
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else "nan" if math.isnan(value) else "oo" if value > 0 else "-oo"
    if isinstance(value, complex):
        return jsonable(value.real) if value.imag == 0 else [jsonable(value.real), jsonable(value.imag)]
    if isinstance(value, Fraction):
        return jsonable(value.numerator) if value.denominator == 1 else to_text(Number(value))
    if isinstance(value, _NODES):
        return to_text(value)
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    raise TypeError(f"a tool returned {type(value).__name__}, which is no JSON")


@contextmanager
def declining(message: str, hint: str = "") -> Iterator[None]:
    """Turn whatever a symbolic library raises on an input that it cannot treat into UNSOLVED.

    Such libraries raise nearly every type of exception there; errors of this project pass through.
    """
    try:
        yield
    except (MavenError, RecursionError, MemoryError):
        raise
    except Exception as error:
        raise ToolError("UNSOLVED", f"{message}: {type(error).__name__}", hint) from error
