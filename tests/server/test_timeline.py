"""What a page that follows the memory is sent, over real HTTP."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from acc_ace import build_container
from acc_ace.cockpit.sources import Source, TimelineEvent, session_source
from acc_ace.cockpit.timeline import Timeline, TimelineResponse, blocks
from config import Settings
from tests.fakes.extensions import needs
from tests.fakes.loopback import served
from tests.server.asgi import scripted_app

TURNS = ("db-01 is down.", "Never restart db-01.", "Aiko leads.", "The cause is a full disk.")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, serve_web_interface=False)


def server(settings: Settings) -> FastAPI:
    return scripted_app(build_container(settings))


@pytest.fixture
def http(settings: Settings) -> Iterator[httpx.Client]:
    with served(server(settings)) as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client


def say(http: httpx.Client, text: str, *, session: str = "s", user: str = "aiko") -> None:
    sent = http.post(f"/v1/sessions/{session}/turns", params={"user": user}, json={"input": text})
    assert sent.status_code == 200, sent.text


def follow(
    http: httpx.Client, count: int, *, last: str | None = None, **params: Any
) -> list[dict[str, str]]:
    """The next `count` events of a stream, as fields; then the client leaves."""
    headers = {} if last is None else {"Last-Event-ID": last}
    query = {"user": "aiko", **params}
    with http.stream("GET", "/sse/timeline", params=query, headers=headers) as stream:
        assert stream.status_code == 200
        return [*islice(events(stream.iter_lines()), count)]


def events(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if not line:
            if "event" in fields:  # Else it says a position alone.
                yield fields
            fields = {}
        elif name in {"id", "event", "data"}:
            fields[name] = value


def test_every_turn_comes_once_and_in_order_however_often_one_reconnects(
    http: httpx.Client,
) -> None:
    for text in TURNS:
        say(http, text)
    seen: list[dict[str, str]] = follow(http, 1, session="s", after=0)
    while len(seen) < len(TURNS):
        seen += follow(http, 1, session="s", last=seen[-1]["id"])
    assert [event["id"] for event in seen] == ["s/1/1", "s/2/2", "s/3/3", "s/4/4"]
    shown = [json.loads(event["data"])["data"]["input"]["text"] for event in seen]
    assert shown == list(TURNS)


def test_another_server_goes_on_where_the_first_one_was(settings: Settings) -> None:
    with served(server(settings)) as url, httpx.Client(base_url=url, timeout=30) as first:
        say(first, TURNS[0])
        (seen,) = follow(first, 1, session="s", after=0)
        say(first, TURNS[1])
    with served(server(settings)) as url, httpx.Client(base_url=url, timeout=30) as second:
        (resumed,) = follow(second, 1, session="s", last=seen["id"])
        assert resumed["id"] == "s/2/2"


def test_a_server_that_has_not_looked_yet_sends_nothing_again(
    http: httpx.Client, settings: Settings
) -> None:
    """The last event came from another server on the same store, a moment ago."""
    say(http, TURNS[0])
    with (
        served(server(settings)) as url,
        httpx.Client(base_url=url, timeout=30) as other,
        http.stream("GET", "/sse/timeline", params={"user": "aiko", "session": "s"}),
    ):
        say(other, TURNS[1])
        (seen,) = follow(other, 1, session="s", after=1)
        say(other, TURNS[2])
        (after,) = follow(http, 1, session="s", last=seen["id"])
    assert (seen["id"], after["id"]) == ("s/2/2", "s/3/3")


def test_a_rule_changed_between_turns_and_a_lesson_are_events_too(http: httpx.Client) -> None:
    say(http, TURNS[1])
    http.post("/v1/sessions/s/undo", params={"user": "aiko"})
    kinds = [event["event"] for event in follow(http, 2, session="s", after=0)]
    assert kinds == ["turn", "state"]
    batch = {"operations": [{"type": "ADD", "section": "ops", "content": "Check the disk first."}]}
    added = http.post("/v1/playbook/apply", params={"user": "aiko"}, json=batch)
    assert added.status_code == 200, added.text
    (delta,) = follow(http, 1, kind="delta", after=0)
    record = json.loads(delta["data"])["data"]
    assert record["after"]["content"] == "Check the disk first."
    assert not {"user", "session"} & record.keys()


def test_who_is_too_far_behind_reads_the_page_again(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:

    def short(*of: Any) -> Source:
        return session_source(*of)._replace(most_behind=1)

    monkeypatch.setattr("acc_ace.cockpit.stream_routes.session_source", short)
    for text in TURNS[:3]:
        say(http, text)
    assert follow(http, 1, session="s", after=0) == [{"event": "gap", "data": "3"}]


def test_a_session_that_is_deleted_while_shown_ends_its_stream(http: httpx.Client) -> None:
    say(http, TURNS[0])
    with http.stream("GET", "/sse/timeline", params={"user": "aiko", "session": "s"}) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry")
        assert http.delete("/v1/sessions/s", params={"user": "aiko"}).status_code == 204
        (end,) = events(lines)
        assert end["event"] == "gone"
        assert "no session 's'" in end["data"]


def test_events_can_be_read_as_pages(http: httpx.Client) -> None:
    for text in TURNS[:3]:
        say(http, text)
    query: dict[str, Any] = {"user": "aiko", "session": "s", "limit": 2}
    first = http.get("/events", params=query).json()
    assert [item["n"] for item in first["items"]] == [1, 2]
    rest = http.get("/events", params={**query, "after": first["next_after"]}).json()
    assert ([item["n"] for item in rest["items"]], rest["next_after"]) == ([3], None)


@needs("survivor")
def test_nothing_of_another_user_is_in_streams_pages_and_metrics(tmp_path: Path) -> None:
    tokens = {"aiko": SecretStr("aiko-secret"), "bob": SecretStr("bob-secret")}
    settings = Settings(data_dir=tmp_path, serve_web_interface=False, auth_tokens=tokens)
    runs = tmp_path / "survivor" / "runs"
    runs.mkdir(parents=True)
    (runs / "r.jsonl").write_text('{"tick": 1}\n', encoding="utf-8")
    with served(server(settings)) as url:
        aiko = httpx.Client(base_url=url, headers={"Authorization": "Bearer aiko-secret"})
        bob = httpx.Client(base_url=url, headers={"Authorization": "Bearer bob-secret"})
        with aiko, bob:
            sent = aiko.post("/v1/sessions/s/turns", json={"input": "My pin is 4711."}, timeout=30)
            assert sent.status_code == 200
            for path in ("/sse/timeline", "/events"):
                assert bob.get(path, params={"session": "s"}).status_code == 404
                assert bob.get(path, params={"session": "s", "user": "aiko"}).status_code == 403
                assert bob.get(path, params={"run": "r"}).status_code == 403
            assert bob.get("/snapshots", params={"run": "r"}).status_code == 403
            assert bob.get("/snapshots/runs").json() == []
            assert bob.get("/metrics").json()["sessions"] == 0
            assert bob.get("/events").json()["items"] == []
            assert bob.post("/survivor/settings", json={}).status_code in {403, 409}


@pytest.mark.parametrize("bad", ["s", "s/1", "s/x/1", "s/1/99999999999999999999", ""])
def test_a_position_that_is_none_is_refused(http: httpx.Client, bad: str) -> None:
    say(http, TURNS[0])
    params = {"user": "aiko", "session": "s"}
    if bad:
        refused = http.get("/sse/timeline", params=params, headers={"Last-Event-ID": bad})
        assert refused.status_code == 422
    assert http.get("/events", params={**params, "after": -1}).status_code == 422


def test_a_run_is_followed_line_by_line_and_bad_lines_are_named(
    http: httpx.Client, settings: Settings
) -> None:
    runs = settings.data_dir / "survivor" / "runs"
    runs.mkdir(parents=True)
    run = runs / "run-7.jsonl"
    run.write_text('{"tick": 1}\nno json\n{"tick": 2}\n{"tick": 3', encoding="utf-8")
    page = http.get("/snapshots", params={"run": "run-7"}).json()
    assert [(item["n"], item.get("tick")) for item in page["items"]] == [(1, 1), (2, None), (3, 2)]
    assert "line 2" in page["items"][1]["warning"]
    with run.open("a", encoding="utf-8") as file:
        file.write(', "x": 1}\n')
    (event,) = follow(http, 1, run="run-7", after=3)
    assert (event["id"], event["event"]) == ("%40run%3Arun-7/3/4", "tick")
    for name in ("../run-7", "none", "..", "a/b"):
        assert http.get("/snapshots", params={"run": name}).status_code == 404
    assert [run["run"] for run in http.get("/snapshots/runs").json()] == ["run-7"]


async def test_what_is_committed_while_a_page_is_read_comes_once() -> None:
    log = [1]

    async def newest() -> int:
        return log[-1]

    async def after(n: int, limit: int) -> list[TimelineEvent]:
        if len(log) < 5:
            log.append(len(log) + 1)
        numbers = [number for number in log if number > n][:limit]
        return [TimelineEvent(session="s", turn=i, n=i, kind="turn", data={}) for i in numbers]

    seen: list[str] = []
    async with Timeline().follow("s", Source(newest, after)) as pulse:
        async for block in blocks(pulse, after=0, kinds=()):
            seen += [
                line for line in block.splitlines() if line.startswith(("id: s", "event: gap"))
            ]
            if len(seen) >= 5:
                break
    assert seen == [f"id: s/{number}/{number}" for number in range(1, 6)]


async def test_a_client_that_does_not_read_is_cut_and_its_stream_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acc_ace.cockpit.timeline.STALL_S", 0.05)

    async def newest() -> int:
        return 1

    async def after(n: int, limit: int) -> list[TimelineEvent]:
        return [TimelineEvent(session="s", turn=1, n=1, kind="turn", data={})]

    async def never(*_message: object) -> Any:
        await asyncio.Event().wait()

    timeline, following = Timeline(), AsyncExitStack()
    pulse = await following.enter_async_context(timeline.follow("s", Source(newest, after)))
    response = TimelineResponse(blocks(pulse, after=0, kinds=()), following)
    scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
    async with asyncio.timeout(10):
        await response(scope, never, never)
    assert timeline.clients == 0


def test_a_source_that_breaks_ends_its_streams_instead_of_staying_silent(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(http, TURNS[0])
    monkeypatch.setattr("acc_ace.cockpit.timeline.HEARTBEAT_S", 0.1)
    calls = 0

    def breaking(*of: Any) -> Source:
        source = session_source(*of)

        async def newest() -> int:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise RuntimeError("a defect")
            return await source.newest()

        return source._replace(newest=newest)

    monkeypatch.setattr("acc_ace.cockpit.stream_routes.session_source", breaking)
    params = {"user": "aiko", "session": "s"}
    with (
        http.stream("GET", "/sse/timeline", params=params) as stream,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        stream.read()
    (event,) = follow(http, 1, session="s", after=0)
    assert event["id"] == "s/1/1"


def test_who_is_cut_off_before_the_first_event_misses_none(http: httpx.Client) -> None:
    say(http, TURNS[0])
    with http.stream("GET", "/sse/timeline", params={"user": "aiko", "session": "s"}) as stream:
        begin = next(line for line in stream.iter_lines() if line.startswith("id: "))
    say(http, TURNS[1])
    (missed,) = follow(http, 1, session="s", last=begin.removeprefix("id: "))
    assert missed["id"] == "s/2/2"
