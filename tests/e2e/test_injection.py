"""Hostile text in every place where a person's or a model's text comes in: the page shows it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.server.app import create_app
from tests.e2e.browser import Browser, find_chromium
from tests.fakes.default_replies import default_reply, prompt_text
from tests.fakes.hostile import MARKUP
from tests.fakes.loopback import served
from tests.fakes.run_files import plan, save_run, step, tick
from tests.fakes.scripted_llm import ScriptedLlm, call

pytestmark = [pytest.mark.browser, pytest.mark.soak]

TABS: Final = ("state", "saw", "rules", "recall", "cost")
PLACES_OF_A_SESSION: Final = (
    *("input", "attachment", "source", "gist", "answer", "rule", "session", "document"),
    *("tool argument", "tool result"),
)
PLACES_OF_A_PLAYBOOK: Final = ("bullet", "section", "rationale")
PLACES_OF_A_RUN: Final = (
    *("objective", "reflection", "subgoal", "watch", "action", "wanted", "why", "cause"),
    *("alert", "log about", "log text", "change", "run name", "file name", "model", "died of"),
)
PLACES_OF_AN_ADDRESS: Final = ("app", "user", "session of a link", "view", "search")
ADDED: Final = (
    "[...document.querySelectorAll('#app *')].filter(e => e.closest('img,script,iframe,object,"
    "embed,style,link,meta,base,form[action],template,slot,math,animate')"
    " || [...e.attributes].some(a => /^on/.test(a.name) ||"
    " /^(href|src|action|formaction|data)$/.test(a.name) && /^\\s*javascript:/i.test(a.value)))"
    ".map(e => e.outerHTML.slice(0, 200))"
)
"""Elements that only a hostile text can have made: the page has none of them itself."""


@pytest.fixture
def browser() -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium is installed; apt-get install chromium")
    with Browser(executable) as opened:
        opened.watch()
        yield opened


class Page:
    """The cockpit in a browser, where nothing hostile may have an effect."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url = browser, url

    def shows(self, route: str, *texts: str) -> None:
        """Open a view; the texts stand there as they are, and none of them has done anything."""
        self.browser.open(f"{self.url}/ui/{route}")
        for text in texts:
            found = f"document.body?.textContent.includes({json.dumps(text)})"
            self.browser.wait(lambda found=found: self.browser.evaluate(found), repr(text))  # type: ignore[misc]
        self.is_untouched()

    def is_untouched(self) -> None:
        """Nothing ran, nothing was made, nothing was asked elsewhere, and no policy was needed."""
        opened = "document.querySelectorAll('details').forEach(e => e.open = true)"
        self.browser.evaluate(f"{opened}, 0")
        assert self.browser.evaluate("'hacked' in window") is False
        assert self.browser.evaluate(ADDED) == []
        said = [str(each) for each in self.browser.recorded("Log.entryAdded")]
        assert [each for each in said if "Content Security Policy" in each] == []
        assert self.browser.recorded("Runtime.exceptionThrown") == []
        asked = [each["request"]["url"] for each in self.browser.recorded(_REQUEST)]
        assert [each for each in asked if not each.startswith((self.url, "data:"))] == []


_REQUEST: Final = "Network.requestWillBeSent"


def notes(text: str) -> dict[str, str]:
    """Keep a note.

    Args:
        text: What to note.
    """
    return {"kept": text}


@contextmanager
def hostile_server(folder: Path) -> Iterator[str]:
    """A server whose models say hostile things, and call a tool with them."""
    tools = ("tests.e2e.test_injection:notes",)
    settings = Settings(data_dir=folder, learning="off", serve_web_interface=False, tools=tools)
    replies = [
        reply
        for text in MARKUP
        for reply in (call("notes", text=text), {"final_answer": f"I say: {text}"})
    ]
    gists = iter(MARKUP)

    def compress(request: LlmRequest) -> dict[str, Any]:
        reply = default_reply("compressor", prompt_text(request))
        return {**reply, "semantic_gist": f"So far: {next(gists)}"}

    model = ScriptedLlm().on("generator", *replies).on("compressor", compress)
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, model))
    with served(app) as url:
        yield url


def post(url: str, path: str, body: object, **options: Any) -> None:
    answer = httpx.post(f"{url}{path}", json=body, timeout=60, **options)
    assert answer.status_code in {200, 201}, answer.text


def named(text: str) -> str:
    """A session's name holds no slash."""
    return text.replace("/", "\u2215")


def test_in_a_chat_it_is_text(browser: Browser, tmp_path: Path) -> None:
    with hostile_server(tmp_path) as url:
        page, tries = Page(browser, url), 0
        for number, text in enumerate(MARKUP):
            session = quote(named(text), safe="")
            attached = {"text": f"Runbook: {text}", "source": f"wiki {text}"}
            said = {"input": f"Note this: {text}", "attachments": [attached]}
            post(url, f"/v1/sessions/{session}/rules", {"text": f"Answer with {text} first."})
            post(url, f"/v1/sessions/{session}/turns", said)
            name = quote(f"file-{number}.md", safe="")
            put = httpx.put(f"{url}/v1/memory/documents?name={name}", content=f"# {text}\n\n{text}")
            assert put.status_code == 200, put.text
            for tab in TABS:
                page.shows(
                    f"#/session/acc_ace/user/{session}/turn/1/{tab}",
                    f"Note this: {text}",
                    # An answer is Markdown: an image is a link, which a person may follow.
                    f"I say: {text.replace('![p](https://evil.example/p)', 'p')}",
                )
            tries += len(PLACES_OF_A_SESSION)
        page.shows("#/sessions", *(named(text) for text in MARKUP))
    print(f"{tries} tries to inject into a chat")
    assert tries >= 200


def test_in_a_playbook_it_is_text(browser: Browser, tmp_path: Path) -> None:
    with hostile_server(tmp_path) as url:
        operations = [
            {"type": "ADD", "section": text, "content": f"Lesson: {text}", "rationale": text}
            for text in MARKUP
        ]
        for operation in operations:
            post(url, "/v1/playbook/apply", {"operations": [operation]})
        found = httpx.get(f"{url}/v1/playbook/deltas?limit=100").json()["items"]
        assert len(found) == len(MARKUP)
        page = Page(browser, url)
        for view in ("", "?view=log", "?view=held", "?view=versions"):
            page.shows(f"#/playbook{view}", *(["Lesson: <"] if view in {"", "?view=log"} else []))
            page.browser.wait(lambda: "Playbook" in page.browser.text(), "the playbook")
            page.is_untouched()
    print(f"{len(MARKUP) * len(PLACES_OF_A_PLAYBOOK)} tries to inject into a playbook")


def test_in_a_run_of_the_survivor_it_is_text(browser: Browser, tmp_path: Path) -> None:
    runs = tmp_path / "survivor" / "runs"
    runs.mkdir(parents=True)
    for number, text in enumerate(MARKUP):
        change = {"type": "ADD", "section": "", "content": text, "outcome": "held"}
        change |= {"rationale": text, "priority": "", "reason": "", "bullet_id": ""}
        said = tick(
            run=text,
            model=text,
            died_of=text,
            plan=plan(
                {"type": "move", "target": text, "times": 1},
                reflection=text,
                objective=f"Goal: {text}",
                subgoals=(text,),
                watch=text,
            ),
            steps=(step(text, why=text, cause=text, status="blocked", rule_id="r-1"),),
            alerts=({"kind": "rule_violation", "text": f"Alert: {text}"},),
            logs=({"log": "meta", "about": text, "text": text, "count": 1},),
            playbook=(change,),
        )
        save_run(runs / f"run-{number}.jsonl", said)
        save_run(runs / f"{named(text)[:100]}.jsonl", said)
    with hostile_server(tmp_path) as url:
        page = Page(browser, url)
        for number, text in enumerate(MARKUP):
            page.shows(f"#/survivor?run=run-{number}", f"Goal: {text}", f"Alert: {text}")
    print(f"{len(MARKUP) * len(PLACES_OF_A_RUN)} tries to inject into a run")


def test_in_an_address_it_is_text(browser: Browser, tmp_path: Path) -> None:
    with hostile_server(tmp_path) as url:
        page = Page(browser, url)
        for text in MARKUP:
            part = quote(text, safe="")
            for route in (
                f"#/session/{part}/user/x",
                f"#/session/acc_ace/{part}/x",
                f"#/session/acc_ace/user/{part}",
                f"#/{part}",
                f"#/playbook?view={part}&q={part}&app={part}",
                f"#/survivor?run={part}",
            ):
                page.shows(route)
                page.browser.wait(lambda: "Sessions" in page.browser.text(), "the page")
                page.is_untouched()
            browser.open("about:blank")
    print(f"{len(MARKUP) * 6} tries to inject into an address")
