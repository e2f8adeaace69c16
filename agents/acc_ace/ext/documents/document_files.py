"""Read documents from files: bytes, and text or the first undecodable byte."""

import codecs
import os
import stat
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

from acc_ace.core.schemas.artifact import DocumentForm
from acc_ace.errors import InputError

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
    before the suffix. A folder at fault is reported in its place, and the others follow.
    """
    for path in paths:
        # Not Path.is_dir, which raises for a path that may not be looked at or is too long.
        files = _in_folder(path) if os.path.isdir(path) else iter([path])
        for file in files:
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
    is_any = False
    for parent, folders, names in os.walk(folder, onerror=faults.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                is_any = True
                yield Path(parent) / name
    for error in faults:
        name = _named(Path(error.filename or folder))
        yield FolderAtFault(name, unreadable(name, error))
    if not is_any and not faults:
        name = _named(folder)
        nothing = f"{name} holds no document ({', '.join(SUFFIXES)})"
        yield FolderAtFault(name, InputError(nothing))


def _named(path: Path) -> str:
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


class DocumentSource(Protocol):
    """A document that can be read repeatedly from the start."""

    @property
    def name(self) -> str:
        """Name of the document, which identifies it."""
        ...

    @property
    def form(self) -> DocumentForm:
        """Format of the document."""
        ...

    @property
    def encoding(self) -> str:
        """Text encoding; a byte order mark takes precedence."""
        ...

    @property
    def lenient(self) -> bool:
        """Whether to replace undecodable bytes with U+FFFD instead of failing."""
        ...

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield the bytes from the start, in blocks of bounded size.

        Raises InputError that names the document when it cannot be read.
        """
        ...


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark is its beginning.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FORMATS = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xd0\xcf\x11\xe0", "an Office document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"SQLite format 3", "a database"),
    (b"\x7fELF", "a program"),
)
_HEAD = 16
_SAMPLE = 4_096
"""Leading bytes that decide whether a document is binary."""

_BINARY_SHARE = 0.05
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b")

_ENCODING = "name its encoding (--encoding, over HTTP ?encoding=)"


def decode(
    blocks: Iterable[bytes], *, name: str, encoding: str = "utf-8", lenient: bool = False
) -> Iterator[str]:
    """The text of a document, block by block.

    A byte order mark decides the encoding, and is no part of the text. When lenient, what is no
    text becomes U+FFFD. Raises InputError that names the document and the byte: for an unknown
    encoding, a format that is not text, a NUL, and bytes that the encoding does not know.
    """
    source = iter(blocks)
    head = _head(source)
    _refuse_formats(head, name)
    codec, skipped = _codec(head, encoding, name)
    if codec == "utf-8" and not lenient:
        _refuse_binary(head[:_SAMPLE], name)
    decoder = codecs.getincrementaldecoder(codec)("replace" if lenient else "strict")
    at = skipped
    for block in chain([head[skipped:]], source):
        yield _without_nul(_text(decoder, block, at, name, codec), at, name, lenient=lenient)
        at += len(block)
    yield _text(decoder, b"", at, name, codec, final=True)


def _head(source: Iterator[bytes]) -> bytes:
    head = b""
    for block in source:
        head += block
        if len(head) >= _HEAD:
            break
    return head


def _refuse_formats(head: bytes, name: str) -> None:
    for magic, what in _FORMATS:
        if head.startswith(magic):
            raise InputError(f"{name} is {what}, not text; convert it to text first")


def _codec(head: bytes, encoding: str, name: str) -> tuple[str, int]:
    """The codec of a document, and the length of its mark."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec, len(mark)
    try:
        info = codecs.lookup(encoding)
        # Codecs such as 'hex' do not decode text.
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise InputError(f"{name}: encoding '{encoding}' is not known") from error
    return info.name, 0


def _refuse_binary(sample: bytes, name: str) -> None:
    controls = sum(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in sample)
    if controls > _BINARY_SHARE * len(sample):
        raise InputError(f"{name} is binary, not text; convert it to text first")


def _text(
    decoder: codecs.IncrementalDecoder,
    block: bytes,
    at: int,
    name: str,
    codec: str,
    *,
    final: bool = False,
) -> str:
    pending = len(decoder.getstate()[0])
    try:
        return decoder.decode(block, final)
    except UnicodeDecodeError as error:
        offset = at - pending + error.start
        byte = error.object[error.start]
        raise InputError(
            f"{name} is not {codec.upper()}: byte {offset} (0x{byte:02X}) {error.reason}; "
            f"{_ENCODING}, or read it leniently (--lenient, over HTTP ?lenient=true)"
        ) from error
    except UnicodeError as error:
        # Codecs such as punycode say no more than that.
        raise InputError(f"{name} is not {codec.upper()}: {error}; {_ENCODING}") from error


def _without_nul(text: str, at: int, name: str, *, lenient: bool) -> str:
    if "\x00" not in text:
        return text
    if lenient:
        return text.replace("\x00", "\ufffd")
    raise InputError(f"{name} is binary, not text: there is a NUL shortly after byte {at}")
