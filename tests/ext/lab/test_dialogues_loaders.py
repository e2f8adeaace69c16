"""The public sets of dialogues: who says what in which order, and what a question needs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from acc_ace.errors import InputError
from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Exchange, Inquiry, has_fact
from acc_ace.ext.lab.dialogues.public_sets import load_dialogues
from tests.ext.lab.dialogue_files import (
    PROBES,
    SPOKEN,
    TALK,
    beam_chat,
    beam_file,
    jsonl,
    locomo_file,
    longmemeval_row,
    multichallenge_row,
    talk_of,
)
from tests.fakes.extensions import needs

pytestmark = needs("lab")


def spoken_of(dialogue: Dialogue) -> list[str]:
    """What was said, in order."""
    exchanges = [step for step in dialogue.steps if isinstance(step, Exchange)]
    return [text for each in exchanges for text in (each.user, each.agent) if text]


def inquiries_of(dialogue: Dialogue) -> list[Inquiry]:
    return [step for step in dialogue.steps if isinstance(step, Inquiry)]


def by_kind(dialogue: Dialogue) -> dict[str, Inquiry]:
    return {inquiry.kind: inquiry for inquiry in inquiries_of(dialogue)}


def unshown(dialogue: Dialogue) -> Iterator[str]:
    """Facts that stand nowhere in the dialogue."""
    text = "\n".join(spoken_of(dialogue))
    for inquiry in inquiries_of(dialogue):
        yield from (fact for fact in inquiry.facts if not has_fact(text, fact))


def beam_both(tmp_path: Path, **changes: Any) -> list[Dialogue]:
    """One chat, from BEAM's folders and from a file."""
    beam_chat(tmp_path / "chats" / "100K" / "7", **changes)
    file = beam_file(tmp_path / "beam.json", **changes)
    return [*load_dialogues("beam", tmp_path / "chats"), *load_dialogues("beam", file)]


def test_beam_is_played_in_order_without_its_labels_and_then_asked_about(tmp_path: Path) -> None:
    for dialogue in beam_both(tmp_path):
        assert spoken_of(dialogue) == [text.partition(" ->->")[0] for text in SPOKEN]
        kinds = [step.kind for step in dialogue.steps[-4:] if isinstance(step, Inquiry)]
        assert set(kinds) == set(PROBES) - {"abstention"}
        assert len(dialogue.steps) == len(SPOKEN) // 2 + 4


def test_beams_instructions_and_preferences_are_kept_to_and_updates_and_facts_are_answers(
    tmp_path: Path,
) -> None:
    for dialogue in beam_both(tmp_path):
        kinds = by_kind(dialogue)
        for kind in ("instruction_following", "preference_following"):
            assert kinds[kind].is_kept
            assert kinds[kind].rubric == (*PROBES[kind][0]["rubric"],)
        assert kinds["knowledge_update"].facts == ("31 boxes",)
        assert not kinds["knowledge_update"].is_kept
        [preference] = kinds["preference_following"].facts
        assert has_fact(preference, "I prefer trams over buses")
        assert not has_fact(preference, "I went there yesterday")


def test_an_answer_of_beam_that_nobody_gave_word_for_word_is_no_fact(tmp_path: Path) -> None:
    for dialogue in beam_both(tmp_path):
        inquiry = by_kind(dialogue)["information_extraction"]
        assert inquiry.facts == ()
        assert inquiry.rubric == (*PROBES["information_extraction"][0]["rubric"],)


def test_each_fact_of_beam_stands_in_what_is_played(tmp_path: Path) -> None:
    for dialogue in beam_both(tmp_path):
        assert inquiries_of(dialogue)
        assert list(unshown(dialogue)) == []


@pytest.mark.parametrize("folders", [("100K/1", "500K/1"), ("100K/1", "100K/2")])
def test_chats_of_beams_folders_have_a_name_each(tmp_path: Path, folders: Sequence[str]) -> None:
    for folder in folders:
        beam_chat(tmp_path / "chats" / folder)
    dialogues = load_dialogues("beam", tmp_path / "chats")
    assert len({dialogue.name for dialogue in dialogues}) == len(folders)


def test_multichallenge_asks_its_last_turn_and_keeps_to_what_its_question_is_about(
    tmp_path: Path,
) -> None:
    row = multichallenge_row()
    [dialogue] = load_dialogues("multichallenge", jsonl(tmp_path / "m.jsonl", row))
    assert spoken_of(dialogue) == [turn["content"] for turn in row["CONVERSATION"][:-1]]
    [inquiry] = inquiries_of(dialogue)
    assert (inquiry.ask, inquiry.kind) == ("And beside a wall?", "instruction_retention")
    assert inquiry.is_kept
    assert inquiry.facts == ("End each answer with a proverb.",)
    [point] = inquiry.rubric
    assert "Does the answer end with a proverb?" in point
    assert "YES" in point


@pytest.mark.parametrize("sign", ["\u2028", "\u0085"])
def test_a_value_of_a_line_may_have_any_sign(tmp_path: Path, sign: str) -> None:
    talk = [{"role": "user", "content": f"Be brief.{sign}Rhyme."}, {"role": "user", "content": "?"}]
    file = jsonl(tmp_path / "m.jsonl", multichallenge_row(CONVERSATION=talk))
    [dialogue] = load_dialogues("multichallenge", file)
    assert spoken_of(dialogue) == [f"Be brief.{sign}Rhyme."]


@pytest.mark.parametrize("between", ["\n\n", "\n \n", "\r\n"])
def test_between_the_values_of_lines_there_may_be_blank_lines(tmp_path: Path, between: str) -> None:
    file = jsonl(tmp_path / "m.jsonl", multichallenge_row("q1"), multichallenge_row("q2"))
    file.write_bytes(file.read_bytes().replace(b"\n", between.encode()))
    names = [dialogue.name for dialogue in load_dialogues("multichallenge", file)]
    assert names == ["q1", "q2"]


def test_locomo_is_played_by_the_number_of_its_sessions(tmp_path: Path) -> None:
    [dialogue] = load_dialogues("locomo", locomo_file(tmp_path / "l.json"))
    whole = "\n".join(spoken_of(dialogue))
    order = ["rye bread", "With seeds", "ran away", "came back", "train is late", "Ten minutes"]
    places = [whole.index(words) for words in order]
    assert places == sorted(places)
    first = dialogue.steps[0]
    assert isinstance(first, Exchange)
    assert "rye bread" in first.user
    assert "With seeds" in first.agent


def test_locomo_takes_for_a_fact_only_what_somebody_said_word_for_word(tmp_path: Path) -> None:
    [dialogue] = load_dialogues("locomo", locomo_file(tmp_path / "l.json"))
    facts = {inquiry.kind: inquiry.facts for inquiry in inquiries_of(dialogue)}
    assert facts == {
        "single-hop": ("Rye bread",),
        "temporal": ("2022",),
        "open": (),
        "multi-hop": (),
        "adversarial": (),
    }
    assert not any(inquiry.is_kept for inquiry in inquiries_of(dialogue))
    assert all(inquiry.rubric for inquiry in inquiries_of(dialogue))


def test_what_the_question_itself_says_is_no_fact(tmp_path: Path) -> None:
    qa = [{"question": "Was it rye bread or not?", "answer": "Rye bread", "category": 4}]
    [dialogue] = load_dialogues("locomo", locomo_file(tmp_path / "l.json", qa=qa))
    [inquiry] = inquiries_of(dialogue)
    assert inquiry.facts == ()


def test_a_judge_of_an_adversarial_question_is_not_told_the_wrong_answer(tmp_path: Path) -> None:
    [dialogue] = load_dialogues("locomo", locomo_file(tmp_path / "l.json"))
    assert "Rye bread" not in " ".join(by_kind(dialogue)["adversarial"].rubric)


def test_a_number_of_an_answer_is_not_part_of_another_in_the_talk(tmp_path: Path) -> None:
    talk = talk_of({1: ("1:00 pm on 1 May, 2023", [("Ines", "It cost 1900 yen."), ("Jo", "Oh.")])})
    qa = [{"question": "How old is Jo?", "answer": 90, "category": 4}]
    [dialogue] = load_dialogues("locomo", locomo_file(tmp_path / "l.json", talk, qa=qa))
    assert inquiries_of(dialogue)[0].facts == ()


def test_longmemeval_has_a_history_for_each_question(tmp_path: Path) -> None:
    rows = [longmemeval_row("e1"), longmemeval_row("e2", answer=45)]
    for text in (json.dumps(rows), "\n".join(map(json.dumps, rows))):
        (tmp_path / "e.json").write_text(text, encoding="utf-8")
        one, two = load_dialogues("longmemeval", tmp_path / "e.json")
        assert spoken_of(one) == [
            turn["content"] for session in rows[0]["haystack_sessions"] for turn in session
        ]
        [inquiry], [number] = inquiries_of(one), inquiries_of(two)
        assert (inquiry.kind, inquiry.facts) == ("single-session-user", ("45 minutes",))
        assert number.facts == ("45",)
        assert isinstance(one.steps[-1], Inquiry)


@pytest.mark.parametrize(
    "changes",
    [
        {"question_id": "e1_abs"},
        {"answer": "Three quarters of an hour"},
        {"question": "Is my commute 45 minutes?"},
        {"answer": "It is."},
    ],
    ids=("abstention", "in-other-words", "in-the-question", "not-in-the-evidence"),
)
def test_longmemeval_has_no_fact_where_the_evidence_does_not_say_it_word_for_word(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    file = jsonl(tmp_path / "e.jsonl", longmemeval_row(**changes))
    [dialogue] = load_dialogues("longmemeval", file)
    [inquiry] = inquiries_of(dialogue)
    assert inquiry.facts == ()
    assert inquiry.rubric


def test_longmemevals_oracle_whose_sessions_are_in_no_order_is_played_by_their_dates(
    tmp_path: Path,
) -> None:
    newest, oldest = longmemeval_row()["haystack_sessions"]
    dates = ["2023/05/30 (Tue) 02:21", "2023/05/20 (Sat) 23:40"]
    row = longmemeval_row(haystack_dates=dates, haystack_sessions=[newest, oldest])
    [dialogue] = load_dialogues("longmemeval", jsonl(tmp_path / "e.jsonl", row))
    assert spoken_of(dialogue) == [turn["content"] for turn in [*oldest, *newest]]


def test_who_speaks_twice_is_heard_in_full_and_who_answers_first_too(tmp_path: Path) -> None:
    lines = [("Jo", "Hi there."), ("Ines", "One."), ("Ines", "Two."), ("Jo", "Three.")]
    talk = talk_of({1: ("1:00 pm on 1 May, 2023", [*lines, ("Jo", "Four."), ("Ines", "Five.")])})
    [dialogue] = load_dialogues("locomo", locomo_file(tmp_path / "l.json", talk))
    whole = "\n".join(spoken_of(dialogue))
    places = [whole.index(word) for word in ("Hi there", "One", "Two", "Three", "Four", "Five")]
    assert places == sorted(places)
    sides = [
        (text in step.user, text in step.agent)
        for step in dialogue.steps
        if isinstance(step, Exchange)
        for text in ("Hi there", "One", "Two", "Three", "Four", "Five")
        if text in step.user + step.agent
    ]
    users = (False, True, True, False, False, True)
    assert sides == [(is_user, not is_user) for is_user in users]


def test_a_limit_takes_the_first_dialogues(tmp_path: Path) -> None:
    file = locomo_file(tmp_path / "l.json", TALK, TALK, TALK)
    dialogues = load_dialogues("locomo", file, limit=2)
    assert [dialogue.name for dialogue in dialogues] == ["conv-1", "conv-2"]


@pytest.mark.parametrize("name", ["multichallenge", "longmemeval"])
def test_two_dialogues_of_a_name_are_told_apart_or_refused_by_name(
    tmp_path: Path, name: str
) -> None:
    row = multichallenge_row("same") if name == "multichallenge" else longmemeval_row("same")
    try:
        names = {each.name for each in load_dialogues(name, jsonl(tmp_path / "d.jsonl", row, row))}
    except InputError as error:
        names = {*str(error).split("'")} & {"same"} | {"refused"}
    assert len(names) == 2
