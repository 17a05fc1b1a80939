"""Terms of a series as balls at the precision in force, and sums of finitely many of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from maven_env.errors import ToolError
from maven_env.expressions import Constant, Node, walk
from maven_env.expressions.balls import ball, precision

GOAL = 64  # bits of a value
HEAD = 20_000  # most terms before an expansion


@dataclass
class SumValue:
    """The value within a ball, how it was found, how many terms were added, and a bound of what was estimated."""

    ball: Any
    method: str
    n_terms: int
    tail: float = 0.0


def undecided(message: str) -> ToolError:
    hint = "give a finite stop, or bring the term into a simpler form"
    return ToolError("NO_CONVERGENCE", message, hint)


def diverges(message: str) -> NoReturn:
    raise ToolError("DIVERGENT", f"the series diverges: {message}", "sum up to a finite stop")


def finite_sum(term: Node, index: str, start: int, stop: int) -> SumValue:
    """Add the terms from start to stop by balls, to GOAL bits of the sum."""
    count = max(stop - start + 1, 0)
    for work in (128, 256, 512, 1_024, 2_048, 4_096):
        if work > 512 and count * work > 4_000_000:
            break
        with precision(work):
            total = partial_sum(term, index, start, stop + 1)
            if total.rel_accuracy_bits() >= GOAL or total.is_exact():
                return SumValue(total, "direct", count)
            if work >= 2_048 and total.contains(0) and float(total.abs_upper()) < 1e-300:
                return SumValue(total, "direct", count)
    raise undecided(f"the {count} terms cancel too much for a certain sum")


def partial_sum(term: Node, index: str, start: int, stop: int) -> Any:
    from flint import acb

    total = acb(0)
    for n in range(start, stop):
        total += term_at(term, index, n)
    return total


def term_at(term: Node, index: str, n: int, mend: str = "start the sum behind it") -> Any:
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
        raise ToolError("DOMAIN_ERROR", f"the term has no value at {index} = {n}", mend)
    return value


def is_real(term: Node) -> bool:
    """Tell whether the term is written without the imaginary unit."""
    return not any(part == Constant("I") for part in walk(term))
