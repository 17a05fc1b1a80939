"""Make the deployed instances: draw, run, and store the references beside deployed.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from maven_env.errors import TemplateError
from maven_env.problems import library
from maven_env.problems.instantiation import instantiate
from maven_env.problems.library import Deployed, Deployment
from maven_env.problems.stored import problem_to_json
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Problem

SEED = "deployed"  # no integer seed makes the same draw


def redeploy(*, add: bool = False, report: Callable[[int, int], None] = lambda done, total: None) -> Deployment:
    """Make every deployed instance again and write deployed.yaml and the stored references.

    With `add`, templates without an instance get the next free id, in regimes that take turns. Raises TemplateError if
    the content of an instance changed although its template has the same version.
    """
    library.deployment.cache_clear()
    before = library.deployment()
    entries = [_current(entry) for entry in before.instances.values()]
    if add:
        entries += _additions(entries)
    toolbox = Toolbox()
    problems = []
    for number, entry in enumerate(entries, start=1):
        problem = make_instance(entry.problem_id, entry.key, toolbox)
        old = before.instances.get(entry.problem_id)
        if old is not None and old.key == entry.key and old.digest not in ("", problem.digest):
            mend = "give the template a new version"
            raise TemplateError(f"{entry.problem_id}: the content of {entry.key} changed; {mend}")
        problems.append(problem)
        report(number, len(entries))
    return write(library.templates_folder(), before, problems)


def make_instance(problem_id: str, key: str, toolbox: Toolbox) -> Problem:
    """Return the problem of `key` under its deployed id."""
    name, _, rest = key.partition("@")
    _, regime, seed = rest.split("/")
    return instantiate(library.template(name), regime, seed, toolbox, problem_id)


def _current(entry: Deployed) -> Deployed:
    """Return the entry at the present version of its template."""
    version = library.template(entry.template_id).version
    return Deployed(entry.problem_id, f"{entry.template_id}@{version}/{entry.regime}/{SEED}", entry.digest)


def _additions(entries: list[Deployed]) -> list[Deployed]:
    taken = {entry.template_id for entry in entries}
    number = max((int(entry.problem_id.rpartition("-")[2]) for entry in entries), default=0)
    added = []
    for template_id in library.template_files():
        if template_id in taken:
            continue
        number += 1
        found = library.template(template_id)
        regimes = list(found.regimes)
        regime = regimes[number % len(regimes)]
        added.append(Deployed(f"MAVEN-Bench-{number:04d}", f"{template_id}@{found.version}/{regime}/{SEED}", ""))
    return added


def write(folder: Path, before: Deployment, problems: list[Problem]) -> Deployment:
    """Write deployed.yaml and one JSON file a problem; files of problems that are no more are removed."""
    stored = folder / "deployed"
    stored.mkdir(parents=True, exist_ok=True)
    for old in stored.glob("*.json"):
        if old.stem not in {problem.problem_id for problem in problems}:
            old.unlink()
    lines = [
        "# The test split: one instance a template, with the digest of its exact content.",
        "# Written by `maven-bench templates deploy`; a changed digest needs a new version of its template.",
        f"canary: {json.dumps(before.canary)}",
        "heldout: # templates that the train split never draws",
        *(f"  - {name}" for name in before.heldout),
        "instances:",
    ]
    for problem in problems:
        lines.append(f"  - {{id: {problem.problem_id}, key: {problem.key}, digest: {problem.digest}}}")
        text = json.dumps(problem_to_json(problem), ensure_ascii=False, allow_nan=False, indent=1)
        (stored / f"{problem.problem_id}.json").write_text(text + "\n", encoding="utf-8")
    (folder / "deployed.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    library.deployment.cache_clear()
    return library.deployment()
