"""Reading of arguments: how JSON becomes a typed value, with references put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from maven_env.errors import BadReference, LimitExceeded, ToolError
from maven_env.expressions import (
    Matrix,
    Node,
    Relation,
    free_symbols,
    number_node,
    parse,
    parse_equation,
    parse_matrix,
    parse_relation,
    to_text,
)
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.functions import ARITIES, CONSTANTS, RESERVED, UNICODE
from maven_env.references import PATTERN, is_reference
from maven_env.types import Json, JsonObject

ITEMS = 10_000  # of one list
TEXT = 2_000  # characters of plain text


Resolve = Callable[[str], Json]  # the text between the braces -> the JSON value there


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


def read_equation(value: Json, resolve: Resolve) -> Relation:
    value = whole(value, resolve)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = to_text(number_node(value))
    if not isinstance(value, str):
        raise _no_expression(value)
    return parse_equation(value, resolve=_atom(resolve) if "${" in value else None)


def read_relation(value: Json, resolve: Resolve) -> Node:
    value = whole(value, resolve)
    if not isinstance(value, str):
        raise bad_input(f"expected a relation as text, got {describe(value)}", 'write it as text, such as "x > 2"')
    return parse_relation(value, resolve=_atom(resolve) if "${" in value else None)


def read_formula(value: Json, resolve: Resolve) -> Node:
    value = whole(value, resolve)
    if isinstance(value, str):
        return parse_relation(value, resolve=_atom(resolve) if "${" in value else None)
    return read_expr(value, resolve)


def read_ode(value: Json, resolve: Resolve) -> str:
    """Put references in as bracketed text; the tool reads the equation, because it knows the unknown function."""
    value = whole(value, resolve)
    if not isinstance(value, str):
        raise _no_expression(value)
    put = _atom(resolve)
    return PATTERN.sub(lambda match: f"({to_text(put(match[1]))})", value)


def read_exact(value: Json, resolve: Resolve) -> Node:
    node = read_expr(value, resolve)
    missing = free_symbols(node)
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"a number is needed, {to_text(node)} has {', '.join(sorted(missing))}")
    return node


def read_real(value: Json, resolve: Resolve) -> float:
    node = read_exact(value, resolve)
    if to_text(node) in ("oo", "-oo"):
        return math.inf if to_text(node) == "oo" else -math.inf
    return nearest_double(node)


def _double(node: Node) -> float:
    missing = free_symbols(node)
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"a number is needed, {to_text(node)} has {', '.join(sorted(missing))}")
    return nearest_double(node)


def read_integer(value: Json, resolve: Resolve) -> int:
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


def read_boolean(value: Json, resolve: Resolve) -> bool:
    value = whole(value, resolve)
    if not isinstance(value, bool):
        raise bad_input(f"expected true or false, got {describe(value)}")
    return value


def read_symbol(value: Json, resolve: Resolve) -> str:
    value = whole(value, resolve)
    hint = 'write one name, such as "x"'
    if not isinstance(value, str):
        raise bad_input(f"expected the name of a symbol, got {describe(value)}", hint)
    name = value.strip().translate(UNICODE)
    if name in ARITIES or name in CONSTANTS or name in RESERVED:
        raise ToolError("UNKNOWN_SYMBOL", f"{name!r} is a function, constant or reserved word, no symbol", hint)
    node = parse(name) if name else None
    if node is None or free_symbols(node) != {name}:
        raise bad_input(f"expected the name of a symbol, got {describe(value)}", hint)
    return name


def read_text(value: Json, resolve: Resolve) -> str:
    value = whole(value, resolve)
    if not isinstance(value, str):
        raise bad_input(f"expected text, got {describe(value)}")
    if len(value) > TEXT:
        raise LimitExceeded("size", f"text of {len(value)} characters, the bound is {TEXT}")
    return value


def read_unit(value: Json, resolve: Resolve) -> str:
    if is_reference(value):
        value = resolve(value.strip()[2:-1])
    if isinstance(value, Mapping) and set(value) == {"value", "unit"}:
        value = value["unit"]
    if not isinstance(value, str):
        raise bad_input(f"expected a unit as text, got {describe(value)}", 'write it as text, such as "m/s^2"')
    if len(value) > 200:
        raise LimitExceeded("size", f"a unit of {len(value)} characters, the bound is 200")
    return value.strip()


def read_matrix(value: Json, resolve: Resolve) -> Matrix:
    return parse_matrix(_rows(value, resolve), lambda entry: read_expr(entry, resolve))


def _rows(value: Json, resolve: Resolve) -> Json:
    value = whole(value, resolve)
    return [whole(row, resolve) for row in value] if isinstance(value, list) else value


def read_vector(value: Json, resolve: Resolve) -> tuple[Node, ...]:
    matrix = read_matrix(value, resolve)
    if any(len(row) != 1 for row in matrix):
        raise ToolError(
            "SHAPE_MISMATCH", f"expected a vector, got {len(matrix)} x {len(matrix[0])}", "give a flat list"
        )
    return tuple(row[0] for row in matrix)


def read_float_matrix(value: Json, resolve: Resolve) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = _rows(value, resolve)
    if not isinstance(value, list):
        raise ToolError("SHAPE_MISMATCH", f"expected a list of rows, got {describe(value)}", "write [[1, 2], [3, 4]]")
    rows = [row if isinstance(row, list) else [row] for row in value]
    if not rows or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise ToolError("SHAPE_MISMATCH", f"the rows have lengths {[len(row) for row in rows][:12]}, all must be equal")
    if len(rows) * len(rows[0]) > ITEMS:
        raise LimitExceeded("size", f"{len(rows)} x {len(rows[0])} entries, the bound is {ITEMS} in all")
    return np.array([[_float_entry(entry, resolve) for entry in row] for row in rows], dtype=np.float64)


def read_float_vector(value: Json, resolve: Resolve) -> np.ndarray[Any, np.dtype[np.float64]]:
    matrix = read_float_matrix(value, resolve)
    if matrix.shape[1] != 1:
        raise ToolError("SHAPE_MISMATCH", f"expected a flat list, got {matrix.shape[0]} x {matrix.shape[1]}")
    return matrix[:, 0]


def _float_entry(value: Json, resolve: Resolve) -> float:
    """Read one entry; plain finite doubles take the short way."""
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return float(value)
    return _double(read_expr(value, resolve))


def read_object(value: Json, resolve: Resolve) -> JsonObject:
    named = read_named(value, resolve, "any value")
    return {name: read_json(item, resolve) for name, item in named.items()}


def read_json(value: Json, resolve: Resolve) -> Json:
    if isinstance(value, Mapping):
        return {str(key): read_json(item, resolve) for key, item in value.items()}
    if isinstance(value, list):
        return [read_json(item, resolve) for item in value]
    return whole(value, resolve)


def read_named(value: Json, resolve: Resolve, what: str) -> JsonObject:
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


def read_operand(value: Json, resolve: Resolve) -> Node | tuple[Node, ...]:
    value = whole(value, resolve)
    if isinstance(value, list):
        check_length(value)
        return tuple(_complex_entry(item, resolve) for item in value)
    return read_expr(value, resolve)


def _complex_entry(value: Json, resolve: Resolve) -> Node:
    """Read one element; a pair [re, im] is a complex number as results write it."""
    value = whole(value, resolve)
    if isinstance(value, list) and len(value) == 2:
        re, im = (to_text(read_expr(part, resolve)) for part in value)
        return parse(f"({re}) + ({im})*I")
    return read_expr(value, resolve)


def read_value(value: Json, resolve: Resolve) -> Node:
    value = whole(value, resolve)
    if isinstance(value, list) and len(value) != 2:
        raise bad_input(f"expected one value, got {describe(value)}", "a complex number is written [re, im]")
    return _complex_entry(value, resolve)


def check_length(value: list[Json]) -> None:
    if len(value) > ITEMS:
        raise LimitExceeded("size", f"a list of {len(value)}, the bound is {ITEMS}")
