"""The rubric: tool use (70), correctness (20) and approach (10) of a trace, over the best of the declared paths.

`Rubric` follows an episode step by step; its potential differences are the rewards. `score` is the same, over a whole
trace. Both are pure functions of problem and trace: no clock, no chance, no model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from maven_env.scoring import answers as answering
from maven_env.scoring.grounding import Support, extend, initial_support
from maven_env.scoring.milestones import WORDS, delivers, executes, holds, state_tools
from maven_env.types import Artifact, Completion, Json, Path, Problem, Score, Step, Trace, Violation

TOOL_USE, CORRECTNESS, APPROACH = 70, 20, 10
MALFORMED = frozenset({"UNKNOWN_TOOL", "BAD_INPUT", "BAD_REFERENCE", "PARSE_ERROR"})


@dataclass(frozen=True)
class Progress:
    """What of one path is done: checkpoints and checks with the call that first realized them, and values held."""

    points: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    held: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rubric:
    """The state of scoring after some steps; `after` returns the next one. Immutable, so episodes can branch."""

    problem: Problem
    support: Support
    progress: Mapping[str, Progress]
    calls: tuple[Artifact, ...] = ()
    violations: tuple[str, ...] = ()
    answers: Mapping[str, Json] | None = None

    @classmethod
    def start(cls, problem: Problem) -> Rubric:
        """Return the state before the first step."""
        return cls(problem, initial_support(problem), {name: Progress() for name in problem.reference.paths})

    def after(self, step: Step) -> Rubric:
        """Return the state after one more step."""
        match step.action:
            case Violation(kind):
                return replace(self, violations=(*self.violations, kind))
            case Completion(answers):
                return replace(self, answers=answers)
        return self if step.artifact is None else self._after_call(step.artifact)

    def _after_call(self, artifact: Artifact) -> Rubric:
        support = extend(self.support, artifact)
        progress = self.progress
        if support.artifacts.get(artifact.step_id) is artifact and artifact.step_id in support.grounded:
            is_rooted = artifact.step_id in support.rooted
            paths = self.problem.reference.paths
            progress = {n: _advance(p, paths[n], artifact, is_rooted) for n, p in progress.items()}
        return replace(self, support=support, progress=progress, calls=(*self.calls, artifact))

    def score(self) -> Score:
        """Return the best score over the declared paths."""
        paths = self.problem.reference.paths
        given = self.answers or {}
        valued = frozenset(
            label
            for label in self.problem.reference.answers
            if answering.is_right(self.problem, label, given, self.support)
        )
        return max((_score(self, path, valued) for path in paths.values()), key=lambda s: s.total or 0.0)

    def potential(self) -> float:
        """Return score/100; its differences are the step rewards."""
        return (self.score().total or 0.0) / 100


def score(problem: Problem, trace: Trace) -> Score:
    """Score a trace. Pure: the same problem and trace give the same score."""
    rubric = Rubric.start(problem)
    for step in trace.steps:
        rubric = rubric.after(step)
    return rubric.score()


def _advance(progress: Progress, path: Path, artifact: Artifact, is_rooted: bool) -> Progress:
    points, checks, held = dict(progress.points), dict(progress.checks), set(progress.held)
    if is_rooted:
        for name, point in path.checkpoints.items():
            if name not in points and delivers(artifact, path, name):
                points[name] = artifact.step_id
            if point.form not in WORDS and name not in held and (name in points or holds(artifact, path, name)):
                held.add(name)
    for name, check in path.checks.items():
        if name not in checks and executes(artifact, path, check):
            checks[name] = artifact.step_id
    return Progress(points, checks, frozenset(held))


# ---- one path --------------------------------------------------------------------------------------------------------
def _score(rubric: Rubric, path: Path, valued: frozenset[str]) -> Score:
    problem, support, progress = rubric.problem, rubric.support, rubric.progress[path.name]
    given = rubric.answers or {}
    held = progress.points.keys() | progress.held
    right = {label for label in valued if _is_earned(problem, path, label, held, progress)}
    misread = {
        n for n in progress.checks if any(label in given and label not in right for label in path.checks[n].settles)
    }
    n = len(path.steps)

    milestones = len(path.checkpoints) + len(path.checks)
    cov = (len(progress.points) + len(progress.checks) - len(misread)) / milestones
    counted = _counted(rubric, path)
    total = len(counted) + len(rubric.violations)
    malformed = sum(a.error is not None and a.error.code in MALFORMED for a in counted) + len(rubric.violations)
    useful = min(_useful(support, progress, misread), n)
    selection = useful / total if total else 0.0
    tool_use = TOOL_USE * cov * (0.5 + 0.3 * selection + 0.2 * _quality(malformed, n))

    c = len(held) / len(path.checkpoints)
    a = len(right) / len(problem.reference.answers)
    correctness = CORRECTNESS * (0.5 * c + 0.5 * a)

    v = sum(0.5 + 0.5 * _followed(path, name, right, progress) for name in progress.checks) / len(path.checks)
    ignored = _ignored(rubric, path)
    loose = support.unsupported + answering.unsupported(given, frozenset(problem.reference.answers), support)
    approach = APPROACH * (0.6 * v + cov * (0.2 * _quality(ignored, n) + 0.2 * _quality(loose, n)))

    completed = rubric.answers is not None
    success = completed and not rubric.violations and len(right) == len(problem.reference.answers)
    metrics: dict[str, float | None] = {
        "coverage": cov,
        "sub_question_accuracy": a,
        "final_answer_correctness": len(valued) / len(problem.reference.answers),
        "tool_selection_accuracy": selection,
        "trace_fidelity": 2 * useful / (total + n) if total + n else 0.0,
        "verification_score": v,
        "checkpoints_held": c,
        "completion_rate": float(completed),
        "malformed_calls": float(malformed),
        "ignored_warnings": float(ignored),
        "unsupported_values": float(loose),
        "recompute_rate": _recomputed(counted),
        "reuse_rate": _reused(support),
        "calls": float(len(rubric.calls)),
        **{f"violations.{kind}": float(rubric.violations.count(kind)) for kind in sorted(set(rubric.violations))},
    }
    return Score(
        tool_use=tool_use,
        correctness=correctness,
        approach=approach,
        success=success,
        verified_success=success and v == 1,
        path=path.name,
        metrics=metrics,
        flags=_flags(rubric, loose),
    )


def _quality(x: int, n: int) -> float:
    return max(0.0, 1 - x / n)


def _identity(artifact: Artifact) -> str:
    return f"{artifact.tool_id} {json.dumps(artifact.resolved_input, sort_keys=True)}"


def _is_earned(problem: Problem, path: Path, label: str, held: set[str], progress: Progress) -> bool:
    """Return whether what settles a right answer was done: its checkpoint held, or its check executed."""
    truth = problem.reference.answers[label]
    if truth.check is not None and truth.check in path.checks and truth.check not in progress.checks:
        return False
    return truth.is_word or truth.checkpoint in held


def _counted(rubric: Rubric, path: Path) -> list[Artifact]:
    """Return the calls that count: looking at the state is free unless the path needs it."""
    needed = {step.tool for step in path.steps.values()}
    return [a for a in rubric.calls if a.tool_id not in state_tools() or a.tool_id in needed]


def _useful(support: Support, progress: Progress, misread: set[str]) -> int:
    """Count the different calls among the first realizers and their ancestors; a repetition counts once."""
    credited = set(progress.points.values()) | {step for name, step in progress.checks.items() if name not in misread}
    closure = credited.union(*(support.ancestors[step] for step in credited)) - {"given"}
    return len({_identity(support.artifacts[step]) for step in closure})


def _followed(path: Path, name: str, right: set[str], progress: Progress) -> bool:
    check = path.checks[name]
    if check.then is not None and check.reading == "failed" and not _done(path, check.then, progress):
        return False
    return all(label in right for label in check.settles)


def _done(path: Path, step: str, progress: Progress) -> bool:
    """Return whether the step that a failed check demands was done: as a check, or as what a checkpoint comes from."""
    as_check = any(check.step == step and name in progress.checks for name, check in path.checks.items())
    return as_check or any(p.step == step and name in progress.points for name, p in path.checkpoints.items())


def _ignored(rubric: Rubric, path: Path) -> int:
    """Count failed checks without what they demand.

    For a required one that is its follow-up; for any other, a later required check with that tool. A check that passes
    on something else clears nothing.
    """
    progress = rubric.progress[path.name]
    demanded = sum(
        path.checks[name].then is not None
        and path.checks[name].reading == "failed"
        and not _done(path, path.checks[name].then or "", progress)
        for name in progress.checks
    )
    order = {a.step_id: i for i, a in enumerate(rubric.calls)}
    artifacts = rubric.support.artifacts
    known = {_identity(artifacts[step]) for step in progress.checks.values()}
    mended: dict[str, int] = {}
    for step in progress.checks.values():
        tool = artifacts[step].tool_id
        mended[tool] = max(mended.get(tool, -1), order[step])
    failed = {
        a.tool_id: i
        for i, a in enumerate(rubric.calls)
        if a.ok and a.output.get("verdict") == "failed" and _identity(a) not in known
    }
    return demanded + sum(mended.get(tool, -1) < i for tool, i in failed.items())


def _recomputed(calls: list[Artifact]) -> float | None:
    """Return the share of calls that repeat an earlier computation."""
    done = [_identity(a) for a in calls if a.ok]
    return 1 - len(set(done)) / len(done) if done else None


def _reused(support: Support) -> float | None:
    """Return the share of values that were taken by reference, among those referred to or copied."""
    taken = support.references + support.copies
    return support.references / taken if taken else None


def _flags(rubric: Rubric, loose: int) -> tuple[str, ...]:
    flags = {
        "no_tool_calls": not rubric.calls,
        "not_completed": rubric.answers is None,
        "violations": bool(rubric.violations),
        "unsupported_values": loose > 0,
        "not_reproducible": any(not a.reproducible for a in rubric.calls),
    }
    return tuple(name for name, raised in flags.items() if raised)
