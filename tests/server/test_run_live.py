"""ADK's `/run_live`: our app takes text alone, and says so."""

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

MOST_BYTES_OF_A_REASON = 123
LIVE = {
    "type": "websocket",
    "path": "/run_live",
    "query_string": b"app_name=acc_ace&user_id=user&session_id=s",
    "headers": [(b"host", b"127.0.0.1:8000")],
    "client": ("127.0.0.1", 40_000),
    "server": ("127.0.0.1", 8000),
    "scheme": "ws",
    "subprotocols": [],
}


async def closing(app: FastAPI) -> dict[str, Any]:
    """The message that closes a connection on which the client says nothing."""
    sent: list[dict[str, Any]] = []
    asked = iter([{"type": "websocket.connect"}])

    async def receive() -> dict[str, Any]:
        message = next(asked, None)
        return message if message is not None else await asyncio.Future()

    async def send(message: Any) -> None:
        sent.append(message)

    await asyncio.wait_for(app(dict(LIVE), receive, send), 30)
    return sent[-1]


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")
async def test_a_live_session_is_closed_with_what_to_do_instead(
    app: FastAPI, http: httpx.AsyncClient
) -> None:
    await http.post("/apps/acc_ace/users/user/sessions", json={"sessionId": "s"})
    closed = await closing(app)
    assert closed["type"] == "websocket.close"
    assert closed["reason"] == (
        "live (audio or video) sessions are not supported; send text to /run or /run_sse"
    )
    assert len(closed["reason"].encode()) <= MOST_BYTES_OF_A_REASON
