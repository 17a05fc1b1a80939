"""Random and mutated calls over all tools do nothing that no call may do; the big run is `fuzzing.py` itself."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_cases import Cases, call_of, line_of
from fuzzing import Fuzzer, faults_of

from maven_env.tools.registry import registry
from maven_env.types import Artifact, CallError, ToolCall

BLANK = Artifact(True, "p", "step-01", "check_sign", "1", {})


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Fuzzer]:
    made = Fuzzer(Cases("suite"))
    yield made
    made.close()


def test_the_same_number_makes_the_same_call_and_another_one_another() -> None:
    lines = [line_of(Cases("a").call(number)) for number in range(150)]
    assert lines == [line_of(Cases("a").call(number)) for number in range(150)]
    assert len(set(lines)) > 145
    assert lines != [line_of(Cases("b").call(number)) for number in range(150)]


def test_a_call_survives_its_line_in_the_log() -> None:
    for number in range(300):
        call = Cases("a").call(number)
        assert line_of(call_of(line_of(call))) == line_of(call)


def test_every_tool_is_called_and_many_calls_succeed(fuzzer: Fuzzer) -> None:
    seen = [fuzzer.run(number) for number in range(3 * len(registry()))]
    assert [s for s in seen if s.faults] == []
    assert {s.tool_id for s in seen} >= set(registry())
    codes = Counter(s.code for s in seen)
    assert codes["ok"] > 40
    assert len(codes) > 6


@pytest.mark.slow
def test_thousands_of_calls_have_no_fault(fuzzer: Fuzzer) -> None:
    assert [seen for seen in map(fuzzer.run, range(1000, 3000)) if seen.faults] == []


def test_faults_are_seen() -> None:
    good = replace(BLANK, output={"verdict": "passed"})
    assert list(faults_of(good)) == []

    def faulty(**changes: Any) -> str:
        fields = {"ok": True, "output": {"verdict": "passed"}, "error": None, **changes}
        return "; ".join(faults_of(replace(BLANK, **fields)))

    assert "verdict" in faulty(output={"verdict": True})
    assert "no JSON" in faulty(output={"verdict": "passed", "min": float("nan")})
    assert "undocumented output" in faulty(output={"verdict": "passed", "new": 1})
    assert "undocumented code" in faulty(ok=False, output={}, error=CallError("NONSENSE", "m", ""))
    assert "limit" in faulty(ok=False, output={}, error=CallError("LIMIT_EXCEEDED", "m", ""))
    assert "neither" in faulty(ok=False)


REPORTED = [  # found by the big run, mended since
    '{"tool_id": "solve_equation", "input": {"equation": "x = a", "unknown": "x", "assumptions": "complex"}}',
    '{"tool_id": "substitute", "input": {"expr": "x", "subs": [{"name": [1], "value": 1}]}}',
    '{"tool_id": "query_state", "input": {"from_step": "given", "fields": ["output.nothing"]}}',
    '{"tool_id": "cross_check_numeric", "input": {"a": [1, 2], "b": 2}}',
    '{"tool_id": "numeric_derivative", "input": {"expr": "exp(-x^2)", "wrt": "x", "at": "2^1000", '
    '"method": "richardson"}}',
    '{"tool_id": "numeric_derivative", "input": {"expr": "n*n", "wrt": "n", "at": -1e300}}',
    '{"tool_id": "lstsq_qr", "input": {"matrix": [["exp(1000)"], [1]], "rhs": [1, 2]}}',
    '{"tool_id": "quadrature", "input": {"expr": "sin(x)*x", "wrt": "x", "limits": ["-oo", "pi"], "points": [6.12]}}',
    '{"tool_id": "svd_decompose", "input": {"matrix": [["2^1000", 1], [1, "2^1000"]]}}',
    '{"tool_id": "implicit_diff", "input": {"equation": "x^2 + y^2 = 25", "x": "x", "y": "y", "at": {"x": 1, "y": 2}}}',
    '{"tool_id": "evaluate_high_precision", "input": {"expr": "li(t)", "subs": {"t": -7.8e-7}}}',
    '{"tool_id": "matrix_determinant", "input": {"matrix": [["nan"]]}}',
    '{"tool_id": "eigen_symbolic", "input": {"matrix": [["7^400", 1, 2], [1, "3^500/7^99", 5], [1, "5^300", 1]]}}',
    '{"tool_id": "svd_decompose", "input": {"matrix": [[1.7976931348623157e308, 1, 2], [-5, 2, "1e-9"]]}}',
    '{"tool_id": "fourier_series", "input": {"expr": "y", "wrt": "y", "interval": [-88796.3, 1e300]}}',
    '{"tool_id": "integrate", "input": {"expr": "besselj(t + 35/6, 6.3^7)", "wrt": "t", "limits": ["-oo", "oo"]}}',
    '{"tool_id": "inverse_laplace", "input": {"expr": "Max(pi, sin(sqrt(z + sqrt(a))), n)/s"}}',
    '{"tool_id": "symbolic_diff", "input": {"expr": "x", "wrt": "x", "order": 1' + 400 * "0" + "}}",
]


@pytest.mark.parametrize("line", REPORTED)
def test_what_was_found_once_stays_mended(line: str, fuzzer: Fuzzer) -> None:
    assert fuzzer.examine(call_of(line)).faults == ()


def test_maps_of_any_json_are_objects_too(fuzzer: Fuzzer) -> None:
    named = [{"name": "x", "value": "positive"}]
    call = ToolCall("symbolic_simplify", {"expr": "sqrt(x^2)", "assumptions": named})
    seen = fuzzer.examine(call)
    assert seen.code == "ok", json.dumps(named)
