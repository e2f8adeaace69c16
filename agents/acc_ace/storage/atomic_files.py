"""Write files that are whole for every reader, also after a crash."""

import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import IO

from acc_ace.errors import StoreError

_WAIT_S = 2.0
_PAUSE_S = 0.01


def write_if_new(path: Path, text: str) -> None:
    """Put a text into a file that only its owner may read, unless it is there. Raises OSError.

    One writer at a time; see `exclusive`.
    """
    data = text.encode("utf-8", "surrogatepass")
    if _content(path) == data:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_tree(directory: Path) -> None:
    """Remove a directory with all that is in it, if it is there. Raises OSError."""
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        return


def exclusive(path: Path) -> IO[bytes]:
    """Hold a lock file against other processes and threads until it is closed.

    Raises StoreError when another one holds it for two seconds, OSError when there can be none.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = path.open("ab")
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.close()
                raise StoreError(f"{path} is locked by another process") from None
            time.sleep(_PAUSE_S)
        except BaseException:
            file.close()
            raise
        else:
            return file


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
