"""Matrices and vectors of expressions: nested lists to rectangular tuples of trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions.parser import number_node, parse
from maven_env.expressions.tree import Matrix, Node

ENTRIES = 10_000  # 100 x 100


def parse_entry(value: Any) -> Node:
    """Read one entry: a JSON number (a double through its shortest decimal) or expression text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ToolError(
            "PARSE_ERROR", f"a matrix entry must be a number or expression text, got {type(value).__name__}"
        )
    return parse(value) if isinstance(value, str) else number_node(value)


def parse_matrix(value: Any, entry: Callable[[Any], Node] = parse_entry) -> Matrix:
    """Read a list of rows. A flat list is a column. Raises SHAPE_MISMATCH for ragged or empty input."""
    if not isinstance(value, list) or not value:
        raise ToolError(
            "SHAPE_MISMATCH", "a matrix is a non-empty list of rows", 'write [["1", "1/2"], ["1/2", "1/3"]]'
        )
    rows = [row if isinstance(row, list) else [row] for row in value]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or 0 in widths:
        raise ToolError("SHAPE_MISMATCH", f"the rows have lengths {[len(row) for row in rows][:12]}, all must be equal")
    count = len(rows) * len(rows[0])
    if count > ENTRIES:
        raise LimitExceeded("size", f"{len(rows)} x {len(rows[0])} entries, the bound is {ENTRIES} in all")
    return tuple(tuple(entry(item) for item in row) for row in rows)
