"""What a stage needs from the ones before it."""

from typing import TypeVar

T = TypeVar("T")


def needed(value: T | None, name: str, stage: str) -> T:
    """The value; raises LookupError when no earlier stage has provided it."""
    if value is None:
        raise LookupError(f"stage '{stage}' needs '{name}', which no earlier stage has provided")
    return value
