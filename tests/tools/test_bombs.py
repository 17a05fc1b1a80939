"""Calls made to hang, to fill the memory or to crash: refused by size, or ended by fuel or the kill; the next works."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fuzzing import IN_PROCESS_S, LIMITS, faults_of

from maven_env.artifacts import MemoryStore
from maven_env.execution.guard import Guard
from maven_env.execution.memo import Memo
from maven_env.tools.registry import registry
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, ToolCall

Bomb = tuple[str, dict[str, Any]]
WALL_S = 40  # processor time is bounded by 10 s; the rest is for machines that are busy


def nested(function: str, depth: int, inner: str = "x") -> str:
    return f"{function}(" * depth + inner + ")" * depth


def product(n: int) -> str:
    return "*".join(f"(x-{i})" for i in range(1, n + 1))


SYMBOLS = "abcdefghjklmnpqrstuvwxyz"
SYMBOLIC_200 = [[f"{SYMBOLS[(i * j) % 24]}*x + {i - j}" for j in range(200)] for i in range(200)]
SYMBOLIC_12 = [[f"{SYMBOLS[(i * j) % 24]}*{SYMBOLS[(i + j) % 24]} + {i + 2 * j}" for j in range(12)] for i in range(12)]
SURDS = [[("sqrt(2)", "sqrt(3)", "sqrt(5)", "sqrt(7)", "1/3")[(i * i + j) % 5] for j in range(14)] for i in range(14)]
LONG = [[f"{(7**i + 11**j) ** 30 % 10**40}/{(13**i + 3**j) ** 30 % 10**40 + 1}" for j in range(60)] for i in range(60)]
COMPLEX = [[f"{i}+{j + 1}*I+sqrt(2)" for j in range(6)] for i in range(6)]
WIDE = [[1 / (i + j + 1) for j in range(100)] for i in range(100)]
MIGNOTTE = "x^100 - 2*(10^20*x - 1)^2"
SURD_SUM = "+".join(f"sqrt({p})" for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71))
MANY = list(range(10_000))

BOMBS: dict[str, Bomb] = {
    # numbers and texts that any tool reads
    "tower": ("evaluate_numeric", {"expr": "9^9^9^9"}),
    "tower in disguise": ("substitute", {"expr": "exp(exp(exp(exp(x - x + 9))))", "subs": {"y": "1"}}),
    "tower put in": ("substitute", {"expr": "x^x", "subs": {"x": "9^9^9"}}),
    "factorial": ("evaluate_numeric", {"expr": "factorial(10^9)"}),
    "factorial of a factorial": ("substitute", {"expr": "factorial(factorial(x))", "subs": {"x": "99"}}),
    "huge exponent": ("unit_convert", {"value": "10^(10^9)", "from_unit": "m", "to_unit": "km"}),
    "value beyond all rationals": ("evaluate_high_precision", {"expr": "Ei(10^9)", "digits": 50}),
    "value below all rationals": (
        "propagate_uncertainty", {"expr": "x", "values": {"x": "Ei(-10^9)"}, "sigma": {"x": 1}}
    ),
    "slow function": ("evaluate_high_precision", {"expr": "expint(10^8, 10^8)", "digits": 50}),
    "zeta high up": ("unit_convert", {"value": "re(zeta(1/2 + 10^12*I))", "from_unit": "m", "to_unit": "km"}),
    "long sum": ("evaluate_numeric", {"expr": "+".join(["x"] * 9000)}),
    "deep brackets": ("symbolic_diff", {"expr": "(" * 9000 + "x" + ")" * 9000, "wrt": "x"}),
    "deep functions": ("symbolic_diff", {"expr": nested("sin", 3000), "wrt": "x"}),
    "number of many digits": ("polynomial_discriminant", {"expr": f"{10**900}*x^9 + {7**1000}*x + 1", "wrt": "x"}),
    "digits beyond writing": ("substitute", {"expr": "x^5", "subs": {"x": "7^1100"}}),
    # symbolic
    "dense expansion": ("symbolic_expand", {"expr": "(a+b+c+d+e+f+g+h)^12*(x+y)^12"}),
    "wide power": ("substitute", {"expr": "x^100", "subs": {"x": f"1/({SURD_SUM}+y)"}}),
    "tiny shifts": ("substitute", {"expr": "x^100", "subs": {"x": "(y-10^-100)*(y-10^-101)"}}),
    "factor": ("symbolic_factor", {"expr": "x^1000*y^999 - (a+b)^12 + 1"}),
    "nested radicals": ("symbolic_simplify", {"expr": nested("sqrt", 40, "x + 1").replace("))", "+1))")}),
    "simplify": ("symbolic_simplify", {"expr": "*".join(f"(sin({i}*x)+cos({i}*y))^{i}" for i in range(1, 12))}),
    "partial fractions": ("partial_fractions", {"expr": f"1/({product(60)} + 1/7)", "wrt": "x"}),
    "series": ("series_expansion", {"expr": "exp(sin(tan(x)))^y", "wrt": "x", "order": 40}),
    # equations
    "nested sines": ("solve_equation", {"equation": nested("sin", 40), "unknown": "x"}),
    "nested sines as a polynomial": ("polynomial_roots_exact", {"expr": nested("sin", 40), "wrt": "x"}),
    "nested sines above zero": ("solve_inequality", {"inequality": f"{nested('sin', 40)} > 0", "unknown": "x"}),
    "roots that hardly part": ("polynomial_roots_exact", {"expr": MIGNOTTE, "wrt": "x"}),
    "roots that hardly part, solved": ("solve_equation", {"equation": MIGNOTTE, "unknown": "x"}),
    "roots that hardly part, above zero": ("solve_inequality", {"inequality": f"{MIGNOTTE} > 0", "unknown": "x"}),
    "long polynomial": ("solve_inequality", {"inequality": f"{product(200)} > 0", "unknown": "x"}),
    "discriminant": ("polynomial_discriminant", {"expr": product(200), "wrt": "x"}),
    "many parameters": ("polynomial_discriminant", {"expr": "+".join(f"a{i}*x^{i}" for i in range(9)), "wrt": "x"}),
    "system": (
        "solve_system", {"equations": [f"x^9+y^8+z^7-{i}*x*y*z" for i in (1, 2, 3)], "unknowns": ["x", "y", "z"]}
    ),
    "recurrence": ("solve_recurrence", {"recurrence": "y(n+1) - y(n)^2", "initial": ["2"], "n": 10**5}),
    "recurrence of long numbers": (
        "solve_recurrence", {"recurrence": "y(n+1) - (n+1)*y(n)", "initial": ["1"], "n": 10**5}
    ),
    # calculus
    "high derivative": ("symbolic_diff", {"expr": "tan(acosh(x)/(x^2 - 2)/(x^2 - 8))", "wrt": "x", "order": 8}),
    "derivative of a tower": ("symbolic_diff", {"expr": "x^x^x^x", "wrt": "x", "order": 6}),
    "limit": ("symbolic_limit", {"expr": f"1/({SURD_SUM} + x)", "wrt": "x", "to": "0"}),
    "integral": ("integrate", {"expr": "sqrt(tan(x)^3 + exp(x^2))/(log(x) + x^(1/7))", "wrt": "x"}),
    "laplacian": (
        "vector_calculus",
        {"op": "laplacian", "field": nested("sin", 40), "variables": ["x", "y", "z"], "coordinates": "spherical"},
    ),
    "jacobian": ("jacobian", {"exprs": [f"{product(20)}^9 + y"] * 9, "variables": ["x", "y"], "at": {"x": 1, "y": 2}}),
    # linear algebra
    "symbolic 200 x 200": ("matrix_determinant", {"matrix": SYMBOLIC_200}),
    "symbolic 12 x 12": ("matrix_determinant", {"matrix": SYMBOLIC_12}),
    "symbolic inverse": ("matrix_inverse", {"matrix": SYMBOLIC_12, "arithmetic": "exact"}),
    "surds": ("solve_linear_exact", {"matrix": SURDS, "rhs": ["1"] * 14}),
    "long fractions": ("matrix_inverse", {"matrix": LONG, "arithmetic": "exact"}),
    "product of long fractions": ("matrix_product", {"factors": [LONG] * 20, "arithmetic": "exact"}),
    "complex surds": ("eigen_symbolic", {"matrix": COMPLEX}),
    "long eigenproblem": ("eigen_symbolic", {"matrix": [row[:4] for row in LONG[:4]]}),
    "exact exponential": ("matrix_exponential", {"matrix": SYMBOLIC_12, "t": "t", "method": "exact"}),
    "exponential of a huge matrix": ("matrix_exponential", {"matrix": [["10^300", "1"], ["1", "10^300"]], "t": "1"}),
    "wide matrix": ("svd_decompose", {"matrix": [[1.0] * 10_000]}),
    "tall matrix": ("svd_decompose", {"matrix": [[1.0]] * 10_000}),
    "wide eigenproblem": ("eigen_numeric", {"matrix": WIDE}),
    "endless iteration": (
        "solve_linear_iterative",
        {"matrix": WIDE, "rhs": [1] * 100, "method": "jacobi", "max_iter": 10**5, "tol": 1e-15},
    ),
    "too many entries": ("matrix_product", {"factors": [[[1] * 300] * 300] * 5}),
    # numeric
    "oscillation": ("quadrature", {"expr": "sin(10^6*x)*cos(1/x)", "wrt": "x", "limits": ["-1000", "1000"]}),
    "nested integrand": ("quadrature", {"expr": nested("sin", 40), "wrt": "x", "limits": ["-1000", "1000"]}),
    "singular in two dimensions": (
        "quadrature",
        {"expr": "sin(99/(x*y))/sqrt(x + y)", "wrt": ["x", "y"], "limits": [[c, "0", "1"] for c in "xy"]},
    ),
    "endless newton": (
        "nsolve",
        {"equations": ["exp(-x) = 0"], "unknowns": ["x"], "start": [1], "max_iter": 10**5, "tol": 1e-15},
    ),
    "many roots": ("find_all_roots", {"equation": "sin(10^6*x) = 0", "unknown": "x", "interval": [0, 10**6]}),
    "many scanned roots": (
        "find_all_roots",
        {"equation": "sin(10^6*x)*cos(1/x)", "unknown": "x", "interval": [-1000, 1000], "n_scan": 20_000},
    ),
    "continued fraction": (
        "find_all_roots",
        {"equation": nested("1/(x+", 22, "1"), "unknown": "x", "interval": [-1000, 1000]},
    ),
    "long series": ("sum_series", {"term": "sin(n)/n", "index": "n", "start": 1, "stop": 10**9, "method": "direct"}),
    "huge terms": ("sum_series", {"term": "factorial(n)^n", "index": "n", "start": 1, "stop": 400, "method": "direct"}),
    # differential equations
    "stiff with tiny steps": (
        "solve_ode_explicit",
        {"rhs": ["-10^9*(y - cos(t))"], "variables": ["y"], "t_span": [0, 100], "y0": [0]},
    ),
    "stiff and endless": (
        "solve_ode_stiff",
        {
            "rhs": ["10^4*sin(10^5*t)*y", "x - y^3"], "variables": ["y", "x"], "t_span": [0, 10**6], "y0": [1, 1],
            "rtol": 1e-12, "max_steps": 20_000,
        },
    ),
    "boundary layer": (
        "solve_bvp",
        {
            "rhs": ["v", "10^8*sin(y*v)"], "variables": ["y", "v"], "x": "x", "interval": [0, 1],
            "bc": ["y_a", "y_b - 1"], "guess": ["x", "1"], "tol": 1e-11,
        },
    ),
    "equation without a formula": ("solve_ode_symbolic", {"ode": "y''' + sin(y*y')*y'' = x^y", "function": "y(x)"}),
    # statistics, optimisation
    "much data": (
        "nonlinear_fit",
        {
            "model": "a*exp(-b*x)*sin(c*x + d)", "x": "x", "parameters": ["a", "b", "c", "d"],
            "xdata": MANY[:2000], "ydata": [i % 17 for i in MANY[:2000]], "start": [1, 1, 1, 1],
        },
    ),
    "much exact data": (
        "linear_regression", {"x": [[i, i * i, i**3, i**4] for i in range(2500)], "y": [i % 17 for i in range(2500)]}
    ),
    "huge data": ("linear_regression", {"x": [1e300 * i for i in range(5000)], "y": MANY[:5000]}),
    "klee and minty": (
        "linear_program",
        {
            "c": [2 ** (29 - i) for i in range(30)], "maximize": True, "b_ub": [5 ** (i + 1) for i in range(30)],
            "A_ub": [[2 ** (i - j + 1) if j < i else int(i == j) for j in range(30)] for i in range(30)],
        },
    ),
    "fine grid": (
        "minimize_global",
        {"expr": "sin(x*y*z)", "variables": ["x", "y", "z"], "bounds": [[-99, 99]] * 3, "grid": 62},
    ),
    "wild objective": (
        "minimize_global", {"expr": "sin(exp(x))*cos(10^6*x)", "variables": ["x"], "bounds": [[0, 20]], "grid": 400}
    ),
    # transforms, units, verification
    "transform": ("laplace_transform", {"expr": "exp(-t^2)*besselj(3, t)*log(t)^5/(t^9 + 1)"}),
    "back transform": ("inverse_laplace", {"expr": "exp(-sqrt(s))/(s^9 + s^5 + 3)*log(s)"}),
    "fourier": ("fourier_series", {"expr": "exp(sin(x^3))", "wrt": "x", "interval": [0, 1], "n_terms": 40}),
    "unit with powers": ("unit_convert", {"value": 1, "from_unit": "m^999999999", "to_unit": "km^999999999"}),
    "unit of many parts": ("unit_convert", {"value": 1, "from_unit": "*".join(["kg"] * 60), "to_unit": "g^20"}),
    "unit in brackets": ("check_units", {"equation": "a", "units": {"a": "(" * 90 + "m" + ")" * 90}}),
    "hardly different": ("check_equivalence", {"a": MIGNOTTE, "b": f"{MIGNOTTE} + 10^-300"}),
    "many equivalences": ("check_equivalence", {"a": [nested("sin", 20)] * 200, "b": [nested("sin", 20, "-x")] * 200}),
    "sign of a product": ("check_sign", {"expr": product(200), "expected": "positive", "wrt": "x", "interval": [0, 1]}),
    "many states": (
        "check_conservation",
        {"invariant": nested("sin", 30), "variables": ["x"], "states": [[i / 7] for i in MANY[:2000]]},
    ),
    "many candidates": (
        "check_residual",
        {"equations": [f"{product(40)} = 0"] * 20, "candidates": [{"x": "sqrt(2)"}] * 10, "digits": 100},
    ),
    "many conditions": ("check_domain", {"values": {"x": SURD_SUM}, "conditions": [f"{product(30)} > 0"] * 300}),
    "high order": (
        "second_derivative_test",
        {"expr": "(x*y*z - 1)^9*sin(x + y + z)^9", "variables": ["x", "y", "z"], "point": dict.fromkeys("xyz", 1)},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def boxed() -> Iterator[Toolbox]:
    guard = Guard()
    yield Toolbox(Memo(), guard)
    guard.close()


def explode(toolbox: Toolbox, bomb: Bomb) -> tuple[Artifact, float, float]:
    """Return the artifact, the processor time of this process and the wall-clock time."""
    burnt, started = time.process_time(), time.perf_counter()
    artifact = toolbox.call(ToolCall(*bomb), MemoryStore("bomb"))
    return artifact, time.process_time() - burnt, time.perf_counter() - started


def test_every_family_is_bombed() -> None:
    bombed = {registry()[tool].family for tool, _ in BOMBS.values()}
    assert bombed == {spec.family for spec in registry().values()} - {"state"}


SLOW = (
    "nested integrand",
    "complex surds",
    "many scanned roots",
    "nested sines",
    "sign of a product",
    "high derivative",
)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in BOMBS])
def test_a_bomb_is_refused_or_ended_and_the_next_call_works(name: str, boxed: Toolbox) -> None:
    boxed.call(ToolCall("symbolic_simplify", {"expr": "x"}), MemoryStore("warm"))
    artifact, burnt, seconds = explode(boxed, BOMBS[name])
    assert burnt < IN_PROCESS_S
    assert seconds < WALL_S
    assert not list(faults_of(artifact))
    if artifact.error is not None and artifact.error.code == "LIMIT_EXCEEDED":
        assert artifact.error.details["limit"] in LIMITS
    again = boxed.call(ToolCall("symbolic_simplify", {"expr": "sin(x)^2 + cos(x)^2 + 1"}), MemoryStore("next"))
    assert again.output["expr"] == "2"


if __name__ == "__main__":  # what becomes of each bomb
    box = Toolbox(Memo())
    for title in sys.argv[1:] or BOMBS:
        found, inside, whole = explode(box, BOMBS[title])
        code = "ok" if found.error is None else f"{found.error.code} {json.dumps(found.error.details)[:60]}"
        message = str(found.output)[:60] if found.error is None else found.error.message[:80]
        print(f"{inside:6.2f} {whole:6.2f} {title:34} {code:50} {message}", flush=True)
