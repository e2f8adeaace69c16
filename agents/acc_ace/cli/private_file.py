"""Write a new file that only its owner may read; nothing is overwritten."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from acc_ace.errors import InputError


@contextmanager
def writing(out: Path) -> Iterator[TextIO]:
    """The file, open for text. Raises InputError when it exists or cannot be written."""
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"--out {out} cannot be written: {error.strerror}") from error
    with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
        yield file
