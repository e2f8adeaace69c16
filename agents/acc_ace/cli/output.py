"""Command output: consoles, UTF-8 streams, text sanitised for the terminal, errors.

Answers and views go to stdout, diagnostics to stderr. An error is one line with the problem and
the fix.
"""

import errno
import io
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import IntEnum
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from acc_ace.cli.wrap import StreamWrap
from acc_ace.config import load_settings
from acc_ace.errors import AccAceError, InputError, ModelError

_Item = TypeVar("_Item", bound=BaseModel)

_UNBROKEN = 1_000_000
"""Width, in cells, at which no line of a view is wrapped."""


def when(at: datetime) -> str:
    """A time to the minute, in the users' zone (ACC_ACE_TIME_ZONE). Raises ConfigError."""
    return f"{at.astimezone(load_settings().zone):%Y-%m-%d %H:%M}"


def stdout_console() -> Console:
    """The console for answers and views."""
    return Console(highlight=False, markup=False, emoji=False)


def stderr_console() -> Console:
    """The console for diagnostics."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def line_console() -> Console:
    """The console for line-oriented text: lines are not wrapped in a file or a pipe."""
    console = stdout_console()
    if not console.is_terminal:
        console.width = _UNBROKEN
    return console


class ExitCode(IntEnum):
    """Exit codes of the commands."""

    OK = 0
    FAILED = 1
    """A model did not answer, or doctor has findings."""
    BAD_INPUT = 2
    """Input, settings, files or the database are at fault."""
    INTERRUPTED = 130
    """Ctrl-C, by shell convention."""
    TERMINATED = 143
    """SIGTERM, by the same."""


def exit_code(error: AccAceError) -> ExitCode:
    """1 for a failed model, 2 for everything the caller can fix."""
    return ExitCode.FAILED if isinstance(error, ModelError) else ExitCode.BAD_INPUT


def reported(error: AccAceError) -> str:
    """'error (code): message', on one line."""
    return f"error ({error.code}): {' '.join(str(error).split())}"


_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_UNCHANGED = frozenset("\n ")
_REPLACED = {"\t": " " * 4, "\u2028": "\n", "\u2029": "\n", **dict.fromkeys(_BIDI, "")}
_BY_CATEGORY = {"Cc": "", "Cs": "\ufffd"}


def printable(text: str) -> str:
    """Remove escape sequences, control characters and direction overrides.

    Line breaks stay, tabs become spaces, and lone surrogates become U+FFFD.
    """
    return "".join(
        character if character in _UNCHANGED or character.isprintable() else _shown(character)
        for character in text
    )


def _shown(character: str) -> str:
    if character in _REPLACED:
        return _REPLACED[character]
    return _BY_CATEGORY.get(unicodedata.category(character), character)


_NARROWEST = 10
"""Minimum width of a text column, in cells."""


class Paragraphs:
    """Paragraphs, each with one style. Rich alone would not wrap Japanese within a word."""

    def __init__(self, *paragraphs: tuple[str, str]) -> None:
        """Each paragraph is (text, style); the text is data and never read as markup."""
        self._paragraphs = [(printable(text), style) for text, style in paragraphs]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style in self._paragraphs:
            wrap = StreamWrap(options.max_width)
            yield Text(wrap.feed(text) + wrap.flush(), style, no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = [line for text, _ in self._paragraphs for line in text.split("\n")]
        widest = max((cell_len(line) for line in lines), default=0)
        return Measurement(min(widest, _NARROWEST), widest).with_maximum(options.max_width)


_LINE_BREAKS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
"""Characters that JSON allows unescaped and some readers treat as line breaks."""


def use_utf8() -> None:
    """Make the standard streams UTF-8, regardless of the locale.

    Invalid input bytes become lone surrogates, for the reader to report; lone surrogates in the
    output are written as escapes, which JSON reads back.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def json_line(value: Mapping[str, Any]) -> str:
    """A JSON object on exactly one line, without a newline; non-ASCII text is not escaped."""
    text = json.dumps(value, ensure_ascii=False)
    for character, escape in _LINE_BREAKS.items():
        text = text.replace(character, escape)
    return text


def named_values(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    """A two-column table of names and values."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(Text(name, "bold"), value)
    return table


def print_items(
    items: Sequence[_Item], view: Callable[[Sequence[_Item]], RenderableType], *, as_json: bool
) -> None:
    """Print the results: JSON lines for programs, a view for people."""
    if as_json:
        for item in items:
            print(json_line(item.model_dump(mode="json")))
    else:
        stdout_console().print(view(items))


@contextmanager
def create_private_file(
    out: Path, option: str = "--out", *, whole: bool = False
) -> Iterator[TextIO]:
    """Create a file, mode 0600, for text; a `whole` one appears once it is written to its end.

    Raises InputError if it exists or is not writable. Lone surrogates are written as escapes.
    """
    path = out.with_name(f"{out.name}.{os.getpid()}.partial") if whole else out
    try:
        if out.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(
            descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            yield file
        if whole:
            path.replace(out)
    except OSError as error:
        raise InputError(f"{option} {out} cannot be written: {error.strerror}") from error
    finally:
        if whole:
            with suppress(OSError):
                path.unlink()
