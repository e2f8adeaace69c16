"""Consoles: answers and views on stdout, diagnostics on stderr."""

from rich.console import Console


def stdout_console() -> Console:
    """Where answers and views go."""
    return Console(highlight=False, markup=False, emoji=False)


def stderr_console() -> Console:
    """Where diagnostics go."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)
