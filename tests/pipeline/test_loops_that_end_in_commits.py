"""A turn is undone also when its event loop ends while CCS_t is being written."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

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
from schemas.commit import JournalEntry
from schemas.memory_name import MEMORIES
from schemas.tenancy import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY
from tests.pipeline.test_cancelled_commits import BAN, assert_undone


class ThreadedJournal(InMemoryJournal):
    """Works on a thread of its own, as SQLite does: the end of an event loop stops no write."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = threading.Event(), threading.Event()
        self._thread = ThreadPoolExecutor(1)

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        def write() -> None:
            self.begun.set()
            self.let.wait()
            asyncio.run(InMemoryJournal.append(self, key, entry, expected_version=expected_version))

        await asyncio.get_running_loop().run_in_executor(self._thread, write)

    async def head(self, key: SessionKey) -> JournalEntry | None:
        def read() -> JournalEntry | None:
            return asyncio.run(InMemoryJournal.head(self, key))

        return await asyncio.get_running_loop().run_in_executor(self._thread, read)

    async def release_at_the_end(self) -> None:
        """Let the write go on once the event loop has cancelled all that it runs."""
        try:
            await asyncio.Event().wait()
        finally:
            self.let.set()


@pytest.fixture
def journal() -> ThreadedJournal:
    return ThreadedJournal()


@pytest.fixture
def container(journal: ThreadedJournal) -> Container:
    return replace(build_container(Settings(store="memory", learning="off")), journal=journal)


async def leave_in_the_commit(turn: "asyncio.Task[None]", journal: ThreadedJournal) -> None:
    """End the program after the commit was sent, and before it is written."""
    released = asyncio.create_task(journal.release_at_the_end())
    await asyncio.to_thread(journal.begun.wait)
    assert not turn.done()
    assert not released.done()


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_turn_of_ours_whose_loop_ends_in_its_commit_is_undone(
    memory: str, container: Container, journal: ThreadedJournal
) -> None:
    settings = container.settings.model_copy(update={"memory": memory})
    chosen = replace(container, settings=settings)

    async def program() -> None:
        conversation = Conversation(
            chosen,
            session_service=InMemorySessionService(),
            models=dict.fromkeys(ROLES, ScriptedLlm()),
        )

        async def turn() -> None:
            await conversation.turn(KEY, BAN)

        await leave_in_the_commit(asyncio.create_task(turn()), journal)

    asyncio.run(program())
    asyncio.run(assert_undone(chosen))


def test_a_turn_of_the_plugin_whose_loop_ends_in_its_commit_is_undone(
    container: Container, journal: ThreadedJournal
) -> None:
    async def program() -> None:
        plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
        runner = Runner(
            app=App(
                name=KEY.app,
                root_agent=LlmAgent(name="helper", model=ScriptedLlm()),
                plugins=[plugin],
            ),
            session_service=InMemorySessionService(),
            auto_create_session=True,
        )
        message = types.Content(role="user", parts=[types.Part(text=BAN)])

        async def turn() -> None:
            async for _ in runner.run_async(
                user_id=KEY.user, session_id=KEY.session, new_message=message
            ):
                pass

        await leave_in_the_commit(asyncio.create_task(turn()), journal)

    asyncio.run(program())
    asyncio.run(assert_undone(container))
