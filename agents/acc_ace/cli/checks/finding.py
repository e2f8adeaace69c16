"""What a check found."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    """Works, and the user may want to know."""
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """A check's word on one thing; `fix` is empty when there is nothing to mend."""

    check: str
    status: Status
    detail: str
    fix: str = ""


def ok(check: str, detail: str) -> Finding:
    """All is well."""
    return Finding(check, Status.OK, detail)


def note(check: str, detail: str, fix: str = "") -> Finding:
    """Works, with something to know."""
    return Finding(check, Status.NOTE, detail, fix)


def problem(check: str, detail: str, fix: str) -> Finding:
    """Does not work; `fix` says what to do."""
    return Finding(check, Status.PROBLEM, detail, fix)
