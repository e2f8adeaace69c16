"""A release by id: the verb governs the id and nothing else, and nobody takes it back."""

import pytest

from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.rules.rule_changes import detect_changes, ids_released, new_wording
from schemas.base import Authority
from schemas.commit import ChangeKind, ConstraintPin
from tests.fakes.tables import each_case


def pin(number: int, text: str) -> ConstraintPin:
    return ConstraintPin(
        id=f"c-{number:04}", text=text, authority=Authority.USER, origin_turn=1, quote=text
    )


PINS = [
    pin(1, "Never restart db-01 during business hours."),
    pin(2, "Always cite the ticket number in your answers."),
    pin(3, "営業時間内は再起動禁止です。"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please release c-0001 now.", {"c-0001"}),
        ("Release c-0001, c-0002 and c-0003", {"c-0001", "c-0002", "c-0003"}),
        ("Keep c-0001, release c-0002.", {"c-0002"}),
        ("Please drop c-0004, we shipped.", {"c-0004"}),
        ("Lift the restart ban (c-0001).", {"c-0001"}),
        ("Rule c-0001 is now void.", {"c-0001"}),
        ("We shipped, so release c-0001 because it is done", {"c-0001"}),
        ("Decision: release c-0001", {"c-0001"}),
        ("c-0001とc-0002を解除してください", {"c-0001", "c-0002"}),
        ("監査が終わったので、c-0001を解除します。", {"c-0001"}),
        ("もうc-0001は不要です", {"c-0001"}),
        ("解除: c-0001", {"c-0001"}),
    ],
)
def test_a_plain_release_names_its_ids(text: str, expected: set[str]) -> None:
    assert ids_released(normalise(text)) == expected


@each_case
def test_other_words_around_an_id_release_nothing(text: str) -> None:
    assert detect_changes(text, PINS) == []


@each_case
def test_an_amendment_by_id_without_a_rule_of_its_own_changes_nothing(text: str) -> None:
    assert detect_changes(text, PINS) == []


def test_an_amendment_by_id_carries_the_whole_new_rule() -> None:
    (change,) = detect_changes("Change c-0001 to: never restart db-01 on weekdays.", PINS)
    assert (change.kind, change.rule_id) == (ChangeKind.AMEND, "c-0001")
    assert change.text == "never restart db-01 on weekdays."
    assert new_wording("c-0003を「夜間のみ再起動可」に変更します。") == "夜間のみ再起動可"


@each_case
def test_a_denied_or_momentary_permission_ends_no_rule(text: str) -> None:
    assert detect_changes(text, PINS) == []


@each_case
def test_irony_hearsay_and_exceptions_end_no_rule(text: str) -> None:
    assert detect_changes(text, [pin(1, "The deployment freeze is in effect.")]) == []


@each_case
def test_a_statement_of_any_shape_is_read(unit: str) -> None:
    detect_changes((unit * 400)[:400], PINS)
