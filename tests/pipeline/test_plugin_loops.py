"""A turn under the plugin whose event loop ends, as `asyncio.run` ends it, is wholly undone."""

import asyncio
from dataclasses import replace

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from acc_ace.plugin import BoundedMemoryPlugin
from acc_ace.plugin.turn_memory import MODEL_ROLES
from config import Settings
from core.adapters.in_memory_journal import InMemoryJournal
from core.bootstrap import build_container
from schemas.commit import CommitKind, JournalEntry
from schemas.tenancy import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY, text_of


class FarJournal(InMemoryJournal):
    """A journal that many steps of an event loop are needed to reach."""

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        for _ in range(500):
            await asyncio.sleep(0)
        await super().append(key, entry, expected_version=expected_version)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_turn_is_undone_when_its_event_loop_ends(is_cancelled: bool) -> None:
    waiting = asyncio.Event()

    async def waits(_request: object) -> str:
        waiting.set()
        await asyncio.Event().wait()
        return "never"

    container = replace(build_container(Settings(store="memory")), journal=FarJournal())
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
    agent = LlmAgent(name="helper", model=ScriptedLlm().on("generator", waits, "Hi."))
    app = App(name=KEY.app, root_agent=agent, plugins=[plugin])
    runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)

    async def ask(text: str) -> str:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        run = runner.run_async(user_id=KEY.user, session_id=KEY.session, new_message=message)
        return "".join([text_of(event) async for event in run])

    async def left() -> None:
        turn = asyncio.create_task(ask("Never restart db-01."))
        await waiting.wait()
        if is_cancelled:
            turn.cancel()
        del turn

    async def kinds() -> list[CommitKind]:
        return [entry.kind for entry in await container.journal.history(KEY)]

    asyncio.run(left())
    assert asyncio.run(kinds()) == [CommitKind.ABORT, CommitKind.COMMIT]
    assert asyncio.run(ask("Hello.")) == "Hi."
    asyncio.run(runner.close())
