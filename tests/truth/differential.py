"""Differential equations: initial-value problems as numbers, and closed forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from calculus import same_expression
from cases import Case, Judgement, Set, Tools, Truth, grammar, is_near, judgement, must_refuse, number, refused

from maven_env.types import Artifact, Json, JsonObject

FILE = "equations_limits_series_ode"
RTOL = 1e-6  # of every component at the end; the tools are asked with their own tolerances

_ROBERTSON = ["-0.04*y1+1e4*y2*y3", "0.04*y1-1e4*y2*y3-3e7*y2^2", "3e7*y2^2"]
# Right-hand sides that the file gives in words. HIRES as in the IVP test set, https://archimede.uniba.it/~testset.
RIGHT_SIDES: Mapping[str, list[str]] = {
    "robertson40": _ROBERTSON,
    "robertson1e11": _ROBERTSON,
    "detestD2": ["y3", "y4", "-y1/(y1^2+y2^2)^(3/2)", "-y2/(y1^2+y2^2)^(3/2)"],
    "hires": [
        "-1.71*y1+0.43*y2+8.32*y3+0.0007",
        "1.71*y1-8.75*y2",
        "-10.03*y3+0.43*y4+0.035*y5",
        "8.32*y2+1.71*y3-1.12*y4",
        "-1.745*y5+0.43*y6+0.43*y7",
        "-280*y6*y8+0.69*y4+1.71*y5-0.43*y6+0.69*y7",
        "280*y6*y8-1.81*y7",
        "-280*y6*y8+1.81*y7",
    ],
}
STARTS = {"detestD2": ["0.7", "0", "0", "sqrt(13/7)"]}

# Equation and conditions of the closed forms; the unknown is y(x).
CLOSED: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    "ode_sy21940": ("y' = 981/100 - 1/4*y^2", {"y(0)": 0}),
    "ode_sy29827a": ("y' = log(y)", {"y(1)": 1}),
    "ode_sy29827b": ("y' = y*(1-y)", {"y(0)": 0}),
    "ode_sy29827c": ("y'' = y*(y-1)", {"y(0)": 1, "y'(0)": 0}),
    "ode_sy16170": ("y' = 1/y", {"y(1)": 2}),
    "ode_nonuniq": ("y' = 3*y^(2/3)", {"y(0)": 0}),
    "ode_blow": ("y' = y^2", {"y(0)": 1}),
}


def _problem(item: JsonObject) -> JsonObject:
    if item["id"] in RIGHT_SIDES:
        sides = RIGHT_SIDES[item["id"]]
        names = [f"y{k + 1}" for k in range(len(sides))]
    else:
        equations = [part.split("=", 1) for part in item["equations"].split(";")]
        names = [left.strip().rstrip("'") for left, _ in equations]
        sides = [right for _, right in equations]
    start = STARTS.get(item["id"], item["y0"])
    return {"rhs": sides, "variables": names, "t_span": [item["t0"], item["t_end"]], "y0": start}


def _judge_end(artifact: Artifact, item: JsonObject) -> Judgement:
    if not artifact.ok:
        return refused(artifact, item["y_end"], ("BLOW_UP",))
    came = artifact.output["y_final"]
    is_right = all(is_near(number(a), number(b), RTOL) for a, b in zip(came, item["y_end"], strict=True))
    return judgement(is_right, f"{came} {artifact.diagnostics.get('warning') or ''}", item["y_end"])


def _integrate(tools: Tools, item: JsonObject, stiff: bool) -> Judgement:
    tool = "solve_ode_stiff" if stiff else "solve_ode_explicit"
    return _judge_end(tools.call(tool, **_problem(item)), item)


def _by_flag(truth: Truth) -> Iterator[Case]:
    for item in truth.items("ode_ivp"):
        yield Case(item["id"], partial(_integrate, item=item, stiff=item["stiff"]))


def _against_flag(truth: Truth) -> Iterator[Case]:
    for item in truth.items("ode_ivp"):
        yield Case(item["id"], partial(_integrate, item=item, stiff=not item["stiff"]))


# ---- closed forms ----------------------------------------------------------------------------------------------------
def judge_closed(ident: str, expected: str) -> Callable[[Tools], Judgement]:
    equation, conditions = CLOSED[ident]

    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("solve_ode_symbolic", ode=equation, function="y(x)", conditions=conditions)
        if not artifact.ok:
            return refused(artifact, expected, ("INCONSISTENT",))
        came = artifact.output["expr"]
        if ident == "ode_nonuniq":
            is_said = any("unique" in flag for flag in artifact.diagnostics["branch_flags"])
            is_solution = came == "0" or same_expression(came, expected)
            return judgement(is_said and is_solution, artifact.diagnostics["branch_flags"], "not unique")
        return judgement(same_expression(came, expected), came, expected)

    return judge


def judge_past_the_end(tools: Tools) -> Judgement:
    """The solution of y' = y^2, y(0) = 1 ends at 1."""
    for tool in ("solve_ode_explicit", "solve_ode_stiff"):
        artifact = tools.call(tool, rhs=["y^2"], variables=["y"], t_span=["0", "2"], y0=["1"])
        found = must_refuse(artifact, "BLOW_UP")
        if found.verdict != "right":
            return found
    return found


def _closed(truth: Truth) -> Iterator[Case]:
    for ident in CLOSED:
        yield Case(ident, judge_closed(ident, grammar(truth.item(FILE, ident)["answer"])))
    yield Case("ode_blow, past its end", judge_past_the_end)


SETS = (
    Set("ode_ivp", "solve_ode_explicit, or _stiff where stiff", _by_flag, slow=True),
    Set("ode_ivp", "solve_ode_stiff, or _explicit where stiff", _against_flag, slow=True),
    Set(FILE, "solve_ode_symbolic", _closed),
)
