"""Tree to text, in the form that the parser reads back: `-88*x/25`, `3*A*t^2 - 2*B*t + C`."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from maven_env.errors import LimitExceeded
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
)

# Binding strength: what stands inside something that binds tighter gets brackets.
_SUM, _SIGN, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4, 5

WRITTEN_BITS = 14_000  # of one integer: Python refuses to write more than 4,300 digits


@lru_cache(maxsize=16_384)
def to_text(node: Node) -> str:
    """Write `node` so that parsing gives the same mathematical value back."""
    return _write(node)[0]


def matrix_text(matrix: Matrix) -> list[list[str]]:
    """Write the entries of a matrix."""
    return [[to_text(entry) for entry in row] for row in matrix]


def _write(node: Node) -> tuple[str, int]:
    match node:
        case Number(value):
            return _number(value)
        case Symbol(name) | Constant(name):
            return name, _ATOM
        case Sum(terms):
            return _sum(terms), _SUM
        case Negative(operand):
            return f"-{_inside(operand, _PRODUCT)}", _SIGN
        case Product(factors):
            return _led("*".join(_inside(f, _POWER if i else _SIGN) for i, f in enumerate(factors)))
        case Quotient(top, bottom):
            return _led(f"{_inside(top, _SIGN)}/{_inside(bottom, _POWER)}")
        case Power(base, exponent):
            return f"{_inside(base, _ATOM)}^{_inside(exponent, _ATOM)}", _POWER
        case Call(name, arguments):
            return f"{name}({', '.join(_write(a)[0] for a in arguments)})", _ATOM
        case Relation(operator, left, right):
            return f"{_write(left)[0]} {operator} {_write(right)[0]}", 0
        case Piecewise(branches):
            parts = (f"({_write(v)[0]}, {'otherwise' if c is None else _write(c)[0]})" for v, c in branches)
            return f"Piecewise({', '.join(parts)})", _ATOM


def _led(text: str) -> tuple[str, int]:
    """A leading sign binds its first factor only, so `-88*x/25` needs no brackets but is no inner factor."""
    return text, _SIGN if text.startswith("-") else _PRODUCT


def _number(value: Fraction) -> tuple[str, int]:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > WRITTEN_BITS:
        raise LimitExceeded("size", "an exact number here is too long to be written out", "use smaller numbers")
    if value < 0:
        return str(value), _SIGN
    return str(value), _ATOM if value.denominator == 1 else _PRODUCT


def _sum(terms: tuple[Node, ...]) -> str:
    text = _inside(terms[0], _SIGN)
    for term in terms[1:]:
        if isinstance(term, Negative):
            text += f" - {_inside(term.operand, _PRODUCT)}"
        else:
            written = _inside(term, _SIGN)
            text += f" - {written[1:]}" if written.startswith("-") and isinstance(term, Number) else f" + {written}"
    return text


def _inside(node: Node, at_least: int) -> str:
    text, strength = _write(node)
    return text if strength >= at_least else f"({text})"
