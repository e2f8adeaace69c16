"""One user's requests and streams are limited; others are served all the same."""

import asyncio
from collections import Counter

import httpx
import pytest
from pydantic import SecretStr

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.app import create_app
from acc_ace.server.rate_limits import Allowance
from tests.fakes.extensions import needs
from tests.fakes.loopback import served
from tests.server.asgi import client

TOKENS = {user: SecretStr(f"{user}-secret-of-16-letters") for user in ("aiko", "bob")}


def auth(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[user].get_secret_value()}"}


def settings(**limits: int) -> Settings:
    return Settings(
        store="memory", serve_web_interface=False, auth_tokens=TOKENS, limits={**limits}
    )


@needs("embedded")
async def test_ten_thousand_requests_of_one_user_are_clear_errors_and_others_are_served() -> None:
    app = create_app(build_container(settings(requests_per_minute=100)))
    async with client(app) as http:
        asked = [http.get("/v1/models", headers=auth("aiko")) for _ in range(200)]
        refused = [each for each in await asyncio.gather(*asked) if each.status_code != 200]
        assert len(refused) >= 90
        assert {each.status_code for each in refused} == {429}
        assert 0 < int(refused[0].headers["Retry-After"]) <= 60
        assert refused[0].json()["code"] == "too_many_requests"
        assert "ACC_ACE_LIMITS__REQUESTS_PER_MINUTE" in refused[0].json()["detail"]
        assert (await http.get("/v1/models", headers=auth("bob"))).status_code == 200
        for path in ("/readyz", "/ui/main.js"):
            assert (await http.get(path, headers=auth("aiko"))).status_code == 200
    await app.state.acc_ace.close()


@needs("embedded")
async def test_the_routes_of_adk_count_too_and_without_tokens_the_named_user_counts() -> None:
    limits = {"requests_per_minute": 5}
    app = create_app(
        build_container(Settings(store="memory", serve_web_interface=False, limits=limits))
    )
    async with client(app) as http:
        got = [await http.get("/apps/acc_ace/users/aiko/sessions") for _ in range(7)]
        assert Counter(each.status_code for each in got) == {200: 5, 429: 2}
        body = {"appName": "acc_ace", "userId": "aiko", "sessionId": "s"}
        assert (await http.post("/run_sse", json=body)).status_code == 429
        assert (await http.get("/apps/acc_ace/users/bob/sessions")).status_code == 200
    await app.state.acc_ace.close()


@needs("embedded")
def test_one_user_cannot_hold_all_streams() -> None:
    app = create_app(build_container(settings(streams=3)))
    with served(app) as url, httpx.Client(base_url=url, headers=auth("aiko")) as aiko:
        streams = [aiko.stream("GET", "/sse/timeline") for _ in range(5)]
        got = [each.__enter__() for each in streams]
        assert [each.status_code for each in got] == [200, 200, 200, 429, 429]
        assert "ACC_ACE_LIMITS__STREAMS" in got[-1].read().decode()
        with httpx.stream("GET", f"{url}/sse/timeline", headers=auth("bob")) as other:
            assert other.status_code == 200
        for each in streams:
            each.__exit__(None, None, None)
        for _ in range(50):
            with aiko.stream("GET", "/sse/timeline") as again:
                if again.status_code == 200:
                    return
        pytest.fail("a closed stream still counts")


def test_what_is_remembered_of_users_is_bounded_and_time_gives_back() -> None:
    now = 0.0
    allowance = Allowance(2, most=3, clock=lambda: now)
    for name in "abcd" * 2:
        assert allowance.wait_s(name) == 0
        allowance.take(name)
    allowance.take("d")
    assert allowance.wait_s("d") == 30
    now = 30.0
    assert allowance.wait_s("d") == 0


async def test_a_whole_minute_may_be_used_at_once() -> None:
    for per_minute in (1, 3, 7, 600, 999):
        allowance = Allowance(per_minute, clock=lambda: 12345.678)
        for _ in range(per_minute):
            assert allowance.wait_s("a") == 0
            allowance.take("a")
        assert 0 < allowance.wait_s("a") <= 60


@needs("embedded")
async def test_wrong_tokens_at_the_sign_in_are_limited_by_address_and_in_total() -> None:
    app = create_app(build_container(settings(login_tries=3)))
    right = {"token": TOKENS["aiko"].get_secret_value()}

    async def tried(address: str, form: dict[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(app=app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            return await http.post("/login", data=form)

    got = [(await tried("10.0.0.1", {"token": "x"})).status_code for _ in range(5)]
    assert got == [401, 401, 401, 429, 429]
    refused = await tried("10.0.0.1", right)
    assert (refused.status_code, "set-cookie" in refused.headers) == (429, False)
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert (await tried("10.0.0.2", right)).status_code == 303
    many = [(await tried(f"10.0.1.{n}", {"token": "x"})).status_code for n in range(40)]
    assert many.count(401) == 27
    await app.state.acc_ace.close()
