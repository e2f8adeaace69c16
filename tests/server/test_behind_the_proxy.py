"""A browser signs in and talks through the proxy of compose.yaml."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.server.asgi import client, scripted_app

ROOT = Path(__file__).parents[2]
TOKEN = "a-long-random-token"
BROWSER = {"Host": "localhost:8000", "Origin": "http://localhost:8000"}


@pytest.fixture
async def proxied() -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        store="memory",
        host="0.0.0.0",  # noqa: S104 - as in the image
        auth_tokens=f"you:{TOKEN}",
        trusted_hosts="localhost,127.0.0.1",
        serve_web_interface=False,
    )
    app = scripted_app(build_container(settings))
    async with client(app, base_url="http://server:8000", headers=_passed_on()) as http:
        yield http
    await app.state.acc_ace.close()


def _passed_on() -> dict[str, str]:
    """The headers of a browser as the proxy hands them on: nginx's $host has no port."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    variables = {"$$http_host": BROWSER["Host"], "$$host": "localhost", "$$scheme": "http"}
    changed = re.findall(r"proxy_set_header (\S+) (\S+);", text)
    assert {name for name, _ in changed} >= {"Host", "X-Forwarded-Proto"}
    return BROWSER | {name: variables[value] for name, value in changed}


async def test_a_browser_signs_in(proxied: httpx.AsyncClient) -> None:
    answer = await proxied.post("/login", data={"token": TOKEN})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/ui/"


async def test_a_page_of_ours_takes_a_turn(proxied: httpx.AsyncClient) -> None:
    answer = await proxied.post(
        "/v1/chat",
        json={"input": "No restarts during business hours."},
        headers={"Authorization": f"Bearer {TOKEN}"},
    )
    assert answer.status_code == 200


async def test_a_foreign_page_is_refused(proxied: httpx.AsyncClient) -> None:
    answer = await proxied.post(
        "/login", data={"token": TOKEN}, headers={"Origin": "https://evil.example"}
    )
    assert answer.status_code == 403
