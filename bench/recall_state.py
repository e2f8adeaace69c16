"""What CCS_{t-1} adds to recall: follow-up questions that do not name what they are about.

    python -m bench.recall_state [--fillers 0,4] [--json]

Every subject (a server, a shop) has the same facts, in the same words, from an earlier time. A
session names one subject, goes on with small talk, then asks for a fact without the name ("Who
replaced the disk?"). The states are those that the embedded model really wrote. The same query is
asked with x_t alone and with x_t and the state; found means: among the k = 8 candidates.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.controller import AccController
from acc_ace.core.schemas.artifact import Artifact, RecallQuery
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.pipeline import APP_NAME
from acc_ace.turn.steps import recall_query

_SUBJECTS = 24
_SESSIONS = 12
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Language(NamedTuple):
    """The texts of one language; `{s}` is the subject, `{v}` a value of its own."""

    subject: str
    opening: str
    fillers: tuple[str, ...]
    facts: Mapping[str, str]
    """Each question with the fact that answers it."""


LANGUAGES = {
    "en": Language(
        subject="server-{n:02}",
        opening="We are investigating {s}. It answers slowly.",
        fillers=("Thanks.", "One moment please.", "The coffee is good today.", "I am back."),
        facts={
            "Who replaced the disk?": "Technician {v} replaced the disk of {s}.",
            "When was the firmware upgraded?": "The firmware of {s} was upgraded on day {v}.",
            "What did the last audit find?": "The last audit of {s} found issue {v}.",
        },
    ),
    "ja": Language(
        subject="倉庫{n:02}",
        opening="倉庫の件です。{s}の出荷遅延を調査しています。",
        fillers=(
            "ありがとう。",
            "少々お待ちください。",
            "今日は天気がいいですね。",
            "戻りました。",
        ),
        facts={
            "責任者は誰でしたか？": "{s}の責任者は担当{v}です。",
            "棚卸しはいつでしたか？": "{s}の棚卸しは第{v}週に行われた。",
            "監査の指摘は何でしたか？": "{s}の監査の指摘は番号{v}でした。",
        },
    ),
}


@dataclass(frozen=True)
class Ablation:
    """The share of follow-ups whose fact was found, and was first, with x_t alone and with both."""

    language: str
    fillers: int
    questions: int
    found_by_input: float
    found_by_both: float
    first_by_input: float
    first_by_both: float
    switch_by_input: float
    """First, when x_t names another subject than the state: the state must not get in the way."""
    switch_by_both: float


async def ablate(name: str, fillers: int) -> Ablation:
    """Ask every follow-up of a language, after so many fillers, with and without the state."""
    language = LANGUAGES[name]
    container = build_container(Settings(store="memory"))
    await container.artifacts.add(list(_library(name, language)))
    follow_ups, switches = _Places([], []), _Places([], [])
    for number in range(_SESSIONS):
        key = SessionKey(APP_NAME, name, f"{name}-{fillers}-{number}")
        state = await _state(container, key, language, number, fillers)
        other = _SESSIONS + number
        named = language.subject.format(n=other)
        for at, question in enumerate(language.facts):
            ask = _Asking(container, key, state)
            await ask.about(question, f"{name}:{number}:{at}", follow_ups)
            await ask.about(f"{named}: {question}", f"{name}:{other}:{at}", switches)
    await container.close()
    return Ablation(
        language=name,
        fillers=fillers,
        questions=len(follow_ups.alone),
        found_by_input=_found(follow_ups.alone),
        found_by_both=_found(follow_ups.both),
        first_by_input=_first(follow_ups.alone),
        first_by_both=_first(follow_ups.both),
        switch_by_input=_first(switches.alone),
        switch_by_both=_first(switches.both),
    )


class _Places(NamedTuple):
    """Where the wanted fact stood each time, with x_t alone and with both; None when absent."""

    alone: list[int | None]
    both: list[int | None]


class _Asking(NamedTuple):
    container: Container
    key: SessionKey
    state: CommittedState

    async def about(self, question: str, wanted: str, places: _Places) -> None:
        """Ask with and without the state."""
        limits = self.container.settings.limits
        at = self.container.local_now()
        query = recall_query(self.key, TurnInput(text=question), self.state, limits, at=at)
        alone = query.model_copy(update={"state_terms": []})
        places.alone.append(await _place(self.container, alone, wanted))
        places.both.append(await _place(self.container, query, wanted))


def _found(places: list[int | None]) -> float:
    return round(sum(place is not None for place in places) / len(places), 3)


def _first(places: list[int | None]) -> float:
    return round(places.count(0) / len(places), 3)


def _library(name: str, language: Language) -> list[Artifact]:
    return [
        Artifact(
            artifact_id=f"{name}:{number}:{at}",
            content=fact.format(s=language.subject.format(n=number), v=10 * number + at),
            source="bench",
            created_at=_START + timedelta(minutes=number),
            tenant=Tenant(APP_NAME, name),
        )
        for number in range(_SUBJECTS)
        for at, fact in enumerate(language.facts.values())
    ]


async def _state(
    container: Container, key: SessionKey, language: Language, number: int, fillers: int
) -> CommittedState:
    """The state that the embedded model leaves after the opening and the fillers."""
    controller = AccController(container, session=key.session, user=key.user)
    opening = language.opening.format(s=language.subject.format(n=number))
    ccs = None
    for text in (opening, *(language.fillers[at % 4] for at in range(fillers))):
        ccs = await controller.update_state(text, ccs)
        await controller.record("OK.")
    head = await container.journal.head(key)
    if head is None:
        raise RuntimeError(f"session {key.session} has no state after {fillers + 1} turns")
    return head.state


async def _place(container: Container, query: RecallQuery, wanted: str) -> int | None:
    recall = await container.artifacts.recall(query)
    ids = [candidate.artifact.artifact_id for candidate in recall.candidates]
    return ids.index(wanted) if wanted in ids else None


async def measure(fillers: list[int]) -> list[Ablation]:
    """All languages, at each number of fillers."""
    return [await ablate(name, count) for name in LANGUAGES for count in fillers]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fillers", default="0,4")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(measure([int(count) for count in options.fillers.split(",")]))
    if options.json:
        json.dump([asdict(ablation) for ablation in found], sys.stdout)
        return
    print(
        "language  fillers  questions  found: x_t  x_t+CCS  first: x_t  x_t+CCS"
        "  switch: x_t  x_t+CCS"
    )
    for a in found:
        print(
            f"{a.language:8} {a.fillers:8} {a.questions:10} {a.found_by_input:11} "
            f"{a.found_by_both:8} {a.first_by_input:11} {a.first_by_both:8}"
            f" {a.switch_by_input:12} {a.switch_by_both:8}"
        )


if __name__ == "__main__":
    main()
