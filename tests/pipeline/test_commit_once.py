"""A turn is prepared, acts, and is committed once; what ends before the commit leaves CCS_{t-1}."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from acc_ace import Container, Conversation, build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.errors import ModelUnavailable, StoreError
from acc_ace.memory.artifact_store import ArtifactListing
from acc_ace.pipeline import sequence
from acc_ace.storage.sql_rows import on_connection
from acc_ace.storage.sqlite.database import SqliteDatabase
from acc_ace.unit_of_work import Write
from config import ROLES, Settings
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.fakes.scripted_llm import Reply, ScriptedLlm, call
from tests.pipeline.desk import KEY as DESK
from tests.pipeline.desk import Desk
from tests.pipeline.talk import KEY

RULE = "Never restart db-01 before noon."
Sessions = Callable[[Container, Path], BaseSessionService]
SERVICES: dict[str, Sessions] = {
    "ours": lambda container, _: open_session_service(container),
    "in-memory": lambda *_: InMemorySessionService(),
    "adk-sqlite": lambda _, path: SqliteSessionService(str(path / "adk.db")),
}


def restart(server: str) -> str:
    """Restart a server."""
    return f"{server} restarted"


class World:
    """A conversation over one of the session services, whose models do as they are told."""

    def __init__(self, place: Place, sessions: Sessions, directory: Path) -> None:
        tools = ["tests.pipeline.test_commit_once:restart"]
        self.container = build_container(place.with_settings(tools=tools))
        self.llm = ScriptedLlm()
        self.sessions = sessions(self.container, directory)
        self.conversation = Conversation(
            self.container, session_service=self.sessions, models=dict.fromkeys(ROLES, self.llm)
        )

    async def say(self, text: str) -> str:
        return (await self.conversation.turn(KEY, text)).answer

    async def seen(self) -> dict[str, Any]:
        """All that a turn may leave, but the evidence of its failure."""
        session = await self.sessions.get_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
        )
        artifacts = self.container.artifacts
        assert session is not None
        assert isinstance(artifacts, ArtifactListing)
        return {
            "journal": await self.conversation.history(KEY),
            "answered": [
                turn for turn in await self.evidence() if turn.outcome is Outcome.ANSWERED
            ],
            "artifacts": await artifacts.page(KEY.tenant),
            "state": {name: session.state.get(name) for name in ("ccs", "app:playbook")},
            "events": [event.content for event in session.events if _is_ours(event)],
        }

    async def evidence(self) -> Any:
        return await self.container.evidence.list(KEY)


def _is_ours(event: Event) -> bool:
    """A foreign service has the words that ADK stores before any agent is asked."""
    return event.author != "user" or event.content is None


@pytest.fixture(params=SERVICES)
async def world(
    request: pytest.FixtureRequest, place: Place, tmp_path: Path
) -> AsyncIterator[World]:
    made = World(place, SERVICES[request.param], tmp_path)
    yield made
    await made.conversation.close()


def hang(reached: asyncio.Event) -> Callable[[LlmRequest], Awaitable[Reply]]:
    """A model that never answers."""

    async def reply(_: LlmRequest) -> Reply:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    return reply


async def cancelled(
    world: World, reached: asyncio.Event, text: str = "db-02 is down too. Never touch it."
) -> None:
    """A turn that is cancelled where it hangs."""
    turn = asyncio.create_task(world.say(text))
    async with asyncio.timeout(20):
        await reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


@pytest.mark.parametrize("role", ["compressor", "generator"])
async def test_a_turn_cancelled_while_a_model_works_leaves_no_trace(
    world: World, role: str
) -> None:
    await world.say(RULE)
    before, reached = await world.seen(), asyncio.Event()
    world.llm.on(role, hang(reached))
    await cancelled(world, reached)
    assert await world.seen() == before
    assert [turn.outcome for turn in await world.evidence()] == [Outcome.FAILED, Outcome.ANSWERED]


async def test_a_turn_whose_generator_fails_leaves_no_trace(world: World) -> None:
    await world.say(RULE)
    before = await world.seen()
    world.llm.on("generator", ModelUnavailable("down"))
    with pytest.raises(ModelUnavailable):
        await world.say("db-02 is down too. Never touch it.")
    assert await world.seen() == before


async def test_a_turn_cancelled_behind_a_tool_call_leaves_only_the_call(world: World) -> None:
    await world.say(RULE)
    before, reached = await world.seen(), asyncio.Event()
    world.llm.on("generator", call("restart", server="db-02"), hang(reached))
    await cancelled(world, reached, "db-02 is down too.")
    after = await world.seen()
    assert {**after, "events": []} == {**before, "events": []}
    starts = await world.container.tool_starts.unsettled(KEY)
    assert [(start.name, start.args) for start in starts] == [("restart", {"server": "db-02"})]


async def test_with_our_sessions_not_even_the_words_of_a_failed_turn_are_stored(
    place: Place, tmp_path: Path
) -> None:
    world = World(place, SERVICES["ours"], tmp_path)
    await world.say(RULE)
    stored = await _stored(world)
    world.llm.on("generator", call("restart", server="db-02"), ModelUnavailable("down"))
    with pytest.raises(ModelUnavailable):
        await world.say("db-02 is down too.")
    assert await _stored(world) == stored
    await world.conversation.close()


async def _stored(world: World) -> list[str]:
    session = await world.sessions.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    assert session is not None
    return [event.id for event in session.events]


@pytest.mark.parametrize("part", ["journal", "evidence", "artifacts", "directory", "events"])
async def test_a_commit_that_fails_in_any_of_its_parts_writes_nothing(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    world = World(place, SERVICES["ours"], tmp_path)
    await world.say(RULE)
    before, stored = await world.seen(), await _stored(world)
    writes = {
        "journal": (world.container.journal, "append_write"),
        "evidence": (world.container.evidence, "record_write"),
        "artifacts": (world.container.artifacts, "add_write"),
        "directory": (world.container.directory, "open_write"),
        "events": (type(world.sessions.hold(KEY, "none")), "write"),  # type: ignore[attr-defined]
    }

    def failing(*_: object, **__: object) -> Write:
        def write(_: object) -> None:
            raise StoreError("the disk is full")

        return write

    with monkeypatch.context() as patched:
        patched.setattr(*writes[part], failing)
        with pytest.raises(StoreError, match="the disk is full"):
            await world.say("db-02 is down too. Never touch it.")
    assert await world.seen() == before
    assert await _stored(world) == stored
    assert await world.say("And now?")
    await world.conversation.close()


@pytest.mark.parametrize("service", SERVICES)
async def test_a_turn_that_finds_the_disk_full_leaves_the_state_before_it(
    tmp_path: Path, service: str
) -> None:
    place = Place(Settings(store="sqlite", data_dir=tmp_path, learning="off"), tmp_path)
    world = World(place, SERVICES[service], tmp_path)
    await world.say(RULE)
    before = await world.seen()
    await _allow_pages(world, 1)
    with pytest.raises(
        StoreError, match=r"memory\.db cannot grow, the disk or quota is full; free"
    ):
        await world.say(" ".join(f"Host {number} is down." for number in range(200)))
    assert await world.seen() == before
    await _allow_pages(world, _MOST_PAGES)
    assert (await world.conversation.turn(KEY, "And now?")).turn == 2
    assert len((await world.seen())["answered"]) == 2
    await world.conversation.close()


_MOST_PAGES = 1_073_741_823


async def _allow_pages(world: World, pages: int) -> None:
    """Let the database have so many pages, or those that it has: what a full disk comes to."""
    database = world.container.database
    assert isinstance(database, SqliteDatabase)
    await database.read(
        on_connection(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}"))
    )


async def test_before_the_answer_only_the_name_of_a_new_session_is_written(
    tmp_path: Path,
) -> None:
    place = Place(Settings(store="sqlite", data_dir=tmp_path, learning="off"), tmp_path)
    world, meanwhile = World(place, SERVICES["ours"], tmp_path), list[dict[str, Any]]()

    def reply(_: LlmRequest) -> Reply:
        meanwhile.append(_rows(tmp_path))
        return {"final_answer": "Noted."}

    world.llm.on("generator", reply)
    await world.say(RULE)
    assert set(meanwhile[0]) == {"tenants", "session_directory", "adk_sessions"}
    assert "restart" not in str(meanwhile[0])
    committed = _rows(tmp_path)
    assert RULE in str(committed)
    await world.say("db-02 is down too.")
    # Of a later turn, nothing at all.
    assert meanwhile[1] == committed
    await world.conversation.close()


def _rows(directory: Path) -> dict[str, list[Any]]:
    """The rows of every table that has some, but those behind the index of full text."""
    with closing(sqlite3.connect(directory / "memory.db")) as connection:
        names = connection.execute(
            "SELECT name FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        tables = {
            name: connection.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608
            for (name,) in names
        }
    return {name: rows for name, rows in tables.items() if rows}


async def test_rows_are_there_before_the_answer_is_shown(place: Place, tmp_path: Path) -> None:
    world = World(place, SERVICES["ours"], tmp_path)
    async for event in world.conversation.stream(KEY, RULE):
        if event.type == "answer":
            head = await world.container.journal.head(KEY)
            assert head is not None
            assert head.state.turn == 1
            assert (await world.evidence())[0].outcome is Outcome.ANSWERED
            assert len(await _stored(world)) == 2
            break
    else:
        raise AssertionError("no answer")
    await world.conversation.close()


async def test_a_client_that_leaves_at_the_answer_leaves_a_whole_turn(world: World) -> None:
    events = world.conversation.stream(KEY, RULE)
    async for event in events:
        if event.type == "answer":
            break
    await events.aclose()  # type: ignore[attr-defined]
    seen = await world.seen()
    assert len(seen["journal"]) == len(seen["answered"]) == 1
    assert seen["state"]["ccs"] == seen["journal"][0].state.to_state()


async def test_session_state_shows_what_is_committed_after_a_failed_turn(world: World) -> None:
    await world.say(RULE)
    world.llm.on("generator", ModelUnavailable("down"), {"final_answer": "ok"})
    with pytest.raises(ModelUnavailable):
        await world.say("Release c-0001.")
    head = await world.conversation.state(KEY)
    assert head is not None
    assert (await world.seen())["state"]["ccs"] == head.to_state()
    assert RULE in head.ccs.constraints


async def test_a_writer_who_committed_first_wins_and_nothing_of_the_other_stays(
    place: Place, tmp_path: Path
) -> None:
    world = World(place, SERVICES["ours"], tmp_path)
    await world.say(RULE)
    other = build_container(place.with_settings())

    async def overtaken(_: LlmRequest) -> Reply:
        # As one would that does not know that the session is held.
        head = await other.journal.head(KEY)
        assert head is not None
        state = head.state.model_copy(update={"version": 2})
        entry = head.model_copy(update={"state": state})
        await other.journal.append(KEY, entry, expected_version=1)
        return {"final_answer": "too late"}

    world.llm.on("generator", overtaken)
    with pytest.raises(Exception, match="another turn committed first"):
        await world.say("Restart db-02.")
    assert [entry.state.turn for entry in await world.conversation.history(KEY)] == [1, 1]
    assert [turn.outcome for turn in await world.evidence()] == [Outcome.FAILED, Outcome.ANSWERED]
    await other.close()
    await world.conversation.close()


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("end", ["fails", "is cancelled"])
async def test_a_turn_of_the_plugin_that_ends_before_its_answer_leaves_no_trace(
    place: Place, tmp_path: Path, service: str, end: str
) -> None:
    llm, reached = ScriptedLlm(), asyncio.Event()
    last = ModelUnavailable("down") if end == "fails" else hang(reached)
    llm.on("generator", "Noted.", call("restart", server="db-02"), last)
    container = build_container(place.settings)
    desk = Desk(
        LlmAgent(name="desk", model=llm, tools=[restart]),
        settings=place.settings,
        sessions=SERVICES[service](container, tmp_path),
    )
    await desk.say(RULE)
    history = await desk.container.journal.history(DESK)
    state = await desk.session_state()
    turn = asyncio.create_task(desk.say("db-02 is down too."))
    if end == "fails":
        with pytest.raises(ModelUnavailable):
            await turn
    else:
        async with asyncio.timeout(20):
            await reached.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    await desk.settled()
    assert await desk.container.journal.history(DESK) == history
    assert (await desk.session_state()).get("ccs") == state["ccs"]
    failed = (await desk.evidence())[0]
    assert (failed.outcome, [call.name for call in failed.tool_calls]) == (
        Outcome.FAILED,
        ["restart"],
    )
    await desk.container.close()
    await container.close()


async def test_each_answer_of_a_host_updates_the_same_turn() -> None:
    llm = ScriptedLlm().on("generator", "Hello.", "Farewell.")
    first, second = (LlmAgent(name=name, model=llm) for name in ("first", "second"))
    desk = Desk(sequence("host", first, second))
    answers: list[list[str]] = []
    async for event in desk.run("Hi."):
        if event.is_final_response():
            kept = await desk.evidence()
            answers.append([each.decision.final_answer for each in kept if each.decision])
    assert answers == [["Hello."], ["Hello.\n\nFarewell."]]
    assert [entry.state.version for entry in await desk.container.journal.history(DESK)] == [1]
