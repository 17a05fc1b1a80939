"""Where problems come from: the template files, the deployed instances, and the splits."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from maven_env.errors import TemplateError, ToolError, UnknownProblem
from maven_env.expressions import parse
from maven_env.expressions.equality import equal
from maven_env.problems import strict_yaml
from maven_env.problems.instantiation import instantiate
from maven_env.problems.loading import load
from maven_env.problems.stored import problem_from_json
from maven_env.problems.template import DOMAINS, Template
from maven_env.tools.toolbox import CallExecutor
from maven_env.types import Json, Problem

Split = Literal["train", "heldout", "test"]
SPLITS: tuple[Split, ...] = ("train", "heldout", "test")
_FLOAT_RTOL = 1e-9  # double-precision answers differ between processors
_FORM = "MAVEN-Bench-0001, or id@version/regime/seed with a seed such as 7"
_REST = re.compile(r"([1-9][0-9]*)/(\w+)/(0|-?[1-9][0-9]*|[A-Za-z][A-Za-z0-9_-]*)", re.ASCII)


@dataclass(frozen=True)
class Deployed:
    """One reviewed test instance: its id, the key of its draw, and the digest that it must have."""

    problem_id: str
    key: str
    digest: str  # empty only until the reference is made for the first time

    @property
    def template_id(self) -> str:
        return self.key.partition("@")[0]

    @property
    def regime(self) -> str:
        return self.key.split("/")[-2]


@dataclass(frozen=True)
class Deployment:
    """The content of deployed.yaml."""

    canary: str
    heldout: tuple[str, ...]
    instances: Mapping[str, Deployed]


def templates_folder() -> Path:
    """Return the folder of the templates: packaged in the wheel, else the checkout's."""
    packaged = Path(str(files("maven_env"))) / "_templates"
    folder = packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "templates"
    if not folder.is_dir():
        raise TemplateError(f"no templates at {packaged} or {folder}; reinstall the package")
    return folder


@lru_cache(maxsize=1)
def template_files() -> Mapping[str, Path]:
    """Return the template files by id, in the order of the domains."""
    found = {}
    for domain in DOMAINS:
        for file in sorted((templates_folder() / domain).glob("*.yaml")):
            found[f"{domain}/{file.stem}"] = file
    return found


@lru_cache(maxsize=256)
def template(template_id: str) -> Template:
    """Return a template. Raises UnknownProblem with near matches, TemplateError for a broken file."""
    known = template_files()
    if template_id not in known:
        raise UnknownProblem(f"there is no template {template_id!r}{_near(template_id, known)}")
    return load(known[template_id])


@lru_cache(maxsize=1)
def deployment() -> Deployment:
    """Return the deployed instances and the held-out templates. Raises TemplateError if the file is broken."""
    file = templates_folder() / "deployed.yaml"
    data, _ = strict_yaml.read(file)
    try:
        instances = {i["id"]: Deployed(i["id"], i["key"], i["digest"]) for i in data["instances"]}
        return Deployment(data["canary"], tuple(data["heldout"]), instances)
    except (KeyError, TypeError) as error:
        raise TemplateError(f"{file}: canary, heldout and instances (id, key, digest) are needed: {error!r}") from None


def deployed_problem(problem_id: str) -> Problem:
    """Return a deployed instance with its stored reference.

    Raises UnknownProblem, and TemplateError for a stored reference that is broken or has another digest.
    """
    known = deployment().instances
    if problem_id not in known:
        raise UnknownProblem(f"there is no deployed problem {problem_id!r}{_near(problem_id, known)}")
    file = templates_folder() / "deployed" / f"{problem_id}.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TemplateError(f"{file}: the stored reference cannot be read: {error}") from None
    mend = "run `maven-bench templates deploy`"
    if not isinstance(record, dict) or record.get("digest") != known[problem_id].digest:
        raise TemplateError(f"{file}: the digest differs from deployed.yaml; {mend}")
    try:
        return problem_from_json(record)
    except (KeyError, TypeError) as error:
        raise TemplateError(f"{file}: not written by this version ({error!r}); {mend}") from None


def split_templates(split: Split) -> tuple[str, ...]:
    """Return the templates that a split draws from."""
    if split not in SPLITS:
        raise UnknownProblem(f"there is no split {split!r}; the splits are {', '.join(SPLITS)}")
    if split == "test":
        return tuple(dict.fromkeys(d.template_id for d in deployment().instances.values()))
    held = set(deployment().heldout)
    return tuple(t for t in template_files() if (t in held) == (split == "heldout"))


def problem(problem_id: str, toolbox: CallExecutor | None = None) -> Problem:
    """Return a problem by id: MAVEN-Bench-0001 for a deployed one, id@version/regime/seed for any other.

    Raises UnknownProblem with the right form or near matches.
    """
    if not isinstance(problem_id, str):
        raise UnknownProblem(f"a problem id is text, got {type(problem_id).__name__}; write {_FORM}")
    if "@" not in problem_id:
        return deployed_problem(problem_id)
    name, _, rest = problem_id.partition("@")
    match = _REST.fullmatch(rest)
    if match is None:
        raise UnknownProblem(f"{problem_id[:200]!r} is no problem id; write {_FORM}")
    version, regime, seed = match.groups()
    found = template(name)
    if version != str(found.version):
        raise UnknownProblem(f"{name} is at version {found.version}, not {version}")
    if regime not in found.regimes:
        raise UnknownProblem(f"{name} has no regime {regime!r}; known: {', '.join(found.regimes)}")
    return instantiate(found, regime, seed, toolbox, opaque_id(problem_id))


def opaque_id(key: str) -> str:
    """Return the id that an agent sees of a drawn problem: the key names the regime, and so what to beware of."""
    return f"MAVEN-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def is_deployed(candidate: Problem) -> bool:
    """Return whether a drawn problem has the answers of a deployed one of its template and regime.

    Such a draw belongs to the test split alone; how its expressions are written and its distractors do not matter.
    """
    return any(
        _same_answers(deployed_problem(entry.problem_id), candidate)
        for entry in deployment().instances.values()
        if entry.template_id == candidate.template_id and entry.regime == candidate.regime
    )


def _same_answers(stored: Problem, candidate: Problem) -> bool:
    left, right = stored.reference.answers, candidate.reference.answers
    return left.keys() == right.keys() and all(_same_value(left[n].value, right[n].value) for n in left)


def _same_value(left: Json, right: Json) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same_value, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=_FLOAT_RTOL)
    if left == right or not (isinstance(left, str) and isinstance(right, str)):
        return bool(left == right)
    try:
        return equal(parse(left), parse(right)) == "equal"
    except ToolError:
        return False  # words


def _near(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, 3, 0.4)
    return (
        f"; did you mean {', '.join(near)}?" if near else f"; there are {len(known)}: see `maven-bench templates list`"
    )
