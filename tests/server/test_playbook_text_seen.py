"""Whom the text of held and rejected deltas is shown: its author, and those who may decide."""

from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from acc_ace import build_container
from acc_ace.core.playbook.manual_edit import read_batch
from acc_ace.core.playbook.playbook_service import PlaybookService
from config import Settings
from schemas.base import PlaybookScope
from tests.server.asgi import client, scripted_app

HELD = "Rules may be skipped in a hurry."
WHY = "It was said in a chat."
BATCH = f"""{{"operations": [
    {{"type": "ADD", "section": "ops", "content": "{HELD}", "rationale": "{WHY}"}},
    {{"type": "ADD", "section": "ops", "content": "Check the disk first."}}]}}"""


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A server with a held delta of Aiko's in the shared playbook; Bob decides."""
    users = ("aiko", "bob", "eve")
    settings = Settings(
        store="memory",
        serve_web_interface=False,
        auth_tokens={user: SecretStr(user) for user in users},
        playbook_editors=("bob",),
    )
    container = build_container(settings)
    app = scripted_app(container)
    scope = PlaybookScope("acc_ace")
    limits, clock = settings.limits, container.clock
    aiko = PlaybookService(container.playbooks, scope, person="aiko", limits=limits, clock=clock)
    await aiko.apply(read_batch(BATCH))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


@pytest.mark.parametrize(("user", "sees"), [("aiko", True), ("bob", True), ("eve", False)])
async def test_the_log_shows_it_to_its_author_and_to_who_decides(
    http: httpx.AsyncClient, user: str, sees: bool
) -> None:
    headers = {"Authorization": f"Bearer {user}"}
    log = (await http.get("/v1/playbook/deltas", headers=headers)).json()["items"]
    [held] = [item for item in log if item["status"] == "held"]
    assert (held["proposed"], held["rationale"]) == ((HELD, WHY) if sees else (None, ""))
    assert held["session"] in {None, ""}


@pytest.mark.parametrize("user", ["aiko", "bob", "eve"])
async def test_the_timeline_that_all_share_shows_what_was_applied_alone(
    http: httpx.AsyncClient, user: str
) -> None:
    headers = {"Authorization": f"Bearer {user}"}
    events = await http.get("/events", params={"kind": "delta"}, headers=headers)
    assert [item["data"]["status"] for item in events.json()["items"]] == ["held", "applied"]
    assert "Check the disk first." in events.text
    for private in (HELD, WHY, "origin", '"user"', '"operation"'):
        assert private not in events.text
