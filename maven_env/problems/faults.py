"""A fault in a template file and the place where it stands."""

from __future__ import annotations

from pydantic import ValidationError


class Fault(ValueError):
    """What is wrong, and the keys that lead to it."""

    def __init__(self, reason: str, *location: str | int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.location = location

    def under(self, *location: str | int) -> Fault:
        """Return the same fault seen from further out."""
        return Fault(self.reason, *location, *self.location)


def fault_of(error: ValidationError, *location: str | int) -> Fault:
    """Return the first fault that a model found, under `location`."""
    first = error.errors(include_url=False)[0]
    return Fault(first["msg"].removeprefix("Value error, "), *location, *first["loc"])
