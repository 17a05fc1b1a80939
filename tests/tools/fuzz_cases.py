"""Random and mutated calls over all tools: the same for the same seed and number, on every machine.

A call starts from its tool's example or from the kinds of its parameters, and is then spoilt: fields dropped, added or
swapped for others, numbers made huge, tiny or text, expressions mutated letter by letter, values wrapped or replaced by
what an attacker would send.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "expressions"))
from corpus import REFUSED, REFUSED_WHILE_BUILDING

from maven_env.expressions.functions import ARITIES
from maven_env.tools.registry import Parameter, ToolSpec, registry
from maven_env.types import Json, JsonObject, ToolCall

NAMES = ("x", "y", "t", "n", "a", "b", "k", "s", "z", "x_1")
NUMBERS: tuple[Json, ...] = (
    0, 1, -1, 2, 3, 7, 10, 100, -0.0, 0.5, 1.5, -2.25, 1e-3, 0.1, "1/2", "-3/7", "22/7", "0.3", "1e-9", "2.50", "pi",
    "sqrt(2)", "-sqrt(3)/2", "2*pi", "exp(1)", "1e5", "355/113",
)  # fmt: skip
HARD_NUMBERS: tuple[Json, ...] = (
    1e300, -1e300, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 1e-300, "1e-400", "1e400", "1e308*10", "oo",
    "-oo", "I", "1+I", "0/0", "1/0", "10^300", "2^1000", "3^(1/7)", "nan", "NaN", "Infinity", "-Infinity", 2**53, 2**63,
    2**64, 10**30, 10**400, -(10**18), float(2**53), 4503599627370497.5, "0x10", "1_000", "1,5", "٣", "", " ", "1e",
    "exp(1000)", "exp(-1000)", "2^16000",
    "7^5600", "3^-9999", "1/3^50", "10^16+1", "1-1e-17", "0.1+0.2-0.3", 1e16, 123456789.123456789, 50, 1000, 5000,
    100000, 10000000, 9.999999999999999e22, "sqrt(2)-sqrt(2)", "sin(pi)", "log(0)",
    "sqrt(-1)", "factorial(20)",
)  # fmt: skip
UNITS = (
    "m", "kg", "s", "m/s", "m/s^2", "J", "N*m", "degC", "degF", "K", "delta_degC", "km/h", "rpm", "rad/s", "eV", "ly",
    "%", "", "1", "m^(1/2)", "m**2", "kg m", "ohm", "dB", "furlong/fortnight", "m/0", "m^1000", "__import__", "m;s",
    "kg*m^2/s^3/A", "[length]", "m^-9999999999", "(" * 90 + "m" + ")" * 90, "km^(1/3)", "°C", "µm", "Å", "m\x00", "pH",
    "dimensionless", "mmHg", "lb", "psi", "acre*ft", "mol/L", "degree", "count", "light_year**9**9", "1/s", "Hz*2",
)  # fmt: skip
REFERENCES = (
    "${given.output.A}", "${given.output.f}", "${given.output.q}", "${given.units.A}", "${roots.output.roots}",
    "${roots.output.roots[0]}", "${roots.output.values[1]}", "${roots.output.roots[9]}", "${matrix.output.matrix}",
    "${matrix.output.matrix[0]}", "${fail.output.expr}", "${none.output.expr}", "${roots.diagnostics}", "${roots}",
    "${given.output}", "${..}", "2*${given.output.A} + x", "${given.output.f}^2", "x*${roots.output.roots[1]}", "${",
    "${sum.output.value}", "${ode.output.y}", "${ode.output.t}", "${roots.input.expr}", "${roots.input.wrt}",
)  # fmt: skip
JUNK: tuple[Json, ...] = (
    None, True, False, [], {}, [[]], [[[[]]]], {"": ""}, {"x": {"x": {"x": 1}}}, [None], "", " ", "\x00", "é" * 50,
    "𝒳", [1, "a", None], {"value": 1, "unit": "m"}, {"value": "x", "unit": 3}, {"value": [1], "unit": "m"}, "null",
    [[1, 2], [3]], [True, False], "[1, 2]", "{}", {"name": "x", "value": "1"}, [{"name": "x", "value": "1"}],
    ["x"] * 200,
    {str(i): i for i in range(150)}, [{"name": [1], "value": 1}], [{"name": "x", "value": {"a": 1}}],
)  # fmt: skip
PRIMES = ("'", "'", "''", "'''")


class Cases:
    """Calls by number. `seed` names the run."""

    def __init__(self, seed: int | str, tools: tuple[str, ...] = ()) -> None:
        self.seed = seed
        self.tools = [registry()[name] for name in tools] if tools else list(registry().values())

    def call(self, number: int) -> ToolCall:
        """Return the call with this number."""
        random = Random(f"{self.seed}/{number}")
        spec = self.tools[number % len(self.tools)]
        given = _Input(random, spec).make()
        extra: JsonObject = {"note": 1} if random.random() < 0.003 else {}
        step_id = random.choice(("mine", "roots", "given", "bad id", "", "é")) if random.random() < 0.01 else None
        name = spec.tool_id if random.random() > 0.002 else _mutated(random, spec.tool_id)
        return ToolCall(name, given, step_id=step_id, extra=extra)


class _Input:
    """One input of a tool in the making."""

    def __init__(self, random: Random, spec: ToolSpec) -> None:
        self.random = random
        self.spec = spec
        self.name = random.choice(NAMES[:4])  # the main variable
        self.hardness = random.choice((0.0, 0.0, 0.02, 0.15))
        self.size = random.choice((1, 2, 2, 2, 3, 3, 4, 6))
        self.is_closed = random.random() < 0.6  # no symbol but the main variable
        self.length = random.choices((0, 1, 2, 3, 4, 6, 12, 60, 400), (1, 5, 30, 30, 15, 8, 4, 2, 1))[0]

    def make(self) -> JsonObject:
        random = self.random
        given: JsonObject = copy.deepcopy(self.spec.example)
        if random.random() < 0.55:
            given = {p.name: self.value(p) for p in self.spec.parameters if p.required or random.random() < 0.35}
        for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
            self.spoil(given)
        return given

    def spoil(self, given: JsonObject) -> None:
        random = self.random
        field = random.choice(self.spec.parameters) if self.spec.parameters else None
        if field is None:
            given["nothing"] = 1
            return
        match random.choices(range(8), (30, 25, 8, 6, 4, 8, 10, 2))[0]:
            case 0:
                given[field.name] = self.value(field)
            case 1 if field.name in given:
                given[field.name] = self.altered(given[field.name])
            case 2 if field.name in given:
                del given[field.name]
            case 3:
                given[field.name] = random.choice(JUNK)
            case 4:
                given[field.name] = random.choice(REFUSED + REFUSED_WHILE_BUILDING)
            case 5:
                given[field.name] = random.choice(REFERENCES)
            case 6:
                other = random.choice(self.spec.parameters)
                given[field.name] = given.get(other.name)
            case 7:
                given[random.choice(("nonsense", "Expr", "", field.name + "_"))] = random.choice(JUNK)

    def altered(self, value: Json) -> Json:
        """Return `value` with one place changed."""
        random = self.random
        if isinstance(value, list) and value and random.random() < 0.9:
            where = random.randrange(len(value))
            match random.randrange(6):
                case 0:
                    return value[:where] + value[where + 1 :]
                case 1:
                    return [*value, value[where]]
                case 2:
                    return value[::-1]
                case _:
                    return [*value[:where], self.altered(value[where]), *value[where + 1 :]]
        if isinstance(value, dict) and value and random.random() < 0.9:
            key = random.choice(list(value))
            if random.random() < 0.2:
                return {k: v for k, v in value.items() if k != key}
            return {**value, key if random.random() < 0.8 else random.choice(NAMES): self.altered(value[key])}
        if isinstance(value, str) and random.random() < 0.6:
            return _mutated(random, value)
        if isinstance(value, bool) or random.random() < 0.05:
            return random.choice(JUNK)
        if isinstance(value, int | float) and random.random() < 0.5:
            changed = value * random.choice((-1, 0, 2, 10, 1000, 1e-6, 1e12 if abs(value) < 1e290 else 0.5))
            return changed + random.choice((0, 0, 1, 0.5)) if abs(changed) < 1e308 else value
        return self.number() if random.random() < 0.6 else self.expression(self.size)

    # ---- values by kind ----------------------------------------------------------------------------------------------
    def value(self, parameter: Parameter) -> Json:
        return self.of_kind(parameter.kind.name, parameter)

    def of_kind(self, name: str, parameter: Parameter) -> Json:
        random = self.random
        if name == "list of symbol":
            return self.names()
        if name == "list of number":
            return self.interval() if random.random() < 0.7 else self.vector()
        if name == "list of list of number":
            return [self.interval() for _ in range(random.randint(0, 4))]
        if name.startswith("list of "):
            return self.many(lambda: self.of_kind(name.removeprefix("list of "), parameter))
        if name.startswith("map of "):
            inner = name.removeprefix("map of ")
            keys = [self.name, *random.sample(NAMES, random.choice((0, 0, 1, 2, 9)))]
            return {key: self.of_kind(inner, parameter) for key in keys}
        if "enum" in parameter.kind.schema:
            words = parameter.kind.schema["enum"]
            return random.choice(words) if random.random() < 0.95 else _mutated(random, str(random.choice(words)))
        made = _MAKERS.get(parameter.name if parameter.name in ("ode", "recurrence") else name)
        return made(self) if made else self.expression(self.size)

    def many(self, make: Callable[[], Json]) -> list[Json]:
        count = self.random.choices((0, 1, 2, 3, 5, 40, 300), (2, 20, 40, 20, 8, 2, 0.5))[0]
        return [make() for _ in range(count)]

    def names(self) -> list[Json]:
        others = self.random.sample(NAMES, self.random.choice((0, 0, 1, 1, 2, 4)))
        return list(dict.fromkeys([self.name, *others]))

    def symbol(self) -> Json:
        random = self.random
        return self.name if random.random() < 0.85 else random.choice([*NAMES, "sin", "pi", "E", "2", "x+y", "_", "λ"])

    def number(self) -> Json:
        random = self.random
        if random.random() < 0.02 + self.hardness:
            return random.choice(HARD_NUMBERS)
        match random.randrange(5):
            case 0:
                return random.randint(-12, 30)
            case 1:
                return round(random.uniform(-10, 10), random.randrange(6))
            case 2:
                return random.uniform(-1, 1) * 10.0 ** random.randint(-12, 12)
            case 3:
                return f"{random.randint(-50, 50)}/{random.randint(1, 40)}"
            case _:
                return random.choice(NUMBERS)

    def integer(self) -> Json:
        random = self.random
        if random.random() < 0.05 + self.hardness:
            return random.choice((0, -1, 10**6, 10**9, 2**31, 2**63, -(10**12), 10**25, 1.5, "7", "007", 30000, 999))
        return random.choice((0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 50, 100, 400))

    def unit(self) -> Json:
        random = self.random
        unit = random.choice(UNITS)
        return unit if random.random() < 0.7 else f"{unit}{random.choice(('*', '/', '^', ' '))}{random.choice(UNITS)}"

    def quantity(self) -> Json:
        if self.random.random() < 0.3:
            return {"value": self.number(), "unit": self.unit()}
        return f"{self.number()} {self.unit()}"

    def text(self) -> Json:
        return self.random.choice(
            ("y(x)", "y(t)", "x", "R", "speed of light", "c", "roots", "given", "output.roots", "output", "ok", "ode",
             "rtol", "positive", "sum", "output.value", "G", "electron mass", "y", "f(x, y)", "fail", "diagnostics")
        )  # fmt: skip

    def interval(self) -> list[Json]:
        pair = [self.number(), self.number()]
        return sorted(pair) if all(isinstance(value, int | float) for value in pair) else pair

    def limits(self) -> Json:
        random = self.random
        if random.random() < 0.25:
            return [[self.name, *self.interval()] for _ in range(random.randint(1, 3))]
        return [random.choice(("0", "-oo", self.number())), random.choice(("oo", "1", "pi", self.number()))]

    def vector(self) -> list[Json]:
        count = self.length if self.random.random() < 0.8 else self.random.randrange(6)
        return [self.number() for _ in range(count)]

    def matrix(self) -> Json:
        random = self.random
        rows = min(max(self.length, 1), 100) if random.random() < 0.8 else random.randint(1, 5)
        columns = rows if random.random() < 0.75 else random.randint(1, 6)
        entry = self.number if random.random() < 0.8 or rows > 8 else (lambda: self.expression(1))
        made = [[entry() for _ in range(columns)] for _ in range(rows)]
        match random.randrange(12):
            case 0:
                made[-1] = made[0]  # singular
            case 1:
                made[-1] = made[-1][:-1]  # ragged
            case 2:
                made = [
                    [made[max(i, j)][min(i, j)] if columns == rows else 0 for j in range(columns)] for i in range(rows)
                ]
            case 3:
                made = [[value if i == j else 0 for j, value in enumerate(row)] for i, row in enumerate(made)]
            case 4:
                return [random.choice((0, 1)) for _ in range(rows)]
            case 5:
                made = [[f"1/{i + j + 1}" for j in range(columns)] for i in range(rows)]  # Hilbert
        return made

    def relation(self) -> str:
        sign = self.random.choice(("<", "<=", ">", ">=", "=", "!=", "=="))
        return f"{self.expression(self.size)} {sign} {self.expression(1)}"

    def equation(self) -> str:
        left = self.expression(self.size)
        return f"{left} = {self.expression(1)}" if self.random.random() < 0.7 else left

    def ode(self) -> str:
        random = self.random
        y, sign = random.choice(("y", "y(x)", "y(t)")), random.choice("+-*")
        left = f"{random.choice(('', '2*', 'x*'))}y{random.choice(PRIMES)} {sign} {self.expression(1)}*{y}"
        return f"{left} = {self.expression(1)}"

    def recurrence(self) -> str:
        return f"{self.expression(1)}*y(n+1) + {self.number()}*y(n) - {self.expression(1)}*y(n-1)"

    def state(self) -> Json:
        return {self.random.choice(("at", "value", "derivative", "x", self.name)): self.number() for _ in range(3)}

    def assumption(self) -> Json:
        words = ("positive", "negative", "real", "integer", "nonzero", "nonnegative", "complex", "even", "nonsense")
        return {self.name: [self.random.choice(words)], self.random.choice(NAMES): self.random.choice(words)}

    def expression(self, size: int) -> str:
        """Return the text of an expression; `size` is about its number of operations."""
        random = self.random
        if random.random() < self.hardness / 3:
            return str(random.choice(REFUSED_WHILE_BUILDING + REFUSED))
        if size <= 0 or random.random() < 0.06:
            return self.name if random.random() < 0.5 else str(self.atom())
        match random.randrange(12):
            case 0 | 1:
                return f"({self.expression(size - 1)} {random.choice('+-')} {self.expression(size - 2)})"
            case 2:
                return f"{self.bracketed(size - 1)}*{self.bracketed(size - 2)}"
            case 3:
                return f"{self.bracketed(size - 1)}/{self.bracketed(size - 2)}"
            case 4:
                exponents = (2, 2, 3, "(1/2)", "(-1)", "(2/3)", self.name, "(-n)", 7, 20)
                return f"{self.bracketed(size - 1)}^{random.choice(exponents)}"
            case 5 | 6:
                function = random.choice(("sin", "cos", "exp", "log", "sqrt", "tan", "atan", "sinh", "Abs"))
                return f"{function}({self.expression(size - 1)})"
            case 7:
                function = random.choice(list(ARITIES))
                fewest, most = ARITIES[function]
                arguments = [self.expression(size - 1) for _ in range(random.randint(fewest, most))]
                return f"{function}({', '.join(arguments)})"
            case 8:
                return " + ".join(
                    f"{self.coefficient()}*{self.name}^{i}" for i in range(random.randint(1, 2 * size + 1))
                )
            case 9:
                return f"({self.expression(1)})/({self.name}^2 {random.choice('+-')} {self.coefficient()})"
            case 10:
                return f"exp(-{self.bracketed(size - 1)})*{self.bracketed(size - 2)}"
            case _:
                condition = f"{self.name} < {self.coefficient()}"
                if random.random() < 0.5:
                    return f"Piecewise(({self.expression(size - 2)}, {condition}), ({self.expression(size - 2)}, True))"
                return f"sqrt({self.bracketed(size - 1)} + sqrt({self.expression(size - 2)}))"

    def bracketed(self, size: int) -> str:
        return f"({self.expression(size)})"

    def atom(self) -> Json:
        random = self.random
        return random.choice((self.number(), self.name if self.is_closed else random.choice(NAMES), "pi", self.name))

    def coefficient(self) -> str:
        random = self.random
        last = "2.5" if self.is_closed else "a"
        return random.choice((str(random.randint(1, 9)), f"{random.randint(1, 9)}/{random.randint(2, 7)}", "1.5", last))


_MAKERS: dict[str, Callable[[_Input], Json]] = {
    "number": _Input.number, "int": _Input.integer, "symbol": _Input.symbol, "unit": _Input.unit, "text": _Input.text,
    "quantity": _Input.quantity, "matrix": _Input.matrix, "vector": _Input.vector, "relation": _Input.relation,
    "equation": _Input.equation, "expr or equation": _Input.equation, "ode": _Input.ode,
    "recurrence": _Input.recurrence,
    "bool": lambda made: made.random.random() < 0.5, "limits": _Input.limits,
    "[a, b] or list of [x, a, b]": _Input.limits,
    "symbol or list": lambda made: made.name if made.random.random() < 0.7 else made.names(),
    "expr or list": lambda made: made.expression(made.size) if made.random.random() < 0.6 else made.vector(),
    "matrix, vector or scalar": lambda made: made.random.choice((made.matrix, made.vector, made.number))(),
    "map": lambda made: made.random.choice((made.assumption, made.state))(),
}  # fmt: skip


def _mutated(random: Random, text: str) -> str:
    """Return `text` with a few letters dropped, doubled or put in, or a part repeated."""
    for _ in range(random.choice((1, 1, 2, 4))):
        where = random.randint(0, len(text))
        match random.randrange(5):
            case 0:
                text = text[:where] + text[where + 1 :]
            case 1:
                text = text[:where] + random.choice("()+-*/^.,=<> xyt019eI!|[]{}$\"'é\\\n") + text[where:]
            case 2:
                text = text[:where] + text[max(0, where - 3) :]
            case 3:
                text = (
                    text[:where]
                    + random.choice(("sin(", "^2", "/0", "*x", "1e9", "pi", "-oo", "^(1/3)"))
                    + text[where:]
                )
            case 4:
                text = f"({text}){random.choice('+-*/^')}({text[:40]})"
    return text[:30_000]


def line_of(call: ToolCall) -> str:
    """Return a call as one line of JSON, to be read by `call_of`."""
    record: dict[str, Any] = {"tool_id": call.tool_id, "input": call.input}
    if call.step_id is not None:
        record["step_id"] = call.step_id
    return json.dumps({**record, **call.extra})


def call_of(line: str) -> ToolCall:
    record = json.loads(line)
    known = {key: record.pop(key) for key in ("tool_id", "input", "step_id") if key in record}
    return ToolCall(**known, extra=record)
