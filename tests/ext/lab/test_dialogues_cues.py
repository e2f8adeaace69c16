"""LoCoMo-Plus: a cue is put into a dialogue of LoCoMo, before its trigger by a gap in time."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Exchange, Inquiry, has_fact
from acc_ace.ext.lab.dialogues.public_sets import load_dialogues
from tests.ext.lab.dialogue_files import TALK, cue_row, locomo_plus_file, talk_of
from tests.fakes.extensions import needs

pytestmark = needs("lab")

CUE = "Nuts make me ill"
SESSIONS = ("rye bread", "ran away", "train is late")
"""1 May, 8 May and 8 June; the trigger comes a week after the last one."""

MONTHS = talk_of(
    {
        number: (f"1:00 pm on 1 {month}, 2023", [("Ines", f"It is {month}."), ("Jo", "Yes.")])
        for number, month in enumerate(("January", "April", "July", "October"), start=1)
    }
)


def text_of(dialogue: Dialogue) -> str:
    exchanges = [step for step in dialogue.steps if isinstance(step, Exchange)]
    return "\n".join(f"{each.user}\n{each.agent}" for each in exchanges)


def order_of(dialogue: Dialogue, marks: Sequence[str]) -> list[str]:
    """The marks that a dialogue has, in its order."""
    text = text_of(dialogue)
    return sorted((mark for mark in marks if mark in text), key=text.index)


@pytest.mark.parametrize(
    ("gap", "sessions_before"),
    [
        ("one day later", 3),
        ("3 days later", 3),
        ("a week later", 3),
        ("Two weeks later", 2),
        ("about two weeks later", 2),
        ("one month later", 2),
        ("ten days later", 2),
        ("five weeks later", 2),
        ("six weeks later", 1),
        ("two months later", 0),
        ("a year later", 0),
    ],
)
def test_a_cue_stands_before_its_trigger_by_its_gap(
    tmp_path: Path, gap: str, sessions_before: int
) -> None:
    [dialogue] = load_dialogues("locomo-plus", locomo_plus_file(tmp_path, cue_row(gap)))
    before, after = SESSIONS[:sessions_before], SESSIONS[sessions_before:]
    assert order_of(dialogue, (*SESSIONS, CUE)) == [*before, CUE, *after]
    assert isinstance(dialogue.steps[-1], Inquiry)


@pytest.mark.parametrize(
    ("gap", "sessions_before"),
    [
        ("two months later", 3),
        ("Nine months later", 1),
        ("ten months later", 0),
        ("12 weeks later", 3),
        ("twelve months later", 0),
        ("eleven months later", 0),
    ],
)
def test_numbers_of_months_are_read_up_to_twelve(
    tmp_path: Path, gap: str, sessions_before: int
) -> None:
    file = locomo_plus_file(tmp_path, cue_row(gap), talks=[MONTHS])
    [dialogue] = load_dialogues("locomo-plus", file)
    months = ["It is January", "It is April", "It is July", "It is October"]
    months.insert(sessions_before, CUE)
    assert order_of(dialogue, months) == months


def test_the_trigger_is_asked_and_the_cue_is_to_be_kept_to(tmp_path: Path) -> None:
    [dialogue] = load_dialogues("locomo-plus", locomo_plus_file(tmp_path, cue_row("a week later")))
    [inquiry] = [step for step in dialogue.steps if isinstance(step, Inquiry)]
    assert inquiry.kind == "causal"
    assert inquiry.is_kept
    assert "Which cake should I order?" in inquiry.ask
    assert any(has_fact(fact, CUE) for fact in inquiry.facts)
    assert any(has_fact(fact, "I keep away from them") for fact in inquiry.facts)
    assert not any(has_fact(fact, "Good to know") for fact in inquiry.facts)
    assert all(has_fact(text_of(dialogue), fact) for fact in inquiry.facts)
    assert any(CUE in point for point in inquiry.rubric)


def test_the_first_speaker_of_a_cue_is_the_user(tmp_path: Path) -> None:
    [dialogue] = load_dialogues("locomo-plus", locomo_plus_file(tmp_path, cue_row("a week later")))
    [own] = [each for each in dialogue.steps if isinstance(each, Exchange) and CUE in each.user]
    assert "Good to know" in own.agent


def test_dialogues_are_taken_in_turn_and_each_cue_has_one_of_its_own(tmp_path: Path) -> None:
    rows = [cue_row("a week later") for _ in range(3)]
    dialogues = load_dialogues(
        "locomo-plus", locomo_plus_file(tmp_path, *rows, talks=[TALK, MONTHS])
    )
    has_bread = ["rye bread" in text_of(dialogue) for dialogue in dialogues]
    assert has_bread == [True, False, True]
    assert len({dialogue.name for dialogue in dialogues}) == 3
    assert all(text_of(dialogue).count(CUE) == 1 for dialogue in dialogues)
