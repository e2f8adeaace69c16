"""Content words, polarity and language."""

from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.similarity import content_words
from tests.fakes.tables import each_case


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


@each_case
def test_polarity_is_read(text: str, expected: bool) -> None:
    assert negated(text) is expected


@each_case
def test_language_is_told(text: str, expected: str) -> None:
    assert language_of(text) == expected
