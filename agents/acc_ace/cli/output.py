"""Consoles: answers and views on stdout, diagnostics on stderr."""

from rich.console import Console

_UNBROKEN = 1_000_000
"""Cells; no line of a view is longer."""


def stdout_console() -> Console:
    """Where answers and views go."""
    return Console(highlight=False, markup=False, emoji=False)


def stderr_console() -> Console:
    """Where diagnostics go."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def line_console() -> Console:
    """Where text goes that is read by the line: in a file or a pipe no line is broken."""
    console = stdout_console()
    if not console.is_terminal:
        console.width = _UNBROKEN
    return console
