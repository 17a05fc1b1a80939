"""Linear programmes in exact rational arithmetic: two-phase simplex with Bland's rule, which cannot cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from maven_env.errors import LimitExceeded, ToolError

VARIABLES = 40
ROWS = 60
PIVOTS = 2_000
BITS = 4_000

Row = list[Fraction]
Bound = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True)
class Optimum:
    x: list[Fraction]
    value: Fraction
    slack: list[Fraction]  # of the inequalities
    duals: list[Fraction]  # d value / d right side: inequalities, then equalities
    degenerate: bool
    alternatives: bool
    pivots: int


@dataclass(frozen=True)
class Programme:
    """Minimise c.x subject to upper x <= b_upper, equal x = b_equal, bounds."""

    c: Row
    upper: list[Row]
    b_upper: Row
    equal: list[Row]
    b_equal: Row
    bounds: Sequence[Bound]


class _Tableau:
    """Rows of [A | b] in the current basis; the last row holds reduced costs and minus the value."""

    def __init__(self, rows: list[Row], cost: Row, basis: list[int]) -> None:
        self.rows = rows
        self.cost = cost
        self.basis = basis
        self.pivots = 0

    def pivot(self, r: int, c: int) -> None:
        self.pivots += 1
        if self.pivots > PIVOTS:
            raise LimitExceeded("size", f"more than {PIVOTS} pivots", "make the programme smaller")
        factor = self.rows[r][c]
        row = self.rows[r] = [entry / factor for entry in self.rows[r]]
        if max(entry.denominator.bit_length() for entry in row) > BITS:
            raise LimitExceeded("size", "the exact numbers grow too long", "round the data")
        for other in (*(x for i, x in enumerate(self.rows) if i != r), self.cost):
            share = other[c]
            if share:
                other[:] = [a - share * b if b else a for a, b in zip(other, row, strict=True)]
        self.basis[r] = c

    def minimise(self, allowed: int) -> bool:
        """Pivot to the optimum over the first `allowed` columns; False if unbounded."""
        while True:
            column = next((j for j in range(allowed) if self.cost[j] < 0), None)
            if column is None:
                return True
            ratios = [(row[-1] / row[column], self.basis[i], i) for i, row in enumerate(self.rows) if row[column] > 0]
            if not ratios:
                return False
            self.pivot(min(ratios)[2], column)


def solve(programme: Programme) -> Optimum:
    """Return an optimal vertex. Raises INFEASIBLE, UNBOUNDED, LimitExceeded."""
    n = len(programme.c)
    if n > VARIABLES or len(programme.upper) + len(programme.equal) > ROWS:
        raise LimitExceeded("size", f"more than {VARIABLES} variables or {ROWS} constraints")
    columns, shifts = _columns(programme.bounds)
    rows, rights, kinds = _rows(programme, columns, shifts)
    tableau, sign_of, width = _phase_one(rows, rights, kinds, len(columns))
    cost = [Fraction(0)] * (len(tableau.cost))
    for j, (variable, sign) in enumerate(columns):
        cost[j] = programme.c[variable] * sign
    for i, b in enumerate(tableau.basis):
        if cost[b]:
            share = cost[b]
            cost[:] = [a - share * e for a, e in zip(cost, tableau.rows[i], strict=True)]
    tableau.cost = cost
    if not tableau.minimise(width):
        raise ToolError("UNBOUNDED", "the objective has no finite optimum", "a constraint or bound is missing")
    return _read(programme, tableau, columns, shifts, sign_of, width)


def _columns(bounds: Sequence[Bound]) -> tuple[list[tuple[int, int]], Row]:
    """Return nonnegative columns as (variable, sign), and what is added to each variable."""
    columns, shifts = [], []
    for j, (low, high) in enumerate(bounds):
        if low is not None:
            columns.append((j, 1))
            shifts.append(low)
        elif high is not None:
            columns.append((j, -1))
            shifts.append(high)
        else:
            columns += [(j, 1), (j, -1)]
            shifts.append(Fraction(0))
    return columns, shifts


def _rows(programme: Programme, columns: list[tuple[int, int]], shifts: Row) -> tuple[list[Row], Row, list[bool]]:
    """Return the constraints over the columns; the last ones are bounds that have two ends."""
    rows, rights, kinds = [], [], []
    for matrix, right, is_equal in (
        (programme.upper, programme.b_upper, False),
        (programme.equal, programme.b_equal, True),
    ):
        for row, b in zip(matrix, right, strict=True):
            rows.append([row[variable] * sign for variable, sign in columns])
            rights.append(b - sum((a * s for a, s in zip(row, shifts, strict=True)), Fraction(0)))
            kinds.append(is_equal)
    for j, (low, high) in enumerate(programme.bounds):
        if low is not None and high is not None:
            rows.append([Fraction(sign if variable == j else 0) for variable, sign in columns])
            rights.append(high - low)
            kinds.append(False)
    return rows, rights, kinds


def _phase_one(rows: list[Row], rights: Row, kinds: list[bool], n: int) -> tuple[_Tableau, list[int], int]:
    """Find a feasible basis. Columns: variables, slacks, artificials, right side."""
    slacks = sum(not is_equal for is_equal in kinds)
    width = n + slacks
    total = width + len(rows)
    tableau_rows: list[Row] = []
    signs: list[int] = []
    next_slack = n
    basis = []
    for i, (row, b, is_equal) in enumerate(zip(rows, rights, kinds, strict=True)):
        full = [*row, *([Fraction(0)] * (total - n)), b]
        if not is_equal:
            full[next_slack] = Fraction(1)
            next_slack += 1
        sign = -1 if b < 0 else 1
        full = [entry * sign for entry in full]
        full[width + i] = Fraction(1)
        signs.append(sign)
        tableau_rows.append(full)
        basis.append(width + i)
    cost = [Fraction(0)] * (total + 1)
    for row in tableau_rows:
        cost = [a - e for a, e in zip(cost, row, strict=True)]
    for i in range(len(rows)):
        cost[width + i] = Fraction(0)
    tableau = _Tableau(tableau_rows, cost, basis)
    tableau.minimise(width)
    if tableau.cost and tableau.cost[-1] != 0:
        raise ToolError("INFEASIBLE", "the constraints exclude every point", "check the signs of the constraints")
    for i in range(len(tableau.rows)):  # artificials that stayed in the basis at zero
        if tableau.basis[i] >= width:
            column = next((j for j in range(width) if tableau.rows[i][j] != 0), None)
            if column is not None:
                tableau.pivot(i, column)
    return tableau, signs, width


def _read(
    programme: Programme,
    tableau: _Tableau,
    columns: list[tuple[int, int]],
    shifts: Row,
    signs: list[int],
    width: int,
) -> Optimum:
    x = list(shifts)
    for i, b in enumerate(tableau.basis):
        if b < len(columns):
            variable, sign = columns[b]
            x[variable] += sign * tableau.rows[i][-1]
    value = sum((c * v for c, v in zip(programme.c, x, strict=True)), Fraction(0))
    slack = [
        b - sum((a * v for a, v in zip(row, x, strict=True)), Fraction(0))
        for row, b in zip(programme.upper, programme.b_upper, strict=True)
    ]
    count = len(programme.upper) + len(programme.equal)
    # the reduced cost of the artificial of row i is minus its dual, in the row's sign
    duals = [-tableau.cost[width + i] * signs[i] for i in range(count)]
    degenerate = any(tableau.rows[i][-1] == 0 for i, b in enumerate(tableau.basis) if b < width)
    return Optimum(x, value, slack, duals, degenerate, _has_alternatives(tableau, columns, width), tableau.pivots)


def _has_alternatives(tableau: _Tableau, columns: list[tuple[int, int]], width: int) -> bool:
    """Return whether a column of zero reduced cost can enter with a step that moves a variable."""
    basic = set(tableau.basis)
    pairs = {j: k for j, (v, s) in enumerate(columns) for k, (w, t) in enumerate(columns) if v == w and s == -t}
    for j in range(width):
        if j in basic or tableau.cost[j] != 0 or pairs.get(j) in basic:
            continue
        ratios = [row[-1] / row[j] for row in tableau.rows if row[j] > 0]
        if not ratios or min(ratios) > 0:
            return True
    return False
