"""The proof of a template: every claim that it makes is executed on many draws; what fails is reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from maven_env.episode import play
from maven_env.errors import InfrastructureError, MavenError, ToolError
from maven_env.evaluation.scripts import answers_by_reference, calls_of, script
from maven_env.expressions import Node, rational_value, to_text
from maven_env.problems.drawing import draw, evaluate, key_of
from maven_env.problems.instantiation import (
    answers_on,
    build,
    expected_reading,
    run_patch,
)
from maven_env.problems.template import Patch, Template, by_regime
from maven_env.references import references_in
from maven_env.scoring.equivalence import is_same
from maven_env.scoring.literals import is_structural, node_of
from maven_env.tools.menus import is_of_domain
from maven_env.tools.toolbox import Toolbox
from maven_env.tools.units.unit_text import read_unit
from maven_env.types import Action, Completion, Json, Path, Problem

DRAWS = 40
MARGIN = 10  # points that a memoriser or a careless agent lies below the oracle
SMALL_MARGIN = 5  # where a pitfall breaks a single milestone of many
_ROOT = re.compile(r"\^\(\d+/\d+\)")  # read_unit gives exact factors, which a root has not
_MONEY = re.compile(r"\b(?:EUR|USD)\b")
PITFALL_CLASSES = ("tool_selection", "state_management", "verification")


@dataclass(frozen=True)
class Proof:
    """The outcome for one template: how often each claim failed, by regime, and how many draws there were."""

    template_id: str
    draws: int
    regimes: tuple[str, ...]
    faults: tuple[tuple[str, int], ...]
    steps: tuple[int, int]  # fewest and most steps of the canonical path over the regimes
    pitfalls: int

    @property
    def is_proven(self) -> bool:
        return not self.faults


def prove(template: Template, draws: int = DRAWS, toolbox: Toolbox | None = None) -> Proof:
    """Run every claim of a template on `draws` draws of each regime."""
    toolbox = toolbox or Toolbox()
    faults: Counter[str] = Counter()
    sizes: list[int] = []
    first: dict[str, Problem] = {}
    for regime in template.regimes:
        for seed in range(draws):
            try:
                problem = make(template, regime, seed, toolbox)
            except InfrastructureError:
                raise
            except MavenError as error:
                faults[f"{regime}: no problem: {str(error).replace(f'{key_of(template, regime, seed)}: ', '')}"] += 1
                continue
            first.setdefault(regime, problem)
            sizes.append(len(problem.reference.canonical.steps))
            for fault in claims(template, problem, toolbox):
                faults[f"{regime}: {fault}"] += 1
    faults.update(f"unit {unit}" for unit in unknown_units(template))
    faults.update(claims_over_regimes(template, first, toolbox))
    span = (min(sizes), max(sizes)) if sizes else (0, 0)
    return Proof(template.id, draws, tuple(template.regimes), tuple(faults.most_common()), span, len(template.pitfalls))


def make(template: Template, regime: str, seed: int, toolbox: Toolbox) -> Problem:
    """Return the problem of a draw under its key."""
    drawn = draw(template, regime, seed)
    return build(template, regime, drawn, toolbox, drawn.key)


# ---- one draw --------------------------------------------------------------------------------------------------------
def claims(template: Template, problem: Problem, toolbox: Toolbox) -> Iterator[str]:
    """Yield what fails in one draw."""
    canonical = problem.reference.canonical
    yield from _crosschecks_agree(template, problem)
    yield from _readings_are_declared(template, problem)
    yield from _answers_cannot_be_guessed(problem)
    yield from _paths_are_equal(problem, toolbox)
    yield from _sensitivity_changes_nothing(template, problem, toolbox)
    yield from _pitfalls_break_what_they_name(template, problem, toolbox)
    for path in problem.reference.paths.values():
        missing = sorted({s.tool for s in path.steps.values() if not is_of_domain(s.tool, problem.domain)})
        if missing:
            yield f"path {path.name} needs tools that its domain does not offer: {missing}"
    if not canonical.checks or len(canonical.checks) < 2:
        yield "fewer than two required checks"


def _run(template: Template, problem: Problem, name: str, patch: Patch, toolbox: Toolbox) -> Path:
    return run_patch(template, problem.regime, problem.given, patch, name, toolbox).path


def _crosschecks_agree(template: Template, problem: Problem) -> Iterator[str]:
    values = draw(template, problem.regime, problem.key.rpartition("/")[2]).values
    for name, point in problem.reference.canonical.checkpoints.items():
        truth = _closed_form(by_regime(template.crosscheck[name], problem.regime), point.form, values)
        if not is_same(truth, point.value, point):
            yield f"crosscheck {name}: the closed form gives {_short(truth)}, the steps give {_short(point.value)}"


def _closed_form(text: str, form: str, values: dict[str, Node]) -> Json:
    """Evaluate a crosscheck in the hidden parameters; no tool of ours takes part."""
    if form in ("choice", "boolean"):
        return text
    if form in ("set", "multiset", "vector", "tuple", "interval"):
        return [to_text(evaluate(part, values)) for part in _split(text)]
    return to_text(evaluate(text, values))


def _split(text: str) -> list[str]:
    """Split `[a, f(b, c)]` at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    inner = text.strip().removeprefix("[").removesuffix("]")
    for position, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(inner[start:position])
            start = position + 1
    return [*parts, inner[start:]]


def _readings_are_declared(template: Template, problem: Problem) -> Iterator[str]:
    for name, check in problem.reference.canonical.checks.items():
        declared = expected_reading(template, problem.regime, name)
        if check.reading != declared:
            yield f"check {name} reads {check.reading}, declared {declared}"


def _answers_cannot_be_guessed(problem: Problem) -> Iterator[str]:
    points = problem.reference.canonical.checkpoints
    for label, answer in problem.reference.answers.items():
        if answer.is_word or answer.checkpoint is None or points[answer.checkpoint].form not in ("number", "set"):
            continue
        for value in answer.value if isinstance(answer.value, list) else [answer.value]:
            exact = _exact(value)
            if exact is not None and is_structural(exact):
                yield f"answer {label} is a structural number: {exact}"


def _exact(value: Json) -> Fraction | None:
    node = node_of(value)
    return None if node is None else rational_value(node)


def _paths_are_equal(problem: Problem, toolbox: Toolbox) -> Iterator[str]:
    canonical = problem.reference.canonical
    for name, path in problem.reference.paths.items():
        wrong = broken(canonical, path)
        wrong |= {
            n for n, c in path.checks.items() if n in canonical.checks and c.reading != canonical.checks[n].reading
        }
        if wrong:
            yield f"path {name} differs in {sorted(wrong)}"
        if dead := dead_steps(path):
            yield f"path {name} has dead steps {sorted(dead)}"
        episode = play(problem, script(problem, name), toolbox)
        total = episode.score.total or 0.0
        if total < 100 - 1e-9 or not episode.score.verified_success:
            yield f"path {name} scores {total:.1f} with success {episode.score.verified_success}, not 100"


def broken(reference: Path, path: Path) -> set[str]:
    """Return the checkpoints that `path` gets wrong."""
    return {
        name
        for name, point in reference.checkpoints.items()
        if not is_same(point.value, path.checkpoints[name].value, point)
    }


def _broken_claims(template: Template, problem: Problem, path: Path) -> set[str]:
    """Return the checkpoints that `path` gets wrong, and the labels for which its checks give another word."""
    wrong = broken(problem.reference.canonical, path)
    given = answers_on(template, path)
    for label, rule in template.answers.items():
        by = rule.by or rule.unless
        if by is None or by.check not in path.checks:
            continue
        readings = (problem.reference.canonical.checks[by.check].reading, path.checks[by.check].reading)
        if readings[0] != readings[1] and given[label].value != problem.reference.answers[label].value:
            wrong.add(label)
    return wrong


def dead_steps(path: Path) -> set[str]:
    """Return the steps that lead to no checkpoint and no check."""
    alive: set[str] = set()
    queue = [point.step for point in path.checkpoints.values()] + [check.step for check in path.checks.values()]
    while queue:
        step = queue.pop()
        if step in path.steps and step not in alive:
            alive.add(step)
            queue += [name for name in references_in(path.steps[step].input) if name != "given"]
    return set(path.steps) - alive


def _sensitivity_changes_nothing(template: Template, problem: Problem, toolbox: Toolbox) -> Iterator[str]:
    for name, patch in template.sensitivity.items():
        if patch.regimes is None or problem.regime in patch.regimes:
            path = _run(template, problem, name, patch, toolbox)
            if wrong := _broken_claims(template, problem, path):
                yield f"sensitivity {name} changes {sorted(wrong)}"


def _pitfalls_break_what_they_name(template: Template, problem: Problem, toolbox: Toolbox) -> Iterator[str]:
    milestones = len(problem.reference.canonical.checkpoints) + len(problem.reference.canonical.checks)
    for pitfall in template.pitfalls:
        if problem.regime not in pitfall.regimes:
            continue
        path = _run(template, problem, pitfall.name, pitfall.mistake, toolbox)
        wrong = _broken_claims(template, problem, path)
        if wrong != set(pitfall.breaks):
            yield f"pitfall {pitfall.name} breaks {sorted(wrong)}, declared {sorted(pitfall.breaks)}"
        answers = answers_by_reference(path, answers_on(template, path))
        score = play(problem, [*calls_of(path), Completion(answers)], toolbox).score
        margin = SMALL_MARGIN if len(pitfall.breaks) == 1 and milestones > 5 else MARGIN
        if score.success or (score.total or 0.0) > 100 - margin:
            yield f"pitfall {pitfall.name} scores {score.total:.1f} with success {score.success}"


# ---- units -----------------------------------------------------------------------------------------------------------
def unknown_units(template: Template) -> Iterator[str]:
    """Yield where a unit stands that cannot be read, and why. Money is a unit here, and so are roots of units."""
    entries = {
        **{f"of {name}": entry.unit for name, entry in (template.parameters | template.derived).items()},
        **{f"of checkpoint {name}": point.unit for name, point in template.checkpoints.items()},
    }
    for place, text in entries.items():
        try:
            read_unit(_ROOT.sub("", _MONEY.sub("1", text)))
        except ToolError as error:
            yield f"{place}: {error.message}; {error.hint}"


# ---- all regimes -----------------------------------------------------------------------------------------------------
def claims_over_regimes(template: Template, problems: dict[str, Problem], toolbox: Toolbox) -> Counter[str]:
    """Return what only all regimes together show."""
    faults: Counter[str] = Counter()
    if len(template.regimes) < 3:
        faults["fewer than three regimes"] += 1
    for kind in PITFALL_CLASSES:
        if kind not in {pitfall.kind for pitfall in template.pitfalls}:
            faults[f"no pitfall of class {kind}"] += 1
    if not template.paths:
        faults["no second path"] += 1
    for label, rule in template.answers.items():
        point = template.checkpoints.get(rule.checkpoint or "")
        if rule.by or (point and point.form in ("choice", "integer", "boolean")):
            words = {str(problem.reference.answers[label].value) for problem in problems.values()}
            if len(words) == 1 and len(problems) == len(template.regimes):
                faults[f"answer {label} is {words.pop()!r} in every regime"] += 1
    faults.update(_memoriser_fails(problems, toolbox))
    return faults


def _memoriser_fails(problems: dict[str, Problem], toolbox: Toolbox) -> Counter[str]:
    """The nominal script with the nominal words must fail somewhere, and lie well below the oracle there."""
    if "nominal" not in problems:
        return Counter()
    failing = []
    for regime, problem in problems.items():
        score = play(problem, memorised(problems["nominal"]), toolbox).score
        if regime != "nominal" and not score.success and (score.total or 0.0) <= 100 - MARGIN:
            failing.append(regime)
    return Counter() if failing else Counter({"the memoriser fails in no adversarial regime by 10 points": 1})


def memorised(nominal: Problem) -> list[Action]:
    """Return the nominal script: values by reference, words and counts as they were in the nominal problem."""
    path = nominal.reference.canonical
    answers = answers_by_reference(path, nominal.reference.answers)
    for label, answer in nominal.reference.answers.items():
        if answer.checkpoint is not None and path.checkpoints[answer.checkpoint].form in (
            "choice",
            "integer",
            "boolean",
        ):
            answers[label] = answer.value
    return [*calls_of(path), Completion(answers)]


def _short(value: Json) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
