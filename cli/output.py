"""Consoles: answers and views on stdout, diagnostics on stderr."""

import sys

from rich.console import Console


def stdout_console() -> Console:
    """Where answers and views go."""
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def stderr_console() -> Console:
    """Where diagnostics go."""
    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
