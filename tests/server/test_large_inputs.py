"""Over HTTP a long message is taken whole, as plain ADK takes it; the body's limit stays."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from acc_ace import build_container
from acc_ace.core.text.tokens import estimate_tokens
from config import Settings
from schemas.limits import Limits
from tests.fakes.default_replies import prompt_text
from tests.fakes.reading_llm import reads
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.test_large_inputs import LEFT, SHY, around
from tests.server.asgi import client, scripted_app

LONG = around(SHY, before=60, after=4_600)


@pytest.fixture
def llm() -> ScriptedLlm:
    return ScriptedLlm().on("compressor", reads({SHY: "restriction"}))


@pytest.fixture
async def http(llm: ScriptedLlm) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        store="memory", learning="off", serve_web_interface=False, limits=Limits(read_calls=2)
    )
    app = scripted_app(build_container(settings), llm)
    async with client(app, timeout=60) as opened:
        yield opened
    await app.state.acc_ace.close()


async def test_a_long_message_is_a_turn(http: httpx.AsyncClient, llm: ScriptedLlm) -> None:
    assert len(LONG.encode()) > 200_000
    response = await http.post("/v1/sessions/s1/turns", json={"input": LONG})
    assert response.status_code == 200
    report = response.json()
    assert any(SHY in note for note in report["notes"])
    assert any(LEFT in note for note in report["notes"])
    assert len(llm.requests_of("compressor")) == 2
    assert max(estimate_tokens(prompt_text(each)) for each in llm.requests) < 16_000


async def test_it_is_one_over_the_routes_of_adk_too(http: httpx.AsyncClient) -> None:
    where = {"appName": "acc_ace", "userId": "user", "sessionId": "s1"}
    await http.post("/apps/acc_ace/users/user/sessions", json={"sessionId": "s1"})
    message = {"role": "user", "parts": [{"text": LONG}]}
    response = await http.post("/run", json={**where, "newMessage": message})
    assert response.status_code == 200
    assert SHY in json.dumps(response.json()[-1])


@pytest.mark.parametrize("name", ["input", "attachments"])
async def test_ten_megabytes_are_refused_with_the_setting_and_change_nothing(
    http: httpx.AsyncClient, llm: ScriptedLlm, name: str
) -> None:
    much = "word " * 2_000_000
    body: dict[str, Any] = {"input": "See."}
    body[name] = much if name == "input" else [{"text": much}]
    response = await http.post("/v1/sessions/s1/turns", json=body)
    assert response.status_code == 413
    assert "ACC_ACE_LIMITS__INPUT_TOKENS" in response.json()["detail"]
    assert llm.requests == []
