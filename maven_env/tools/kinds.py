"""The kinds of a tool's arguments: how JSON becomes a typed value, how it is written back, and its JSON schema.

A tool's parameters are annotated with the names at the end of this page (`Expr`, `Real`, `FloatMatrix`, ...), lists,
string-keyed dicts, literals and optionals of them. References are resolved while a value is read.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

from maven_env.errors import BadReference, LimitExceeded, ToolError
from maven_env.expressions import (
    Matrix,
    Node,
    Relation,
    free_symbols,
    matrix_text,
    number_node,
    parse,
    parse_equation,
    parse_matrix,
    parse_relation,
    to_text,
)
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.functions import ARITIES, CONSTANTS, RESERVED
from maven_env.references import PATTERN, is_reference
from maven_env.types import Json, JsonObject

ITEMS = 10_000  # of one list
TEXT = 2_000  # characters of plain text

Resolve = Callable[[str], Json]  # the text between the braces -> the JSON value there


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


def bad_input(message: str, hint: str = "") -> ToolError:
    return ToolError("BAD_INPUT", message, hint)


def describe(value: Json) -> str:
    """Say what came, in the words of JSON, short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    if isinstance(value, str):
        return f"the text {value[:60]!r}" + ("..." if len(value) > 60 else "")
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"an object with keys {', '.join(map(str, list(value)[:6]))}" if value else "an empty object"


def whole(value: Json, resolve: Resolve) -> Json:
    """Put the value for a string that is exactly one reference; a quantity gives its value."""
    if is_reference(value):
        value = resolve(value.strip()[2:-1])
    if isinstance(value, Mapping) and set(value) == {"value", "unit"}:
        return value["value"]
    return value


# ---- expressions -----------------------------------------------------------------------------------------------------
def _atom(resolve: Resolve) -> Callable[[str], Node]:
    def put(body: str) -> Node:
        value = whole(f"${{{body}}}", resolve)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise BadReference(
                f"${{{body}}} is {describe(value)}, no expression", "refer to one element or field of it"
            )
        return parse(value) if isinstance(value, str) else number_node(value)

    return put


def _no_expression(value: Json) -> ToolError:
    return bad_input(f"expected an expression as text, got {describe(value)}", 'write it as text, such as "3*x^2 - 1"')


def read_expr(value: Json, resolve: Resolve) -> Node:
    value = whole(value, resolve)
    if isinstance(value, str):
        return parse(value, resolve=_atom(resolve)) if "${" in value else parse(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _no_expression(value)
    return number_node(value)


def _read_equation(value: Json, resolve: Resolve) -> Relation:
    value = whole(value, resolve)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = to_text(number_node(value))
    if not isinstance(value, str):
        raise _no_expression(value)
    return parse_equation(value, resolve=_atom(resolve) if "${" in value else None)


def _read_relation(value: Json, resolve: Resolve) -> Node:
    value = whole(value, resolve)
    if not isinstance(value, str):
        raise bad_input(f"expected a relation as text, got {describe(value)}", 'write it as text, such as "x > 2"')
    return parse_relation(value, resolve=_atom(resolve) if "${" in value else None)


def _read_formula(value: Json, resolve: Resolve) -> Node:
    value = whole(value, resolve)
    if isinstance(value, str):
        return parse_relation(value, resolve=_atom(resolve) if "${" in value else None)
    return read_expr(value, resolve)


def _read_ode(value: Json, resolve: Resolve) -> str:
    """Put references in as bracketed text; the tool reads the equation, because it knows the unknown function."""
    value = whole(value, resolve)
    if not isinstance(value, str):
        raise _no_expression(value)
    put = _atom(resolve)
    return PATTERN.sub(lambda match: f"({to_text(put(match[1]))})", value)


def _read_exact(value: Json, resolve: Resolve) -> Node:
    node = read_expr(value, resolve)
    missing = free_symbols(node)
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"a number is needed, {to_text(node)} has {', '.join(sorted(missing))}")
    return node


def _read_real(value: Json, resolve: Resolve) -> float:
    node = _read_exact(value, resolve)
    if to_text(node) in ("oo", "-oo"):
        return math.inf if to_text(node) == "oo" else -math.inf
    return nearest_double(node)


def _read_integer(value: Json, resolve: Resolve) -> int:
    value = whole(value, resolve)
    if isinstance(value, str):
        text = value.strip()
        if text.lstrip("+-").isascii() and text.lstrip("+-").isdigit() and len(text) < 20:
            return int(text)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad_input(f"expected an integer, got {describe(value)}")
    return value


def _read_boolean(value: Json, resolve: Resolve) -> bool:
    value = whole(value, resolve)
    if not isinstance(value, bool):
        raise bad_input(f"expected true or false, got {describe(value)}")
    return value


def _read_symbol(value: Json, resolve: Resolve) -> str:
    value = whole(value, resolve)
    hint = 'write one name, such as "x"'
    if not isinstance(value, str):
        raise bad_input(f"expected the name of a symbol, got {describe(value)}", hint)
    name = value.strip()
    if name in ARITIES or name in CONSTANTS or name in RESERVED:
        raise ToolError("UNKNOWN_SYMBOL", f"{name!r} is a function, constant or reserved word, no symbol", hint)
    node = parse(name) if name else None
    if node is None or free_symbols(node) != {name}:
        raise bad_input(f"expected the name of a symbol, got {describe(value)}", hint)
    return name


def _read_text(value: Json, resolve: Resolve) -> str:
    value = whole(value, resolve)
    if not isinstance(value, str):
        raise bad_input(f"expected text, got {describe(value)}")
    if len(value) > TEXT:
        raise LimitExceeded("size", f"text of {len(value)} characters, the bound is {TEXT}")
    return value


def _read_unit(value: Json, resolve: Resolve) -> str:
    if is_reference(value):
        value = resolve(value.strip()[2:-1])
    if isinstance(value, Mapping) and set(value) == {"value", "unit"}:
        value = value["unit"]
    if not isinstance(value, str):
        raise bad_input(f"expected a unit as text, got {describe(value)}", 'write it as text, such as "m/s^2"')
    if len(value) > 200:
        raise LimitExceeded("size", f"a unit of {len(value)} characters, the bound is 200")
    return value.strip()


def _read_matrix(value: Json, resolve: Resolve) -> Matrix:
    return parse_matrix(_rows(value, resolve), lambda entry: read_expr(entry, resolve))


def _rows(value: Json, resolve: Resolve) -> Json:
    value = whole(value, resolve)
    return [whole(row, resolve) for row in value] if isinstance(value, list) else value


def _read_vector(value: Json, resolve: Resolve) -> tuple[Node, ...]:
    matrix = _read_matrix(value, resolve)
    if any(len(row) != 1 for row in matrix):
        raise ToolError(
            "SHAPE_MISMATCH", f"expected a vector, got {len(matrix)} x {len(matrix[0])}", "give a flat list"
        )
    return tuple(row[0] for row in matrix)


def _double(node: Node) -> float:
    missing = free_symbols(node)
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"a number is needed, {to_text(node)} has {', '.join(sorted(missing))}")
    return nearest_double(node)


def _float_entry(value: Json, resolve: Resolve) -> float:
    """Read one entry; plain finite doubles take the short way."""
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return float(value)
    return _double(read_expr(value, resolve))


def _read_float_matrix(value: Json, resolve: Resolve) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = _rows(value, resolve)
    if not isinstance(value, list):
        raise ToolError("SHAPE_MISMATCH", f"expected a list of rows, got {describe(value)}", "write [[1, 2], [3, 4]]")
    rows = [row if isinstance(row, list) else [row] for row in value]
    if not rows or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise ToolError("SHAPE_MISMATCH", f"the rows have lengths {[len(row) for row in rows][:12]}, all must be equal")
    if len(rows) * len(rows[0]) > ITEMS:
        raise LimitExceeded("size", f"{len(rows)} x {len(rows[0])} entries, the bound is {ITEMS} in all")
    return np.array([[_float_entry(entry, resolve) for entry in row] for row in rows], dtype=np.float64)


def _read_float_vector(value: Json, resolve: Resolve) -> np.ndarray[Any, np.dtype[np.float64]]:
    matrix = _read_float_matrix(value, resolve)
    if matrix.shape[1] != 1:
        raise ToolError("SHAPE_MISMATCH", f"expected a flat list, got {matrix.shape[0]} x {matrix.shape[1]}")
    return matrix[:, 0]


def _read_object(value: Json, resolve: Resolve) -> JsonObject:
    named = _named(value, resolve, "any value")
    return {name: _read_json(item, resolve) for name, item in named.items()}


def _read_json(value: Json, resolve: Resolve) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _read_json(item, resolve) for key, item in value.items()}
    if isinstance(value, list):
        return [_read_json(item, resolve) for item in value]
    return whole(value, resolve)


def _named(value: Json, resolve: Resolve, what: str) -> JsonObject:
    """Read an object, also in the form of strict schemas: a list of {name, value}."""
    value = whole(value, resolve)
    if isinstance(value, list) and all(isinstance(i, Mapping) and set(i) == {"name", "value"} for i in value):
        pairs = [(item["name"], item["value"]) for item in value]
        value = dict(pairs) if all(isinstance(name, str) for name, _ in pairs) else None
    if not isinstance(value, Mapping):
        raise bad_input(f"expected an object of name: {what}, got {describe(value)}", 'write {"x": "1/2"}')
    if len(value) > 100:
        raise LimitExceeded("size", f"an object of {len(value)} names, the bound is 100")
    return {str(name): item for name, item in value.items()}


def _read_operand(value: Json, resolve: Resolve) -> Node | tuple[Node, ...]:
    value = whole(value, resolve)
    if isinstance(value, list):
        _bounded(value)
        return tuple(_complex_entry(item, resolve) for item in value)
    return read_expr(value, resolve)


def _complex_entry(value: Json, resolve: Resolve) -> Node:
    """Read one element; a pair [re, im] is a complex number as results write it."""
    value = whole(value, resolve)
    if isinstance(value, list) and len(value) == 2:
        re, im = (to_text(read_expr(part, resolve)) for part in value)
        return parse(f"({re}) + ({im})*I")
    return read_expr(value, resolve)


def _read_value(value: Json, resolve: Resolve) -> Node:
    value = whole(value, resolve)
    if isinstance(value, list) and len(value) != 2:
        raise bad_input(f"expected one value, got {describe(value)}", "a complex number is written [re, im]")
    return _complex_entry(value, resolve)


def _bounded(value: list[Json]) -> None:
    if len(value) > ITEMS:
        raise LimitExceeded("size", f"a list of {len(value)}, the bound is {ITEMS}")


def _write_operand(value: Node | tuple[Node, ...]) -> Json:
    return [to_text(item) for item in value] if isinstance(value, tuple) else to_text(value)


def _same(value: Any) -> Json:
    return value


def _write_real(value: float) -> Json:
    return value if math.isfinite(value) else "oo" if value > 0 else "-oo"


def _write_floats(value: np.ndarray[Any, np.dtype[np.float64]]) -> Json:
    if np.isfinite(value).all():
        return value.tolist()
    return [_write_floats(row) if row.ndim else _write_real(float(row)) for row in value]


def or_reference(schema: Mapping[str, Json]) -> JsonObject:
    """Let a field that is no string take a reference too."""
    return {"anyOf": [dict(schema), REFERENCE_SCHEMA]}


_ROW = {"type": "array", "items": TEXT_SCHEMA}
EXPR = Kind("expr", TEXT_SCHEMA, read_expr, to_text)
EQUATION = Kind("equation", TEXT_SCHEMA, _read_equation, to_text)
RELATION = Kind("relation", TEXT_SCHEMA, _read_relation, to_text)
FORMULA = Kind("expr or equation", TEXT_SCHEMA, _read_formula, to_text)
ODE = Kind("equation", TEXT_SCHEMA, _read_ode, _same)
EXACT = Kind("number", {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}, _read_exact, to_text)
REAL = Kind("number", {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}, _read_real, _write_real)
INTEGER = Kind("int", or_reference({"type": "integer"}), _read_integer, _same)
BOOLEAN = Kind("bool", or_reference({"type": "boolean"}), _read_boolean, _same)
SYMBOL = Kind("symbol", TEXT_SCHEMA, _read_symbol, _same)
TEXT_KIND = Kind("text", TEXT_SCHEMA, _read_text, _same)
UNIT = Kind("unit", TEXT_SCHEMA, _read_unit, _same)
MATRIX = Kind("matrix", or_reference({"type": "array", "items": _ROW}), _read_matrix, matrix_text)
VECTOR = Kind("vector", or_reference(_ROW), _read_vector, lambda v: [to_text(item) for item in v])
FLOAT_MATRIX = Kind("matrix", or_reference({"type": "array", "items": _ROW}), _read_float_matrix, _write_floats)
FLOAT_VECTOR = Kind("vector", or_reference(_ROW), _read_float_vector, _write_floats)
OPERAND = Kind("expr or list", {"anyOf": [TEXT_SCHEMA, _ROW]}, _read_operand, _write_operand)
VALUE = Kind("expr", {"anyOf": [{"type": "number"}, TEXT_SCHEMA, _ROW]}, _read_value, to_text)
JSON_MAP = Kind("map", {"type": "object", "additionalProperties": TEXT_SCHEMA}, _read_object, _same)

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
        _bounded(value)
        return [_placed(f"[{i}]", inner, item, resolve) for i, item in enumerate(value)]

    schema = or_reference({"type": "array", "items": dict(inner.schema)})
    return Kind(f"list of {inner.name}", schema, read, lambda items: [inner.write(item) for item in items])


def _map(inner: Kind) -> Kind:
    def read(value: Json, resolve: Resolve) -> dict[str, Any]:
        named = _named(value, resolve, inner.name)
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
            raise bad_input(f"expected a number from {limits.low:g} to {limits.high:g}, got {number:g}")
        return number

    return Kind(kind.name, kind.schema, read, kind.write)


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameter annotations of a tool with their extras."""
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    return hints
