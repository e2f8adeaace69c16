"""Lexical recall on data of several hands: one half to tune on, the other to report.

    python -m bench.recall_transfer [--locomo FILE] [--beam FILE] [--jsquad FILE] [--half HALF]

Sets: LoCoMo's utterances; `pairs`, the same dialogues with two utterances as an exchange; BEAM's
chats by exchange and by message; JSQuAD's paragraphs. The tuned half has each first of two
dialogues, chats or groups of 20 paragraphs, `held` each second; no constant of ranking is chosen
with one set alone, nor with the held half. Ours is compared with ADK's SqliteMemoryService over
the same texts, each of them an event.

A share is the mean over questions of what is found of their evidence among the first 10 (JSQuAD:
5). Left out are questions without evidence, LoCoMo's adversarial ones, and BEAM's that ask for a
summary or an order of most of the chat.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from acc_ace.core.schemas.artifact import ArtifactKind
from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.core.text.exchange import AGENT, USER, ExchangePart, parts_of_input, written
from bench.recall.contenders import contenders
from bench.recall.corpus import ADVERSARIAL, Corpus, CorpusPassage, Question, read_corpora
from bench.recall.scoring import score

HALVES: Final = ("tuned", "held")
_LEFT_OUT: Final = frozenset({ADVERSARIAL, "summarization", "event_ordering"})
_PARAGRAPHS: Final = 20
"""Neighbouring paragraphs are of one article mostly, so they go to one half together."""


class _Message(NamedTuple):
    """A message of a chat."""

    name: str
    role: str
    text: str
    session: int
    at: datetime


def read_chats(path: Path, *, by_message: bool) -> list[Corpus]:
    """BEAM's chats; a passage is an exchange, or a message. Raises what json and a dict raise."""
    chats = json.loads(path.read_text(encoding="utf-8"))
    return [_chat(number, chat, by_message=by_message) for number, chat in enumerate(chats, 1)]


def _chat(number: int, chat: Mapping[str, Any], *, by_message: bool) -> Corpus:
    groups = [[message] for message in _messages(chat["turns"])]
    if not by_message:
        groups = _exchanges([message for [message] in groups])
    write = _message if by_message else _exchange
    passages = [write(position, group) for position, group in enumerate(groups)]
    place = {
        message.name: passage.passage_id
        for passage, group in zip(passages, groups, strict=True)
        for message in group
    }
    questions = [
        Question(probe["question"], frozenset(place[name] for name in names), category)
        for category, probes in chat["probes"].items()
        for probe in probes
        if (names := set(_names(probe.get("source_chat_ids"))) & place.keys())
    ]
    return Corpus(f"{number} {chat['chat']}", passages, questions)


def _messages(turns: Mapping[str, Mapping[str, Any]]) -> Iterator[_Message]:
    session, at = 0, datetime.min.replace(tzinfo=UTC)
    for name, said in turns.items():
        if said["at"]:
            session += 1
            at = datetime.strptime(said["at"], "%B-%d-%Y").replace(tzinfo=UTC)
        at += timedelta(minutes=1)
        yield _Message(name, said["role"], said["text"], session, at)


def _exchanges(messages: Sequence[_Message]) -> list[list[_Message]]:
    """Each message of the user with what answers it."""
    groups: list[list[_Message]] = []
    for message in messages:
        if message.role == USER or not groups:
            groups.append([])
        groups[-1].append(message)
    return groups


def _message(position: int, group: Sequence[_Message]) -> CorpusPassage:
    [said] = group
    text = f"{said.role}: {said.text}"
    return CorpusPassage(said.name, text, position, str(said.session), position, said.role, said.at)


def _exchange(position: int, group: Sequence[_Message]) -> CorpusPassage:
    first = group[0]
    text = written(part for said in group for part in _parts(said))
    passage = CorpusPassage(first.name, text, position, str(first.session), position, USER)
    return passage._replace(at=first.at, kind=ArtifactKind.TURN)


def _parts(said: _Message) -> list[ExchangePart]:
    """As a stored turn has them."""
    if said.role == USER:
        return parts_of_input(USER, said.text)
    return [ExchangePart(AGENT, said.text)]


def _names(sources: object) -> Iterator[str]:
    """The ids in a probe's sources, however they are nested."""
    if isinstance(sources, dict):
        sources = list(sources.values())
    if isinstance(sources, list):
        for source in sources:
            yield from _names(source)
    elif sources is not None:
        yield str(sources)


def in_pairs(corpus: Corpus) -> Corpus:
    """A dialogue with two utterances of a session as an exchange."""
    place: dict[str, str] = {}
    passages: list[CorpusPassage] = []
    for _, said in groupby(corpus.passages, key=lambda passage: passage.session):
        utterances = list(said)
        for turn, first in enumerate(utterances[::2], start=1):
            pair = utterances[2 * turn - 2 : 2 * turn]
            parts = map(ExchangePart, (USER, AGENT), (each.text for each in pair))
            passages.append(first._replace(text=written(parts), turn=turn, kind=ArtifactKind.TURN))
            place |= {each.passage_id: first.passage_id for each in pair}
    questions = [
        question._replace(evidence=frozenset(place[name] for name in question.evidence))
        for question in corpus.questions
    ]
    return corpus._replace(passages=passages, questions=questions)


def half_of(corpora: Sequence[Corpus], half: str) -> list[Corpus]:
    """One half: of several corpora each second one, of one the questions about each second group.

    Questions that are left out of the share are gone.
    """
    at = HALVES.index(half)
    chosen = list(corpora[at::2])
    if len(corpora) == 1:
        [only] = corpora
        group = {
            passage.passage_id: passage.position // _PARAGRAPHS % 2 for passage in only.passages
        }
        questions = [each for each in only.questions if group[min(each.evidence)] == at]
        chosen = [only._replace(questions=questions)]
    return [
        corpus._replace(questions=[q for q in corpus.questions if q.category not in _LEFT_OUT])
        for corpus in chosen
    ]


async def shares(corpora: Sequence[Corpus], depth: int) -> dict[str, float]:
    """What each contender finds of the evidence."""
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        async with contenders(Path(folder), RecallWeights()) as measured:
            scores = [
                await score(each, corpora) for each in measured if each.name != "adk-in-memory"
            ]
    return {each.timing.contender: each.rows[0].recall[depth] for each in scores}


def sets_of(options: argparse.Namespace) -> dict[str, tuple[Callable[[], Sequence[Corpus]], int]]:
    """How each set is read, and how many passages count."""
    known: dict[str, tuple[Callable[[], Sequence[Corpus]], int]] = {}
    if options.beam:
        known["BEAM, exchanges"] = (lambda: read_chats(options.beam, by_message=False), 10)
        known["BEAM, messages"] = (lambda: read_chats(options.beam, by_message=True), 10)
    if options.locomo:
        known["LoCoMo"] = (lambda: read_corpora(options.locomo), 10)
        known["LoCoMo, pairs"] = (lambda: list(map(in_pairs, read_corpora(options.locomo))), 10)
    if options.jsquad:
        known["JSQuAD"] = (lambda: read_corpora(options.jsquad), 5)
    return known


async def run(options: argparse.Namespace) -> None:
    """Measure and print, a line for each set and half."""
    for name, (read, depth) in sets_of(options).items():
        corpora = read()
        for half in options.half or HALVES:
            chosen = half_of(corpora, half)
            asked = sum(len(corpus.questions) for corpus in chosen)
            values = " ".join(f"{k} {v:.3f}" for k, v in (await shares(chosen, depth)).items())
            print(f"{name:16} {half:6} {asked:5} questions  @{depth:<3} {values}", flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("locomo", "beam", "jsquad"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--half", action="append", choices=HALVES)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
