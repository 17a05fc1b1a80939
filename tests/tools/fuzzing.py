"""Throw random and mutated calls at all tools, and report what no call may do.

    python tests/tools/fuzzing.py --calls 200000 --seed 1 [--jobs 2] [--tools NAME ...] [--log FILE]
    python tests/tools/fuzzing.py --replay FILE        # the calls of a log's failures again

A call must come back with an artifact: JSON without NaN, either ok or an error with a known code, only documented
fields, a verdict of the right type; in process within 2 s of processor time, guarded within its limits; and a second
time the same. Most calls run with a small part of the usual fuel and time, so that a big run takes an hour and no day.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_cases import Cases, call_of, line_of
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from maven_env.artifacts import MemoryStore, given_artifact
from maven_env.execution.guard import Guard, Limits
from maven_env.execution.memo import Memo
from maven_env.tools.registry import find, registry
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Artifact, Reading, ToolCall

IN_PROCESS_S = 2.0  # processor time
STUCK_S = 100.0  # wall-clock time after which the run gives a call up
REPEATED_S = 0.01  # calls that took longer are repeated one time in eight only
LOW_FUEL = Limits(fuel=15_000, cpu_s=2)
LIMITS = {"size", "depth", "fuel", "cpu", "memory"}


@dataclass(frozen=True)
class Seen:
    """What came of one call. `faults` says what it did that no call may do."""

    number: int
    tool_id: str
    code: str  # "ok" or the error's code
    seconds: float  # wall-clock time of the first call
    faults: tuple[str, ...] = ()
    line: str = ""  # the call as JSON, for faults and slow calls


class Fuzzer:
    """Calls tools and examines the artifacts. Holds a guard of its own with little fuel, and the usual one."""

    def __init__(self, cases: Cases) -> None:
        self.cases = cases
        self.guards = (Guard(limits=LOW_FUEL), Guard())
        self.store = furnished_store()

    def run(self, number: int) -> Seen:
        """Make the call with this number."""
        call = self.cases.call(number)
        return self.examine(call, number, repeat=number % 8 == 0, full=number % 23 == 0)

    def examine(self, call: ToolCall, number: int = 0, *, repeat: bool = True, full: bool = True) -> Seen:
        guard = self.guards[full]
        line = line_of(call)
        started, burnt = time.perf_counter(), time.process_time()
        try:
            artifact = Toolbox(Memo(), guard).call(call, self.store)
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)[-1]
            text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:600]
            return Seen(number, call.tool_id, "RAISED", 0, (f"raised {text} ({trace.filename}:{trace.lineno})",), line)
        burnt, seconds = time.process_time() - burnt, time.perf_counter() - started
        faults = list(faults_of(artifact))
        if burnt > IN_PROCESS_S:
            faults.append(f"took {burnt:.1f} s of processor time in process")
        if call.input != json.loads(line)["input"]:
            faults.append("changed its input")
        if artifact.reproducible and not faults and (repeat or seconds < REPEATED_S):
            again = Toolbox(Memo(), guard).call(call, self.store)
            if again.to_json() != artifact.to_json():
                faults.append(f"a second call differs: {_difference(artifact, again)}")
        code = "ok" if artifact.error is None else artifact.error.code
        if code == "LIMIT_EXCEEDED" and artifact.error is not None:
            code = f"LIMIT:{artifact.error.details.get('limit')}"
        return Seen(number, call.tool_id, code, seconds, tuple(faults), line if faults or seconds > 0.5 else "")

    def close(self) -> None:
        for guard in self.guards:
            guard.close()


def furnished_store() -> MemoryStore:
    """Return a store that has what the generated references and the examples of the state tools name."""
    toolbox, store = Toolbox(), MemoryStore("fuzz")
    values = {"A": "1/2", "B": "3", "f": "x^2 + 1", "q": "9.81"}
    store.put(given_artifact("fuzz", values, {"A": "m", "B": "s", "f": "", "q": "m/s^2"}))
    for step_id, tool_id, given in (
        ("step-01", "evaluate_numeric", {"expr": "1/3"}),
        ("roots", "polynomial_roots_exact", {"expr": "x^2 - 5*x + 6", "wrt": "x"}),
        ("matrix", "matrix_inverse", {"matrix": [["2", "1"], ["1", "1"]], "arithmetic": "exact"}),
        ("sum", "quadrature", {"expr": "x^2", "wrt": "x", "limits": [0, 1]}),
        ("ode", "solve_ode_explicit", {"rhs": ["-y"], "variables": ["y"], "t_span": [0, 1], "y0": [1]}),
        ("fail", "symbolic_diff", {"expr": "x"}),
    ):
        store.put(toolbox.call(ToolCall(tool_id, given, step_id=step_id), store))
    return store


def faults_of(artifact: Artifact) -> Iterator[str]:
    """Yield what is wrong with the form of an artifact."""
    record = artifact.to_json()
    try:
        text = json.dumps(record, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        yield f"no JSON: {error}"
        return
    if json.loads(text) != record:
        yield "JSON does not give the record back"
    if len(text) > 4_000_000 + 3 * len(json.dumps(artifact.input)):
        yield f"a record of {len(text)} characters"
    if artifact.ok != (artifact.error is None):
        yield "neither ok nor an error, or both"
    if artifact.error is not None:
        yield from _faults_of_error(artifact)
        return
    spec = find(artifact.tool_id)
    if unknown := sorted(set(artifact.output) - {f.name for f in spec.outputs}):
        yield f"undocumented output {unknown}"
    if unknown := sorted(set(artifact.diagnostics) - set(spec.diagnostics) - {"type"}):
        yield f"undocumented diagnostics {unknown}"
    if '"nan"' in json.dumps(dict(artifact.output)):
        yield "ok with nan in the output"
    if not artifact.output:
        yield "ok without any output"
    if spec.kind == "verification" and artifact.output.get("verdict") not in get_args(Reading):
        yield f"the verdict is {artifact.output.get('verdict')!r}"


def _faults_of_error(artifact: Artifact) -> Iterator[str]:
    error = artifact.error
    assert error is not None
    if not error.message or len(error.message) + len(error.hint) > 6000:
        yield f"a message of {len(error.message)} and a hint of {len(error.hint)} characters"
    if error.code == "LIMIT_EXCEEDED" and error.details.get("limit") not in LIMITS:
        yield f"LIMIT_EXCEEDED with limit {error.details.get('limit')!r}"
    if artifact.output:
        yield "an error with output"
    known = find(artifact.tool_id).errors if artifact.tool_version else ("UNKNOWN_TOOL",)
    if error.code not in {*known, *_ANYWHERE}:
        yield f"undocumented code {error.code}"


# What reading an argument may raise, so that no tool need document it.
_ANYWHERE = (
    "BAD_INPUT", "PARSE_ERROR", "BAD_REFERENCE", "LIMIT_EXCEEDED", "SHAPE_MISMATCH", "UNKNOWN_SYMBOL", "DOMAIN_ERROR",
    "OVERFLOW", "UNDEFINED_VALUE",
)  # fmt: skip


def _difference(a: Artifact, b: Artifact) -> str:
    first, second = a.to_json(), b.to_json()
    keys = [key for key in first if first[key] != second[key]]
    return f"{keys}: {str([first[key] for key in keys])[:300]} / {str([second[key] for key in keys])[:300]}"


# ---- the big run -----------------------------------------------------------------------------------------------------
@dataclass
class Summary:
    calls: int = 0
    codes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    slowest: list[Seen] = field(default_factory=list)
    failures: list[Seen] = field(default_factory=list)

    def add(self, seen: Seen) -> None:
        self.calls += 1
        self.codes[seen.tool_id if seen.tool_id in registry() else "(unknown)"][seen.code] += 1
        self.slowest = sorted([*self.slowest, seen], key=lambda s: -s.seconds)[:10]
        if seen.faults:
            self.failures.append(seen)


def _work(pipe: Connection, seed: str, tools: tuple[str, ...], numbers: range, at: Any) -> None:
    warnings.simplefilter("error")
    fuzzer = Fuzzer(Cases(seed, tools))
    for number in numbers:
        at.value = number
        pipe.send(fuzzer.run(number))
    fuzzer.close()
    pipe.send(None)


class _Job:
    """A worker process over part of the numbers. One that is stuck is killed, and goes on behind the call."""

    def __init__(self, seed: str, tools: tuple[str, ...], numbers: range) -> None:
        self.seed, self.tools, self.numbers = seed, tools, numbers
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.at = context.Value("q", self.numbers.start, lock=False)
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, self.seed, self.tools, self.numbers, self.at)
        self.process = context.Process(target=_work, args=arguments)
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()

    def give_up(self, why: str) -> Seen:
        """Kill the worker and start another behind the call that it was at."""
        self.process.kill()
        self.process.join()
        number = int(self.at.value)
        self.numbers = self.numbers[self.numbers.index(number) + 1 :]
        self.start()
        call = Cases(self.seed, self.tools).call(number)
        return Seen(number, call.tool_id, "STUCK", STUCK_S, (why,), line_of(call))


def fuzz(calls: int, seed: str, jobs: int, tools: tuple[str, ...], first: int, log: Path | None) -> Summary:
    """Make `calls` calls in `jobs` processes, and write failures and slow calls to `log` as they come."""
    summary = Summary()
    numbers = range(first, first + calls)
    workers = {job.pipe: job for job in (_Job(seed, tools, numbers[i::jobs]) for i in range(jobs))}
    with Progress() as progress:
        bar = progress.add_task("calls", total=calls)
        while workers:
            for pipe in wait(list(workers), timeout=1):
                assert isinstance(pipe, Connection)
                job = workers[pipe]
                try:
                    seen = pipe.recv()
                except EOFError:
                    del workers[pipe]
                    _note(summary, job.give_up(f"the process ended with {job.process.exitcode}"), log)
                    workers[job.pipe] = job
                    continue
                job.heard = time.monotonic()
                if seen is None:
                    del workers[pipe]
                    job.process.join()
                    continue
                _note(summary, seen, log)
                progress.update(bar, completed=summary.calls, description=f"{len(summary.failures)} failures")
            for pipe, job in list(workers.items()):
                if time.monotonic() - job.heard > STUCK_S:
                    del workers[pipe]
                    _note(summary, job.give_up(f"stuck for {STUCK_S:.0f} s"), log)
                    workers[job.pipe] = job
    return summary


def _note(summary: Summary, seen: Seen, log: Path | None) -> None:
    summary.add(seen)
    if log is not None and (seen.faults or seen.seconds > 0.5):
        with log.open("a") as file:
            file.write(
                json.dumps([seen.number, seen.code, round(seen.seconds, 2), list(seen.faults), seen.line]) + "\n"
            )


def show(summary: Summary, console: Console) -> None:
    """Print codes by tool, the slowest calls, and a line that repeats each failure."""
    table = Table("tool", "calls", "ok", "codes")
    for tool_id, codes in sorted(summary.codes.items()):
        rest = ", ".join(f"{code} {count}" for code, count in codes.most_common() if code != "ok")
        table.add_row(tool_id, str(sum(codes.values())), str(codes["ok"]), rest)
    console.print(table)
    for seen in summary.slowest:
        console.print(f"{seen.seconds:6.2f} s {seen.code} {seen.line[:300]}", markup=False, highlight=False)
    for seen in summary.failures:
        console.print(f"FAILED {'; '.join(seen.faults)}\n       {seen.line[:2000]}", markup=False, highlight=False)
    ok = sum(codes["ok"] for codes in summary.codes.values())
    console.print(f"{summary.calls} calls, {ok} ok, {len(summary.failures)} failures")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tools", nargs="*", default=())
    parser.add_argument("--log", type=Path)
    parser.add_argument("--replay", type=Path)
    options = parser.parse_args()
    console = Console(width=200)
    if options.replay:
        fuzzer, summary = Fuzzer(Cases(0)), Summary()
        for row in map(json.loads, options.replay.read_text().splitlines()):
            if row[3]:
                summary.add(fuzzer.examine(call_of(row[4]), row[0]))
        fuzzer.close()
    else:
        summary = fuzz(options.calls, options.seed, options.jobs, tuple(options.tools), options.first, options.log)
    show(summary, console)
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
