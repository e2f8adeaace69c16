"""A turn that is cancelled while CCS_t is being written is undone like any other."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from acc_ace.conversation import Conversation
from acc_ace.plugin import BoundedMemoryPlugin
from acc_ace.plugin.turn_memory import MODEL_ROLES
from config import ROLES, Settings
from core.adapters.in_memory_journal import InMemoryJournal
from core.bootstrap import build_container
from core.container import Container
from schemas.commit import CommitKind, JournalEntry
from schemas.interaction import Outcome
from schemas.memory_name import MEMORIES
from schemas.tenancy import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY

BAN = "Never restart db-01."


class SlowJournal(InMemoryJournal):
    """Writes as a database does: who waits for a write can be cancelled, the write cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = asyncio.Event(), asyncio.Event()

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        writing = asyncio.create_task(self._write(key, entry, expected_version))
        await asyncio.shield(writing)

    async def _write(self, key: SessionKey, entry: JournalEntry, expected_version: int) -> None:
        self.begun.set()
        await self.let.wait()
        await super().append(key, entry, expected_version=expected_version)


@pytest.fixture
def journal() -> SlowJournal:
    return SlowJournal()


@pytest.fixture
def container(journal: SlowJournal) -> Container:
    return replace(build_container(Settings(store="memory")), journal=journal)


async def cancel_in_the_commit(turn: Coroutine[Any, Any, object], journal: SlowJournal) -> None:
    """Cancel a turn after its commit was sent, and before it is written."""
    running = asyncio.create_task(turn)
    await journal.begun.wait()
    running.cancel()
    journal.let.set()
    with pytest.raises(asyncio.CancelledError):
        await running


async def assert_undone(container: Container) -> None:
    history = await container.journal.history(KEY)
    # The commit itself is behind it; under a classic memory it kept the state.
    assert [entry.kind is CommitKind.ABORT for entry in history] == [True, False]
    assert history[0].state.ccs.constraints == []
    assert history[0].state.turn == 0
    assert [each.outcome for each in await container.evidence.list(KEY)] == [Outcome.FAILED]


@pytest.mark.parametrize("memory", MEMORIES)
async def test_a_turn_of_ours_that_is_cancelled_in_its_commit_is_undone(
    memory: str, container: Container, journal: SlowJournal
) -> None:
    settings = container.settings.model_copy(update={"memory": memory})
    chosen = replace(container, settings=settings)
    conversation = Conversation(
        chosen,
        session_service=InMemorySessionService(),
        models=dict.fromkeys(ROLES, ScriptedLlm()),
    )
    await cancel_in_the_commit(conversation.turn(KEY, BAN), journal)
    await assert_undone(chosen)


async def test_a_turn_of_the_plugin_that_is_cancelled_in_its_commit_is_undone(
    container: Container, journal: SlowJournal
) -> None:
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
    agent = LlmAgent(name="helper", model=ScriptedLlm())
    runner = Runner(
        app=App(name=KEY.app, root_agent=agent, plugins=[plugin]),
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )
    message = types.Content(role="user", parts=[types.Part(text=BAN)])

    async def turn() -> None:
        async for _ in runner.run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=message
        ):
            pass

    await cancel_in_the_commit(turn(), journal)
    await runner.close()
    await assert_undone(container)
