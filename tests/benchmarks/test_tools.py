"""Speed of the tools as ratios to the raw library call in one run. Run with `pytest -m benchmark tests/benchmarks`."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from maven_env.artifacts import MemoryStore
from maven_env.execution.memo import Memo
from maven_env.expressions import parse_matrix
from maven_env.expressions.algebra.isolation import complex_roots
from maven_env.tools.linear_algebra.exact_algebra import regular_solution
from maven_env.tools.linear_algebra.exact_matrices import determinant, elements
from maven_env.tools.toolbox import Toolbox
from maven_env.types import ToolCall

pytestmark = pytest.mark.benchmark


class NoMemo(Memo):
    """Remembers nothing, so that every call is computed."""

    def get(self, key: str) -> None:
        return None


def pair(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int = 60) -> tuple[float, float]:
    """Return the median times in seconds of two functions, measured in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for function in (ours, theirs):
        function()
    gc.disable()
    try:
        for _ in range(repeats):
            for function, found in zip((ours, theirs), times, strict=True):
                start = time.perf_counter()
                function()
                found.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return statistics.median(times[0]), statistics.median(times[1])


def show(benchmark: Any, **figures: float) -> None:
    benchmark.extra_info.update(figures)
    print({name: round(value, 4) for name, value in figures.items()})
    benchmark.pedantic(lambda: None, rounds=1)


def _raw_diff() -> Callable[[], Any]:
    import sympy
    from sympy.core.cache import clear_cache

    t, *letters = sympy.symbols("t A B C")
    value = letters[0] * t**3 - letters[1] * t**2 + letters[2] * t

    def run() -> Any:
        clear_cache()  # a second equal call of the library would only look the result up
        return sympy.diff(value, t)

    return run


def _raw_numpy(name: str) -> Callable[[], Any]:
    import numpy as np

    matrix = np.array(MATRIX)
    vector = np.array(VECTOR)
    calls: dict[str, Callable[[], Any]] = {
        "solve": lambda: (np.linalg.solve(matrix, vector), np.linalg.cond(matrix)),
        "svd": lambda: np.linalg.svd(matrix),
        "det": lambda: (np.linalg.slogdet(matrix), np.linalg.cond(matrix)),
        "eig": lambda: (np.linalg.eig(matrix), np.linalg.cond(matrix)),
    }
    return calls[name]


def _raw_flint_roots() -> Callable[[], Any]:
    from flint import fmpq_poly

    polynomial = fmpq_poly([6, -5, -2, 1])
    return lambda: polynomial.complex_roots()


MATRIX = [[4.0, 1.0, 2.0, 0.5], [1.0, 3.0, 0.5, 1.0], [2.0, 0.5, 5.0, 1.5], [0.5, 1.0, 1.5, 6.0]]
VECTOR = [1.0, 2.0, 3.0, 4.0]

LIGHT: list[tuple[str, dict[str, Any], Callable[[], Callable[[], Any]]]] = [
    ("symbolic_diff", {"expr": "A*t^3 - B*t^2 + C*t", "wrt": "t"}, _raw_diff),
    ("solve_linear_system", {"matrix": MATRIX, "rhs": VECTOR}, lambda: _raw_numpy("solve")),
    ("svd_decompose", {"matrix": MATRIX}, lambda: _raw_numpy("svd")),
    ("matrix_determinant_numeric", {"matrix": MATRIX}, lambda: _raw_numpy("det")),
    ("eigen_numeric", {"matrix": MATRIX}, lambda: _raw_numpy("eig")),
    ("polynomial_roots_exact", {"expr": "x^3 - 2*x^2 - 5*x + 6", "wrt": "x"}, _raw_flint_roots),
]


@pytest.mark.parametrize(("tool", "given", "raw"), LIGHT, ids=[tool for tool, _, _ in LIGHT])
def test_a_light_tool_costs_little_more_than_the_library(benchmark: Any, tool: str, given: Any, raw: Any) -> None:
    toolbox, store = Toolbox(NoMemo()), MemoryStore("benchmark")
    ours, theirs = pair(lambda: toolbox.call(ToolCall(tool, given), store), raw())
    show(benchmark, tool_us=ours * 1e6, raw_us=theirs * 1e6, over_us=(ours - 1.5 * theirs) * 1e6)


def test_a_guarded_call_costs_little_more_than_the_raw_call(benchmark: Any) -> None:
    import sympy
    from sympy.core.cache import clear_cache

    x = sympy.Symbol("x")
    toolbox, store = Toolbox(NoMemo()), MemoryStore("benchmark")
    call = ToolCall("symbolic_simplify", {"expr": "sin(x)^2 + cos(x)^2 + x*(x + 1) - x^2"})

    def raw() -> Any:
        clear_cache()
        return sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 + x * (x + 1) - x**2)

    ours, theirs = pair(lambda: toolbox.call(call, store), raw, 30)
    show(benchmark, tool_ms=ours * 1e3, raw_ms=theirs * 1e3, over_ms=(ours - theirs) * 1e3)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_the_kernel_of_symbolic_determinants_is_as_fast_as_the_fastest_library(benchmark: Any, size: int) -> None:
    import sympy
    from flint import Ordering, fmpz_mpoly_ctx
    from sympy.polys.matrices import DomainMatrix

    rows = [[f"a{i}{j}" if (i + j) % 3 else f"x + {i + j + 1}" for j in range(size)] for i in range(size)]
    field, entries = elements(parse_matrix(rows))
    matrix = DomainMatrix.from_Matrix(sympy.Matrix([[_sympy_entry(entry) for entry in row] for row in rows]))
    names = sorted({entry for row in rows for entry in row if "+" not in entry} | {"x"})
    context = fmpz_mpoly_ctx.get(names, Ordering.lex)
    generators = dict(zip(names, context.gens(), strict=True))
    polynomials = [[_flint_entry(entry, generators) for entry in row] for row in rows]

    libraries = {"sympy": matrix.det, "flint": lambda: _laplace(polynomials)}
    figures = {name: pair(lambda: determinant(field, entries), library, 5) for name, library in libraries.items()}
    fastest = min(theirs for _, theirs in figures.values())
    ours = min(mine for mine, _ in figures.values())
    show(benchmark, ours_us=ours * 1e6, fastest_us=fastest * 1e6, ratio=ours / fastest)


def _sympy_entry(text: str) -> Any:
    import sympy

    return sympy.Symbol("x") + int(text[4:]) if "+" in text else sympy.Symbol(text)


def _flint_entry(text: str, generators: dict[str, Any]) -> Any:
    return generators["x"] + int(text[4:]) if "+" in text else generators[text]


def _laplace(rows: list[list[Any]]) -> Any:
    """Expand a determinant along its first row: python-flint has none of its own for polynomials in several symbols."""
    if len(rows) == 1:
        return rows[0][0]
    minors = [[row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows))]
    return sum((-1) ** j * rows[0][j] * _laplace(minors[j]) for j in range(len(rows)))


@pytest.mark.parametrize("size", [3, 6, 12])
def test_the_kernel_of_exact_solves_is_as_fast_as_the_fastest_library(benchmark: Any, size: int) -> None:
    import sympy
    from flint import fmpq, fmpq_mat
    from sympy.polys.matrices import DomainMatrix

    rows = [[Fraction(1, i + j + 1) for j in range(size)] for i in range(size)]
    augmented = [[*row, Fraction(1)] for row in rows]

    def flint() -> Any:
        exact = fmpq_mat(size, size, [fmpq(v.numerator, v.denominator) for row in rows for v in row])
        return exact.solve(fmpq_mat(size, 1, [fmpq(1)] * size))

    def domain_matrix() -> Any:
        exact = [[sympy.QQ(v.numerator, v.denominator) for v in row] for row in rows]
        return DomainMatrix(exact, (size, size), sympy.QQ).lu_solve(
            DomainMatrix([[sympy.QQ(1)]] * size, (size, 1), sympy.QQ)
        )

    figures = [pair(lambda: regular_solution(augmented), library, 30) for library in (flint, domain_matrix)]
    fastest = min(theirs for _, theirs in figures)
    ours = min(mine for mine, _ in figures)
    show(benchmark, ours_us=ours * 1e6, fastest_us=fastest * 1e6, ratio=ours / fastest)


@pytest.mark.parametrize("degree", [3, 8, 16])
def test_the_kernel_of_polynomial_roots_is_as_fast_as_the_fastest_library(benchmark: Any, degree: int) -> None:
    import sympy
    from flint import fmpz_poly

    coefficients = [(7 * i * i + 3 * i + 1) % 19 - 9 for i in range(degree)] + [1]
    polynomial = fmpz_poly(coefficients)
    symbolic = sympy.Poly(coefficients[::-1], sympy.Symbol("x"))
    libraries = (polynomial.complex_roots, lambda: symbolic.nroots(n=15, maxsteps=500))
    figures = [pair(lambda: complex_roots(polynomial), library, 20) for library in libraries]
    fastest = min(theirs for _, theirs in figures)
    ours = min(mine for mine, _ in figures)
    show(benchmark, ours_us=ours * 1e6, fastest_us=fastest * 1e6, ratio=ours / fastest)
