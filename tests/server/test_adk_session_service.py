"""The session service that ADK's Runner, web UI and endpoints use."""

import asyncio
import gc
import json
import logging
import math
import sqlite3
import threading
import warnings
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig
from google.adk.cli.fast_api import get_fast_api_app
from google.adk.cli.service_registry import get_service_registry
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.events._internal_metadata import mark_restored
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

import services
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.core.schemas.state import CCS, GENERATOR_OUTPUT, INPUT_AUTHORITY, PLAYBOOK
from acc_ace.errors import CorruptStoreError, StoreError
from acc_ace.storage.sqlite.database import IN_MEMORY, SqliteDatabase
from schemas.base import SessionKey, Tenant
from tests.fakes.session_services import Open, in_file, open_service

__all__ = ["open_service"]

HERE: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s-1"}
OURS: dict[str, Any] = {CCS: {"semantic_gist": "ours"}}
LEARNED: dict[str, Any] = {PLAYBOOK: {"version": 3, "bullets": ["…"]}}
FORGED: dict[str, Any] = {CCS: {"semantic_gist": "forged"}, PLAYBOOK: {"version": 99}}


@pytest.fixture
async def file_service(tmp_path: Path) -> AsyncIterator[SqlSessionService]:
    opened = SqlSessionService(SqliteDatabase(tmp_path / "memory.db"), owns_database=True)
    yield opened
    await opened.close()


@pytest.fixture
def service(open_service: Open) -> SqlSessionService:
    return open_service()


def said(text: str, **delta: Any) -> Event:
    return Event(
        author="user",
        invocation_id="i",
        content=types.UserContent(text),
        actions=EventActions(state_delta=delta),
    )


def staged(state: dict[str, Any], text: str | None = None) -> Event:
    return Event(
        author="acc_ace",
        invocation_id="i",
        content=types.ModelContent(text) if text else None,
        actions=EventActions(state_delta=dict(state)),
    )


async def started(service: SqlSessionService, session: Session | None = None) -> None:
    """A session with our state and two events more."""
    session = session or await service.create_session(**HERE)
    await service.append_event(session, said("hello"))
    await service.append_event(session, staged({**OURS, **LEARNED}, "hi"))


async def state(service: SqlSessionService) -> dict[str, Any]:
    session = await service.get_session(**HERE)
    assert session is not None
    return dict(session.state)


async def test_a_turn_of_a_bounded_app_gets_the_last_answer_and_the_web_ui_gets_all(
    service: SqlSessionService,
) -> None:
    session = await service.create_session(**HERE)
    await service.append_event(session, said("earlier").model_copy(update={"invocation_id": "h"}))
    await started(service, session)
    as_runner = await service.get_session(**HERE, config=None)
    as_web_ui = await service.get_session(**HERE)
    assert as_runner is not None
    assert as_web_ui is not None
    assert [event.invocation_id for event in as_runner.events] == ["i", "i"]
    assert len(as_web_ui.events) == 3
    assert as_runner.state == as_web_ui.state == OURS


async def test_the_runner_may_be_given_recent_events_of_whole_turns(tmp_path: Path) -> None:
    service = in_file(tmp_path, recent_events=1)
    await started(service)
    session = await service.get_session(**HERE, config=None)
    assert session is not None
    await service.append_event(session, said("again").model_copy(update={"invocation_id": "j"}))
    await service.append_event(session, staged({}, "yes").model_copy(update={"invocation_id": "j"}))
    session = await service.get_session(**HERE, config=None)
    assert session is not None
    assert [event.invocation_id for event in session.events] == ["j", "j"]
    await service.close()


async def test_an_explicit_config_is_obeyed(service: SqlSessionService) -> None:
    await started(service)
    session = await service.get_session(**HERE, config=GetSessionConfig(num_recent_events=1))
    assert session is not None
    assert len(session.events) == 1


class _Echo(BaseAgent):
    """Hands state over, and answers with the number of events that the Runner loaded."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        turn = {"invocation_id": ctx.invocation_id}
        yield staged({GENERATOR_OUTPUT: {"candidates": []}}).model_copy(update=turn)
        recalled = {CCS: {"recalled": GENERATOR_OUTPUT in ctx.session.state}}
        yield staged(recalled, str(len(ctx.session.events))).model_copy(update=turn)


async def answers(runner: Runner) -> list[str]:
    message = types.UserContent("hello")
    run = runner.run_async(user_id="aiko", session_id="s-1", new_message=message)
    return [
        part.text or ""
        async for event in run
        if event.content
        for part in event.content.parts or []
    ]


async def test_adk_2_13_runner_loads_the_same_at_every_turn(
    service: SqlSessionService,
) -> None:
    runner = Runner(app_name="shop", agent=_Echo(name="echo"), session_service=service)
    await service.create_session(**HERE)
    loaded = [await answers(runner) for _ in range(5)]
    # The message and the hand-over of the turn, and from then on the three events of the last one.
    assert loaded == [["2"], *[["5"]] * 4]
    assert await state(service) == {CCS: {"recalled": True}}
    assert RunConfig().get_session_config is None


async def test_the_runner_gives_later_events_later_ids(service: SqlSessionService) -> None:
    runner = Runner(app_name="shop", agent=_Echo(name="echo"), session_service=service)
    await service.create_session(**HERE)
    for _ in range(5):
        await answers(runner)
    stored = await service.get_session(**HERE)
    assert stored is not None
    ids = [event.id for event in stored.events]
    assert len(ids) == 15
    assert ids == sorted(set(ids))


async def test_no_event_and_no_state_holds_a_copy_of_the_playbook(
    service: SqlSessionService,
) -> None:
    session = await service.create_session(**HERE)
    await service.append_event(session, staged({**OURS, **LEARNED}, "hi"))
    assert session.state == {**OURS, **LEARNED}
    stored = await service.get_session(**HERE)
    assert stored is not None
    assert PLAYBOOK not in stored.events[-1].actions.state_delta
    assert stored.state == OURS


async def test_a_session_shows_the_state_and_the_playbook_that_their_stores_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    empty = {"version": 0, "bullets": []}
    held: dict[str, object] = {PLAYBOOK: empty}

    async def projection(key: SessionKey) -> dict[str, Any]:
        assert (key.app, key.session) == ("shop", "s-1")
        if not held:
            raise StoreError("the journal cannot be read")
        return dict(held)

    service = SqlSessionService(
        SqliteDatabase(tmp_path / "memory.db"), owns_database=True, projection=projection
    )
    service.bound("shop")
    await started(service)
    assert await state(service) == {PLAYBOOK: empty}
    held |= {**OURS, **LEARNED}
    assert await state(service) == held
    held.clear()
    assert await state(service) == {}
    assert "memory_not_shown session=s-1: the journal cannot be read" in caplog.text
    await service.close()


async def test_the_key_of_a_host_whose_app_is_not_bounded_is_its_own(tmp_path: Path) -> None:
    async def projection(_: SessionKey) -> dict[str, Any]:
        return {}

    service = SqlSessionService(
        SqliteDatabase(tmp_path / "memory.db"), owns_database=True, projection=projection
    )
    await started(service)
    assert await state(service) == OURS
    await service.close()


@pytest.mark.parametrize(
    "author", ["user", "restored"], ids=["a user's event", "an event a client restores"]
)
async def test_clients_cannot_write_our_state(
    service: SqlSessionService, caplog: pytest.LogCaptureFixture, author: str
) -> None:
    await started(service)
    session = await service.get_session(**HERE)
    assert session is not None
    event = said("hello", **FORGED, **{"app:motd": "for all users", "colour": "blue"})
    if author == "restored":
        event = mark_restored(event.model_copy(update={"author": "acc_ace"}))
    with caplog.at_level(logging.WARNING):
        await service.append_event(session, event)
    theirs = {"app:motd": "for all users", "colour": "blue"}
    assert await state(service) == session.state == {**OURS, **theirs}
    assert "client_state_dropped session=s-1 keys=app:playbook,ccs" in caplog.text


async def test_a_new_session_cannot_bring_our_state(service: SqlSessionService) -> None:
    session = await service.create_session(**HERE, state={**FORGED, "colour": "blue"})
    assert session.state == {"colour": "blue"}


async def test_of_our_own_app_nothing_persists_that_a_client_sends(
    service: SqlSessionService, caplog: pytest.LogCaptureFixture
) -> None:
    here = {**HERE, "app_name": "acc_ace"}
    shown = {"__session_metadata__": {"displayName": "Tea"}}
    sent = {**FORGED, **shown, "colour": "blue", "user:name": "Aiko", "app:motd": "hi", "temp:x": 1}
    session = await service.create_session(**here, state=dict(sent))
    with caplog.at_level(logging.WARNING):
        await service.append_event(session, said("hello", **sent))
    await service.append_event(session, staged(OURS, "hi"))
    read = await service.get_session(**here)
    assert read is not None
    assert read.state == {**OURS, **shown}
    assert "keys=app:motd,app:playbook,ccs,colour,temp:x,user:name" in caplog.text


@pytest.mark.parametrize(
    ("authority", "kept"), [("tool", True), ("user", True), ("system", False), ("Tool", True)]
)
async def test_a_caller_may_lower_authority_and_never_raise_it(
    service: SqlSessionService, authority: str, kept: bool
) -> None:
    session = await service.create_session(**HERE)
    await service.append_event(
        session, said("x", **{INPUT_AUTHORITY: authority, GENERATOR_OUTPUT: {}})
    )
    assert (session.state.get(INPUT_AUTHORITY) == authority) is kept
    assert GENERATOR_OUTPUT not in session.state
    assert await state(service) == {}


async def test_a_session_written_meanwhile_does_not_lose_a_paid_answer(
    service: SqlSessionService,
) -> None:
    await started(service)
    slow = await service.get_session(**HERE, config=None)
    fast = await service.get_session(**HERE, config=None)
    assert slow is not None
    assert fast is not None
    await service.append_event(fast, said("patched", colour="blue"))
    await service.append_event(slow, staged({CCS: {"semantic_gist": "paid"}}, "answer"))
    assert await state(service) == {**OURS, "colour": "blue", CCS: {"semantic_gist": "paid"}}


async def test_concurrent_writers_lose_no_event(service: SqlSessionService) -> None:
    await started(service)

    async def write(number: int) -> None:
        session = await service.get_session(**HERE, config=None)
        assert session is not None
        await service.append_event(session, staged({f"key-{number}": number}, "answer"))

    await asyncio.gather(*(write(number) for number in range(12)))
    session = await service.get_session(**HERE)
    assert session is not None
    assert len(session.events) == 14
    assert {session.state[f"key-{number}"] for number in range(12)} == set(range(12))


async def test_a_cancelled_append_is_stored_whole_or_not_at_all(
    service: SqlSessionService,
) -> None:
    await started(service)
    for pause in range(12):
        session = await service.get_session(**HERE)
        assert session is not None
        before = len(session.events)
        task = asyncio.create_task(service.append_event(session, staged({"n": pause}, "x")))
        for _ in range(pause):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        session = await service.get_session(**HERE)
        assert session is not None
        assert (len(session.events) > before) == (session.state.get("n") == pause)


async def test_deleting_a_session_forgets_it_everywhere(tmp_path: Path) -> None:
    forgotten: list[SessionKey] = []

    async def forget(key: SessionKey) -> None:
        assert await deleting.get_session(**HERE) is not None
        forgotten.append(key)

    deleting = SqlSessionService(
        SqliteDatabase(tmp_path / "memory.db"), owns_database=True, on_delete=forget
    )
    await started(deleting)
    await deleting.delete_session(**HERE)
    assert await deleting.get_session(**HERE) is None
    assert forgotten == [SessionKey("shop", "aiko", "s-1")]
    await deleting.close()


async def test_erasing_a_user_leaves_no_bytes(
    file_service: SqlSessionService, tmp_path: Path
) -> None:
    service = file_service
    session = await service.create_session(**HERE)
    for number in range(50):
        delta = {"user:name": "zyzzyvamarker", CCS: {"t": f"zyzzyvamarker {number}"}}
        await service.append_event(session, staged(delta, "zyzzyvamarker " * 50))
    await service.drop(SessionKey("shop", "aiko", "s-1"))
    await service.erase_shared(Tenant("shop", "aiko"))
    assert _files_with(tmp_path, b"zyzzyvamarker") == []
    assert await service.get_session(**HERE) is None


async def test_persisted_bytes_per_turn_are_flat(
    file_service: SqlSessionService, tmp_path: Path
) -> None:
    service = file_service
    await service.create_session(**HERE)
    playbook = {"version": 0, "bullets": ["lesson " * 2_000]}
    for number in range(40):
        session = await service.get_session(**HERE, config=None)
        assert session is not None
        await service.append_event(session, said("hello"))
        delta = {CCS: {"n": number}, PLAYBOOK: {**playbook, "version": number}}
        await service.append_event(session, staged(delta, "answer"))
    connection = sqlite3.connect(tmp_path / "memory.db")
    sizes = [size for (size,) in connection.execute("SELECT length(body) FROM adk_events")]
    connection.close()
    assert max(sizes[-4:]) <= max(sizes[:4]) + 8
    assert max(sizes) < 2_000


async def test_sessions_of_a_user_are_listed_and_dropped_and_what_they_share_is_erased(
    service: SqlSessionService,
) -> None:
    session = await service.create_session(**HERE)
    await service.append_event(session, staged({"user:name": "Aiko", "colour": "blue"}, "hi"))
    await service.create_session(app_name="shop", user_id="aiko", session_id="s-2")
    await service.create_session(app_name="shop", user_id="ben", session_id="s-1")
    listed = await service.list_sessions(app_name="shop", user_id="aiko")
    assert {item.id: item.state for item in listed.sessions} == {
        "s-1": {"user:name": "Aiko", "colour": "blue"},
        "s-2": {"user:name": "Aiko"},
    }
    assert len((await service.list_sessions(app_name="shop")).sessions) == 3
    assert await service.get_user_state(app_name="shop", user_id="aiko") == {"name": "Aiko"}
    for name in ("s-1", "s-2", "s-2"):
        await service.drop(SessionKey("shop", "aiko", name))
    await service.erase_shared(Tenant("shop", "aiko"))
    assert await service.get_user_state(app_name="shop", user_id="aiko") == {}
    assert len((await service.list_sessions(app_name="shop")).sessions) == 1


async def test_a_session_of_the_same_name_is_refused(service: SqlSessionService) -> None:
    await service.create_session(**HERE)
    with pytest.raises(AlreadyExistsError):
        await service.create_session(**HERE)


async def test_an_event_needs_its_session(service: SqlSessionService) -> None:
    session = await service.create_session(**HERE)
    await service.delete_session(**HERE)
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, staged({CCS: {}}, "late"))


async def test_sessions_in_memory_work_alike() -> None:
    service = SqlSessionService(SqliteDatabase(IN_MEMORY), owns_database=True)
    await started(service)
    session = await service.get_session(**HERE, config=None)
    assert session is not None
    assert session.state == OURS
    await service.close()


def test_event_loops_may_follow_each_other(tmp_path: Path) -> None:
    service = SqlSessionService(SqliteDatabase(tmp_path / "memory.db"), owns_database=True)
    asyncio.run(started(service))
    assert asyncio.run(state(service)) == OURS
    asyncio.run(service.close())


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    service = SqlSessionService(SqliteDatabase(_junk(tmp_path / "memory.db")), owns_database=True)
    with pytest.raises(CorruptStoreError, match=r"memory\.db is damaged"):
        await service.get_session(**HERE)


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    service = SqlSessionService(
        SqliteDatabase(_junk(tmp_path / "file") / "memory.db"), owns_database=True
    )
    with pytest.raises(StoreError, match="set ACC_ACE_DATA_DIR"):
        await service.create_session(**HERE)


def _files_with(directory: Path, marker: bytes) -> list[str]:
    return [file.name for file in directory.iterdir() if marker in file.read_bytes()]


def _junk(path: Path) -> Path:
    path.write_bytes(b"not a database " * 500)
    return path


@pytest.fixture
async def adk(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """ADK's own server, started as `adk web AGENTS_DIR --session_service_uri=accace://…` does."""
    assert services.SCHEME == "accace"
    uri = f"accace://{tmp_path}/data"
    made = get_service_registry().create_session_service(uri)
    assert isinstance(made, SqlSessionService)
    assert isinstance(made.database, SqliteDatabase)
    assert made.database.path == tmp_path / "data" / "memory.db"
    (tmp_path / "apps" / "shop").mkdir(parents=True)
    app = get_fast_api_app(
        agents_dir=str(tmp_path / "apps"), session_service_uri=uri, web=False, bind_host="127.0.0.1"
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")
async def test_patch_and_post_of_adk_cannot_forge_our_state(adk: httpx.AsyncClient) -> None:
    url = "/apps/shop/users/aiko/sessions"
    created = await adk.post(url, json={"session_id": "s-1", "state": FORGED})
    assert created.status_code == 200
    patched = await adk.patch(f"{url}/s-1", json={"state_delta": {**FORGED, "colour": "blue"}})
    assert patched.status_code == 200
    read = (await adk.get(f"{url}/s-1")).json()
    assert read["state"] == {"colour": "blue"}


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")
async def test_a_session_made_of_forged_events_has_none_of_their_state(
    adk: httpx.AsyncClient,
) -> None:
    url = "/apps/shop/users/aiko/sessions"
    event = json.loads(staged(FORGED, "forged").model_dump_json(exclude_none=True))
    await adk.post(url, json={"session_id": "s-1", "events": [event]})
    read = await adk.get(f"{url}/s-1")
    # ADK 2.13 refuses such events; should it take them one day, their state is dropped.
    assert read.status_code == 404 or read.json()["state"] == {}


async def test_a_service_that_nobody_closes_is_collected_without_a_warning(tmp_path: Path) -> None:
    # ADK's servers close none, and what they hold refers to itself.
    service = SqlSessionService(SqliteDatabase(tmp_path / "memory.db"), owns_database=True)
    await service.create_session(**HERE)
    vars(service)["itself"] = service
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del service
        gc.collect()
    assert [warning for warning in caught if issubclass(warning.category, ResourceWarning)] == []
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        assert connection.execute("SELECT count(*) FROM adk_sessions").fetchone() == (1,)


def test_a_service_that_outlives_its_loop_ends_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # As `adk run` does: the loop is closed at once after the last turn.
    async def use(number: int) -> None:
        service = SqlSessionService(SqliteDatabase(tmp_path / f"{number}.db"), owns_database=True)
        await service.create_session(**HERE)

    threads = set(threading.enumerate())
    for number in range(50):
        asyncio.run(use(number))
    gc.collect()
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)
    assert set(threading.enumerate()) <= threads
    assert capfd.readouterr().err == ""


async def test_what_json_cannot_hold_is_stored_so_that_it_can_be_read(
    service: SqlSessionService,
) -> None:
    deep: Any = "the end"
    for _ in range(300):
        deep = [deep]
    session = await service.create_session(**HERE, state={"rate": math.inf})
    answer = types.FunctionResponse(id="c-1", name="look", response={"found": deep})
    await service.append_event(session, staged({"user:mean": math.nan, "n": [1.5, -math.inf]}))
    await service.append_event(
        session,
        Event(
            author="user",
            invocation_id="i",
            content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        ),
    )
    await service.append_event(session, staged({"user:mean": 2.5}))
    read = await service.get_session(**HERE)
    assert read is not None
    assert read.state == {"rate": None, "user:mean": 2.5, "n": [1.5, None]}
    [kept] = read.events[1].get_function_responses()
    assert kept.response is not None
    assert kept.response["found"] == "(a list)"


async def test_of_our_own_app_nothing_persists_that_a_tool_writes(
    service: SqlSessionService, caplog: pytest.LogCaptureFixture
) -> None:
    here = {**HERE, "app_name": "acc_ace"}
    session = await service.create_session(**here)
    await service.append_event(session, said("hello"))
    written = {"mine": 1, "user:mine": 2, "app:mine": 3, "temp:mine": 4}
    with caplog.at_level(logging.WARNING):
        await service.append_event(session, staged({**OURS, **written}, "hi"))
    read = await service.get_session(**here)
    assert read is not None
    assert read.state == OURS
    assert "tool_state_dropped session=s-1 keys=app:mine,mine,user:mine" in caplog.text
    other = await service.create_session(**{**here, "session_id": "s-2"})
    assert other.state == {}


async def test_an_app_under_the_plugin_keeps_what_its_tools_write(
    service: SqlSessionService,
) -> None:
    await started(service)
    session = await service.get_session(**HERE)
    assert session is not None
    await service.append_event(session, staged({"mine": 1, "user:mine": 2, "app:mine": 3}, "hi"))
    assert await state(service) == {**OURS, "mine": 1, "user:mine": 2, "app:mine": 3}
