"""Draw the parameters of a template: exact numbers, keyed by `id@version/regime/seed`, the same everywhere."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

from maven_env.errors import TemplateError, ToolError
from maven_env.expressions import Node, Relation, number_node, parse, parse_relation, rational_value, replace
from maven_env.expressions.balls import holds, precision
from maven_env.expressions.symbolic import from_sympy, to_sympy
from maven_env.problems.template import Template

REDRAWS = 100


@dataclass(frozen=True)
class Draw:
    """The values of one draw: parameters and derived expressions by name, hidden ones among them."""

    key: str
    values: dict[str, Node]


def key_of(template: Template, regime: str, seed: int | str) -> str:
    return f"{template.id}@{template.version}/{regime}/{seed}"


def draw(template: Template, regime: str, seed: int | str) -> Draw:
    """Return the draw of `id@version/regime/seed`.

    A draw that breaks `require` is redrawn. Raises TemplateError after 100 of them, or for a regime that is not there.
    """
    if regime not in template.regimes:
        raise TemplateError(f"template {template.id}: no regime {regime!r}; known: {', '.join(template.regimes)}")
    key = key_of(template, regime, seed)
    rng = random.Random(key)  # a text seed goes through SHA-512, never through hash()
    options = {name: sampler.options() for name, sampler in template.samplers(regime).items()}
    for _ in range(REDRAWS):
        drawn = {name: number_node(rng.choice(values)) for name, values in options.items()}
        values = _derive(template, drawn, rng)
        if all(_holds(condition, values, key) for condition in template.require):
            return Draw(key, values)
    raise TemplateError(f"template {template.id}: {key} kept breaking `require` in {REDRAWS} draws")


def _derive(template: Template, drawn: dict[str, Node], rng: random.Random) -> dict[str, Node]:
    values = dict(drawn)
    for name, entry in template.derived.items():
        form = rng.choice(template.forms[name]) if name in template.forms else None
        values[name] = evaluate(entry.expr, values, form)
    return values


def evaluate(text: str, values: dict[str, Node], form: str | None = None) -> Node:
    """Put exact values into an expression and simplify it exactly; free symbols stay."""
    node = replace(parse(text), values)
    exact = rational_value(node)
    if exact is not None:
        return number_node(Fraction(exact))
    import sympy

    value = to_sympy(node)
    shape = {"expanded": sympy.expand, "factored": sympy.factor, "horner": sympy.horner}.get(form or "")
    return from_sympy(shape(value) if shape else value)


def _holds(condition: str, values: dict[str, Node], key: str) -> bool:
    node = parse_relation(condition)
    if not isinstance(node, Relation):
        raise TemplateError(f"{key}: require {condition!r} is no relation")
    closed = replace(node, values)
    try:
        with precision(256):
            return isinstance(closed, Relation) and holds(closed, {})
    except ToolError as error:
        raise TemplateError(f"{key}: require {condition!r} cannot be decided: {error.message}") from None
