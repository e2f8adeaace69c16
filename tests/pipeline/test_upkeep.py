"""House is kept where ADK's own runner drives the turns: `adk web`, `adk run`, the plugin."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from acc_ace import build_container
from acc_ace.adk.bounded_turn import BoundedTurn
from acc_ace.adk.session_lifecycle import SessionMaintenance
from acc_ace.pipeline import APP_NAME, build_app
from config import ROLES, Role, Settings
from schemas.base import SessionKey
from tests.fakes.clock import FixedClock
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY as DESK
from tests.pipeline.desk import Desk, whole
from tests.pipeline.test_session_life import LIKES, BackgroundLlm

KEY = SessionKey(APP_NAME, "aiko", "s1")
NEXT = KEY._replace(session="s2")


class Served:
    """Our app as ADK serves it: by a runner that knows nothing of us."""

    def __init__(self, settings: Settings) -> None:
        self.clock, self.llm, self.background = FixedClock(), ScriptedLlm(), BackgroundLlm()
        self.container = build_container(settings, self.clock)
        self.models: dict[Role, BaseLlm] = {**dict.fromkeys(ROLES, self.llm)}
        self.models["reflector"] = self.background
        self.app = build_app(self.container, self.models)
        assert isinstance(self.app.root_agent, BoundedTurn)
        self.agent = self.app.root_agent
        self.runner = Runner(
            app=self.app, session_service=InMemorySessionService(), auto_create_session=True
        )

    async def say(self, text: str, key: SessionKey = KEY) -> None:
        self.clock.advance(seconds=1)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in self.runner.run_async(
            user_id=key.user, session_id=key.session, new_message=message
        ):
            pass

    async def at_rest(self) -> None:
        """Wait until background work has ended."""
        await self.agent.maintenance.close()

    async def notes(self, key: SessionKey = KEY) -> list[str]:
        record = await self.container.directory.find(key)
        assert record is not None
        found = [await self.container.artifacts.get(key.tenant, name) for name in record.notes]
        return [note.content for note in found if note]

    async def close(self) -> None:
        await self.agent.close()
        await self.runner.close()
        await self.container.close()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """The settings of a place for the stores."""
    more: dict[str, Any] = {"data_dir": tmp_path / "data"}
    if request.param == "postgres":
        more = {"database_url": request.getfixturevalue("postgres").clean_database()}
    return {"store": request.param, "learning": "off", **more}


@pytest.fixture
async def served(where: dict[str, Any]) -> AsyncIterator[Served]:
    opened = Served(Settings(**where))
    yield opened
    await opened.close()


async def test_an_idle_session_is_offloaded_after_the_next_turn_of_any(served: Served) -> None:
    await served.say(LIKES)
    await served.at_rest()
    assert await served.notes() == []
    served.clock.advance(hours=1)
    await served.say("Hello.", KEY._replace(user="ben"))
    await served.at_rest()
    assert await served.notes() == [f"preference: {LIKES}"]
    await served.say("Good morning.", NEXT)
    assert LIKES in whole(served.llm.requests_of("compressor")[-1])


async def test_an_idle_session_is_offloaded_under_the_plugin(where: dict[str, Any]) -> None:
    clock, llm = FixedClock(), ScriptedLlm().on("generator", "Noted.")
    app = Desk(LlmAgent(name="helper", model=llm), settings=Settings(**where), clock=clock)
    await app.ask(LIKES)
    clock.advance(hours=1)
    await app.ask("Hello.", key=DESK._replace(user="ben"))
    await app.plugin.close()
    record = await app.container.directory.find(DESK)
    assert record is not None
    assert record.offloaded_at is not None
    await app.ask("Good morning.", key=DESK._replace(session="s2"))
    assert LIKES in whole(llm.requests[-1])
    await app.runner.close()
    await app.container.close()


@needs("embedded")
def test_work_that_a_closed_event_loop_has_left_keeps_nobody_from_closing() -> None:
    maintenance = SessionMaintenance(build_container(Settings(store="memory", offload=True)))

    async def wake() -> None:
        maintenance.wake(APP_NAME)

    left = asyncio.new_event_loop()
    left.run_until_complete(wake())
    left.close()
    asyncio.run(maintenance.close())
