"""Signs of expressions whose parameters carry assumptions: proved, or not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.algebra.kernels import Ring
from maven_env.expressions.tree import Constant, Node, Symbol
from maven_env.tools.equations.candidates import by_powers

WORDS = ("positive", "negative", "nonnegative", "nonzero", "real", "integer")
_GOOD = {"positive", "nonnegative"}


def assumed(given: Mapping[str, Any] | None) -> dict[str, set[str]]:
    """Read {"a": "positive"} or {"a": ["positive", "integer"]}. Raises BAD_INPUT, ASSUMPTION_CONFLICT."""
    found: dict[str, set[str]] = {}
    for name, words in (given or {}).items():
        listed = [words] if isinstance(words, str) else words
        if not isinstance(listed, list) or not all(word in WORDS for word in listed):
            raise ToolError("BAD_INPUT", f"assumptions: {name} is no list of words", f"words: {', '.join(WORDS)}")
        kept = set(listed)
        if "negative" in kept and kept & _GOOD:
            raise ToolError("ASSUMPTION_CONFLICT", f"{name} cannot be negative and {', '.join(sorted(kept & _GOOD))}")
        found[name] = kept
    return found


def sign_under(node: Node, assumptions: Mapping[str, set[str]]) -> int | None:
    """Return 1 or -1 where the sign is proved for all parameters that keep the assumptions, else None."""
    try:
        ring = Ring()
        ratio = ring.ratio(node)
        top, bottom = _sign(ring, ratio.top, assumptions), _sign(ring, ratio.bottom, assumptions)
    except ToolError:
        return None
    return None if top is None or bottom is None else top * bottom


def _sign(ring: Ring, polynomial: Any, assumptions: Mapping[str, set[str]], depth: int = 0) -> int | None:
    plain = _plain_sign(ring, polynomial, assumptions)
    if plain is not None or depth > 2 or polynomial == 0:
        return plain
    for kernel in ring.used(polynomial):
        if kernel.kind not in ("root", "surd") or kernel.order != 2 or kernel.argument is None:
            continue
        parts = by_powers(ring, polynomial, kernel.index)
        if len(parts) != 2:
            continue
        rest, slope = (_sign(ring, part, assumptions, depth + 1) for part in parts)
        if rest is None or slope is None:
            return None
        if rest == slope:
            return rest
        # P + Q sqrt(R) with opposite signs: compare Q^2 R with P^2; sqrt(R) is real where the solution is
        gap = parts[1] ** 2 * kernel.argument.top - parts[0] ** 2 * kernel.argument.bottom
        below = _sign(ring, kernel.argument.bottom, assumptions, depth + 1)
        wins = _sign(ring, gap, assumptions, depth + 1)
        return None if wins is None or below is None else slope if wins * below > 0 else rest
    return None


def _plain_sign(ring: Ring, polynomial: Any, assumptions: Mapping[str, set[str]]) -> int | None:
    """Return the sign of a sum of terms that all have the same one."""
    signs = set()
    for exponents, coefficient in polynomial.to_dict().items():
        sign = 1 if coefficient > 0 else -1
        for kernel in ring.kernels:
            power = int(exponents[kernel.index])
            if not power:
                continue
            known = _kernel_sign(kernel.kind, kernel.node, assumptions)
            if known is None:
                return None
            sign *= known**power
        signs.add(sign)
    return signs.pop() if len(signs) == 1 else None


def _kernel_sign(kind: str, node: Node, assumptions: Mapping[str, set[str]]) -> int | None:
    if isinstance(node, Symbol):
        words = assumptions.get(node.name, set())
        return 1 if "positive" in words else -1 if "negative" in words else None
    if kind in ("exp", "root", "surd", "Abs"):
        return 1
    return 1 if node == Constant("pi") else None
