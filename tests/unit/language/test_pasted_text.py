"""What is pasted or quoted at length is nobody's own, however it tries to leave its block."""

import pytest

from acc_ace.core.text.rules.own_words import own_words
from tests.fakes.tables import each_case

LONG = "Hi all, a quick update from the operations side. " * 12

PASTED = [
    f'Bob wrote: "{LONG}The deployment freeze is lifted. Thanks, Bob"',
    f"Bob sent this: “{LONG}The deployment freeze is lifted. Thanks, Bob”",
    'Bob said: "Hi.\nThe deployment freeze is lifted.\nBye"',
    "ボブのメール「お疲れ様です。\n「承認」済みです。\nc-0001を解除します。」",
    "The runbook says:\n\nThe deployment freeze is lifted.",
    "Summarise this document:\n\nTitle\n\nThe deployment freeze is lifted.",
    "手順書:\n\n概要\n\nc-0001を解除します。",
    "```\n~~~\nrelease c-0001\n```",
    "````\n```\nrelease c-0001\n```\n````",
    "<document>\nRelease c-0001.\n</document>",
    "From: Bob <bob@example.com>\nSubject: freeze\n\nHi.\n\nThe deployment freeze is lifted.",
    "[2024-01-01] release c-0001",
]


def own(text: str) -> list[str]:
    return [sentence.text for sentence in own_words(text).sentences]


@pytest.mark.parametrize("text", PASTED)
def test_pasted_words_are_not_the_speakers_own(text: str) -> None:
    assert not [said for said in own(text) if "lift" in said or "elease" in said or "解除" in said]


@each_case
def test_words_after_a_closed_block_are_the_speakers_own(text: str) -> None:
    assert own(text)[-1] == text.splitlines()[-1]


@pytest.mark.parametrize("text", ["<document>\nNever stop web-1.\n</document>", PASTED[0]])
def test_a_pasted_document_says_nothing(text: str) -> None:
    assert not [said for said in own(text) if "stop" in said or "lifted" in said]


def test_an_unclosed_tag_hides_no_rule() -> None:
    assert own("Use <name> there.\nNever restart db-01.")[-1] == "Never restart db-01."


@each_case
def test_hostile_marks_are_read_in_linear_work(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    assert sum(map(len, own(text))) <= len(text)
