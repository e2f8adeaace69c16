"""The folder `playground/` of the data directory, and what its custodian keeps of each script.

It is flat and holds scripts alone: no other names, no links, bounded in number and size. Beside it
stand the custodian's book and `promoted/`, where a person's grant copies a script.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from pydantic import Field, TypeAdapter, ValidationError

from acc_ace.core.schemas.base import Value
from acc_ace.errors import InputError, NotFoundError, StoreError, first_problem

MOST_BYTES: Final = 16 * 1024
"""Of one script."""

MOST_SCRIPTS: Final = 32
IDLE: Final = 3
"""Episodes without a run after which it is proposed to tidy a script up."""


class ScriptEntry(Value):
    """What the custodian keeps of a script."""

    name: str
    purpose: str = ""
    wish: str = Field(default="", description="Why it should be promoted; empty if it should not.")
    failure: str = Field(default="", description="Why its last run did not end well.")
    runs: int = 0
    episode: int = Field(default=0, description="The one it ran last in.")
    granted: str = Field(default="", description="SHA-256 of the source that a person promoted.")

    @property
    def state(self) -> str:
        """In a word or two, for people."""
        asks = "asks to be promoted" if self.wish and self.runs and not self.failure else "tried"
        return "promoted" if self.granted else asks


_BOOK: Final = TypeAdapter(dict[str, ScriptEntry])


class Playground:
    """Reads and writes the folder. Every method raises StoreError where that is not possible."""

    def __init__(self, data_dir: Path) -> None:
        self.folder, self.promoted = data_dir / "playground", data_dir / "promoted"
        self._book = data_dir / "playground.json"

    def names(self) -> list[str]:
        """The scripts, sorted; nothing else that lies there counts."""
        with _storing(self.folder, "listed"):
            items = [*os.scandir(self.folder)] if self.folder.is_dir() else []
            files = [item.name for item in items if item.is_file(follow_symlinks=False)]
        return sorted(filter(_is_name, files))

    def read(self, name: str, granted: str = "") -> bytes:
        """A script, never through a link. Raises NotFoundError, also where another was granted."""
        path = self.folder / name
        if name not in self.names():
            raise NotFoundError(f"the playground has no script {name!r}; `playground list` has all")
        with _storing(path, "read"), open(os.open(path, os.O_NOFOLLOW), "rb") as file:
            source = file.read(MOST_BYTES + 1)
        if len(source) > MOST_BYTES:
            raise StoreError(f"{path} has more than {MOST_BYTES:,} bytes; shorten or delete it")
        if granted not in ("", sha256(source).hexdigest()):
            raise NotFoundError(f"{path} has changed since it was granted")
        return source

    def write(self, name: str, source: bytes, purpose: str = "", wish: str = "") -> None:
        """Write a script whole, which begins its entry anew.

        Raises InputError for a bad name, or where the bounds are full.
        """
        if not _is_name(name):
            raise InputError(f"a script is named like 'harms.py', shorter than 41: {name!r:.60}")
        if len(source) > MOST_BYTES:
            raise InputError(f"{name!r} has {len(source):,} bytes, a script at most {MOST_BYTES:,}")
        if len({*self.names(), name}) > MOST_SCRIPTS:
            raise InputError(f"{self.folder} is full ({MOST_SCRIPTS} scripts): delete some")
        self.note(ScriptEntry(name=name, purpose=purpose, wish=wish))
        _replace(self.folder / name, source)

    def promote(self, name: str) -> Path:
        """Copy a script to `promoted/`, as a person grants it. Raises InputError, NotFoundError."""
        source, entry = self.read(name), self.book()[name]
        if entry.failure or not entry.runs:
            raise InputError(f"{name!r} cannot be promoted: no run of it has ended well")
        _replace(self.promoted / name, source)
        self.note(entry.model_copy(update={"granted": sha256(source).hexdigest()}))
        return self.promoted / name

    def book(self) -> dict[str, ScriptEntry]:
        """What the custodian keeps, by the names of all scripts; no grant of another source."""
        with _storing(self._book, "read"):
            text = self._book.read_bytes() if self._book.exists() else b"{}"
        try:
            entries = _BOOK.validate_json(text)
        except ValidationError as error:
            torn = f"{self._book} is torn ({first_problem(error)})"
            raise StoreError(f"{torn}; move it away, the scripts stay") from error
        return {name: self._entry(name, entries) for name in self.names()}

    def _entry(self, name: str, entries: Mapping[str, ScriptEntry]) -> ScriptEntry:
        entry = entries.get(name, ScriptEntry(name=name))
        with suppress(NotFoundError, StoreError):
            self.read(name, entry.granted)
            return entry
        return entry.model_copy(update={"granted": ""})

    def untidy(self) -> dict[str, str]:
        """The scripts that a person may want to delete, each with the reason."""
        book = self.book()
        newest = max((entry.episode for entry in book.values()), default=0)
        idle = f"it has not run for {IDLE} episodes"
        own = [entry for entry in book.values() if not entry.granted]
        why = {each.name: each.failure or idle * (newest - each.episode >= IDLE) for each in own}
        return {name: text for name, text in why.items() if text}

    def note_run(self, name: str, source: bytes, failure: str, episode: int, runs: int) -> None:
        """Keep what came of a source, unless the script has changed since."""
        entry = self.book().get(name)
        if entry and self.read(name) == source:
            changes = {"failure": failure, "runs": entry.runs + runs, "episode": episode}
            self.note(entry.model_copy(update=changes))

    def note(self, entry: ScriptEntry) -> None:
        """Keep an entry of a script."""
        _replace(self._book, _BOOK.dump_json(self.book() | {entry.name: entry}, indent=1))


def _is_name(name: str) -> bool:
    stem = name.removesuffix(".py")
    is_plain = stem.isascii() and stem.isidentifier() and stem == stem.lower()
    return is_plain and name == f"{stem}.py" and len(stem) <= 40


@contextmanager
def _storing(path: Path, done: str) -> Iterator[None]:
    """An error of the system is one of the store."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be {done}: {error.strerror}") from error


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole, in place of what stood there, also of a link."""
    new = path.with_name(f".{path.name}.new")
    with _storing(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        new.replace(path)
