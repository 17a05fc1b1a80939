"""Constants, units and physics tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from cases import (
    Case,
    Check,
    Judge,
    Judgement,
    Set,
    Tools,
    Truth,
    code_of,
    is_near,
    judge_number,
    judgement,
    refused,
    untried,
)

from maven_env.types import Artifact, Json, JsonObject

CONVERSION_RTOL = 1e-8
VALUE_RTOL = 1e-15  # of a constant
UNCERTAINTY_RTOL = 1e-12
NO_UNIT = ("UNKNOWN_UNIT", "BAD_INPUT", "PARSE_ERROR", "LIMIT_EXCEEDED")


# ---- constants -------------------------------------------------------------------------------------------------------
def _constant(tools: Tools, item: JsonObject) -> Judgement:
    artifact = tools.call("physical_constant", name=item["name"])
    if not artifact.ok:
        return refused(artifact, item["value"])
    output = artifact.output
    factor = tools.call("unit_convert", value=1, from_unit=output["unit"], to_unit=item["unit"])
    is_right = (
        is_near(output["value"], float(item["value"]), VALUE_RTOL)
        and is_near(output["uncertainty"], float(item["std_uncertainty"]), UNCERTAINTY_RTOL)
        and factor.ok
        and factor.output["value"] == 1
        and artifact.diagnostics["exact"] == item["exact"]
    )
    return judgement(is_right, output, {key: item[key] for key in ("value", "std_uncertainty", "unit", "exact")})


# ---- conversions -----------------------------------------------------------------------------------------------------
def _conversion(tools: Tools, item: JsonObject) -> Judgement:
    artifact, expected = _convert(tools, item), item["expect"]
    if "incompatible" in expected:
        if artifact.ok:
            return Judgement("wrong", str(artifact.output), expected)
        return Judgement("right" if code_of(artifact) == "UNIT_MISMATCH" else "declined", refused(artifact).came)
    if not artifact.ok:
        return refused(artifact, expected, ("UNIT_MISMATCH",))
    return judge_number(artifact.output["value"], float(expected), CONVERSION_RTOL, artifact.output["unit"])


def _convert(tools: Tools, item: JsonObject) -> Artifact:
    """Put an item into a call. GNU's degF is a difference and its tempF(x) a point on the scale."""
    source, kind = item["from_"], "absolute"
    target = {"tempC": "degC", "tempF": "degF"}.get(item["to"], item["to"])
    value = str(item.get("value", "1"))
    if match := re.fullmatch(r"temp([CF])\((.*)\)", source):
        value, source = match[2], f"deg{match[1]}"
    elif source in ("degF", "degC", "degR"):
        kind = "difference"
    elif "+" in source:
        terms = {f"q{k}": term.strip() for k, term in enumerate(source.split("+"))}
        return tools.call("quantity_eval", expr=" + ".join(terms), quantities=terms, to_unit=target)
    elif match := re.fullmatch(r"(\d[\d.]*) (.*)", source):
        value, source = match[1], match[2]
    artifact = tools.call("unit_convert", value=value, from_unit=source, to_unit=target, kind=kind)
    if code_of(artifact) == "UNKNOWN_UNIT" and " " in source:  # a name of two words
        return tools.call("unit_convert", value=value, from_unit=source.replace(" ", "_"), to_unit=target)
    return artifact


def _operation(tools: Tools, item: JsonObject) -> Judgement:
    """Multiply or divide two quantities."""
    first, first_unit, second, second_unit = item["value"]
    expected, unit = item["expect"]
    sign = "*" if item["op"] == "multiplication" else "/"
    quantities = {"p": f"{first} {first_unit}", "q": f"{second} {second_unit}"}
    artifact = tools.call("quantity_eval", expr=f"p{sign}q", quantities=quantities, to_unit=unit)
    if not artifact.ok:
        return refused(artifact, expected, ("UNIT_MISMATCH",))
    return judge_number(artifact.output["value"], float(expected), CONVERSION_RTOL, artifact.output["unit"])


def _conversions(truth: Truth) -> Iterator[Case]:
    for item in truth.items("units_conversions"):
        check = _operation if "op" in item else _conversion
        ident = f"{item['id']} {item.get('op', '')}".strip()
        yield Case(ident, partial(check, item=item))


def _validity(tools: Tools, item: JsonObject) -> Judgement:
    """Convert one of the unit to itself: an invalid one must be refused."""
    artifact = tools.call("unit_convert", value="1", from_unit=item["unit"], to_unit=item["unit"])
    is_known = artifact.ok or code_of(artifact) not in NO_UNIT
    if is_known:
        return judgement(bool(item["valid"]), "accepted", "valid" if item["valid"] else "invalid")
    return Judgement("declined" if item["valid"] else "right", refused(artifact).came)


def _items(file: str, check: Check) -> Callable[[Truth], Iterator[Case]]:
    def cases(truth: Truth) -> Iterator[Case]:
        for item in truth.items(file):
            yield Case(item["id"], partial(check, item=item))

    return cases


# ---- physics tasks ---------------------------------------------------------------------------------------------------
# A recipe returns the number in the unit of the item, or the refusal that stopped it.
Recipe = Callable[[Tools], "float | Artifact"]


def _call(tool: str, path: tuple[str | int, ...], **given: object) -> Recipe:
    """Call one tool and follow `path` into its output."""

    def cook(tools: Tools) -> float | Artifact:
        artifact = tools.call(tool, **given)
        return _followed(artifact, path) if artifact.ok else artifact

    return cook


def _followed(artifact: Artifact, path: tuple[str | int, ...]) -> float:
    found: Json = artifact.output
    for key in path:
        found = found[key]
    return float(found)


def _eval(expr: str, unit: str, **quantities: str) -> Recipe:
    """Evaluate with units; @name is a constant of CODATA."""

    def cook(tools: Tools) -> float | Artifact:
        given = {}
        for name, text in quantities.items():
            if text.startswith("@"):
                constant = tools.call("physical_constant", name=text[1:]).output
                text = f"{constant['value']} {constant['unit']}"
            given[name] = text
        artifact = tools.call("quantity_eval", expr=expr, quantities=given, to_unit=unit)
        return artifact.output["value"] if artifact.ok else artifact

    return cook


def _number(expr: str) -> Recipe:
    return _call("evaluate_numeric", ("value",), expr=expr)


def _solved_for(ode: str, conditions: JsonObject, tool: str, path: tuple[str | int, ...], **given: object) -> Recipe:
    """Solve an equation for y(t) in closed form and hand it, as {y} in `given`, to another tool."""

    def cook(tools: Tools) -> float | Artifact:
        solution = tools.call("solve_ode_symbolic", ode=ode, function="y(t)", conditions=conditions)
        if not solution.ok:
            return solution
        expr = f"({solution.output['expr']})"
        filled = {key: v.replace("{y}", expr) if isinstance(v, str) else v for key, v in given.items()}
        artifact = tools.call(tool, **filled)
        return _followed(artifact, path) if artifact.ok else artifact

    return cook


def _line_charge(tools: Tools) -> float | Artifact:
    eps = tools.call("physical_constant", name="eps0").output["value"]
    field = tools.call("quadrature", expr=f"9e-9/(4*pi*{eps})/(4-x)^2", wrt="x", limits=["0", "3"])
    return field.output["value"] if field.ok else field


def _refrigerator(tools: Tools) -> float | Artifact:
    cold, hot = (
        tools.call("unit_convert", value=value, from_unit="degC", to_unit="K").output["value"]
        for value in ("4.5", "38")
    )
    quantities = {"P": "746 W", "c": f"{cold} K", "h": f"{hot} K"}
    artifact = tools.call("quantity_eval", expr="P/4*c/(2*(h - c))", quantities=quantities, to_unit="W")
    return artifact.output["value"] if artifact.ok else artifact


def _gas_entropy(tools: Tools) -> float | Artifact:
    heat = "(31.08 - 0.01452*T + 3.1415e-5*T^2 - 1.4973e-8*T^3)/T"
    part = tools.call("quadrature", expr=heat, wrt="T", limits=["320", "650"])
    gas = tools.call("physical_constant", name="R").output["value"]
    artifact = tools.call("evaluate_numeric", expr=f"{part.output['value']} + {gas}*log(120/80)")
    return artifact.output["value"] if artifact.ok else artifact


def _logistic_time(tools: Tools) -> float | Artifact:
    given = {"rhs": ["t*y*(4-y)/(1+t)"], "variables": ["y"], "t_span": ["0", "5"], "y0": ["2"], "event": "y - 3.99"}
    artifact = tools.call("solve_ode_explicit", **given)
    return artifact.output["event_times"][0] if artifact.ok else artifact


def _drag_speed(tools: Tools) -> float | Artifact:
    given = {"rhs": ["v", "9.8 - 0.8*v"], "variables": ["s", "v"], "t_span": ["0", "10"], "y0": ["0", "0"]}
    artifact = tools.call("solve_ode_explicit", **given, event="s - 30")
    return artifact.output["event_states"][0][1] if artifact.ok else artifact


_COULOMB = "/(4*pi*eps)"
_EARTH = {"G": "@G", "M": "5.98e24 kg"}
RECIPES: Mapping[str, Recipe] = {
    "phys_fund_8": _eval(f"q^2{_COULOMB}/(G*m^2)", "", eps="@eps0", q="@e", G="@G", m="@m_e"),
    "phys_fund_19": _eval(f"sqrt(a*b{_COULOMB}/F)", "m", eps="@eps0", a="26.0 uC", b="47.0 uC", F="5.70 N"),
    "phys_fund_33": _eval("4*pi*eps*F*r^2", "C", eps="@eps0", F="2.0 N/C", r="50 cm"),
    "phys_fund_17": _eval("2*p*F*cos(a)", "J", p="3.02e-25 C*m", F="46.0 N/C", a="64 deg"),
    "phys_fund_29": _call(
        "solve_equation", ("values", 0), equation="1-z/sqrt(z^2+0.6^2)=1/2", unknown="z", domain="positive"
    ),
    "phys_fund_12": _eval(f"q{_COULOMB}/r^2", "N/C", eps="@eps0", q="4.00e-8 C", r="12.0 cm"),
    "phys_fund_16": _eval(f"sqrt(3)*q{_COULOMB}/r^2", "N/C", eps="@eps0", q="12 nC", r="2.0 m"),
    "phys_fund_22": _eval("q*F/m", "m/s^2", q="@e", m="@m_e", F="2.00e4 N/C"),
    "phys_fund_68": _eval("q*F/m", "m/s^2", q="@e", m="@m_p", F="2.00e4 N/C"),
    "phys_fund_28": _eval(f"sqrt(q^2{_COULOMB}/(m*a))", "m/s", eps="@eps0", q="@e", m="@m_e", a="52.92 pm"),
    "phys_fund_36": _eval(f"2*p*q{_COULOMB}/r^3", "N", eps="@eps0", p="3.6e-29 C*m", q="@e", r="25 nm"),
    "phys_fund_45": _eval("eps*(b-a)*L^2", "C", eps="@eps0", a="60.0 N/C", b="100 N/C", L="100 m"),
    "phys_fund_66": _line_charge,
    "phys_fund_69": _eval("2*pi*eps*F*r", "C/m", eps="@eps0", F="4.5e4 N/C", r="2.0 m"),
    "phys_fund_42": _call(
        "solve_equation", ("values", 0), equation="5/x^2=2/(x-1)^2", unknown="x", interval=["1", "100"]
    ),
    "phys_fund_6": _number("10 + 2*(-3) + (-6)*0"),
    "phys_fund_sol_1": _eval("-G*M*m/(2*(R+h))", "J", **_EARTH, m="7.20 kg", R="6370 km", h="350 km"),
    "phys_fund_sol_8": _eval("sqrt(v^2 + 2*G*M*(1/R - 1/(10*R)))", "m/s", **_EARTH, v="12 km/s", R="6370 km"),
    "phys_fund_sol_5": _eval("a*b*c*d*g", "N", a="3.5 m", b="4.2 m", c="2.4 m", d="1.21 kg/m^3", g="9.8 m/s^2"),
    "phys_class_12": _eval("v*sqrt(m/k)", "m", v="4 m/s", m="2 kg", k="6 N/m"),
    "phys_class_16": _eval("g/k", "m/s", g="9.8 m/s^2", k="0.01 s^-1"),
    "phys_class_3": _number("1/sqrt(1 + 1/(8*pi)^2)"),
    "phys_class_4": _eval("sqrt(2*G*M/R)", "m/s", G="@G", M="7.36e22 kg", R="1738 km"),
    "phys_class_28": _eval("6*v*log(1/r)/g", "s", v="2000 m/s", r="0.8", g="9.8 m/s^2"),
    "phys_class_40": _call(
        "minimize_local", ("x", 0), expr="-x*log(x)", variables=["x"], start=[0.5], maximize=True
    ),
    "phys_class_sol_2": _eval("v^2*sin(2*a)/g", "km", v="1450 m/s", a="55 deg", g="9.8 m/s^2"),
    "phys_thermo_12": _eval(
        "T + i^2*R*t/(m/M*C)", "K", T="300 K", i="1.75 A", R="25.0 ohm", t="100 s", m="82.5 g", M="18.02 g/mol",
        C="75.3 J/(mol*K)",
    ),
    "phys_thermo_14": _eval("k*x^2/2", "J", k="750 N/m", x="3.5 cm"),
    "phys_thermo_17": _eval("h*c*v/(k*log(8))", "K", h="@h", c="@c", k="@k_B", v="6000 cm^-1"),
    "phys_thermo_58": _eval("h*c*v/(k*log(2))", "K", h="@h", c="@c", k="@k_B", v="208 cm^-1"),
    "phys_thermo_62": _eval("W/(k*log(5))", "K", W="1.30e-18 J", k="@k_B"),
    "phys_thermo_31": _eval("x*a+(1-x)*b", "Torr", a="120 Torr", b="189 Torr", x="0.28"),
    "phys_thermo_39": _eval(
        "1/(1/T+R*log(a/b)/H)", "K", T="373.12 K", R="@R", a="760 Torr", b="253 Torr", H="40.656 kJ/mol"
    ),
    "phys_thermo_40": _call(
        "solve_equation", ("values", 0), equation="0.610=x*151/(x*151+(1-x)*84.3)", unknown="x"
    ),
    "phys_thermo_49": _refrigerator,
    "phys_thermo_24": _eval(
        "p*exp(-(a-b)/(R*T))", "Pa", p="1 bar", R="@R", T="298.15 K", a="-351.0 kJ/mol", b="-361.4 kJ/mol"
    ),
    "phys_thermo_sol_12": _gas_entropy,
    "phys_calculus_1": _eval("F*x^2/(2*W)", "cm", F="30 N", x="12 cm", W="2 J"),
    "phys_calculus_2": _call("matrix_product", ("scalar",), factors=[[["8", "-6", "9"]], [["6"], ["2"], ["12"]]]),
    "phys_calculus_24": _call(
        "quadrature", ("value",), expr="-y-(1-x-y)-x", wrt=["y", "x"], limits=[["y", "0", "1-x"], ["x", "0", "1"]]
    ),
    "phys_calculus_16": _number("0.005/(1/25+1/40+1/50)"),
    "phys_calculus_28": _number("6.5*4*sqrt(6)*2*pi*sqrt(6)*4"),
    "phys_calculus_32": _eval("sqrt(v^2+(a*t)^2+(u-g*t)^2)", "ft/s", v="50 ft/s", u="80 ft/s", a="4 ft/s^2",
                              g="32 ft/s^2", t="5 s"),
    "phys_diff_8": _solved_for(
        "4*y''+12*y'+9*y=0", {"y(0)": 1, "y'(0)": -4}, "solve_equation", ("values", 0), equation="{y}=0", unknown="t"
    ),
    "phys_diff_12": _solved_for(
        "y'=-2*y/t", {"y(1)": 2}, "evaluate_numeric", ("value",), expr="{y}", subs={"t": 5}
    ),
    "phys_diff_16": _logistic_time,
    "phys_diff_21": _solved_for(
        "y'+y/4=3+2*cos(2*t)", {"y(0)": 0}, "find_all_roots", ("roots", 0), equation="{y}=12", unknown="t",
        interval=[0, 12],
    ),
    "phys_diff_28": _eval("H*log(4/3)/log(2)", "yr", H="1620 yr"),
    "phys_diff_31": _solved_for(
        "y''+2*y'+2*y=0", {"y(0)": 1, "y'(0)": 0}, "find_all_roots", ("roots", -1), equation="abs({y})=1/10",
        unknown="t", interval=[0, 20],
    ),
    "phys_diff_33": _solved_for(
        "y'+2*y/3=1-t/2", {"y(2)": 0}, "evaluate_numeric", ("value",), expr="{y}", subs={"t": 0}
    ),
    "phys_diff_25": _eval("R^2/(k*r^2)*sqrt(2*h/g)", "s", R="1 m", r="0.1 m", k="0.6", h="3 m", g="9.8 m/s^2"),
    "phys_diff_23": _drag_speed,
    "phys_diff_17": _call("quadrature", ("value",), expr="v/(9.8-0.8*v)", wrt="v", limits=["0", "10"]),
    "phys_diff_0": _number("100*((1+0.07/365)^365-1)"),
}  # fmt: skip
TASK_RTOL = 1e-6  # the items allow more; their answers were computed to ten digits


def _task(recipe: Recipe, expected: float) -> Judge:
    def judge(tools: Tools) -> Judgement:
        came = recipe(tools)
        if isinstance(came, Artifact):
            return refused(came, expected)
        return judge_number(came, expected, TASK_RTOL)

    return judge


def _tasks(truth: Truth) -> Iterator[Case]:
    for item in truth.items("physics_restated_tasks"):
        recipe = RECIPES.get(item["id"])
        yield Case(item["id"], _task(recipe, item["answer"]) if recipe else untried("no recipe of calls"))


SETS = (
    Set("constants_codata2022", "physical_constant", _items("constants_codata2022", _constant)),
    Set("units_conversions", "unit_convert, quantity_eval", _conversions),
    Set("units_ucum_validity", "unit_convert", _items("units_ucum_validity", _validity)),
    Set("physics_restated_tasks", "recipes of calls", _tasks),
)
