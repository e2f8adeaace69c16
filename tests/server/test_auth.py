import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acc_ace.server.auth import TokenGuard, login_router
from acc_ace.server.identity import COOKIE, Identities
from acc_ace.server.request_body import BodyLimit
from tests.server.asgi import Echo, client

TOKENS = {"alice": SecretStr("alice-secret"), "bob": SecretStr("bob-secret")}
ALICE = {"Authorization": "Bearer alice-secret"}
ALICE_RAW = (b"authorization", b"Bearer alice-secret")


def guarded(echo: ASGIApp | None = None, tokens: dict[str, SecretStr] | None = None) -> ASGIApp:
    identities = Identities(TOKENS if tokens is None else tokens)
    return BodyLimit(TokenGuard(echo or Echo(), identities=identities), limit=10_000, seconds=30)


async def test_without_tokens_everything_passes_and_nobody_is_proven() -> None:
    async with client(guarded(tokens={})) as http:
        response = await http.get("/dev/apps/acc_ace/debug/trace/e")
    assert response.json()["user"] is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic alice-secret"},
        {"Authorization": "alice-secret"},
        {"Cookie": f"{COOKIE}=alice-secret"},
        {"Cookie": "\x00;;=;"},
    ],
)
async def test_request_without_a_valid_token_is_401(headers: dict[str, str]) -> None:
    echo = Echo()
    async with client(guarded(echo)) as http:
        response = await http.post("/run", json={}, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["code"] == "unauthorized"
    assert echo.calls == 0


async def test_token_proves_its_user() -> None:
    async with client(guarded(), headers=ALICE) as http:
        assert (await http.get("/v1/sessions")).json()["user"] == "alice"


@pytest.mark.parametrize(
    "path",
    [
        "/apps/acc_ace/users/bob/sessions",
        "/apps/acc_ace/users/bob/sessions/s/artifacts",
        "/apps/acc_ace/users/b%6Fb/sessions",
        "/users/bob/sessions",
        "/v1/users/bob",
        "/v1/sessions?user=bob",
        "/run_live?app_name=acc_ace&user_id=bob&session_id=s",
        "/run_live?app_name=acc_ace&user_id=alice&user_id=bob&session_id=s",
    ],
)
async def test_another_users_path_or_query_is_403(path: str) -> None:
    echo = Echo()
    async with client(guarded(echo), headers=ALICE) as http:
        assert (await http.get(path)).status_code == 403
    assert echo.calls == 0


@pytest.mark.parametrize(
    "body",
    [
        '{"user_id": "bob"}',
        '{"userId": "bob"}',
        '{"userId": "alice", "user_id": "bob"}',
        '{"user_id": "alice", "user_id": "bob"}',
        '{"user\\u005fid": "bob"}',
        '{"user_id": "alice", "app_name": "__adk_agent_builder_assistant"}',
    ],
)
async def test_another_user_in_the_body_is_403(body: str) -> None:
    async with client(guarded(), headers=ALICE) as http:
        assert (await http.post("/run", content=body)).status_code == 403


async def test_own_data_passes_by_path_query_and_body() -> None:
    async with client(guarded(), headers=ALICE) as http:
        assert (await http.get("/apps/acc_ace/users/alice/sessions")).status_code == 200
        assert (await http.post("/run_sse", json={"userId": "alice"})).status_code == 200
        assert (await http.delete("/v1/users/alice")).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/dev/apps/acc_ace/debug/trace/session/s",
        "/dev/apps/acc_ace/builder",
        "/config/telemetry",
        "/agent-identity/finalize",
        "/apps/__adk_agent_builder_assistant/users/alice/sessions",
        "/something-new",
    ],
)
async def test_routes_that_show_or_write_for_everybody_are_closed(path: str) -> None:
    async with client(guarded(), headers=ALICE) as http:
        response = await http.get(path)
    assert response.status_code == 403
    assert "closed" in response.json()["detail"]


async def test_probes_need_no_token() -> None:
    async with client(guarded()) as http:
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/readyz")).status_code == 200


@pytest.fixture
def browser() -> httpx.AsyncClient:
    app = FastAPI()
    identities = Identities(TOKENS)
    app.include_router(login_router(identities, tries_per_minute=10))
    app.mount("/", Echo())
    stack = BodyLimit(TokenGuard(app, identities=identities), limit=10_000, seconds=30)
    return client(stack, headers={"Accept": "text/html"})


async def test_browser_is_shown_the_sign_in_page(browser: httpx.AsyncClient) -> None:
    async with browser:
        response = await browser.get("/dev-ui/")
        signed_in = await browser.post("/login", data={"token": "alice-secret", "back": "/dev-ui/"})
    assert response.status_code == 401
    assert '<form method="post" action="/login">' in response.text
    assert '<input type="hidden" name="back" value="/dev-ui/">' in response.text
    assert signed_in.headers["location"] == "/dev-ui/"


async def test_browser_signs_in_once_with_a_token(browser: httpx.AsyncClient) -> None:
    async with browser:
        login = await browser.post("/login", data={"token": "alice-secret"})
        assert login.status_code == 303
        cookie = login.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "alice-secret" not in cookie
        assert (await browser.get("/v1/sessions")).json()["user"] == "alice"
        assert (await browser.get("/v1/users/bob")).status_code == 403


async def test_web_ui_opens_as_the_user_of_the_token(browser: httpx.AsyncClient) -> None:
    async with browser:
        await browser.post("/login", data={"token": "alice-secret"})
        plain = await browser.get("/dev-ui/")
        assert plain.headers["location"] == "/dev-ui/?app=acc_ace&userId=alice"
        kept = await browser.get("/dev-ui/?app=other&session=s")
        assert kept.headers["location"] == "/dev-ui/?app=other&session=s&userId=alice"
        assert (await browser.get(plain.headers["location"])).status_code == 200
        assert (await browser.get("/dev-ui/?userId=bob")).status_code == 403
        assert (await browser.get("/dev-ui/main.js")).status_code == 200


async def test_wrong_token_gets_no_cookie(browser: httpx.AsyncClient) -> None:
    async with browser:
        login = await browser.post("/login", data={"token": "<script>"})
    assert login.status_code == 401
    assert "set-cookie" not in login.headers


def test_cookie_of_a_replaced_token_is_worthless() -> None:
    old = Identities({"alice": SecretStr("old")}).cookie("alice")
    scope = {"headers": [(b"cookie", f"{COOKIE}={old}".encode())]}
    assert Identities({"alice": SecretStr("old")}).of_request(scope) == "alice"
    assert Identities({"alice": SecretStr("new")}).of_request(scope) is None


COOKIE_RAW = (b"cookie", f"{COOKIE}={Identities(TOKENS).cookie('alice')}".encode())
HOST_RAW = (b"host", b"memory.example")


@pytest.mark.parametrize(
    ("headers", "user", "passes"),
    [
        ([], "alice", False),
        ([ALICE_RAW], "bob", False),
        ([ALICE_RAW], "alice", True),
        ([COOKIE_RAW, HOST_RAW], "alice", False),
        ([COOKIE_RAW, HOST_RAW, (b"origin", b"https://evil.example")], "alice", False),
        ([COOKIE_RAW, HOST_RAW, (b"origin", b"https://memory.example")], "alice", True),
    ],
)
async def test_live_connections_need_the_users_own_token(
    headers: list[tuple[bytes, bytes]], user: str, *, passes: bool
) -> None:
    reached: list[Scope] = []
    sent: list[Message] = []

    async def live(scope: Scope, _receive: Receive, _send: Send) -> None:
        reached.append(scope)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    query = f"app_name=acc_ace&user_id={user}&session_id=s".encode()
    scope = {"type": "websocket", "path": "/run_live", "query_string": query, "headers": headers}
    await guarded(live)(scope, receive, send)
    assert bool(reached) is passes
    assert [message["type"] for message in sent] == ([] if passes else ["websocket.close"])
