"""The words of the project as frozen values: calls, artifacts, traces, problems, scores, and the chat model protocol.

JSON enters and leaves through `to_json` and `from_json`; inside, everything is typed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Json = Any  # a JSON value: None, bool, int, float, str, list, dict
JsonObject = dict[str, Any]
Reading = Literal["passed", "failed", "inconclusive"]
ViolationKind = Literal[
    "MULTIPLE_CALLS", "MISSING_WRAPPER", "EMBEDDED_OPERATION", "MALFORMED_JSON", "NO_ACTION", "ACTION_AFTER_END"
]
AnswerForm = Literal[
    "expression", "number", "integer", "set", "choice", "boolean", "vector", "matrix", "tuple", "interval", "multiset"
]


# ---- actions ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: the wrapper that every call must have. `extra` holds keys that the wrapper does not know."""

    tool_id: str
    input: Mapping[str, Json]
    persist: bool = True
    step_id: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        record: JsonObject = {"tool_id": self.tool_id, "input": copy.deepcopy(dict(self.input))}
        if not self.persist:
            record["persist"] = False
        if self.step_id is not None:
            record["step_id"] = self.step_id
        return record | dict(self.extra)


@dataclass(frozen=True, slots=True)
class Completion:
    """PROBLEM_COMPLETED with answers by sub-question label: literals or references."""

    answers: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Violation:
    """A response that breaks the protocol; `text` is the part at fault, `message` says how to mend it."""

    kind: ViolationKind
    text: str
    message: str

    def to_json(self) -> JsonObject:
        return {"kind": self.kind, "text": self.text, "message": self.message}


Action = ToolCall | Completion | Violation


# ---- artifacts -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class CallError:
    """Why a call failed: a code of the catalogue, what happened, how to mend it, and the code's own details."""

    code: str
    message: str
    hint: str = ""
    details: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        return {"code": self.code, "message": self.message, "hint": self.hint, **copy.deepcopy(dict(self.details))}


@dataclass(frozen=True, slots=True)
class Artifact:
    """The persisted record of one call.

    `units` names the units of output fields (of `given`: of every quantity). `reproducible` is false if a kill by
    processor time or memory decided the result.
    """

    ok: bool
    problem_id: str
    step_id: str
    tool_id: str
    tool_version: str
    input: Mapping[str, Json]
    resolved_input: Mapping[str, Json] | None = None
    output: Mapping[str, Json] = field(default_factory=dict)
    diagnostics: Mapping[str, Json] = field(default_factory=dict)
    parents: tuple[str, ...] = ()
    backend: Mapping[str, str] = field(default_factory=dict)
    error: CallError | None = None
    persisted: bool = True
    reproducible: bool = True
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def result_id(self) -> str:
        return f"{self.problem_id}-{self.step_id}-result"

    def to_json(self) -> JsonObject:
        """Return the whole record; a fresh copy that shares nothing."""
        return copy.deepcopy(self.record())

    def record(self) -> JsonObject:
        """Return the whole record for writing out at once; its values are the artifact's own, not to be changed."""
        record: JsonObject = {
            "ok": self.ok,
            "result_id": self.result_id,
            "problem_id": self.problem_id,
            "step_id": self.step_id,
            "tool_id": self.tool_id,
            "tool_version": self.tool_version,
            "input": dict(self.input),
            "resolved_input": None if self.resolved_input is None else dict(self.resolved_input),
            "output": dict(self.output),
            "diagnostics": dict(self.diagnostics),
            "provenance": {
                "parents": list(self.parents),
                "backend": dict(self.backend),
                "reproducible": self.reproducible,
            },
            "error": None if self.error is None else self.error.to_json(),
        }
        if not self.persisted:
            record["persist"] = False
        if self.units:
            record["units"] = dict(self.units)
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> Artifact:
        """Read what `to_json` wrote."""
        error = record["error"]
        provenance = record["provenance"]
        return cls(
            ok=record["ok"],
            problem_id=record["problem_id"],
            step_id=record["step_id"],
            tool_id=record["tool_id"],
            tool_version=record["tool_version"],
            input=record["input"],
            resolved_input=record["resolved_input"],
            output=record["output"],
            diagnostics=record["diagnostics"],
            parents=tuple(provenance["parents"]),
            backend=provenance["backend"],
            error=None
            if error is None
            else CallError(
                error["code"],
                error["message"],
                error["hint"],
                {k: v for k, v in error.items() if k not in ("code", "message", "hint")},
            ),
            persisted=record.get("persist", True),
            reproducible=provenance["reproducible"],
            units=record.get("units", {}),
        )


# ---- traces ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model response, where the server reported them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def to_json(self) -> JsonObject:
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens}


@dataclass(frozen=True, slots=True)
class Step:
    """One response of the agent: its raw text, what it was read as, and what came of it."""

    text: str
    action: Action
    artifact: Artifact | None = None
    usage: Usage | None = None

    def to_json(self) -> JsonObject:
        match self.action:
            case ToolCall():
                action: JsonObject = {"call": self.action.to_json()}
            case Completion(answers):
                action = {"completion": copy.deepcopy(dict(answers))}
            case Violation():
                action = {"violation": self.action.to_json()}
        record: JsonObject = {"text": self.text, **action}
        if self.artifact is not None:
            record["artifact"] = self.artifact.to_json()
        if self.usage is not None:
            record["usage"] = self.usage.to_json()
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> Step:
        """Read what `to_json` wrote."""
        action: Action
        if "call" in record:
            call = dict(record["call"])
            known = {k: call.pop(k) for k in ("tool_id", "input", "persist", "step_id") if k in call}
            action = ToolCall(**known, extra=call)
        elif "completion" in record:
            action = Completion(record["completion"])
        else:
            action = Violation(**record["violation"])
        artifact = Artifact.from_json(record["artifact"]) if "artifact" in record else None
        usage = Usage(**record["usage"]) if "usage" in record else None
        return cls(record["text"], action, artifact, usage)


@dataclass(frozen=True, slots=True)
class Trace:
    """The steps of one episode in order. `ended` tells why it is over, None while it runs."""

    problem_id: str
    steps: tuple[Step, ...] = ()
    ended: Literal["completed", "budget"] | None = None

    def append(self, step: Step) -> Trace:
        return Trace(self.problem_id, (*self.steps, step), self.ended)

    def end(self, reason: Literal["completed", "budget"]) -> Trace:
        return Trace(self.problem_id, self.steps, reason)

    @property
    def calls(self) -> tuple[Artifact, ...]:
        """The artifacts in order, failed calls among them."""
        return tuple(step.artifact for step in self.steps if step.artifact is not None)

    @property
    def violations(self) -> tuple[Violation, ...]:
        return tuple(step.action for step in self.steps if isinstance(step.action, Violation))

    @property
    def completion(self) -> Completion | None:
        return next((step.action for step in self.steps if isinstance(step.action, Completion)), None)

    def to_json(self) -> JsonObject:
        return {"problem_id": self.problem_id, "ended": self.ended, "steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> Trace:
        """Read what `to_json` wrote."""
        return cls(record["problem_id"], tuple(Step.from_json(step) for step in record["steps"]), record["ended"])


# ---- problems --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class SubQuestion:
    """What one answer must look like. `vocabulary` lists the words of a choice, or the word for what does not exist."""

    label: str
    form: AnswerForm
    unit: str = ""
    vocabulary: tuple[str, ...] = ()
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """Another tool and output field that may stand in for a step's own."""

    tool: str
    field: str


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a declared path; references in `input` use the names of the path's steps."""

    tool: str
    input: Mapping[str, Json]
    resolved_input: Mapping[str, Json]
    accept: tuple[Accepted, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A value that must be right along the way: `field` of the artifact of `step`. Tolerances as in the template."""

    step: str
    field: str
    form: AnswerForm
    value: Json
    unit: str = ""
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another call that settles the same as a required check: its tool, resolved input, and what it must give."""

    tool: str
    resolved_input: Mapping[str, Json]
    field: str
    value: Json


@dataclass(frozen=True, slots=True)
class Check:
    """A required verification and its right reading.

    `settles` are the answer labels that the reading decides; `then` is the step that a failed reading demands; `means`
    turns a field that is no verdict into a reading; `accept` are other calls that count as well.
    """

    step: str
    reading: Reading
    field: str = "verdict"
    means: Mapping[str, Reading] | None = None
    settles: tuple[str, ...] = ()
    then: str | None = None
    accept: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """One complete way through a problem, steps in an order that the references allow."""

    name: str
    steps: Mapping[str, PathStep]
    checkpoints: Mapping[str, Checkpoint]
    checks: Mapping[str, Check]


@dataclass(frozen=True, slots=True)
class Answer:
    """The right answer to a sub-question and where it comes from: a checkpoint, or a word that a check settles."""

    value: Json
    checkpoint: str | None = None
    check: str | None = None
    is_word: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """What only the scorer and the oracle see."""

    paths: Mapping[str, Path]
    answers: Mapping[str, Answer]

    @property
    def canonical(self) -> Path:
        return self.paths["canonical"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A template instantiated. `statement_numbers` are the literals of the prompt before values are put in."""

    problem_id: str
    key: str  # id@version/regime/seed, also the key of the draw
    title: str
    domain: str
    regime: str
    statement: str
    sub_questions: tuple[SubQuestion, ...]
    given: Artifact
    meanings: Mapping[str, str]
    statement_numbers: tuple[str, ...]
    reference: Reference
    digest: str

    @property
    def template_id(self) -> str:
        return self.key.partition("@")[0]


# ---- scores ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Score:
    """Tool use (0-70), correctness (0-20), approach (0-10); a part that could not be judged is None, never 0."""

    tool_use: float | None
    correctness: float | None
    approach: float | None
    success: bool
    verified_success: bool
    path: str
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @property
    def total(self) -> float | None:
        """The sum of the parts, 0-100, or None if one could not be judged."""
        parts = (self.tool_use, self.correctness, self.approach)
        return None if any(part is None for part in parts) else sum(part for part in parts if part is not None)

    def to_json(self) -> JsonObject:
        return {
            "total": self.total,
            "tool_use": self.tool_use,
            "correctness": self.correctness,
            "approach": self.approach,
            "success": self.success,
            "verified_success": self.verified_success,
            "path": self.path,
            "metrics": dict(self.metrics),
            "flags": list(self.flags),
        }


# ---- models ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class NativeCall:
    """A tool call in a chat API's own form; `arguments` is the JSON text as the server sent it."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """One response of a chat model."""

    content: str
    tool_calls: tuple[NativeCall, ...] = ()
    usage: Usage | None = None


class ChatModel(Protocol):
    """Anything that answers a list of chat messages."""

    def complete(self, messages: Sequence[Mapping[str, Json]], tools: Sequence[Mapping[str, Json]] = ()) -> Reply:
        """Return the next assistant message. Raises ModelError if there is none."""
        ...


class Agent(Protocol):
    """Anything that plays an episode. `usage` is what the last response cost, where the model's server says."""

    usage: Usage | None

    def act(self, observation: str, info: Mapping[str, Json]) -> str:
        """Return the next response to an observation; `info` is what came with it from the environment."""
        ...
