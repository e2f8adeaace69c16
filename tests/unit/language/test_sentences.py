"""Sentences and clauses."""

import pytest

from acc_ace.text.sentences import MAX_SENTENCE, split_clauses, split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Stop. Wait! Why?", ["Stop.", "Wait!", "Why?"]),
        ("止めて。待って！なぜ？", ["止めて。", "待って！", "なぜ？"]),
        ("Ask Dr. Chen first. Then go.", ["Ask Dr. Chen first.", "Then go."]),
        ("Use e.g. this one. Done.", ["Use e.g. this one.", "Done."]),
        ("Python 3.11 only. Ok.", ["Python 3.11 only.", "Ok."]),
        (
            "Look at https://a.example/b?c=1 now. Ok.",
            ["Look at https://a.example/b?c=1 now.", "Ok."],
        ),
        ("Restart db-01.example.com. Ok.", ["Restart db-01.example.com.", "Ok."]),
        ("- one\n* two\n3. three\n・四つ", ["one", "two", "three", "四つ"]),
        (
            "彼は「触るな。消すな。」と言った。はい。",
            ["彼は「触るな。消すな。」と言った。", "はい。"],
        ),
        ('He said "Never. Ever." twice. Ok.', ['He said "Never. Ever." twice.', "Ok."]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_text_splits_into_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_a_sentence_without_end_is_cut_at_its_bound() -> None:
    pieces = split_sentences("word " * 2_000)
    assert max(map(len, pieces)) <= MAX_SENTENCE


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "Don't restart in business hours, and never delete backups",
            ["Don't restart in business hours", "never delete backups"],
        ),
        ("Use metric units; never round prices", ["Use metric units", "never round prices"]),
        (
            "営業時間内は再起動禁止、顧客名は伏せてください",
            ["営業時間内は再起動禁止", "顧客名は伏せてください"],
        ),
    ],
)
def test_two_rules_in_one_sentence_come_apart(sentence: str, expected: list[str]) -> None:
    assert split_clauses(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "During lunch, don't call and never text",
        "Never restart db-01 unless Aiko agrees",
        "Don't restart db-01 and don't delete logs during business hours",
        "障害が続いている間は、再起動しないで、ログも消さないで",
        "Keep names and addresses private",
    ],
)
def test_a_rule_is_never_parted_from_its_condition(sentence: str) -> None:
    assert split_clauses(sentence) == [sentence]
