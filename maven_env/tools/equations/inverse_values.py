"""Values of inverse functions: where a function takes a value, and sine and cosine of an inverse angle."""

from __future__ import annotations

from fractions import Fraction

from maven_env.expressions.algebra.kernels import Kernel
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.tree import ONE, Call, Negative, Node, Number, Power, Product, Quotient, Sum
from maven_env.tools.equations.branches import PI, Unsolved
from maven_env.tools.equations.candidates import BITS, Candidate


def preimages(kernel: Kernel, u: Node, real: bool) -> list[Node]:
    """Return the arguments at which the function of a kernel has the value u."""
    one = {
        "log": "exp",
        "asin": "sin",
        "acos": "cos",
        "atan": "tan",
        "asinh": "sinh",
        "acosh": "cosh",
        "atanh": "tanh",
    }
    if kernel.kind in one:
        return [Call(one[kernel.kind], (u,))]
    if kernel.kind == "root":
        return [Power(u, Number(Fraction(kernel.order)))]
    if kernel.kind == "Abs" and real:
        return [u, Negative(u)]
    if kernel.kind == "LambertW":
        return [Product((u, Call("exp", (u,))))]
    if kernel.kind in ("erf", "erfc") and real:
        return [Call(f"{kernel.kind}inv", (u,))]
    raise Unsolved(f"the function {kernel.kind} has no inverse here")


def angle_of(value: Candidate) -> Node:
    """Return 2 atan(t), as a multiple of pi where it is one."""
    whole = Product((Number(Fraction(2)), Call("atan", (value.node,))))
    if value.parameters:
        return whole
    with precision(BITS):
        from flint import acb

        try:
            turns = value.known(BITS)
            ratio = (2 * ball(value.node, turns).atan() / acb.pi()).real * 120
        except Undecided:
            return whole
        near = ratio.unique_fmpz() if ratio.rad() < 1e-100 else None
    if near is None:
        return whole
    size = Product((Number(Fraction(abs(int(near)), 120)), PI))
    return size if near >= 0 else Negative(size)


def sine_and_cosine(kind: str, a: Node) -> tuple[Node, Node]:
    """Return sin and cos of asin(a), acos(a) or atan(a)."""
    square = Power(a, Number(Fraction(2)))
    rest = Call("sqrt", (Sum((ONE, Negative(square))),))
    if kind == "asin":
        return a, rest
    if kind == "acos":
        return rest, a
    norm = Call("sqrt", (Sum((ONE, square)),))
    return Quotient(a, norm), Quotient(ONE, norm)
