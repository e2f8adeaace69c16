"""What holds for every route of the server, ADK's and the extensions' included."""

import logging
import re
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.routing import Mount

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.server.asgi import client, scripted_app

TOKEN = "aiko-secret-0123456789"
AUTH = {"Authorization": f"Bearer {TOKEN}"}
pytestmark = pytest.mark.filterwarnings("ignore:.EXPERIMENTAL")

PUBLIC = {"/healthz", "/readyz", "/login"}
BODIES = (b"", b"{", b"{}", b'{"input": 3, "name": null}', b"[]")


@pytest.fixture
def app(tmp_path: object) -> FastAPI:
    settings = Settings(
        data_dir=tmp_path,
        auth_tokens={"aiko": SecretStr(TOKEN)},
        limits={"requests_per_minute": 1_000_000},
    )
    return scripted_app(build_container(settings))


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Each method and path; a stream is asked for its head, or it would not end."""
    included = [getattr(route, "original_router", None) for route in app.routes]
    added = [route for router in included if router is not None for route in router.routes]
    for route in (*app.routes, *added):
        if isinstance(route, Mount):
            yield "HEAD", f"{route.path}/index.html"
            continue
        path = re.sub(r"\{[^}]*\}", "x", getattr(route, "path", ""))
        for method in sorted(getattr(route, "methods", None) or ()):
            yield "HEAD" if method == "GET" else method, path


def test_there_are_routes_of_adk_and_ours(app: FastAPI) -> None:
    paths = {path for _, path in routes(app)}
    assert len(paths) > 90
    assert paths > {"/run_sse", "/v1/sessions", "/sse/timeline", "/dev-ui/", "/docs"}


async def test_without_a_token_only_the_public_ones_answer(
    app: FastAPI, http: httpx.AsyncClient
) -> None:
    for method, path in routes(app):
        got = await http.request(method, path)
        if (method, path) != ("POST", "/login"):  # It is sent no token to look at.
            assert (got.status_code == 401) == (path not in PUBLIC), (method, path)


@pytest.mark.soak
async def test_every_answer_says_how_it_may_be_used_and_no_log_holds_the_token(
    app: FastAPI, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for method, path in routes(app):
        for body in BODIES if method in {"POST", "PUT", "PATCH"} else (b"",):
            headers = {**AUTH, "Content-Type": "application/json"}
            got = await http.request(
                method, path, content=body, headers=headers, params={"key": TOKEN}
            )
            assert got.status_code < 500, (method, path, body, got.text)
            assert got.headers["x-content-type-options"] == "nosniff", path
            assert "frame-ancestors" in got.headers["content-security-policy"], path
            assert TOKEN not in got.text, path
    assert len(caplog.records) > 10
    assert [record.getMessage() for record in caplog.records if TOKEN in str(vars(record))] == []


@pytest.mark.soak
async def test_whatever_is_sent_the_answer_is_one_that_the_schema_names(
    app: FastAPI, http: httpx.AsyncClient
) -> None:
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            address = re.sub(r"\{[^}]*\}", "x", path)
            asked = "HEAD" if method == "get" else method
            for headers in ({}, AUTH, {**AUTH, "Host": "evil.example"}, {**AUTH, "X-User": "bob"}):
                for body in BODIES:
                    kind = {**headers, "Content-Type": "application/json"}
                    got = await http.request(asked, address, content=body, headers=kind)
                    named = {int(status) for status in operation["responses"]} | {307}
                    assert got.status_code in named, (method, path, headers, body, got.text)
                    if got.status_code >= 400 and asked != "HEAD":
                        assert got.headers["content-type"] == "application/problem+json"
                        assert set(got.json()) >= {"type", "title", "status", "detail", "code"}
