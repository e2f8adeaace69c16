"""The result of a check; and the checks of Python, ADK and SQLite."""

import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version


class Status(StrEnum):
    """The status of a check."""

    OK = "ok"
    NOTE = "note"
    """Works, but worth knowing."""
    PROBLEM = "problem"


@dataclass(frozen=True)
class CheckResult:
    """The result of a check; `fix` is empty when there is nothing to fix."""

    check: str
    status: Status
    detail: str
    fix: str = ""


def ok(check: str, detail: str) -> CheckResult:
    """A finding without a problem."""
    return CheckResult(check, Status.OK, detail)


def note(check: str, detail: str, fix: str = "") -> CheckResult:
    """A finding that works but is worth knowing."""
    return CheckResult(check, Status.NOTE, detail, fix)


def problem(check: str, detail: str, fix: str) -> CheckResult:
    """A finding that does not work; `fix` says what to do."""
    return CheckResult(check, Status.PROBLEM, detail, fix)


PYTHON = (3, 11)
"""The minimum Python version."""

ADK_SERIES = "2.13."
"""The tested ADK series; a test compares it with pyproject.toml."""


def check_python(
    running: tuple[int, int] = (sys.version_info[0], sys.version_info[1]),
) -> CheckResult:
    """Whether this Python is new enough."""
    shown = f"Python {running[0]}.{running[1]}"
    if running >= PYTHON:
        return ok("python", shown)
    return problem("python", f"{shown} is too old", "install Python 3.11 or newer")


def check_adk(installed: str | None = None) -> CheckResult:
    """Whether the installed ADK is of the tested series."""
    try:
        present = installed or version("google-adk")
    except PackageNotFoundError:
        return problem("adk", "google-adk is not installed", _INSTALL)
    if present.startswith(ADK_SERIES):
        return ok("adk", f"google-adk {present}")
    return problem(
        "adk", f"google-adk {present} is not in the supported series {ADK_SERIES}x", _INSTALL
    )


def check_sqlite() -> CheckResult:
    """Whether this SQLite has full-text search."""
    shown = f"SQLite {sqlite3.sqlite_version}"
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.OperationalError:
        return problem("sqlite", f"{shown} has no FTS5", "use a Python built with FTS5")
    return ok("sqlite", f"{shown} with FTS5")


_INSTALL = "pip install --no-deps --require-hashes -r requirements.lock (make run does it)"
