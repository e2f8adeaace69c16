"""Folders and files of the data directory that their owner alone may read: 0700 and 0600.

Also those that were there before, or were made by a program with a wider umask. What belongs to
somebody else, or is shared as /tmp is, stays as it is, with a warning.
"""

import logging
import os
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from acc_ace.errors import StoreError

logger = logging.getLogger(__name__)

_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_BESIDE: Final = ("", "-wal", "-shm")
"""What SQLite keeps beside a database; it makes them with the mode of the database."""


def make_directory(directory: Path) -> None:
    """Make a directory with mode 0700, or close an old one to others; raises StoreError."""
    try:
        make_private(directory)
    except OSError as error:
        raise StoreError(
            f"directory {directory} cannot be made ({error.strerror}); "
            "set ACC_ACE_DATA_DIR to a directory that you may write to"
        ) from error
    _close_to_others(directory)


def make_private(directory: Path) -> None:
    """Make a directory and those above it that are missing, with mode 0700; raises OSError."""
    if not directory.is_dir():
        make_private(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)


def make_database_file(path: Path) -> None:
    """Make an empty database with mode 0600, or close an old one and its log to others."""
    with suppress(OSError):  # SQLite, which opens it next, says what is wrong and the fix.
        path.touch(mode=0o600, exist_ok=True)
    for file in (path.with_name(path.name + ending) for ending in _BESIDE):
        if file.is_file():
            _close_to_others(file)


def _close_to_others(path: Path) -> None:
    status = path.stat()
    if not status.st_mode & _OF_OTHERS:
        return
    if status.st_uid != os.geteuid():
        _warn(path, "it belongs to another user")
    elif status.st_mode & stat.S_ISVTX:
        _warn(path, "it is shared (sticky bit)")
    else:
        try:
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OF_OTHERS)
        except OSError as error:
            _warn(path, str(error.strerror))


@lru_cache(maxsize=64)  # Once a process.
def _warn(path: Path, reason: str) -> None:
    logger.warning(
        "%s stays open to other users of this machine: %s. It holds conversations; set "
        "ACC_ACE_DATA_DIR to a directory of your own to keep them private",
        path,
        reason,
    )
