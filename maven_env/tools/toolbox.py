"""The one way that a call is executed: validate, resolve, look up, run where its tier says, diagnose."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib import metadata
from typing import Any, Protocol

from maven_env.artifacts import ArtifactStore
from maven_env.errors import BadReference, InfrastructureError, LimitExceeded, ToolError
from maven_env.execution.guard import Guard, shared_guard
from maven_env.execution.memo import Memo
from maven_env.references import follow, parse_reference
from maven_env.tools.registry import ToolSpec, find
from maven_env.tools.results import ToolResult, jsonable
from maven_env.tools.weight import check_bounded
from maven_env.types import Artifact, CallError, Json, JsonObject, ToolCall

_STEP_ID_LENGTH = 40
HINTS = {  # how to mend a failure that says nothing more particular
    "DOMAIN_ERROR": "move off the point, take a limit, or restrict the domain",
    "UNDEFINED_VALUE": "take a limit instead of the value",
    "OVERFLOW": "rescale the quantities, or use evaluate_high_precision",
    "SHAPE_MISMATCH": "make rows, vectors and matrices of lengths that fit",
    "SINGULAR": "check the rank, or use a tool for singular problems",
    "DIVERGENT": "change the limits, or ask for a principal value where that is meant",
    "NO_CONVERGENCE": "start closer, loosen the tolerance, or use another method",
    "NO_SOLUTION": "widen the domain, or check the equation",
    "UNSOLVED": "try a numeric tool, or simplify the input",
    "UNIT_MISMATCH": "convert to units of one dimension first",
}


@dataclass(frozen=True)
class ToolContext:
    """What tools on the state of a problem see: its artifacts, what the call refers to, and the way to run another."""

    store: ArtifactStore
    toolbox: Toolbox
    given: Mapping[str, Json]  # the input as sent
    parents: dict[str, None]  # the steps that the call refers to, in order

    def artifact(self, step_id: str) -> Artifact:
        """Return an artifact that the call names by its step id, and count it among the parents."""
        found = self.store.get(step_id)
        self.parents.setdefault(step_id)
        return found


class CallExecutor(Protocol):
    """Anything that answers a call with an artifact."""

    def call(self, call: ToolCall, store: ArtifactStore) -> Artifact: ...


class _Resolver:
    """Puts values for references and remembers where they came from."""

    def __init__(self, store: ArtifactStore) -> None:
        self.store = store
        self.parents: dict[str, None] = {}

    def __call__(self, body: str) -> Json:
        reference = parse_reference(body)
        artifact = self.store.get(reference.step_id)
        if not artifact.ok:
            code = artifact.error.code if artifact.error else "an error"
            raise BadReference(
                f"{reference.step_id} failed with {code} and has no output", "refer to a step that is ok"
            )
        value = follow(artifact, reference.path)
        self.parents.setdefault(reference.step_id)
        return value


class Toolbox:
    """Executes calls. One toolbox may serve many stores and threads; it keeps no state but the memo.

    `memo` caches results by tool, version and resolved input; `guard` runs tier-2 tools, by default the one that the
    process shares.
    """

    def __init__(self, memo: Memo | None = None, guard: Guard | None = None) -> None:
        self.memo = Memo() if memo is None else memo
        self._guard = guard

    @property
    def guard(self) -> Guard:
        return self._guard if self._guard is not None else shared_guard()

    def call(self, call: ToolCall, store: ArtifactStore) -> Artifact:
        """Execute `call` on the artifacts of `store` and return the artifact; the caller puts it there.

        What the call got wrong is in the artifact. Raises InfrastructureError only.
        """
        step_id, refused = _step_id(call, store)
        resolver = _Resolver(store)
        spec: ToolSpec | None = None
        resolved: JsonObject | None = None
        result: ToolResult | None = None
        error: CallError | None = None
        reproducible = True
        try:
            if refused is not None:
                raise refused
            spec = find(call.tool_id)
            _check_wrapper(call, store)
            arguments, resolved = spec.read(call.input, resolver)
            context = ToolContext(store, self, call.input, resolver.parents) if spec.needs_context else None
            result, reproducible = self._run(spec, arguments, resolved, context)
        except ToolError as failure:
            hint = failure.hint or HINTS.get(failure.code, "") or (spec.signature() if spec else "")
            error = CallError(failure.code, failure.message, hint, jsonable(failure.details))
            reproducible = failure.details.get("reproducible", True)
        return Artifact(
            ok=error is None,
            problem_id=store.problem_id,
            step_id=step_id,
            tool_id=call.tool_id if isinstance(call.tool_id, str) else "",
            tool_version=spec.version if spec else "",
            input=call.input,
            resolved_input=resolved,
            output={} if result is None else result.output,
            diagnostics={"type": spec.kind, **result.diagnostics} if spec and result else {},
            parents=tuple(resolver.parents),
            backend=_versions(spec.backend) if spec else {},
            error=error,
            persisted=call.persist,
            reproducible=reproducible,
        )

    def unknown(self, call: ToolCall, store: ArtifactStore, offered: Collection[str]) -> Artifact:
        """Return the artifact of a call to a tool that is not offered."""
        near = get_close_matches(call.tool_id, offered, 3, 0.5)
        hint = f"did you mean {', '.join(near)}?" if near else "choose one of the tools listed with the problem"
        return refused(call, store, "UNKNOWN_TOOL", f"there is no tool {call.tool_id[:60]!r} here", hint)

    def _run(
        self, spec: ToolSpec, arguments: Mapping[str, Any], resolved: JsonObject, context: ToolContext | None
    ) -> tuple[ToolResult, bool]:
        if context is not None:
            check_bounded(arguments)
            return _in_process(spec, arguments, context), True
        key = memo_key(spec, resolved)
        known = self.memo.get(key)
        if known is not None:
            return _remembered(known), True
        try:
            if spec.tier_of(arguments) < 2:
                result = _in_process(spec, arguments, None)
            else:
                result = self._guarded(spec, resolved)
        except ToolError as failure:
            if failure.details.get("reproducible", True):
                self.memo.put(key, _failure(failure))
            raise
        self.memo.put(key, {"output": result.output, "diagnostics": result.diagnostics})
        return result, True

    def _guarded(self, spec: ToolSpec, resolved: JsonObject) -> ToolResult:
        outcome = self.guard.call({"tool_id": spec.tool_id, "input": resolved})
        if outcome.status == "done":
            return ToolResult(outcome.value["output"], outcome.value["diagnostics"])
        if outcome.status == "limit":
            raise _limit(outcome.limit or "cpu", outcome.reproducible)
        problem = outcome.value
        if problem["code"] == "INTERNAL":
            raise InfrastructureError(f"{spec.tool_id} failed inside: {problem['message']}")
        raise ToolError(problem["code"], problem["message"], problem.get("hint", ""), **problem.get("details", {}))


def refused(call: ToolCall, store: ArtifactStore, code: str, message: str, hint: str) -> Artifact:
    """Return the error artifact of a call that is not executed."""
    step_id, clash = _step_id(call, store)
    error = CallError(code, message, hint) if clash is None else CallError(clash.code, clash.message, clash.hint)
    return Artifact(False, store.problem_id, step_id, call.tool_id, "", call.input, error=error, persisted=call.persist)


def _limit(limit: Any, reproducible: bool) -> LimitExceeded:
    failure = LimitExceeded(limit, f"the computation was ended at its {limit} limit", "simplify the input, or split it")
    failure.details["reproducible"] = reproducible
    return failure


def _remembered(record: Mapping[str, Any]) -> ToolResult:
    if "code" in record:
        raise ToolError(record["code"], record["message"], record["hint"], **record["details"])
    return ToolResult(record["output"], record["diagnostics"])


def _failure(failure: ToolError) -> JsonObject:
    return {
        "code": failure.code,
        "message": failure.message,
        "hint": failure.hint,
        "details": jsonable(failure.details),
    }


def _in_process(spec: ToolSpec, arguments: Mapping[str, Any], context: ToolContext | None) -> ToolResult:
    try:
        result = spec.run(arguments, context)
    except RecursionError:
        raise LimitExceeded("depth", "the computation nested too deep", "simplify the input") from None
    except MemoryError:
        raise LimitExceeded("memory", "the computation ran out of memory", "simplify the input") from None
    return ToolResult(jsonable(result.output), jsonable(result.diagnostics))


def memo_key(spec: ToolSpec, resolved: JsonObject) -> str:
    """Return the identity of a computation: tool, version, back ends, resolved input."""
    return json.dumps(
        [spec.tool_id, spec.version, _versions(spec.backend), resolved], sort_keys=True, ensure_ascii=False
    )


def _step_id(call: ToolCall, store: ArtifactStore) -> tuple[str, ToolError | None]:
    wanted = call.step_id
    if wanted is None:
        return store.next_step_id(), None
    is_name = wanted.isascii() and wanted.replace("-", "").replace("_", "").isalnum() and wanted[:1].isalpha()
    if not is_name or len(wanted) > _STEP_ID_LENGTH or wanted == "given":
        message = f"step_id {wanted[:60]!r} is no name for a step"
        return store.next_step_id(), ToolError("BAD_INPUT", message, "use letters, digits and -, or leave step_id out")
    if store.is_taken(wanted):
        message = f"step_id {wanted!r} is taken; nothing was overwritten"
        return store.next_step_id(), ToolError("BAD_INPUT", message, "leave step_id out, or choose an unused one")
    return wanted, None


def _check_wrapper(call: ToolCall, store: ArtifactStore) -> None:
    named = call.extra.get("problem_id", store.problem_id)
    if named != store.problem_id:
        message = f"the call names the problem {str(named)[:60]!r}, this is {store.problem_id!r}"
        raise ToolError("BAD_INPUT", message, "leave problem_id out, or give this one")
    unknown = [name for name in call.extra if name != "problem_id"]
    if unknown:
        names = ", ".join(repr(name[:60]) for name in unknown[:6])
        hint = "the wrapper has tool_id, input, persist, step_id; arguments go inside input"
        raise ToolError("BAD_INPUT", f"the call has unknown keys: {names}", hint)


@lru_cache(maxsize=64)
def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {package: metadata.version(package) for package in packages}
