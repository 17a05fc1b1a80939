"""Equations, systems, inequalities and the roots of equations_limits_series_ode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from cases import (
    Case,
    Judgement,
    Set,
    Tools,
    Truth,
    grammar,
    included,
    judgement,
    must_refuse,
    number,
    printed,
    refused,
    same_numbers,
    value_of,
)

from maven_env.types import Artifact, Json, JsonObject

FILE = "equations_limits_series_ode"


@dataclass(frozen=True)
class Question:
    """A call of solve_equation. `answer` stands where the file gives it in words; None means no solution."""

    equation: str
    unknown: str = "x"
    options: Mapping[str, Json] = field(default_factory=dict)
    answer: list[str] | str | None = "as published"
    rtol: float = 1e-9


COMPLEX = {"domain": "complex"}
EQUATIONS: Mapping[str, Question] = {
    "eq_M2": Question("3*x**3-18*x**2+33*x-19=0"),
    "eq_M5": Question("x**6-9*x**4-4*x**3+27*x**2-36*x-23=0", options=COMPLEX),
    "eq_M10": Question("exp(x)=x", answer=None),
    "eq_M10, complex": Question("exp(x)=x", options=COMPLEX),
    "eq_M17": Question("asin(x)=atan(x)"),
    "eq_M18": Question("acos(x)=atan(x)"),
    "eq_M19": Question("(x-2)/x**(1/3)=0"),
    "eq_M22": Question("2*sqrt(x)+3*x**(1/4)=2"),
    "eq_M23": Question("x=1/sqrt(1+x**2)", options=COMPLEX),
    "eq_M29": Question("|x-1|=2"),
    "eq_M30": Question("|2*x+5|=|x-2|"),
    "eq_M32": Question("max(2-x**2,x)=max(-x,x**3/9)"),
    "eq_M33": Question("max(2-x**2,x)=x**3/9", rtol=1e-6),
    "eq_M34": Question("(1+I)*z+(2-I)*conjugate(z)+3*I=0", "z", COMPLEX),
    "eq_10207": Question("-0.4*sin(x)+0.25*sin(2*x)=0", options={"interval": ["0", "pi"]}),
    "eq_23856": Question("sqrt(-x**2-x+8)=0"),
}
INEQUALITIES: Mapping[str, tuple[str, str]] = {
    "eq_11064": ("x+sqrt(x**2-5)>0", "[sqrt(5), oo)"),
    "eq_11878": ("log(x+1)<0", "(-1, 0)"),
    "eq_10047": ("sin(x)<2", "(-oo, oo)"),
    "eq_N9": ("|x-1|>2", "(-oo, -1) U (3, oo)"),
    "eq_N11": ("6/(x-3)<=3", "(-oo, 3) U [5, oo)"),
    "eq_N12": ("sqrt(x)<2", "[0, 4)"),
}


def judge_question(tools: Tools, question: Question, answer: list[str] | None) -> Judgement:
    """Ask solve_equation. A set that is said to be complete must be; any other must hold solutions only."""
    artifact = tools.call("solve_equation", equation=question.equation, unknown=question.unknown, **question.options)
    if answer is None:
        return must_refuse(artifact, "NO_SOLUTION")
    if not artifact.ok:
        return refused(artifact, answer, ("NO_SOLUTION",))
    came = [value_of(text) for text in artifact.output["solutions"]]
    wanted = [value_of(text) for text in answer]
    if same_numbers(came, wanted, question.rtol):
        return Judgement("right", str(artifact.output["solutions"]))
    is_open = not artifact.diagnostics["complete"] and included(came, wanted, question.rtol)
    return Judgement("declined" if is_open else "wrong", str(artifact.output["solutions"]), str(answer))


def _answer(item: JsonObject, question: Question) -> list[str] | None:
    if not isinstance(question.answer, str):
        return question.answer
    return [grammar(text) for text in item.get("numeric") or item["answer"]]


def _equations(truth: Truth) -> Iterator[Case]:
    for ident, question in EQUATIONS.items():
        answer = _answer(truth.item(FILE, ident.split(",")[0]), question)
        yield Case(ident, partial(judge_question, question=question, answer=answer))
    yield Case("eq_21014", judge_roots_of_unity)


def judge_roots_of_unity(tools: Tools) -> Judgement:
    """x^n = 1 with a symbolic n: a list of fewer than n roots must not be called complete."""
    options = {"domain": "complex", "assumptions": {"n": ["positive", "integer"]}}
    artifact = tools.call("solve_equation", equation="x**n=1", unknown="x", **options)
    if not artifact.ok:
        return refused(artifact, "n roots", ("NO_SOLUTION",))
    found = f"{artifact.output['solution_set']}, complete: {artifact.diagnostics['complete']}"
    return Judgement("wrong" if artifact.diagnostics["complete"] else "declined", found, "n roots")


# ---- systems ---------------------------------------------------------------------------------------------------------
def judge_degenerate_parameter(tools: Tools) -> Judgement:
    """Only the trivial solution, except for m = 0 and m = 3 (sympy issue 11621)."""
    equations = ["(1-m)*x+y+z", "x+(1-m)*y+z", "x+y+(1-m)*z"]
    artifact = tools.call("solve_system", equations=equations, unknowns=["x", "y", "z"])
    if not artifact.ok:
        return refused(artifact, claims=("NO_SOLUTION",))
    flags = artifact.diagnostics["branch_flags"]
    is_right = artifact.output["n"] == 1 and {"m != 0", "m - 3 != 0"} <= set(flags)
    return judgement(is_right, f"{artifact.output['solutions']} {flags}", "trivial unless m = 0 or m = 3")


def judge_lost_branch(tools: Tools) -> Judgement:
    """The branches x = 0 and y = z = v = 0 (sympy issue 23110)."""
    artifact = tools.call("solve_system", equations=["x*y", "x*z", "x*v"], unknowns=["x", "y", "z", "v"])
    if not artifact.ok:
        return refused(artifact, claims=("NO_SOLUTION",))
    branches = artifact.output["solutions"]
    is_right = {"x": "0"} in branches and {"y": "0", "z": "0", "v": "0"} in branches
    return judgement(is_right, branches, "x = 0, or y = z = v = 0")


def judge_lagrange(tools: Tools) -> Judgement:
    """The eight nonzero critical points of x^2 y^2 z^2 on the sphere (sympy issue 20210)."""
    equations = ["2*x*y^2*z^2=2*L*x", "2*x^2*y*z^2=2*L*y", "2*x^2*y^2*z=2*L*z", "x^2+y^2+z^2=1"]
    artifact = tools.call("solve_system", equations=equations, unknowns=["x", "y", "z", "L"])
    if not artifact.ok:
        return refused(artifact, claims=("NO_SOLUTION",))
    nonzero = sum(solution.get("L") == "1/9" for solution in artifact.output["solutions"])
    return judgement(nonzero == 8, f"{nonzero} with L = 1/9", "8")


def _systems(truth: Truth) -> Iterator[Case]:
    yield Case("eq_11621", judge_degenerate_parameter)
    yield Case("eq_23110", judge_lost_branch)


# ---- inequalities ----------------------------------------------------------------------------------------------------
def _inequality(tools: Tools, ident: str) -> Judgement:
    text, expected = INEQUALITIES[ident]
    artifact = tools.call("solve_inequality", inequality=text, unknown="x")
    if not artifact.ok:
        return refused(artifact, expected)
    return judgement(artifact.output["set"] == expected, artifact.output["set"], expected)


def _inequalities(truth: Truth) -> Iterator[Case]:
    for ident in INEQUALITIES:
        yield Case(ident, partial(_inequality, ident=ident))


# ---- roots -----------------------------------------------------------------------------------------------------------
def judge_newton(tools: Tools, equation: str, start: float, roots: list[float]) -> Judgement:
    """Start Newton where the slope is zero or misleads: a root that is none must not come (scipy 17488, 14453)."""
    artifact = tools.call("nsolve", equations=[equation], unknowns=["x"], start=[start])
    if not artifact.ok:
        return refused(artifact, roots)
    return judgement(artifact.output["solution"][0] in roots, artifact.output["solution"], roots)


def judge_flat_start(tools: Tools) -> Judgement:
    return judge_newton(tools, "x^2 - 2*x", 1, [0, 2])


def judge_far_start(tools: Tools) -> Judgement:
    return judge_newton(tools, "100*exp(-0.03*x) - 100", 150, [0])


def wilkinson() -> str:
    return "*".join(f"(x-{k})" for k in range(1, 21)) + "-x^19/2^23"


def _judge_values(artifact: Artifact, field_name: str, expected: list[str]) -> Judgement:
    if not artifact.ok:
        return refused(artifact, expected)
    came = [number(value) for value in artifact.output[field_name]]
    wanted = [printed(text) for text in expected]
    return judgement(same_numbers(came, wanted, 1e-9) and artifact.output["n_real"] == 10, came, expected)


def _wilkinson(item: JsonObject) -> Callable[[Tools], Judgement]:
    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("polynomial_roots_exact", expr=wilkinson(), wrt="x")
        return _judge_values(artifact, "values", item["numeric"])

    return judge


def _roots(truth: Truth) -> Iterator[Case]:
    yield Case("eq_17488", judge_flat_start)
    yield Case("eq_14453", judge_far_start)
    yield Case("eq_wilkinson", _wilkinson(truth.item(FILE, "eq_wilkinson")))


SETS = (
    Set(FILE, "solve_equation", _equations),
    Set(FILE, "solve_system", _systems),
    Set(FILE, "solve_inequality", _inequalities),
    Set(FILE, "nsolve, polynomial_roots_exact", _roots),
)
