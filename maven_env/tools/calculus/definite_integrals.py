"""Definite integrals in closed form: every proposal is compared with a value that was found without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Constant, Node, Number, Sum, free_symbols, rational_value, replace
from maven_env.expressions.algebra.rational import factored
from maven_env.expressions.balls import nearest_double, precision, value_ball
from maven_env.tools.calculus.antiderivatives import Proposal, attempt, definite_proposals, sample_values
from maven_env.tools.calculus.definite_values import Diverges, Unsettled, Value, definite_value, infinity
from maven_env.tools.calculus.exact_integrals import exact_antiderivative, exact_difference
from maven_env.tools.calculus.identification import identify
from maven_env.tools.calculus.oscillating_tails import oscillating_tail
from maven_env.tools.symbolic.substitution import simplified, simplified_if_possible

_BITS = 80
_FINE_DIGITS = 60
_AGREEMENT = 1e-11  # relative, between a closed form and the value found numerically


@dataclass(frozen=True)
class Integral:
    """A closed form, how it was found, what it was compared with, and where it holds."""

    node: Node
    method: str
    difference: float | None = None
    conditions: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    flags: tuple[str, ...] = field(default=())


Ranges = Mapping[str, tuple[Fraction, Fraction]]  # where parameters of an inner integral run


def definite_integral(
    node: Node, wrt: str, low: Node, high: Node, words: Mapping[str, set[str]], ranges: Ranges | None = None
) -> Integral:
    """Return the integral in closed form. Raises DIVERGENT, UNSOLVED."""
    exact = _exact(node, wrt, low, high)
    parameters = (free_symbols(node) - {wrt}) | free_symbols(low) | free_symbols(high)
    if parameters:
        return _with_parameters(node, wrt, low, high, words, sorted(parameters), ranges or {}, exact)
    try:
        value = integral_value(node, wrt, low, high)
    except Diverges as error:
        raise divergent(error) from error
    except Unsettled as error:
        if exact is not None:
            return Integral(exact, "exact")
        message = f"no value could be made sure of: {error}"
        raise ToolError("UNSOLVED", message, "split the range, or try quadrature_singular") from error
    flags: list[str] = []
    if exact is not None:
        gap = _gap(exact, value)
        if gap is not None:
            return Integral(exact, "exact", gap, (), value.places)
        flags.append("the exact antiderivative disagrees with quadrature")
    for found in _proposals(node, wrt, low, high):
        gap = _gap(found.node, value)
        if gap is not None:
            return Integral(found.node, found.method, gap, (), value.places, tuple(flags))
        if found.method == "antiderivative":
            flags.append("an antiderivative jumps inside the range; its difference at the limits was rejected")
    about = complex(value.ball)
    shown = f"{about.real:.15g}" if about.imag == 0 else f"{about:.15g}"
    hint = "use quadrature for the number, or quadrature_singular where an end is improper"
    raise ToolError(
        "UNSOLVED", f"no closed form was found; the value is near {shown}", hint, singular_points=value.places
    )


def divergent(error: Exception) -> ToolError:
    return ToolError("DIVERGENT", f"the integral diverges: {error}", "split the range, or ask for another quantity")


def _exact(node: Node, wrt: str, low: Node, high: Node) -> Node | None:
    found = exact_antiderivative(node, wrt)
    if found is None:
        return None
    gap = exact_difference(found, wrt, low, high)
    return None if gap is None else simplified(gap)


def integral_value(node: Node, wrt: str, low: Node, high: Node, bits: int = _BITS) -> Value:
    """Return the value found without a closed form. Raises Diverges, Unsettled."""
    node = factored(node, wrt)
    try:
        return definite_value(node, wrt, low, high, bits)
    except Unsettled as error:
        if bits > _BITS:
            raise
        try:
            found = _oscillating(node, wrt, low, high)
        except Unsettled:
            found = None
        if found is not None:
            return found
        certified = _certified(node, wrt, low, high)
        if certified is None:
            raise
        del error
        return certified


def _oscillating(node: Node, wrt: str, low: Node, high: Node) -> Value | None:
    from flint import acb, arb

    from maven_env.expressions import Negative, Symbol

    if infinity(low) < 0 and infinity(high) > 0:
        zero = Number(Fraction(0))
        right = _oscillating(node, wrt, zero, high)
        left = _oscillating(replace(node, {wrt: Negative(Symbol(wrt))}), wrt, zero, high)
        return None if left is None or right is None else Value(left.ball + right.ball, False, right.places)
    if infinity(low) < 0:
        return _oscillating(replace(node, {wrt: Negative(Symbol(wrt))}), wrt, Negative(high), Constant("oo"))
    if infinity(high) <= 0 or infinity(low):
        return None
    start = nearest_double(low)
    cut = Fraction(max(1, int(start) + 1))
    near = definite_value(node, wrt, low, Number(cut), _BITS)
    far, error = oscillating_tail(node, wrt, float(cut))
    with precision(_BITS):
        around = arb(0, 20 * error)
        tail = acb(arb(far.real) + around, arb(far.imag) + around if far.imag else 0)
        return Value(near.ball + tail, False, near.places)


def _certified(node: Node, wrt: str, low: Node, high: Node) -> Value | None:
    """Ask the quadrature of the other family, which stretches improper ends in another way."""
    from flint import acb, arb

    from maven_env.tools.numeric import certify

    found = certify.definite_integral(node, wrt, low, high)
    if found is None:
        if certify.diverges(node, wrt, low, high):
            raise Diverges("the integrand does not fall fast enough towards an end, or has a pole")
        return None
    middle, radius = found
    around = arb(0, float(radius))
    return Value(acb(middle.real + around, middle.imag + around), False)


def _proposals(node: Node, wrt: str, low: Node, high: Node) -> Any:
    """Yield closed forms: integer relations at many digits, then what sympy finds."""
    found = _identified(node, wrt, low, high)
    if found is not None:
        yield found
    words = {wrt: {"real"}}
    edge = rational_value(low)
    if edge is not None and edge >= 0 and infinity(high) >= 0:
        words = {wrt: {"positive"}}
    for proposal in definite_proposals(node, wrt, low, high, words):
        yield Proposal(simplified_if_possible(proposal.node), proposal.method, proposal.conditions)


def _identified(node: Node, wrt: str, low: Node, high: Node) -> Proposal | None:
    """Look for a closed form by integer relations; zero counts if 60 digits vanish."""
    try:
        value = integral_value(node, wrt, low, high, int(_FINE_DIGITS * 3.4) + 40)
    except (Diverges, Unsettled):
        return None
    parts: list[Node] = []
    for part in (value.ball.real, value.ball.imag):
        if part == 0 or (part.contains(0) and part.upper() < 1e-45):
            parts.append(Number(Fraction(0)))
            continue
        found = identify(part, _FINE_DIGITS, (node, low, high))
        if found is None:
            return None
        parts.append(found)
    real, imaginary = parts
    if imaginary == Number(Fraction(0)):
        return Proposal(simplified_if_possible(real), "identified")
    from maven_env.expressions import Product

    return Proposal(simplified_if_possible(Sum((real, Product((imaginary, Constant("I")))))), "identified")


def _gap(node: Node, value: Value) -> float | None:
    """Return |closed form - value| if they agree, else None."""
    if free_symbols(node):
        return None
    try:
        closed = value_ball(node, digits=25)
    except ToolError:
        return None
    with precision(128):
        gap = abs(closed - value.ball)
        radius = max(float(value.ball.real.rad()), float(value.ball.imag.rad()))
        size = float(abs(value.ball).upper())
        allowed = max(_AGREEMENT * size, 4 * radius, 1e-20)
        if radius > 1e-7 * max(size, 1e-12) and radius > 1e-18:
            return None
        return float(gap.mid()) if gap.upper() < allowed else None


# ---- parameters ------------------------------------------------------------------------------------------------------
def _with_parameters(
    node: Node,
    wrt: str,
    low: Node,
    high: Node,
    words: Mapping[str, set[str]],
    parameters: list[str],
    ranges: Ranges,
    exact: Node | None,
) -> Integral:
    """Verify a closed form with parameters at sample values; state the signs for which it was verified."""
    known = {name: set(words.get(name, set())) for name in parameters}
    if exact is not None and exact_antiderivative(node, wrt).bottom is None:  # type: ignore[union-attr]
        return Integral(exact, "exact")
    supposed = {n: (w or {"positive"}) if n not in ranges else _range_words(ranges[n], w) for n, w in known.items()}
    samples = _samples(parameters, supposed, ranges)
    divergence: Exception | None = None
    for attempt_words in (supposed, known) if supposed != known else (supposed,):
        words_here = {**attempt_words, wrt: {"real"}}
        for proposal in definite_proposals(node, wrt, low, high, words_here):
            try:
                worst = _worst_gap(proposal.node, node, wrt, low, high, samples)
            except Diverges as error:
                divergence = error
                continue
            if worst is None:
                continue
            conditions = [*map(_condition_text, proposal.conditions), *_sign_conditions(
                proposal.node, node, wrt, low, high, samples[0], known, ranges
            )]  # fmt: skip
            return Integral(proposal.node, proposal.method, worst, tuple(dict.fromkeys(conditions)))
    if divergence is not None and not any(known.values()):
        message = f"at sample values of the parameters the integral diverges: {divergence}"
        raise ToolError("DIVERGENT", message, "declare assumptions for which it converges")
    if divergence is not None:
        raise divergent(divergence)
    hint = "substitute numbers for parameters, declare assumptions such as positive, or swap the order of integration"
    raise ToolError("UNSOLVED", "no closed form could be found and verified", hint)


def _range_words(bounds: tuple[Fraction, Fraction], words: set[str]) -> set[str]:
    return words | ({"positive"} if bounds[0] >= 0 else {"negative"} if bounds[1] <= 0 else {"real"})


def _samples(parameters: list[str], words: Mapping[str, set[str]], ranges: Ranges) -> list[dict[str, Fraction]]:
    samples = []
    for k in range(3):
        base = sample_values(parameters, words)
        sample = {name: value * Fraction(3 + 2 * k, 3 + k) for name, value in base.items()}
        for i, name in enumerate(parameters):
            if name in ranges:
                a, b = ranges[name]
                sample[name] = a + (b - a) * Fraction(2 * k + 1, 7) + (b - a) * Fraction(i, 50)
            elif "integer" in words.get(name, set()):
                sample[name] = Fraction(k + i + 1) * (-1 if "negative" in words[name] else 1)
        samples.append(sample)
    return samples


def _worst_gap(
    found: Node, node: Node, wrt: str, low: Node, high: Node, samples: list[dict[str, Fraction]]
) -> float | None:
    worst = 0.0
    for sample in samples:
        gap = _sample_gap(found, node, wrt, low, high, sample)
        if gap is None:
            return None
        worst = max(worst, gap)
    return worst


def _sample_gap(found: Node, node: Node, wrt: str, low: Node, high: Node, sample: dict[str, Fraction]) -> float | None:
    values = {name: _number(value) for name, value in sample.items()}
    try:
        value = integral_value(replace(node, values), wrt, replace(low, values), replace(high, values))
    except Unsettled:
        return None
    return _gap(replace(found, values), value)


def _number(value: Fraction) -> Node:
    from maven_env.expressions import number_node

    return number_node(value)


def _sign_conditions(
    found: Node,
    node: Node,
    wrt: str,
    low: Node,
    high: Node,
    sample: dict[str, Fraction],
    known: Mapping[str, set[str]],
    ranges: Ranges,
) -> list[str]:
    """Return "a > 0" for parameters of free sign for which the result fails where they are negative."""
    conditions = []
    for name, words in known.items():
        if name in ranges or words & {"positive", "negative", "nonnegative"}:
            continue
        try:
            turned = _sample_gap(found, node, wrt, low, high, {**sample, name: -sample[name]})
        except Diverges:
            turned = None
        if turned is None:
            conditions.append(f"{name} > 0")
    return conditions


def _condition_text(condition: Any) -> str:
    from maven_env.expressions.symbolic import sympy_text

    written = attempt(lambda: sympy_text(condition), 2_000)
    return written if isinstance(written, str) else str(condition).replace("**", "^")
