"""The benchmark's data: passages, and questions with known evidence.

Read from LoCoMo (Maharana et al., ACL 2024) or JSQuAD (Kurihara et al., LREC 2022); the format
is detected.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from acc_ace.core.schemas.artifact import ArtifactKind
from acc_ace.errors import InputError

START = datetime(2026, 1, 1, tzinfo=UTC)
"""Time of the first passage if the data have none; each later one is a minute later."""


class CorpusPassage(NamedTuple):
    """A text to find. `session` and `turn` are its position in a dialogue."""

    passage_id: str
    text: str
    position: int
    session: str | None = None
    turn: int | None = None
    speaker: str = ""
    at: datetime | None = None
    """Its time in the data, if any."""
    kind: ArtifactKind = ArtifactKind.DOCUMENT
    """TURN for what the user said together with the answer, each under its label."""

    @property
    def created_at(self) -> datetime:
        """The time in the data, or one that preserves the order."""
        return self.at or START + timedelta(minutes=self.position)


class Question(NamedTuple):
    """A question, and the ids of the passages that answer it."""

    text: str
    evidence: frozenset[str]
    category: str
    answer: str = ""
    """The gold answer, where the data give one."""


class Corpus(NamedTuple):
    """The passages of one store, and the questions about them."""

    name: str
    passages: list[CorpusPassage]
    questions: list[Question]

    @property
    def asked_at(self) -> datetime:
        """Time of the questions: after the last passage."""
        return max(passage.created_at for passage in self.passages) + timedelta(minutes=1)


def text_in(item: Mapping[str, Any], name: str) -> str:
    """The text of a field.

    Raises KeyError if it is missing, TypeError if it is not a string, ValueError if it has a
    lone surrogate, which no store accepts.
    """
    value = item[name]
    if not isinstance(value, str):
        raise TypeError(f"{name!r} is not a string but {type(value).__name__}")
    value.encode()
    return value


CATEGORY = "paragraph"


def read_articles(document: Mapping[str, Any]) -> Corpus:
    """All articles as one corpus. Raises KeyError, TypeError or ValueError for another format."""
    paragraphs = [paragraph for article in document["data"] for paragraph in article["paragraphs"]]
    return Corpus(
        "articles",
        [
            CorpusPassage(f"p{position}", text_in(paragraph, "context"), position)
            for position, paragraph in enumerate(paragraphs)
        ],
        [
            Question(text_in(item, "question"), frozenset({f"p{position}"}), CATEGORY)
            for position, paragraph in enumerate(paragraphs)
            for item in paragraph["qas"]
        ],
    )


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
    """The ids. Raises ValueError for a duplicate, which would replace the first turn."""
    known: set[str] = set()
    for dia_id in ids:
        if dia_id in known:
            raise ValueError(f"two turns have the dia_id {dia_id!r}")
        known.add(dia_id)
    return known


def _passages(conversation: Mapping[str, Any]) -> list[CorpusPassage]:
    numbers = [int(match[1]) for name in conversation if (match := _SESSION.fullmatch(name))]
    turns = [
        (number, turn, line)
        for number in sorted(numbers)
        for turn, line in enumerate(conversation[f"session_{number}"], start=1)
    ]
    began = {number: _began(conversation, number) for number in numbers}
    return [
        CorpusPassage(
            text_in(line, "dia_id"),
            _text(line),
            position,
            str(number),
            turn,
            text_in(line, "speaker"),
            _said_at(began[number], turn),
        )
        for position, (number, turn, line) in enumerate(turns)
    ]


def _began(conversation: Mapping[str, Any], number: int) -> datetime | None:
    """Start of a session: '1:56 pm on 8 May, 2023', read as UTC; None for anything else."""
    text = str(conversation.get(f"session_{number}_date_time"))
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _said_at(began: datetime | None, turn: int) -> datetime | None:
    """Estimated time of a turn: the data only have the time of the session."""
    return None if began is None else began + timedelta(minutes=turn)


def _text(message: Mapping[str, Any]) -> str:
    caption = text_in(message, "blip_caption") if message.get("blip_caption") else ""
    shared = f" [shares a picture: {caption}]" if caption else ""
    return f"{text_in(message, 'speaker')}: {text_in(message, 'text')}{shared}"


def _question(item: Mapping[str, Any], known: set[str]) -> Question:
    named = {name for text in item.get("evidence", []) for name in _TURN_ID.findall(text)}
    category = _CATEGORIES.get(item["category"], str(item["category"]))
    answer = str(item.get("answer", ""))
    return Question(text_in(item, "question"), frozenset(named & known), category, answer)


def read_corpora(path: Path, *, limit: int | None = None) -> list[Corpus]:
    """The corpora of a file, each with a unique name and at most `limit` questions.

    Raises InputError, naming the file, when it cannot be read, has an unknown format or no
    questions.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        dialogues = document if isinstance(document, list) else None
        corpora = (
            [read_dialogue(item) for item in dialogues] if dialogues else [read_articles(document)]
        )
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise InputError(
            f"{path} is neither a list of LoCoMo dialogues nor a JSQuAD document "
            f"({type(error).__name__}: {error})"
        ) from error
    if not any(corpus.questions for corpus in corpora):
        raise InputError(f"{path} has no question with known evidence")
    return [
        # The name is the user id in the stores, so it must be unique.
        corpus._replace(name=f"{number} {corpus.name}", questions=corpus.questions[:limit])
        for number, corpus in enumerate(corpora, start=1)
    ]
