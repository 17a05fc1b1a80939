"""Exact derivatives on the tree: for Jacobians and certified slopes without sympy. Only zeros and ones are folded."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import islice

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions.parser import number_node
from maven_env.expressions.tree import (
    ONE,
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
    Sum,
    Symbol,
    free_symbols,
    rational_value,
    walk,
)

NODES = 20_000  # of a derivative


def derivative(node: Node, name: str) -> Node:
    """Return the derivative of `node` by the symbol `name`.

    Corners (Abs, Min, Piecewise) are differentiated piece by piece. Raises ToolError(UNSOLVED) for a function without a
    rule, LimitExceeded where the result is beyond the bound.
    """
    result = _derive(node, name)
    if next(islice(walk(result), NODES, None), None) is not None:
        raise LimitExceeded("size", f"a derivative of more than {NODES} nodes", "simplify the expression")
    return result


def _derive(node: Node, name: str) -> Node:
    match node:
        case Symbol(other):
            return ONE if other == name else ZERO
        case Number() | Constant():
            return ZERO
        case Sum(items):
            return add(*(_derive(item, name) for item in items))
        case Negative(a):
            return negate(_derive(a, name))
        case Product(items):
            slopes = [_derive(item, name) for item in items]
            parts = ((*items[:i], slope, *items[i + 1 :]) for i, slope in enumerate(slopes) if slope != ZERO)
            return add(*(multiply(*part) for part in parts))
        case Quotient(a, b):
            top, bottom = _derive(a, name), _derive(b, name)
            first = divide(top, b)
            return (
                first
                if bottom == ZERO
                else add(first, negate(divide(multiply(a, bottom), Power(b, Number(Fraction(2))))))
            )
        case Power(a, b):
            return _power(a, b, name)
        case Call(function, arguments):
            return _call(function, arguments, name)
        case Piecewise(branches):
            return Piecewise(tuple((_derive(value, name), condition) for value, condition in branches))
    raise ToolError("BAD_INPUT", "a relation has no derivative", "give one side of it")


def _power(base: Node, exponent: Node, name: str) -> Node:
    slope, rise = _derive(base, name), _derive(exponent, name)
    if rise == ZERO:
        if slope == ZERO:
            return ZERO
        exact = rational_value(exponent)
        less = add(exponent, Negative(ONE)) if exact is None else number_node(exact - 1)
        return multiply(exponent, raised(base, less), slope)
    log = Call("log", (base,))
    whole = Power(base, exponent)
    if slope == ZERO:
        return multiply(whole, log, rise)
    return multiply(whole, add(multiply(rise, log), divide(multiply(exponent, slope), base)))


def _call(function: str, arguments: tuple[Node, ...], name: str) -> Node:
    slopes = [_derive(argument, name) for argument in arguments]
    if all(slope == ZERO for slope in slopes):
        return ZERO
    rule = _rules().get(function)
    if function == "log" and len(arguments) == 2:
        return _derive(Quotient(Call("log", arguments[:1]), Call("log", arguments[1:])), name)
    if rule is None or any(free_symbols(a) & {name} for a in arguments[:-1] if function in _LAST_ONLY):
        raise ToolError("UNSOLVED", f"no rule for the derivative of {function}", "try symbolic_diff")
    return add(*(multiply(part, slope) for part, slope in zip(rule(*arguments), slopes, strict=True) if slope != ZERO))


# ---- small builders --------------------------------------------------------------------------------------------------
def add(*terms: Node) -> Node:
    kept = tuple(term for term in terms if term != ZERO)
    return ZERO if not kept else kept[0] if len(kept) == 1 else Sum(kept)


def multiply(*factors: Node) -> Node:
    if any(factor == ZERO for factor in factors):
        return ZERO
    kept = tuple(factor for factor in factors if factor != ONE)
    return ONE if not kept else kept[0] if len(kept) == 1 else Product(kept)


def negate(node: Node) -> Node:
    return node if node == ZERO else node.operand if isinstance(node, Negative) else Negative(node)


def divide(top: Node, bottom: Node) -> Node:
    return ZERO if top == ZERO else top if bottom == ONE else Quotient(top, bottom)


def raised(base: Node, exponent: Node) -> Node:
    return ONE if exponent == ZERO else base if exponent == ONE else Power(base, exponent)


# Functions whose order or parameter stands first and takes no derivative here.
_LAST_ONLY = frozenset(
    ("besselj", "bessely", "besseli", "besselk", "polygamma", "lowergamma", "uppergamma", "expint", "zeta", "polylog")
)

Rule = Callable[..., tuple[Node, ...]]


@lru_cache(maxsize=1)
def _rules() -> dict[str, Rule]:
    def c(name: str, *arguments: Node) -> Node:
        return Call(name, arguments)

    def n(value: int | Fraction) -> Node:
        return number_node(Fraction(value))

    def sq(x: Node) -> Node:
        return Power(x, n(2))

    def one_minus(x: Node) -> Node:
        return Sum((ONE, Negative(sq(x))))

    def root(x: Node) -> Node:
        return c("sqrt", x)

    def bell(x: Node, sign: int) -> Node:
        inner = sq(x) if sign > 0 else Negative(sq(x))
        return Quotient(Product((n(2), c("exp", inner))), root(Constant("pi")))

    def half_sum(name: str, first: int, second: int) -> Rule:
        def rule(order: Node, x: Node) -> tuple[Node, ...]:
            lower, upper = c(name, Sum((order, n(-1))), x), c(name, Sum((order, ONE)), x)
            parts = Sum((lower if first > 0 else Negative(lower), upper if second > 0 else Negative(upper)))
            return ZERO, Quotient(parts, n(2))

        return rule

    half_pi = Quotient(Constant("pi"), n(2))
    return {
        "sin": lambda x: (c("cos", x),), "cos": lambda x: (Negative(c("sin", x)),),
        "tan": lambda x: (Sum((ONE, sq(c("tan", x)))),), "cot": lambda x: (Negative(Sum((ONE, sq(c("cot", x))))),),
        "sec": lambda x: (Product((c("sec", x), c("tan", x))),),
        "csc": lambda x: (Negative(Product((c("csc", x), c("cot", x)))),),
        "asin": lambda x: (Quotient(ONE, root(one_minus(x))),),
        "acos": lambda x: (Negative(Quotient(ONE, root(one_minus(x)))),),
        "atan": lambda x: (Quotient(ONE, Sum((ONE, sq(x)))),),
        "acot": lambda x: (Negative(Quotient(ONE, Sum((ONE, sq(x))))),),
        "sinh": lambda x: (c("cosh", x),), "cosh": lambda x: (c("sinh", x),),
        "tanh": lambda x: (Sum((ONE, Negative(sq(c("tanh", x))))),),
        "coth": lambda x: (Sum((ONE, Negative(sq(c("coth", x))))),),
        "sech": lambda x: (Negative(Product((c("sech", x), c("tanh", x)))),),
        "csch": lambda x: (Negative(Product((c("csch", x), c("coth", x)))),),
        "asinh": lambda x: (Quotient(ONE, root(Sum((sq(x), ONE)))),),
        "acosh": lambda x: (Quotient(ONE, Product((root(Sum((x, n(-1)))), root(Sum((x, ONE)))))),),
        "atanh": lambda x: (Quotient(ONE, one_minus(x)),), "acoth": lambda x: (Quotient(ONE, one_minus(x)),),
        "exp": lambda x: (c("exp", x),), "log": lambda x: (Quotient(ONE, x),),
        "sqrt": lambda x: (Quotient(ONE, Product((n(2), root(x)))),),
        "cbrt": lambda x: (Quotient(c("cbrt", x), Product((n(3), x))),),
        "Abs": lambda x: (c("sign", x),),
        "gamma": lambda x: (Product((c("gamma", x), c("digamma", x))),),
        "factorial": lambda x: (Product((c("factorial", x), c("digamma", Sum((x, ONE))))),),
        "loggamma": lambda x: (c("digamma", x),), "digamma": lambda x: (c("polygamma", ONE, x),),
        "polygamma": lambda m, x: (ZERO, c("polygamma", Sum((m, ONE)), x)),
        "erf": lambda x: (bell(x, -1),), "erfc": lambda x: (Negative(bell(x, -1)),), "erfi": lambda x: (bell(x, 1),),
        "Ei": lambda x: (Quotient(c("exp", x), x),), "li": lambda x: (Quotient(ONE, c("log", x)),),
        "Si": lambda x: (Quotient(c("sin", x), x),), "Ci": lambda x: (Quotient(c("cos", x), x),),
        "Shi": lambda x: (Quotient(c("sinh", x), x),), "Chi": lambda x: (Quotient(c("cosh", x), x),),
        "fresnels": lambda x: (c("sin", Product((half_pi, sq(x)))),),
        "fresnelc": lambda x: (c("cos", Product((half_pi, sq(x)))),),
        "airyai": lambda x: (c("airyaiprime", x),), "airybi": lambda x: (c("airybiprime", x),),
        "airyaiprime": lambda x: (Product((x, c("airyai", x))),),
        "airybiprime": lambda x: (Product((x, c("airybi", x))),),
        "besselj": half_sum("besselj", 1, -1), "bessely": half_sum("bessely", 1, -1),
        "besseli": half_sum("besseli", 1, 1), "besselk": half_sum("besselk", -1, -1),
        "atan2": lambda y, x: (
            Quotient(x, Sum((sq(x), sq(y)))), Negative(Quotient(y, Sum((sq(x), sq(y))))),
        ),
        "lowergamma": lambda s, x: (ZERO, Product((Power(x, Sum((s, n(-1)))), c("exp", Negative(x))))),
        "uppergamma": lambda s, x: (ZERO, Negative(Product((Power(x, Sum((s, n(-1)))), c("exp", Negative(x)))))),
    }  # fmt: skip
