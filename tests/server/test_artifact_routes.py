"""ADK's artifact routes: odd names are the client's fault, and no answer says where files are."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.base import Tenant
from tests.server.asgi import client, scripted_app

SESSIONS = "/apps/acc_ace/users/user/sessions"
ARTIFACTS = f"{SESSIONS}/s/artifacts"
LONG = "x" * 300


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A server over files, with one artifact in one session."""
    settings = Settings(data_dir=tmp_path / "data", serve_web_interface=False)
    app = scripted_app(build_container(settings))
    async with client(app) as opened:
        await opened.post(SESSIONS, json={"sessionId": "s"})
        body = {"filename": "notes/a.txt", "artifact": {"text": "kept"}}
        assert (await opened.post(ARTIFACTS, json=body)).status_code == 200
        yield opened
    await app.state.acc_ace.close()


@pytest.mark.parametrize(
    "name",
    ["%2e%2e", "x%2f%2e%2e", "user:%2e%2e", "%2fetc%2fpasswd", "C:x", "%5cx", LONG, "a/" * 2000],
)
@pytest.mark.parametrize("below", ["", "/versions", "/versions/0", "/versions/0/metadata"])
async def test_names_that_no_file_can_have_are_bad_requests(
    http: httpx.AsyncClient, name: str, below: str
) -> None:
    for method in ("GET", "DELETE"):
        answer = await http.request(method, f"{ARTIFACTS}/{name}{below}")
        assert answer.status_code == 400, (method, answer.text)
        assert answer.json()["code"] == "bad_request"


@pytest.mark.parametrize("name", ["..", "/etc/passwd", LONG, "nul\0", "versions", "metadata.json"])
async def test_such_names_cannot_be_saved(http: httpx.AsyncClient, name: str) -> None:
    body = {"filename": name, "artifact": {"text": "x"}}
    answer = await http.post(ARTIFACTS, json=body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "bad_request"


async def test_a_session_id_that_no_directory_can_have_is_a_bad_request(
    http: httpx.AsyncClient,
) -> None:
    for path in (f"{SESSIONS}/{LONG}/artifacts", f"{SESSIONS}/{LONG}/artifacts/a.txt"):
        assert (await http.get(path)).status_code == 400


async def test_unknown_names_are_not_found(http: httpx.AsyncClient) -> None:
    for name in ("b.txt", "~", "%20", "notes", "notes/a.txt/versions/7"):
        assert (await http.get(f"{ARTIFACTS}/{name}")).status_code == 404


async def test_answers_do_not_show_the_data_directory(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    saved = await http.post(ARTIFACTS, json={"filename": "b.txt", "artifact": {"text": "x"}})
    one = await http.get(f"{ARTIFACTS}/notes/a.txt/versions/0/metadata")
    every = await http.get(f"{ARTIFACTS}/notes/a.txt/versions/metadata")
    place = "artifact://apps/acc_ace/users/user/sessions/s/artifacts"
    assert saved.json()["canonicalUri"] == f"{place}/b.txt/versions/0"
    assert one.json()["canonicalUri"] == f"{place}/notes/a.txt/versions/0"
    for answer in (saved, one, every):
        assert str(tmp_path) not in answer.text
    assert (await http.get(f"{ARTIFACTS}/notes/a.txt")).json() == {"text": "kept"}


async def test_an_export_does_not_show_the_data_directory(tmp_path: Path) -> None:
    container = build_container(Settings(data_dir=tmp_path / "data"))
    app = scripted_app(container)
    async with client(app) as opened:
        await opened.post(SESSIONS, json={"sessionId": "s"})
        await opened.post(ARTIFACTS, json={"filename": "a.txt", "artifact": {"text": "x"}})
    files = [file async for file in container.files.export(Tenant("acc_ace", "user"))]
    await app.state.acc_ace.close()
    noted = [file.content for file in files if file.path.endswith("metadata.json")]
    assert noted
    assert b"artifact://apps/acc_ace/users/user/sessions/s/artifacts/a.txt" in noted[0]
    assert all(str(tmp_path).encode() not in content for content in noted)
