"""The prompt: a line from the keyboard, with editing and a history where readline exists."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

_PROMPT = "> "

MAX_LINES = 1_000
"""Lines that a history file keeps."""


def read_line(*, prompt_on: TextIO) -> str | None:
    """The next line; '' after Ctrl-C, None after Ctrl-D.

    The prompt goes to `prompt_on`: stderr when stdout is for programs.
    """
    try:
        line = _ask(prompt_on)
    except EOFError:
        print(file=prompt_on)
        return None
    except KeyboardInterrupt:
        print(file=prompt_on)
        return ""
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ask(prompt_on: TextIO) -> str:
    if prompt_on is sys.stdout:
        return input(_PROMPT)  # readline must know the prompt to redraw the line.
    print(_PROMPT, end="", file=prompt_on, flush=True)
    return input()


@contextmanager
def line_history(path: Path) -> Iterator[None]:
    """Read the history, and keep what is typed from here on; readable by the owner only."""
    if find_spec("readline") is None:  # Windows: input() works, without a history.
        yield
        return
    readline: Any = importlib.import_module("readline")
    readline.set_history_length(MAX_LINES)
    if path.exists():
        readline.read_history_file(path)
    try:
        yield
    finally:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        readline.write_history_file(path)
