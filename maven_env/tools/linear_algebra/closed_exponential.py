"""The exponential of a small matrix in closed form, checked by ball arithmetic. Runs sympy: guarded process only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Matrix, Node, Product, free_symbols
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.symbolic import from_sympy, matrix_to_sympy, sympy_text, to_sympy
from maven_env.tools.results import declining

_SAMPLES = ((7, 5), (11, 9), (4, 13))


def closed_exponential(
    matrix: Matrix, t: Node, vector: Sequence[Node] | None
) -> tuple[list[list[str]], list[str] | None]:
    """Return texts of exp(A*t) and of its product with a vector. Raises UNSOLVED."""
    import sympy

    with declining("no closed form of the exponential", "use method pade with numbers"):
        value = (matrix_to_sympy(matrix) * to_sympy(t)).exp()
        value = sympy.Matrix(value).applyfunc(_readable)
        column = None
        if vector is not None:
            column = (value * sympy.Matrix([to_sympy(v) for v in vector])).applyfunc(_readable)
        trees = [[from_sympy(entry) for entry in row] for row in value.tolist()]
    _check(matrix, t, trees)
    table = [[sympy_text(entry) for entry in row] for row in value.tolist()]
    return table, None if column is None else [sympy_text(entry) for entry in column]


def _readable(entry: Any) -> Any:
    """Return the shortest of a few equal forms; oscillations come as complex exponentials."""
    import sympy

    forms = [entry, sympy.simplify(entry)]
    if entry.has(sympy.I):
        forms.append(sympy.simplify(sympy.expand(entry.rewrite(sympy.cos))))
        forms.append(sympy.simplify(sympy.expand(entry, complex=False).rewrite(sympy.sin)))
    return min(forms, key=lambda form: (form.has(sympy.I), form.count_ops(), str(form)))


def _check(matrix: Matrix, t: Node, closed: list[list[Node]]) -> None:
    """Compare with the exponential in ball arithmetic at fixed points. Raises UNSOLVED where they differ."""
    from flint import acb, acb_mat, fmpq

    names = sorted(frozenset().union(free_symbols(t), *(free_symbols(e) for row in matrix for e in row)))
    checked = 0
    for a, b in _SAMPLES if names else _SAMPLES[:1]:
        with precision(256):
            values = {name: acb(fmpq(a + 3 * i, b + i)) for i, name in enumerate(names)}
            try:
                truth = acb_mat([[ball(Product((e, t)), values) for e in row] for row in matrix]).exp()
                found = acb_mat([[ball(e, values) for e in row] for row in closed])
            except (ToolError, ValueError, ZeroDivisionError):
                continue
            tight = all(e.rad() < 1e-20 for row in found.tolist() for e in row)
            if not truth.overlaps(found):
                raise ToolError("UNSOLVED", "the closed form failed its check", "use method pade with numbers")
            checked += int(tight)
    if not checked:
        raise ToolError("UNSOLVED", "the closed form could not be checked", "use method pade with numbers")
