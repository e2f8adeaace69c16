"""The demo's page: who can stop the act, side by side, as a person sees it."""

import json
from collections.abc import Iterator

import pytest

from acc_ace import build_container, hooks
from acc_ace.cli.demo import demo_app
from config import Settings
from tests.e2e.browser import Browser
from tests.e2e.test_accessibility import FOUND, axe
from tests.e2e.test_cockpit import browser, chromium, click_text, shows
from tests.fakes.extensions import needs
from tests.fakes.loopback import served

__all__ = ["axe", "browser", "chromium"]

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs("embedded")]

OVER = "document.querySelectorAll('.acts section .tag:not(.pending)').length === 9"


@pytest.fixture
def url() -> Iterator[str]:
    app, *_ = demo_app(build_container(Settings(store="memory")), language="en", pace=0)
    with served(app, lives=True) as address:
        yield address


def open_demo(browser: Browser, url: str, *, width: int = 1280) -> None:
    browser.show(width=width, height=900)
    browser.open(f"{url}/ui/#/demo")
    browser.wait(lambda: browser.evaluate(OVER), "every moment to be played")


@needs("guard")
def test_the_columns_say_how_often_it_ran_and_quote_the_rule_where_it_did_not(
    browser: Browser, url: str
) -> None:
    open_demo(browser, url)
    columns = browser.evaluate("[...document.querySelectorAll('.score li')].map(e => e.innerText)")
    assert ["ran 3 of 3 times" in text for text in columns] == [True, True, False]
    shows(browser, "ran 0 of 3 times", 'Your rule c-0001 says: "Never restart db-01."')
    shows(browser, "The agent is a script", "docs/benchmarks.md")
    assert browser.recorded("Log.entryAdded") == []


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_is_cut_off(
    browser: Browser, url: str, axe: str, width: int
) -> None:
    open_demo(browser, url, width=width)
    browser.evaluate(f"{axe}; window.found = null; {FOUND}; 0")
    browser.wait(lambda: browser.evaluate("window.found !== null"), "axe to end")
    assert json.loads(browser.evaluate("JSON.stringify(window.found)")) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_the_conversation_and_what_is_remembered_are_one_link_away(
    browser: Browser, url: str
) -> None:
    open_demo(browser, url)
    click_text(browser, "Also playing: a 50-turn conversation")
    shows(browser, "Promises", "12 kept, 0 broken, 0 pending")
    open_demo(browser, url)
    click_text(browser, "What ACC×ACE remembers of this")
    shows(browser, "turn 7 of 7", "Never restart db-01.")


def test_without_the_guard_the_page_names_what_is_missing(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(hooks.EXTENSIONS, "guard", "")
    app, *_ = demo_app(build_container(Settings(store="memory")), language="en", pace=0)
    with served(app, lives=True) as url:
        open_demo(browser, url)
        shows(browser, "The extension 'guard' is not installed")
