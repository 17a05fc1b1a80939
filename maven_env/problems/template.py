"""The template: one YAML file, a parametric family of problems, as models that refuse what they do not know."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    field_validator,
    model_validator,
)

from maven_env.errors import ToolError
from maven_env.problems.faults import Fault, fault_of
from maven_env.references import Reference, is_reference, parse_reference
from maven_env.types import AnswerForm, Reading

DOMAINS = (
    "calculus", "algebra", "linear_algebra", "classical_mechanics", "thermodynamics", "electromagnetism",
    "applied_mathematics",
)  # fmt: skip
PitfallClass = Literal["tool_selection", "state_management", "verification"]
MAX_OPTIONS = 10_000  # values of one sampler


_EXACT = re.compile(r"-?[0-9]{1,40}(?:/[0-9]{1,40})?")
_OPTION_BITS = 4_096  # of the numerator or denominator of a drawn value


def _exact(value: Any) -> Fraction:
    """Read an integer or a fraction in text; a float is refused, because it is not the number that was meant."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"expected an integer or a fraction as text, got {value!r}; write 1/4 for 0.25")
    if isinstance(value, int):
        if abs(value) >= 10**40:
            raise ValueError("the integer has more than 40 digits")
        return Fraction(value)
    if not _EXACT.fullmatch(value):
        raise ValueError(f"{value[:60]!r} is no exact number of at most 40 digits; write 3 or 13/10")
    try:
        return Fraction(value)
    except ZeroDivisionError:
        raise ValueError(f"{value!r} divides by zero") from None


Exact = Annotated[Fraction, BeforeValidator(_exact)]
Tolerance = Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True)


class Parameter(_Model):
    """One quantity. A hidden one never reaches the agent; a distractor is public and of no use."""

    unit: str
    meaning: str
    hidden: StrictBool = False
    distractor: StrictBool = False


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
                if values[-1].denominator.bit_length() > _OPTION_BITS:
                    raise ValueError(f"log_grid makes fractions of more than {_OPTION_BITS} bits")
        if not values:
            raise ValueError("a sampler needs at least one value")
        return values


class Derived(_Model):
    """An exact expression in parameters and earlier derived names; a public one stands in `given`."""

    expr: str
    unit: str = ""
    meaning: str = ""
    public: StrictBool = False


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
    rtol: Tolerance = 0.0
    atol: Tolerance = 0.0

    @property
    def target(self) -> Reference:
        """The step and field that it reads."""
        return parse_reference(self.of.strip()[2:-1])

    @field_validator("of")
    @classmethod
    def _is_one_reference(cls, of: str) -> str:
        try:
            if is_reference(of):
                parse_reference(of.strip()[2:-1])
                return of
        except ToolError:
            pass
        raise ValueError(f"{of!r} is no reference; write ${{step.output.expr}}")

    @model_validator(mode="after")
    def _has_a_tolerance(self) -> Checkpoint:
        if self.form in ("number", "set", "vector", "matrix", "interval", "multiset", "tuple") and not (
            self.rtol or self.atol
        ):
            raise ValueError(f"form {self.form} needs an explicit rtol or atol")
        return self


class Alternative(_Model):
    """Another call that settles the same as a check; what it gives in the regime is what it must give."""

    tool: str
    input: dict[str, Any]
    field: str = "verdict"
    regimes: tuple[str, ...] | None = Field(None, alias="in")


class Check(_Model):
    """A required verification: where, its right reading by regime, what follows from it, what else counts."""

    step: str
    reads: dict[str, Reading]
    field: str = "verdict"
    means: dict[str, Reading] | None = None
    settles: Annotated[tuple[str, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)] = ()
    then: str | None = None
    when: tuple[str, ...] | None = None
    accept: tuple[Alternative, ...] = ()


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


def _for_all(value: Any) -> Any:
    return {"all": value} if isinstance(value, str) else value


class Template(_Model):
    """One parametric family of problems."""

    id: str = Field(pattern=r"^[a-z_]+/[a-z0-9]+(-[a-z0-9]+)*$")
    version: int = Field(ge=1, strict=True)
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
    crosscheck: dict[str, Annotated[dict[str, str], BeforeValidator(_for_all)]]
    sensitivity: dict[str, Patch] = {}
    pitfalls: tuple[Pitfall, ...]

    def public_names(self) -> tuple[str, ...]:
        """Return the names of the public quantities in the order of the file."""
        names = [name for name, parameter in self.parameters.items() if not parameter.hidden]
        return (*names, *(name for name, entry in self.derived.items() if entry.public))

    def samplers(self, regime: str) -> dict[str, Sampler]:
        """Return the sampler of every parameter in `regime`, with `extends` followed. Raises Fault."""
        entries = self._entries(regime, ())
        if wrong := set(entries) ^ set(self.parameters):
            raise Fault(f"{', '.join(sorted(wrong))} must be drawn and be a parameter", "regimes", regime)
        samplers = {}
        for name in self.parameters:
            owner, entry = entries[name]
            try:
                samplers[name] = Sampler.model_validate(entry)
            except ValidationError as error:
                raise fault_of(error, "regimes", owner, name) from None
        return samplers

    def _entries(self, regime: str, seen: tuple[str, ...]) -> dict[str, tuple[str, Any]]:
        """Return the sampler entries of `regime`, each with the regime whose text it stands in."""
        if regime not in self.regimes:
            raise Fault(
                f"there is no regime {regime!r}; known: {', '.join(self.regimes)}", "regimes", seen[-1], "extends"
            )
        if regime in seen:
            raise Fault(f"the regimes {', '.join(seen)} extend each other in a circle", "regimes", regime, "extends")
        own = dict(self.regimes[regime])
        base = own.pop("extends", None)
        own.pop("stresses", None)
        entries = {name: (regime, entry) for name, entry in own.items()}
        if base is None:
            return entries
        if not isinstance(base, str):
            raise Fault(f"expected the name of a regime, got {base!r}", "regimes", regime, "extends")
        return self._entries(base, (*seen, regime)) | entries


def by_regime(value: Any, regime: str) -> Any:
    """Return what a by-regime mapping says for `regime`; `all` is the fallback; other values stand for every regime."""
    return value.get(regime, value.get("all")) if isinstance(value, dict) else value
