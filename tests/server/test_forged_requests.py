"""A browser is signed in by a cookie: what another site's page sends with it changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from pydantic import SecretStr

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.identity import COOKIE, PUBLIC, Identities
from tests.fakes.loopback import served
from tests.fakes.routes import READS, Served, served_routes
from tests.server.asgi import scripted_app

pytestmark = pytest.mark.filterwarnings("ignore:Please use create_session:DeprecationWarning")

TOKEN: Final = "aiko-secret"
EVIL: Final = "https://evil.example"
VALUES: Final = {
    "session": "s",
    "turn": "1",
    "id": "c-0001",
    "bullet_id": "b-00001",
    "seq": "1",
    "job": "j",
    "user": "aiko",
    "artifact_id": "turn:s:1",
    "app_name": "acc_ace",
    "user_id": "aiko",
    "session_id": "s",
    "artifact_name": "a",
    "test_name": "t",
    "tool": "refund",
    "eval_set_id": "e",
    "eval_case_id": "c",
}
FORGED: Final[tuple[dict[str, str], ...]] = (
    {},
    {"X-Requested-With": "acc-ace"},
    {"Origin": EVIL},
    {"Origin": "null"},
    {"Origin": EVIL, "X-Forwarded-Host": "evil.example"},
    {"Origin": "{own}", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "{own}", "Sec-Fetch-Site": "same-site"},
    {"Origin": "{own}", "Sec-Fetch-Site": "none"},
)
GENUINE: Final[tuple[dict[str, str], ...]] = (
    {"Origin": "{own}"},
    {"Origin": "{own}", "Sec-Fetch-Site": "same-origin"},
    {"Authorization": f"Bearer {TOKEN}"},
)
REFUSED: Final = "must come from a page of this server"


class Browser(httpx.Client):
    """A client with aiko's cookie, at a server with every route, ADK's web interface included."""

    def __init__(self, url: str, routes: list[Served]) -> None:
        cookie = Identities({"aiko": SecretStr(TOKEN)}).cookie("aiko")
        super().__init__(base_url=url, cookies={COOKIE: cookie}, timeout=60)
        self.own = url
        self.writing = [each for each in routes if each.method not in READS]

    def sends(self, route: Served, headers: dict[str, str]) -> httpx.Response:
        """The answer to a request; `{own}` in a header is the server's own origin."""
        named = {name: value.replace("{own}", self.own) for name, value in headers.items()}
        return self.request(route.method, route.at(VALUES), json={}, headers=named)


@pytest.fixture(params=[(), ("*",)], ids=["own pages", "pages of any origin"])
def browser(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Browser]:
    options: dict[str, Any] = {"allow_origins": request.param}
    tokens = {"aiko": SecretStr(TOKEN), "bob": SecretStr("bob-secret")}
    app = scripted_app(build_container(Settings(data_dir=tmp_path, auth_tokens=tokens, **options)))
    with served(app) as url, Browser(url, [*served_routes(app)]) as opened:
        yield opened


def test_no_route_that_writes_takes_a_forged_request(browser: Browser) -> None:
    said = browser.post(
        "/v1/sessions/s/turns", json={"input": "Hi."}, headers={"Authorization": f"Bearer {TOKEN}"}
    )
    assert said.status_code == 200, said.text
    before = browser.get("/v1/users/aiko/export").text
    tries = 0
    for route in browser.writing:
        if route.path in PUBLIC:
            continue
        for headers in FORGED:
            answer = browser.sends(route, headers)
            assert answer.status_code == 403, (route, headers, answer.text)
            tries += 1
    assert browser.get("/v1/users/aiko/export").text == before
    assert {("POST", "/run"), ("POST", "/run_sse"), ("POST", "/v1/chat")} <= {*browser.writing}
    assert ("PATCH", "/apps/{app_name}/users/{user_id}/memory") in browser.writing
    assert tries >= 400


def test_every_route_that_writes_takes_a_request_of_its_own_page_or_of_a_program(
    browser: Browser,
) -> None:
    """It is answered for what it asks; the bodies here are empty, so few are done."""
    for route in browser.writing:
        for headers in GENUINE:
            assert REFUSED not in browser.sends(route, headers).text, (route, headers)


def test_another_sites_page_signs_nobody_in(browser: Browser) -> None:
    """ADK's own check does it, and lets pages of any origin do it where the operator said so."""
    signed_in = browser.post("/login", data={"token": TOKEN}, headers={"Origin": EVIL})
    assert signed_in.status_code in {303, 403}
    if signed_in.status_code == 303:
        assert signed_in.headers["access-control-allow-origin"] == EVIL


@pytest.mark.parametrize("name", ["token", "access_token", "key", "authorization", COOKIE])
def test_no_token_is_taken_from_an_address(browser: Browser, name: str) -> None:
    browser.cookies.clear()
    for path in ("/v1/sessions", "/sse/timeline", "/ui/me", "/login", "/"):
        asked = browser.get(path, params={name: TOKEN}, follow_redirects=False)
        assert asked.status_code in {401, 200 if path == "/login" else 401}, (path, asked.text)
        assert "set-cookie" not in asked.headers
        assert TOKEN not in asked.text + asked.headers.get("location", "")


def test_after_signing_in_no_address_names_the_token(browser: Browser) -> None:
    browser.cookies.clear()
    form = {"token": TOKEN, "back": "/ui/"}
    signed_in = browser.post("/login", data=form, headers={"Origin": browser.own})
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/ui/")
    assert TOKEN not in str(signed_in.headers)
