"""Standard streams: always UTF-8, answers on stdout, diagnostics on stderr."""

import io
import json
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console

_LINE_BREAKS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
"""Characters that JSON lets through and that some readers take for the end of a line."""


def use_utf8() -> None:
    """Make the standard streams UTF-8, whatever the locale says.

    Bytes that are not UTF-8 come in as lone surrogates, for the reader to report; a lone
    surrogate that is to go out is written as an escape, which JSON reads back.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def stdout_console() -> Console:
    """Where answers and views go."""
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def stderr_console() -> Console:
    """Where diagnostics go."""
    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)


def json_line(value: Mapping[str, Any]) -> str:
    """A JSON object on exactly one line, not ended, with other scripts readable as they are."""
    text = json.dumps(value, ensure_ascii=False)
    for character, escape in _LINE_BREAKS.items():
        text = text.replace(character, escape)
    return text
