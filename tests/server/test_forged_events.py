"""Text that imitates lines of a stream or samples of a metric forges neither."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.fakes.hostile import LINES, MARKUP
from tests.fakes.loopback import served
from tests.fakes.run_files import plan, save_run, tick
from tests.server.asgi import scripted_app

TEXTS: Final = (*LINES, *MARKUP)
END: Final = b": quiet"
SAMPLES: Final = {"app", "user", "sessions", "turns", "spent", "replay", "days", "playbook"}


@pytest.fixture
def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr("acc_ace.cockpit.timeline.HEARTBEAT_S", 0.1)
    runs = tmp_path / "survivor" / "runs"
    runs.mkdir(parents=True)
    ticks = [tick(n, run=text, plan=plan(objective=text)) for n, text in enumerate(TEXTS, start=1)]
    save_run(runs / "run-7.jsonl", *ticks)
    settings = Settings(data_dir=tmp_path, learning="off", serve_web_interface=False)
    with (
        served(scripted_app(build_container(settings))) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


def events(http: httpx.Client, **query: Any) -> list[dict[str, str]]:
    """All events of a stream until it is quiet, parsed as the standard says."""
    with http.stream("GET", "/sse/timeline", params={"after": 0, **query}) as stream:
        assert stream.status_code == 200
        body = b""
        for chunk in stream.iter_raw():
            body += chunk
            if END in body:
                break
    blocks = re.split(r"(?:\r\n|\r|\n){2}", body.partition(END)[0].decode())
    fields = [
        dict(line.split(": ", 1) for line in re.split(r"\r\n|\r|\n", block) if ":" in line)
        for block in blocks
    ]
    said = [each for each in fields if "data" in each or "id" in each or "event" in each]
    return [each for each in said if each != {"retry": "1000", "id": "/0/0"}]  # Where it begins.


def test_each_turn_is_one_event_whatever_it_says(http: httpx.Client) -> None:
    for text in TEXTS:
        body = {"input": text, "attachments": [{"text": text, "source": text}]}
        sent = http.post("/v1/sessions/s/turns", json=body)
        assert sent.status_code == 200, sent.text
    found = events(http, session="s")
    assert [each["id"] for each in found] == [f"s/{n}/{n}" for n in range(1, len(TEXTS) + 1)]
    assert {each["event"] for each in found} == {"turn"}
    said = [json.loads(each["data"])["data"]["input"]["text"] for each in found]
    assert [each.strip() for each in said] == [text.strip() for text in TEXTS]


def test_each_tick_is_one_event_whatever_it_says(http: httpx.Client) -> None:
    found = events(http, run="run-7")
    assert [each["event"] for each in found] == ["tick"] * len(TEXTS)
    goals = [json.loads(each["data"])["data"]["plan"]["objective"] for each in found]
    assert goals == list(TEXTS)


def test_each_lesson_is_one_event_whatever_it_says(http: httpx.Client) -> None:
    for text in TEXTS:
        lesson = {"type": "ADD", "section": "ops", "content": f"Say {text}", "rationale": text}
        http.post("/v1/playbook/apply", json={"operations": [lesson]})
    logged = http.get("/v1/playbook/deltas", params={"limit": 100}).json()["items"]
    assert len(logged) > len(MARKUP)
    assert [each["event"] for each in events(http, kind="delta")] == ["delta"] * len(logged)


def test_a_hostile_name_is_refused_or_stays_one_id(http: httpx.Client) -> None:
    taken = 0
    for text in TEXTS:
        name = text.replace("/", "\u2215")  # a name is one segment of a path
        sent = http.post("/v1/chat", json={"input": "Hello.", "session": name})
        assert sent.status_code in {200, 422}, sent.text
        if sent.status_code == 200:
            taken += 1
            (event,) = events(http, session=name)
            assert re.fullmatch(r"[\w.~%-]+/1/1", event["id"], re.ASCII)
            assert json.loads(event["data"])["session"] == name
            notice = events(http)[-1]
            assert (notice["event"], json.loads(notice["data"])["session"]) == ("session", name)
    assert taken >= len(MARKUP) // 2


def test_a_hostile_query_forges_nothing(http: httpx.Client) -> None:
    for text in TEXTS:
        assert events(http, run="run-7", kind=text) == []
        for name in ("session", "run"):
            refused = http.get("/sse/timeline", params={name: text})
            assert refused.status_code in {404, 422}
            assert refused.headers["content-type"] == "application/problem+json"
        asked = http.get("/metrics", params={"user": text, "app": text})
        assert asked.status_code in {404, 422}


def test_a_metric_has_numbers_and_no_text_of_anyone(http: httpx.Client) -> None:
    """JSON of a fixed shape: there is no line and no label that a text could become."""
    before = http.get("/metrics").json()
    for number, text in enumerate(TEXTS):
        http.post(f"/v1/sessions/s{number}/turns", json={"input": text})
        lesson = {"type": "ADD", "section": f"s-{number}", "content": f"Say {text}"}
        http.post("/v1/playbook/apply", json={"operations": [lesson]})
    answer = http.get("/metrics")
    found = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert found.keys() == before.keys() == SAMPLES | {"streams", "survival"}
    assert found["playbook"].keys() == before["playbook"].keys()
    assert found["turns"] == len(TEXTS)
    assert not re.search(r"hacked|forged|evil|<|Say", answer.text)
