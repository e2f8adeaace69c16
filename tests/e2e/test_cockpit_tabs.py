"""Forty tabs of the cockpit in one browser, which has six connections to a host."""

from pathlib import Path

import httpx
import pytest

from tests.e2e.browser import Browser, find_chromium
from tests.e2e.processes import Server, our_server
from tests.fakes.extensions import needs

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs("embedded")]

TABS = 40
SESSIONS = 5
STREAMS = 3


def bearer(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}-secret-of-16-letters"}


def say(
    server: Server, text: str, *, user: str = "user", headers: dict[str, str] | None = None
) -> None:
    for number in range(SESSIONS):
        path = f"{server.url}/v1/sessions/s{number}/turns"
        query = {"user": user}
        told = httpx.post(path, params=query, headers=headers, json={"input": text}, timeout=60)
        assert told.status_code == 200, told.text


def opened(browser: Browser, server: Server, users: list[str]) -> list[Browser]:
    """A tab for each user, on one of their sessions."""
    tabs = [browser, *(browser.tab() for _ in users[1:])]
    for number, (tab, user) in enumerate(zip(tabs, users, strict=True)):
        tab.open(f"{server.url}/ui/#/session/acc_ace/{user}/s{number % SESSIONS}")
        tab.wait(lambda tab=tab: "turn 1 of 1" in tab.text(), f"tab {number}")  # type: ignore[misc]
    return tabs


def all_show(tabs: list[Browser], text: str) -> None:
    for number, tab in enumerate(tabs):
        tab.wait(lambda tab=tab: text in tab.text(), f"{text!r} in tab {number}")  # type: ignore[misc]


def streams(server: Server, headers: dict[str, str] | None = None) -> int:
    answer = httpx.get(f"{server.url}/metrics", headers=headers, timeout=30)
    return int(answer.json()["streams"])


def signed_in(tab: Browser, server: Server, user: str) -> None:
    """Sign in as a person does, and look at a session of one's own."""
    tab.open(f"{server.url}/login")
    token = bearer(user)["Authorization"].removeprefix("Bearer ")
    tab.wait(lambda: "Sign in" in tab.text(), "the page that asks for a token")
    field = "document.querySelector('[name=token]')"
    tab.evaluate(f"{field}.value = '{token}', {field}.form.submit()")
    tab.wait(lambda: "Sign in" not in tab.text(), f"{user} to be signed in")
    tab.open(f"{server.url}/ui/#/session/acc_ace/{user}/s0")
    tab.wait(lambda: "turn 1 of 1" in tab.text(), f"the session of {user}")


@pytest.fixture
def chromium() -> str:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium is installed; apt-get install chromium")
    return executable


def test_forty_tabs_load_and_share_one_stream_whichever_of_them_are_closed(
    chromium: str, tmp_path: Path
) -> None:
    with our_server(tmp_path) as server, Browser(chromium) as browser:
        say(server, "Aiko leads the incident.")
        tabs = opened(browser, server, ["user"] * TABS)
        all_show(tabs, "live")
        assert streams(server) == 1
        say(server, "Tomoko owns checkout.")
        all_show(tabs, "Tomoko")
        for _ in range(5):
            tabs.pop(1).close()
        say(server, "Kenichiro owns the database.")
        all_show(tabs, "Kenichiro")
        assert streams(server) == 1


def test_tabs_of_many_users_take_turns_and_miss_nothing(chromium: str, tmp_path: Path) -> None:
    users = [f"user-{number}" for number in range(8)]
    with our_server(tmp_path) as server, Browser(chromium) as browser:
        for user in users:
            say(server, "Aiko leads the incident.", user=user)
        tabs = opened(browser, server, users)
        assert streams(server) <= STREAMS
        for user in users:
            say(server, "Tomoko owns checkout.", user=user)
        all_show(tabs, "Tomoko")
        assert streams(server) <= STREAMS


def test_who_signs_in_next_shares_no_stream_with_who_was_signed_in(
    chromium: str, tmp_path: Path
) -> None:
    tokens = ",".join(f"{user}:{user}-secret-of-16-letters" for user in ("aiko", "bob"))
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS=tokens) as server, Browser(chromium) as browser:
        for user in ("aiko", "bob"):
            say(server, f"{user} leads the incident.", user=user, headers=bearer(user))
        signed_in(browser, server, "aiko")
        all_show([browser], "live")
        tab = browser.tab()
        signed_in(tab, server, "bob")
        all_show([tab], "live")
        assert streams(server, bearer("bob")) == 2
        say(server, "Tomoko owns checkout.", user="bob", headers=bearer("bob"))
        all_show([tab], "Tomoko")
        assert "Tomoko" not in browser.text()
