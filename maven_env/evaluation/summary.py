"""Summaries of records: the columns of the paper's table, by agent, and as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from maven_env.types import JsonObject


@dataclass(frozen=True)
class Summary:
    """Means over the instances of one agent; percentages for the rates. `void` instances are counted apart."""

    agent: str
    instances: int
    accuracy: float | None  # %
    verified: float | None  # %
    score: float | None  # of 100
    tool_use: float | None  # of 70
    correctness: float | None  # of 20
    approach: float | None  # of 10
    void: int


def summarise(records: Iterable[JsonObject]) -> list[Summary]:
    """Return one summary an agent, in the order of their first record."""
    by_agent: dict[str, list[JsonObject]] = {}
    for record in records:
        name = record["agent"] if record["model"] is None else f"{record['agent']} ({record['model']})"
        by_agent.setdefault(name, []).append(record)
    return [_summary(agent, found) for agent, found in by_agent.items()]


def _summary(agent: str, records: Sequence[JsonObject]) -> Summary:
    scores: list[Mapping[str, Any]] = [record["score"] for record in records if "score" in record]
    return Summary(
        agent=agent,
        instances=len(records),
        accuracy=_mean([100.0 * s["success"] for s in scores]),
        verified=_mean([100.0 * s["verified_success"] for s in scores]),
        score=_mean([s["total"] for s in scores]),
        tool_use=_mean([s["tool_use"] for s in scores]),
        correctness=_mean([s["correctness"] for s in scores]),
        approach=_mean([s["approach"] for s in scores]),
        void=sum("void" in record for record in records),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that could be judged."""
    judged = [value for value in values if value is not None]
    return sum(judged) / len(judged) if judged else None


def table(summaries: Iterable[Summary]) -> Table:
    """Return the table of the paper's columns."""
    result = Table(title="MavenBench", title_justify="left")
    result.add_column("agent", no_wrap=True)
    for heading in ("acc.\n%", "score\n/100", "tool\n/70", "corr.\n/20", "appr.\n/10", "verified\n%", "n"):
        result.add_column(heading, justify="right")
    for s in summaries:
        count = str(s.instances) if not s.void else f"{s.instances} ({s.void} void)"
        figures = (s.accuracy, s.score, s.tool_use, s.correctness, s.approach, s.verified)
        result.add_row(s.agent, *("-" if f is None else f"{f:.1f}" for f in figures), count)
    return result
