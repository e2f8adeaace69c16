"""Who waits for the session of a turn whose event loop ends has it when that turn is undone."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from acc_ace.plugin import BoundedMemoryPlugin
from acc_ace.plugin.turn_memory import MODEL_ROLES
from core.container import Container
from core.ports.journal import Journal
from schemas.commit import CommitKind, JournalEntry
from schemas.tenancy import SessionKey
from tests.fakes.place import Place, place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY

__all__ = ["place"]

LONG_S = 0.5
"""Enough to take a session that was given back too early."""


class SlowToUndo:
    """A journal that undoes a turn only when another has had the time to get in between."""

    def __init__(self, inner: Journal, had: threading.Event) -> None:
        self._inner, self._had = inner, had

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        if entry.kind is CommitKind.ABORT:
            await asyncio.to_thread(self._had.wait, LONG_S)
        await self._inner.append(key, entry, expected_version=expected_version)


def runner_of(container: Container, agent: LlmAgent) -> Runner:
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
    app = App(name=KEY.app, root_agent=agent, plugins=[plugin])
    return Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)


@pytest.mark.parametrize("is_same", [True, False], ids=["same process", "another"])
def test_a_session_is_given_back_after_its_turn_was_undone(place: Place, is_same: bool) -> None:
    here = place.open()
    there = here if is_same else place.open()
    asked, had = threading.Event(), threading.Event()

    async def hangs(_request: object) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    agent = LlmAgent(name="helper", model=ScriptedLlm().on("generator", hangs))
    slow: Any = SlowToUndo(here.journal, had)
    runner = runner_of(replace(here, journal=slow), agent)

    async def turn() -> None:
        message = types.Content(role="user", parts=[types.Part(text="Never restart db-01.")])
        async for _ in runner.run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=message
        ):
            pass

    async def left() -> None:
        running = asyncio.create_task(turn())
        await asyncio.to_thread(asked.wait)
        del running

    async def seen() -> Sequence[CommitKind]:
        async with there.lock.hold(KEY, wait_s=30):
            had.set()
            return [entry.kind for entry in await there.journal.history(KEY)]

    def wait_and_see() -> Sequence[CommitKind]:
        asked.wait()
        return asyncio.run(seen())

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait_and_see)
        asyncio.run(left())
        assert waiting.result() == [CommitKind.ABORT, CommitKind.COMMIT]
    asyncio.run(closed(runner, here, there))


async def closed(runner: Runner, *containers: Container) -> None:
    await runner.close()
    for container in containers:
        await container.close()
