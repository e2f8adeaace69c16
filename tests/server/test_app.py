import asyncio
import warnings
from collections.abc import AsyncIterator, MutableMapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from acc_ace import Container, build_container
from acc_ace.errors import ConfigError, StoreError
from acc_ace.server.app import create_app
from config import AgentSettings, Settings
from schemas.base import SessionKey
from schemas.commit import JournalEntry
from tests.fakes.stores import InMemoryJournal
from tests.server.asgi import client, scripted_app

ALICE = {"Authorization": "Bearer alice-secret"}


class LockedJournal(InMemoryJournal):
    """A journal whose database another program holds."""

    async def head(self, key: SessionKey) -> JournalEntry | None:
        raise StoreError("the database is locked; close the program that holds it")


@pytest.fixture
async def guarded() -> AsyncIterator[httpx.AsyncClient]:
    """The server with tokens, and ADK's web interface."""
    settings = Settings(
        store="memory",
        auth_tokens={"alice": SecretStr("alice-secret"), "bob": SecretStr("bob-secret")},
    )
    app = scripted_app(build_container(settings))
    async with client(app) as http:
        yield http
    await app.state.acc_ace.close()


async def test_openapi_with_the_web_interface_names_each_operation_once_and_warns_of_nothing(
    guarded: httpx.AsyncClient,
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        document = (await guarded.get("/openapi.json", headers=ALICE)).json()
    assert [str(item.message) for item in caught] == []
    ids = [item["operationId"] for path in document["paths"].values() for item in path.values()]
    assert any(name.endswith("_add_session_post_2") for name in ids)
    assert len(ids) == len(set(ids))


async def test_two_operations_of_ours_under_one_id_still_warn(app: FastAPI) -> None:
    @app.get("/v1/first", operation_id="same")
    @app.get("/v1/second", operation_id="same")
    async def twice() -> None:
        """An operation whose author forgot to name its copy."""

    with pytest.warns(UserWarning, match="Duplicate Operation ID same"):
        app.openapi()


async def test_openapi_is_complete_and_every_route_of_ours_documents_problems(
    http: httpx.AsyncClient,
) -> None:
    document = (await http.get("/openapi.json")).json()
    ours = {path: item for path, item in document["paths"].items() if path.startswith("/v1/")}
    assert len(ours) >= 18
    for path, operations in ours.items():
        for method, operation in operations.items():
            assert operation["tags"], path
            assert operation["summary"], path
            errors = [status for status in operation["responses"] if status >= "400"]
            assert errors, f"{method} {path}"
            for status in errors:
                content = operation["responses"][status]["content"]
                assert list(content) == ["application/problem+json"], f"{method} {path} {status}"
    assert "Problem" in document["components"]["schemas"]
    turn = document["paths"]["/v1/sessions/{session}/turns"]["post"]["responses"]["200"]
    assert set(turn["content"]) == {"application/json", "text/event-stream"}


async def test_an_app_that_is_not_there_is_not_found_and_no_folder_is_named(
    http: httpx.AsyncClient,
) -> None:
    for route in ("graph", "build_graph"):
        refused = await http.get(f"/dev/apps/nobody/{route}")
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found"), route
        assert "/agents" not in refused.json()["detail"]


async def test_what_adk_refuses_is_described_as_a_problem(http: httpx.AsyncClient) -> None:
    paths = (await http.get("/openapi.json")).json()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            statuses = operation["responses"].keys()
            assert any(status >= "4" for status in statuses), f"{method} {path}"
    stream = paths["/sse/timeline"]["get"]["responses"]["200"]["content"]
    assert list(stream) == ["text/event-stream"]


async def test_probes_answer(http: httpx.AsyncClient) -> None:
    assert (await http.get("/healthz")).json() == {"status": "ok"}
    assert (await http.get("/readyz")).status_code == 200


async def test_unready_says_why_and_stays_alive(container: Container) -> None:
    broken = scripted_app(replace(container, journal=LockedJournal()))
    async with client(broken) as http:
        response = await http.get("/readyz")
        assert response.status_code == 503
        assert "locked" in response.json()["detail"]
        assert (await http.get("/healthz")).status_code == 200
        turn = await http.post("/v1/chat", json={"input": "x"})
        assert (turn.status_code, turn.json()["code"]) == (503, "store_error")
    await broken.state.acc_ace.close()


async def test_draining_server_is_alive_but_not_ready(
    app: FastAPI, http: httpx.AsyncClient
) -> None:
    app.state.acc_ace.gate.close()
    assert (await http.get("/healthz")).status_code == 200
    assert (await http.get("/readyz")).json()["code"] == "shutting_down"
    assert (await http.post("/v1/chat", json={"input": "x"})).status_code == 503


def test_unknown_model_fails_before_anything_is_served() -> None:
    settings = Settings(store="memory", generator=AgentSettings(model="gpt5-ultra"))
    with pytest.raises(ConfigError, match="gpt5-ultra"):
        create_app(build_container(settings))


async def test_tokens_guard_our_routes_and_adks(guarded: httpx.AsyncClient) -> None:
    for path in (
        "/v1/playbook",
        "/list-apps",
        "/apps/acc_ace/users/alice/sessions",
        "/dev-ui/",
        "/docs",
        "/openapi.json",
        "/dev/apps/acc_ace/debug/trace/session/s",
    ):
        assert (await guarded.get(path)).status_code == 401, path
    assert (await guarded.post("/run", json={})).status_code == 401
    for path in (
        "/v1/playbook",
        "/list-apps",
        "/apps/acc_ace/users/alice/sessions",
        "/dev-ui/?userId=alice",
    ):
        assert (await guarded.get(path, headers=ALICE)).status_code == 200, path
    foreign = await guarded.get("/apps/acc_ace/users/bob/sessions", headers=ALICE)
    assert foreign.status_code == 403


async def test_token_decides_the_user(guarded: httpx.AsyncClient) -> None:
    turn = await guarded.post("/v1/sessions/s/turns", json={"input": "x"}, headers=ALICE)
    assert turn.status_code == 200
    bob = {"Authorization": "Bearer bob-secret"}
    assert (await guarded.get("/v1/sessions/s/ccs", headers=bob)).status_code == 404
    assert (await guarded.get("/v1/sessions/s/ccs", headers=ALICE)).status_code == 200
    assert (await guarded.delete("/v1/users/alice", headers=bob)).status_code == 403
    as_bob = await guarded.get("/v1/sessions", headers={**ALICE, "X-User": "bob"})
    assert as_bob.status_code == 403


async def test_foreign_host_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.get("/healthz", headers={"Host": "evil.example"})
    assert response.status_code == 400


async def test_cross_origin_pages_are_refused_until_allowed(http: httpx.AsyncClient) -> None:
    evil = {"Origin": "https://evil.example"}
    assert (await http.post("/v1/chat", json={"input": "x"}, headers=evil)).status_code == 403
    allowed = Settings(store="memory", allow_origins=("https://good.example",))
    async with client(scripted_app(build_container(allowed))) as other:
        preflight = await other.options(
            "/v1/chat",
            headers={"Origin": "https://good.example", "Access-Control-Request-Method": "POST"},
        )
        assert preflight.headers["access-control-allow-origin"] == "https://good.example"


async def test_preflight_needs_no_token_and_refusals_can_be_read_by_the_page() -> None:
    settings = Settings(
        store="memory",
        auth_tokens={"alice": SecretStr("alice-secret")},
        allow_origins=("https://good.example",),
    )
    good = {"Origin": "https://good.example"}
    async with client(scripted_app(build_container(settings))) as http:
        preflight = await http.options(
            "/v1/chat", headers={**good, "Access-Control-Request-Method": "POST"}
        )
        refused = await http.post("/v1/chat", json={"input": "x"}, headers=good)
    assert preflight.status_code == 200
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://good.example"


async def test_a_server_keeps_house_from_its_start_to_its_end(app: FastAPI) -> None:
    """Offload of idle sessions and background learning run beside the routes."""
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []
    beside: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        beside.append(len(asyncio.all_tasks()))
        return next(messages)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert beside == [1, 2]
