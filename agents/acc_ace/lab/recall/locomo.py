"""Read dialogues in the format of LoCoMo (Maharana et al., ACL 2024): `locomo10.json`.

A dialogue holds sessions of turns; a question names the turns that answer it (`D3:7`). Category 5
is adversarial: its questions have no answer, their evidence is the turn that misleads.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from acc_ace.lab.recall.corpus import Corpus, Passage, Question
from acc_ace.lab.recall.fields import text_in

ADVERSARIAL = "adversarial"

_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: ADVERSARIAL,
}
_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D\d+:\d+")


def read_dialogue(dialogue: Mapping[str, Any]) -> Corpus:
    """One dialogue as a corpus. Raises KeyError, TypeError or ValueError for another format."""
    passages = _passages(dialogue["conversation"])
    known = _distinct(passage.passage_id for passage in passages)
    questions = [_question(item, known) for item in dialogue["qa"]]
    return Corpus(
        str(dialogue.get("sample_id", "dialogue")),
        passages,
        [question for question in questions if question.evidence],
    )


def _distinct(ids: Iterable[str]) -> set[str]:
    """The ids; a second turn of one id would take the place of the first."""
    known: set[str] = set()
    for dia_id in ids:
        if dia_id in known:
            raise ValueError(f"two turns have the dia_id {dia_id!r}")
        known.add(dia_id)
    return known


def _passages(conversation: Mapping[str, Any]) -> list[Passage]:
    numbers = [int(found[1]) for name in conversation if (found := _SESSION.fullmatch(name))]
    turns = [
        (number, turn, said)
        for number in sorted(numbers)
        for turn, said in enumerate(conversation[f"session_{number}"], start=1)
    ]
    began = {number: _began(conversation, number) for number in numbers}
    return [
        Passage(
            text_in(said, "dia_id"),
            _text(said),
            position,
            str(number),
            turn,
            text_in(said, "speaker"),
            _said_at(began[number], turn),
        )
        for position, (number, turn, said) in enumerate(turns)
    ]


def _began(conversation: Mapping[str, Any], number: int) -> datetime | None:
    """When a session began: '1:56 pm on 8 May, 2023', taken as UTC; None for anything else."""
    said = str(conversation.get(f"session_{number}_date_time"))
    try:
        return datetime.strptime(said, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _said_at(began: datetime | None, turn: int) -> datetime | None:
    """When a turn was said: the data give the time of the session alone."""
    return None if began is None else began + timedelta(minutes=turn)


def _text(said: Mapping[str, Any]) -> str:
    caption = text_in(said, "blip_caption") if said.get("blip_caption") else ""
    shared = f" [shares a picture: {caption}]" if caption else ""
    return f"{text_in(said, 'speaker')}: {text_in(said, 'text')}{shared}"


def _question(item: Mapping[str, Any], known: set[str]) -> Question:
    named = {name for text in item.get("evidence", []) for name in _TURN_ID.findall(text)}
    category = _CATEGORIES.get(item["category"], str(item["category"]))
    return Question(text_in(item, "question"), frozenset(named & known), category)
