"""Explicit releases and amendments, and everything that must not be one."""

import pytest

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin
from acc_ace.core.text.rules.rule_changes import detect_changes, unmatched_release
from tests.fakes.tables import each_case


def pinned(*rules: str) -> list[ConstraintPin]:
    return [
        ConstraintPin(
            id=f"c-{number:04}", text=rule, authority=Authority.USER, origin_turn=1, quote=rule
        )
        for number, rule in enumerate(rules, start=1)
    ]


OPS = pinned(
    "Never restart the mail server during business hours",
    "Don't email Dr. Chen directly",
    "The budget cap is $500",
    "Production is frozen until Monday",
    "営業時間内は再起動禁止",
)


def released(text: str, pins: list[ConstraintPin] = OPS) -> list[str]:
    return [
        change.rule_id or ""
        for change in detect_changes(text, pins)
        if change.kind is ChangeKind.RELEASE
    ]


@each_case
def test_an_explicit_release_ends_exactly_what_it_names(text: str, expected: list[str]) -> None:
    assert released(text) == expected


@each_case
def test_another_subject_a_single_exception_or_news_releases_nothing(text: str) -> None:
    assert detect_changes(text, OPS) == []


@each_case
def test_what_nobody_says_outright_releases_nothing(text: str) -> None:
    assert detect_changes(text, OPS) == []


@each_case
def test_a_wildcard_releases_nothing_and_is_told(text: str) -> None:
    assert detect_changes(text, OPS) == []
    assert unmatched_release(text, OPS) == text


def test_an_ambiguous_release_releases_nothing_and_is_told() -> None:
    pins = pinned("Don't restart db-01 at noon", "Don't restart db-02 at noon")
    assert detect_changes("The restart ban is lifted.", pins) == []
    assert unmatched_release("The restart ban is lifted.", pins) == "The restart ban is lifted."


def test_an_unknown_id_is_told() -> None:
    assert unmatched_release("Please release c-0099.", OPS) == "Please release c-0099."


@each_case
def test_ordinary_words_are_no_unmatched_release(text: str) -> None:
    assert unmatched_release(text, OPS) is None


def test_an_amendment_carries_the_new_words() -> None:
    (change,) = detect_changes("Thanks. The budget cap is now $800.", OPS)
    assert change.kind is ChangeKind.AMEND
    assert change.rule_id == "c-0003"
    assert change.text == "The budget cap is now $800."
    assert change.quote == "The budget cap is now $800."


def test_a_release_without_pins_changes_nothing() -> None:
    assert detect_changes("The production freeze is over.", []) == []


@each_case
def test_plain_words_about_an_id_release_it(text: str) -> None:
    assert released(text, OPS) == ["c-0001"]


@each_case
def test_what_may_happen_to_an_id_otherwise_releases_nothing(text: str) -> None:
    assert released(text, OPS) == []


@pytest.mark.parametrize(
    "text", ["営業時間内でも再起動してよいです", "営業時間内でも再起動していいです。"]
)
def test_a_permission_that_names_the_condition_ends_the_ban_or_is_told(text: str) -> None:
    assert released(text, pinned("営業時間内は再起動禁止")) == ["c-0001"]
    two = pinned("営業時間内は再起動禁止", "営業時間内は本番サーバーの再起動禁止")
    assert released(text, two) == []
    assert unmatched_release(text, two) == text
