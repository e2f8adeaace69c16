"""What counts as a fact in a text: its words in order, and no number within another."""

import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from acc_ace.ext.lab.dialogues.dialogue import has_fact
from tests.fakes.extensions import needs

pytestmark = needs("lab")

DIGITS = st.text("0123456789", min_size=1, max_size=6)
JAPANESE = st.text("あいうかがさたなアカサタナー東京都駅前店月火", min_size=1, max_size=20)
LATIN = st.text("abcdefgxyzäöß", min_size=1, max_size=8)
PARTS = st.lists(st.one_of(DIGITS, LATIN, JAPANESE), min_size=1, max_size=8)


@given(number=DIGITS, before=DIGITS, after=DIGITS)
@example(number="90", before="1", after="0")
def test_a_number_is_not_in_one_that_is_longer(number: str, before: str, after: str) -> None:
    for longer in (f"{before}{number}", f"{number}{after}", f"{before}{number}{after}"):
        assert not has_fact(f"There are {longer} of them.", number)
        assert not has_fact(f"全部で{longer}個です。", number)


@given(number=st.integers(1_000, 9_999_999))
@example(number=1_900)
def test_the_last_digits_of_a_number_with_commas_are_no_number(number: int) -> None:
    grouped = f"{number:,}"
    assert has_fact(f"It costs {grouped}.", grouped)
    assert not has_fact(f"It costs {grouped}.", grouped.rpartition(",")[2])
    assert not has_fact(f"It costs {grouped}.", grouped.partition(",")[0])


@given(whole=st.integers(0, 99), part=st.integers(1, 99))
def test_a_part_of_a_decimal_number_is_no_number(whole: int, part: int) -> None:
    assert has_fact(f"It weighs {whole}.{part} kg.", f"{whole}.{part}")
    assert not has_fact(f"It weighs {whole}.{part} kg.", str(whole))
    assert not has_fact(f"It weighs {whole}.{part} kg.", str(part))


@given(number=DIGITS)
def test_a_number_is_in_a_text_wherever_signs_or_other_writing_end_it(number: str) -> None:
    for text in (f"{number}.", f"({number})", f"now {number}, then", f"全部で{number}個です"):
        assert has_fact(text, number)


@given(text=JAPANESE, data=st.data())
def test_each_part_of_a_japanese_text_is_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert has_fact(text, text[start:end])
    assert has_fact(f"project {text}2026", text[start:end])


@given(text=JAPANESE, other=JAPANESE)
def test_a_japanese_text_is_only_where_its_signs_stand_in_order(text: str, other: str) -> None:
    assume(unicodedata.normalize("NFKC", other) not in unicodedata.normalize("NFKC", text))
    assert not has_fact(text, other)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("会議は金曜日の午後３時からです。", "午後3時"),
        ("担当はｻﾄｳさんです。", "サトウさん"),
        ("人々が集まる。", "人々"),
        ("東京 タワー", "東京タワー"),
        ("The OWNER is Aiko.", "owner is aiko"),
    ],
)
def test_width_case_and_spaces_make_no_difference(text: str, fact: str) -> None:
    assert has_fact(text, fact)


@given(parts=PARTS, data=st.data())
def test_words_in_order_are_in_their_text_whatever_stands_between(
    parts: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(parts) - 1))
    end = data.draw(st.integers(start + 1, len(parts)))
    text = "; ".join(parts)
    assert has_fact(text, " ".join(parts[start:end]))
    assert has_fact(text.upper(), " ".join(parts[start:end]))


@given(fact=st.lists(LATIN, min_size=2, max_size=4, unique=True))
def test_words_in_another_order_are_not(fact: list[str]) -> None:
    assert not has_fact(" ".join(reversed(fact)), " ".join(fact))


@given(word=LATIN, more=LATIN)
def test_a_word_is_no_part_of_a_longer_one(word: str, more: str) -> None:
    longer = f"{word}{more}"
    assert not has_fact(f"It is {longer}.", word)


@given(text=st.text(min_size=1).filter(lambda text: any(map(str.isalpha, text))))
def test_marks_alone_are_in_no_text(text: str) -> None:
    for fact in ("", " ", "!?", "。…"):
        assert not has_fact(text, fact)
