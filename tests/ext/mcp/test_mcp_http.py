"""Many users over streamable HTTP: each has their own memory, and nobody has all of the server."""

import asyncio
from contextlib import suppress

import httpx2
import pytest
from pydantic import SecretStr

from acc_ace.bootstrap import build_container
from acc_ace.errors import ConfigError
from acc_ace.ext.mcp.http import serve_http
from config import Settings
from schemas.base import SessionKey
from tests.ext.mcp.clients import (
    AIKO,
    BOB,
    GENERATIONS,
    TOKENS,
    Person,
    remote,
    served,
    server,
)
from tests.ext.mcp.hands import say
from tests.fakes.extensions import needs

pytestmark = needs("embedded")

RULE = "Never restart db-01."
JSON = {"Accept": "application/json, text/event-stream"}
CLIENT = {"name": "t", "version": "1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
BEGIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def two_users(**fields: object) -> Settings:
    tokens = {user: SecretStr(token) for user, token in TOKENS.items()}
    return Settings(auth_tokens=tokens, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", GENERATIONS)
async def test_each_token_reaches_the_memory_of_its_user_alone(mode: str) -> None:
    person = Person("decline")
    await say(RULE, user="aiko")
    async with (
        served(two_users()) as url,
        remote(url, AIKO, mode, person) as aiko,
        remote(url, BOB, mode) as bob,
    ):
        await asyncio.gather(*(aiko.rules() for _ in range(4)), *(bob.rules() for _ in range(4)))
        assert (await aiko.rules(), await bob.rules()) == ([RULE], [])
        assert (await bob.told("recall", query="restart db-01"))["evidence"] == []
        text = (await bob.client.read_resource("acc-ace://state")).contents[0]
        assert RULE not in text.text  # type: ignore[union-attr]
        assert (await bob.call("rules", action="lift", id="c-0001")).is_error
        await aiko.told("rules", action="lift", id="c-0001")
        assert (await aiko.rules(), len(person.asked)) == ([RULE], 1)


async def test_a_session_of_the_protocol_is_closed_to_another_token() -> None:
    async with served(two_users()) as url, httpx2.AsyncClient(headers=JSON) as http:
        mine, other = ({"Authorization": f"Bearer {token}"} for token in (AIKO, BOB))
        opened = await http.post(url, json=BEGIN, headers=mine)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        assert (await http.post(url, json=LIST, headers=other | session)).status_code == 404
        assert (await http.post(url, json=LIST, headers=mine | session)).status_code == 200


async def test_who_opens_sessions_without_end_closes_their_own_and_nobody_elses() -> None:
    async with served(two_users()) as url, httpx2.AsyncClient(headers=JSON) as http:

        async def opened(token: str) -> dict[str, str]:
            mine = {"Authorization": f"Bearer {token}"}
            answer = await http.post(url, json=BEGIN, headers=mine)
            return mine | {"Mcp-Session-Id": answer.headers["mcp-session-id"]}

        async def status(session: dict[str, str]) -> int:
            return (await http.post(url, json=LIST, headers=session)).status_code

        bob = await opened(BOB)
        used, *others = [await opened(AIKO) for _ in range(20)]
        assert await status(used) == 200
        newest = await opened(AIKO)
        codes = [await status(each) for each in (used, others[0], others[1], newest, bob)]
    assert codes == [200, 404, 200, 200, 200]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
    ids=str,
)
async def test_the_guards_of_the_server_stand_before_it(
    headers: dict[str, str], status: int
) -> None:
    known = {"Authorization": f"Bearer {AIKO}", "Content-Type": "application/json"}
    async with served(two_users()) as url, httpx2.AsyncClient(headers=JSON | known) as http:
        refused = await http.post(url, json=LIST, headers=headers)
        too_large = await http.post(url, content=b" " * 3_000_000)
    assert (refused.status_code, too_large.status_code) == (status, 413)


async def test_what_is_no_request_of_the_protocol_is_an_error_of_the_protocol() -> None:
    bodies = [
        b"{",
        b"[]",
        b'"x"',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": "x"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": 3}',
        b"[" * 100_000,
    ]
    async with served(Settings()) as url, httpx2.AsyncClient(headers=JSON) as http:
        for body in bodies:
            answer = await http.post(
                url, content=body, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in range(400, 500), body[:80]
        async with remote(url) as later:
            assert await later.rules() == []


async def test_requests_beyond_the_limit_of_a_user_are_refused_and_others_are_served() -> None:
    limits = Settings().limits.model_copy(update={"requests_per_minute": 20})
    async with served(two_users(limits=limits)) as url, httpx2.AsyncClient(headers=JSON) as http:
        flood = [
            http.post(url, json=LIST, headers={"Authorization": f"Bearer {AIKO}"})
            for _ in range(60)
        ]
        codes = [answer.status_code for answer in await asyncio.gather(*flood)]
        assert codes.count(429) >= 40
        async with remote(url, BOB) as bob:
            assert await bob.rules() == []


async def test_a_text_is_kept_although_its_client_is_gone_before_the_answer() -> None:
    container = build_container(Settings())
    key = SessionKey("acc_ace", "user", "mcp")
    async with served(Settings()) as url:
        async with remote(url) as first:
            await first.told("remember", text="The bucket is gs://foo.")
        async with container.lock.hold(key, wait_s=5):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5), remote(url) as leaves:
                    await leaves.told("remember", text="Host 7 is up.")
        async with remote(url) as stays, asyncio.timeout(10):
            while (await stays.told("state"))["turn"] < 2:  # noqa: ASYNC110 - kept meanwhile
                await asyncio.sleep(0.02)
    await container.close()


async def test_who_sends_and_leaves_again_and_again_keeps_nobody_else_waiting() -> None:
    container = build_container(two_users())
    key = SessionKey("acc_ace", "aiko", "mcp")
    async with served(two_users()) as url, remote(url, BOB) as bob:
        await bob.rules()

        async def leave() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(1), remote(url, AIKO) as aiko:
                    await aiko.call("remember", text="Host 7 is up.")

        async with container.lock.hold(key, wait_s=5):
            for _ in range(2):
                await asyncio.gather(*(leave() for _ in range(12)))
            await bob.told("remember", text="The bucket is gs://foo.")
        async with remote(url, AIKO) as aiko:
            await aiko.rules()
    # The server has ended, and with it what was being kept.
    head = await container.journal.head(key)
    await container.close()
    assert head is not None
    assert 1 <= head.state.turn <= 16


async def test_a_flood_of_calls_is_bounded_and_each_that_is_confirmed_is_kept() -> None:
    container = build_container(Settings())
    key = SessionKey("acc_ace", "user", "mcp")
    limits = Settings().limits.model_copy(update={"streams": 100})
    async with served(Settings(limits=limits)) as url, remote(url) as floods:
        await floods.rules()
        async with container.lock.hold(key, wait_s=5):
            calls = [
                asyncio.create_task(floods.call("remember", text=f"Host {at} is up."))
                for at in range(40)
            ]
            async with asyncio.timeout(60):
                while sum(each.done() for each in calls) < 24:  # noqa: ASYNC110 - refused so far
                    await asyncio.sleep(0.05)
        ended = await asyncio.gather(*calls, return_exceptions=True)
        kept = [each for each in ended if not isinstance(each, BaseException)]
        assert len(kept) == 16
        assert (await floods.told("state"))["turn"] == len(kept)
    await container.close()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"host": "192.0.2.1"}, "ACC_ACE_AUTH_TOKENS"),
        ({"host": "192.0.2.1", "auth_tokens": {"aiko": SecretStr("a")}}, "16 characters"),
    ],
)
def test_a_server_that_others_reach_needs_tokens_that_nobody_guesses(
    fields: dict[str, object], words: str
) -> None:
    chosen = Settings(**fields)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=words):
        serve_http(server(chosen), chosen, port=0)
