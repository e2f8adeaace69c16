"""What the cockpit shows at a glance: a session's context, and the users of the server."""

from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from tests.server.asgi import client, scripted_app

AIKO = {"Authorization": "Bearer aiko-secret"}
BOB = {"Authorization": "Bearer bob-secret"}
MANY = 10_000


@pytest.fixture
def container(tmp_path: object) -> Container:
    tokens = {"aiko": SecretStr("aiko-secret"), "bob": SecretStr("bob-secret")}
    settings = Settings(
        data_dir=tmp_path, auth_tokens=tokens, operators=("bob",), serve_web_interface=False
    )
    return build_container(settings)


@pytest.fixture
async def http(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    app = scripted_app(container)
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def test_a_session_that_is_new_is_no_error(http: httpx.AsyncClient) -> None:
    seen = await http.get("/ui/sessions/new", headers=AIKO)
    assert seen.status_code == 200
    assert seen.json() == {"state": None, "request": None, "budget": 1_936}


async def test_the_state_and_the_size_of_the_last_request_are_those_of_the_last_turn(
    http: httpx.AsyncClient,
) -> None:
    await http.post("/v1/sessions/s/turns", headers=AIKO, json={"input": "Hello."})
    seen = (await http.get("/ui/sessions/s", headers=AIKO)).json()
    requests = (await http.get("/v1/sessions/s/turns/1/requests", headers=AIKO)).json()["calls"]
    [asked] = [each for each in requests if each["stage"] == "generator"]
    assert seen["state"] == (await http.get("/v1/sessions/s/ccs", headers=AIKO)).json()
    assert seen["request"]["tokens"] == asked["tokens"]["in"]
    assert (await http.get("/ui/sessions/s", headers=BOB)).json()["state"] is None


async def test_who_is_no_operator_lists_nobody(http: httpx.AsyncClient) -> None:
    refused = await http.get("/ui/users", headers=AIKO)
    assert refused.status_code == 403
    assert "ACC_ACE_OPERATORS" in refused.json()["detail"]


async def test_ten_thousand_users_come_in_pages_each_of_them_once(
    http: httpx.AsyncClient, container: Container
) -> None:
    names = [(f"app-{number % 3}", f"user_{number}") for number in range(MANY)]
    insert = "INSERT INTO tenants (app, user_id) VALUES (?, ?)"
    await container.database.write(lambda rows: [rows.run(insert, each) for each in names])
    at = container.clock.now()
    await container.directory.open(SessionKey("app-0", "user_0", "s"), at=at)
    seen: list[tuple[str, str]] = []
    before: int | None = 2**62
    while before:
        query = {"before": before, "limit": 200}
        page = (await http.get("/ui/users", params=query, headers=BOB)).json()
        assert len(page["items"]) <= 200
        seen += [(each["app"], each["user"]) for each in page["items"]]
        before = page["next_before"]
    assert sorted(seen) == sorted(names)
    assert page["items"][-1]["sessions"] == 1
    assert page["items"][-1]["active_at"].startswith(str(at.date()))


async def test_users_are_found_by_a_part_of_their_name_whatever_it_holds(
    http: httpx.AsyncClient, container: Container
) -> None:
    insert = "INSERT INTO tenants (app, user_id) VALUES (?, ?)"
    names = [("desk", "100%_!"), ("desk", "愛子"), ("till", "1000")]
    await container.database.write(lambda rows: [rows.run(insert, each) for each in names])
    for words, wanted in (("%_!", ["100%_!"]), ("愛", ["愛子"]), ("desk", ["愛子", "100%_!"])):
        page = (await http.get("/ui/users", params={"words": words}, headers=BOB)).json()
        assert [each["user"] for each in page["items"]] == wanted
