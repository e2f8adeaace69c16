"""Exit codes, and how an error is told: one line that names the thing and the fix."""

from enum import IntEnum

from acc_ace.errors import AccAceError, ModelError


class ExitCode(IntEnum):
    """What a command's exit code means."""

    OK = 0
    FAILED = 1
    """A model did not answer, or doctor has findings."""
    BAD_INPUT = 2
    """Input, settings, files or the database are at fault."""
    INTERRUPTED = 130
    """Ctrl-C, as shells count it."""


def exit_code(error: AccAceError) -> ExitCode:
    """1 for a model that failed, 2 for everything that the caller can mend."""
    return ExitCode.FAILED if isinstance(error, ModelError) else ExitCode.BAD_INPUT


def told(error: AccAceError) -> str:
    """'error (code): message', on one line."""
    return f"error ({error.code}): {' '.join(str(error).split())}"
