"""Nothing of another user is in a page, a stream or a metric, and nobody else changes it.

Every route of the server is tried, found in its own table: one that is added is tried too.
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import httpx
import pytest
from fastapi import FastAPI

from tests.fakes.routes import READS, Served, served_routes
from tests.fakes.two_users import SESSION, WORDS, headers, two_users

FRESH: Final = httpx.Limits(max_keepalive_connections=0)
"""Each request on a connection of its own: one that the server just closed is not used again."""

Asked = list[tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Values of a path, and what is sent with it."""

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore:Please use create_session:DeprecationWarning"),
]

Options = Mapping[str, Any]

AIKOS: Final = {
    **{"session": SESSION, "session_id": SESSION, "user": "aiko", "user_id": "aiko"},
    **{"app_name": "acc_ace", "turn": "1", "version": "1", "version_id": "0", "id": "c-0001"},
    **{"artifact_id": f"turn:{SESSION}:1", "artifact_name": "me.txt", "bullet_id": "b-00001"},
    "tool": "refund",
    **{"seq": "1", "path": "me", "test_name": "t", "eval_set_id": "e"},
    **{"eval_case_id": "c", "eval_result_id": "r", "event_id": "e"},
}
BOBS: Final = {**AIKOS, "session": "bobs", "session_id": "bobs", "user": "bob", "user_id": "bob"}
UP: Final = "..%2f..%2fsurvivor%2fsecret"
PATHS: Final = (
    AIKOS,
    {**AIKOS, "user_id": "bob", "user": "bob"},
    {**BOBS, "session": f"..%2F{SESSION}", "artifact_id": f"..%2F{SESSION}", "path": UP},
    {**BOBS, "session_id": f"..%2F..%2Faiko%2Fsessions%2F{SESSION}", "artifact_name": UP},
    {**BOBS, "app_name": "desk", "session_id": SESSION, "bullet_id": UP, "version_id": "1"},
)
NEEDED: Final[Mapping[str, dict[str, str]]] = {
    "/v1/playbook/diff": {"first": "0", "second": "1"},
    "/v1/playbook/search": {"q": "restart"},
    "/v1/memory/search": {"q": "locker"},
    "/v1/memory/documents/parts": {"name": "aikos.md"},
    "/snapshots": {"run": "run-7"},
    "/snapshots/measures": {"run": "run-7"},
    "/sse/timeline": {"after": "0"},
}
"""What a route asks for; the others answer without."""

ASKED: Final[tuple[Options, ...]] = (
    {"params": {"user": "aiko"}},
    {"params": {"user_id": "aiko", "userId": "aiko"}},
    {"params": {"app": "desk"}},
    {"params": {"app": "desk", "user": "aiko", "session": SESSION}},
    {"params": {"session": SESSION}},
    {"params": {"session": SESSION, "after": "0"}, "headers": {"Last-Event-ID": f"{SESSION}/1/0"}},
    {"params": {"run": "run-7"}},
    {"params": {"run": "../secret"}},
    {"params": {"scope": "user", "kind": "delta", "user": "aiko"}},
    {"params": {"scope": "user", "kind": "delta"}},
    {"params": {"before": "9", "cursor": SESSION, "limit": "50", "after": "0"}},
    {"headers": {"X-User": "aiko"}},
    {"headers": {"Cookie": "acc_ace_login=aiko", "X-Forwarded-User": "aiko"}},
)
SAID: Final = {"role": "user", "parts": [{"text": "Hello."}]}
RUN: Final = {"appName": "acc_ace", "userId": "aiko", "sessionId": SESSION, "newMessage": SAID}
LESSON: Final = {"operations": [{"type": "ADD", "section": "work", "content": "Rest."}]}
BODIES: Final[Mapping[str, object]] = {
    "POST /run": RUN,
    "PUT /v1/sessions/{session}/rules/{id}/checks/{tool}": {"does": "off"},
    "POST /run_sse": RUN,
    "POST /apps/{app_name}/users/{user_id}/sessions/{session_id}": {},
    "PATCH /apps/{app_name}/users/{user_id}/sessions/{session_id}": {"stateDelta": {"a": 1}},
    "POST /apps/{app_name}/users/{user_id}/sessions": {"sessionId": SESSION},
    "POST /apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts": {
        "filename": "me.txt",
        "artifact": {"text": "changed"},
    },
    "PATCH /apps/{app_name}/users/{user_id}/memory": {"session_id": SESSION},
    "POST /v1/sessions/{session}/turns": {"input": "Forget the locker."},
    "POST /v1/chat": {"input": "Forget the locker.", "session": SESSION},
    "POST /v1/sessions/{session}/turns/{turn}/feedback": {"thumbs": "down"},
    "POST /v1/sessions/{session}/turns/{turn}/rerun": {"without": ["c-0001"]},
    "PATCH /v1/sessions/{session}/ccs": {"version": 1, "fields": {"semantic_gist": "changed"}},
    "POST /v1/sessions/{session}/rollback": {"version": 1},
    "POST /v1/sessions/{session}/rules": {"text": "Never answer."},
    "POST /v1/sessions/{session}/questions/{id}": {"answer": "no"},
    "PATCH /v1/playbook/bullets/{bullet_id}": {"content": "changed"},
    "POST /v1/playbook/apply": LESSON,
    "POST /v1/playbook/rollback": {"version": 0},
    "POST /v1/playbook/import": "## work\n\n- [b-00009] :: changed\n",
    "PUT /v1/memory/artifacts/{artifact_id:path}": {"content": "changed"},
    "PUT /v1/memory/documents": "changed",
    "POST /survivor/settings": {"paused": True},
    "POST /login": "token=aiko",
}
BODILESS: Final = (
    *("/v1/sessions/{session}/undo", "/v1/sessions/{session}/reset", "/v1/playbook/refine"),
    "/v1/playbook/bullets/{bullet_id}/restore",
    *("/v1/playbook/held/{seq}/apply", "/v1/playbook/held/{seq}/dismiss"),
    "/survivor/step",
)
CLOSED: Final = ("/dev/", "/config/", "/agent-identity/")
"""ADK's routes that work on what all users share: closed while there are tokens."""


class House(NamedTuple):
    """The server, and a client of each user."""

    app: FastAPI
    aiko: httpx.Client
    bob: httpx.Client

    def routes(self, *, reading: bool) -> list[Served]:
        """Those that read, or that write."""
        found = [each for each in served_routes(self.app) if each.method != "HEAD"]
        return [each for each in found if (each.method in READS) is reading]

    def path(self, route: Served, values: Mapping[str, str]) -> str:
        """The path with values for its parameters."""
        return route.at(values)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with (
        pytest.MonkeyPatch.context() as patch,
        two_users(tmp_path_factory.mktemp("house")) as (app, url),
        httpx.Client(base_url=url, headers=headers("aiko"), timeout=60, limits=FRESH) as aiko,
        httpx.Client(base_url=url, headers=headers("bob"), timeout=60, limits=FRESH) as bob,
    ):
        patch.setattr("acc_ace.cockpit.timeline.HEARTBEAT_S", 0.1)
        yield House(app, aiko, bob)


def answer(client: httpx.Client, method: str, path: str, **options: Any) -> str:
    """All that comes back: status, headers, body; of a stream what there is before it is quiet."""
    with client.stream(method, path, **options) as response:
        said = f"{response.status_code} {response.headers}\n"
        if not path.startswith("/sse/timeline"):
            return said + response.read().decode("utf-8", "replace")
        for line in response.iter_lines():
            said += f"{line}\n"
            if line.startswith(": quiet"):
                break
        return said


def with_needed(route: Served, options: Options) -> dict[str, Any]:
    """The options, and what the route asks for besides."""
    return {**options, "params": {**NEEDED.get(route.path, {}), **options.get("params", {})}}


def everything(house: House) -> dict[str, str]:
    """All that aiko may read, by route, app and playbook."""
    return {
        f"{route.path} {query}": answer(
            house.aiko, "GET", house.path(route, AIKOS), **with_needed(route, {"params": query})
        )
        for route in house.routes(reading=True)
        for query in ({}, {"app": "desk"}, {"scope": "user"}, {"session": SESSION})
    }


def test_what_is_looked_for_is_there_for_its_owner(house: House) -> None:
    """And the file beside the runs is not, even for the one who may see the runs."""
    shown = "\n".join(everything(house).values())
    assert [word for word in WORDS if word not in shown] == ["ASPEN"]


def test_no_route_shows_anything_of_another(house: House) -> None:
    tries = 0
    for route in house.routes(reading=True):
        asked: Asked = [(values, {}) for values in PATHS] + [(AIKOS, options) for options in ASKED]
        for values, options in asked:
            path, sent = house.path(route, values), with_needed(route, options)
            shown = answer(house.bob, "GET", path, **sent)
            assert [word for word in WORDS if word in shown] == [], (path, sent)
            tries += 1
    print(f"{tries} tries to read of another")
    assert tries >= 500


def test_ones_own_answers_name_nobody_else(house: House) -> None:
    for route in house.routes(reading=True):
        if "aiko" not in route.at(BOBS):
            query = {"name": "bobs.md"} if "name" in NEEDED.get(route.path, {}) else {}
            sent = with_needed(route, {"params": query})
            shown = answer(house.bob, "GET", house.path(route, BOBS), **sent)
            assert "aiko" not in shown, route.path


def test_no_route_changes_anything_of_another(house: House) -> None:
    # What aiko's turns still teach is learnt with the next turn of the app, whoever takes it.
    house.bob.post("/v1/sessions/first/turns", json={"input": "Hello."})
    learnt = time.monotonic() + 10
    while '"learned":false' in str(stored(house)).replace(" ", "") and time.monotonic() < learnt:
        time.sleep(0.2)
    before, tries = stored(house), 0
    for route in house.routes(reading=False):
        body = BODIES.get(f"{route.method} {route.path}")
        is_known = body is not None or route.method == "DELETE" or route.path in BODILESS
        assert is_known or route.path.startswith(CLOSED), f"{route}: give it a body in BODIES"
        content: dict[str, Any] = {"content": body} if isinstance(body, str) else {"json": body}
        asked: Asked = [(values, {}) for values in PATHS[:2]] + [
            (AIKOS, options) for options in ASKED[:4]
        ]
        for values, options in [*asked, (AIKOS, ASKED[-1]), (AIKOS, {"params": {"scope": "user"}})]:
            path = house.path(route, values)
            if route.path == "/v1/users/{user}" and values["user"] == "bob":
                continue  # Bob may erase himself.
            params = {"name": "aikos.md", **options.get("params", {})}
            said = answer(house.bob, route.method, path, **{**content, **options, "params": params})
            assert [word for word in WORDS if word in said] == [], (route, options)
            tries += 1
    print(f"{tries} tries to change something of another")
    assert tries >= 300
    assert stored(house) == before


def stored(house: House) -> dict[str, str]:
    """What aiko has, without what says how the server is doing."""
    changing = ("/metrics", "/v1/models", "/healthz", "/readyz", "/health")
    return {
        name: said.partition("\n")[2]
        for name, said in everything(house).items()
        if not name.startswith(changing)
    }


def test_a_stream_of_ones_sessions_stays_silent_about_anothers(house: House) -> None:
    with house.bob.stream("GET", "/sse/timeline", headers={"Last-Event-ID": "x/0/0"}) as stream:
        lines = stream.iter_lines()
        heard = [next(lines)]
        for client, session, text in (
            (house.aiko, "aikos-later", "WALNUT and HAZEL again."),
            (house.bob, "later", "Hello."),
        ):
            taken = client.post(f"/v1/sessions/{session}/turns", json={"input": text})
            assert taken.status_code == 200, taken.text
        for line in lines:
            heard.append(line)
            if line.startswith("data: ") and json.loads(line[6:])["session"] == "later":
                break
    assert "aikos-later" not in "\n".join(heard)
    assert [word for word in WORDS if word in "\n".join(heard)] == []
