"""Documents over HTTP: put, listed, read, recalled, replaced, deleted, refused."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.core.schemas.limits import Limits
from acc_ace.server.app import create_app
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

PATH = "/v1/memory/documents"
RUNBOOK = "# Fail over\nPromote with pg_ctl promote.\n\n# 夜間\n営業時間内は再起動を禁止する。\n"


async def put(
    http: httpx.AsyncClient, name: str, data: bytes, media_type: str = "text/plain", **more: Any
) -> httpx.Response:
    headers = {"Content-Type": media_type}
    return await http.put(PATH, params={"name": name, **more}, content=data, headers=headers)


async def test_a_document_is_put_listed_read_and_deleted(http: httpx.AsyncClient) -> None:
    first = await put(http, "ops/runbook.md", RUNBOOK.encode(), "text/markdown")
    assert first.status_code == 200, first.text
    assert (first.json()["stored"], first.json()["removed"]) == (1, 0)
    again = await put(http, "ops/runbook.md", RUNBOOK.encode())
    assert again.json()["stored"] == 0
    changed = await put(http, "ops/runbook.md", b"Short.")
    assert (changed.json()["stored"], changed.json()["removed"]) == (1, 1)
    [item] = (await http.get(PATH)).json()["items"]
    assert (item["name"], item["parts"], item["complete"]) == ("ops/runbook.md", 1, True)
    named = {"name": "ops/runbook.md"}
    page = (await http.get(f"{PATH}/parts", params=named)).json()
    assert [part["content"] for part in page["items"]] == ["Short."]
    assert page["next_after"] is None
    assert (await http.delete(PATH, params=named)).json() == {"removed": 1}
    gone = await http.get(f"{PATH}/parts", params=named)
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert (await http.delete(PATH, params=named)).status_code == 404


async def test_records_and_documents_come_by_the_page(http: httpx.AsyncClient) -> None:
    lines = [json.dumps({"content": f"Fact {n}.", "id": f"f{n}"}) for n in range(5)]
    for name in ("a", "b", "c"):
        data = "\n".join(lines).encode()
        assert (await put(http, name, data, "application/x-ndjson")).json()["parts"] == 5
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        params: dict[str, Any] = {"name": "a", "limit": 2, "after": after}
        page = (await http.get(f"{PATH}/parts", params=params)).json()
        assert page["parts"] == 5
        seen += [part["record"] for part in page["items"]]
        after = page["next_after"]
    assert seen == ["f0", "f1", "f2", "f3", "f4"]
    first = (await http.get(PATH, params={"limit": 2})).json()
    rest = (await http.get(PATH, params={"limit": 2, "after": first["next_after"]})).json()
    assert sorted(item["name"] for item in first["items"] + rest["items"]) == ["a", "b", "c"]
    assert rest["next_after"] is None


async def test_documents_belong_to_the_user_who_asks(http: httpx.AsyncClient) -> None:
    await put(http, "mine.md", b"Mine.", user="aiko")
    assert (await http.get(PATH, params={"user": "ben"})).json()["items"] == []
    params = {"user": "ben", "name": "mine.md"}
    for refused in (
        await http.get(f"{PATH}/parts", params=params),
        await http.delete(PATH, params=params),
    ):
        assert refused.status_code == 404
        reported = "memory holds no document 'mine.md'; list them with GET /v1/memory/documents"
        assert refused.json()["detail"] == reported


async def test_with_tokens_the_token_says_whose_document_it_is_whatever_it_says_itself() -> None:
    token = "t" * 32
    settings = Settings(
        store="memory", serve_web_interface=False, auth_tokens={"aiko": SecretStr(token)}
    )
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as http:
        assert (await put(http, "a.txt", b"text")).status_code == 401
        http.headers["Authorization"] = f"Bearer {token}"
        record = b'{"user_id": "ben", "app_name": "__builder", "content": "The vault opens."}'
        assert (await put(http, "a.jsonl", record)).status_code == 200
        assert (await put(http, "a.jsonl", record, user="ben")).status_code == 403
        assert [item["name"] for item in (await http.get(PATH)).json()["items"]] == ["a.jsonl"]
    await app.state.acc_ace.close()


async def test_the_charset_of_the_request_is_the_encoding(http: httpx.AsyncClient) -> None:
    data = "再起動は禁止です。".encode("cp932")
    assert (await put(http, "a.txt", data, "text/plain; charset=cp932")).status_code == 200
    page = (await http.get(f"{PATH}/parts", params={"name": "a.txt"})).json()
    assert page["items"][0]["content"] == "再起動は禁止です。"


@pytest.mark.parametrize(
    ("data", "media_type", "said"),
    [
        (b"", "text/plain", "empty"),
        (b"abc \xff", "text/plain", "byte 4 (0xFF)"),
        (b"%PDF-1.7", "application/pdf", "a PDF"),
        (b"{}", "application/x-ndjson", "line 1: content"),
        (b"text", "text/plain; charset=klingon", "encoding 'klingon' is not known"),
    ],
)
async def test_what_is_no_text_is_refused_with_the_reason(
    http: httpx.AsyncClient, data: bytes, media_type: str, said: str
) -> None:
    refused = await put(http, "a.txt", data, media_type)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")
    assert said in refused.json()["detail"]
    assert (await http.get(PATH)).json()["items"] == []


async def test_torn_bytes_are_replaced_when_asked(http: httpx.AsyncClient) -> None:
    assert (await put(http, "a.txt", b"abc \xff", lenient=True)).status_code == 200


@pytest.fixture
async def small() -> AsyncIterator[httpx.AsyncClient]:
    """A server that takes uploads of 4 MB, more than other bodies may have."""
    limits = Limits(upload_bytes=4_000_000)
    settings = Settings(store="memory", serve_web_interface=False, limits=limits)
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def test_uploads_have_a_limit_of_their_own(small: httpx.AsyncClient) -> None:
    beyond_others = b"\n" * 3_000_000 + b"text"
    assert (await put(small, "a.txt", beyond_others)).status_code == 200
    refused = await put(small, "a.txt", b"x" * 4_000_001)
    assert (refused.status_code, refused.json()["code"]) == (413, "input_too_large")
    assert "ACC_ACE_LIMITS__UPLOAD_BYTES" in refused.json()["detail"]
    turn = await small.post("/v1/chat", content=beyond_others)
    assert turn.status_code == 413
    assert "ACC_ACE_LIMITS__INPUT_TOKENS" in turn.json()["detail"]
