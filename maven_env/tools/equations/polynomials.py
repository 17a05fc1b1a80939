"""Polynomials: exact and floating-point roots, discriminants."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols, rational_value, replace, to_text
from maven_env.expressions.algebra.algebraic import Root, roots_of
from maven_env.expressions.algebra.kernels import NotAlgebraic, Ring
from maven_env.expressions.balls import precision
from maven_env.tools.equations.candidates import Candidate, by_powers, ordered, roots_of_factor, sign_of, univariate
from maven_env.tools.kinds import Count, Exact, Expr, FloatVector, Name, Range
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.threads import one_thread

_NUMERIC_DEGREE = 200
_DISCRIMINANT_BITS = 60_000  # degree of the resultant's matrix times bits of a coefficient


@tool(kind="exact", tier=0, near=("polynomial_roots_numeric", "solve_equation"), backend=("python-flint",))
def polynomial_roots_exact(
    expr: Expr, wrt: Name, real_only: bool = False, digits: Annotated[Count, Range(15, 300)] = 60
) -> ToolResult:
    """Find all roots of a polynomial exactly, with multiplicities.

    Roots stand in ascending order (by real part, then imaginary part), each once. They are exact for the coefficients
    as typed: one decimal that is rounded can turn a double root into a complex pair. A root without short radicals is
    a decimal of `digits` certified digits. Coefficients may hold constants such as pi; with free parameters, degrees 1
    and 2 are solved, for a leading coefficient that is not zero.

    Args:
        expr: polynomial; decimals are exact
        wrt: variable
        real_only: list the real roots only
        digits: digits of roots that have no short radicals, 15 to 300

    Returns:
        roots (list[expr]): distinct roots, each an expression
        values (list[number]): nearest doubles, complex ones as [re, im]; null with parameters
        multiplicities (list[int]): multiplicity of each
        n_real (int): number of distinct real roots; null if it depends on parameters

    Diagnostics:
        method: radicals, or isolation where a root is given in decimals
        exact: whether every root listed is exact
        degree: degree of the polynomial
        min_separation: smallest distance between two distinct roots
        assumes: what must not be zero, with parameters

    Raises:
        NOT_POLYNOMIAL: it is no polynomial in the variable
        UNKNOWN_SYMBOL: the variable does not occur
        UNDERDETERMINED: the polynomial is zero, so every number is a root
        UNSOLVED: degree 3 or more with parameters, or reality depends on them
        LIMIT_EXCEEDED: degree above 200

    Example:
        {"expr": "t^2 - 3*t + 1", "wrt": "t", "real_only": true}
    """
    ring, polynomial = polynomial_in(expr, wrt)
    if polynomial == 0:
        raise ToolError(
            "UNDERDETERMINED", "the polynomial is zero, so every number is a root", "check the coefficients"
        )
    if all(kernel.index == 0 for kernel in ring.used(polynomial)):
        return _rational_result(roots_of(univariate(polynomial, 0), digits), int(polynomial.degrees()[0]), real_only)
    return _kernel_result(ring, polynomial, real_only)


def polynomial_in(expr: Node, wrt: str) -> tuple[Ring, Any]:
    """Return ring and polynomial; generator 0 is the variable. Raises NOT_POLYNOMIAL, UNKNOWN_SYMBOL."""
    if wrt not in free_symbols(expr) and free_symbols(expr):
        names = ", ".join(sorted(free_symbols(expr)))
        raise ToolError("UNKNOWN_SYMBOL", f"{wrt} does not occur in {to_text(expr)[:80]}", f"symbols there: {names}")
    ring = Ring(wrt)
    try:
        ratio = ring.ratio(expr)
    except NotAlgebraic as error:
        raise ToolError("NOT_POLYNOMIAL", error.message, "give a polynomial with numbers as coefficients") from None
    others = [ring.kernels[i] for i in ring.dependent() if i]
    if others:
        message = f"{to_text(others[0].node)} is no polynomial in {wrt}"
        raise ToolError("NOT_POLYNOMIAL", message, "use solve_equation or find_all_roots")
    if any(ring.depends_polynomial(pole) for pole in ring.poles) or ring.depends_polynomial(ratio.bottom):
        hint = "use solve_equation, or cancel the fraction first"
        raise ToolError("NOT_POLYNOMIAL", f"the expression divides by something with {wrt}", hint)
    return ring, ratio.top


def _rational_result(roots: list[Root], degree: int, real_only: bool) -> ToolResult:
    n_real = sum(root.is_real for root in roots)
    separation = _separation([root.ball for root in roots])
    listed = [root for root in roots if root.is_real or not real_only]
    exact = all(root.is_exact for root in listed)
    output = {
        "roots": [root.text for root in listed],
        "values": [_finite(root.value) for root in listed],
        "multiplicities": [root.multiplicity for root in listed],
        "n_real": n_real,
    }
    return ToolResult(output, _diagnostics(exact, degree, separation))


def _kernel_result(ring: Ring, polynomial: Any, real_only: bool) -> ToolResult:
    variable = ring.kernels[0]
    found: list[Candidate] = []
    for i, (factor, power) in enumerate(polynomial.factor()[1]):
        if factor.degrees()[0]:
            found += roots_of_factor(ring, factor, variable, int(power), f"root{i}_")
    degree = int(polynomial.degrees()[0])
    if any(candidate.parameters for candidate in found) or _has_parameters(ring, polynomial):
        return _parametric_result(ring, polynomial, found, real_only)
    found = ordered(found)
    real = [candidate.is_real() for candidate in found]
    separation = _separation([candidate.ball(420) for candidate in found])
    listed = [c for c, is_real in zip(found, real, strict=True) if is_real or not real_only]
    output = {
        "roots": [candidate.text for candidate in listed],
        "values": [_finite(candidate.value()) for candidate in listed],
        "multiplicities": [candidate.multiplicity for candidate in listed],
        "n_real": sum(real),
    }
    return ToolResult(output, _diagnostics(all(c.is_exact for c in listed), degree, separation))


def _has_parameters(ring: Ring, polynomial: Any) -> bool:
    return any(free_symbols(kernel.node) for kernel in ring.used(polynomial) if kernel.index)


def _parametric_result(ring: Ring, polynomial: Any, found: list[Candidate], real_only: bool) -> ToolResult:
    linear = all(factor.degrees()[0] <= 1 for factor, _ in polynomial.factor()[1])
    if real_only and not linear:
        hint = "leave real_only out, or substitute numbers for the parameters"
        raise ToolError("UNSOLVED", "which roots are real depends on the parameters", hint)
    output = {
        "roots": [candidate.text for candidate in found],
        "values": [None] * len(found),
        "multiplicities": [candidate.multiplicity for candidate in found],
        "n_real": len(found) if linear and len(found) == 1 else None,
    }
    diagnostics = _diagnostics(True, int(polynomial.degrees()[0]), None)
    top = _leading(ring, polynomial)
    if not top.is_constant():
        parts = [to_text(ring.polynomial_node(part)) for part, _ in top.factor()[1]]
        diagnostics["assumes"] = [f"{part} != 0" for part in parts]
    return ToolResult(output, diagnostics)


def _leading(ring: Ring, polynomial: Any) -> Any:
    return by_powers(ring, polynomial, 0)[-1]


def _diagnostics(exact: bool, degree: int, separation: float | None) -> dict[str, object]:
    found: dict[str, object] = {"method": "radicals" if exact else "isolation", "exact": exact, "degree": degree}
    if separation is not None:
        found["min_separation"] = separation
    return found


def _finite(value: float | complex) -> float | complex | None:
    return value if np.isfinite(value) else None


def _separation(balls: list[Any]) -> float | None:
    if not 2 <= len(balls) <= 60:
        return None
    with precision(420):
        gaps = [abs(a - b) for i, a in enumerate(balls) for b in balls[:i]]
        return min(float(gap.mid()) for gap in gaps)


@tool(kind="numeric", tier=0, near=("polynomial_roots_exact", "find_all_roots"), backend=("numpy",))
def polynomial_roots_numeric(coefficients: FloatVector, polish: bool = False) -> ToolResult:
    """Find the roots of a polynomial in double precision, as eigenvalues of its companion matrix.

    Roots of multiplicity m carry errors of the order eps^(1/m), and a real cluster comes out as a ring of complex
    roots: counting real roots here is unsafe where root_condition is large. Use polynomial_roots_exact then.

    Args:
        coefficients: numbers in descending powers
        polish: improve each root by Newton steps

    Returns:
        roots (list[complex]): roots by real, then imaginary part; complex ones as [re, im]
        n_real (int): roots with |Im| up to imag_tol

    Diagnostics:
        method: companion matrix, with Newton polish if asked for
        max_residual: largest |p(root)| over the sum of the sizes of its terms
        root_condition: largest relative change of a root per relative change of the coefficients
        imag_tol: what |Im| is compared with
        min_separation: smallest distance between two roots

    Raises:
        NOT_POLYNOMIAL: no coefficient but the constant is nonzero
        LIMIT_EXCEEDED: degree above 200

    Example:
        {"coefficients": [1, -3, 1]}
    """
    p = np.trim_zeros(coefficients, "f")
    if p.size < 2:
        raise ToolError("NOT_POLYNOMIAL", "the coefficients give a constant", "list them in descending powers")
    if p.size - 1 > _NUMERIC_DEGREE:
        raise ToolError("LIMIT_EXCEEDED", f"degree {p.size - 1}, the bound is {_NUMERIC_DEGREE}", limit="size")
    if not np.all(np.isfinite(p)):
        raise ToolError("BAD_INPUT", "a coefficient is infinite")
    with one_thread(), np.errstate(all="ignore"):
        try:
            roots = np.roots(p).astype(complex)
        except np.linalg.LinAlgError:
            raise ToolError("OVERFLOW", "the companion matrix overflows", "use polynomial_roots_exact") from None
        if polish:
            roots = _polished(p, roots)
        if not np.all(np.isfinite(roots)):
            raise ToolError("OVERFLOW", "the coefficients differ too much for doubles", "use polynomial_roots_exact")
        roots = np.array(sorted(roots.tolist(), key=lambda z: (z.real, z.imag)))
        residual, condition = _residual_and_condition(p, roots)
    tolerance = 1e-8 * max(1.0, float(np.max(np.abs(roots)))) if roots.size else 1e-8
    gaps = [abs(a - b) for i, a in enumerate(roots) for b in roots[:i]]
    diagnostics = {
        "method": "companion matrix with Newton polish" if polish else "companion matrix",
        "max_residual": residual,
        "root_condition": condition,
        "imag_tol": tolerance,
        "min_separation": float(min(gaps)) if gaps else None,
    }
    return ToolResult({"roots": roots.tolist(), "n_real": int(np.sum(np.abs(roots.imag) <= tolerance))}, diagnostics)


def _polished(p: Any, roots: Any) -> Any:
    slope = np.polyder(p)
    for _ in range(3):
        step = np.polyval(p, roots) / np.polyval(slope, roots)
        roots = np.where(np.isfinite(step) & (np.abs(step) < 0.1 * (1 + np.abs(roots))), roots - step, roots)
    return roots


def _residual_and_condition(p: Any, roots: Any) -> tuple[float, float]:
    sizes = np.polyval(np.abs(p), np.abs(roots))
    residual = np.abs(np.polyval(p, roots)) / sizes
    slope = np.abs(np.polyval(np.polyder(p), roots)) * np.where(roots == 0, 1.0, np.abs(roots))
    condition = sizes / slope
    return float(np.nanmax(residual, initial=0.0)), float(np.nanmax(condition, initial=0.0))


@tool(kind="exact", tier=0, near=("polynomial_roots_exact",), backend=("python-flint",))
def polynomial_discriminant(expr: Expr, wrt: Name, subs: dict[str, Exact] | None = None) -> ToolResult:
    """Compute the discriminant of a polynomial exactly, and its sign.

    Zero means a multiple root; for a real quadratic or cubic, positive means that all roots are real and distinct. A
    tiny value is no proof of a double root: the sign is decided exactly, and relative_size says how tiny it is.

    Args:
        expr: polynomial; decimals are exact
        wrt: variable
        subs: values for parameters, as {"a": "1/2"}

    Returns:
        expr (expr): discriminant
        value (number): nearest double, if there are no parameters left
        sign (text): -1, 0, 1, or unknown with parameters or complex coefficients

    Diagnostics:
        degree: degree of the polynomial
        exact: whether the sign is proved
        relative_size: |discriminant| over its value if the discriminant's terms did not cancel

    Raises:
        NOT_POLYNOMIAL: it is no polynomial in the variable, or a constant
        UNKNOWN_SYMBOL: a name in subs or the variable does not occur
        LIMIT_EXCEEDED: the discriminant is too large

    Example:
        {"expr": "a*x^2 + b*x + c", "wrt": "x"}
    """
    missing = sorted(set(subs or {}) - (free_symbols(expr) - {wrt}))
    if missing:
        names = ", ".join(sorted(free_symbols(expr) - {wrt})) or "none"
        raise ToolError("UNKNOWN_SYMBOL", f"subs: no parameter {', '.join(missing)} occurs", f"parameters: {names}")
    ring, polynomial = polynomial_in(replace(expr, subs or {}), wrt)
    degree = int(polynomial.degrees()[0]) if polynomial != 0 else 0
    if degree < 1:
        raise ToolError("NOT_POLYNOMIAL", f"the polynomial is constant in {wrt}, so it has no discriminant")
    _bound_discriminant(ring, polynomial, degree)
    found = ring.reduced(polynomial.discriminant("g0")) if degree > 1 else ring.one
    node = ring.polynomial_node(found)
    output: dict[str, Any] = {"expr": node}
    sign: int | None = None
    if not free_symbols(node):
        exact = rational_value(node)
        sign = (exact > 0) - (exact < 0) if exact is not None else sign_of(node, {})
        output["value"] = _finite(Candidate(node).value()) if sign != 0 else 0.0
    output["sign"] = "unknown" if sign is None else str(sign)
    diagnostics: dict[str, object] = {"degree": degree, "exact": sign is not None}
    size = _relative_size(ring, polynomial, degree, output.get("value"))
    if size is not None:
        diagnostics["relative_size"] = size
    return ToolResult(output, diagnostics)


def _bound_discriminant(ring: Ring, polynomial: Any, degree: int) -> None:
    parameters = len(ring.used(polynomial)) - 1
    most = 200 if parameters == 0 else 8 if parameters == 1 else 5
    if degree > most and len(polynomial) > 2:
        message = f"degree {degree} with {parameters} parameters, the bound is {most}"
        raise ToolError("LIMIT_EXCEEDED", message, "give values for parameters in subs", limit="size")
    bits = max(int(c.p).bit_length() + int(c.q).bit_length() for c in polynomial.to_dict().values())
    if (2 * degree - 1) * bits > _DISCRIMINANT_BITS:
        message = f"the discriminant of degree {degree} with coefficients of {bits} bits is too long"
        raise ToolError("LIMIT_EXCEEDED", message, "use smaller numbers", limit="size")


def _relative_size(ring: Ring, polynomial: Any, degree: int, value: object) -> float | None:
    """Compare with the sum of sizes of the terms, for degrees whose terms are few: b^2 - 4ac and the cubic's."""
    if not isinstance(value, float) or degree not in (2, 3) or any(k.index for k in ring.used(polynomial)):
        return None
    p = univariate(polynomial, 0)
    c = [Fraction(int(p[i].numer()), int(p[i].denom())) for i in range(degree + 1)]
    if degree == 2:
        terms = [c[1] ** 2, 4 * c[0] * c[2]]
    else:
        d, cc, b, a = c
        terms = [18 * a * b * cc * d, 4 * b**3 * d, b**2 * cc**2, 4 * a * cc**3, 27 * a**2 * d**2]
    whole = sum(abs(term) for term in terms)
    return abs(value) / float(whole) if whole else None
