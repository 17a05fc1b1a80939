"""Print, set by set, how many published cases the tools answer rightly, decline, or get wrong.

    python tests/truth/report.py [--truth DIR] [--set NAME ...] [--verbose]

The cases are read from a folder beside the checkout (--truth gives another); some may not be copied. Wrong is a
finite value, a success or an "equal" where the truth says otherwise, or a refusal that states what is false, such as
DIVERGENT for an integral that converges. The exit status is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cases import Judgement, Set, Tools, Truth
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

TRUTH = Path(__file__).resolve().parents[3] / "shared" / "truth"
GROUPS = (
    "integrals", "calculus", "differential", "equations", "optimisation", "matrices", "regressions", "physics",
    "equivalence", "faults",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What came of one set: judgements by item, in order."""

    set: Set
    judgements: tuple[tuple[str, Judgement], ...]
    seconds: float

    def items(self, verdict: str) -> list[tuple[str, Judgement]]:
        return [(item, found) for item, found in self.judgements if found.verdict == verdict]

    def count(self, verdict: str) -> int:
        return len(self.items(verdict))

    def reasons(self) -> str:
        """Return why cases were not tried, or are counted apart, with the number of each."""
        reasons = Counter(found.came for _, found in self.items("not tried"))
        reasons.update({verdict: n for verdict in ("disputed", "reported") if (n := self.count(verdict))})
        return "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())


def sets() -> tuple[Set, ...]:
    return tuple(found for group in GROUPS for found in importlib.import_module(group).SETS)


def run(chosen: Set, truth: Truth, tools: Tools, advance: Callable[[], None] = lambda: None) -> Outcome:
    """Judge every case of a set."""
    start = time.perf_counter()
    judgements = []
    for case in chosen.cases(truth):
        judgements.append((case.item, case.run(tools)))
        advance()
    return Outcome(chosen, tuple(judgements), time.perf_counter() - start)


def run_all(chosen: Sequence[Set], truth: Truth, console: Console) -> list[Outcome]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tools = Tools()
    outcomes = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=sum(len(list(found.cases(truth))) for found in chosen))
        for found in chosen:
            progress.update(task, description=found.name)
            outcomes.append(run(found, truth, tools, lambda: progress.advance(task)))
    return outcomes


def table(outcomes: Sequence[Outcome]) -> Table:
    made = Table("set", title="Published cases", title_justify="left")
    for heading in ("items", "right", "declined", "wrong", "not tried", "s"):
        made.add_column(heading, justify="right")
    made.add_column("not tried because; counted apart", overflow="fold", ratio=1)
    for outcome in outcomes:
        counts = [outcome.count(verdict) for verdict in ("right", "declined", "wrong", "not tried")]
        style = "bold red" if outcome.count("wrong") else ""
        cells = [str(len(outcome.judgements)), *map(str, counts), f"{outcome.seconds:.1f}", outcome.reasons()]
        made.add_row(outcome.set.name, *cells, style=style)
    return made


def print_details(outcomes: Sequence[Outcome], console: Console) -> None:
    for outcome in outcomes:
        for verdict in ("wrong", "disputed", "declined", "reported"):
            for item, found in outcome.items(verdict):
                expected = f" | expected {found.expected[:200]}" if found.expected else ""
                line = f"{outcome.set.name} | {verdict} | {item} | came {found.came[:300]}{expected}"
                console.print(line, markup=False, highlight=False, soft_wrap=True)


def select(names: Sequence[str]) -> list[Set]:
    """Return the sets whose name contains one of `names`; all if there are none."""
    chosen = [found for found in sets() if not names or any(name in found.name for name in names)]
    if not chosen:
        raise SystemExit(f"no set is named {', '.join(names)}; known: {', '.join(found.name for found in sets())}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truth", type=Path, default=TRUTH, metavar="DIR", help="folder of the published cases")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME", help="sets whose name contains NAME")
    parser.add_argument("--verbose", action="store_true", help="list what was declined or wrong")
    options = parser.parse_args(arguments)
    if not options.truth.is_dir():
        raise SystemExit(f"the published cases are not at {options.truth}; name their folder with --truth")
    console = Console()
    outcomes = run_all(select(options.set), Truth(options.truth), console)
    if options.verbose:
        print_details(outcomes, console)
    console.print(table(outcomes))
    return 1 if any(outcome.count("wrong") for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
