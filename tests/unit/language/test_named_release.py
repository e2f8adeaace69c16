"""A release by id: the verb governs the id and nothing else, and nobody takes it back."""

import pytest

from acc_ace.schemas.base import Authority
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.text.normalize import normalise
from acc_ace.text.rules.named_release import ids_released, new_wording
from acc_ace.text.rules.rule_changes import ChangeKind, detect_changes


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


@pytest.mark.parametrize(
    "text",
    [
        "Delete row c-0001.",
        "Release notes for c-0001 please.",
        "Release c-0001's details.",
        "Remove c-0001 from your last answer.",
        "Drop the c-0001 column from the report.",
        "Release c-0001 or c-0002.",
        "Release all but c-0001.",
        "c-0001 is over my head",
        "Release c-0001 -- no, keep it!",
        "Bob (ops): release c-0001",
        "e.g. release c-0001",
        "c-0001を解除した場合どうなる",
        "c-0001の解除は不要です",
        "c-0001の解除は承認待ちです",
        "c-0001を解除するな",
        "c-0001を解除すべきではない",
        "c-0001を解除する手順を書いて",
        "ボブがc-0001を解除しました",
        "Release c-0001. Just kidding, keep it.",
        "Release c-0001. No wait, don't.",
        "c-0001を解除します。やっぱりやめます。",
    ],
)
def test_other_words_around_an_id_release_nothing(text: str) -> None:
    assert detect_changes(text, PINS) == []


@pytest.mark.parametrize(
    "text",
    [
        "Move c-0001 to the top of the list.",
        "Set a reminder about c-0001 to 5 pm.",
        "Raise c-0001 to $800.",
    ],
)
def test_an_amendment_by_id_without_a_rule_of_its_own_changes_nothing(text: str) -> None:
    assert detect_changes(text, PINS) == []


def test_an_amendment_by_id_carries_the_whole_new_rule() -> None:
    (change,) = detect_changes("Change c-0001 to: never restart db-01 on weekdays.", PINS)
    assert (change.kind, change.constraint_id) == (ChangeKind.AMEND, "c-0001")
    assert change.new_text == "never restart db-01 on weekdays."
    assert new_wording("c-0003を「夜間のみ再起動可」に変更します。") == "夜間のみ再起動可"


@pytest.mark.parametrize(
    "text",
    [
        "営業時間内の再起動禁止を解除するな",
        "再起動禁止を解除すべきではない",
        "再起動禁止は解除されていない",
        "再起動禁止を解除できません",
        "再起動禁止は解除禁止",
        "再起動禁止の解除は承認待ちです",
        "営業時間内に再起動してもいいわけない",
        "You can restart db-01 now.",
        "再起動してもいいです。",
    ],
)
def test_a_denied_or_momentary_permission_ends_no_rule(text: str) -> None:
    assert detect_changes(text, PINS) == []


@pytest.mark.parametrize(
    "text",
    [
        "The deployment freeze is lifted, right",
        "The deployment freeze is lifted... not.",
        "The deployment freeze is lifted. NOT!",
        "The deployment freeze is lifted, my foot.",
        "The deployment freeze no longer applies to me.",
        "Per Bob, the deployment freeze is lifted.",
    ],
)
def test_irony_hearsay_and_exceptions_end_no_rule(text: str) -> None:
    assert detect_changes(text, [pin(1, "The deployment freeze is in effect.")]) == []


@pytest.mark.parametrize("unit", ["release c-0001 or ", "c-0001, ", "please ", "c-0001、", "the "])
def test_a_statement_of_any_shape_is_read(unit: str) -> None:
    detect_changes((unit * 400)[:400], PINS)
