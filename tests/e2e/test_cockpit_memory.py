"""The cockpit's memory tabs: earlier rules, provenance, search over turns, sharing, users."""

from pathlib import Path

import httpx
import pytest

from tests.e2e.browser import Browser
from tests.e2e.processes import Server
from tests.e2e.test_cockpit import (
    EVIL,
    RULE,
    browser,
    chromium,
    click_text,
    own,
    post,
    shared,
    shows,
)
from tests.fakes.extensions import needs

__all__ = ["browser", "chromium", "own", "shared"]

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs("embedded")]

SESSION = "#/session/acc_ace/user/incident"
KEY = "AKIAIOSFODNN7EXAMPLE"
CAUGHT = """
window.caught = null;
URL.createObjectURL = (blob) => (blob.text().then(text => { window.caught = text }), 'blob:x');
HTMLAnchorElement.prototype.click = function () { window.named = this.download }; 0
"""


def test_the_rules_of_the_turn_that_is_looked_at_are_told_from_those_of_now(
    browser: Browser, own: Server
) -> None:
    assert httpx.delete(f"{own.url}/v1/sessions/incident/rules/c-0001").status_code == 204
    browser.open(f"{own.url}/ui/{SESSION}/turn/3/rules")
    shows(browser, "In force at turn 3", RULE, "no longer in force", "No rules are in force.")
    browser.open(f"{own.url}/ui/?first{SESSION}/turn/1/rules")
    shows(browser, "No rules were in force.")


def test_a_rule_says_who_said_it_when_and_leads_to_its_turn(
    browser: Browser, shared: Server
) -> None:
    [said] = httpx.get(f"{shared.url}/v1/sessions/incident/turns?before=3&limit=1").json()["items"]
    browser.open(f"{shared.url}/ui/{SESSION}/turn/4/rules")
    card = "document.querySelector('.panel .card')?.innerText"
    browser.wait(lambda: said["at"][:4] in str(browser.evaluate(f"{card} ?? ''")), "its day")
    click_text(browser, "turn 2")
    shows(browser, "turn 2 of 4")


def test_what_was_said_is_found_and_leads_to_its_turn(browser: Browser, shared: Server) -> None:
    browser.open(f"{shared.url}/ui/{SESSION}/turn/4/find")
    browser.type("input[name=words]", "checkout service owner Tom")
    shows(browser, "Aiko is the incident commander and Tom owns the checkout service.")
    click_text(browser, "turn 3")
    shows(browser, "turn 3 of 4")


def test_a_session_is_saved_as_one_page_that_runs_nothing_and_tells_no_secret(
    browser: Browser, own: Server, tmp_path: Path
) -> None:
    said = f"Note this: {EVIL.replace('{}', 'share')} and our key {KEY}."
    post(own.url, "/v1/sessions/incident/turns", {"input": said})
    browser.open(f"{own.url}/ui/{SESSION}")
    shows(browser, "turn 5 of 5", "Note this:")
    browser.evaluate(CAUGHT)
    click_text(browser, "Save as HTML")
    browser.wait(lambda: browser.evaluate("window.caught"), "the file")
    page = str(browser.evaluate("window.caught"))
    assert browser.evaluate("window.named") == "incident.html"
    assert KEY not in page
    assert "default-src 'none'" in page
    file = tmp_path / "incident.html"
    file.write_text(page, encoding="utf-8")
    browser.open(file.as_uri())
    shows(browser, RULE, "<img src=x onerror=", "Who is the incident commander?")
    assert browser.evaluate("window.hacked ?? document.querySelectorAll('script, img').length") == 0


def test_an_operator_sees_users_and_apps(browser: Browser, own: Server) -> None:
    post(own.url, "/v1/sessions/s/turns?user=Keiko", {"input": "Hello."})
    browser.open(f"{own.url}/ui/#/users")
    shows(browser, "Keiko", "acc_ace")
    browser.type("[data-search]", "keik")
    click_text(browser, "Keiko")
    shows(browser, "Session\tWhat it is about")
    assert browser.evaluate("location.hash") == "#/sessions?app=acc_ace&user=Keiko"
