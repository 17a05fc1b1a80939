"""The registry of tools: from typed functions with docstrings to specifications that validate, document and run."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from maven_env.errors import LimitExceeded, ToolError
from maven_env.tools.kinds import Kind, Resolve, annotations_of, describe, kind_of
from maven_env.tools.results import ToolResult, jsonable
from maven_env.tools.weight import is_light
from maven_env.types import Json, JsonObject

FAMILIES: dict[str, tuple[str, ...]] = {  # family -> its modules that hold tools
    "symbolic": (
        "manipulation",
        "expansions",
    ),
    "equations": (
        "solvers",
        "polynomials",
    ),
    "calculus": (
        "derivatives",
        "integration",
        "vector_calculus",
    ),
    "linear_algebra": (
        "decompositions",
        "eigenvalues",
        "exact_algebra",
        "iterative_systems",
        "least_squares",
        "linear_systems",
        "matrix_arithmetic",
    ),
    "numeric": (
        "evaluation",
        "quadratures",
        "roots",
        "sums",
    ),
    "ode": (
        "numerical_solutions",
        "symbolic_odes",
    ),
    "statistics": (
        "nonlinear_fits",
        "regression",
        "uncertainties",
    ),
    "optimisation": ("optimisers",),
    "transforms": ("integral_transforms",),
    "units": ("quantities",),
    "verification": (
        "comparisons",
        "conditioning",
        "extrema",
        "refinements",
        "residuals",
        "signs",
        "trajectories",
        "unit_checks",
    ),
    "state": ("queries",),
}

_SECTION = re.compile(r"^(Args|Returns|Diagnostics|Raises|Example):\s*$", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+)(?: \(([^)]*)\))?: (.*(?:\n {8,}.*)*)", re.MULTILINE)

Tier = int | Callable[[Mapping[str, Any]], int]


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool. `steers` marks options, whose numbers need no support."""

    name: str
    kind: Kind
    meaning: str
    required: bool
    default: Json
    steers: bool


@dataclass(frozen=True)
class OutputField:
    name: str
    kind: str
    meaning: str


@dataclass(frozen=True)
class ToolSpec:
    """Everything that is known of one tool.

    `tier`: 0 in process without sympy, 1 in process with sympy, 2 in the guarded process; or a function of the read
    arguments. `evaluates`: the tool only computes a value from its input, so scoring asks whether the value depends on
    what is referenced. `near`: tools that are easily taken for this one.
    """

    tool_id: str
    family: str
    version: str
    purpose: str
    description: str
    function: Callable[..., ToolResult]
    parameters: tuple[Parameter, ...]
    outputs: tuple[OutputField, ...]
    diagnostics: Mapping[str, str]
    errors: Mapping[str, str]
    near: tuple[str, ...]
    backend: tuple[str, ...]
    tier: Tier
    kind: str
    evaluates: bool
    needs_context: bool
    example: JsonObject

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to other processes by name."""
        return find, (self.tool_id,)

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)

    def signature(self) -> str:
        """Return one line: `symbolic_diff(expr, wrt, order=1) -> expr`; choices and maps show what they take."""
        return f"{self.tool_id}({', '.join(map(_word, self.parameters))}) -> {', '.join(f.name for f in self.outputs)}"

    def read(self, given: Mapping[str, Json], resolve: Resolve) -> tuple[dict[str, Any], JsonObject]:
        """Return the typed arguments and the resolved input. Raises ToolError: BAD_INPUT and what the kinds raise."""
        names = [p.name for p in self.parameters]
        unknown = [name for name in given if name not in names]
        if unknown:
            near = get_close_matches(unknown[0], names, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ToolError(
                "BAD_INPUT", f"{self.tool_id} has no field {unknown[0]!r}", f"{hint}fields: {', '.join(names)}"
            )
        arguments: dict[str, Any] = {}
        resolved: JsonObject = {}
        for parameter in self.parameters:
            value = given.get(parameter.name)
            if value is None:
                if parameter.required:
                    hint = f"{self.signature()}; example: {json.dumps(self.example, ensure_ascii=False)}"
                    raise ToolError(
                        "BAD_INPUT", f"the field {parameter.name!r} ({parameter.kind.name}) is missing", hint
                    )
                continue
            try:
                arguments[parameter.name] = parameter.kind.read(value, resolve)
            except ToolError as error:
                error.message = f"{parameter.name}: {error.message}"
                raise
            resolved[parameter.name] = parameter.kind.write(arguments[parameter.name])
        return arguments, resolved

    def tier_of(self, arguments: Mapping[str, Any]) -> int:
        """Return where to run: heavy input goes to the guarded process whatever the tool."""
        tier = self.tier if isinstance(self.tier, int) else self.tier(arguments)
        return tier if tier == 2 or is_light(arguments, tier) else 2

    def run(self, arguments: Mapping[str, Any], context: object = None) -> ToolResult:
        """Compute, in this process. Raises ToolError."""
        extra = {"context": context} if self.needs_context else {}
        try:
            return self.function(**arguments, **extra)
        except OverflowError as error:
            raise ToolError("OVERFLOW", "an intermediate value is beyond double precision", "rescale") from error
        except ZeroDivisionError as error:
            raise ToolError("DOMAIN_ERROR", "a division by zero occurs on the way", "check the input") from error
        except ValueError as error:
            if "integer string conversion" not in str(error):
                raise
            raise LimitExceeded("size", "an exact number here is too long to be written out", "use decimals") from None


def _word(parameter: Parameter) -> str:
    """Return a parameter as a signature shows it: `kind: matrix|root`, `values: {name: number}`, `order=1`."""
    kind, name = parameter.kind, parameter.name
    if "enum" in kind.schema:
        name = f"{name}: {'|'.join(kind.schema['enum'])}"
    elif kind.name.startswith("map of "):
        name = f"{name}: {{name: {kind.name.removeprefix('map of ')}}}"
    elif kind.name.startswith("list of "):
        name = f"{name}: [{kind.name.removeprefix('list of ')}]"
    return name if parameter.required else f"{name}={_short(parameter.default)}"


def _short(value: Json) -> str:
    return "none" if value is None else json.dumps(value)


_SPECS: dict[str, ToolSpec] = {}


def tool(
    *,
    kind: str,
    tier: Tier,
    near: tuple[str, ...] = (),
    backend: tuple[str, ...] = (),
    version: str = "1",
    evaluates: bool = False,
) -> Callable[[Callable[..., ToolResult]], Callable[..., ToolResult]]:
    """Register a typed function as a tool under its own name.

    `kind` is the `type` in the diagnostics: symbolic, exact, numeric, verification, units or state. The docstring has
    sections Args, Returns (`name (kind): meaning`), Diagnostics, Raises (`CODE: when`) and Example (a JSON input).
    Raises TypeError at import for a clash or a docstring that misses something.
    """

    def register(function: Callable[..., ToolResult]) -> Callable[..., ToolResult]:
        spec = _specify(function, kind, tier, near, backend, version, evaluates)
        if spec.tool_id in _SPECS:
            raise TypeError(f"two tools are named {spec.tool_id!r}")
        _SPECS[spec.tool_id] = spec
        return function

    return register


def _specify(
    function: Callable[..., ToolResult],
    kind: str,
    tier: Tier,
    near: tuple[str, ...],
    backend: tuple[str, ...],
    version: str,
    evaluates: bool,
) -> ToolSpec:
    name = function.__name__
    description, sections = _sections(inspect.getdoc(function) or "")
    meanings = {entry: meaning for entry, _, meaning in _entries(sections.get("Args", ""))}
    hints = annotations_of(function)
    needs_context = hints.pop("context", None) is not None
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "context":
            continue
        if parameter.name not in meanings:
            raise TypeError(f"tool {name}: the docstring does not explain {parameter.name!r}")
        parameter_kind, steers = kind_of(hints[parameter.name])
        required = parameter.default is inspect.Parameter.empty
        default = None if required else jsonable(parameter.default)
        parameters.append(
            Parameter(parameter.name, parameter_kind, meanings[parameter.name], required, default, steers)
        )
    outputs = tuple(OutputField(*entry) for entry in _entries(sections.get("Returns", "")))
    if not outputs or "Example" not in sections:
        raise TypeError(f"tool {name}: the docstring needs Returns and Example")
    return ToolSpec(
        tool_id=name,
        family=function.__module__.split(".")[-2],
        version=version,
        purpose=description.partition("\n")[0],
        description=description,
        function=function,
        parameters=tuple(parameters),
        outputs=outputs,
        diagnostics={entry: meaning for entry, _, meaning in _entries(sections.get("Diagnostics", ""))},
        errors={entry: meaning for entry, _, meaning in _entries(sections.get("Raises", ""))},
        near=near,
        backend=backend,
        tier=tier,
        kind=kind,
        evaluates=evaluates,
        needs_context=needs_context,
        example=json.loads(sections["Example"]),
    )


def _sections(doc: str) -> tuple[str, dict[str, str]]:
    marks = list(_SECTION.finditer(doc))
    description = doc[: marks[0].start()].strip() if marks else doc.strip()
    ends = [mark.start() for mark in marks[1:]] + [len(doc)]
    return description, {m[1]: doc[m.end() : end].strip("\n") for m, end in zip(marks, ends, strict=True)}


def _entries(section: str) -> list[tuple[str, str, str]]:
    text = textwrap.indent(textwrap.dedent(section), "    ")
    return [(m[1], m[2] or "", " ".join(m[3].split())) for m in _ENTRY.finditer(text)]


@lru_cache(maxsize=1)
def registry() -> Mapping[str, ToolSpec]:
    """Return every tool by id, in the order of the families. Imports the families at the first call."""
    for family, modules in FAMILIES.items():
        for module in modules:
            importlib.import_module(f"maven_env.tools.{family}.{module}")
    order = {family: i for i, family in enumerate(FAMILIES)}
    ours = {k: v for k, v in _SPECS.items() if v.family in order}
    return dict(sorted(ours.items(), key=lambda item: order[item[1].family]))


def find(tool_id: object) -> ToolSpec:
    """Return the tool. Raises ToolError(UNKNOWN_TOOL) that lists near matches."""
    tools = registry()
    spec = tools.get(tool_id) if isinstance(tool_id, str) else None
    if spec is None:
        what = repr(tool_id[:60]) if isinstance(tool_id, str) else describe(tool_id)
        near = get_close_matches(tool_id, tools, 3, 0.5) if isinstance(tool_id, str) else []
        hint = f"did you mean {', '.join(near)}?" if near else "choose one of the tools listed with the problem"
        raise ToolError("UNKNOWN_TOOL", f"there is no tool {what}", hint)
    return spec
