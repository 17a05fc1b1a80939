"""What sympy proposes for integrals, and the check of antiderivatives by differentiation in balls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.execution.fuel import PortionSpent, portion
from maven_env.expressions import Node, free_symbols
from maven_env.expressions.analysis.jets import derivative_ball
from maven_env.expressions.balls import ball, decimal, precision
from maven_env.expressions.symbolic import from_sympy, to_sympy

_QUICK, _LONG = 30_000, 110_000  # fuel of one attempt
_BITS = 160
_X = ((13, 100), (37, 100), (62, 100), (81, 100), (137, 100), (221, 100), (33, 10), (59, 10))
_NEGATIVE = tuple((-p, q) for p, q in ((41, 100), (17, 10), (77, 100), (29, 10)))
_PARAMETERS = ((7, 5), (11, 4), (5, 3), (9, 4), (16, 7), (12, 5), (19, 6), (8, 3))


@dataclass(frozen=True)
class Proposal:
    """A result of sympy as a tree, how it was found, and the conditions that sympy attached."""

    node: Node
    method: str
    conditions: tuple[Any, ...] = ()


def attempt(work: Callable[[], Any], fuel: int) -> Any | None:
    """Return what `work` gives, None where sympy fails or needs more fuel than its portion."""
    from maven_env.tools.results import declining

    try:
        with portion(fuel), declining("no result"):
            return work()
    except (PortionSpent, RecursionError):
        return None
    except ToolError as error:
        if error.code in ("LIMIT_EXCEEDED", "UNSOLVED", "UNDEFINED_VALUE"):
            return None
        raise


class Symbols:
    """Sympy symbols that carry assumptions, for the names of a problem."""

    def __init__(self, words: Mapping[str, set[str]]) -> None:
        import sympy

        self.plain = {name: sympy.Symbol(name) for name in words}
        self.assumed = {name: sympy.Symbol(name, **_flags(w)) for name, w in sorted(words.items())}

    def into(self, node: Node) -> Any:
        return to_sympy(node).xreplace({self.plain[n]: s for n, s in self.assumed.items()})

    def out(self, value: Any) -> Any:
        return value.xreplace({s: self.plain[n] for n, s in self.assumed.items()})


def _flags(words: set[str]) -> dict[str, bool]:
    flags = {word: True for word in words if word != "nonzero"}
    if "nonzero" in words and "positive" not in words:
        flags["zero"] = False
    return flags


def indefinite_proposals(node: Node, wrt: str, words: Mapping[str, set[str]]) -> Iterator[Proposal]:
    """Yield antiderivatives, quick methods first."""
    import sympy
    from sympy.integrals.manualintegrate import manualintegrate

    symbols = Symbols({name: words.get(name, set()) for name in sorted(free_symbols(node) | {wrt})})
    f, x = symbols.into(node), symbols.assumed[wrt]
    ways: list[tuple[str, Callable[[], Any], int]] = [
        ("rules", lambda: manualintegrate(f, x), _QUICK),
        ("rules after expansion", lambda: manualintegrate(sympy.expand(f), x), _QUICK),
        ("half angle", lambda: _by_half_angle(f, x), _LONG),
        ("sympy", lambda: sympy.integrate(f, x), _LONG),
    ]
    seen = set()
    for method, work, fuel in ways:
        found = attempt(lambda work=work: symbols.out(work()), fuel)  # type: ignore[misc]
        if found is None or found in seen or found.has(sympy.Integral):
            continue
        seen.add(found)
        written = attempt(lambda found=found: _written(found), _QUICK)  # type: ignore[misc]
        if written is not None:
            yield Proposal(written, method)


def _by_half_angle(f: Any, x: Any) -> Any:
    """Integrate a rational function of sines and cosines of x through t = tan(x/2)."""
    import sympy

    t = sympy.Dummy("t", real=True)
    sine, cosine = 2 * t / (1 + t**2), (1 - t**2) / (1 + t**2)
    f = sympy.expand_trig(f)
    ratios = {
        sympy.tan(x): sine / cosine,
        sympy.cot(x): cosine / sine,
        sympy.sec(x): 1 / cosine,
        sympy.csc(x): 1 / sine,
    }
    g = f.xreplace({sympy.sin(x): sine, sympy.cos(x): cosine, **ratios})
    if g.has(x) or not g.is_rational_function(t):
        raise ValueError("no rational function of sines and cosines")
    found = sympy.integrate(sympy.cancel(g * 2 / (1 + t**2)), t)
    return found.subs(t, sympy.tan(x / 2))


def _written(value: Any) -> Node:
    import sympy

    if isinstance(value, sympy.Piecewise):
        return from_sympy(value)
    return from_sympy(sympy.factor_terms(value))


def definite_proposals(
    node: Node, wrt: str, low: Node, high: Node, words: Mapping[str, set[str]]
) -> Iterator[Proposal]:
    """Yield values of a definite integral: by antiderivatives, then by sympy's definite methods."""
    import sympy
    from sympy.integrals.manualintegrate import manualintegrate

    names = free_symbols(node) | free_symbols(low) | free_symbols(high) | {wrt}
    symbols = Symbols({name: words.get(name, set()) for name in sorted(names)})
    f, x = symbols.into(node), symbols.assumed[wrt]
    a, b = symbols.into(low), symbols.into(high)

    def by_rules() -> Any:
        primitive = manualintegrate(f, x)
        if primitive.has(sympy.Integral, sympy.Piecewise):
            return None
        return _at(primitive, x, b, "-") - _at(primitive, x, a, "+")

    ways: list[tuple[str, Callable[[], Any], int]] = [
        ("antiderivative", by_rules, _QUICK),
        ("definite", lambda: sympy.integrate(f, (x, a, b)), _LONG),
    ]
    for method, work, fuel in ways:
        found = attempt(work, fuel)
        if found is None:
            continue
        proposal = attempt(lambda found=found, method=method: _unpacked(found, symbols, method), _QUICK)  # type: ignore[misc]
        if proposal is not None:
            yield proposal


def _at(primitive: Any, x: Any, place: Any, side: str) -> Any:
    import sympy

    if not place.is_infinite:
        value = primitive.subs(x, place)
        if not value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.AccumBounds):
            return value
    return sympy.limit(primitive, x, place, side)


def _unpacked(value: Any, symbols: Symbols, method: str) -> Proposal | None:
    import sympy

    conditions: tuple[Any, ...] = ()
    if isinstance(value, sympy.Piecewise):
        value, condition = value.args[0]
        if condition != True:  # noqa: E712, sympy's true
            parts = condition.args if isinstance(condition, sympy.And) else (condition,)
            conditions = tuple(symbols.out(part) for part in sorted(parts, key=str))
    if value.has(sympy.Integral, sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.AccumBounds, sympy.Piecewise):
        return None
    return Proposal(from_sympy(sympy.factor_terms(symbols.out(value))), method, conditions)


# ---- checking antiderivatives ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Check:
    """How F' = f fared: agreeing points, and the signs of variable and parameters where it failed."""

    agreeing: int
    conditions: tuple[str, ...]  # what must hold besides, such as "x > 0"


def check_antiderivative(
    found: Node, node: Node, wrt: str, words: Mapping[str, set[str]] | None = None, at_least: int = 4
) -> Check | None:
    """Compare F' with f at fixed points; None if F is refuted, or too few points can be judged."""
    words = words or {}
    names = sorted((free_symbols(node) | free_symbols(found)) - {wrt})
    sample = sample_values(names, words)
    right = [_agrees(found, node, wrt, x, sample) for x in _X if _admits(words.get(wrt, set()), x)]
    left = [_agrees(found, node, wrt, x, sample) for x in _NEGATIVE if _admits(words.get(wrt, set()), x)]
    good = right.count(True) + left.count(True)
    bad = (right.count(False), left.count(False))
    conditions: list[str] = []
    if bad[0] and bad[1]:
        return None
    if bad[0] or bad[1]:
        fine, failed = (left, right) if bad[0] else (right, left)
        if fine.count(True) < 3 or failed.count(True):
            return None
        conditions.append(f"{wrt} {'<' if bad[0] else '>'} 0")
        points = _NEGATIVE if bad[0] else _X
    else:
        points = _X + _NEGATIVE
    if good < at_least and not (good >= 2 and right.count(None) + left.count(None) >= 8):
        return None
    for name in names:
        if words.get(name, set()) & {"positive", "negative", "nonnegative"}:
            continue
        turned = {**sample, name: -sample[name]}
        found_here = [_agrees(found, node, wrt, x, turned) for x in points if _admits(words.get(wrt, set()), x)]
        if False in found_here:
            conditions.append(f"{name} > 0")
    return Check(good, tuple(conditions))


def _admits(words: set[str], x: tuple[int, int]) -> bool:
    if x[0] < 0:
        return not words & {"positive", "nonnegative"}
    return "negative" not in words


def sample_values(names: list[str], words: Mapping[str, set[str]]) -> dict[str, Fraction]:
    """Return fixed values for parameters that keep their assumptions."""
    values = {}
    for i, name in enumerate(names):
        p, q = _PARAMETERS[i % len(_PARAMETERS)]
        value = Fraction(p + i // len(_PARAMETERS), q)
        if "integer" in words.get(name, set()):
            value = Fraction(i + 2)
        values[name] = -value if "negative" in words.get(name, set()) else value
    return values


def _agrees(found: Node, node: Node, wrt: str, x: tuple[int, int], sample: Mapping[str, Fraction]) -> bool | None:
    """Return whether F' = f at a point, None where that cannot be judged."""
    with precision(_BITS):
        values = {name: decimal(value) for name, value in sample.items()}
        values[wrt] = decimal(Fraction(*x))
        try:
            wanted = ball(node, values)
            slope = derivative_ball(found, values, wrt)
        except (ToolError, ValueError, ZeroDivisionError, OverflowError):
            return None
        if not wanted.is_finite() or not slope.is_finite():
            return None
        if slope.overlaps(wanted):
            gap = abs(slope - wanted).upper()
            return True if gap < 1e-15 * (1 + abs(wanted).upper()) else None
        return False
