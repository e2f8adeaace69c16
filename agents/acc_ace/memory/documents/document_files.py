"""Documents in files."""

import os
import stat
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from acc_ace.errors import InputError
from acc_ace.schemas.document import DocumentForm

BLOCK = 64 * 1024
"""Bytes read at once."""

SUFFIXES = {
    ".txt": DocumentForm.TEXT,
    ".md": DocumentForm.TEXT,
    ".markdown": DocumentForm.TEXT,
    ".rst": DocumentForm.TEXT,
    ".jsonl": DocumentForm.JSONL,
    ".ndjson": DocumentForm.JSONL,
}
"""Files that are taken from a folder, and how they are read. A file that is named is taken
whatever its suffix, as text if it has none of these."""


@dataclass(frozen=True)
class DocumentFile:
    """A DocumentSource in a file, named as its path was given."""

    path: Path
    form: DocumentForm
    encoding: str = "utf-8"
    lenient: bool = False

    @property
    def name(self) -> str:
        """The path, with '/' between its parts; a byte that is no UTF-8 as its escape."""
        return _named(self.path)

    def blocks(self) -> Generator[bytes, None, None]:
        """Its bytes from the beginning. Raises InputError that names the file and the reason."""
        try:
            # A named pipe would wait for a writer for ever.
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with open(descriptor, "rb", buffering=0) as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise InputError(f"{self.name} is not a regular file")
                while block := file.read(BLOCK):
                    yield block
        except OSError as error:
            raise unreadable(self.name, error) from error


@dataclass(frozen=True)
class FolderAtFault:
    """A folder that cannot be read or holds no document, among the files of others."""

    name: str
    error: InputError


def document_files(
    paths: Iterable[Path],
    *,
    form: DocumentForm | None = None,
    encoding: str = "utf-8",
    lenient: bool = False,
) -> Iterator[DocumentFile | FolderAtFault]:
    """The documents that paths name; of a folder, the files in it with a suffix of SUFFIXES.

    Hidden files and folders are passed over, links to folders are not followed. `form` decides
    before the suffix. A folder at fault is told in its place, and the others follow.
    """
    for path in paths:
        # Not Path.is_dir, which raises for a path that may not be looked at or is too long.
        found = _in_folder(path) if os.path.isdir(path) else iter([path])
        for file in found:
            if isinstance(file, FolderAtFault):
                yield file
                continue
            read_as = form or SUFFIXES.get(file.suffix.lower(), DocumentForm.TEXT)
            yield DocumentFile(file, read_as, encoding, lenient)


def unreadable(name: str, error: OSError) -> InputError:
    """The error of a file or folder that cannot be read."""
    return InputError(f"{name} cannot be read: {error.strerror}")


def _in_folder(folder: Path) -> Iterator[Path | FolderAtFault]:
    """Its files, then the folders in it that cannot be read."""
    faults: list[OSError] = []
    found = False
    for parent, folders, names in os.walk(folder, onerror=faults.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                found = True
                yield Path(parent) / name
    for error in faults:
        name = _named(Path(error.filename or folder))
        yield FolderAtFault(name, unreadable(name, error))
    if not found and not faults:
        name = _named(folder)
        nothing = f"{name} holds no document ({', '.join(SUFFIXES)})"
        yield FolderAtFault(name, InputError(nothing))


def _named(path: Path) -> str:
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")
