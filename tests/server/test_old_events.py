"""Old events of a session: kept, trimmed, or offloaded to long-term memory and then deleted."""

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.cli.service_registry import get_service_registry
from google.adk.events import Event, EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

import services
from acc_ace import Container
from acc_ace.adk.sessions.event_retention import CUT_EVENTS, Offload, Retention
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.bootstrap import build_container, process_container
from acc_ace.core.schemas.session import PastTurn
from acc_ace.errors import StoreError
from acc_ace.memory.turn_artifacts import turn_artifacts
from acc_ace.server.app import create_app
from acc_ace.turn.event_offload import offload_events
from config import ROLES, Settings, settings
from schemas.artifact import ArtifactKind, RecallQuery
from schemas.base import Authority, SessionKey
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, Outcome, TurnInput
from tests.fakes.clock import FixedClock
from tests.fakes.scripted_llm import ScriptedLlm
from tests.fakes.session_services import Open, open_service
from tests.server.asgi import client

__all__ = ["open_service"]

KEY = SessionKey("shop", "aiko", "s-1")
HERE: dict[str, Any] = {"app_name": KEY.app, "user_id": KEY.user, "session_id": KEY.session}
KEPT = 5


@pytest.fixture
async def container() -> AsyncIterator[Container]:
    built = build_container(Settings(store="memory"), FixedClock())
    yield built
    await built.close()


def into(container: Container) -> Offload:
    async def offload(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        await offload_events(container, key, turns)

    return offload


def event(turn: int, author: str, *parts: types.Part, **more: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=list(parts))
    return Event(author=author, invocation_id=f"i-{turn}", content=content, **more)


async def take_turns(service: SqlSessionService, first: int, last: int) -> None:
    """Turns of a question, a tool call with its result, and an answer."""
    session = await service.get_session(**HERE, config=None) or await service.create_session(**HERE)
    for turn in range(first, last + 1):
        call = types.FunctionCall(id=f"c-{turn}", name="read_sensor", args={"number": turn})
        result = types.FunctionResponse(
            id=f"c-{turn}", name="read_sensor", response={"reads": f"walnut-{turn}"}
        )
        for each in (
            event(turn, "user", types.Part(text=f"What does sensor {turn} say?")),
            event(turn, "ops", types.Part(function_call=call)),
            event(turn, "ops", types.Part(function_response=result)),
            event(turn, "ops", types.Part(text=f"Sensor {turn} reads walnut-{turn}.")),
        ):
            await service.append_event(session, each)


async def turns_kept(service: SqlSessionService) -> list[str]:
    """The turns whose events are there, oldest first, each of them whole."""
    session = await service.get_session(**HERE)
    assert session is not None
    names = [each.invocation_id for each in session.events]
    whole = list(dict.fromkeys(names))
    newest = whole[-1]
    assert all(names.count(name) == 4 for name in whole if name != newest)
    return whole


async def recalled(container: Container, text: str) -> list[str]:
    recall = await container.artifacts.recall(RecallQuery(key=KEY, text=text))
    return [found.artifact.content for found in recall.candidates]


async def test_all_events_are_kept_by_default(open_service: Open) -> None:
    service = open_service(retention=Retention())
    await take_turns(service, 1, 30)
    assert len(await turns_kept(service)) == 30
    assert Settings().session_events == "keep"


async def test_no_more_than_the_newest_turns_are_kept(open_service: Open) -> None:
    service = open_service(retention=Retention(turns=KEPT))
    await take_turns(service, 1, 30)
    assert await turns_kept(service) == [f"i-{turn}" for turn in range(26, 31)]


async def test_a_long_past_is_cut_a_little_at_a_time(open_service: Open) -> None:
    await take_turns(open_service(retention=Retention()), 1, 120)
    service = open_service(retention=Retention(turns=KEPT))
    await take_turns(service, 121, 121)
    assert len(await turns_kept(service)) == 121 - CUT_EVENTS // 4
    await take_turns(service, 122, 124)
    assert len(await turns_kept(service)) == KEPT


async def test_offloaded_events_can_be_recalled_with_their_provenance(
    open_service: Open, container: Container
) -> None:
    service = open_service(retention=Retention(turns=KEPT, offload=into(container)))
    await take_turns(service, 1, 12)
    assert len(await turns_kept(service)) == KEPT
    recall = await container.artifacts.recall(RecallQuery(key=KEY, text="sensor walnut-3"))
    artifact = recall.candidates[0].artifact
    assert "user: What does sensor 3 say?" in artifact.content
    assert "Sensor 3 reads walnut-3." in artifact.content
    assert artifact.source == "events:i-3"
    assert artifact.session == KEY.session
    assert (artifact.kind, artifact.authority) == (ArtifactKind.DOCUMENT, Authority.AGENT)
    assert await container.artifacts.count(KEY.tenant) == 12 - KEPT


async def test_a_crash_between_offloading_and_deleting_doubles_nothing(
    open_service: Open, container: Container
) -> None:
    await take_turns(open_service(retention=Retention()), 1, 12)
    offload = into(container)

    async def dies(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        await offload(key, turns)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await take_turns(open_service(retention=Retention(turns=KEPT, offload=dies)), 13, 13)
    written = await container.artifacts.count(KEY.tenant)
    assert written == 13 - KEPT
    service = open_service(retention=Retention(turns=KEPT, offload=offload))
    session = await service.get_session(**HERE)
    assert session is not None
    assert session.events[0].invocation_id == "i-1"
    await take_turns(service, 14, 14)
    session = await service.get_session(**HERE)
    assert session is not None
    assert session.events[0].invocation_id == "i-10"
    assert await container.artifacts.count(KEY.tenant) == written + 1


async def test_a_store_that_is_away_costs_no_turn_and_no_event(
    open_service: Open, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        raise StoreError("memory.db is locked")

    service = open_service(retention=Retention(turns=KEPT, offload=away))
    with caplog.at_level(logging.WARNING):
        await take_turns(service, 1, 10)
    assert len(await turns_kept(service)) == 10
    assert "events_not_cut session=s-1 code=store_error: memory.db is locked" in caplog.text


async def test_a_long_text_is_offloaded_whole(open_service: Open, container: Container) -> None:
    service = open_service(retention=Retention(turns=1, offload=into(container)))
    session = await service.create_session(**HERE)
    words = " ".join(f"word{number}" for number in range(9_000))
    await service.append_event(session, event(1, "user", types.Part(text=words)))
    await service.append_event(session, event(1, "ops", types.Part(text="Noted.")))
    await service.append_event(session, event(2, "user", types.Part(text="next")))
    stored = [
        await container.artifacts.get(KEY.tenant, f"events:s-1:i-1:{number}")
        for number in range(1, 40)
    ]
    pieces = [artifact.content for artifact in stored if artifact]
    assert len(pieces) > 1
    assert "".join(pieces) == f"user: {words}\nops: Noted."


def interaction(turn: int, outcome: Outcome = Outcome.ANSWERED) -> Interaction:
    return Interaction(
        turn=turn,
        invocation_id=f"i-{turn}",
        input=TurnInput(text=f"What does sensor {turn} say?"),
        decision=GeneratorOutput(final_answer=f"Sensor {turn} reads walnut-{turn}."),
        outcome=outcome,
        created_at=FixedClock().now(),
    )


async def test_a_turn_that_left_artifacts_when_it_was_answered_is_not_doubled(
    open_service: Open, container: Container
) -> None:
    service = open_service(retention=Retention(turns=KEPT, offload=into(container)))
    await container.evidence.record(KEY, interaction(1))
    await container.artifacts.add(turn_artifacts(KEY, interaction(1), max_tokens=500))
    await take_turns(service, 1, 8)
    assert await container.artifacts.get(KEY.tenant, "events:s-1:i-1:1") is None
    assert await container.artifacts.get(KEY.tenant, "events:s-1:i-2:1") is not None


async def test_an_undone_turn_is_not_brought_back_by_offloading(
    open_service: Open, container: Container
) -> None:
    service = open_service(retention=Retention(turns=KEPT, offload=into(container)))
    await container.evidence.record(KEY, interaction(1, Outcome.UNDONE))
    await take_turns(service, 1, 8)
    assert "i-1" not in await turns_kept(service)
    assert not any("walnut-1." in content for content in await recalled(container, "walnut-1"))


async def test_events_without_an_invocation_are_cut_with_their_time(open_service: Open) -> None:
    service = open_service(retention=Retention(turns=KEPT))
    session = await service.create_session(**HERE)
    patch = Event(author="user", actions=EventActions(state_delta={"colour": "blue"}))
    await service.append_event(session, patch)
    await take_turns(service, 1, 10)
    after = await service.get_session(**HERE)
    assert after is not None
    assert all(each.invocation_id for each in after.events)
    assert after.state["colour"] == "blue"


async def say(service: SqlSessionService, turn: int, at: float) -> None:
    session = await service.get_session(**HERE, config=None) or await service.create_session(**HERE)
    text = f"Words of turn {turn}."
    await service.append_event(session, event(turn, "user", types.Part(text=text), timestamp=at))
    answer = event(turn, "ops", types.Part(text=f"Answer {turn}."), timestamp=at + 0.1)
    await service.append_event(session, answer)


async def test_a_clock_that_is_put_back_costs_nobody_what_was_just_said(
    open_service: Open, container: Container
) -> None:
    service = open_service(retention=Retention(turns=3, offload=into(container)))
    for turn in range(1, 5):
        await say(service, turn, at=1_800_003_600.0 + turn)
    for turn in range(5, 8):
        await say(service, turn, at=1_800_000_000.0 + turn)
        read = await service.get_session(**HERE)
        assert read is not None
        reported = [each.invocation_id for each in read.events]
        assert reported == [f"i-{name}" for name in range(turn - 2, turn + 1) for _ in range(2)]
        assert read.events[-1].timestamp == 1_800_000_000.1 + turn
    for turn in range(1, 8):
        offloaded = await container.artifacts.get(KEY.tenant, f"events:s-1:i-{turn}:1")
        assert (offloaded is not None) == (turn < 5)


async def test_recent_events_are_those_stored_last_whatever_the_clock_said(
    open_service: Open,
) -> None:
    service = open_service(retention=Retention())
    await say(service, 1, at=1_800_003_600.0)
    await say(service, 2, at=1_800_000_000.0)
    read = await service.get_session(**HERE, config=GetSessionConfig(num_recent_events=2))
    assert read is not None
    assert [each.invocation_id for each in read.events] == ["i-2", "i-2"]


async def test_the_turn_that_is_being_written_is_never_old(open_service: Open) -> None:
    service = open_service(retention=Retention())
    await take_turns(service, 1, 4)
    old = await service.old_events(KEY, turns=1, limit=100, spare="i-2")
    assert {each.invocation_id for each in old} == {"i-1", "i-3"}


@pytest.fixture
def offloading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The settings of a process that offloads, read from its environment as `adk web` does."""
    monkeypatch.setenv("ACC_ACE_SESSION_EVENTS", "offload")
    monkeypatch.setenv("ACC_ACE_SESSION_TURNS", str(KEPT))
    settings.cache_clear()
    process_container.cache_clear()
    yield
    settings.cache_clear()
    process_container.cache_clear()


@pytest.mark.usefixtures("offloading")
@pytest.mark.parametrize("uri", ["accace://", "accace:///{tmp}/elsewhere"])
async def test_sessions_of_adk_web_are_offloaded_as_the_settings_say(
    tmp_path: Path, uri: str
) -> None:
    assert services.SCHEME == "accace"
    made = get_service_registry().create_session_service(uri.format(tmp=tmp_path))
    assert isinstance(made, SqlSessionService)
    await take_turns(made, 1, 12)
    assert len(await turns_kept(made)) == KEPT
    container = process_container()
    assert any("walnut-3." in content for content in await recalled(container, "walnut-3"))
    await made.close()
    await container.close()


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_our_endpoint_keeps_as_many_turns_as_the_settings_say(
    request: pytest.FixtureRequest, tmp_path: Path, store: str
) -> None:
    where: dict[str, Any] = {"store": store, "data_dir": tmp_path / "data"}
    if store == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    chosen = Settings(
        session_events="trim",
        session_turns=2,
        learning="off",
        serve_web_interface=False,
        **where,
    )
    app = create_app(build_container(chosen), models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as http:
        for number in range(6):
            body = {"input": f"Hello {number}."}
            response = await http.post("/v1/sessions/s-1/turns", json=body)
            assert response.status_code == 200
            assert response.json()["turn"] == number + 1
        read = await http.get("/apps/acc_ace/users/user/sessions/s-1")
        reported = str([event.get("content") for event in read.json()["events"]])
        assert "Hello 4." in reported
        assert "Hello 5." in reported
        assert "Hello 3." not in reported
        state = await http.get("/v1/sessions/s-1/ccs")
        assert state.json()["turn"] == 6
    await app.state.acc_ace.close()
