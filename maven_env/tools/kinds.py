"""The kinds of a tool's arguments: how each is read and written back, its JSON schema, and the names that tools use.

A tool's parameters are annotated with the names below (`Expr`, `Real`, `FloatMatrix`, ...), lists, string-keyed dicts,
literals and optionals of them. References are resolved while a value is read.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

from maven_env.errors import ToolError
from maven_env.expressions import Matrix, Node, Relation, matrix_text, to_text
from maven_env.tools.argument_reading import (
    ITEMS,
    TEXT,
    Resolve,
    bad_input,
    check_length,
    describe,
    read_boolean,
    read_equation,
    read_exact,
    read_expr,
    read_float_matrix,
    read_float_vector,
    read_formula,
    read_integer,
    read_matrix,
    read_named,
    read_object,
    read_ode,
    read_operand,
    read_real,
    read_relation,
    read_symbol,
    read_text,
    read_unit,
    read_value,
    read_vector,
    whole,
)
from maven_env.types import Json, JsonObject

__all__ = [
    "BOOLEAN",
    "EQUATION",
    "EXACT",
    "EXPR",
    "FLOAT_MATRIX",
    "FLOAT_VECTOR",
    "FORMULA",
    "INTEGER",
    "ITEMS",
    "JSON_MAP",
    "MATRIX",
    "ODE",
    "OPERAND",
    "REAL",
    "REFERENCE_SCHEMA",
    "RELATION",
    "SYMBOL",
    "TEXT",
    "TEXT_KIND",
    "TEXT_SCHEMA",
    "UNIT",
    "VALUE",
    "VECTOR",
    "Condition",
    "Count",
    "Equation",
    "Exact",
    "ExactMatrix",
    "ExactVector",
    "Expr",
    "FloatMatrix",
    "FloatVector",
    "Formula",
    "Index",
    "JsonMap",
    "Kind",
    "Name",
    "Ode",
    "Operand",
    "Option",
    "Range",
    "Real",
    "Resolve",
    "Setting",
    "Text",
    "Unit",
    "Value",
    "annotations_of",
    "bad_input",
    "describe",
    "kind_of",
    "or_reference",
    "read_expr",
    "whole",
]


@dataclass(frozen=True, eq=False)  # hashed by identity: annotations are compared by sets
class Kind:
    """How one sort of argument is read and written. `name` is what signatures show."""

    name: str
    schema: Mapping[str, Json]
    read: Callable[[Json, Resolve], Any]
    write: Callable[[Any], Json]


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both included."""

    low: float
    high: float


class Option:
    """Marks a parameter that steers a computation (tolerance, digits, order); its number needs no support."""


REFERENCE_SCHEMA: JsonObject = {"type": "string", "pattern": r"^\$\{.+\}$"}
TEXT_SCHEMA: JsonObject = {"type": "string"}


def or_reference(schema: Mapping[str, Json]) -> JsonObject:
    """Let a field that is no string take a reference too."""
    return {"anyOf": [dict(schema), REFERENCE_SCHEMA]}


def _same(value: Any) -> Json:
    return value


def _write_operand(value: Node | tuple[Node, ...]) -> Json:
    return [to_text(item) for item in value] if isinstance(value, tuple) else to_text(value)


def _write_real(value: float) -> Json:
    return value if math.isfinite(value) else "oo" if value > 0 else "-oo"


def _write_floats(value: np.ndarray[Any, np.dtype[np.float64]]) -> Json:
    if np.isfinite(value).all():
        return value.tolist()
    return [_write_floats(row) if row.ndim else _write_real(float(row)) for row in value]


_ROW = {"type": "array", "items": TEXT_SCHEMA}
EXPR = Kind("expr", TEXT_SCHEMA, read_expr, to_text)
EQUATION = Kind("equation", TEXT_SCHEMA, read_equation, to_text)
RELATION = Kind("relation", TEXT_SCHEMA, read_relation, to_text)
FORMULA = Kind("expr or equation", TEXT_SCHEMA, read_formula, to_text)
ODE = Kind("equation", TEXT_SCHEMA, read_ode, _same)
EXACT = Kind("number", {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}, read_exact, to_text)
REAL = Kind("number", {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}, read_real, _write_real)
INTEGER = Kind("int", or_reference({"type": "integer"}), read_integer, _same)
BOOLEAN = Kind("bool", or_reference({"type": "boolean"}), read_boolean, _same)
SYMBOL = Kind("symbol", TEXT_SCHEMA, read_symbol, _same)
TEXT_KIND = Kind("text", TEXT_SCHEMA, read_text, _same)
UNIT = Kind("unit", TEXT_SCHEMA, read_unit, _same)
MATRIX = Kind("matrix", or_reference({"type": "array", "items": _ROW}), read_matrix, matrix_text)
VECTOR = Kind("vector", or_reference(_ROW), read_vector, lambda v: [to_text(item) for item in v])
FLOAT_MATRIX = Kind("matrix", or_reference({"type": "array", "items": _ROW}), read_float_matrix, _write_floats)
FLOAT_VECTOR = Kind("vector", or_reference(_ROW), read_float_vector, _write_floats)
OPERAND = Kind("expr or list", {"anyOf": [TEXT_SCHEMA, _ROW]}, read_operand, _write_operand)
VALUE = Kind("expr", {"anyOf": [{"type": "number"}, TEXT_SCHEMA, _ROW]}, read_value, to_text)
JSON_MAP = Kind("map", {"type": "object", "additionalProperties": TEXT_SCHEMA}, read_object, _same)


# ---- the names that tools use ----------------------------------------------------------------------------------------
Expr = Annotated[Node, EXPR]  # any expression


Equation = Annotated[Relation, EQUATION]  # left = right; an expression alone means = 0


Condition = Annotated[Node, RELATION]  # a relation such as x > 2


Formula = Annotated[Node, FORMULA]  # an expression, an equation or another relation


Ode = Annotated[str, ODE]  # an equation with an unknown function, as text with references put in


Exact = Annotated[Node, EXACT]  # a closed number, kept exact


Real = Annotated[float, REAL]  # a closed number as the nearest double; oo is an infinity


Setting = Annotated[float, REAL, Option]  # a tolerance or another number that only steers


Count = Annotated[int, INTEGER, Option]  # an integer that only steers: digits, order, steps


Index = Annotated[int, INTEGER]  # an integer that is part of the problem


Name = Annotated[str, SYMBOL]  # the name of a symbol


Text = Annotated[str, TEXT_KIND]


Unit = Annotated[str, UNIT]  # a unit in pint's grammar; empty for a pure number


ExactMatrix = Annotated[Matrix, MATRIX]  # rows of expressions


ExactVector = Annotated[tuple[Node, ...], VECTOR]


FloatMatrix = Annotated[np.ndarray[Any, np.dtype[np.float64]], FLOAT_MATRIX]  # shape (rows, columns)


FloatVector = Annotated[np.ndarray[Any, np.dtype[np.float64]], FLOAT_VECTOR]  # shape (n,)


Operand = Annotated[Node | tuple[Node, ...], OPERAND]  # an expression, or a list of them


Value = Annotated[Node, VALUE]  # an expression, or a complex number as results write it: [re, im]


JsonMap = Annotated[dict[str, Any], JSON_MAP]


# ---- from annotations to kinds ---------------------------------------------------------------------------------------
def kind_of(annotation: Any) -> tuple[Kind, bool]:
    """Return the kind of a parameter's annotation, and whether the parameter only steers the computation."""
    origin = get_origin(annotation)
    if origin is Annotated:
        base, *extras = get_args(annotation)
        steers = any(extra is Option for extra in extras)
        limits = [extra for extra in extras if isinstance(extra, Range)]
        kinds = [extra for extra in extras if isinstance(extra, Kind)]
        kind = kinds[0] if kinds else kind_of(base)[0]
        return (_ranged(kind, limits[0]) if limits else kind), steers
    if annotation is bool:
        return BOOLEAN, True
    if origin is Literal:
        return _choice(get_args(annotation)), True
    if origin is list:
        inner, steers = kind_of(get_args(annotation)[0])
        return _list(inner), steers
    if origin is dict:
        inner, steers = kind_of(get_args(annotation)[1])
        return _map(inner), steers
    if origin in (Union, types.UnionType):
        options = [item for item in get_args(annotation) if item is not type(None)]
        if len(options) == 1:
            return kind_of(options[0])
    raise TypeError(f"no kind for the annotation {annotation!r}")


def _choice(words: tuple[str, ...]) -> Kind:
    def read(value: Json, resolve: Resolve) -> str:
        value = str(value) if isinstance(value, int) and not isinstance(value, bool) else whole(value, resolve)
        if value not in words:
            raise bad_input(f"expected one of {', '.join(words)}, got {describe(value)}")
        return str(value)

    return Kind(" | ".join(words), {"type": "string", "enum": list(words)}, read, _same)


def _list(inner: Kind) -> Kind:
    def read(value: Json, resolve: Resolve) -> list[Any]:
        value = whole(value, resolve)
        if not isinstance(value, list):
            raise bad_input(f"expected a list of {inner.name}, got {describe(value)}", "write it in [ ]")
        check_length(value)
        return [_placed(f"[{i}]", inner, item, resolve) for i, item in enumerate(value)]

    schema = or_reference({"type": "array", "items": dict(inner.schema)})
    return Kind(f"list of {inner.name}", schema, read, lambda items: [inner.write(item) for item in items])


def _map(inner: Kind) -> Kind:
    def read(value: Json, resolve: Resolve) -> dict[str, Any]:
        named = read_named(value, resolve, inner.name)
        return {name: _placed(f".{name}", inner, item, resolve) for name, item in named.items()}

    schema = {"type": "object", "additionalProperties": dict(inner.schema)}
    return Kind(f"map of {inner.name}", schema, read, lambda items: {k: inner.write(v) for k, v in items.items()})


def _placed(place: str, kind: Kind, value: Json, resolve: Resolve) -> Any:
    try:
        return kind.read(value, resolve)
    except ToolError as error:
        error.message = f"{place}: {error.message}"
        raise


def _ranged(kind: Kind, limits: Range) -> Kind:
    def read(value: Json, resolve: Resolve) -> Any:
        number = kind.read(value, resolve)
        if not limits.low <= number <= limits.high:
            raise bad_input(f"expected a number from {limits.low:g} to {limits.high:g}, got {describe(number)}")
        return number

    return Kind(kind.name, kind.schema, read, kind.write)


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameter annotations of a tool with their extras."""
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    return hints
