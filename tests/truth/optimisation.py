"""Roots and minima of optimisation_roots: the problems of Moré, Garbow and Hillstrom, and traps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from cases import Case, Judgement, Set, Tools, Truth, is_near, judgement, must_refuse, refused

from maven_env.types import Artifact, JsonObject

FILE = "optimisation_roots"
METHODS = ("bfgs", "newton", "nelder_mead")
RTOL = 1e-6  # of a local minimum; of a residual that is 0 the same, absolute, times 1e-10
ULPS = 4e-16  # of a root in a bracket

# Data of Meyer (1970) and of Kowalik and Osborne (1968), as in Moré, Garbow, Hillstrom, ACM TOMS 7 (1981).
_MEYER = (34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872)
_KOWALIK = (
    (4, 0.1957), (2, 0.1947), (1, 0.1735), (0.5, 0.16), (0.25, 0.0844), (0.167, 0.0627), (0.125, 0.0456),
    (0.1, 0.0342), (0.0833, 0.0323), (0.0714, 0.0235), (0.0625, 0.0246),
)  # fmt: skip


def _discrete_boundary(names: str = "abcde") -> str:
    padded = ["0", *names, "0"]
    terms = []
    for k in range(1, 6):
        left, here, right = padded[k - 1 : k + 2]
        terms.append(f"(2*{here}-{left}-{right}+(1/6)^2*({here}+{k}/6+1)^3/2)^2")
    return "+".join(terms)


# Objective and variables, by item.
SQUARES: Mapping[str, tuple[str, str]] = {
    "mgh_rosenbrock": ("(10*(y-x^2))^2+(1-x)^2", "xy"),
    "mgh_brown_badly_scaled": ("(x-1e6)^2+(y-2e-6)^2+(x*y-2)^2", "xy"),
    "mgh_jennrich_sampson": ("+".join(f"(2+2*{k}-(exp({k}*x)+exp({k}*y)))^2" for k in range(1, 11)), "xy"),
    "mgh_helical_valley": (
        "100*(z-10*(atan(y/x)/(2*pi)+Piecewise((1/2,x<0),(0,otherwise))))^2+100*(sqrt(x^2+y^2)-1)^2+z^2",
        "xyz",
    ),
    "mgh_meyer": ("+".join(f"(a*exp(b/({50 + 5 * k}+c))-{y})^2" for k, y in enumerate(_MEYER)), "abc"),
    "mgh_kowalik_osborne": (
        "+".join(f"({y}-a*({u}^2+{u}*b)/({u}^2+{u}*c+d))^2" for u, y in _KOWALIK),
        "abcd",
    ),
    "mgh_biggs_exp6": (
        "+".join(
            f"(c*exp(-{k}/10*a)-d*exp(-{k}/10*b)+f*exp(-{k}/10*g)-(exp(-{k}/10)-5*exp(-{k})+3*exp(-4*{k}/10)))^2"
            for k in range(1, 14)
        ),
        "abcdgf",
    ),
    "mgh_penalty1_4": (
        "1e-5*((a-1)^2+(b-1)^2+(c-1)^2+(d-1)^2)+(a^2+b^2+c^2+d^2-1/4)^2",
        "abcd",
    ),
    "mgh_discrete_bvp5": (_discrete_boundary(), "abcde"),
    "mgh_linear_full_rank": (
        "+".join(f"({v}-(a+b+c+d)/5-1)^2" for v in "abcd") + "+6*((a+b+c+d)/5+1)^2",
        "abcd",
    ),
}
LOCAL_MINIMA = {"mgh_biggs_exp6": 5.65565e-3}  # published as a second local minimum


def _judge_local(artifact: Artifact, item: JsonObject) -> Judgement:
    """Judge a local minimum. One that is published nowhere, but proved and higher, answers another question."""
    expected = float(item["f_min_refined"])
    if not artifact.ok:
        return refused(artifact, expected, ("UNBOUNDED",))
    value = artifact.output["value"]
    came = f"{value} at {artifact.output['x']}"
    known = (expected, LOCAL_MINIMA.get(item["id"], expected))
    if any(is_near(value, minimum, RTOL, RTOL * 1e-10) for minimum in known):
        return Judgement("right", came)
    is_other = artifact.diagnostics["certified"] and value > expected
    return Judgement("declined" if is_other else "wrong", came, str(expected))


def _square(tools: Tools, item: JsonObject, given: JsonObject) -> Judgement:
    return _judge_local(tools.call("minimize_local", **given), item)


def _squares(method: str) -> Callable[[Truth], Iterator[Case]]:
    def cases(truth: Truth) -> Iterator[Case]:
        for ident, (expr, variables) in SQUARES.items():
            item = truth.item(FILE, ident)
            given = {"expr": expr, "variables": list(variables), "start": item["x0"], "method": method}
            yield Case(ident, partial(_square, item=item, given=given))
        for ident, judge in (("opt_quartic_min", _quartic(method)), ("opt_peano_surface", _peano(method))):
            yield Case(ident, judge)

    return cases


def _quartic(method: str) -> Callable[[Tools], Judgement]:
    """x^4 + y^4 has a strict minimum where its Hessian is zero."""

    def judge(tools: Tools) -> Judgement:
        artifact = tools.call("minimize_local", expr="x^4+y^4", variables=["x", "y"], start=[1, 1], method=method)
        if not artifact.ok:
            return refused(artifact, 0)
        return judgement(abs(artifact.output["value"]) < 1e-12, artifact.output["value"], 0)

    return judge


def _peano(method: str) -> Callable[[Tools], Judgement]:
    """(y - x^2)(y - 3x^2) has a critical point at 0 that is no minimum, though it is one along every line."""

    def judge(tools: Tools) -> Judgement:
        for start in ([0, 0], [1e-9, 1e-9], [1, 1]):
            given = {"expr": "(y-x^2)*(y-3*x^2)", "variables": ["x", "y"], "start": start, "method": method}
            found = must_refuse(tools.call("minimize_local", **given))
            if found.verdict != "right":
                return found
        return found

    return judge


# ---- roots -----------------------------------------------------------------------------------------------------------
BRACKETS: Mapping[str, tuple[str, str, list[float]]] = {
    "root_cos": ("x-cos(x)", "x", [0, 1]),
    "root_cubic": ("x^3-2*x-5", "x", [2, 3]),
    "root_flat": ("x^19", "x", [-0.5, 1]),
    "root_exp": ("x*exp(x)-1", "x", [0, 1]),
    "root_colebrook": ("1/sqrt(f)+2*log(0.001/3.7+2.51/(1e5*sqrt(f)),10)", "f", [0.005, 0.1]),
}
ROOTLESS: Mapping[str, JsonObject] = {
    "bracketed_root": {"equation": "x^2+1", "unknown": "x", "bracket": [-1, 2]},
    "nsolve": {"equations": ["x^2+1"], "unknowns": ["x"], "start": [0.5]},
    "find_all_roots": {"equation": "x^2+1", "unknown": "x", "interval": [-9, 9]},
    "solve_equation": {"equation": "x^2+1", "unknown": "x"},
}


def _judge_bracket(tools: Tools, ident: str, expected: float) -> Judgement:
    equation, unknown, bracket = BRACKETS[ident]
    artifact = tools.call("bracketed_root", equation=equation, unknown=unknown, bracket=bracket)
    if not artifact.ok:
        return refused(artifact, expected, ("NO_SIGN_CHANGE",))
    root = artifact.output["root"]
    return judgement(is_near(root, expected, ULPS, ULPS), root, expected)


def judge_pole(tools: Tools) -> Judgement:
    """The tangent changes sign at a pole: no root (scipy, brentq)."""
    return must_refuse(tools.call("bracketed_root", equation="tan(x)", unknown="x", bracket=[1, 2]))


def judge_undefined_end(tools: Tools) -> Judgement:
    """The function has no value at one end of the bracket: its root 2, or an error (scipy issue 14414)."""
    artifact = tools.call("bracketed_root", equation="log(x-1)", unknown="x", bracket=[1, 3])
    if not artifact.ok:
        return Judgement("right", refused(artifact).came)
    return judgement(is_near(artifact.output["root"], 2, ULPS), artifact.output["root"], "2 or an error")


def _judge_kepler(tools: Tools, expected: float) -> Judgement:
    artifact = tools.call("nsolve", equations=["E-0.9*sin(E)-0.1"], unknowns=["E"], start=[0.1])
    if not artifact.ok:
        return refused(artifact, expected)
    return judgement(is_near(artifact.output["solution"][0], expected, 2 * ULPS), artifact.output["solution"], expected)


def _judge_none(tools: Tools, tool: str) -> Judgement:
    artifact = tools.call(tool, **ROOTLESS[tool])
    if artifact.ok and tool == "find_all_roots":
        return judgement(not artifact.output["roots"] and not artifact.output["tangential"], artifact.output, "none")
    return must_refuse(artifact)


def _roots(truth: Truth) -> Iterator[Case]:
    for ident in BRACKETS:
        yield Case(ident, partial(_judge_bracket, ident=ident, expected=float(truth.item(FILE, ident)["answer"])))
    kepler = float(truth.item(FILE, "root_kepler")["answer"])
    yield Case("root_kepler", lambda tools: _judge_kepler(tools, kepler))
    for tool in ROOTLESS:
        yield Case(f"root_none, {tool}", partial(_judge_none, tool=tool))


# ---- global minima ---------------------------------------------------------------------------------------------------
GLOBAL: Mapping[str, tuple[str, float]] = {  # objective, half width of the box
    "opt_himmelblau": ("(x^2+y-11)^2+(x+y^2-7)^2", 5),
    "opt_rastrigin2": ("20+x^2-10*cos(2*pi*x)+y^2-10*cos(2*pi*y)", 5.12),
    "opt_goldstein_price": (
        "(1+(x+y+1)^2*(19-14*x+3*x^2-14*y+6*x*y+3*y^2))*(30+(2*x-3*y)^2*(18-32*x+12*x^2+48*y-36*x*y+27*y^2))",
        2,
    ),
    "opt_eggholder": ("-(y+47)*sin(sqrt(abs(x/2+y+47)))-x*sin(sqrt(abs(x-(y+47))))", 512),
}


def _judge_global(tools: Tools, ident: str, item: JsonObject) -> Judgement:
    expr, half = GLOBAL[ident]
    artifact = tools.call("minimize_global", expr=expr, variables=["x", "y"], bounds=[[-half, half]] * 2)
    expected = float(item["f_min"])
    if not artifact.ok:
        return refused(artifact, expected)
    is_right = is_near(artifact.output["value"], expected, 1e-10, 1e-10)
    if ident == "opt_himmelblau":
        minima = [found for found in artifact.output["local_minima"] if found["value"] < 1e-12]
        is_right = is_right and len(minima) == len(re.findall(r"\(", item["x_min"]))
    return judgement(is_right, f"{artifact.output['value']} at {artifact.output['x']}", f"{expected} {item['x_min']}")


def _global(truth: Truth) -> Iterator[Case]:
    for ident in GLOBAL:
        item = truth.item(FILE, ident)
        yield Case(ident, partial(_judge_global, ident=ident, item=item))


SETS = (
    Set(FILE, "bracketed_root, nsolve", _roots),
    *(Set(FILE, f"minimize_local, {method}", _squares(method)) for method in METHODS),
    Set(FILE, "minimize_global", _global),
)
