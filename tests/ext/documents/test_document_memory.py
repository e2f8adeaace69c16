"""However long a document is, reading it holds a few parts at a time."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest

from acc_ace.core.schemas.artifact import DocumentForm
from acc_ace.ext.documents.document_files import decode
from acc_ace.ext.documents.document_parts import parts_of

BLOCK = 64 * 1024
PARAGRAPH = ("The pump of hall seven was serviced. 点検は毎月行います。 " * 12).encode() + b"\n\n"
RECORD = json.dumps({"content": "The pump of hall seven was serviced."}).encode() + b"\n"


def repeated(piece: bytes, blocks: int) -> Iterator[bytes]:
    for _ in range(blocks):
        yield piece * (BLOCK // len(piece))


def counted(blocks: Iterable[bytes], form: DocumentForm) -> tuple[int, int]:
    """(parts, bytes held at most while they were read)."""
    tracemalloc.start()
    try:
        text = decode(blocks, name="long")
        parts = sum(1 for _ in parts_of(text, form, name="long", max_tokens=400))
        return parts, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("piece", "form"),
    [
        (PARAGRAPH, DocumentForm.TEXT),
        (b"x" * 64, DocumentForm.TEXT),
        (b" \n" * 32, DocumentForm.TEXT),
        (RECORD, DocumentForm.JSONL),
    ],
    ids=["prose", "one word without end", "blanks", "records"],
)
def test_four_times_the_length_takes_no_more_memory(piece: bytes, form: DocumentForm) -> None:
    short, _ = counted(repeated(piece, 5), form)
    long, held = counted(repeated(piece, 20), form)
    assert long >= 3.9 * short
    assert held < 10 * BLOCK
