"""A session of 100,000 turns over real HTTP: pages stay small, and any turn can be reached."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.app import create_app
from tests.fakes.long_session import lengthen, said
from tests.fakes.loopback import served

pytestmark = pytest.mark.soak

TURNS = 100_000
MOST_BYTES = 100_000
BASE = "/v1/sessions/long"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("long")
    settings = Settings(data_dir=folder, serve_web_interface=False)
    with (
        served(create_app(build_container(settings))) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        for text in ("Never restart db-01 during business hours.", "Aiko leads."):
            assert client.post(f"{BASE}/turns", json={"input": text}).status_code == 200
        lengthen(folder / "memory.db", "long", TURNS)
        yield client


def read(http: httpx.Client, path: str, **query: Any) -> Any:
    answer = http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    assert len(answer.content) < MOST_BYTES
    return answer.json()


def test_what_a_page_first_reads_does_not_grow(http: httpx.Client) -> None:
    assert read(http, BASE)["turn"] == TURNS
    assert read(http, f"{BASE}/ccs")["version"] == TURNS
    assert len(read(http, f"{BASE}/rules")["constraints"]) == 1
    turns = read(http, f"{BASE}/turns", limit=50)["items"]
    assert [turn["turn"] for turn in turns] == [*range(TURNS, TURNS - 50, -1)]
    cost = read(http, f"{BASE}/cost", limit=200)
    assert len(cost["turns"]) == 200
    assert sum(stage["runs"] for stage in cost["stages"]) >= 2 * TURNS
    assert read(http, "/metrics")["turns"] == TURNS


@pytest.mark.parametrize("turn", [3, 50_000, 99_937])
def test_any_turn_is_reached_by_its_number(http: httpx.Client, turn: int) -> None:
    [found] = read(http, f"{BASE}/turns", limit=1, before=turn + 1)["items"]
    assert (found["turn"], found["input"]["text"]) == (turn, said(turn))
    assert said(turn) in read(http, f"{BASE}/turns/{turn}/state")["ccs"]["episodic_trace"]
    assert read(http, f"{BASE}/ccs/versions/{turn}")["turn"] == turn
    assert read(http, f"{BASE}/ccs/history", limit=1, before=turn + 1)["items"][0]["turn"] == turn
    assert read(http, f"{BASE}/cost", limit=1, before=turn + 1)["turns"][0]["turn"] == turn
    [event] = read(http, "/events", session="long", after=turn - 1, limit=1)["items"]
    assert event["data"]["input"]["text"] == said(turn)


def test_its_events_are_read_page_by_page_without_loss(http: httpx.Client) -> None:
    after, seen = TURNS - 1_000, list[int]()
    while after is not None:
        page = read(http, "/events", session="long", after=after, limit=100)
        seen += [item["n"] for item in page["items"]]
        after = page["next_after"]
    assert seen == [*range(TURNS - 999, TURNS + 1)]


@pytest.mark.parametrize(("last", "comes"), [(1, "gap"), (TURNS - 10, "turn")])
def test_a_stream_resumes_or_says_that_it_is_too_far_behind(
    http: httpx.Client, last: int, comes: str
) -> None:
    headers = {"Last-Event-ID": f"long/{last}/{last}"}
    with http.stream("GET", "/sse/timeline", params={"session": "long"}, headers=headers) as stream:
        lines = stream.iter_lines()
        assert f"event: {comes}" in iter_until(lines, "event: ")
        data = json.loads(next(lines).removeprefix("data: "))
    assert data == TURNS if comes == "gap" else data["n"] == last + 1


def iter_until(lines: Iterator[str], start: str) -> str:
    return next(line for line in lines if line.startswith(start))
