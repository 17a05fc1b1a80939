"""Finite sums exactly, and closed forms of sums: proposals of sympy and integer relations, verified numerically."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Constant, Node, Number, Sum, free_symbols, number_node, rational_value, replace
from maven_env.expressions.balls import ball, precision, value_ball
from maven_env.tools.calculus.antiderivatives import Symbols, attempt, sample_values
from maven_env.tools.calculus.identification import identify
from maven_env.tools.numeric.series_values import Terms, series_value
from maven_env.tools.symbolic.substitution import closed_value, simplified, simplified_if_possible

_SYMBOLIC_TERMS = 200
_EXACT_TERMS = 20_000
_EXACT_BITS = 16_000
_FUEL = 110_000
_FINE_BITS = 200


def direct_sum(term: Node, index: str, start: int, last: int) -> Node | None:
    """Return the exact sum of a finite series, None where it is too long to be exact."""
    count = last - start + 1
    if not free_symbols(term) - {index}:
        total = Fraction(0)
        for n in range(start, min(last, start + _EXACT_TERMS) + 1):
            value = _rational(term, index, n)
            if value is None:
                break
            total += value
            if total.numerator.bit_length() + total.denominator.bit_length() > _EXACT_BITS:
                return None
        else:
            return number_node(total) if count <= _EXACT_TERMS + 1 else None
    if count > _SYMBOLIC_TERMS:
        return None
    parts = tuple(replace(term, {index: number_node(Fraction(n))}) for n in range(start, last + 1))
    return simplified(parts[0] if len(parts) == 1 else Sum(parts))


def _rational(term: Node, index: str, n: int) -> Fraction | None:
    node = replace(term, {index: number_node(Fraction(n))})
    value = rational_value(node, 2_000)
    if value is not None:
        return value
    try:
        return rational_value(simplified(node), 2_000) if n < 400 else None
    except ToolError as error:
        if error.code == "UNDEFINED_VALUE":
            raise ToolError("DOMAIN_ERROR", f"the term has no value at {index} = {n}", "start later") from error
        return None


def finite_value(term: Node, index: str, start: int, last: int) -> float | complex:
    """Return the correctly rounded sum of a long finite series by balls."""
    terms = Terms(term, index)
    for bits in (160, 640):
        with precision(bits):
            total: Any = terms(start)
            for n in range(start + 1, last + 1):
                total = total + terms(n)
            if total.rel_accuracy_bits() > 60 or total == 0:
                value = complex(total)
                return value.real if total.imag.contains(0) else value
    raise ToolError("NO_CONVERGENCE", "too many digits cancel in the sum", "use method exact with a symbol for stop")


def closed_sum(term: Node, index: str, start: int, stop: Node) -> tuple[Node, float | complex | None, list[str], str]:
    """Return a verified closed form, its value, its conditions, and how it was found. Raises DIVERGENT, UNSOLVED."""
    if stop == Constant("oo") and not free_symbols(term) - {index}:
        return _closed_infinite(term, index, start, stop)
    return _closed_with_parameters(term, index, start, stop)


def _closed_infinite(
    term: Node, index: str, start: int, stop: Node
) -> tuple[Node, float | complex | None, list[str], str]:
    try:
        found = series_value(term, index, start, _FINE_BITS, 20_000)
    except ToolError as error:
        if error.code != "NO_CONVERGENCE":
            raise
        found = series_value(term, index, start, 64, 20_000)
    digits = int(min(found.ball.rel_accuracy_bits(), _FINE_BITS) / 3.33)
    if digits >= 45 and found.ball.imag.contains(0):
        node = identify(found.ball.real, min(digits, 58), (term, number_node(Fraction(start)), Constant("oo")))
        if node is not None:
            node = simplified_if_possible(node)
            return node, closed_value(node), [], "identified"
    for node in _proposals(term, index, start, stop):
        if free_symbols(node):
            continue
        try:
            value = value_ball(node, digits=20)
        except ToolError:
            continue
        with precision(160):
            gap = float(abs(value - found.ball).upper())
            if gap <= max(1e-14 * float(abs(found.ball).upper()), 10 * found.tail):
                return node, closed_value(node), [], "closed form"
    about = complex(found.ball)
    raise ToolError("UNSOLVED", f"no closed form was found; the sum is near {about.real:.15g}", "use method levin")


def _proposals(term: Node, index: str, start: int, stop: Node) -> list[Node]:
    import sympy

    from maven_env.expressions.symbolic import from_sympy

    names = sorted((free_symbols(term) | free_symbols(stop)) - {index})
    proposals: list[Node] = []
    for words in ({"positive"}, set()):
        assumed = {n: set(words) | ({"integer"} if n in free_symbols(stop) else set()) for n in names}
        symbols = Symbols({**assumed, index: {"integer"}})
        value, k, end = symbols.into(term), symbols.assumed[index], symbols.into(stop)

        def work(value: Any = value, k: Any = k, end: Any = end, symbols: Symbols = symbols) -> Any:
            found = sympy.summation(value, (k, start, end))
            if isinstance(found, sympy.Piecewise) and found.args[-1].expr.has(sympy.Sum):
                found = found.args[0].expr if len(found.args) == 2 else sympy.Piecewise(*found.args[:-1])
            if found.has(sympy.Sum, sympy.nan, sympy.zoo, sympy.oo):
                return None
            return from_sympy(symbols.out(sympy.simplify(found) if not found.has(sympy.Piecewise) else found))

        node = attempt(work, _FUEL)
        if node is not None and node not in proposals:
            proposals.append(node)
    return proposals


def _closed_with_parameters(
    term: Node, index: str, start: int, stop: Node
) -> tuple[Node, float | complex | None, list[str], str]:
    parameters = sorted(free_symbols(term) - {index} - free_symbols(stop))
    ends = sorted(free_symbols(stop))
    for node in _proposals(term, index, start, stop):
        samples = _samples(parameters, ends, start, infinite=stop == Constant("oo"))
        verdicts = [_holds(node, term, index, start, stop, sample) for sample in samples]
        if False in verdicts or verdicts.count(True) < 3:
            continue
        conditions = [f"{name} is an integer, at least {start - 1}" for name in ends]
        finish = _ranges if stop == Constant("oo") else _exceptions
        conditions += finish(node, term, index, start, stop, samples[0], parameters)
        return node, None, conditions, "closed form"
    raise ToolError("UNSOLVED", "no closed form could be found and verified", "put numbers for parameters")


def _samples(parameters: list[str], ends: list[str], start: int, *, infinite: bool) -> list[dict[str, Node]]:
    base = sample_values(parameters, {})
    samples = []
    for k in range(4):
        scale = Fraction(1, 5 + k) if infinite else Fraction(2 + k, 3)
        sample = {name: number_node(value * scale) for name, value in base.items()}
        for i, name in enumerate(ends):
            sample[name] = number_node(Fraction(max(start, 0) + 1 + 2 * k + i))
        samples.append(sample)
    return samples


def _holds(node: Node, term: Node, index: str, start: int, stop: Node, sample: dict[str, Node]) -> bool | None:
    """Compare at one sample: with the sum of terms for a finite one, with the accelerated sum for an infinite one."""
    closed, inner = replace(node, sample), replace(term, sample)
    with precision(256):
        try:
            wanted = ball(closed, {})
        except (ToolError, ValueError, ZeroDivisionError):
            return None
    if stop == Constant("oo"):
        try:
            found = series_value(inner, index, start, 64, 20_000)
        except ToolError as error:
            return False if error.code == "DIVERGENT" else None
        with precision(200):
            gap = float(abs(wanted - found.ball).upper())
            return gap <= max(1e-13 * float(abs(wanted).upper()), 10 * found.tail)
    last = rational_value(replace(stop, sample))
    if last is None or last.denominator != 1:
        return None
    with precision(256):
        total: Any = ball(Number(Fraction(0)), {})
        terms = Terms(inner, index)
        try:
            for n in range(start, int(last) + 1):
                total = total + terms(n)
        except ToolError:
            return None
        return bool(total.overlaps(wanted))


def _exceptions(
    node: Node, term: Node, index: str, start: int, stop: Node, sample: dict[str, Node], parameters: list[str]
) -> list[str]:
    """Name the values 0, 1 and -1 of parameters at which the closed form does not hold, though the sum exists."""
    conditions = []
    for name in parameters:
        for special in (0, 1, -1):
            turned = {**sample, name: number_node(Fraction(special))}
            if _holds(node, term, index, start, stop, turned) is not True and _exists(term, index, start, stop, turned):
                conditions.append(f"{name} != {special}")
    return conditions


def _exists(term: Node, index: str, start: int, stop: Node, sample: dict[str, Node]) -> bool:
    inner = replace(term, sample)
    last = rational_value(replace(stop, sample)) if stop != Constant("oo") else Fraction(start + 3)
    try:
        with precision(128):
            terms = Terms(inner, index)
            for n in range(start, int(last or 0) + 1):
                terms(n)
    except ToolError:
        return False
    return True


def _ranges(
    node: Node, term: Node, index: str, start: int, stop: Node, sample: dict[str, Node], parameters: list[str]
) -> list[str]:
    """State |x| < 1 where the sum was seen to fail beyond, and that small values were checked otherwise."""
    conditions = []
    for name in parameters:
        beyond = _holds(node, term, index, start, stop, {**sample, name: number_node(Fraction(7, 4))})
        below = _holds(node, term, index, start, stop, {**sample, name: number_node(Fraction(9, 10))})
        if beyond is not True:
            conditions.append(f"Abs({name}) < 1" if below else f"{name} small enough for convergence")
    return conditions
