"""Linear recurrences: exact and double-precision runs, closed forms by characteristic roots, minimal solutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Node, free_symbols, parse, replace, to_text
from maven_env.expressions.algebra.kernels import NotAlgebraic, Ratio, Ring
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.numeric import compile_real
from maven_env.expressions.tree import ZERO, Call, Negative, Number, Power, Product, Sum, Symbol
from maven_env.tools.equations.branches import Unsolved, tidied
from maven_env.tools.equations.candidates import by_powers, roots_of_factor

ORDER = 6
STEPS = 2_000
LISTED = 200
DIGITS = 4_000  # bits of an exact value
FORCING = 4  # degree of a polynomial forcing


@dataclass(frozen=True)
class Recurrence:
    """y(n + order) = sum coefficients[i] y(n + i) + forcing, as trees in `index`."""

    order: int
    coefficients: tuple[Node, ...]
    forcing: Node
    index: str = "n"

    @property
    def is_constant(self) -> bool:
        return not any(self.index in free_symbols(c) for c in self.coefficients)


def read_recurrence(text: str, order: int) -> Recurrence:
    """Read the expression of y(n + order). Raises BAD_INPUT where it is not linear in earlier terms."""
    node = parse(text, functions=frozenset({"y"}))
    terms = {f"earlier_{i}": i for i in range(order)}
    shifted = _named(node, order)
    ring = Ring()
    try:
        ring.ratios([Symbol(name) for name in terms], tuple(terms))
        ratio = ring.convert(shifted)
    except NotAlgebraic as error:
        raise Unsolved(error.message) from None
    rest, coefficients = ratio.top, []
    if any(ring.kernel(("symbol", name), "symbol", Symbol(name)) in ring.used(ratio.bottom) for name in terms):
        raise _not_linear()
    for position in range(order):
        parts = by_powers(ring, rest, position)
        if len(parts) > 2 or (len(parts) == 2 and any(parts[1].degrees()[i] > 0 for i in range(order))):
            raise _not_linear()
        coefficients.append(parts[1] if len(parts) == 2 else ring.zero)
        rest = parts[0]
    over = Ratio(ring.one, ring.one)
    below = ring.divide(over, Ratio(ratio.bottom, ring.one))
    nodes = [ring.node(ring.multiply(Ratio(c, ring.one), below)) for c in (*coefficients, rest)]
    return Recurrence(order, tuple(nodes[:-1]), nodes[-1])


def _not_linear() -> ToolError:
    return ToolError("BAD_INPUT", "the recurrence is not linear in y", "write y(n+k) as a sum of terms a*y(n+i)")


def _named(node: Node, order: int) -> Node:
    """Put the symbols earlier_0, earlier_1, ... for y(n), y(n+1), ..."""
    from maven_env.expressions.tree import rebuild

    if isinstance(node, Call) and node.function == "y":
        shift = _shift(node.arguments)
        if not 0 <= shift < order:
            message = f"y(n + {shift}) stands in the recurrence, and there are {order} initial values"
            raise ToolError("BAD_INPUT", message, "give as many initial values as the order; write y(n+k) in y(n), ...")
        return Symbol(f"earlier_{shift}")
    return rebuild(node, lambda part: _named(part, order))


def _shift(arguments: Sequence[Node]) -> int:
    from maven_env.expressions.tree import rational_value

    if len(arguments) == 1:
        value = rational_value(tidied(Sum((arguments[0], Negative(Symbol("n"))))))
        if value is not None and value.denominator == 1:
            return int(value)
    raise ToolError("BAD_INPUT", "expected y(n), y(n+1), ...", 'write "3*y(n+1) - y(n)" for y(n+2)')


# ---- running ---------------------------------------------------------------------------------------------------------
def run_exactly(recurrence: Recurrence, initial: Sequence[Node], n: int) -> list[Node]:
    """Return y(0), ..., y(n) as exact trees. Raises LimitExceeded where they grow too large."""
    if n > STEPS:
        raise LimitExceeded("size", f"n = {n}, the bound is {STEPS}", "use the closed form")
    ring = Ring()
    window = [ring.convert(node) for node in initial]
    values = list(window)
    constant = [ring.convert(c) for c in recurrence.coefficients] if recurrence.is_constant else None
    forced = recurrence.index in free_symbols(recurrence.forcing)
    still = None if forced else ring.convert(recurrence.forcing)
    for step in range(max(0, n + 1 - recurrence.order)):
        at = {recurrence.index: Number(Fraction(step))}
        coefficients = constant or [ring.convert(replace(c, at)) for c in recurrence.coefficients]
        total = still or ring.convert(replace(recurrence.forcing, at))
        for c, y in zip(coefficients, window, strict=True):
            total = ring.add(total, ring.multiply(c, y))
        if _bits(total) > DIGITS * 8:
            raise LimitExceeded("size", f"y({step + recurrence.order}) has too many digits", "take a smaller n")
        window = [*window[1:], total]
        values.append(total)
    return [ring.node(value) for value in values[: n + 1]]


def _bits(value: Ratio) -> int:
    parts = [*value.top.coeffs(), *value.bottom.coeffs()]
    return sum(int(c.numer()).bit_length() + int(c.denom()).bit_length() for c in parts)


def run_in_doubles(recurrence: Recurrence, initial: Sequence[float], n: int) -> list[float]:
    """Return y(0), ..., y(n) in double precision, rounding errors and all. Raises OVERFLOW, UNKNOWN_SYMBOL."""
    if n > 100 * STEPS:
        raise LimitExceeded("size", f"n = {n}, the bound is {100 * STEPS}")
    functions = _compiled(recurrence)
    values = list(initial)
    for step in range(max(0, n + 1 - recurrence.order)):
        window = values[-recurrence.order :]
        total = functions[-1](float(step))
        for function, y in zip(functions, window, strict=False):
            total += function(float(step)) * y
        if total - total != 0:
            raise ToolError(
                "OVERFLOW", f"y({step + recurrence.order}) is beyond double precision", "use precision exact"
            )
        values.append(total)
    return values[: n + 1]


def _compiled(recurrence: Recurrence) -> list[Callable[..., float]]:
    return [compile_real(node, (recurrence.index,)) for node in (*recurrence.coefficients, recurrence.forcing)]


def run_backward(recurrence: Recurrence, first: float, n: int) -> list[float]:
    """Return the minimal solution with y(0) = first by backward recursion. Raises NO_CONVERGENCE, BAD_INPUT."""
    if recurrence.order != 2 or recurrence.forcing != ZERO:
        raise ToolError("BAD_INPUT", "backward_miller takes a homogeneous recurrence of order 2")
    functions = _compiled(recurrence)
    last: list[float] | None = None
    for extra in (30, 60, 120, 240, 480):
        found = _backward(functions, first, n, n + extra)
        if last is not None and all(abs(a - b) <= 1e-14 * abs(b) for a, b in zip(last, found, strict=True)):
            return found
        last = found
    message = "the backward recursion does not settle, so there may be no minimal solution"
    raise ToolError("NO_CONVERGENCE", message, "use forward, or closed_form")


def _backward(functions: Sequence[Callable[..., float]], first: float, n: int, start: int) -> list[float]:
    upper, current = 0.0, 1.0
    values = [current]
    for step in range(start - 1, -1, -1):
        a0, a1 = functions[0](float(step)), functions[1](float(step))
        if a0 == 0:
            raise ToolError("BAD_INPUT", f"the coefficient of y(n) vanishes at n = {step}, so y(n) is not determined")
        upper, current = current, (upper - a1 * current) / a0
        values.append(current)
        if abs(current) > 1e250:
            values = [value * 1e-250 for value in values]
            upper, current = upper * 1e-250, current * 1e-250
    values.reverse()
    if values[0] == 0:
        raise ToolError("NO_CONVERGENCE", "the minimal solution vanishes at n = 0, so y(0) cannot fix its size")
    return [value / values[0] * first for value in values[: n + 1]]


# ---- closed forms ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ClosedForm:
    node: Node
    roots: tuple[str, ...]
    growth: float | None  # largest |root|, if they are numbers
    smallest: float | None
    is_minimal: bool | None = None  # only the smallest root has an amplitude


def closed_form(recurrence: Recurrence, initial: Sequence[Node]) -> ClosedForm:
    """Return y(n) in closed form, checked against the recurrence. Raises Unsolved."""
    if not recurrence.is_constant:
        raise Unsolved("a closed form needs coefficients that do not depend on n", "use mode forward with n")
    degree = _forcing_degree(recurrence)
    ring = Ring("z")
    characteristic = [ring.convert(c) for c in recurrence.coefficients]
    z = ring.generator(ring.kernels[0])
    polynomial = ring.power(z, recurrence.order)
    for i, c in enumerate(characteristic):
        polynomial = ring.add(polynomial, ring.minus(ring.multiply(c, ring.power(z, i))))
    for _ in range(degree + 1):
        polynomial = ring.multiply(polynomial, ring.add(z, ring.constant(Fraction(-1))))
    roots: list[tuple[Node, int]] = []
    for factor, power in polynomial.top.factor()[1]:
        if factor.degrees()[0]:
            for root in roots_of_factor(ring, factor, ring.kernels[0], int(power), "root"):
                if not root.is_exact:
                    raise Unsolved("the characteristic roots have no short radicals", "use mode forward with n")
                roots.append((root.node, root.multiplicity))
    size = recurrence.order + degree + 1
    values = run_exactly(recurrence, initial, size + 4)
    node, present = _fitted(roots, values, size)
    _confirm(node, values)
    sizes = _sizes([root for root, _ in roots])
    minimal = None
    if len(sizes) > 1 and min(sizes) < max(sizes):
        minimal = all(sizes[i] == min(sizes) for i in present)
    texts = tuple(to_text(root) for root, _ in roots)
    return ClosedForm(node, texts, max(sizes, default=None), min(sizes, default=None), minimal)


def _forcing_degree(recurrence: Recurrence) -> int:
    """Return the degree of a polynomial forcing, -1 for none."""
    if recurrence.forcing == ZERO:
        return -1
    ring = Ring(recurrence.index)
    ratio = ring.ratio(recurrence.forcing)
    others = [i for i in ring.dependent() if i]
    if others or ring.depends_polynomial(ratio.bottom) or ratio.top.degrees()[0] > FORCING:
        raise Unsolved("the forcing is no polynomial in n of low degree", "use mode forward with n")
    return int(ratio.top.degrees()[0])


def _fitted(roots: Sequence[tuple[Node, int]], values: Sequence[Node], size: int) -> tuple[Node, set[int]]:
    """Solve for the amplitudes of n^j root^n from the first values; return y(n) and which roots have one."""
    n = Symbol("n")
    ring = Ring()
    ring.ratios([root for root, _ in roots])
    basis = [(root, j, i) for i, (root, multiplicity) in enumerate(roots) for j in range(multiplicity)]
    if len(basis) != size:
        raise Unsolved("the characteristic roots could not all be told apart")
    rows = []
    for k in range(size):
        row = [_entry(ring, root, j, k) for root, j, _ in basis]
        rows.append([*row, ring.convert(values[k])])
    amplitudes = _eliminated(ring, rows)
    terms: list[Node] = []
    present = set()
    for (root, j, i), amplitude in zip(basis, amplitudes, strict=True):
        if amplitude.top == 0:
            continue
        present.add(i)
        factors = [ring.node(amplitude)]
        if j:
            factors.append(n if j == 1 else Power(n, Number(Fraction(j))))
        if root == ZERO:
            raise Unsolved("a characteristic root is zero, so the closed form differs at n = 0", "use mode forward")
        if root != Number(Fraction(1)):
            factors.append(Power(root, n))
        factors = [f for f in factors if f != Number(Fraction(1))] or [Number(Fraction(1))]
        terms.append(factors[0] if len(factors) == 1 else Product(tuple(factors)))
    return ZERO if not terms else terms[0] if len(terms) == 1 else Sum(tuple(terms)), present


def _entry(ring: Ring, root: Node, j: int, k: int) -> Ratio:
    power = ring.power(ring.convert(root), k) if k else ring.constant(Fraction(1))
    return ring.multiply(ring.constant(Fraction(k**j if j else 1)), power)


def _eliminated(ring: Ring, rows: list[list[Ratio]]) -> list[Ratio]:
    """Solve a small linear system over the kernels."""
    size = len(rows)
    for i in range(size):
        pivot = next((r for r in range(i, size) if rows[r][i].top != 0), None)
        if pivot is None:
            raise Unsolved("the amplitudes are not determined")
        rows[i], rows[pivot] = rows[pivot], rows[i]
        inverse = ring.divide(ring.constant(Fraction(1)), rows[i][i])
        rows[i] = [ring.multiply(inverse, entry) for entry in rows[i]]
        for r in range(size):
            if r != i and rows[r][i].top != 0:
                factor = ring.minus(rows[r][i])
                rows[r] = [ring.add(a, ring.multiply(factor, b)) for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def _confirm(node: Node, values: Sequence[Node]) -> None:
    """Compare with exact values beyond those that were fitted."""
    names = sorted({name for value in values for name in free_symbols(value)} | (free_symbols(node) - {"n"}))
    with precision(600):
        point = {name: ball(Number(Fraction(7 + 4 * i, 3 + 2 * i)), {}) for i, name in enumerate(names)}
        for k, value in enumerate(values):
            try:
                gap = ball(replace(node, {"n": Number(Fraction(k))}), point) - ball(value, point)
            except Undecided:
                raise Unsolved("the closed form could not be checked", "use mode forward with n") from None
            if not gap.contains(0):
                raise Unsolved("the closed form does not agree with the recurrence", "use mode forward with n")


def _sizes(roots: Sequence[Node]) -> list[float]:
    if any(free_symbols(root) for root in roots):
        return []
    with precision(128):
        return [float(abs(ball(root, {})).mid()) for root in roots]
