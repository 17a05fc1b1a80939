"""Public reports of faults, and what current libraries return for some of them: what the tools say to the same input.

Reports on servers, environments, rewards of other projects and the like are no tool calls, and are not tried.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from calculus import judge_jump, judge_limit, judge_power
from cases import (
    Case,
    Judge,
    Judgement,
    Set,
    Tools,
    Truth,
    is_near,
    judge_number,
    judgement,
    must_refuse,
    number,
    refused,
    untried,
)
from differential import RIGHT_SIDES, judge_closed
from equations import (
    EQUATIONS,
    Question,
    judge_degenerate_parameter,
    judge_far_start,
    judge_flat_start,
    judge_lagrange,
    judge_lost_branch,
    judge_question,
)
from matrices import judge_power_ranks, judge_stiff_exponential
from optimisation import METHODS, judge_pole, judge_undefined_end

from maven_env.scoring.equivalence import is_same
from maven_env.types import Checkpoint, Json

RTOL = 1e-8

NO_CALL = {
    "mcp": "concerns a server",
    "env": "concerns an environment",
    "reward": "concerns another project's reward",
    "harness": "concerns a harness",
    "data": "concerns another project's data",
    "trainer": "concerns a trainer",
}
NO_INPUT = "the file does not give the input"


# ---- integrals -------------------------------------------------------------------------------------------------------
def _integral(tool: str, expr: str, low: str, high: str, expected: float | None) -> Judge:
    """Ask for an integral over x; expected None means that it diverges."""

    def judge(tools: Tools) -> Judgement:
        artifact = tools.call(tool, expr=expr, wrt="x", limits=[low, high])
        if expected is None:
            return must_refuse(artifact, "DIVERGENT")
        if not artifact.ok:
            return refused(artifact, expected, ("DIVERGENT",))
        return judge_number(number(artifact.output["value"]), expected, RTOL)

    return judge


def _normal(mean: str, deviation: str) -> str:
    return f"exp(-(x-{mean})^2/(2*({deviation})^2))/({deviation}*sqrt(2*pi))"


_SQUARE_POLE = _integral("quadrature", "1/x^2", "0", "1", None)
_PEAK = _integral("quadrature", _normal("116", "3.81"), "0", "oo", 1.0)
_WIDE = _integral("quadrature", _normal("0.6445", "0.19"), "-1000", "0.5", 0.2234753373)
_ROOT_LOG = _integral("integrate", "sqrt(1-x)*log(1-x)", "0", "1", -4 / 9)
_GAUSS = _integral("integrate", "exp(-0.8*x^2)", "-3", "-0.2", 0.792798385574289291)
_DOUBLE_POLE = _integral("integrate", "1/(x-2)^2", "1", "3", None)
_SMALL = _integral("quadrature", "x^(-3)", "100", "10^7", (1e-4 - 1e-14) / 2)


# ---- units -----------------------------------------------------------------------------------------------------------
def _converted(value: str, source: str, target: str, expected: float, kind: str = "absolute") -> Judge:
    """Convert; a refusal is as good where the text is unusual."""

    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("unit_convert", value=value, from_unit=source, to_unit=target, kind=kind)
        if not artifact.ok:
            return refused(artifact, expected)
        return judge_number(artifact.output["value"], expected, RTOL, artifact.output["unit"])

    return judge


def _not_converted(source: str, target: str) -> Judge:
    return lambda tools: must_refuse(tools.call("unit_convert", value="1", from_unit=source, to_unit=target))


def _quantity(text: str, unit: str, expected: float) -> Judge:
    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("quantity_eval", expr="a", quantities={"a": text}, to_unit=unit)
        if not artifact.ok:
            return refused(artifact, expected)
        return judge_number(artifact.output["value"], expected, RTOL, artifact.output["unit"])

    return judge


_TEN_DEGREES = _converted("10", "degC", "K", 283.15)
_DECIBEL = _not_converted("dB", "byte")


# ---- text and arguments ----------------------------------------------------------------------------------------------
def _refused_text(expr: str) -> Judge:
    return lambda tools: must_refuse(tools.call("evaluate_numeric", expr=expr))


_HUGE_POWER = _refused_text("4^(111111111111111111111111111111111/2222222222222)")


def _no_bare_nan(tools: Tools) -> Judgement:
    """What has no value must come as JSON that has no NaN."""
    artifacts = [tools.call("evaluate_numeric", expr=expr) for expr in ("0/0", "log(0)", "oo - oo", "exp(10^6)")]
    try:
        text = json.dumps([artifact.to_json() for artifact in artifacts], allow_nan=False)
    except ValueError as error:
        return Judgement("wrong", str(error), "valid JSON")
    return judgement(not any(artifact.ok for artifact in artifacts), text[:200], "refusals")


def _kept_text(expr: str, is_formula: bool) -> Judge:
    """Text that looks like JSON or a number stays text, in the record too."""

    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("symbolic_diff", expr=expr, wrt="x")
        is_kept = artifact.input["expr"] == expr and artifact.ok is is_formula
        return judgement(is_kept, artifact.input, repr(expr))

    return judge


def _numbers_as_text(tools: Tools) -> Judgement:
    """Numbers may be written as text, for every tool alike."""
    pairs: tuple[tuple[str, dict[str, Json], dict[str, Json]], ...] = (
        ("bracketed_root", {"bracket": ["0.5", "1"]}, {"bracket": [0.5, 1]}),
        ("find_all_roots", {"interval": ["0.5", "1"]}, {"interval": [0.5, 1]}),
    )
    for tool, text, plain in pairs:
        given = {"equation": "x - cos(x)", "unknown": "x"}
        first, second = tools.call(tool, **given, **text), tools.call(tool, **given, **plain)
        if not (first.ok and second.ok and first.output == second.output):
            return Judgement("wrong", f"{tool}: {first.output or first.error}", str(second.output or second.error))
    matrices = [tools.call("matrix_determinant_numeric", matrix=m) for m in ([["12.5"]], [[12.5]])]
    return judgement(matrices[0].output == matrices[1].output != {}, matrices[0].output, matrices[1].output)


# ---- comparisons -----------------------------------------------------------------------------------------------------
def _different(a: str, b: str) -> Judge:
    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("check_equivalence", a=a, b=b)
        if not artifact.ok:
            return refused(artifact, "failed")
        came = artifact.output["verdict"]
        return Judgement("declined", came, "failed") if came == "inconclusive" else judgement(came == "failed", came)

    return judge


def _not_scored(reference: Json, value: Json, point: Checkpoint) -> Judge:
    return lambda tools: judgement(not is_same(reference, value, point), "judged", "not right")


_UNREADABLE = _not_scored("((", "1", Checkpoint("step", "field", "expression", "(("))
_INTEGER = _not_scored(20, 21, Checkpoint("step", "field", "integer", 20, rtol=0.05))


# ---- numeric tools ---------------------------------------------------------------------------------------------------
def _corner(tools: Tools) -> Judgement:
    """The minimum of |x| from 1.1 lies at a corner: where a method finds one, it is there."""
    given = {"expr": "abs(x)", "variables": ["x"], "start": [1.1]}
    artifacts = [tools.call("minimize_local", **given, method=method) for method in METHODS]
    found = [artifact.output["x"][0] for artifact in artifacts if artifact.ok]
    return judgement(all(abs(x) < 1e-6 for x in found), found, 0) if found else refused(artifacts[0], 0)


def _constant_data(tools: Tools) -> Judgement:
    """A line through constant data: slope 0, and nothing explained."""
    artifact = tools.call("linear_regression", x=[str(k) for k in range(661)], y=["66000000000000"] * 661)
    if not artifact.ok:
        return refused(artifact)
    slope, share = artifact.output["slope"], artifact.output["r_squared"]
    return judgement(slope == 0 and share is None, f"slope {slope}, R^2 {share}", "slope 0, R^2 undefined")


def _determinant(matrix: list[list[Json]], expected: float) -> Judge:
    """A determinant in doubles: within the error that it claims."""

    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("matrix_determinant_numeric", matrix=matrix)
        if not artifact.ok:
            return refused(artifact, expected)
        value, bound = artifact.output["value"], artifact.diagnostics["relative_error_bound"]
        return judgement(is_near(value, expected, bound), f"{value} to {bound:.1e}", expected)

    return judge


_MAGIC: list[list[Json]] = [[16, 2, 3, 13], [5, 11, 10, 8], [9, 7, 6, 12], [4, 14, 15, 1]]
_WILSON: list[list[Json]] = [[5, 7, 6, 5], [7, 10, 8, 7], [6, 8, 10, 9], [5, 7, 9, 10]]


def _magic_square(tools: Tools) -> Judgement:
    """A singular matrix of which doubles do not see the rank: no nonzero determinant may come."""
    found = must_refuse(tools.call("matrix_determinant_numeric", matrix=_MAGIC), "SINGULAR")
    exact = tools.call("matrix_determinant", matrix=_MAGIC)
    return found if exact.output.get("expr") == "0" else Judgement("wrong", str(exact.output), "0")


def _pascal() -> list[list[Json]]:
    from math import comb

    return [[comb(i + j, i) for j in range(10)] for i in range(10)]


def _rump(tools: Tools) -> Judgement:
    """Rump's system of two equations, whose determinant doubles cannot see."""
    matrix: list[list[Json]] = [[64919121, -159018721], ["41869520.5", -102558961]]
    artifact = tools.call("solve_linear_system", matrix=matrix, rhs=[1, 0])
    if not artifact.ok:
        return refused(artifact, 205117922)
    bound = artifact.diagnostics["forward_error_bound"]
    came = artifact.output["solution"]
    return judgement(is_near(came[0], 205117922, max(RTOL, bound)), f"{came} to {bound:.1e}", 205117922)


def _explicit_on_stiff(tools: Tools) -> Judgement:
    """Robertson's reaction with an explicit method: its values, or an honest end."""
    given = {"rhs": RIGHT_SIDES["robertson40"], "variables": ["y1", "y2", "y3"], "y0": ["1", "0", "0"]}
    artifact = tools.call("solve_ode_explicit", **given, t_span=["0", "10000"])
    if not artifact.ok:
        return Judgement("right", refused(artifact).came)
    stiff = tools.call("solve_ode_stiff", **given, t_span=["0", "10000"])
    pairs = zip(artifact.output["y_final"], stiff.output["y_final"], strict=True)
    return judgement(all(is_near(a, b, 1e-5) for a, b in pairs), artifact.output["y_final"], stiff.output["y_final"])


def _equation(question: Question, answer: list[str]) -> Judge:
    return lambda tools: judge_question(tools, question, answer)


_SCALED = _equation(
    Question("11000000000/a - 1/(100000000*a*x^2) = 0"), ["sqrt(110)/11000000000", "-sqrt(110)/11000000000"]
)
_LOST_ROOT = _equation(EQUATIONS["eq_10207"], ["0", "acos(4/5)", "pi"])
_NO_LIMIT: Judge = lambda tools: judge_limit(tools, "exp(I*x)*sin(pi*x)", "oo", "does not exist")  # noqa: E731
_TERMINAL = judge_closed("ode_sy21940", "sqrt(981/25)*tanh(sqrt(981/400)*x)")
_CONSTANT = judge_closed("ode_sy29827b", "0")
_LOGARITHM = judge_closed("ode_sy29827a", "1")


def _stiff_exponential(truth: Truth) -> Judge:
    return judge_stiff_exponential(truth.item("linear_algebra", "expm_stiff")["matrix"])


REPORTS: Mapping[str, Judge] = {
    "bug_002": _ROOT_LOG,
    "bug_011": _SCALED,
    "bug_013": judge_lost_branch,
    "bug_014": judge_degenerate_parameter,
    "bug_015": judge_lagrange,
    "bug_017": _TERMINAL,
    "bug_018": _CONSTANT,
    "bug_019": _NO_LIMIT,
    "bug_021": judge_jump,
    "bug_027": _HUGE_POWER,
    "bug_029": _refused_text("(3-9) (5-15"),
    "bug_031": _refused_text("__import__('os').getpid()"),
    "bug_032": _SQUARE_POLE,
    "bug_034": _PEAK,
    "bug_035": _WIDE,
    "bug_038": judge_undefined_end,
    "bug_041": _corner,
    "bug_046": _constant_data,
    "bug_053": _TEN_DEGREES,
    "bug_056": _DECIBEL,
    "bug_058": _no_bare_nan,
    "bug_060": _kept_text("123", True),
    "bug_061": _kept_text('{"a": 1}', False),
    "bug_068": _numbers_as_text,
    "bug_082": _INTEGER,
    "bug_088": _different("1/factorial(2004)", "1/factorial(2006)"),
    "bug_089": _different("3*x - 1*y + 13", "3*x + 4*y + 14"),
    "bug_093": _UNREADABLE,
    "bug_094": _UNREADABLE,
}
UNGIVEN = ("bug_024", "scipy#4793", "scipy#2249", "sympy#25781", "sympy#22450", "sympy#13850", "sympy#29792")
REPRODUCED: Mapping[str, Judge] = {
    "pint#1906": _converted("10", "degC", "degF", 18, "difference"),
    "pint#1381": _converted("1", "mdegC", "K", 1e-3, "difference"),
    "pint#1232 kb": _not_converted("kb", "barn"),
    'pint "10 degC" parse': _TEN_DEGREES,
    'pint "in"': _converted("1", "m", "in", 1 / 0.0254),
    "pint#71 dB": _DECIBEL,
    "pint 9.81 m/s^2 caret": _quantity("9.81 m/s^2", "m/s^2", 9.81),
    'pint "5 ft 11 in"': _quantity("5 ft 11 in", "m", 1.8034),
    "scipy#15212": _SQUARE_POLE,
    "scipy#5428": _SMALL,
    "scipy#17443": _PEAK,
    "scipy#11571": _WIDE,
    "scipy#17488": judge_flat_start,
    "scipy#14453": judge_far_start,
    "scipy#14414": judge_undefined_end,
    "scipy brentq tan pole": judge_pole,
    "scipy#25339": _constant_data,
    "scipy#11274 RK45 rober": _explicit_on_stiff,
    "sympy#27548": _SCALED,
    "sympy#23110": judge_lost_branch,
    "sympy#11621": judge_degenerate_parameter,
    "sympy#10207": _LOST_ROOT,
    "sympy#14377": _NO_LIMIT,
    "sympy#14355": judge_jump,
    "sympy#26513": judge_power,
    "sympy#21762": _HUGE_POWER,
    "sympy#29827b": _CONSTANT,
    "sympy#29827a": _LOGARITHM,
    "sympy det Wilson float": _determinant(_WILSON, 1),
    "numpy det magic4": _magic_square,
    "numpy rump solve": _rump,
    "numpy det pascal10": _determinant(_pascal(), 1),
    "sympy#30404": _ROOT_LOG,
    "sympy#25786": _GAUSS,
    "sympy W2": _DOUBLE_POLE,
}


def _reports(truth: Truth) -> Iterator[Case]:
    for item in truth.items("bug_reports"):
        ident = item["id"]
        reason = NO_INPUT if ident in UNGIVEN else NO_CALL.get(item["area"], "no call")
        yield Case(ident, REPORTS.get(ident) or untried(reason))


def _reproduced(truth: Truth) -> Iterator[Case]:
    known = {
        **REPRODUCED,
        "scipy#19584": _stiff_exponential(truth),
        "sympy#15872": judge_power_ranks(truth.item("linear_algebra", "sy15872")),
    }
    for item in truth.items("reproduced_today"):
        yield Case(item["id"], known.get(item["id"]) or untried(NO_INPUT))


SETS = (
    Set("bug_reports", "as calls", _reports),
    Set("reproduced_today", "as calls", _reproduced),
)
