"""The matrices of linear_algebra, by every tool that takes one.

A numeric answer is right if its error is within what its diagnostics claim, or within 1e-8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from cases import (
    Case,
    Check,
    Judge,
    Judgement,
    Set,
    Tools,
    Truth,
    fractions,
    is_near,
    judgement,
    number,
    printed,
    refused,
)

from maven_env.types import Artifact, JsonObject

FILE = "linear_algebra"
RTOL = 1e-8  # of a numeric solution, where the tool claims no wider error
EIGENVALUE_RTOL = 1e-13
INEXACT = 0.1  # a claimed relative error beyond this is no answer


def _each(check: Check, applies: Callable[[JsonObject], bool]) -> Callable[[Truth], Iterator[Case]]:
    def cases(truth: Truth) -> Iterator[Case]:
        for item in truth.items(FILE):
            if applies(item):
                yield Case(item["id"], partial(check, item=item))

    return cases


def _is_square(item: JsonObject) -> bool:
    return bool(item["shape"][0] == item["shape"][1])


def _is_regular(item: JsonObject) -> bool:
    return item.get("det_exact") not in (None, "0")


def _is_singular(item: JsonObject) -> bool:
    return item.get("det_exact") == "0"


# ---- determinants ----------------------------------------------------------------------------------------------------
def _determinant(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("matrix_determinant", matrix=item["matrix"])
    if not artifact.ok:
        return refused(artifact, item["det"])
    if item["det_exact"] is not None:
        is_right = Fraction(artifact.output["expr"]) == Fraction(item["det_exact"])
        return judgement(is_right, artifact.output["expr"], item["det_exact"])
    return judgement(is_near(number(artifact.output["value"]), printed(item["det"]), 1e-14), artifact.output)


def _determinant_numeric(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("matrix_determinant_numeric", matrix=item["matrix"])
    expected = float(item["det"])
    if not artifact.ok:
        return refused(artifact, expected, ("SINGULAR",) if item["cond_2"] != "inf" and _is_tame(item) else ())
    value, bound = artifact.output["value"], artifact.diagnostics["relative_error_bound"]
    error = abs(value - expected) / abs(expected) if expected else math.inf
    return judgement(error <= max(RTOL, bound) and error < INEXACT, f"{value} to {bound:.1e}", expected)


def _is_tame(item: JsonObject) -> bool:
    return float(item["cond_2"]) < 1e12


# ---- linear systems --------------------------------------------------------------------------------------------------
def _systems(item: JsonObject) -> list[tuple[list[str], list[str]]]:
    """Return right-hand sides with exact solutions: one made here, and the published ones."""
    made = [Fraction((-1) ** k * (k + 1), 3) for k in range(item["shape"][0])]
    rows = [fractions(row) for row in item["matrix"]]
    side = [sum((a * x for a, x in zip(row, made, strict=True)), Fraction(0)) for row in rows]
    published = [(pair["b"], pair["x"]) for pair in item.get("rhs_pairs", [])]
    return [([str(value) for value in side], [str(value) for value in made]), *published]


def _solved(tool: str, **options: object) -> Check:
    def check(tools: Tools, item: JsonObject) -> Judgement:
        found = [
            _judge_solution(tools.call(tool, matrix=item["matrix"], rhs=side, **options), solution)
            for side, solution in _systems(item)
        ]
        return next((judged for judged in found if judged.verdict != "right"), found[0])

    return check


def _judge_solution(artifact: Artifact, expected: list[str]) -> Judgement:
    if not artifact.ok:
        return refused(artifact, expected, ("NO_SOLUTION",))
    came = artifact.output["solution"]
    if artifact.diagnostics.get("exact"):
        return judgement(fractions(came) == fractions(expected), came, expected)
    if artifact.diagnostics.get("rank_deficient"):
        return Judgement("declined", "said to be rank deficient", str(expected))
    bound = artifact.diagnostics["forward_error_bound"]
    size = max(abs(value) for value in fractions(expected))
    errors = [abs(Fraction(a) - Fraction(b)) / size for a, b in zip(came, expected, strict=True)]
    return judgement(float(max(errors)) <= max(RTOL, bound), f"{came} to {bound:.1e}", expected)


def _singular(tool: str) -> Check:
    """A singular matrix with a right-hand side outside its range: an error, or a rank that is short."""

    def check(tools: Tools, item: JsonObject) -> Judgement:
        side = [1] + [0] * (item["shape"][0] - 1)
        artifact = tools.call(tool, matrix=item["matrix"], rhs=side)
        if artifact.ok:
            return judgement(bool(artifact.diagnostics.get("rank_deficient")), artifact.output, "singular")
        is_said = artifact.error is not None and artifact.error.code in ("SINGULAR", "RANK_DEFICIENT", "NO_SOLUTION")
        return Judgement("right" if is_said else "declined", refused(artifact).came)

    return check


def _inverse(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("matrix_inverse", matrix=item["matrix"])
    if _is_singular(item):
        return judgement(not artifact.ok, artifact.output or artifact.error, "singular")
    if not artifact.ok:
        return refused(artifact, "", ("SINGULAR",) if _is_tame(item) else ())
    exact = tools.call("matrix_inverse", matrix=item["matrix"], arithmetic="exact").output["matrix"]
    wanted = [fractions(row) for row in exact]
    error = max(
        sum(abs(Fraction(a) - b) for a, b in zip(row, truth, strict=True))
        for row, truth in zip(artifact.output["matrix"], wanted, strict=True)
    ) / max(sum(map(abs, row)) for row in wanted)
    bound = artifact.diagnostics["relative_error_bound"]
    return judgement(float(error) <= max(RTOL, bound), f"error {float(error):.1e}", f"below {bound:.1e}")


def _exact_inverse(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("matrix_inverse", matrix=item["matrix"], arithmetic="exact")
    if not artifact.ok:
        return refused(artifact, "", ("SINGULAR",))
    rows, columns = ([fractions(row) for row in matrix] for matrix in (item["matrix"], artifact.output["matrix"]))
    size = range(len(rows))
    unit = all(sum(rows[i][k] * columns[k][j] for k in size) == (i == j) for i in size for j in size)
    return judgement(unit, "matrix * inverse" if unit else artifact.output["matrix"], "the unit matrix")


# ---- eigenvalues, singular values, rank ------------------------------------------------------------------------------
def _farthest(came: list[complex], expected: list[complex], allowed: list[float]) -> str:
    """Match each value with the nearest that is left and say which lie farther off than allowed."""
    left, notes = list(expected), []
    for value, bound in zip(came, allowed, strict=True):
        nearest = min(left, key=lambda other: abs(other - value))
        left.remove(nearest)
        if abs(nearest - value) > max(bound, EIGENVALUE_RTOL * abs(value)):
            notes.append(f"{value} is {abs(nearest - value):.1e} off")
    return "; ".join(notes)


def _eigenvalues_numeric(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("eigen_numeric", matrix=item["matrix"])
    if not artifact.ok:
        return refused(artifact, item["eigenvalues"])
    came = [number(value) for value in artifact.output["eigenvalues"]]
    notes = _farthest(came, [printed(v) for v in item["eigenvalues"]], artifact.diagnostics["error_bounds"])
    return judgement(not notes, notes or "within its bounds", item["eigenvalues"])


def _eigenvalues_exact(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("eigen_symbolic", matrix=item["matrix"])
    if not artifact.ok:
        return refused(artifact, item["eigenvalues"])
    pairs = zip(artifact.output["values"], artifact.output["multiplicities"], strict=True)
    came = [number(value) for value, count in pairs for _ in range(count)]
    expected = [printed(value) for value in item["eigenvalues"]]
    if len(came) != len(expected):
        return Judgement("wrong", f"{len(came)} eigenvalues", str(len(expected)))
    notes = _farthest(came, expected, [1e-16] * len(came))
    return judgement(not notes, notes or "equal", item["eigenvalues"])


def _defective(tools: Tools, item: JsonObject) -> Judgement:
    """One eigenvalue, three times, with one eigenvector."""
    artifact = tools.call("eigen_symbolic", matrix=item["matrix"])
    if not artifact.ok:
        return refused(artifact, item["eigenvalues_exact"])
    came = [artifact.output[key] for key in ("eigenvalues", "multiplicities", "geometric")]
    is_right = came == [["2"], [3], [1]] and not artifact.diagnostics["diagonalizable"]
    return judgement(is_right, came, item["eigenvalues_exact"])


def _singular_values(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("svd_decompose", matrix=item["matrix"])
    if not artifact.ok:
        return refused(artifact, item["singular_values"])
    allowed = artifact.diagnostics["error_bound"]
    notes = []
    for came, expected in zip(artifact.output["singular_values"], item["singular_values"], strict=False):
        if expected == "...":
            break
        if not is_near(came, float(expected), 1e-12, allowed):
            notes.append(f"{came} for {expected}")
    rank = artifact.output["rank"]
    if rank != item["rank"] and artifact.diagnostics["condition_number"] < 1 / 1e-12:
        notes.append(f"rank {rank}")
    return judgement(not notes, "; ".join(notes) or f"rank {rank}", f"rank {item['rank']}")


def _rank(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("null_space", matrix=item["matrix"])
    if not artifact.ok:
        return refused(artifact, item["rank"])
    return judgement(artifact.output["rank"] == item["rank"], artifact.output["rank"], item["rank"])


def _condition(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("check_condition", kind="matrix", matrix=item["matrix"])
    if not artifact.ok:
        return refused(artifact, item["cond_2"])
    came = artifact.output["condition_number"]
    if came is None:
        return Judgement("declined", "no condition number", item["cond_2"])
    is_right = is_near(number(came), complex(float(item["cond_2"])), 1e-9)
    return judgement(is_right, came, item["cond_2"])


# ---- single ones -----------------------------------------------------------------------------------------------------
def judge_stiff_exponential(matrix: Any) -> Judge:
    """The exponential with entries near 1e-108 (scipy issue 19584)."""

    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("matrix_exponential", matrix=matrix)
        if not artifact.ok:
            return refused(artifact, 5.3392022e-108)
        entry = artifact.output["matrix"][1][0]
        return judgement(is_near(number(entry), 5.3392022e-108, 1e-7), entry, 5.3392022e-108)

    return judge


def _echelon(matrix: Any) -> Judge:
    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("null_space", matrix=matrix)
        if not artifact.ok:
            return refused(artifact)
        expected = [["1", "0", "-1", "0", "2"], ["0", "1", "2", "0", "-1"], ["0", "0", "0", "1", "3"]]
        return judgement(artifact.output["rref"][:3] == expected, artifact.output["rref"], expected)

    return judge


def _lauchli(matrix: Any, tool: str) -> Judge:
    """The right-hand side of the solution (1, 1, 1)."""

    def judge(tools: Tools) -> Judgement:
        tiny = "1/100000000"
        artifact = tools.call(tool, matrix=matrix, rhs=["3", tiny, tiny, tiny])
        if not artifact.ok:
            return refused(artifact, [1, 1, 1])
        is_right = all(is_near(number(value), 1, 1e-6) for value in artifact.output["solution"])
        return judgement(is_right, artifact.output["solution"], [1, 1, 1])

    return judge


def judge_power_ranks(item: JsonObject) -> Judge:
    """The ranks of A - iI and of its powers (sympy issue 15872)."""

    def judge(tools: Tools) -> Judgement:
        rows = [[f"{v} - I" if i == j else v for j, v in enumerate(row)] for i, row in enumerate(item["matrix"])]
        power, ranks = rows, []
        for _ in range(3):
            artifact = tools.call("null_space", matrix=power)
            if not artifact.ok:
                return refused(artifact, [3, 2, 2])
            ranks.append(artifact.output["rank"])
            power = tools.call("matrix_product", factors=[power, rows], arithmetic="exact").output["matrix"]
        return judgement(ranks == [3, 2, 2], ranks, [3, 2, 2])

    return judge


def _single(truth: Truth) -> Iterator[Case]:
    matrices = {item["id"]: item["matrix"] for item in truth.items(FILE)}
    yield Case("expm_stiff, matrix_exponential", judge_stiff_exponential(matrices["expm_stiff"]))
    yield Case("P14, null_space", _echelon(matrices["P14"]))
    yield Case("sy15872, null_space", judge_power_ranks(truth.item(FILE, "sy15872")))
    yield Case("jordan3, eigen_symbolic", lambda tools: _defective(tools, truth.item(FILE, "jordan3")))
    for tool in ("lstsq_qr", "lstsq_normal_equations"):
        yield Case(f"lauchli, {tool}", _lauchli(matrices["lauchli"], tool))


def _has_eigenvalues(item: JsonObject) -> bool:
    return "eigenvalues" in item


SETS = (
    Set(FILE, "matrix_determinant", _each(_determinant, _is_square)),
    Set(FILE, "matrix_determinant_numeric", _each(_determinant_numeric, _is_square)),
    Set(FILE, "solve_linear_exact", _each(_solved("solve_linear_exact"), _is_regular)),
    Set(FILE, "solve_linear_system", _each(_solved("solve_linear_system"), _is_regular)),
    Set(FILE, "solve_linear_system, refined", _each(_solved("solve_linear_system", refine=True), _is_regular)),
    *(
        Set(
            FILE,
            f"solve_linear_iterative, {method}",
            _each(_solved("solve_linear_iterative", method=method), _is_regular),
        )
        for method in ("gmres", "cg", "gauss_seidel")
    ),
    *(Set(FILE, tool, _each(_solved(tool), _is_regular)) for tool in ("lstsq_qr", "lstsq_normal_equations")),
    *(
        Set(FILE, f"{tool}, singular", _each(_singular(tool), _is_singular))
        for tool in ("solve_linear_system", "lstsq_qr", "lstsq_normal_equations")
    ),
    Set(FILE, "matrix_inverse", _each(_inverse, lambda item: _is_regular(item) or _is_singular(item))),
    Set(FILE, "matrix_inverse, exact", _each(_exact_inverse, _is_regular)),
    Set(FILE, "eigen_numeric", _each(_eigenvalues_numeric, _has_eigenvalues)),
    Set(FILE, "eigen_symbolic", _each(_eigenvalues_exact, _has_eigenvalues)),
    Set(FILE, "svd_decompose", _each(_singular_values, lambda item: True)),
    Set(FILE, "null_space", _each(_rank, lambda item: True)),
    Set(FILE, "check_condition", _each(_condition, lambda item: "cond_2" in item)),
    Set(FILE, "single traps", _single),
)
