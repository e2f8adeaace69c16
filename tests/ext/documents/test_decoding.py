"""Bytes become text, or an error that names the document and the byte."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.errors import InputError
from acc_ace.ext.documents.document_files import decode
from tests.fakes.tables import each_case

JAPANESE = "営業時間内は再起動禁止です。"


def read(data: bytes, block: int = 7, **how: object) -> str:
    blocks = [data[at : at + block] for at in range(0, len(data), block)]
    return "".join(decode(blocks, name="notes.txt", **how))  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs", "Cc"])))
def test_text_comes_back_whatever_marks_its_encoding(text: str) -> None:
    assert read(codecs.BOM_UTF8 + text.encode()) == text
    assert read(codecs.BOM_UTF16_LE + text.encode("utf-16-le")) == text
    assert read(codecs.BOM_UTF16_BE + text.encode("utf-16-be")) == text
    assert read(codecs.BOM_UTF32_LE + text.encode("utf-32-le")) == text


def test_a_named_encoding_is_used_where_no_mark_decides() -> None:
    assert read(JAPANESE.encode("cp932"), encoding="cp932") == JAPANESE
    assert read(codecs.BOM_UTF8 + JAPANESE.encode(), encoding="cp932") == JAPANESE


@pytest.mark.parametrize("at", [0, 5, 20, 64, 4_999])
@pytest.mark.parametrize("block", [1, 3, 64, 65_536])
def test_a_byte_that_is_no_text_is_named(at: int, block: int) -> None:
    data = b"x" * at + b"\xff" + b"y" * 30
    with pytest.raises(InputError, match=rf"notes\.txt is not UTF-8: byte {at} \(0xFF\)"):
        read(data, block)


@pytest.mark.parametrize("block", [1, 2, 64])
def test_a_character_cut_off_at_the_end_is_named(block: int) -> None:
    data = JAPANESE.encode()[:-1]
    with pytest.raises(InputError, match=f"byte {len(data) - 2} "):
        read(data, block)


def test_bytes_that_are_no_text_are_replaced_when_asked() -> None:
    assert read(b"abc \xff def\x00", lenient=True) == "abc \ufffd def\ufffd"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"%PDF-1.7\n\xc7\xec", "a PDF"),
        (b"PK\x03\x04" + b"\0" * 40, "an Office document"),
        (bytes(range(32)) * 8, "binary"),
        (b"text " * 2_000 + b"\0" + b"text", "NUL"),
        (JAPANESE.encode("utf-16-le"), "not|binary"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(data, 4_096)


@each_case
def test_an_unknown_encoding_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="encoding"):
        read(b"abc", encoding=name)


@pytest.mark.parametrize("name", ["punycode", "idna"])
def test_what_a_codec_cannot_place_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"notes.txt is not {name.upper()}"):
        read(JAPANESE.encode(), encoding=name)
