"""What is small runs in process, what may run away is guarded."""

from __future__ import annotations

import pytest

from maven_env.artifacts import MemoryStore
from maven_env.tools.registry import find, registry
from maven_env.tools.toolbox import Toolbox
from maven_env.types import ToolCall

GUARDED = {
    "substitute": {"expr": "x^100", "subs": {"x": "1/(2^(1/3) + 3^(1/5) + 5^(1/7) + y)"}},
    "symbolic_diff": {"expr": "tan(acosh(x)/(x^2 - 2)/(x^2 - 8))", "wrt": "x", "order": 8},
    "matrix_inverse": {"matrix": [[f"a{i}{j}" for j in range(8)] for i in range(8)], "arithmetic": "exact"},
    "solve_inequality": {"inequality": "*".join(f"(x - {i})" for i in range(40)) + " > 0", "unknown": "x"},
    "symbolic_limit": {"expr": "+".join(f"sqrt(x + {i})" for i in range(20)), "wrt": "x", "to": "0"},
    "quadrature": {"expr": "Ei(-x)*li(x + 2)*Si(100*x)", "wrt": "x", "limits": [0, 1]},
    "find_all_roots": {"equation": "tan(x)", "unknown": "x", "interval": [0, 1], "n_scan": 20_000},
    "vector_calculus": {"op": "grad", "field": "sin(" * 30 + "x" + ")" * 30, "variables": ["x"]},
    "nonlinear_fit": {**find("nonlinear_fit").example, "xdata": list(range(2000)), "ydata": list(range(2000))},
}
LIGHT = {
    "substitute": {"expr": "m*v^2/2", "subs": {"m": "3.2", "v": "sqrt(2)*t"}},
    "symbolic_diff": {"expr": "A*t^3*exp(-k*t)*sin(w*t)", "wrt": "t", "order": 3},
    "matrix_determinant": {"matrix": [[i * j + 1 for j in range(20)] for i in range(20)]},
    "quadrature": {"expr": "x^2*exp(-x)", "wrt": "x", "limits": [0, "oo"]},
}


def tier(tool_id: str, given: dict[str, object]) -> int:
    spec = find(tool_id)
    arguments, _ = spec.read(given, lambda body: None)
    return spec.tier_of(arguments)


@pytest.mark.parametrize("tool_id", GUARDED)
def test_heavy_input_is_guarded(tool_id: str) -> None:
    assert tier(tool_id, GUARDED[tool_id]) == 2


@pytest.mark.parametrize("tool_id", LIGHT)
def test_light_input_stays_in_process(tool_id: str) -> None:
    assert tier(tool_id, LIGHT[tool_id]) < 2


def test_tools_that_look_at_other_steps_are_bounded() -> None:
    values = ["zeta(1/2 + 9999*I)"] * 9_000
    artifact = Toolbox().call(ToolCall("cross_check_numeric", {"a": values, "b": values}), MemoryStore("w"))
    assert artifact.error is not None
    assert artifact.error.details == {"limit": "size"}
    numbers = list(range(9_000))
    artifact = Toolbox().call(ToolCall("cross_check_numeric", {"a": numbers, "b": numbers}), MemoryStore("w"))
    assert artifact.output["verdict"] == "passed"


def test_examples_stay_where_their_tools_are() -> None:
    for spec in registry().values():
        if isinstance(spec.tier, int):
            assert tier(spec.tool_id, spec.example) == spec.tier, spec.tool_id
