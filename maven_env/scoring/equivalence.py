"""Whether a value is right where another is: answer forms and targets of checks, over the equality of expressions."""

from __future__ import annotations

import math
from cmath import isfinite
from collections.abc import Sequence
from functools import lru_cache

from maven_env.errors import ToolError
from maven_env.expressions import Call, Node, free_symbols, number_node, parse, parse_relation, walk
from maven_env.expressions.balls import nearest_complex
from maven_env.expressions.equality import Domain, close, equal
from maven_env.expressions.tree import Relation
from maven_env.types import AnswerForm, Checkpoint, Json

_OF_SIGN = ("Abs", "sign", "Max", "Min")
_LIST_FORMS = ("set", "multiset", "tuple", "vector", "matrix", "interval")


def is_same(reference: Json, value: Json, point: Checkpoint) -> bool:
    """Return whether `value` is right where `reference` is, under the form and tolerance of `point`.

    What cannot be read, or cannot be decided, is not right.
    """
    if reference is None or value is None:
        return reference is None and value is None
    return _same(reference, value, point.form, point.rtol, point.atol)


def _same(reference: Json, value: Json, form: AnswerForm, rtol: float, atol: float) -> bool:
    if form in ("set", "multiset"):
        items = value if isinstance(value, list) else [value]
        return len(items) == len(reference) and _matched(reference, items, rtol, atol)
    if form in _LIST_FORMS:
        if form == "vector" and isinstance(value, list):
            value = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value]
        if not isinstance(reference, list):
            return not isinstance(value, list) and is_same_number(reference, value, rtol, atol)
        if not isinstance(value, list) or len(value) != len(reference):
            return False
        return all(_same(a, b, form, rtol, atol) for a, b in zip(reference, value, strict=True))
    if form == "choice":
        return isinstance(value, str) and _word(value) == _word(reference)
    if form == "boolean":
        return isinstance(value, bool | str) and _word(value) == _word(reference)
    if form == "integer":
        return is_same_number(reference, value, 0.0, 0.0)
    if form == "expression":
        return is_same_expression(reference, value)
    return is_same_number(reference, value, rtol, atol)


def _word(text: Json) -> str:
    return " ".join(str(text).replace("_", " ").split()).strip(" .`\"'").casefold()


def _matched(left: Sequence[Json], right: Sequence[Json], rtol: float, atol: float) -> bool:
    rest = list(right)
    for item in left:
        found = next((i for i, other in enumerate(rest) if is_same_number(item, other, rtol, atol)), None)
        if found is None:
            return False
        rest.pop(found)
    return True


def _text(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list) and len(value) == 2 and all(_text(part) is not None for part in value):
        return f"({_text(value[0])}) + ({_text(value[1])})*I"  # a complex number as results write it
    return None


def is_same_number(reference: Json, value: Json, rtol: float, atol: float) -> bool:
    if isinstance(value, bool) or isinstance(reference, bool):
        return False
    if isinstance(value, list) and len(value) == 1:
        value = value[0]  # the only root, the only solution
    left, right = _text(reference), _text(value)
    if left is None or right is None:
        return False
    a, b = _approximate(left), _approximate(right)
    if a is None or b is None:
        return False
    if not (isfinite(a) and isfinite(b)):
        return a == b
    if max(abs(part) for part in (a.real, a.imag, b.real, b.imag)) > 1e150:
        return _close(left, right, rtol, atol)  # beyond where doubles can be compared
    if abs(a - b) > 2 * (rtol * abs(a) + atol) + 1e-9 * abs(a) + 1e-300:
        return False  # surely different: the exact comparison costs more
    return _close(left, right, rtol, atol)


@lru_cache(maxsize=65_536)
def _approximate(text: str) -> complex | None:
    """Return the nearest complex double of closed text, or None."""
    if text in ("oo", "-oo"):
        return complex(float(text.replace("oo", "inf")))
    try:
        return complex(float(text))
    except ValueError:
        pass
    try:
        node = parse(text)
        return None if free_symbols(node) else nearest_complex(node)
    except (ToolError, ValueError, OverflowError, ZeroDivisionError):
        return None


@lru_cache(maxsize=65_536)
def _close(left: str, right: str, rtol: float, atol: float) -> bool:
    try:
        return close(_read(left), _read(right), rtol, atol) == "equal"
    except ToolError:
        return False


def _read(text: str) -> Node:
    """Read closed text; text in the form of a JSON number goes the way of JSON numbers."""
    try:
        return parse(text)
    except ToolError:
        return number_node(float(text)) if _is_float(text) else parse(text)


def _is_float(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@lru_cache(maxsize=65_536)
def _same_expression_text(left: str, right: str) -> bool:
    try:
        a, b = parse_relation(left), parse_relation(right)
        if isinstance(a, Relation) or isinstance(b, Relation):
            return _same_relation(a, b)
        if free_symbols(a) != free_symbols(b) and not (
            free_symbols(a) <= free_symbols(b) or free_symbols(b) <= free_symbols(a)
        ):
            return False
        return equal(a, b) == "equal"
    except ToolError:
        return False


def _same_relation(a: Node, b: Node) -> bool:
    """Compare relations side by side, as they stand or turned round.

    Symbols are positive, but with |x| in a relation its signs matter: |x| = 1 is not x = 1.
    """
    if not (isinstance(a, Relation) and isinstance(b, Relation)):
        return False
    flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
    domains: list[Domain] = [{}]
    if any(isinstance(part, Call) and part.function in _OF_SIGN for side in (a, b) for part in walk(side)):
        domains.append(dict.fromkeys(free_symbols(a) | free_symbols(b), (None, None)))
    straight = a.operator == b.operator and _same_sides((a.left, a.right), (b.left, b.right), domains)
    turned = flipped[a.operator] == b.operator and _same_sides((a.left, a.right), (b.right, b.left), domains)
    return straight or turned


def _same_sides(left: Sequence[Node], right: Sequence[Node], domains: Sequence[Domain]) -> bool:
    return all(equal(x, y, domain) == "equal" for domain in domains for x, y in zip(left, right, strict=True))


def is_same_expression(reference: Json, value: Json) -> bool:
    left, right = _text(reference), _text(value)
    if left is None or right is None:
        return False
    return left == right or _same_expression_text(left, right)
