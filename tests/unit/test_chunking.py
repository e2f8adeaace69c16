"""Long texts are cut where their writers made a break, within a bound, however they arrive."""

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.memory.chunking import chunks
from tests.fakes.tables import each_case

PIECES = st.sampled_from(
    [
        *("# Title\n", "word ", "pg_ctl ", "End. ", "\n\n", "\n", "\r\n", "    ", "\u3000"),
        *("営業時間内は再起動禁止です。", "「はい。」", "か\u3099", "👩\u200d💻", "\u200b"),
        *("a" * 90, "...", "3.14 ", "-"),
    ]
)
TEXTS = st.lists(PIECES, max_size=120).map("".join)


def cut(text: str, tokens: int) -> list[str]:
    return list(chunks([text], max_tokens=tokens))


@given(TEXTS | st.text(max_size=300), st.integers(1, 40))
def test_every_part_is_within_its_bound_and_nothing_but_white_space_is_lost(
    text: str, tokens: int
) -> None:
    parts = cut(text, tokens)
    assert all(part and estimate_tokens(part) <= tokens for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(TEXTS, st.integers(1, 40), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_parts_are_the_same_however_the_text_arrives(
    text: str, tokens: int, sizes: list[int]
) -> None:
    blocks: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(blocks) % len(sizes)]
        blocks.append(text[at : at + size])
        at += size
    assert list(chunks(blocks, max_tokens=tokens)) == cut(text, tokens)


def test_a_part_ends_where_a_section_ends() -> None:
    text = "# One\nFirst words of it.\n\nSecond paragraph here.\n# Two\nWords of the second one."
    assert cut(text, 16) == [
        "# One\nFirst words of it.\n\nSecond paragraph here.",
        "# Two\nWords of the second one.",
    ]


@each_case
def test_a_part_ends_where_a_sentence_or_line_ends(text: str, tokens: int, first: str) -> None:
    assert cut(text, tokens)[0] == first


def test_a_word_without_end_is_cut_but_no_character_is_torn() -> None:
    parts = cut("ka\u3099" * 100, 3)
    assert "".join(parts) == "ka\u3099" * 100
    assert all(not part.startswith("\u3099") for part in parts)


def test_a_text_that_fits_is_one_part_and_a_blank_one_is_none() -> None:
    assert cut("  one two  ", 10) == ["one two"]
    assert cut(" \n\u3000", 10) == []
