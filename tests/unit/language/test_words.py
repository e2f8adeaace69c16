"""Content words, polarity and language."""

import pytest

from acc_ace.text.normalize import language_of
from acc_ace.text.polarity import negated
from acc_ace.text.similarity import content_words


def test_inflections_of_a_word_are_one_content_word() -> None:
    forms = ["restart", "restarts", "restarted", "restarting"]
    assert len({content_words(form) for form in forms}) == 1


def test_identifiers_stay_whole() -> None:
    assert "db-01" in content_words("Never restart DB-01 now")


def test_full_width_and_zero_width_forms_are_the_same_words() -> None:
    assert (
        content_words("ｒｅｓｔａｒｔ")
        == content_words("re\u200bstart")
        == content_words("restart")
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Never restart db-01", True),
        ("You may restart db-01", False),
        ("It is not forbidden", False),
        ("再起動しないでください", True),
        ("再起動してください", False),
        ("再起動禁止", True),
    ],
)
def test_polarity_is_read(text: str, expected: bool) -> None:
    assert negated(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Never restart db-01", "en"),
        ("DBの再起動はNG", "ja"),
        ("prodには絶対に触らないで", "ja"),
        ("The team calls it 障害 in every report", "en"),
        ("", "en"),
        ("本番凍結", "ja"),
    ],
)
def test_language_is_told(text: str, expected: str) -> None:
    assert language_of(text) == expected
