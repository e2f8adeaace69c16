"""The server where the extension of playbook files is absent."""

import pytest

from acc_ace import Container, hooks
from tests.server.asgi import client, scripted_app

PLAYBOOK = "/v1/playbook"


@pytest.mark.parametrize(
    ("method", "route"), [("GET", f"{PLAYBOOK}/export"), ("POST", f"{PLAYBOOK}/import")]
)
async def test_without_the_extension_of_files_its_routes_are_not_there(
    monkeypatch: pytest.MonkeyPatch, container: Container, method: str, route: str
) -> None:
    monkeypatch.setitem(hooks.EXTENSIONS, "playbook_files", "")
    async with client(scripted_app(container)) as without:
        done = await without.request(method, route, content="- Ask first.\n")
        described = (await without.get("/openapi.json")).json()["paths"]
        shown = await without.get(PLAYBOOK)
    assert (done.status_code, done.json()["code"]) == (404, "not_found")
    assert done.headers["content-type"] == "application/problem+json"
    assert route not in described
    assert (shown.status_code, shown.json()["bullets"]) == (200, [])
