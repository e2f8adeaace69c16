"""A user's name is the same in a header, in the query and on the command line."""

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.identity import Identities
from tests.server.asgi import client, scripted_app

TURNS = "/v1/sessions/s/turns"
LATIN_1 = [(b"x-user", "José".encode("latin-1"))]


def named(user: str) -> list[tuple[bytes, bytes]]:
    """The header as curl and other clients send it."""
    return [(b"x-user", user.encode())]


@pytest.mark.parametrize("user", ["José", "田中", "アイコ", "aiko"])
async def test_user_of_the_header_is_the_one_of_the_query(
    http: httpx.AsyncClient, user: str
) -> None:
    turn = await http.post(TURNS, json={"input": "My name is known."}, headers=named(user))
    assert turn.status_code == 200, turn.text
    listed = await http.get("/v1/sessions", params={"user": user})
    assert [item["session"] for item in listed.json()["items"]] == ["s"]
    assert (
        await http.get("/v1/sessions", params={"user": user}, headers=named(user))
    ).status_code == 200
    await http.delete(f"/v1/users/{user}")
    assert (await http.get("/v1/sessions", headers=named(user))).json()["items"] == []


async def test_name_that_is_not_utf_8_is_refused_and_says_what_to_send(
    http: httpx.AsyncClient,
) -> None:
    refused = await http.post(TURNS, json={"input": "x"}, headers=LATIN_1)
    assert refused.status_code == 422
    assert "X-User is not UTF-8" in refused.json()["detail"]
    assert "?user=Jos%C3%A9" in refused.json()["detail"]
    assert (await http.get("/v1/sessions", params={"user": "José"})).json()["items"] == []


async def test_percent_signs_in_a_header_are_part_of_the_name(http: httpx.AsyncClient) -> None:
    await http.post(TURNS, json={"input": "x"}, headers=named("Jos%C3%A9"))
    assert (await http.get("/v1/sessions", params={"user": "José"})).json()["items"] == []
    listed = await http.get("/v1/sessions", params={"user": "Jos%C3%A9"})
    assert len(listed.json()["items"]) == 1


@pytest.mark.parametrize("user", ["a" * 129, "a/b", "a\tb", ""])
async def test_bounds_of_names_hold_in_headers(http: httpx.AsyncClient, user: str) -> None:
    refused = await http.get("/v1/sessions", headers=named(user))
    assert refused.status_code == 422


async def test_128_characters_of_any_script_are_a_name(http: httpx.AsyncClient) -> None:
    assert (await http.get("/v1/sessions", headers=named("田" * 128))).status_code == 200


@pytest.fixture
def guarded() -> FastAPI:
    tokens = {"José": SecretStr("geheim-é"), "JosÃ©": SecretStr("another")}
    return scripted_app(build_container(Settings(store="memory", auth_tokens=tokens)))


async def test_token_of_a_name_beyond_ascii_opens_what_its_header_names(guarded: FastAPI) -> None:
    theirs = ("Authorization", "Bearer geheim-é")
    async with client(guarded) as http:
        for encoding in ("utf-8", "latin-1"):
            token = [(name.encode(), value.encode(encoding)) for name, value in [theirs]]
            own = await http.get("/v1/sessions", headers=[*token, *named("José")])
            assert own.status_code == 200, encoding
        other = await http.get("/v1/sessions", headers=[*token, *named("JosÃ©")])
        assert other.status_code == 403
        unreadable = await http.get("/v1/sessions", headers=[*token, *LATIN_1])
        assert unreadable.status_code == 422
        assert "X-User is not UTF-8" in unreadable.json()["detail"]
        assert (await http.get("/v1/sessions", headers=LATIN_1)).status_code == 401
    await guarded.state.acc_ace.close()


def test_cookies_that_are_no_unicode_open_nothing() -> None:
    scope = {"headers": [(b"cookie", b"acc_ace_login=\xe9")]}
    assert Identities({"alice": SecretStr("t")}).of_request(scope) is None


async def test_bounds_of_names_in_headers_are_described(http: httpx.AsyncClient) -> None:
    parameters = (await http.get("/openapi.json")).json()["paths"]["/v1/sessions"]["get"][
        "parameters"
    ]
    query, header = (
        next(item["schema"]["anyOf"] for item in parameters if item["name"] == name)
        for name in ("user", "x-user")
    )
    assert header == query
