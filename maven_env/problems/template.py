"""The template: one YAML file, a parametric family of problems, as models that refuse what they do not know."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from maven_env.errors import TemplateError, ToolError
from maven_env.expressions import free_symbols, parse, parse_relation
from maven_env.problems import strict_yaml
from maven_env.references import parse_reference, references_in
from maven_env.types import AnswerForm, Reading

DOMAINS = (
    "calculus", "algebra", "linear_algebra", "classical_mechanics", "thermodynamics", "electromagnetism",
    "applied_mathematics",
)  # fmt: skip
PitfallClass = Literal["tool_selection", "state_management", "verification"]
MAX_OPTIONS = 10_000  # values of one sampler


def _exact(value: Any) -> Fraction:
    """Read an integer or a fraction in text; a float is refused, because it is not the number that was meant."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"expected an integer or a fraction as text, got {value!r}; write 1/4 for 0.25")
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{value!r} is no exact number; write 3 or 13/10") from None


Exact = Annotated[Fraction, BeforeValidator(_exact)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True)


class Parameter(_Model):
    """One quantity. A hidden one never reaches the agent; a distractor is public and of no use."""

    unit: str
    meaning: str
    hidden: bool = False
    distractor: bool = False


class Sampler(_Model):
    """Exactly one of: choice, a list; grid, [first, last, step]; log_grid, [first, last, factor]."""

    choice: tuple[Exact, ...] | None = None
    grid: tuple[Exact, Exact, Exact] | None = None
    log_grid: tuple[Exact, Exact, Exact] | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Sampler:
        if sum(kind is not None for kind in (self.choice, self.grid, self.log_grid)) != 1:
            raise ValueError("give exactly one of choice, grid, log_grid")
        self.options()
        return self

    def options(self) -> list[Fraction]:
        """Return every value that may be drawn, in order."""
        if self.choice is not None:
            values = list(self.choice)
        elif self.grid is not None:
            first, last, step = self.grid
            if step <= 0 or last < first or (last - first) / step >= MAX_OPTIONS:
                raise ValueError(f"grid needs first <= last, a positive step and at most {MAX_OPTIONS} values")
            values = [first + i * step for i in range(int((last - first) / step) + 1)]
        else:
            assert self.log_grid is not None  # one of the three is given
            first, last, factor = self.log_grid
            if first <= 0 or factor <= 1 or last < first:
                raise ValueError("log_grid needs 0 < first <= last and a factor above 1")
            values = [first]
            while values[-1] * factor <= last:
                values.append(values[-1] * factor)
                if len(values) > MAX_OPTIONS:
                    raise ValueError(f"log_grid has more than {MAX_OPTIONS} values")
        if not values:
            raise ValueError("a sampler needs at least one value")
        return values


class Derived(_Model):
    """An exact expression in parameters and earlier derived names; a public one stands in `given`."""

    expr: str
    unit: str = ""
    meaning: str = ""
    public: bool = False


def _derived(value: Any) -> Any:
    return {"expr": str(value)} if isinstance(value, str | int) and not isinstance(value, bool) else value


class Accept(_Model):
    """Another tool, and the output field of it, that may stand in for a step's own."""

    tool: str
    field: str
    regimes: tuple[str, ...] | None = Field(None, alias="in")


class Step(_Model):
    """One call of the canonical path. `when` are the regimes that have it; None means all."""

    tool: str
    input: dict[str, Any]
    accept: tuple[Accept, ...] = ()
    when: tuple[str, ...] | None = None
    why: str = ""


class Checkpoint(_Model):
    """A value that must be right along the way, at a reference."""

    of: str
    form: AnswerForm
    unit: str = ""
    rtol: float = 0.0
    atol: float = 0.0

    @model_validator(mode="after")
    def _has_a_tolerance(self) -> Checkpoint:
        if self.form in ("number", "set", "vector", "matrix", "interval", "multiset", "tuple") and not (
            self.rtol or self.atol
        ):
            raise ValueError(f"form {self.form} needs an explicit rtol or atol")
        return self


class Check(_Model):
    """A required verification: where, its right reading by regime, and what follows from it."""

    step: str
    reads: dict[str, Reading]
    field: str = "verdict"
    means: dict[str, Reading] | None = None
    settles: Annotated[tuple[str, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)] = ()
    then: str | None = None
    when: tuple[str, ...] | None = None


class By(_Model):
    """The word that each reading of a check gives."""

    check: str
    passed: str | None = None
    failed: str | None = None
    inconclusive: str | None = None

    def word(self, reading: str | None) -> str | None:
        return {"passed": self.passed, "failed": self.failed, "inconclusive": self.inconclusive}.get(reading or "")

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for word in (self.passed, self.failed, self.inconclusive) if word is not None)


class AnswerRule(_Model):
    """A checkpoint, a word settled by a check, or a checkpoint except where a check's reading gives a word instead."""

    checkpoint: str | None = None
    choice: tuple[str, ...] = ()
    by: By | None = None
    unless: By | None = None

    @model_validator(mode="after")
    def _has_one_source(self) -> AnswerRule:
        if (self.checkpoint is None) == (self.by is None):
            raise ValueError("give exactly one of checkpoint, by")
        if self.by and set(self.by.words) != set(self.choice):
            raise ValueError(f"choice lists {list(self.choice)}, by gives {list(self.by.words)}")
        if self.unless and self.checkpoint is None:
            raise ValueError("unless stands beside a checkpoint")
        return self


class Patch(_Model):
    """Changes to the canonical path.

    A step's patch that names a tool replaces the input, one that does not replaces single keys of it; null takes the
    step away.
    """

    regimes: tuple[str, ...] | None = Field(None, alias="in")
    steps: dict[str, dict[str, Any] | None] = {}
    checkpoints: dict[str, dict[str, Any]] = {}
    checks: dict[str, dict[str, Any]] = {}


class Pitfall(_Model):
    """A mistake as a patch, and the checkpoints and settled labels that it breaks in the regimes that it names."""

    name: str
    kind: PitfallClass = Field(alias="class")
    regimes: tuple[str, ...] = Field(alias="in")
    mistake: Patch
    breaks: tuple[str, ...]
    remedy: str


class Template(_Model):
    """One parametric family of problems."""

    id: str = Field(pattern=r"^[a-z_]+/[a-z0-9]+(-[a-z0-9]+)*$")
    version: int = Field(ge=1)
    title: str
    domain: Literal[
        "calculus", "algebra", "linear_algebra", "classical_mechanics", "thermodynamics", "electromagnetism",
        "applied_mathematics",
    ]  # fmt: skip
    concepts: tuple[str, ...]
    parameters: dict[str, Parameter]
    regimes: dict[str, dict[str, Any]]
    derived: dict[str, Annotated[Derived, BeforeValidator(_derived)]] = {}
    require: tuple[str, ...] = ()
    forms: dict[str, tuple[Literal["expanded", "factored", "horner"], ...]] = {}
    prompt: str
    steps: dict[str, Step]
    paths: dict[str, Patch] = {}
    checkpoints: dict[str, Checkpoint]
    checks: dict[str, Check]
    answers: dict[str, AnswerRule]
    crosscheck: dict[str, str | dict[str, str]]
    sensitivity: dict[str, Patch] = {}
    pitfalls: tuple[Pitfall, ...]

    @model_validator(mode="after")
    def _holds_together(self) -> Template:
        if not self.id.startswith(f"{self.domain}/"):
            raise ValueError(f"the id {self.id!r} must begin with the domain {self.domain!r}")
        if "nominal" not in self.regimes:
            raise ValueError("there must be a regime named nominal")
        for regime in self.regimes:
            self.samplers(regime)
        self._names_agree()
        self._references_agree()
        self._answers_agree()
        return self

    def _names_agree(self) -> None:
        known = set(self.parameters)
        for name, entry in self.derived.items():
            if name in known:
                raise ValueError(f"derived {name!r} is a parameter already")
            _read(f"derived {name}", entry.expr)
            known.add(name)
        for condition in self.require:
            unknown = _symbols_of(f"require {condition!r}", condition) - known
            if unknown:
                raise ValueError(f"require {condition!r} uses {', '.join(sorted(unknown))}, which is not known")
        for name in self.forms:
            if name not in self.derived:
                raise ValueError(f"forms names {name!r}, which is not derived")
        public = self.public_names()
        for name in re.findall(r"\{(\w+)\}", self.prompt):
            if name not in public:
                raise ValueError(
                    f"the prompt shows {{{name}}}, which is no public quantity; public: {', '.join(public)}"
                )

    def _references_agree(self) -> None:
        public = self.public_names()
        for name, step in self.steps.items():
            _check_regimes(f"step {name}", step.when, self.regimes)
            for accepted in step.accept:
                _check_regimes(f"step {name}: accept {accepted.tool}", accepted.regimes, self.regimes)
            for target in references_in(step.input):
                if target != "given" and target not in self.steps:
                    raise ValueError(f"step {name!r} refers to {target!r}; known: given, {', '.join(self.steps)}")
            for quantity in re.findall(r"\$\{given\.output\.(\w+)", str(step.input)):
                if quantity not in public:
                    raise ValueError(f"step {name!r} refers to given {quantity!r}; public: {', '.join(public)}")
        for name, point in self.checkpoints.items():
            target = parse_reference(point.of.removeprefix("${").removesuffix("}")).step_id
            if target not in self.steps:
                raise ValueError(f"checkpoint {name!r} refers to step {target!r}; known: {', '.join(self.steps)}")
            if name not in self.crosscheck:
                raise ValueError(f"crosscheck lacks the checkpoint {name!r}")
        if extra := set(self.crosscheck) - set(self.checkpoints):
            raise ValueError(f"crosscheck names {', '.join(sorted(extra))}, which is no checkpoint")
        for name, check in self.checks.items():
            _check_regimes(f"check {name}", check.when, self.regimes)
            _check_regimes(f"check {name}: reads", tuple(set(check.reads) - {"all"}), self.regimes)
            for step_name in (check.step, check.then):
                if step_name is not None and step_name not in self.steps:
                    raise ValueError(f"check {name!r} names the step {step_name!r}; known: {', '.join(self.steps)}")
            for label in check.settles:
                if label not in self.answers:
                    raise ValueError(f"check {name!r} settles {label!r}; answers: {', '.join(self.answers)}")

    def _answers_agree(self) -> None:
        for label, answer in self.answers.items():
            if f"({label})" not in self.prompt:
                raise ValueError(f"the prompt has no sub-question ({label})")
            if answer.checkpoint is not None and answer.checkpoint not in self.checkpoints:
                raise ValueError(f"answer {label} names the checkpoint {answer.checkpoint!r}, which is not there")
            for by in (answer.by, answer.unless):
                if by is None:
                    continue
                if by.check not in self.checks:
                    raise ValueError(f"answer {label} names the check {by.check!r}; known: {', '.join(self.checks)}")
                if label not in self.checks[by.check].settles:
                    raise ValueError(f"check {by.check!r} must name {label!r} in settles")
                silent = [word for word in by.words if f"`{word}`" not in self.prompt]
                if silent:
                    raise ValueError(f"answer {label}: the prompt must show the word `{silent[0]}` in backquotes")
        labels = set(self.answers)
        for pitfall in self.pitfalls:
            _check_regimes(f"pitfall {pitfall.name}", pitfall.regimes, self.regimes)
            if unknown := set(pitfall.breaks) - set(self.checkpoints) - labels:
                raise ValueError(f"pitfall {pitfall.name!r} breaks {', '.join(sorted(unknown))}, which is not there")
        for name, patch in self.paths.items():
            _check_regimes(f"path {name}", patch.regimes, self.regimes)

    def public_names(self) -> tuple[str, ...]:
        """Return the names of the public quantities in the order of the file."""
        names = [name for name, parameter in self.parameters.items() if not parameter.hidden]
        return (*names, *(name for name, entry in self.derived.items() if entry.public))

    def samplers(self, regime: str) -> dict[str, Sampler]:
        """Return the sampler of every parameter in `regime`, with `extends` followed."""
        entries = self._entries(regime, ())
        if set(entries) != set(self.parameters):
            wrong = set(entries) ^ set(self.parameters)
            raise ValueError(f"regime {regime!r}: {', '.join(sorted(wrong))} must be drawn and be a parameter")
        samplers = {}
        for name in self.parameters:
            try:
                samplers[name] = Sampler.model_validate(entries[name])
            except ValidationError as error:
                reason = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise ValueError(f"regime {regime!r}, parameter {name!r}: {reason}") from None
        return samplers

    def _entries(self, regime: str, seen: tuple[str, ...]) -> dict[str, Any]:
        if regime not in self.regimes:
            raise ValueError(f"regime {seen[-1]!r} extends {regime!r}; known: {', '.join(self.regimes)}")
        if regime in seen:
            raise ValueError(f"the regimes {', '.join(seen)} extend each other in a circle")
        own = dict(self.regimes[regime])
        base = own.pop("extends", None)
        own.pop("stresses", None)
        return own if base is None else self._entries(base, (*seen, regime)) | own


def _read(where: str, text: str) -> frozenset[str]:
    try:
        return free_symbols(parse(text))
    except ToolError as error:
        raise ValueError(f"{where}: {error.message}") from None


def _symbols_of(where: str, text: str) -> frozenset[str]:
    try:
        return free_symbols(parse_relation(text))
    except ToolError as error:
        raise ValueError(f"{where}: {error.message}") from None


def _check_regimes(where: str, named: tuple[str, ...] | None, known: dict[str, Any]) -> None:
    if unknown := set(named or ()) - set(known):
        raise ValueError(f"{where} names the regime {', '.join(sorted(unknown))}; known: {', '.join(known)}")


def load(file: Path) -> Template:
    """Read one template file. Raises TemplateError with file, line and reason."""
    data, text = strict_yaml.read(file)
    if not isinstance(data, dict):
        raise TemplateError(f"{file}:1: expected the keys of a template, got {type(data).__name__}")
    try:
        template = Template.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        reason = first["msg"].removeprefix("Value error, ")
        place = ".".join(map(str, first["loc"]))
        raise TemplateError(f"{file}:{strict_yaml.line_of(text, first['loc'])}: {place}: {reason}") from None
    except ToolError as error:
        raise TemplateError(f"{file}: {error.message}") from None
    if file.stem != template.id.partition("/")[2] or file.parent.name != template.domain:
        raise TemplateError(f"{file}: the file must stand as {template.id}.yaml")
    return template


def by_regime(value: Any, regime: str) -> Any:
    """Return what a by-regime mapping says for `regime`; `all` is the fallback; other values stand for every regime."""
    return value.get(regime, value.get("all")) if isinstance(value, dict) else value
