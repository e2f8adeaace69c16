"""The schema that both databases begin with, and the one version of it that this program knows."""

from importlib.resources import files
from typing import Final

from acc_ace.errors import StoreError
from acc_ace.storage.sql_rows import Dialect

VERSION: Final = 100
"""Of the baseline. Lower numbers are those of programs that were never released."""

_FILES: Final = ("common", "sessions")

_KEYS: Final[dict[Dialect, str]] = {
    "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "postgres": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
}


def baseline(dialect: Dialect) -> str:
    """The statements that make an empty database ours."""
    folder = files("acc_ace.storage") / "schema"
    scripts = [(folder / f"{name}.sql").read_text(encoding="utf-8") for name in (*_FILES, dialect)]
    return "\n".join(scripts).replace("{id}", _KEYS[dialect])


def check_version(found: int, database: str, setting: str) -> None:
    """Raise StoreError for a database of another version of the program.

    `database` is how it is named in the message, and `setting` what points to it.
    """
    if found > VERSION:
        raise StoreError(
            f"{database} has schema version {found}, this program knows up to {VERSION}; "
            f"upgrade the program, or point {setting} to another place"
        )
    if found < VERSION:
        raise StoreError(
            f"{database} has schema version {found}, of a program before the first release, and "
            f"cannot be upgraded to {VERSION}; export what you need with that program, then move "
            f"the database away or point {setting} to another place"
        )
