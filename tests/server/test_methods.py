"""What HTTP asks of any server: HEAD, `Allow`, one length of a body, repeats without an error."""

import asyncio
import logging

import httpx
import pytest
from pydantic import SecretStr

from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.server.process import check_exposure

TURN = "/v1/sessions/s/turns"


async def hello(http: httpx.AsyncClient) -> httpx.Response:
    """The same turn each time."""
    return await http.post(TURN, json={"input": "Hello."}, headers={"Idempotency-Key": "k-1"})


@pytest.mark.parametrize("path", ["/health", "/v1/sessions", "/v1/playbook", "/ui/", "/list-apps"])
async def test_head_is_get_without_its_body(http: httpx.AsyncClient, path: str) -> None:
    whole, head = await http.get(path), await http.head(path)
    assert head.status_code == whole.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == whole.headers["content-type"]


async def test_head_of_what_is_not_there_is_404(http: httpx.AsyncClient) -> None:
    head = await http.head("/v1/sessions/never/ccs")
    assert (head.status_code, head.content) == (404, b"")


async def test_head_of_a_stream_ends(http: httpx.AsyncClient) -> None:
    await hello(http)
    async with asyncio.timeout(30):
        head = await http.head("/sse/timeline", params={"session": "s"})
    assert head.status_code == 200
    assert head.headers["content-type"].startswith("text/event-stream")


async def test_allow_names_every_method_of_a_path(http: httpx.AsyncClient) -> None:
    refused = await http.put("/v1/sessions/s")
    assert refused.status_code == 405
    assert {"DELETE"} <= set(refused.headers["allow"].split(", "))
    refused = await http.put("/health")
    assert refused.headers["allow"] == "GET, HEAD"


async def test_two_lengths_of_a_body_are_refused(http: httpx.AsyncClient) -> None:
    headers = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    refused = await http.post(TURN, content=b"{}", headers=headers)
    assert refused.status_code == 400
    assert "not both" in refused.json()["detail"]


async def test_a_turn_sent_again_answers_without_an_error_in_the_log(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        first, again, *both = [
            await hello(http),
            await hello(http),
            *await asyncio.gather(*(hello(http) for _ in range(2))),
        ]
    for each in (again, *both):
        assert each.json()["answer"] == first.json()["answer"]
        assert each.json()["turn"] == 1
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def test_a_token_that_can_be_guessed_is_refused_where_others_reach_the_server() -> None:
    short, long = {"aiko": SecretStr("x")}, {"aiko": SecretStr("x" * 16)}
    check_exposure(Settings(host="127.0.0.1", auth_tokens=short))
    check_exposure(Settings(host="0.0.0.0", auth_tokens=long))  # noqa: S104 - what is refused
    with pytest.raises(ConfigError, match="'aiko' has fewer than 16 characters"):
        check_exposure(Settings(host="0.0.0.0", auth_tokens=short))  # noqa: S104 - what is refused
