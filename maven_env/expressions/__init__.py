"""Mathematics as text and as trees: the one parser, its bounds, and the ways down to sympy, python-flint and numpy."""

from maven_env.expressions.matrices import parse_matrix
from maven_env.expressions.parser import number_node, parse, parse_equation, parse_relation
from maven_env.expressions.text import matrix_text, to_text
from maven_env.expressions.tree import (
    Call,
    Constant,
    Matrix,
    Negative,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    difference,
    free_symbols,
    rational_value,
    replace,
    walk,
)

__all__ = [
    "Call",
    "Constant",
    "Matrix",
    "Negative",
    "Node",
    "Number",
    "Piecewise",
    "Power",
    "Product",
    "Quotient",
    "Relation",
    "Sum",
    "Symbol",
    "difference",
    "free_symbols",
    "matrix_text",
    "number_node",
    "parse",
    "parse_equation",
    "parse_matrix",
    "parse_relation",
    "rational_value",
    "replace",
    "to_text",
    "walk",
]
