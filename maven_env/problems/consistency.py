"""What must agree across the keys of a template: names, regimes, tools, references, patches, answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Relation, free_symbols, parse, parse_relation
from maven_env.problems.faults import Fault
from maven_env.problems.paths import exists_in, ordered, patched_rule, patched_step, patched_steps
from maven_env.problems.template import Checkpoint, Patch, Step, Template, by_regime
from maven_env.references import PATTERN, parse_reference
from maven_env.tools.registry import ToolSpec, registry
from maven_env.types import Json

Place = tuple[str | int, ...]


def check(template: Template) -> None:
    """Raise Fault for the first thing that does not agree."""
    if not template.id.startswith(f"{template.domain}/"):
        raise Fault(f"the id {template.id!r} must begin with the domain {template.domain!r}", "id")
    if "nominal" not in template.regimes:
        raise Fault("there must be a regime named nominal", "regimes")
    for regime in template.regimes:
        template.samplers(regime)
    _quantities(template)
    _steps(template)
    _milestones(template)
    _answers(template)
    _patches(template)


# ---- quantities ------------------------------------------------------------------------------------------------------
def _quantities(template: Template) -> None:
    closed = _derived(template)
    for number, condition in enumerate(template.require):
        place = ("require", number)
        try:
            node = parse_relation(condition)
        except ToolError as error:
            raise Fault(error.message, *place) from None
        if not isinstance(node, Relation):
            raise Fault(f"{condition!r} is no relation", *place)
        if unknown := sorted(free_symbols(node) - closed):
            raise Fault(f"uses {', '.join(unknown)}; parameters and closed derived names are known", *place)
    for name in template.forms:
        if name not in template.derived:
            raise Fault(f"{name!r} is not derived", "forms", name)
    public = template.public_names()
    for name in re.findall(r"\{(\w+)\}", template.prompt):
        if name not in public:
            raise Fault(f"shows {{{name}}}, which is no public quantity; public: {', '.join(public)}", "prompt")


def _derived(template: Template) -> set[str]:
    """Check the derived expressions; return the names whose values have no free symbol."""
    closed = set(template.parameters)
    seen = set(template.parameters)
    for name, entry in template.derived.items():
        place = ("derived", name, "expr")
        if name in template.parameters:
            raise Fault(f"{name!r} is a parameter already", "derived", name)
        try:
            symbols = free_symbols(parse(entry.expr))
        except ToolError as error:
            raise Fault(error.message, *place) from None
        if late := sorted((symbols & set(template.derived)) - seen):
            raise Fault(f"uses {', '.join(late)}, which is derived only here or later", *place)
        if symbols <= closed:
            closed.add(name)
        elif not entry.public:
            unknown = ", ".join(sorted(symbols - closed))
            raise Fault(f"{unknown} has no value; free symbols stand in public quantities only", *place)
        seen.add(name)
    return closed


# ---- steps -----------------------------------------------------------------------------------------------------------
def _steps(template: Template) -> None:
    for name, step in template.steps.items():
        place = ("steps", name)
        _regimes(template, step.when, *place, "when")
        _step(template, step, set(template.steps), place)


def _step(template: Template, step: Step, known: set[str], place: Place) -> None:
    spec = _tool(step.tool, *place, "tool")
    for name in step.input:
        if spec.parameter(name) is None:
            fields = [parameter.name for parameter in spec.parameters]
            raise Fault(f"{spec.tool_id} has no field {name!r}{_near(name, fields)}", *place, "input", name)
    missing = [p.name for p in spec.parameters if p.required and step.input.get(p.name) is None]
    if missing:
        raise Fault(f"{spec.tool_id} needs the field {missing[0]!r}", *place, "input", missing[0])
    _references(template, step.input, known, (*place, "input"))
    for number, accepted in enumerate(step.accept):
        outputs = [field.name for field in _tool(accepted.tool, *place, "accept", number, "tool").outputs]
        if re.split(r"[.\[]", accepted.field)[0] not in outputs:
            reason = f"{accepted.tool} has no output {accepted.field!r}{_near(accepted.field, outputs)}"
            raise Fault(reason, *place, "accept", number, "field")
        _regimes(template, accepted.regimes, *place, "accept", number, "in")


def _tool(name: str, *place: str | int) -> ToolSpec:
    tools = registry()
    if name not in tools:
        near = get_close_matches(name, tools, 3, 0.5)
        hint = f"did you mean {', '.join(near)}?" if near else "see `maven-bench tools list`"
        raise Fault(f"there is no tool {name!r}; {hint}", *place)
    return tools[name]


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"


def _regimes(template: Template, named: Iterable[str] | None, *place: str | int) -> None:
    unknown = [regime for regime in named or () if regime not in template.regimes]
    if unknown:
        raise Fault(f"there is no regime {unknown[0]!r}; known: {', '.join(template.regimes)}", *place)


def _references(template: Template, value: Json, known: set[str], place: Place) -> None:
    public = template.public_names()
    for where, text in _texts(value, place):
        bodies = [match[1] for match in PATTERN.finditer(text)]
        if text.count("${") != len(bodies):
            raise Fault(f"{text[:80]!r} holds a reference that cannot be read", *where)
        for body in bodies:
            try:
                reference = parse_reference(body)
            except ToolError as error:
                raise Fault(f"{error.message}; {error.hint}", *where) from None
            if reference.step_id != "given":
                if reference.step_id not in known:
                    raise Fault(f"refers to {reference.step_id!r}; known: given, {', '.join(sorted(known))}", *where)
                continue
            quantity = re.match(r"output\.([\w-]+)", reference.path)
            if quantity and quantity[1] not in public:
                raise Fault(f"refers to given {quantity[1]!r}; public: {', '.join(public)}", *where)


def _texts(value: Json, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*place, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, (*place, number))


# ---- checkpoints, checks, answers ------------------------------------------------------------------------------------
def _milestones(template: Template) -> None:
    for name, point in template.checkpoints.items():
        _of(template, point, set(template.steps), ("checkpoints", name, "of"))
        if name not in template.crosscheck:
            raise Fault(f"lacks the checkpoint {name!r}", "crosscheck")
    for name, closed_form in template.crosscheck.items():
        if name not in template.checkpoints:
            raise Fault(f"{name!r} is no checkpoint{_near(name, template.checkpoints)}", "crosscheck", name)
        _says(template, closed_form, template.regimes, "crosscheck", name)
    for name, rule in template.checks.items():
        place = ("checks", name)
        _regimes(template, rule.when, *place, "when")
        _says(template, rule.reads, rule.when or template.regimes, *place, "reads")
        for key, step in (("step", rule.step), ("then", rule.then)):
            if step is not None and step not in template.steps:
                raise Fault(f"there is no step {step!r}{_near(step, template.steps)}", *place, key)
        for number, other in enumerate(rule.accept):
            _regimes(template, other.regimes, *place, "accept", number, "in")
            step_like = Step(tool=other.tool, input=other.input)
            _step(template, step_like, set(template.steps), (*place, "accept", number))
        for label in rule.settles:
            if label not in template.answers:
                raise Fault(f"there is no answer {label!r}; answers: {', '.join(template.answers)}", *place, "settles")


def _of(template: Template, point: Checkpoint, known: set[str], place: Place) -> None:
    if point.target.step_id not in known:
        raise Fault(f"refers to step {point.target.step_id!r}; known: {', '.join(sorted(known))}", *place)
    _references(template, point.of, known, place)


def _says(template: Template, mapping: Mapping[str, Any], needed: Iterable[str], *place: str | int) -> None:
    _regimes(template, set(mapping) - {"all"}, *place)
    silent = [regime for regime in needed if by_regime(mapping, regime) is None]
    if silent:
        raise Fault(f"says nothing for the regime {silent[0]!r}", *place)


def _answers(template: Template) -> None:
    for label, answer in template.answers.items():
        place = ("answers", label)
        if f"({label})" not in template.prompt:
            raise Fault(f"the prompt has no sub-question ({label})", *place)
        point = template.checkpoints.get(answer.checkpoint or "")
        if point is not None and point.form == "choice" and not answer.choice:
            raise Fault("a choice needs its vocabulary: add `choice: [...]` with the words of the prompt", *place)
        if answer.checkpoint is not None and answer.checkpoint not in template.checkpoints:
            near = _near(answer.checkpoint, template.checkpoints)
            raise Fault(f"there is no checkpoint {answer.checkpoint!r}{near}", *place, "checkpoint")
        for key, by in (("by", answer.by), ("unless", answer.unless)):
            if by is None:
                continue
            if by.check not in template.checks:
                raise Fault(f"there is no check {by.check!r}{_near(by.check, template.checks)}", *place, key, "check")
            if label not in template.checks[by.check].settles:
                raise Fault(f"the check must name {label!r} in settles", "checks", by.check)
            silent = [word for word in by.words if f"`{word}`" not in template.prompt]
            if silent:
                raise Fault(f"the prompt must show the word `{silent[0]}` in backquotes", *place, key)


# ---- patches ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Use:
    """A patch, where it stands and in which regimes it is applied. A pitfall may take away what a check reads."""

    patch: Patch
    place: Place
    regimes: tuple[str, ...]
    is_pitfall: bool = False


def _patches(template: Template) -> None:
    everywhere = tuple(template.regimes)
    _use(template, _Use(Patch(), (), everywhere))
    for key, group in (("paths", template.paths), ("sensitivity", template.sensitivity)):
        for name, patch in group.items():
            _regimes(template, patch.regimes, key, name, "in")
            _use(template, _Use(patch, (key, name), everywhere if patch.regimes is None else patch.regimes))
    for number, pitfall in enumerate(template.pitfalls):
        place = ("pitfalls", number)
        _regimes(template, pitfall.regimes, *place, "in")
        if unknown := [n for n in pitfall.breaks if n not in template.checkpoints and n not in template.answers]:
            raise Fault(f"{unknown[0]!r} is no checkpoint and no answer", *place, "breaks")
        _use(template, _Use(pitfall.mistake, (*place, "mistake"), pitfall.regimes, is_pitfall=True))


def _use(template: Template, use: _Use) -> None:
    known = {*template.steps, *use.patch.steps}
    for name, change in use.patch.steps.items():
        _step_change(template, use, name, change, known)
    for key, rules in (("checkpoints", template.checkpoints), ("checks", template.checks)):
        for name, change in getattr(use.patch, key).items():
            place = (*use.place, key, name)
            if name not in rules:
                raise Fault(f"there is no {key[:-1]} {name!r}{_near(name, rules)}", *place)
            try:
                patched = patched_rule(rules[name], change)
            except Fault as fault:
                raise fault.under(*place) from None
            if isinstance(patched, Checkpoint):
                _of(template, patched, known | {"given"}, (*place, "of"))
            else:
                _says(template, patched.reads, patched.when or template.regimes, *place, "reads")
    for regime in use.regimes:
        try:
            steps = ordered(patched_steps(template, regime, use.patch))
            if not use.is_pitfall:
                _targets(template, use.patch, regime, steps)
        except Fault as fault:
            raise Fault(f"{fault.reason} (regime {regime})", *use.place, *fault.location) from None


def _step_change(template: Template, use: _Use, name: str, change: dict[str, Any] | None, known: set[str]) -> None:
    place = (*use.place, "steps", name)
    old = template.steps.get(name)
    if change is None or "tool" not in change:
        if old is None:
            raise Fault(f"there is no step {name!r} to change{_near(name, template.steps)}", *place)
        if not any(exists_in(old.when, regime) for regime in use.regimes):
            raise Fault(f"the step {name!r} exists in none of the regimes {', '.join(use.regimes)}", *place)
    if change is None:
        return
    try:
        step = patched_step(old, change)
    except Fault as fault:
        raise fault.under(*place) from None
    _step(template, step, known, place)


def _targets(template: Template, patch: Patch, regime: str, steps: Mapping[str, Step]) -> None:
    """Raise Fault for a checkpoint or check whose step the path does not have."""
    for name, point in template.checkpoints.items():
        step = patched_rule(point, patch.checkpoints.get(name, {})).target.step_id
        if step not in steps and step != "given":
            raise Fault(f"the path has no step {step!r}", "checkpoints", name)
    for name, rule in template.checks.items():
        step = patched_rule(rule, patch.checks.get(name, {})).step
        if exists_in(rule.when, regime) and step not in steps:
            raise Fault(f"the path has no step {step!r}", "checks", name)
