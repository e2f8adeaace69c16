"""What the key-free engine takes for something that users say of themselves."""

import pytest

from acc_ace.ext.embedded.self_talk import about_user


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("I live in Bergen and work as a baker.", ["home", "job"]),
        ("We moved to Kyoto in May.", ["home"]),
        ("I'm a plumber.", ["job"]),
        ("I am 41, and allergic to cats.", ["age", "health"]),
        ("My daughter Ida plays chess.", ["daughter Ida"]),
        ("I play the old church organ on Sundays.", ["organ"]),
        ("Thanks. I don't drink milk.", ["diet"]),
        ("名古屋に住んでいます。", ["home"]),
        ("私は医師です。", ["job"]),
        ("35歳です。娘はバレエを習っています。", ["age", "娘"]),
        ("卵アレルギーです。", ["health"]),
        ("We restarted db-01 yesterday.", []),
        ("I need a table of the totals.", []),
        ("I'm a bit late.", []),
        ("The backup runs every day.", []),
        ("My job failed at 2 am.", []),
        ("Do I live in Bergen?", []),
        ("We moved the database to another host.", []),
        ("db-01を再起動しました。", []),
        ("どこに住んでいますか？", []),
        ("> I live in Bergen.\nReply to it.", []),
    ],
)
def test_a_statement_of_the_users_own_life_is_taken_by_its_subject(
    text: str, subjects: list[str]
) -> None:
    assert [each.subject for each in about_user([text], [])] == subjects


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Ida's chess club is my Friday now.", "daughter Ida"),
        ("I sold the organ.", "organ"),
        ("Our job failed again at 2 am.", None),
        ("The organ is loud.", None),
    ],
)
def test_what_tells_of_a_change_of_a_known_subject_is_of_that_subject(
    text: str, subject: str | None
) -> None:
    subjects = [each.subject for each in about_user([text], ["job", "daughter Ida", "organ"])]
    assert subjects == ([subject] if subject else [])


def test_sentences_are_numbered_on_from_one_message_to_the_next() -> None:
    texts = ["Hello. I live in Bergen.", "Well, I'm a baker and I play the organ."]
    numbers = [(each.sentence, each.quote) for each in about_user(texts, [])]
    assert numbers[0] == (2, "")
    assert numbers[1:] == [(3, "Well, I'm a baker"), (3, "I play the organ.")]
