"""Every sign of relevance can be switched off alone, in every store, and then decides nothing.

In each case two artifacts are alike but for one sign, and the one without it is newer: of equals
the newest is first, so the sign alone can turn them round.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from acc_ace.config import Settings
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecallQuery
from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.storage.create_stores import create_stores
from tests.contract.values import artifact, asking
from tests.fakes.clock import START, FixedClock
from tests.fakes.extensions import needs
from tests.fakes.filled import filled
from tests.fakes.word_embedder import TopicEmbedder


class Case(NamedTuple):
    """A sign, what is stored, and what is asked; 'with' has the sign and 'without' has not."""

    weight: str
    stored: Sequence[Artifact]
    query: RecallQuery


def said(name: str, text: str, *, session: str, turn: int, at: int) -> Artifact:
    return artifact(name, text, at=at, kind=ArtifactKind.TURN, session=session, turn=turn)


def on(day: datetime) -> int:
    return int((day - START).total_seconds())


WORDS = Case(
    "words",
    [
        artifact("with", "pump pump pump in hall", at=0),
        artifact("without", "pump stood out in hall", at=1),
    ],
    asking("pump valve"),
)
LETTERS = Case(
    "letters",
    [artifact("with", "meter electricity", at=0), artifact("without", "meter occupancies", at=1)],
    asking("electrical meter"),
)
OWN = Case(
    "own",
    [
        artifact(
            "with",
            "user: the parcel came\nagent: I have noted it",
            authority="agent",
            at=0,
        ),
        artifact(
            "without",
            "user: I have noted it\nagent: the parcel came",
            authority="agent",
            at=1,
        ),
    ],
    asking("which parcel?"),
)
DENSE = Case(
    "dense",
    [artifact("with", "the kitten came", at=0), artifact("without", "the parcel came", at=1)],
    asking("a cat came"),
)
STATE = Case(
    "state",
    [artifact("with", "restarted: billing", at=0), artifact("without", "restarted: storage", at=1)],
    asking("what restarted?", state_terms=["service:billing"]),
)
NEIGHBOUR = Case(
    "neighbour",
    [
        said("asked", "the parcel", session="one", turn=1, at=0),
        said("with", "on Monday", session="one", turn=2, at=1),
        said("far", "the parcel", session="two", turn=50, at=0),
        said("without", "on Monday", session="two", turn=2, at=2),
    ],
    asking("parcel Monday"),
)
ANSWER = Case(
    "answer",
    [
        said("asked", "is the parcel here?", session="one", turn=1, at=0),
        said("with", "in the hall", session="one", turn=2, at=1),
        said("told", "so the parcel here", session="two", turn=1, at=2),
        said("without", "in the hall", session="two", turn=2, at=3),
    ],
    asking("parcel hall"),
)
SESSION = Case(
    "session",
    [
        said("more", "the parcel again", session="one", turn=50, at=0),
        said("with", "the parcel came", session="one", turn=1, at=1),
        said("without", "the parcel came", session="two", turn=1, at=2),
    ],
    asking("parcel"),
)
SPEAKER = Case(
    "speaker",
    [
        artifact("with", "Aiko: the parcel for Ben", at=0),
        artifact("without", "Ben: the parcel for Aiko", at=1),
    ],
    asking("parcel Aiko"),
)
MAY = datetime(2026, 5, 7, 12, tzinfo=START.tzinfo)
PERIOD = Case(
    "period",
    [
        artifact("with", "the parcel came", at=on(MAY)),
        artifact("without", "the parcel came", at=on(MAY + timedelta(days=3))),
    ],
    asking("which parcel on 7 May 2026?", asked_at=MAY + timedelta(days=20)),
)
CASES = [WORDS, LETTERS, OWN, DENSE, STATE, NEIGHBOUR, ANSWER, SESSION, SPEAKER, PERIOD]


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    place: dict[str, Any] = {"store": request.param, "data_dir": tmp_path}
    if request.param == "postgres":
        place["database_url"] = request.getfixturevalue("postgres").clean_database()
    return place


def test_there_is_a_case_for_every_weight() -> None:
    assert {case.weight for case in CASES} == set(RecallWeights.model_fields)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=needs("semantic") if case is DENSE else ()) for case in CASES],
    ids=lambda case: case.weight,
)
async def test_each_weight_can_be_switched_off_alone(where: dict[str, Any], case: Case) -> None:
    assert await _first(where, case, RecallWeights()) == "with"
    off = RecallWeights.model_validate({case.weight: 0})
    assert await _first(where, case, off) == "without"


async def _first(where: dict[str, Any], case: Case, weights: RecallWeights) -> str:
    """Which of the two is ranked first."""
    embedder = TopicEmbedder() if case.weight == "dense" else None
    if embedder:
        where = where | {"embedder": {"model": embedder.model}}
    stores = create_stores(Settings(recall=weights, **where), FixedClock(), embedder)
    try:
        await stores.artifacts.add(case.stored)
        if embedder:
            await filled(stores)
        found = await stores.artifacts.recall(case.query)
    finally:
        await stores.close()
    names = [candidate.artifact.artifact_id for candidate in found.candidates]
    assert {"with", "without"} <= set(names), names
    return min("with", "without", key=names.index)
