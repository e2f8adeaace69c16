"""A long text is cut to the part that was looked for."""

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.search_terms import query_terms
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.memory.chunking import excerpt

ENGLISH = (
    "The weekly report begins here. " * 60
    + "The valve of pump seven was replaced on Tuesday. It holds now. "
    + "Nothing else is to be told. " * 60
)
JAPANESE = (
    "週報の冒頭である。" * 60
    + "七号機の弁は火曜日に交換された。今は安定している。"
    + "特記事項なし。" * 60
)


def cut(text: str, asked: str, budget: int = 60) -> str:
    return excerpt(text, query_terms(asked), budget)


def test_an_english_excerpt_is_taken_around_the_match() -> None:
    found = cut(ENGLISH, "which valve was replaced?")
    assert "The valve of pump seven was replaced on Tuesday. It holds now." in found
    assert found.startswith("…")
    assert found.endswith("…")


def test_a_japanese_excerpt_is_taken_around_the_match() -> None:
    found = cut(JAPANESE, "弁はいつ交換した？")
    assert "七号機の弁は火曜日に交換された。今は安定している。" in found
    assert found.startswith("…")


def test_a_text_that_fits_stays_whole() -> None:
    assert cut("Short. The valve leaks.", "valve") == "Short. The valve leaks."


def test_without_a_match_the_head_is_taken() -> None:
    found = cut(ENGLISH, "zanzibar")
    assert found.startswith("The weekly report begins here.")
    assert found.endswith("…")


def test_a_match_in_the_head_keeps_the_head() -> None:
    assert cut(ENGLISH, "weekly").startswith("The weekly report")


def test_a_rare_word_decides_over_a_common_one() -> None:
    assert "valve" in cut(ENGLISH, "report valve")


def test_the_end_of_a_text_has_no_mark() -> None:
    assert cut("Filler text. " * 100 + "The valve leaks.", "valve").endswith("The valve leaks.")


def test_a_match_in_one_endless_sentence_is_found() -> None:
    text = "word " * 2_000 + "valve " + "word " * 2_000
    assert "valve" in cut(text, "valve", 150)


@given(
    st.lists(
        st.sampled_from(["valve. ", "pump ", "the report\n", "弁を交換。", "…", "  ", "x" * 400]),
        max_size=200,
    ).map("".join),
    st.sampled_from(["valve", "弁", "pump report", "", "zzz"]),
    st.integers(0, 80),
)
def test_an_excerpt_never_exceeds_its_budget(text: str, asked: str, budget: int) -> None:
    found = cut(text, asked, budget)
    assert estimate_tokens(found) <= budget
    assert all(part in text for part in found.strip("…").split("…") if part.strip())
