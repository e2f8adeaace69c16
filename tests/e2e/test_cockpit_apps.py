"""The cockpit over apps that the server hosts beside its own, and over one that it does not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.app import create_app
from tests.e2e.browser import Browser
from tests.e2e.test_cockpit import browser, chromium, click_text, say, shows
from tests.fakes.confirmed_tool import PAID
from tests.fakes.hosted_desk import agents_folder
from tests.fakes.long_session import lengthen, said
from tests.fakes.loopback import served

__all__ = ["browser", "chromium"]

pytestmark = [pytest.mark.browser, pytest.mark.soak]

RULE = "Never refund more than 20 euros."
TILL = "#/session/desk/user/till"
DESK = {"app": "desk", "user": "user"}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that hosts a stranger's agent with the plugin."""
    settings = Settings(
        data_dir=tmp_path / "data",
        agent_dir=agents_folder(tmp_path / "agents"),
        serve_web_interface=False,
        learning="off",
    )
    container = build_container(settings)
    monkeypatch.setattr("acc_ace.bootstrap.process_container", lambda: container)
    with served(create_app(container)) as address:
        yield address
    for name in [each for each in sys.modules if each.split(".")[0] in {"desk", "bare"}]:
        del sys.modules[name]


def read(url: str, path: str) -> httpx.Response:
    return httpx.get(f"{url}/v1/sessions/till{path}", params=DESK)


def test_a_turn_of_a_plugin_app_is_sent_seen_and_rated(browser: Browser, url: str) -> None:
    browser.open(f"{url}/ui/{TILL}")
    shows(browser, "A new session.")
    browser.evaluate(
        "window.seen = new Set(), new MutationObserver(() => document"
        ".querySelectorAll('.stages li').forEach(e => seen.add(e.innerText.split(/\\s/)[0])))"
        ".observe(document.body, {childList: true, subtree: true})"
    )
    say(browser, RULE)
    shows(browser, "turn 1 of 1", "In force: c-0001", "Noted.", "live")
    assert {"recaller", "qualifier", "compressor"} <= set(browser.evaluate("[...seen]"))
    click_text(browser, "▲")
    browser.wait(
        lambda: browser.evaluate("document.querySelector('.thumb').ariaPressed === 'true'"),
        "the thumb to stay",
    )
    [turn] = read(url, "/turns").json()["items"]
    assert [given["thumbs"] for given in turn["feedback"]] == ["up"]


@pytest.mark.parametrize(("word", "paid"), [("Approve", [50]), ("Refuse", [])])
def test_a_guarded_call_of_a_plugin_app_is_approved_or_refused(
    browser: Browser, url: str, word: str, paid: list[float]
) -> None:
    PAID.clear()
    browser.open(f"{url}/ui/{TILL}")
    say(browser, RULE)
    shows(browser, "Noted.")
    say(browser, "Refund A1.")
    shows(browser, "refund(A1, 50)", word)
    assert PAID == []
    if word == "Refuse":  # It waits for whoever opens the page, too.
        browser.open(f"{url}/ui/?again{TILL}")
        shows(browser, "Refund A1.", "Approve")
    click_text(browser, word)
    shows(browser, "Done.")
    assert "Approve" not in browser.text()
    assert paid == PAID


def test_an_open_question_of_a_plugin_app_is_answered(browser: Browser, url: str) -> None:
    browser.open(f"{url}/ui/{TILL}")
    say(browser, RULE)
    shows(browser, "Noted.")
    say(browser, "I think the ban on refunds is over.")
    browser.wait(lambda: read(url, "/rules").json()["questions"], "a question")
    [asked] = read(url, "/rules").json()["questions"]
    shows(browser, asked["id"])
    click_text(browser, "Leave it as it is")
    gone = "!document.querySelector('.notice.ask')"
    browser.wait(lambda: browser.evaluate(gone), "the question to be settled")
    assert read(url, "/rules").json()["questions"] == []


def test_an_app_whose_data_alone_is_here_says_so(browser: Browser, url: str) -> None:
    browser.open(f"{url}/ui/#/session/elsewhere/user/till")
    shows(browser, "elsewhere runs in another process.")
    assert not browser.evaluate("document.querySelector('.composer textarea')")
    browser.open(f"{url}/ui/?bare#/session/bare/user/s")
    say(browser, "Hello.")
    shows(browser, "the app 'bare' has no BoundedMemoryPlugin")


def test_any_turn_of_a_long_session_is_shown(browser: Browser, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, serve_web_interface=False)
    with served(create_app(build_container(settings))) as url:
        for text in (RULE, "Aiko leads."):
            httpx.post(f"{url}/v1/sessions/long/turns", json={"input": text}, timeout=60)
        lengthen(tmp_path / "memory.db", "long", 3_000)
        browser.open(f"{url}/ui/#/session/acc_ace/user/long/turn/700/state")
        shows(browser, "turn 700 of 3000", said(700), said(724), "version 700 of 3000")
        assert said(3_000) not in browser.text()
        assert browser.evaluate("document.querySelectorAll('.turn').length") == 50
        browser.evaluate(
            "(e => (e.value = 1234, e.dispatchEvent(new Event('change', {bubbles: true}))))"
            "(document.querySelector('.jump'))"
        )
        shows(browser, "turn 1234 of 3000", said(1_234), "version 1234 of 3000")
        browser.press("k", code="KeyK", number=75)
        shows(browser, "turn 1233 of 3000")
        click_text(browser, "To the newest")
        shows(browser, "turn 3000 of 3000", said(3_000))
        assert said(1_234) not in browser.text()
        browser.evaluate("location.hash = location.hash.replace(/turn.*/, 'turn/1500/cost')")
        shows(browser, "turn 1500 of 3000", said(1_500), "Tokens of a replay")
