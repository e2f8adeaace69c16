"""What a turn has written that ended before its answer was told is not recalled."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from acc_ace.conversation import Conversation
from config import ROLES
from core.container import Container
from core.ports.artifact_store import ArtifactStore
from schemas.artifact import Artifact, RecallQuery
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY

SECRET = "The code of the vault is walnut."


class HeldArtifacts:
    """Artifacts whose writer is held, once what it writes is there."""

    def __init__(self, inner: ArtifactStore) -> None:
        self._inner = inner
        self.holds = False
        self.written = asyncio.Event()

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        await self._inner.add(artifacts)
        if self.holds:
            self.written.set()
            await asyncio.Event().wait()

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


async def test_a_turn_cancelled_before_its_answer_was_told_leaves_no_words_to_recall(
    built: tuple[Container, HeldArtifacts],
) -> None:
    container, artifacts = built
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    await conversation.turn(KEY, "The vault is in the cellar.")
    artifacts.holds = True
    turn = asyncio.create_task(conversation.turn(KEY, SECRET))
    await artifacts.written.wait()
    artifacts.holds = False
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    kept = await container.evidence.list(KEY)
    assert [each.outcome for each in kept] == [Outcome.FAILED, Outcome.ANSWERED]
    assert "walnut" not in await recalled(container)
    assert "cellar" in await recalled(container)
    await conversation.turn(KEY, "Hello.")
    assert "walnut" not in await recalled(container)
    await conversation.close()
