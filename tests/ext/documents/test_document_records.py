"""A line of JSONL that is at fault is named with its number."""

import pytest

from acc_ace.errors import InputError
from acc_ace.ext.documents.document_parts import MAX_LINE, records


def read(text: str, block: int = 5) -> list[tuple[int, str]]:
    blocks = [text[at : at + block] for at in range(0, len(text), block)]
    return [(line.number, line.record.content) for line in records(blocks, name="r.jsonl")]


def test_records_keep_their_lines_and_blank_lines_are_passed_over() -> None:
    text = (
        '{"content": "one", "more": 1}\r\n\n  \n{"content": "二\\u2028"}\n{"content": "a\u2028b"}'
    )
    assert read(text) == [(1, "one"), (4, "二\u2028"), (5, "a\u2028b")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "object|dict"),
        ('"text"', "object|dict"),
        ("null", "object|dict"),
        ('{"contnet": "x"}', "content: Field required"),
        ('{"content": "  "}', "blank"),
        ('{"content": 5}', "content"),
        ('{"content": "a\\ud800"}', "surrogate"),
        ('{"content": "x", "id": "\\udc00"}', "unicode"),
        ('{"content": "x", "id": ""}', "id"),
        ('{"content": "x", "expires_at": "2026-01-01T00:00:00"}', "expires_at.*timezone"),
        ('{"content": "x", "expires_at": "soon"}', "expires_at"),
        ("[" * 100_000, "is not JSON"),
        ('{"content": ' + "9" * 5_000 + "}", "is not JSON"),
    ],
)
def test_a_bad_line_is_named(line: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"(?s)r\.jsonl, line 2.*(?:{said})"):
        read('{"content": "good"}\n' + line + "\n", 4_096)


def test_an_id_used_twice_is_refused_with_both_lines() -> None:
    text = '{"content":"a","id":"x"}\n{"content":"b","id":"y"}\n{"content":"c","id":"x"}\n'
    with pytest.raises(InputError, match="line 3: id 'x' is also on line 1"):
        read(text)


def test_a_line_without_end_is_refused_before_it_is_held() -> None:
    def endless() -> list[str]:
        return ["x" * 65_536] * (MAX_LINE // 65_536 + 2)

    with pytest.raises(InputError, match="line 1 is longer"):
        list(records(endless(), name="r.jsonl"))
