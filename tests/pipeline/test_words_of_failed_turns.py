"""What a turn has written that ended before its answer was told is not recalled."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from acc_ace.conversation import Conversation
from config import ROLES
from core.container import Container
from core.errors import StoreError
from core.ports.artifact_store import ArtifactStore
from core.ports.evidence_store import EvidenceStore
from core.ports.journal import Journal
from schemas.artifact import Artifact, RecallQuery
from schemas.commit import CommitKind, JournalEntry
from schemas.interaction import Interaction, Outcome
from schemas.tenancy import SessionKey
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY, seen

SECRET = "The code of the vault is walnut."


class HeldArtifacts:
    """Artifacts whose writer is held, once what it writes is there, or fails.

    Who retires some is cut off by what is in `cuts`, one after the other.
    """

    def __init__(self, inner: ArtifactStore) -> None:
        self._inner = inner
        self.holds = self.fails = False
        self.cuts: list[BaseException] = []
        self.written = asyncio.Event()

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        if self.fails:
            raise StoreError("no more room for artifacts")
        await self._inner.add(artifacts)
        if self.holds:
            self.written.set()
            await asyncio.Event().wait()

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        if self.cuts:
            raise self.cuts.pop(0)
        return await self._inner.retire(key, after_turn)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class NoFailedTurns:
    """Evidence in which no failure can be written."""

    def __init__(self, inner: EvidenceStore) -> None:
        self._inner = inner

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        if interaction.outcome is Outcome.FAILED:
            raise StoreError("no more room for evidence")
        await self._inner.record(key, interaction)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class NoAborts:
    """A journal in which no turn can be undone."""

    def __init__(self, inner: Journal) -> None:
        self._inner = inner

    async def append(self, key: SessionKey, entry: JournalEntry, **options: Any) -> None:
        if entry.kind is CommitKind.ABORT:
            raise StoreError("no more room for the journal")
        await self._inner.append(key, entry, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class LostAnswers:
    """A journal that loses its connection when a commit is written, before it can say so."""

    def __init__(self, inner: Journal) -> None:
        self._inner = inner
        self.loses = False

    async def append(self, key: SessionKey, entry: JournalEntry, **options: Any) -> None:
        await self._inner.append(key, entry, **options)
        if self.loses and entry.kind is CommitKind.COMMIT:
            raise StoreError("the connection was lost")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture
async def built(place: Place) -> AsyncIterator[tuple[Container, HeldArtifacts]]:
    container = place.open()
    artifacts = HeldArtifacts(container.artifacts)
    stored: Any = artifacts
    yield replace(container, artifacts=stored), artifacts
    await container.close()


async def recalled(container: Container) -> str:
    about = RecallQuery(key=KEY._replace(session="other"), text="code vault walnut", limit=10)
    found = await container.artifacts.recall(about)
    return " ".join(each.artifact.content for each in found.candidates)


async def cut_off(conversation: Conversation, artifacts: HeldArtifacts) -> None:
    """Cancel a turn when its words are written, and before its answer is told."""
    artifacts.holds = True
    turn = asyncio.create_task(conversation.turn(KEY, SECRET))
    await artifacts.written.wait()
    artifacts.holds = False
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


async def test_a_turn_cancelled_before_its_answer_was_told_leaves_no_words_to_recall(
    built: tuple[Container, HeldArtifacts],
) -> None:
    container, artifacts = built
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    await conversation.turn(KEY, "The vault is in the cellar.")
    await cut_off(conversation, artifacts)
    kept = await container.evidence.list(KEY)
    assert [each.outcome for each in kept] == [Outcome.FAILED, Outcome.ANSWERED]
    assert "walnut" not in await recalled(container)
    assert "cellar" in await recalled(container)
    await conversation.turn(KEY, "Hello.")
    assert "walnut" not in await recalled(container)
    await conversation.close()


async def test_words_of_a_failed_turn_are_not_recalled_when_its_failure_cannot_be_written(
    built: tuple[Container, HeldArtifacts],
) -> None:
    container, artifacts = built
    evidence: Any = NoFailedTurns(container.evidence)
    broken = replace(container, evidence=evidence)
    conversation = Conversation(broken, models=dict.fromkeys(ROLES, ScriptedLlm()))
    await conversation.turn(KEY, "The vault is in the cellar.")
    await cut_off(conversation, artifacts)
    state = await conversation.state(KEY)
    assert state is not None
    assert state.turn == 1
    assert "walnut" not in await recalled(container)
    assert "cellar" in await recalled(container)
    await conversation.close()


async def test_words_of_a_turn_that_could_not_be_undone_are_recalled_like_those_of_others(
    built: tuple[Container, HeldArtifacts],
) -> None:
    container, artifacts = built
    journal: Any = NoAborts(container.journal)
    models = dict.fromkeys(ROLES, ScriptedLlm())
    conversation = Conversation(replace(container, journal=journal), models=models)
    await conversation.turn(KEY, "The vault is in the cellar.")
    await cut_off(conversation, artifacts)
    await conversation.turn(KEY, "Hello.")
    kept = await container.evidence.list(KEY)
    assert [(each.turn, each.outcome) for each in kept] == [
        (3, Outcome.ANSWERED),
        (2, Outcome.ANSWERED),
        (1, Outcome.ANSWERED),
    ]
    assert "walnut" in await recalled(container)
    await conversation.close()


async def test_words_that_could_not_be_retired_with_their_turn_are_by_the_next(
    built: tuple[Container, HeldArtifacts],
) -> None:
    container, artifacts = built
    llm = ScriptedLlm()
    conversation = Conversation(container, models=dict.fromkeys(ROLES, llm))
    await conversation.turn(KEY, "The vault is in the cellar.")
    artifacts.cuts = [StoreError("the disk is gone")]
    await cut_off(conversation, artifacts)
    state = await conversation.state(KEY)
    assert state is not None
    assert state.turn == 1
    artifacts.fails = True  # The next turn is not kept: nothing takes the place of those words.
    with pytest.raises(StoreError):
        await conversation.turn(KEY, "What is the code of the vault?")
    artifacts.fails = False
    assert "walnut" not in seen(llm.requests_of("compressor")[-1])
    assert "walnut" not in await recalled(container)
    assert "cellar" in await recalled(container)
    await conversation.close()


async def test_words_are_retired_also_when_the_undo_of_their_turn_is_cut_off_before_it(
    built: tuple[Container, HeldArtifacts],
) -> None:
    container, artifacts = built
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    await conversation.turn(KEY, "The vault is in the cellar.")
    artifacts.cuts = [asyncio.CancelledError()]  # As by an event loop that ends.
    await cut_off(conversation, artifacts)
    history = await container.journal.history(KEY)
    kinds = [CommitKind.ABORT, CommitKind.COMMIT, CommitKind.COMMIT]
    assert [entry.kind for entry in history] == kinds
    assert "walnut" not in await recalled(container)
    await conversation.close()


async def test_a_turn_whose_failure_could_not_be_written_is_undone_by_the_next(
    built: tuple[Container, HeldArtifacts],
) -> None:
    container, artifacts = built
    evidence: Any = NoFailedTurns(container.evidence)
    llm = ScriptedLlm()
    models = dict.fromkeys(ROLES, llm)
    conversation = Conversation(replace(container, evidence=evidence), models=models)
    await conversation.turn(KEY, "The vault is in the cellar.")
    artifacts.fails = True
    with pytest.raises(StoreError):
        await conversation.turn(KEY, SECRET)
    artifacts.fails = False
    await conversation.turn(KEY, "Hello.")
    await conversation.turn(KEY, "Hello again.", memory="replay")
    for role in ("compressor", "generator"):
        assert "walnut" not in seen(llm.requests_of(role)[-1])
    assert "walnut" not in await recalled(container)
    assert [each.outcome for each in await container.evidence.list(KEY)] == [
        Outcome.ANSWERED,
        Outcome.ANSWERED,
        Outcome.UNDONE,
        Outcome.ANSWERED,
    ]
    await conversation.close()


async def test_a_commit_whose_store_was_lost_before_it_could_tell_is_undone_with_its_turn(
    place: Place,
) -> None:
    container = place.open()
    lost = LostAnswers(container.journal)
    journal: Any = lost
    conversation = Conversation(
        replace(container, journal=journal), models=dict.fromkeys(ROLES, ScriptedLlm())
    )
    await conversation.turn(KEY, "The vault is in the cellar.")
    lost.loses = True
    with pytest.raises(StoreError, match="the connection was lost"):
        await conversation.turn(KEY, "Never open the vault by day.")
    lost.loses = False
    head = await container.journal.head(KEY)
    assert head is not None
    assert (head.kind, head.state.turn) == (CommitKind.ABORT, 1)
    assert not head.state.ccs.constraints
    await conversation.turn(KEY, "Hello.")
    assert [each.outcome for each in await container.evidence.list(KEY)] == [
        Outcome.ANSWERED,
        Outcome.FAILED,
        Outcome.ANSWERED,
    ]
    await conversation.close()
