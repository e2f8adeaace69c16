"""ADK's compaction of events beside the plugin is refused before a message is stored."""

from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.apps.app import EventsCompactionConfig
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.workflow import START, Workflow
from google.genai import types

from acc_ace.errors import ConfigError
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk, whole
from tests.pipeline.readers import Reader
from tests.pipeline.test_plugin_trees import sequential

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")  # ADK's compaction.

BAN = "Never send reminders on Sundays."
BY_TURNS: dict[str, Any] = {"compaction_interval": 2, "overlap_size": 1}
BY_TOKENS: dict[str, Any] = {**BY_TURNS, "token_threshold": 100, "event_retention_size": 1}


class Shop:
    """A host's agent with a tool, in one app without compaction and one with it."""

    def __init__(self) -> None:
        self.looked: list[str] = []
        self.llm = ScriptedLlm().on("generator", call("look", item="kiwi"), "Two.")
        self.agent = LlmAgent(name="helper", model=self.llm, tools=[self.look])
        self.app = Desk(self.agent)

    def look(self, item: str) -> dict[str, str]:
        """Look for an item."""
        self.looked.append(item)
        return {"status": "found"}

    def compacting(self, root: Any = None, **config: Any) -> Runner:
        """The same app, with compaction."""
        app = App(
            name=KEY.app,
            root_agent=root or self.agent,
            plugins=[self.app.plugin],
            events_compaction_config=EventsCompactionConfig(**config),
            resumability_config=ResumabilityConfig(is_resumable=True),
        )
        return Runner(app=app, session_service=self.app.sessions, auto_create_session=True)

    async def stored(self) -> Sequence[Event]:
        """The events of the session, read again."""
        session = await self.app.sessions.get_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
        )
        return session.events if session else []


async def refused(runner: Runner, **run: Any) -> ConfigError:
    """What a run is refused with."""
    run = run or {"new_message": types.Content(role="user", parts=[types.Part(text=BAN)])}
    with pytest.raises(RuntimeError) as raised:
        await anext(runner.run_async(user_id=KEY.user, session_id=KEY.session, **run))
    assert isinstance(raised.value.__cause__, ConfigError)
    return raised.value.__cause__


@pytest.mark.parametrize("config", [BY_TURNS, BY_TOKENS], ids=["turns", "tokens"])
async def test_it_is_refused_before_anything_is_stored_asked_or_done(
    config: dict[str, Any],
) -> None:
    shop = Shop()
    error = await refused(shop.compacting(**config))
    assert "events_compaction_config" in str(error)
    assert await shop.stored() == []
    assert (shop.llm.requests, shop.app.memory.requests, shop.looked) == ([], [], [])
    assert (await shop.app.evidence(), await shop.app.constraints()) == ([], [])
    assert shop.app.reported == []


def one_that_reads(_: Shop) -> BaseAgent:
    return Reader(name="reader")


def row(shop: Shop) -> BaseAgent:
    return sequential(shop.agent)


def flow(shop: Shop) -> Workflow:
    return Workflow(name="flow", edges=[(START, shop.agent)])


@pytest.mark.parametrize("root", [one_that_reads, row, flow])
async def test_whatever_the_root_is_it_is_refused(root: Any) -> None:
    shop = Shop()
    await refused(shop.compacting(root(shop), **BY_TURNS))
    assert await shop.stored() == []
    assert (shop.llm.requests, shop.app.memory.requests, shop.looked) == ([], [], [])


async def test_without_the_setting_the_same_conversation_goes_on() -> None:
    shop = Shop()
    assert await shop.app.ask(BAN) == "Two."
    before = await shop.stored()
    await refused(shop.compacting(**BY_TURNS))
    await refused(shop.compacting(**BY_TURNS))
    assert [event.id for event in await shop.stored()] == [event.id for event in before]
    assert await shop.app.ask("And on Mondays?") == "Two."
    assert f"- [c-0001] {BAN}" in whole(shop.llm.requests[-1])
    assert [interaction.turn for interaction in await shop.app.evidence()] == [2, 1]


async def test_a_run_that_is_resumed_by_its_id_is_refused_too() -> None:
    shop = Shop()
    await shop.app.ask(BAN)
    before = await shop.stored()
    asked = len(shop.llm.requests)
    await refused(shop.compacting(**BY_TURNS), invocation_id=before[0].invocation_id)
    assert len(await shop.stored()) == len(before)
    assert len(shop.llm.requests) == asked


async def test_twelve_turns_of_a_host_that_left_it_out_are_all_answered() -> None:
    shop = Shop()
    for number in range(12):
        assert await shop.app.ask(f"Item {number}.") == "Two."
