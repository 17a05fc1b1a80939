"""Limits, series and sums of equations_limits_series_ode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from cases import Case, Check, Judgement, Set, Tools, Truth, grammar, judgement, must_refuse, refused

from maven_env.expressions import parse
from maven_env.expressions.equality import equal
from maven_env.types import Artifact, Json, JsonObject

FILE = "equations_limits_series_ode"

# The sums, whose tasks are written in words: the call and the expected closed form where the file has it in words.
SUMS: Mapping[str, Mapping[str, Json]] = {
    "sum_basel": {"term": "1/n^2", "index": "n", "start": 1, "stop": "oo"},
    "sum_apery": {"term": "1/n^3", "index": "n", "start": 1, "stop": "oo"},
    "sum_15943": {"term": "binomial(5, k)*factorial(5 - k)", "index": "k", "start": 0, "stop": 5},
    "sum_14129": {"term": "k*x^k", "index": "k", "start": 0, "stop": "n - 1"},
    "sum_R3": {"term": "(-1)^k*binomial(2*n, k)^2", "index": "k", "start": 0, "stop": "2*n"},
    "sum_R13": {"term": "sin(k*x)", "index": "k", "start": 1, "stop": "n"},
}
SUM_AT = {"sum_14129": {"x": "1"}}  # the published value holds there
SUM_ANSWERS = {"sum_R13": "cot(x/2)/2 - cos((2*n + 1)*x/2)/(2*sin(x/2))"}
SERIES_ORDERS = {"ser_X9": 4}  # its first omitted term is given as a number between two powers


def same_expression(came: str, expected: str) -> bool:
    return came == expected or equal(parse(came), parse(expected)) == "equal"


def judge_expression(artifact: Artifact, expected: str, claims: tuple[str, ...] = ()) -> Judgement:
    if not artifact.ok:
        return refused(artifact, expected, claims)
    return judgement(same_expression(artifact.output["expr"], expected), artifact.output["expr"], expected)


def judge_limit(tools: Tools, expr: str, to: str, expected: str) -> Judgement:
    """Ask for a limit; `to` may end in +. Expected may be "does not exist"."""
    side = "+" if to.endswith("+") else "both"
    artifact = tools.call("symbolic_limit", expr=expr, wrt="x", to=to.removesuffix("+"), side=side)
    if expected == "does not exist":
        return must_refuse(artifact, "NO_LIMIT")
    return judge_expression(artifact, expected, ("NO_LIMIT",))


def _limit(tools: Tools, item: JsonObject) -> Judgement:
    match = re.match(r"limit of (.*), (?:var )?x ->\s*(\S+)", grammar(item["task"]))
    if match is None:
        return Judgement("not tried", "the task cannot be read")
    return judge_limit(tools, match[1], match[2], grammar(item["answer"]))


def _series(tools: Tools, item: JsonObject) -> Judgement:
    function = grammar(item["task"]).removeprefix("series of ").removesuffix(" about 0")
    omitted = re.search(r"omitted term (\S+)", item["note"])
    order = SERIES_ORDERS.get(item["id"]) or (int(float(omitted[1])) if omitted else 6)
    artifact = tools.call("series_expansion", expr=function, wrt="x", order=order)
    return judge_expression(artifact, grammar(item["answer"]), ("NO_EXPANSION",))


def _sum(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("sum_series", **SUMS[item["id"]], method="exact")
    expected = SUM_ANSWERS.get(item["id"], grammar(item["answer"]))
    place = SUM_AT.get(item["id"])
    if artifact.ok and place is not None:
        artifact = tools.call("substitute", expr=artifact.output["expr"], subs=place)
    return judge_expression(artifact, expected, ("DIVERGENT",))


def _sum_value(tools: Tools, item: JsonObject) -> Judgement:
    """Sum the infinite series as numbers."""
    artifact = tools.call("sum_series", **SUMS[item["id"]], method="levin")
    if not artifact.ok:
        return refused(artifact, item["answer"], ("DIVERGENT",))
    check = tools.call("cross_check_numeric", a=artifact.output["value"], b=item["answer"], rel_tol=1e-13)
    return judgement(check.output.get("verdict") == "passed", artifact.output["value"], item["answer"])


def _kind(kind: str, judge: Check) -> Callable[[Truth], Iterator[Case]]:
    def cases(truth: Truth) -> Iterator[Case]:
        for item in truth.items(FILE):
            if item["kind"] == kind:
                yield Case(item["id"], partial(judge, item=item))

    return cases


def _infinite_sums(truth: Truth) -> Iterator[Case]:
    for ident in ("sum_basel", "sum_apery"):
        item = truth.item(FILE, ident)
        yield Case(ident, partial(_sum_value, item=item))


def judge_jump(tools: Tools) -> Judgement:
    """A discontinuous function at a point where its argument is removable (sympy issue 14355)."""
    return judge_limit(tools, "floor(sin(x)/x)", "0", "0")


def judge_power(tools: Tools) -> Judgement:
    """The limit of a modulus whose inside oscillates (sympy issue 26513)."""
    return judge_limit(tools, "abs((-x/(x + 1))^x)", "oo", "exp(-1)")


SETS = (
    Set(FILE, "symbolic_limit", _kind("limit", _limit)),
    Set(FILE, "series_expansion", _kind("series", _series)),
    Set(FILE, "sum_series, exact", _kind("sum", _sum)),
    Set(FILE, "sum_series, levin", _infinite_sums),
)
