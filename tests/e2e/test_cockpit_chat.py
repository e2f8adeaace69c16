"""The chat of the cockpit: Markdown without HTML, attachments, and who says what."""

import json
from pathlib import Path

import httpx
import pytest

from tests.e2e.browser import Browser
from tests.e2e.processes import Server
from tests.e2e.test_cockpit import browser, chromium, click_found, own, say, shared, shows
from tests.fakes.extensions import needs

__all__ = ["browser", "chromium", "own", "shared"]

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs("embedded")]

RENDER = """
Promise.all(['markdown', 'preact'].map(name => import(`/ui/lib/${name}.js`)))
.then(([{Markdown}, {html, render}]) => {
  const began = performance.now(), box = document.createElement('div');
  render(html`<${Markdown} text=${TEXT} />`, box);
  window.made = {
    tags: [...box.querySelectorAll('.md *')].map(e => e.localName),
    links: [...box.querySelectorAll('a')].map(e => [e.getAttribute('href'), e.rel]),
    handlers: [...box.querySelectorAll('*')].flatMap(e => e.getAttributeNames())
      .filter(name => name.startsWith('on')),
    text: box.textContent, ms: performance.now() - began,
  };
}); 0
"""
EVIL = (
    "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>",
    "[x](javascript:alert(1)) [x](JaVaScRiPt:alert(1)) [x](\u0001javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>) [x](//evil.example) [x](/logout)",
    "[![x](javascript:1)](javascript:2) <javascript:alert(1)> <a href='javascript:1'>x</a>",
    '[x](https://ok.example/"onmouseover="alert(1) "onclick=1") `<b onclick=1>`',
    "| <b>a</b> | [x](javascript:1) |\n|---|---|\n| <i onload=1>c</i> | d |",
    "1. <svg onload=1>\n   - > # <iframe src=javascript:1>",
)
SLOW = ("*" * 20_000, "[" * 20_000, "`" * 20_000, "> " * 10_000, "- " * 10_000, "__a" * 7_000)
KNOWN = {"p", "ul", "ol", "li", "code", "pre", "strong", "em", "s", "a", "blockquote", "hr"} | {
    *("table", "thead", "tbody", "tr", "th", "td", "div")
}


def made(browser: Browser, url: str, text: str) -> dict[str, object]:
    """What Markdown becomes: tags, links, attributes that would run something, text, time."""
    if not browser.evaluate(f"location.href.startsWith({json.dumps(url)})"):
        browser.open(f"{url}/ui/")
    browser.evaluate(f"window.made = null; {RENDER.replace('TEXT', json.dumps(text))}")
    browser.wait(lambda: browser.evaluate("window.made"), "the nodes")
    return dict(browser.evaluate("window.made"))


def test_headings_lists_tables_code_and_links_are_read(browser: Browser, shared: Server) -> None:
    text = (
        "# Plan\n1. **First** `a<b`\n   - deeper *and* ~~not~~\n2. two\n\n> said\n\n"
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n\n```py\nx = 1  # **no**\n```\n"
        "See [docs](https://a.example/x_(y)) or https://b.example/z."
    )
    seen = made(browser, shared.url, text)
    wanted = {"ol", "ul", "strong", "em", "s", "code", "pre", "table", "td", "blockquote", "a"}
    assert wanted <= {*seen["tags"]}  # type: ignore[misc]
    rel = "noopener noreferrer"
    assert seen["links"] == [["https://a.example/x_(y)", rel], ["https://b.example/z", rel]]
    assert "x = 1  # **no**" in str(seen["text"])


@pytest.mark.parametrize("text", EVIL)
def test_nothing_of_a_text_runs_or_loads(browser: Browser, shared: Server, text: str) -> None:
    seen = made(browser, shared.url, text)
    assert {*seen["tags"]} <= KNOWN  # type: ignore[misc]
    assert seen["handlers"] == []
    links = [href for href, _ in seen["links"]]  # type: ignore[attr-defined]
    assert [href for href in links if not href.startswith(("https://", "http://", "mailto:"))] == []
    assert not browser.evaluate("window.hacked ?? false")


def test_marks_without_end_take_no_time(browser: Browser, shared: Server) -> None:
    for text in SLOW:
        assert made(browser, shared.url, text)["ms"] < 1_000, text[:9]  # type: ignore[operator]


def test_a_text_file_goes_with_the_message_and_another_file_does_not(
    browser: Browser, own: Server, tmp_path: Path
) -> None:
    note, image = tmp_path / "runbook.md", tmp_path / "plan.png"
    note.write_text("The failover takes 40 minutes.", encoding="utf-8")
    image.write_bytes(b"\x89PNG\x00\x01")
    browser.open(f"{own.url}/ui/#/session/acc_ace/user/incident")
    shows(browser, "turn 4 of 4")
    browser.attach(".composer input[type=file]", image)
    shows(browser, "Not attached: plan.png.")
    browser.attach(".composer input[type=file]", note)
    shows(browser, "runbook.md")
    say(browser, "What does the runbook say of the failover?")
    shows(browser, "turn 5 of 5")
    [turn] = httpx.get(f"{own.url}/v1/sessions/incident/turns?limit=1").json()["items"]
    assert turn["input"]["attachments"] == ["runbook.md"]
    click_found(browser, "document.querySelector('.turn:last-of-type .no')")
    assert browser.evaluate("document.querySelectorAll('.chat > .chips').length") == 0


def test_user_and_agent_do_not_look_alike(browser: Browser, shared: Server) -> None:
    browser.open(f"{shared.url}/ui/#/session/acc_ace/user/incident")
    shows(browser, "Who is the incident commander?")
    style = "['.said', '.answer'].map(e => getComputedStyle(document.querySelector(e))"
    colours = browser.evaluate(f"{style}.backgroundColor)")
    assert colours[0] != colours[1]
    shows(browser, "You")
