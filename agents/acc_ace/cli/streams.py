"""Standard streams are always UTF-8, and JSON stands on one line."""

import io
import json
import sys
from collections.abc import Mapping
from typing import Any

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


def json_line(value: Mapping[str, Any]) -> str:
    """A JSON object on exactly one line, not ended, with other scripts readable as they are."""
    text = json.dumps(value, ensure_ascii=False)
    for character, escape in _LINE_BREAKS.items():
        text = text.replace(character, escape)
    return text
