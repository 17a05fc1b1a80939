"""The exceptions of MavenBench, one tree.

    MavenError
    ├── ToolError               what a tool cannot do; a call that raises it becomes an artifact with ok: false
    │   ├── ExpressionError     text that is no expression, or one beyond the bounds
    │   ├── LimitExceeded       a bound on size, depth, fuel, processor time or memory
    │   └── BadReference        a ${...} that names nothing
    ├── TemplateError           a template file that breaks the format, with file, line and reason
    ├── UnknownProblem          a problem id, template or split that does not exist
    ├── EpisodeError            the environment was used out of order, such as a step before reset
    ├── ConfigurationError      an option or argument of a run that cannot be used as given
    ├── ModelError              a chat model's endpoint refused, or answered outside its protocol
    └── InfrastructureError     the guard's helper or the host itself failed; never scored

A ToolError is data for the agent that caused it. Everything else stops the caller.
"""

from __future__ import annotations

from typing import Any, Literal

LimitKind = Literal["size", "depth", "fuel", "cpu", "memory"]


class MavenError(Exception):
    """Base of every error that this project raises on purpose."""


class ToolError(MavenError):
    """A call that cannot be answered: a code of the catalogue, what happened, and how to mend it."""

    def __init__(self, code: str, message: str, hint: str = "", **details: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details


class ExpressionError(ToolError):
    """Text that cannot be read as mathematics. `reason` is the fine code, `position` the offset in the text."""

    def __init__(self, reason: str, message: str, position: int | None = None, hint: str = "") -> None:
        where = "" if position is None else f" at position {position}"
        super().__init__("PARSE_ERROR", f"{message}{where}", hint, reason=reason, position=position)
        self.reason = reason
        self.position = position


class LimitExceeded(ToolError):
    """A bound was reached; `limit` says which. It is an ordinary failed call, never a void episode."""

    def __init__(self, limit: LimitKind, message: str, hint: str = "") -> None:
        super().__init__("LIMIT_EXCEEDED", message, hint, limit=limit)
        self.limit = limit


class BadReference(ToolError):
    """A reference to a missing step or field."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("BAD_REFERENCE", message, hint)


class TemplateError(MavenError):
    """A template that does not keep the format; the message names file, line, what came and what was expected."""


class UnknownProblem(MavenError):
    """No such problem, template, domain, regime or split; the message lists near matches."""


class EpisodeError(MavenError):
    """The environment was used out of order."""


class ConfigurationError(MavenError):
    """An option that cannot be used as given."""


class ModelError(MavenError):
    """A chat model's endpoint refused, or answered outside its protocol."""


class InfrastructureError(MavenError):
    """The guard's helper or the host failed. Retried once, then raised; an episode that it ends is void."""
