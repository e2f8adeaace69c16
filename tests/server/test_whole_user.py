"""A user's data behind ADK's routes and ours: kept where erasing and exporting reach it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from acc_ace import Container, build_container
from acc_ace.server.app import create_app
from config import ROLES, Settings
from schemas.base import Tenant
from tests.contract.values import artifact
from tests.fakes.loopback import served
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import ScriptedLlm

AIKO = Tenant("acc_ace", "aiko")
SESSION = "/apps/acc_ace/users/aiko/sessions/s1"
FILE = f"{SESSION}/artifacts/me.txt"
PASSPORT = {"filename": "me.txt", "artifact": {"text": "WALNUT passport 123"}}
TALK = {
    "session_id": "s1",
    "state": {"user:phone": "555-HAZEL", "__session_metadata__": {"displayName": "BEECH"}},
    "events": [{"author": "user", "content": {"role": "user", "parts": [{"text": "my OAK"}]}}],
}
WORDS = ("WALNUT", "HAZEL", "BEECH", "OAK")

_PATIENCE_S = 120.0
"""A busy machine answers late; what takes that long hangs."""


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    where: dict[str, Any] = {"data_dir": tmp_path / "data", "agent_dir": tmp_path / "agents"}
    if request.param == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    for app in ("acc_ace", "desk"):
        (tmp_path / "agents" / app).mkdir(parents=True)
    return Settings(store=request.param, serve_web_interface=False, **where)


@pytest.fixture
async def container(settings: Settings) -> AsyncIterator[Container]:
    opened = build_container(settings)
    yield opened
    await opened.close()


@pytest.fixture
def http(container: Container) -> Iterator[httpx.Client]:
    """A client of a server behind a socket, which asks for aiko."""
    app = create_app(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    with (
        served(app) as url,
        httpx.Client(base_url=url, headers={"X-User": "aiko"}, timeout=_PATIENCE_S) as opened,
    ):
        yield opened
    asyncio.run(app.state.acc_ace.close())


def put(http: httpx.Client, method: str, path: str, body: dict[str, Any]) -> None:
    answer = http.request(method, path, json=body)
    assert answer.status_code < 300, answer.text


def fill(http: httpx.Client) -> None:
    """What ADK's own routes take of a user who has never had a turn."""
    put(http, "POST", "/apps/acc_ace/users/aiko/sessions", TALK)
    put(http, "POST", f"{SESSION}/artifacts", PASSPORT)
    put(http, "PATCH", "/apps/acc_ace/users/aiko/memory", {"session_id": "s1"})


def exported(http: httpx.Client, query: str = "") -> list[dict[str, Any]]:
    lines = http.get(f"/v1/users/aiko/export{query}").text.splitlines()
    return [json.loads(line) for line in lines]


def test_what_adks_routes_keep_is_exported_and_erased(
    http: httpx.Client, container: Container, settings: Settings
) -> None:
    fill(http)
    assert http.get(FILE).json()["text"] == "WALNUT passport 123"
    records = exported(http)
    # Of our own app a client writes no state but the name that a session is shown by.
    assert [word for word in WORDS if word not in str(records)] == ["HAZEL"]
    # What went to ADK's memory is in ours, where recall finds it.
    [memory] = [item["value"] for item in records if item["kind"] == "artifact"]
    assert memory["content"] == "user: my OAK"
    erased = http.delete("/v1/users/aiko").json()
    assert erased["deleted"]["files"] >= 1
    assert http.get(FILE).status_code == 404
    assert http.get(f"{SESSION}/artifacts").json() == []
    assert [item["kind"] for item in exported(http)] == ["user", "end"]
    assert asyncio.run(residue(container, AIKO)) == {}
    kept = [path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file()]
    assert not any(word.encode() in content for content in kept for word in WORDS)


def test_a_deleted_session_leaves_no_files_and_other_sessions_keep_theirs(
    http: httpx.Client,
) -> None:
    fill(http)
    put(http, "POST", f"{SESSION}/artifacts", {**PASSPORT, "filename": "user:mine.txt"})
    put(http, "POST", f"{SESSION}-2/artifacts", PASSPORT)
    assert http.delete(SESSION).status_code == 200
    assert http.get(FILE).status_code == 404
    assert http.get(f"{SESSION}-2/artifacts").json() == ["me.txt", "user:mine.txt"]


def test_another_users_files_stay(http: httpx.Client) -> None:
    fill(http)
    others = FILE.replace("aiko", "aikon").rpartition("/")[0]
    put(http, "POST", others, PASSPORT)
    http.delete("/v1/users/aiko")
    assert http.get(f"{others}/me.txt").json()["text"] == "WALNUT passport 123"


def test_files_of_a_user_in_another_app_are_found_or_left_as_asked(http: httpx.Client) -> None:
    fill(http)
    at_desk = f"{SESSION}/artifacts".replace("acc_ace", "desk")
    put(http, "POST", at_desk, PASSPORT)
    users = [item["app"] for item in exported(http) if item["kind"] == "user"]
    assert users == ["acc_ace", "desk"]
    desk = exported(http, "?app=desk")
    assert {item["kind"] for item in desk} == {"user", "file", "end"}
    erased = http.delete("/v1/users/aiko?app=acc_ace").json()
    assert set(erased["apps"]) == {"acc_ace"}
    assert http.get(f"{at_desk}/me.txt").status_code == 200
    assert set(http.delete("/v1/users/aiko").json()["apps"]) == {"desk"}
    assert http.get(f"{at_desk}/me.txt").status_code == 404


def test_a_session_of_another_app_that_never_had_a_turn_is_found(http: httpx.Client) -> None:
    put(http, "POST", "/apps/desk/users/aiko/sessions", TALK)
    records = exported(http)
    assert [item["app"] for item in records if item["kind"] == "user"] == ["desk"]
    assert [word for word in WORDS if word not in str(records)] == ["WALNUT"]
    assert http.delete("/v1/users/aiko").json()["apps"]["desk"]["sessions"] == 1
    assert [item["kind"] for item in exported(http)] == ["user", "end"]


def test_a_file_of_one_user_never_stands_in_the_way_of_anothers_erasure(
    http: httpx.Client,
) -> None:
    fill(http)
    others = "/apps/acc_ace/users/ben/sessions/s1/artifacts"
    for name in ("evil.db", "names.json"):
        body = {"filename": name, "artifact": {"text": '{"user": "aiko"}'}}
        put(http, "POST", others, body)
    assert http.delete("/v1/users/aiko").status_code == 200


@pytest.mark.parametrize("settings", ["sqlite", "postgres"], indirect=True)
def test_files_that_adk_kept_beside_the_agents_before_are_exported_and_erased(
    http: httpx.Client, settings: Settings
) -> None:
    assert settings.agent_dir is not None
    place = settings.agent_dir / "desk" / ".adk" / "artifacts" / "apps" / "desk" / "users"
    (place / "aiko" / "artifacts").mkdir(parents=True)
    (place / "aiko" / "artifacts" / "old.txt").write_text("WALNUT")
    assert "WALNUT" in str(exported(http))
    assert http.delete("/v1/users/aiko").json()["apps"]["desk"]["files"] == 1
    assert not (place / "aiko").exists()


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.parametrize("user", ["..", "%2e%2e", ".", "*"])
def test_no_name_reaches_the_files_of_others(http: httpx.Client, user: str) -> None:
    fill(http)
    http.delete(f"/v1/users/{user}")
    http.delete(f"/v1/users/{user}", params={"app": ".."})
    http.delete("/v1/users/nobody", params={"app": "..%2f.."})
    assert http.get(FILE).status_code == 200


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.parametrize("query", ["", "?app=acc_ace", "?app=desk"])
async def test_a_token_reaches_its_own_user_in_whatever_app(settings: Settings, query: str) -> None:
    tokens = {"aiko": SecretStr("aiko-secret"), "ben": SecretStr("ben-secret")}
    container = build_container(settings.model_copy(update={"auth_tokens": tokens}))
    app = create_app(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    for name in ("acc_ace", "desk"):
        await container.artifacts.add([artifact("a", "OAK", tenant=Tenant(name, "aiko"))])
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1:8000"
    ) as http:
        ben, aiko = ({"Authorization": f"Bearer {name}-secret"} for name in ("ben", "aiko"))
        for method, path in (("DELETE", ""), ("GET", "/export")):
            answer = await http.request(method, f"/v1/users/aiko{path}{query}", headers=ben)
            assert answer.status_code == 403
            answer = await http.request(method, f"/v1/users/aiko{path}{query}")
            assert answer.status_code == 401
        assert "OAK" not in (await http.get(f"/v1/users/ben/export{query}", headers=ben)).text
        assert "OAK" in (await http.get(f"/v1/users/aiko/export{query}", headers=aiko)).text
    await app.state.acc_ace.close()
