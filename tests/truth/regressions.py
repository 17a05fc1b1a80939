"""The certified regressions of NIST, linear and nonlinear."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from cases import Case, Judgement, Set, Tools, Truth, judgement, refused

from maven_env.types import Artifact, Json, JsonObject

LINEAR_RTOL = 1e-9
NONLINEAR_RTOL = 1e-6
STARTS = ("start1", "start2")


def _linear(tools: Tools, item: JsonObject) -> Judgement:
    degree = item["poly_degree"]
    x = [[str(Fraction(v) ** k) for k in range(1, degree + 1)] for v in item["x"]] if degree else item["x"]
    artifact = tools.call("linear_regression", x=x, y=item["y"], intercept=item["intercept"])
    if not artifact.ok:  # an honest diagnosis of the rank is as good as nine digits
        is_rank = artifact.error is not None and artifact.error.code == "RANK_DEFICIENT"
        return Judgement("right" if is_rank else "declined", refused(artifact).came)
    worst = max(_distance(a, b) for a, b in _certified(artifact, item) if b is not None)
    return judgement(worst < LINEAR_RTOL, f"{worst:.1e} off", item["certified"])


def _certified(artifact: Artifact, item: JsonObject) -> list[tuple[float, str | None]]:
    """Return pairs of what came and what is certified: coefficients, their errors, residual deviation, R squared."""
    output, certified = artifact.output, item["certified"]
    intercept = ([output["intercept"]], [output["stderr_intercept"]]) if item["intercept"] else ([], [])
    coefficients = [*intercept[0], *_listed(output["slope"])]
    errors = [*intercept[1], *_listed(output["stderr_slope"])]
    return [
        *zip(coefficients, certified["coef"], strict=True),
        *zip(errors, certified["se"], strict=True),
        (artifact.diagnostics["residual_std"], certified["rsd"]),
        (output["r_squared"], certified["r2"]),
    ]


def _listed(value: Json) -> list[float]:
    return value if isinstance(value, list) else [value]


def _distance(came: float, expected: str) -> float:
    size = abs(float(expected))
    return abs(came - float(expected)) / size if size else abs(came)


def _model(text: str) -> str:
    """Read `y = b1*(1-exp[-b2*x]) + e` as NIST writes it."""
    side = text.split("y =")[1].rsplit("+ e", 1)[0]
    return side.replace("[", "(").replace("]", ")").replace("arctan", "atan").replace("(-.5)", "(-1/2)").strip()


def _nonlinear(tools: Tools, item: JsonObject, start: str) -> Judgement:
    parameters = item["params"]
    artifact = tools.call(
        "nonlinear_fit",
        model=_model(item["model"]),
        x="x",
        parameters=[p["name"] for p in parameters],
        xdata=[row[1] for row in item["data"]],
        ydata=[row[0] for row in item["data"]],
        start=[p[start] for p in parameters],
    )
    if not artifact.ok:
        return refused(artifact)
    worst = max(
        _distance(artifact.output[kind][p["name"]], p[key])
        for kind, key in (("parameters", "certified"), ("stderr", "stderr"))
        for p in parameters
    )
    return judgement(worst < NONLINEAR_RTOL, f"{worst:.1e} off", "certified")


def _linear_cases(truth: Truth) -> Iterator[Case]:
    for item in truth.items("regression_linear_nist"):
        yield Case(item["id"], partial(_linear, item=item))


def _nonlinear_cases(truth: Truth) -> Iterator[Case]:
    for item in truth.items("regression_nonlinear_nist"):
        for start in STARTS:
            yield Case(f"{item['id']}, {start}", partial(_nonlinear, item=item, start=start))


SETS = (
    Set("regression_linear_nist", "linear_regression", _linear_cases),
    Set("regression_nonlinear_nist", "nonlinear_fit, both starts", _nonlinear_cases),
)
