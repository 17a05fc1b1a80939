"""Facts about when a value is right where another is."""

from __future__ import annotations

import pytest

from maven_env.scoring.equivalence import is_same_expression


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("|a*b| = 1", "|a|*|b| = 1"),
        ("|x - 1| < 2", "2 > |1 - x|"),
        ("y = max(x, 0)", "y = (x + |x|)/2"),
        ("T = 2*pi*sqrt(L/g)", "T = 2*pi*L/sqrt(L*g)"),
    ],
)
def test_relations_with_equal_sides_are_the_same(reference: str, value: str) -> None:
    assert is_same_expression(reference, value)
    assert is_same_expression(value, reference)


@pytest.mark.parametrize(
    ("reference", "value"),
    [("|x| = |y|", "x = y"), ("|x| = 1", "x = 1"), ("y = max(x, 0)", "y = x"), ("sign(x) = 1", "1 = 1")],
)
def test_relations_that_differ_at_negative_values_are_not_the_same(reference: str, value: str) -> None:
    """Symbols are positive elsewhere; a relation with a modulus is about signs."""
    assert not is_same_expression(reference, value)
    assert not is_same_expression(value, reference)
