"""Turn the bytes of a document into text, and say which byte is none."""

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

from acc_ace.errors import InputError

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
"""Bytes of the beginning that tell whether a document is binary."""

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
        found = codecs.lookup(encoding)
        # Codecs such as 'hex' are none of text.
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise InputError(f"{name}: encoding '{encoding}' is not known") from error
    return found.name, 0


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
