"""Text to tree: a tokenizer and a Pratt parser. Nothing here evaluates anything.

`^` and `**` are powers (right-associative, above a sign on their left); `2x`, `2 x` and `(a)(b)` are products; `1/2x`,
`sin x`, `x(y+1)` and `1 2` are refused with the right form. `${...}` is an atom if the caller resolves references.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

from maven_env.errors import BadReference, ExpressionError, LimitExceeded
from maven_env.expressions import bounds
from maven_env.expressions.functions import ALIASES, ARITIES, CONSTANTS, RESERVED, UNICODE
from maven_env.expressions.tree import (
    ZERO,
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Relation,
    RelationOperator,
    Sum,
    Symbol,
    walk,
)

Resolve = Callable[[str], Node]  # the text between the braces of a reference -> its tree

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*_?)"
    r"|\$\{(?P<reference>[^{}]{1,200})\}"
    r"|(?P<operator>\*\*|<=|>=|==|!=|[-+*/^(),=<>!|]))",
    re.ASCII,
)
_RELATIONS: dict[str, RelationOperator] = {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class _Token:
    __slots__ = ("kind", "position", "text", "value")

    def __init__(self, kind: str, text: str, position: int, value: Fraction | None = None) -> None:
        self.kind = kind
        self.text = text
        self.position = position
        self.value = value


def _refuse(reason: str, message: str, position: int | None, hint: str = "") -> NoReturn:
    raise ExpressionError(reason, message, position, hint)


def _tokens(text: str) -> list[_Token]:
    if len(text) > bounds.CHARACTERS:
        raise LimitExceeded("size", f"{len(text)} characters, the bound is {bounds.CHARACTERS}", "split the expression")
    if not text.isascii():
        text = text.translate(UNICODE)
        if not text.isascii():
            position = next(i for i, c in enumerate(text) if ord(c) > 127)
            character = text[position].encode("unicode_escape").decode()
            _refuse("BAD_CHARACTER", f"character '{character}' is not read", position, "write names in ASCII letters")
    text = text.rstrip(" \t\r\n")
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            _refuse("BAD_CHARACTER", f"unexpected {text[position : position + 1]!r}", position)
        kind = match.lastgroup or ""
        start = match.start(kind)
        word = match[kind]
        if kind == "number":
            tokens.append(_Token("number", word, start, _literal(word, text[match.end() : match.end() + 1], start)))
        elif kind == "name":
            if len(word) > bounds.NAME_LENGTH or (word in RESERVED and word != "True"):
                _refuse("BAD_NAME", f"{word[:40]!r} is no name here", start, "use a short name of letters and digits")
            tokens.append(_Token("name", word, start))
        elif kind == "reference":
            tokens.append(_Token("reference", word, start))
        else:
            tokens.append(_Token("^" if word == "**" else word, word, start))
        position = match.end()
    tokens.append(_Token("end", "the end", len(text)))
    return tokens


def _literal(word: str, following: str, position: int) -> Fraction:
    mantissa, _, exponent = word.replace("E", "e").partition("e")
    if len(mantissa) > bounds.DIGITS:
        raise LimitExceeded("size", f"a literal of {len(mantissa)} digits, the bound is {bounds.DIGITS}")
    if exponent and (len(exponent) > 6 or abs(int(exponent)) > bounds.DECIMAL_EXPONENT):
        raise LimitExceeded("size", f"the literal {word[:20]} has an exponent beyond {bounds.DECIMAL_EXPONENT}")
    if word == "0" and following.isalpha():
        _refuse("SYNTAX", "hexadecimal and binary literals are not read", position, "write the number in decimal")
    return Fraction(word)


class _Parser:
    def __init__(self, text: str, functions: frozenset[str], resolve: Resolve | None) -> None:
        self.tokens = _tokens(text)
        self.index = 0
        self.depth = 0
        self.nodes = 0
        self.names: set[str] = set()
        self.functions = functions
        self.resolve = resolve

    # ---- token stream -----------------------------------------------------------------------------------------------
    @property
    def token(self) -> _Token:
        return self.tokens[self.index]

    def take(self, kind: str) -> _Token:
        token = self.token
        if token.kind != kind:
            _refuse("SYNTAX", f"expected {kind!r}, got {token.text!r}", token.position)
        self.index += 1
        return token

    def counted(self, node: Node) -> Node:
        self.nodes += 1
        if self.nodes > bounds.NODES:
            raise LimitExceeded("size", f"more than {bounds.NODES} nodes", "split the expression")
        return node

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > bounds.DEPTH:
            raise LimitExceeded("depth", f"nested deeper than {bounds.DEPTH}", "split the expression")

    # ---- grammar ----------------------------------------------------------------------------------------------------
    def whole(self, *, relation: bool) -> Node:
        node = self.relation() if relation else self.sum()
        if self.token.kind != "end":
            hint = (
                "an expression has no relation in it; give the side that is wanted"
                if self.token.kind in _RELATIONS
                else ""
            )
            _refuse("SYNTAX", f"unexpected {self.token.text!r}", self.token.position, hint)
        return node

    def relation(self) -> Node:
        left = self.sum()
        operator = _RELATIONS.get(self.token.kind)
        if operator is None:
            return left
        self.index += 1
        return self.counted(Relation(operator, left, self.sum()))

    def sum(self) -> Node:
        self.deeper()
        terms = [self.product()]
        while (kind := self.token.kind) in ("+", "-"):
            self.index += 1
            term = self.product()
            terms.append(term if kind == "+" else self.counted(Negative(term)))
        self.depth -= 1
        return terms[0] if len(terms) == 1 else self.counted(Sum(tuple(terms)))

    def product(self) -> Node:
        factors = [self.signed()]
        divided = False
        while True:
            token = self.token
            if token.kind == "*":
                self.index += 1
                factors.append(self.signed())
            elif token.kind == "/":
                self.index += 1
                divided = True
                top = factors[0] if len(factors) == 1 else self.counted(Product(tuple(factors)))
                factors = [self.counted(Quotient(top, self.signed()))]
            elif token.kind in ("name", "(", "reference"):
                if divided:
                    hint = "write 1/(2*x) or x/2"
                    _refuse(
                        "AMBIGUOUS", "a product without sign after '/' can be read in two ways", token.position, hint
                    )
                factors.append(self.power())
            elif token.kind == "number":
                _refuse("SYNTAX", "two numbers or terms stand side by side", token.position, "write * between them")
            else:
                return factors[0] if len(factors) == 1 else self.counted(Product(tuple(factors)))

    def signed(self) -> Node:
        negative, signs = False, 0
        while (kind := self.token.kind) in ("-", "+"):
            self.index += 1
            signs += 1
            negative ^= kind == "-"
            if signs > bounds.SIGNS:
                raise LimitExceeded("depth", f"more than {bounds.SIGNS} signs in a row")
        node = self.power()
        return self.counted(Negative(node)) if negative else node

    def power(self) -> Node:
        node = self.atom()
        if self.token.kind == "!":
            self.index += 1
            if self.token.kind == "!":
                _refuse("SYNTAX", "double factorials are not read", self.token.position, "write the product")
            node = self.counted(Call("factorial", (node,)))
        if self.token.kind == "^":
            self.index += 1
            self.deeper()
            node = self.counted(Power(node, self.signed()))
            self.depth -= 1
        return node

    def atom(self) -> Node:
        token = self.token
        self.index += 1
        match token.kind:
            case "number":
                return self.counted(Number(token.value or Fraction(0)))
            case "(":
                node = self.sum()
                self.take(")")
                return node
            case "|":
                node = self.sum()
                self.take("|")
                return self.counted(Call("Abs", (node,)))
            case "reference":
                return self.reference(token)
            case "name":
                return self.name(token)
        _refuse("SYNTAX", f"unexpected {token.text!r}", token.position)

    def reference(self, token: _Token) -> Node:
        if self.resolve is None:
            raise BadReference(f"${{{token.text}}} stands where no reference is read", "write the value or its name")
        node = self.resolve(token.text)
        for part in walk(node):
            self.counted(part)
        return node

    def name(self, token: _Token) -> Node:
        word, name = token.text, ALIASES.get(token.text, token.text)
        if self.token.kind == "(":
            if word == "Piecewise":
                return self.piecewise()
            if name in ARITIES or word in self.functions:
                return self.call(name if name in ARITIES else word, token)
            hint = f"for a product write {word}*(...)"
            _refuse("UNKNOWN_FUNCTION", f"{word!r} is no known function", token.position, hint)
        if word in RESERVED:
            _refuse("BAD_NAME", f"{word!r} is no name here", token.position, "use a short name of letters and digits")
        if word in CONSTANTS:
            return self.counted(Constant(CONSTANTS[word]))
        if name in ARITIES or word == "Piecewise":
            _refuse("SYNTAX", f"the function {word!r} needs parentheses", token.position, f"write {word}(x)")
        self.names.add(word)
        if len(self.names) > bounds.NAMES:
            raise LimitExceeded("size", f"more than {bounds.NAMES} different symbols")
        return self.counted(Symbol(word))

    def call(self, name: str, token: _Token) -> Node:
        self.take("(")
        arguments = [self.sum()]
        while self.token.kind == ",":
            self.index += 1
            arguments.append(self.sum())
        self.take(")")
        fewest, most = ARITIES.get(name, (1, 4))
        if not fewest <= len(arguments) <= most:
            takes = str(fewest) if fewest == most else f"{fewest} to {most}"
            _refuse("ARITY", f"{name} takes {takes} arguments, got {len(arguments)}", token.position)
        return self.counted(Call(name, tuple(arguments)))

    def piecewise(self) -> Node:
        """Read `Piecewise((value, condition), ..., (value, True))`, the way that results are written."""
        self.take("(")
        branches: list[tuple[Node, Relation | None]] = []
        while True:
            self.deeper()
            self.take("(")
            value = self.sum()
            self.take(",")
            branches.append((value, self.condition()))
            self.take(")")
            self.depth -= 1
            if self.token.kind != ",":
                break
            self.index += 1
        self.take(")")
        return self.counted(Piecewise(tuple(branches)))

    def condition(self) -> Relation | None:
        if self.token.kind == "name" and self.token.text in ("otherwise", "True"):
            self.index += 1
            return None
        position, node = self.token.position, self.relation()
        if not isinstance(node, Relation):
            _refuse("SYNTAX", "a branch needs a condition", position, "write Piecewise((x, x > 0), (0, otherwise))")
        return node


def _run(text: object, *, relation: bool, functions: frozenset[str], resolve: Resolve | None) -> Node:
    if not isinstance(text, str):
        _refuse(
            "TYPE", f"expected text, got {type(text).__name__}", None, 'write the expression as a JSON string: "2*x"'
        )
    node = _Parser(text, functions, resolve).whole(relation=relation)
    bounds.check(node)
    return node


@lru_cache(maxsize=16_384)
def _cached(text: str, relation: bool, functions: frozenset[str]) -> Node:
    return _run(text, relation=relation, functions=functions, resolve=None)


def parse(text: str, *, functions: frozenset[str] = frozenset(), resolve: Resolve | None = None) -> Node:
    """Read an expression.

    `functions` are names to be read as unknown functions, such as `y` in `y(x)`. `resolve` puts trees for `${...}`.
    Raises ExpressionError (text that is no expression), LimitExceeded (beyond the bounds), BadReference.
    """
    if resolve is None and type(text) is str and len(text) <= 2_000:
        return _cached(text, False, functions)
    return _run(text, relation=False, functions=functions, resolve=resolve)


def parse_relation(text: str, *, functions: frozenset[str] = frozenset(), resolve: Resolve | None = None) -> Node:
    """Read a relation such as `x^2 <= 4`; text without a relation sign is read as an expression."""
    if resolve is None and type(text) is str and len(text) <= 2_000:
        return _cached(text, True, functions)
    return _run(text, relation=True, functions=functions, resolve=resolve)


def parse_equation(text: str, *, functions: frozenset[str] = frozenset(), resolve: Resolve | None = None) -> Relation:
    """Read `left = right`; an expression alone is read as `expression = 0`."""
    node = parse_relation(text, functions=functions, resolve=resolve)
    if not isinstance(node, Relation):
        return Relation("=", node, ZERO)
    if node.operator != "=":
        _refuse("SYNTAX", f"expected an equation, got the relation {node.operator!r}", None, "write left = right")
    return node


def number_node(value: int | float | Fraction) -> Node:
    """Return the tree of a JSON number: exact, a double through its shortest decimal form."""
    if isinstance(value, float):
        if value != value:
            raise ExpressionError("UNDEFINED", "nan is no number", None, "ask why the earlier step gave no number")
        if value in (float("inf"), float("-inf")):
            return Constant("oo") if value > 0 else Negative(Constant("oo"))
        value = Fraction(repr(value))
    exact = Fraction(value)
    if exact < 0:
        return Negative(number_node(-exact))
    return Number(exact)
