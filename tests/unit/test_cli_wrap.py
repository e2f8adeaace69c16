"""Text for a terminal: wrapped as it streams, and harmless."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from acc_ace.cli.output import printable
from acc_ace.cli.wrap import StreamWrap

TEXT = st.text(st.one_of(st.sampled_from("ab 、。「」漢字かな\n.,x"), st.characters(codec="utf-8")))


def _wrapped(text: str, width: int, piece: int = 1) -> str:
    wrap = StreamWrap(width)
    pieces = [text[start : start + piece] for start in range(0, len(text), piece)]
    return "".join(wrap.feed(each) for each in pieces) + wrap.flush()


def test_lines_break_between_words() -> None:
    assert _wrapped("the database is back", 12) == "the database\nis back"


def test_japanese_breaks_anywhere_but_not_before_a_full_stop() -> None:
    assert _wrapped("再起動は禁止。以上", 12) == "再起動は禁\n止。以上"


def test_opening_bracket_stays_with_what_it_opens() -> None:
    assert _wrapped("これは「規則」", 8) == "これは\n「規則」"


def test_long_word_is_split_at_the_width() -> None:
    assert _wrapped("x" * 25, 10) == "\n".join(["x" * 10, "x" * 10, "x" * 5])


def test_indentation_and_own_line_breaks_stay() -> None:
    assert _wrapped("a:\n\n  - b\n", 10) == "a:\n\n  - b\n"


@given(text=TEXT, width=st.integers(4, 40), piece=st.integers(1, 7))
def test_nothing_is_lost_and_no_line_is_too_wide(text: str, width: int, piece: int) -> None:
    clean = printable(text)
    wrapped = _wrapped(clean, width, piece)
    assert "".join(wrapped.replace(" ", "").split("\n")) == "".join(
        clean.replace(" ", "").split("\n")
    )
    assert all(cell_len(line) <= width for line in wrapped.split("\n"))


@given(text=TEXT, width=st.integers(4, 40))
def test_pieces_do_not_matter(text: str, width: int) -> None:
    clean = printable(text)
    assert _wrapped(clean, width, 1) == _wrapped(clean, width, 1_000)


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert all(character in "\n" or ord(character) >= 0x20 for character in printable(text))
    printable(text).encode("utf-8")


def test_escape_sequences_and_direction_overrides_are_disarmed() -> None:
    assert printable("a\x1b[2Jb\u202ec\td\r\ne") == "a[2Jbc    d\ne"
