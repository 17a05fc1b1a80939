"""The rubric: tool use (70), correctness (20) and approach (10) of a trace, over the best of the declared paths.

`Rubric` follows an episode step by step; its potential differences are the rewards. `score` is the same, over a whole
trace. Both are pure functions of problem and trace: no clock, no chance, no model.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
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
    targets: Mapping[tuple[str, str], int]  # (path, checkpoint) -> number of its value: paths mostly share them
    calls: tuple[Artifact, ...] = ()
    identities: Mapping[str, str] = field(default_factory=dict)  # step id -> what makes two calls the same
    violations: tuple[str, ...] = ()
    answers: Mapping[str, Json] | None = None

    @classmethod
    def start(cls, problem: Problem) -> Rubric:
        """Return the state before the first step."""
        paths = problem.reference.paths
        return cls(problem, initial_support(problem), {name: Progress() for name in paths}, _targets(paths))

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
            seen = _Seen(artifact, self.targets) if is_rooted else None
            progress = {n: _advance(p, paths[n], artifact, seen) for n, p in progress.items()}
        identities = {**self.identities, artifact.step_id: _identity(artifact)}
        return replace(self, support=support, progress=progress, calls=(*self.calls, artifact), identities=identities)

    def score(self) -> Score:
        """Return the best score over the declared paths."""
        shared = _Shared.of(self)
        return max((_judge(self, path, shared) for path in self._paths()), key=lambda j: j.total).score()

    def potential(self) -> float:
        """Return score/100, without the metrics; its differences are the step rewards."""
        shared = _Shared.of(self)
        return max(_judge(self, path, shared).total for path in self._paths()) / 100

    def _paths(self) -> Iterable[Path]:
        return self.problem.reference.paths.values()


def score(problem: Problem, trace: Trace) -> Score:
    """Score a trace. Pure: the same problem and trace give the same score."""
    rubric = Rubric.start(problem)
    for step in trace.steps:
        rubric = rubric.after(step)
    return rubric.score()


def _targets(paths: Mapping[str, Path]) -> dict[tuple[str, str], int]:
    numbers: dict[str, int] = {}
    targets = {}
    for path in paths.values():
        for name, point in path.checkpoints.items():
            what = json.dumps([point.form, point.rtol, point.atol, point.value], sort_keys=True)
            targets[path.name, name] = numbers.setdefault(what, len(numbers))
    return targets


class _Seen:
    """Which values stand in the output of one artifact; each is looked for once, however many paths ask."""

    def __init__(self, artifact: Artifact, targets: Mapping[tuple[str, str], int]) -> None:
        self._artifact = artifact
        self._targets = targets
        self._found: dict[int, bool] = {}

    def holds(self, path: Path, name: str) -> bool:
        number = self._targets[path.name, name]
        if number not in self._found:
            self._found[number] = holds(self._artifact, path, name)
        return self._found[number]


def _advance(progress: Progress, path: Path, artifact: Artifact, seen: _Seen | None) -> Progress:
    """Return the progress after a grounded artifact; `seen` is given for a rooted one."""
    points, checks, held = dict(progress.points), dict(progress.checks), set(progress.held)
    if seen is not None:
        for name, point in path.checkpoints.items():
            if name not in points and delivers(artifact, path, name):
                points[name] = artifact.step_id
            if point.form not in WORDS and name not in held and (name in points or seen.holds(path, name)):
                held.add(name)
    for name, check in path.checks.items():
        if name not in checks and executes(artifact, path, check):
            checks[name] = artifact.step_id
    return Progress(points, checks, frozenset(held))


# ---- one path --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Shared:
    """What is the same on every path: answers with the right value, and the values that come from nowhere."""

    valued: frozenset[str]
    loose: int

    @classmethod
    def of(cls, rubric: Rubric) -> _Shared:
        given, known = rubric.answers or {}, rubric.problem.reference.answers
        valued = (label for label in known if answering.is_right(rubric.problem, label, given, rubric.support))
        loose = rubric.support.unsupported + answering.unsupported(rubric.problem, given, rubric.support)
        return cls(frozenset(valued), loose)


@dataclass(frozen=True)
class _Judgement:
    """The parts of the rubric on one path, and the figures that they are made of, with the letters of the formulas."""

    rubric: Rubric
    path: Path
    shared: _Shared
    coverage: float  # cov
    counted: list[Artifact]  # the calls in N
    selection: float  # A/N
    useful: int  # A
    malformed: int  # B
    ignored: int  # W
    held: float  # c
    right: frozenset[str]
    verification: float  # v

    @property
    def tool_use(self) -> float:
        quality = _quality(self.malformed, len(self.path.steps))
        return TOOL_USE * self.coverage * (0.5 + 0.3 * self.selection + 0.2 * quality)

    @property
    def answered(self) -> float:
        return len(self.right) / len(self.rubric.problem.reference.answers)

    @property
    def correctness(self) -> float:
        return CORRECTNESS * (0.5 * self.held + 0.5 * self.answered)

    @property
    def approach(self) -> float:
        n = len(self.path.steps)
        care = 0.2 * _quality(self.ignored, n) + 0.2 * _quality(self.shared.loose, n)
        return APPROACH * (0.6 * self.verification + self.coverage * care)

    @property
    def total(self) -> float:
        return self.tool_use + self.correctness + self.approach

    def score(self) -> Score:
        rubric, known = self.rubric, self.rubric.problem.reference.answers
        success = rubric.answers is not None and not rubric.violations and len(self.right) == len(known)
        n, total = len(self.path.steps), len(self.counted) + len(rubric.violations)
        metrics: dict[str, float | None] = {
            "coverage": self.coverage,
            "sub_question_accuracy": self.answered,
            "final_answer_correctness": len(self.shared.valued) / len(known),
            "tool_selection_accuracy": self.selection,
            "trace_fidelity": 2 * self.useful / (total + n),
            "verification_score": self.verification,
            "checkpoints_held": self.held,
            "completion_rate": float(rubric.answers is not None),
            "malformed_calls": float(self.malformed),
            "ignored_warnings": float(self.ignored),
            "unsupported_values": float(self.shared.loose),
            "recompute_rate": _recomputed(self.counted),
            "reuse_rate": _reused(rubric.support),
            "calls": float(len(rubric.calls)),
            **{f"violations.{kind}": float(rubric.violations.count(kind)) for kind in sorted(set(rubric.violations))},
        }
        return Score(
            tool_use=self.tool_use,
            correctness=self.correctness,
            approach=self.approach,
            success=success,
            verified_success=success and self.verification == 1,
            path=self.path.name,
            metrics=metrics,
            flags=_flags(rubric, self.shared.loose),
        )


def _judge(rubric: Rubric, path: Path, shared: _Shared) -> _Judgement:
    progress, given = rubric.progress[path.name], rubric.answers or {}
    held = progress.points.keys() | progress.held
    right = frozenset(n for n in shared.valued if _is_earned(rubric.problem, path, n, held, progress))
    misread = {
        n for n in progress.checks if any(label in given and label not in right for label in path.checks[n].settles)
    }
    counted = _counted(rubric, path)
    total = len(counted) + len(rubric.violations)
    useful = min(_useful(rubric, progress, misread), len(path.steps))
    done = len(progress.points) + len(progress.checks) - len(misread)
    read = sum(0.5 + 0.5 * _followed(path, name, right, progress) for name in progress.checks)
    return _Judgement(
        rubric=rubric,
        path=path,
        shared=shared,
        coverage=done / (len(path.checkpoints) + len(path.checks)),
        counted=counted,
        selection=useful / total if total else 0.0,
        useful=useful,
        malformed=sum(a.error is not None and a.error.code in MALFORMED for a in counted) + len(rubric.violations),
        ignored=_ignored(rubric, path),
        held=len(held) / len(path.checkpoints),
        right=right,
        verification=read / len(path.checks),
    )


def _quality(x: int, n: int) -> float:
    return max(0.0, 1 - x / n)


def _identity(artifact: Artifact) -> str:
    """Return what makes two calls the same: the tool and the resolved input."""
    return f"{artifact.tool_id} {json.dumps(artifact.resolved_input, sort_keys=True)}"


def _is_earned(problem: Problem, path: Path, label: str, held: Collection[str], progress: Progress) -> bool:
    """Return whether what settles a right answer was done: its checkpoint held, or its check executed."""
    truth = problem.reference.answers[label]
    if truth.check is not None and truth.check in path.checks and truth.check not in progress.checks:
        return False
    return truth.is_word or truth.checkpoint in held


def _counted(rubric: Rubric, path: Path) -> list[Artifact]:
    """Return the calls that count: looking at the state is free unless the path needs it."""
    needed = {step.tool for step in path.steps.values()}
    return [a for a in rubric.calls if a.tool_id not in state_tools() or a.tool_id in needed]


def _useful(rubric: Rubric, progress: Progress, misread: set[str]) -> int:
    """Count the different calls among the first realizers and their ancestors; a repetition counts once."""
    credited = set(progress.points.values()) | {step for name, step in progress.checks.items() if name not in misread}
    closure = credited.union(*(rubric.support.ancestors[step] for step in credited)) - {"given"}
    return len({rubric.identities[step] for step in closure})


def _followed(path: Path, name: str, right: Collection[str], progress: Progress) -> bool:
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
    if not any(a.ok and a.output.get("verdict") == "failed" for a in rubric.calls):
        return demanded
    order = {a.step_id: i for i, a in enumerate(rubric.calls)}
    known = {rubric.identities[step] for step in progress.checks.values()}
    failed = {
        a.tool_id: i
        for i, a in enumerate(rubric.calls)
        if a.ok and a.output.get("verdict") == "failed" and _identity(a) not in known
    }
    mended: dict[str, int] = {}
    for step in progress.checks.values():
        tool = rubric.support.artifacts[step].tool_id
        mended[tool] = max(mended.get(tool, -1), order[step])
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
