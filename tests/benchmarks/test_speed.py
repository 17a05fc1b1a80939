"""Speed as ratios to the raw library call in one run. Run with `pytest -m benchmark tests/benchmarks`."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from maven_env.env import MavenBenchEnv
from maven_env.evaluation.scripts import script
from maven_env.execution.memo import Memo
from maven_env.problems import library
from maven_env.scoring import Rubric, score
from maven_env.tools.toolbox import Toolbox

pytestmark = pytest.mark.benchmark

PAPER = "MAVEN-Bench-0001"


class NoMemo(Memo):
    """Remembers nothing, so that every call is computed."""

    def get(self, key: str) -> None:
        return None


def median(function: Callable[[], Any], repeats: int) -> float:
    """Return the median time of one call in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def show(benchmark: Any, **figures: float) -> None:
    benchmark.extra_info.update(figures)
    print({name: round(value, 3) for name, value in figures.items()})


def test_import_costs_little_more_than_gymnasium(benchmark: Any) -> None:
    def load(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        runs = [
            float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
            for _ in range(7)
        ]
        return min(runs)

    base, ours = load("gymnasium"), load("maven_env")
    show(benchmark, gymnasium_s=base, maven_env_s=ours, ratio=ours / base)
    benchmark.pedantic(lambda: None, rounds=1)
    assert ours / base < 1.3


def test_a_step_with_a_light_tool_adds_little_to_the_raw_call(benchmark: Any) -> None:
    import numpy as np

    matrix = [[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 5.0]]
    action = json.dumps({"tool_id": "matrix_determinant_numeric", "input": {"matrix": matrix}})
    env = MavenBenchEnv(split="test", tools="all", toolbox=Toolbox(memo=NoMemo()), max_steps=10)
    env.reset(options={"problem_id": PAPER})
    start = env.get_state()

    def step() -> None:
        env._episode = start  # set_state would make the menu of tools anew
        env.step(action)

    array = np.array(matrix)

    def raw() -> None:
        np.linalg.slogdet(array)
        np.linalg.cond(array)

    for function in (step, raw):
        function()
    overhead = median(step, 300) - median(raw, 300)
    show(benchmark, overhead_us=overhead * 1e6)
    benchmark(step)


def test_reset_of_a_deployed_instance(benchmark: Any) -> None:
    env = MavenBenchEnv(split="test")
    env.reset()
    figures = [median(lambda i=i: env.reset(options={"problem_id": i}), 5) for i in env.deployed]  # type: ignore[misc]
    show(benchmark, worst_ms=max(figures) * 1e3, median_ms=statistics.median(figures) * 1e3)
    benchmark(lambda: env.reset(options={"problem_id": PAPER}))


def test_scoring_a_trace_and_one_step(benchmark: Any) -> None:
    from maven_env.episode import play

    toolbox = Toolbox()
    whole, steps = [], []
    for problem_id in library.deployment().instances:
        problem = library.deployed_problem(problem_id)
        trace = play(problem, script(problem), toolbox).trace
        score(problem, trace)
        whole.append(median(lambda p=problem, t=trace: score(p, t), 5))  # type: ignore[misc]
        rubric = Rubric.start(problem)
        for step in trace.steps:
            start = time.perf_counter()
            rubric = rubric.after(step)
            rubric.score()
            steps.append(time.perf_counter() - start)
    show(
        benchmark,
        trace_ms=statistics.median(whole) * 1e3,
        step_ms=statistics.median(steps) * 1e3,
        worst_step_ms=max(steps) * 1e3,
    )
    benchmark.pedantic(lambda: None, rounds=1)
