"""What a turn under the plugin left in a loop that a program closed is settled by the next one."""

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from config import Settings
from core.adapters.in_memory_journal import InMemoryJournal
from core.bootstrap import build_container
from schemas.commit import JournalEntry
from schemas.interaction import Outcome
from schemas.tenancy import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY, Desk, text_of
from tests.pipeline.test_leaving_at_the_answer import until_answered
from tests.pipeline.test_plugin_loops_that_end import runner_of

LEFT: "list[asyncio.Task[Any]]" = []
"""Tasks that are in the middle of their work for ever: what ADK does when they are collected is not
tried here."""

BAN = "Never restart db-01."
OTHER = SessionKey(KEY.app, KEY.user, "s2")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    where: dict[str, Any] = {}
    if request.param == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    return Settings(store=request.param, data_dir=tmp_path, **where)


@pytest.fixture
def asked() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def desk(settings: Settings, asked: asyncio.Event) -> Iterator[Desk]:
    async def hangs(_request: object) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    llm = ScriptedLlm().on("generator", hangs, "Noted.")
    opened = Desk(LlmAgent(name="helper", model=llm), settings=settings)
    yield opened
    asyncio.run(closed(opened))


async def closed(desk: Desk) -> None:
    await desk.runner.close()
    await desk.container.close()


def leave(work: Coroutine[Any, Any, Any], until: asyncio.Event) -> None:
    """Close the loop in the middle of some work."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    loop.run_until_complete(until.wait())
    close(loop)
    assert not task.done()


def close(loop: asyncio.AbstractEventLoop) -> None:
    LEFT.extend(asyncio.all_tasks(loop))
    loop.close()


def kept(desk: Desk) -> list[tuple[str, Outcome]]:
    """What stands as evidence, oldest first."""
    evidence = asyncio.run(desk.evidence())
    return [(each.input.text, each.outcome) for each in reversed(evidence)]


def test_the_next_turn_of_the_session_undoes_it(desk: Desk, asked: asyncio.Event) -> None:
    leave(desk.ask(BAN), asked)
    for _ in range(2):
        assert asyncio.run(desk.ask("Hello.")) == "Noted."
    assert asyncio.run(desk.constraints()) == []
    assert kept(desk) == [(BAN, Outcome.FAILED), *[("Hello.", Outcome.ANSWERED)] * 2]


def test_a_turn_of_another_session_lets_it_be_undone_too(desk: Desk, asked: asyncio.Event) -> None:
    leave(desk.ask(BAN), asked)
    assert asyncio.run(desk.ask("Hello.", key=OTHER)) == "Noted."
    assert asyncio.run(desk.constraints()) == []
    assert kept(desk) == [(BAN, Outcome.FAILED)]


def test_closing_the_runner_undoes_it(desk: Desk, asked: asyncio.Event) -> None:
    leave(desk.ask(BAN), asked)
    asyncio.run(desk.runner.close())
    assert asyncio.run(desk.constraints()) == []
    assert kept(desk) == [(BAN, Outcome.FAILED)]


def test_an_answer_that_was_told_is_kept_and_not_learned_from(settings: Settings) -> None:
    desk = Desk(
        LlmAgent(name="helper", model=ScriptedLlm().on("generator", "Noted.")), settings=settings
    )
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(until_answered(desk.run(BAN))) == "Noted."
    close(loop)
    assert asyncio.run(desk.ask("Hello.")) == "Noted."
    assert asyncio.run(desk.constraints()) == [BAN]
    assert kept(desk) == [(BAN, Outcome.ANSWERED), ("Hello.", Outcome.ANSWERED)]
    assert desk.memory.roles.count("reflector") == 1
    assert "event loop of the turn was closed" in " ".join(desk.reports[0].warnings)
    asyncio.run(closed(desk))


class StuckOnce(InMemoryJournal):
    """A journal whose first write comes to no end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        if not self.begun.is_set():
            self.begun.set()
            await asyncio.Event().wait()
        await super().append(key, entry, expected_version=expected_version)


def test_a_loop_that_was_closed_in_the_commit_keeps_no_turn_waiting() -> None:
    journal = StuckOnce()
    settings = Settings(store="memory", learning="off")
    container = replace(build_container(settings), journal=journal)
    agent = LlmAgent(name="helper", model=ScriptedLlm().on("generator", "Noted."))
    runner = runner_of(container, agent)

    async def ask(text: str) -> str:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        run = runner.run_async(user_id=KEY.user, session_id=KEY.session, new_message=message)
        return "".join([text_of(event) async for event in run])

    async def outcomes() -> list[Outcome]:
        return [each.outcome for each in await container.evidence.list(KEY)]

    leave(ask(BAN), journal.begun)
    assert asyncio.run(ask("Hello.")) == "Noted."
    assert asyncio.run(outcomes()) == [Outcome.ANSWERED, Outcome.FAILED]
    asyncio.run(runner.close())
