"""Real solutions of equations of Lambert's form, in which the unknown stands beside one exponential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maven_env.expressions.algebra.kernels import Kernel, Ring
from maven_env.expressions.tree import ONE, Call, Negative, Node, Product, Quotient, Sum, free_symbols
from maven_env.tools.equations.branches import Unsolved, linear_parts, quotient_node, tidied
from maven_env.tools.equations.candidates import Candidate, by_powers, sign_of


def lambert_candidates(
    ring: Ring, factor: Any, kernel: Kernel, unknown: str, known: Mapping[str, Any]
) -> list[Candidate]:
    """Solve a x + b + c u = 0 and (a x + b) u + c = 0 with u = exp(p x) by Lambert's W."""
    assert kernel.argument is not None
    parts = linear_parts(ring.node(kernel.argument), unknown)
    rows = [by_powers(ring, part, kernel.index) for part in by_powers(ring, factor, 0)]
    if parts is None or parts[2] != 0 or len(rows) != 2 or max(map(len, rows)) > 2:
        raise Unsolved("the unknown stands beside an exponential in no form of Lambert's equation")
    p = quotient_node(parts[0], parts[1], parts[3])
    (b, c), (a, d) = ((*row, ring.zero)[:2] for row in rows)
    nodes = [ring.polynomial_node(part) for part in (a, b, c, d)]
    if d == 0:
        a_, b_, c_ = nodes[0], nodes[1], nodes[2]
        shift = Quotient(b_, a_)
        z: Node = Product((Quotient(Product((p, c_)), a_), Call("exp", (Negative(Product((p, shift))),))))
        sign = -1
    elif a == 0:  # (d x + c) u + b = 0
        shift = Quotient(nodes[2], nodes[3])
        z = Negative(Product((Quotient(Product((p, nodes[1])), nodes[3]), Call("exp", (Product((p, shift)),)))))
        sign = 1
    else:
        raise Unsolved("the unknown stands beside an exponential in no form of Lambert's equation")
    return _lambert_values(tidied(z), tidied(shift), p, sign, known)


def _lambert_values(z: Node, shift: Node, p: Node, sign: int, known: Mapping[str, Any]) -> list[Candidate]:
    decimals = {name: root for name, root in known.items() if name in free_symbols(Sum((z, shift, p)))}
    orders = [0]
    if not free_symbols(z) - set(decimals):
        value = sign_of(z, decimals)
        beyond = sign_of(Sum((z, Call("exp", (Negative(ONE),)))), decimals)  # z + 1/e
        if value is None or beyond is None:
            raise Unsolved("the branch of Lambert's function cannot be decided")
        orders = [] if beyond < 0 else [0, -1] if value < 0 and beyond > 0 else [0]
    else:
        orders = [0, -1]
    found = []
    for k in orders:
        w: Node = Call("LambertW", (z,)) if k == 0 else Call("LambertW", (z, Negative(ONE)))
        step = Quotient(w, p)
        node = tidied(Sum((Negative(shift), step if sign > 0 else Negative(step))))
        found.append(Candidate(node, decimals))
    return found
