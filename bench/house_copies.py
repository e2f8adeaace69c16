"""Stores in which a sentence of the user stands: tables of databases, and other files.

Compressed values are read as they were before; a full-text index holds words and is no store.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

_DATABASE: Final = ".db"
_LOGS: Final = ("-wal", "-shm")


def stores_of(sentence: str, folder: Path) -> list[str]:
    """The names of tables and files below a folder that hold it."""
    return sorted(_stores(sentence, folder))


def _stores(sentence: str, folder: Path) -> Iterator[str]:
    for file in (path for path in folder.rglob("*") if path.is_file()):
        if file.suffix == _DATABASE:
            yield from (f"{file.name}: {table}" for table in _tables(sentence, file))
        elif not file.name.endswith(_LOGS) and sentence.encode() in file.read_bytes():
            yield file.name


def _tables(sentence: str, file: Path) -> Iterator[str]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        listed = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        )
        for (table,) in listed.fetchall():
            rows = database.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - its own name
            if any(sentence in _text(value) for row in rows for value in row):
                yield table


def _text(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    with suppress(zlib.error):  # A value that is not compressed is read as it is.
        value = zlib.decompress(value)
    return value.decode("utf-8", "replace")
