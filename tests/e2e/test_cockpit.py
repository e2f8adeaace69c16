"""The cockpit in headless Chromium, over real servers and real turns."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.server.app import create_app
from tests.e2e.browser import Browser, find_chromium
from tests.e2e.processes import BIN, Server, environment, our_server, serving
from tests.fakes.confirmed_tool import PAID
from tests.fakes.default_replies import prompt_text, said_in
from tests.fakes.extensions import needs
from tests.fakes.loopback import served
from tests.fakes.ports import free_port
from tests.fakes.run_files import save_run, tick
from tests.fakes.scripted_llm import ScriptedLlm, call

pytestmark = [pytest.mark.browser, pytest.mark.soak]

RULE = "Never restart db-01 during business hours."
TURNS = (
    "Our goal is to bring checkout back and find the root cause of ticket INC-4821.",
    f"Rule: {RULE}",
    "Aiko is the incident commander and Tom owns the checkout service.",
    "Who is the incident commander?",
)
EVIL = "<img src=x onerror=\"window.hacked='{}'\"><script>window.hacked='{}'</script>"
SESSION = "#/session/acc_ace/user/incident"
MOST_BYTES = 250_000
PANEL = "document.querySelector('.panel').innerText"


@pytest.fixture(scope="module")
def chromium() -> str:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium is installed; apt-get install chromium")
    return executable


@pytest.fixture
def browser(chromium: str) -> Iterator[Browser]:
    with Browser(chromium) as opened:
        opened.watch()
        yield opened
        thrown = opened.recorded("Runtime.exceptionThrown")
        assert thrown == [], thrown


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with an incident of four turns, three lessons and a run; tests only look at it."""
    folder = tmp_path_factory.mktemp("shared")
    save_run(runs(folder) / "run-7.jsonl", *ticks(60))
    with our_server(folder) as server:
        fill(server.url)
        yield server


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A server with the same incident, for a test that changes it."""
    with our_server(tmp_path) as server:
        fill(server.url)
        yield server


def runs(folder: Path) -> Path:
    path = folder / "data/survivor/runs"
    path.mkdir(parents=True)
    return path


def ticks(count: int, **changed: Any) -> list[dict[str, Any]]:
    danger = {"kind": "lethal_risk", "text": "A wolf is two steps away."}
    return [
        tick(n, fear=n % 10 / 10, alerts=(danger,) if n == count else (), **changed)
        for n in range(1, count + 1)
    ]


def post(url: str, path: str, body: object) -> Any:
    answer = httpx.post(f"{url}{path}", json=body, timeout=60)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


def fill(url: str) -> None:
    for text in TURNS:
        post(url, "/v1/sessions/incident/turns", {"input": text})
    lesson = {"type": "ADD", "section": "incident", "rationale": "Two writes were lost."}
    lessons = ["Check replication lag before a failover.", EVIL.replace("{}", "bullet")]
    operations = [{**lesson, "content": content} for content in lessons]
    post(url, "/v1/playbook/apply", {"operations": operations})


def shows(browser: Browser, *texts: str) -> None:
    for text in texts:
        browser.wait(lambda text=text: text in browser.text(), f"the text {text!r}")  # type: ignore[misc]


def click_found(browser: Browser, found: str) -> None:
    """Click what an expression finds, once it is there and enabled."""
    browser.wait(lambda: browser.evaluate(f"Boolean({found}) && !{found}.disabled"), found)
    browser.evaluate(f"{found}.click()")


def click_text(browser: Browser, text: str) -> None:
    """Click the first control of that text."""
    controls = "[...document.querySelectorAll('button, a, summary')]"
    click_found(browser, f"{controls}.find(e => e.innerText.trim() === {text!r})")


def say(browser: Browser, text: str) -> None:
    browser.type(".composer textarea", text)


VIEWS = {
    "#/start": ("Your agent keeps your rules", "Talk", "embedded/rules"),
    "#/users": ("Last active", "acc_ace"),
    f"{SESSION}/turn/4/find": ("turn 4 of 4", "Last request", "embedded/rules"),
    "#/sessions": ("incident", "4"),
    f"{SESSION}/turn/2/state": (RULE, "semantic_gist", "version 2 of 4", "Journal"),
    f"{SESSION}/turn/2/saw": ("compressor", "generator", "role", "x_t", "reply"),
    f"{SESSION}/turn/2/rules": ("c-0001", "this session", "Keep always", "Lift"),
    f"{SESSION}/turn/4/recall": ("turn:incident:3", "qualified", "in the state"),
    f"{SESSION}/turn/2/cost": ("Tokens of a replay", "compressor", "embedded/rules"),
    "#/playbook": ("Check replication lag before a failover.", "b-00001", "+0"),
    "#/playbook?view=log": ("applied", "Two writes were lost."),
    "#/playbook?view=held": ("Nothing is waiting for review.",),
    "#/playbook?view=versions": ("v1", "ADD 2"),
    "#/survivor": ("Episode 1, tick 60", "Lethal risk near", "drink", "a saved run, read-only"),
    "#/demo": ("No demo is running here.", "acc-ace demo"),
}


@pytest.mark.parametrize("route", VIEWS)
def test_each_view_shows_real_data(browser: Browser, shared: Server, route: str) -> None:
    browser.open(f"{shared.url}/ui/{route}")
    shows(browser, *VIEWS[route])


@pytest.mark.parametrize("route", [f"{SESSION}/turn/2/cost", "#/survivor"])
def test_charts_are_drawn(browser: Browser, shared: Server, route: str) -> None:
    browser.open(f"{shared.url}/ui/{route}")
    drawn = (
        "[...document.querySelectorAll('canvas')].some(c => c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data.some(byte => byte))"
    )
    browser.wait(lambda: browser.evaluate(drawn), "a chart")


def test_the_page_asks_no_other_host_and_is_small(browser: Browser, shared: Server) -> None:
    for route in VIEWS:
        browser.open(f"{shared.url}/ui/{route}")
        shows(browser, VIEWS[route][0])
    asked = [each["request"]["url"] for each in browser.recorded("Network.requestWillBeSent")]
    assert any(url.endswith("/ui/vendor/uPlot.js") for url in asked)
    assert [url for url in asked if not url.startswith((shared.url, "data:"))] == []
    files = {
        each["requestId"]
        for each in browser.recorded("Network.responseReceived")
        if "/ui/" in each["response"]["url"]
    }
    finished = browser.recorded("Network.loadingFinished")
    sent = sum(each["encodedDataLength"] for each in finished if each["requestId"] in files)
    assert 20_000 < sent < MOST_BYTES


def test_a_turn_is_sent_its_stages_are_seen_and_memory_follows(
    browser: Browser, own: Server
) -> None:
    browser.open(f"{own.url}/ui/#/session/acc_ace/user/fresh")
    shows(browser, "A new session.")
    browser.evaluate(
        "window.seen = new Set(), new MutationObserver(() => document"
        ".querySelectorAll('.stages li').forEach(e => seen.add(e.innerText.split(/\\s/)[0])))"
        ".observe(document.body, {childList: true, subtree: true})"
    )
    say(browser, f"Rule: {RULE}")
    shows(browser, "turn 1 of 1", "In force: c-0001", "live")
    assert {"compressor", "generator"} <= set(browser.evaluate("[...seen]"))
    assert browser.evaluate("document.querySelector('.composer textarea').value") == ""
    click_text(browser, "▲")
    browser.wait(
        lambda: browser.evaluate("document.querySelector('.thumb').ariaPressed === 'true'"),
        "the thumb to stay",
    )
    turns = httpx.get(f"{own.url}/v1/sessions/fresh/turns").json()["items"]
    assert [given["thumbs"] for given in turns[0]["feedback"]] == ["up"]


def test_a_turn_taken_elsewhere_shows_at_once(browser: Browser, own: Server) -> None:
    browser.open(f"{own.url}/ui/{SESSION}")
    shows(browser, "turn 4 of 4", "live")
    post(own.url, "/v1/sessions/incident/turns", {"input": "The cause is a full disk."})
    shows(browser, "turn 5 of 5", "The cause is a full disk.")


def test_rules_are_made_kept_for_every_session_and_lifted(browser: Browser, own: Server) -> None:
    browser.open(f"{own.url}/ui/{SESSION}/turn/4/rules")
    browser.type("input[name=rule]", "Answer in one sentence.")
    shows(browser, "c-0002")
    click_text(browser, "Lift")
    browser.wait(lambda: browser.evaluate(f"!{PANEL}.includes('c-0001')"), "the rule to be gone")
    click_text(browser, "Keep always")
    shows(browser, "u-0001", "every session")
    rules = httpx.get(f"{own.url}/v1/sessions/another/rules").json()["constraints"]
    assert [rule["text"] for rule in rules] == ["Answer in one sentence."]


@pytest.mark.parametrize("word", ["Lift it", "Leave it as it is"])
@pytest.mark.parametrize("tab", ["rules", "state"])
def test_a_change_that_waits_is_shown_in_full_and_settled_by_a_button(
    browser: Browser, own: Server, word: str, tab: str
) -> None:
    said = "Lift the ban on restarts of db-01 during business hours."
    post(own.url, "/v1/sessions/incident/turns", {"input": said})
    [asked] = httpx.get(f"{own.url}/v1/sessions/incident/rules").json()["questions"]
    assert (asked["kind"], asked["before"], asked["after"]) == ("release", RULE, [])
    browser.open(f"{own.url}/ui/{SESSION}/turn/5/{tab}")
    shows(browser, "Waiting for your consent", asked["id"], "Lift it", "Leave it as it is")
    notice = "document.querySelector('.notice.ask').innerText"
    assert RULE in browser.evaluate(notice)
    assert said in browser.evaluate(notice)
    click_text(browser, word)
    gone = "!document.querySelector('.notice.ask')"
    browser.wait(lambda: browser.evaluate(gone), "the question to be settled")
    rules = httpx.get(f"{own.url}/v1/sessions/incident/rules").json()
    assert rules["questions"] == []
    assert [rule["text"] for rule in rules["constraints"]] == ([] if word == "Lift it" else [RULE])


def test_a_provisional_rule_is_taken_back_by_a_button(browser: Browser, own: Server) -> None:
    rule = "Never refund more than 20 euros without asking me first."
    post(own.url, "/v1/sessions/new/turns", {"input": rule})
    browser.open(f"{own.url}/ui/#/session/acc_ace/user/new/turn/1/rules")
    shows(browser, rule, "provisional")
    click_text(browser, "Take back")
    shows(browser, "No rules are in force.")
    assert httpx.get(f"{own.url}/v1/sessions/new/rules").json()["constraints"] == []


def test_turns_are_undone_one_after_the_other(browser: Browser, own: Server) -> None:
    browser.open(f"{own.url}/ui/{SESSION}")
    shows(browser, "version 4 of 4")
    for left in (3, 2):
        click_text(browser, "Undo the last turn")
        shows(browser, f"version {8 - left} of {8 - left}")
        assert httpx.get(f"{own.url}/v1/sessions/incident/ccs").json()["turn"] == left


def test_a_version_is_restored(browser: Browser, own: Server) -> None:
    browser.open(f"{own.url}/ui/{SESSION}/turn/4/state")
    shows(browser, "Journal", "version 4 of 4")
    browser.evaluate("window.confirm = () => true")
    click_found(browser, "[...document.querySelectorAll('.list .button')].at(-1)")
    shows(browser, "version 5 of 5")
    state = httpx.get(f"{own.url}/v1/sessions/incident/ccs").json()
    assert (state["version"], state["constraints"]) == (5, [])


def test_a_field_is_edited_as_a_new_version(browser: Browser, own: Server) -> None:
    browser.open(f"{own.url}/ui/{SESSION}/turn/4/state")
    shows(browser, "version 4 of 4")
    click_text(browser, "Edit")
    browser.wait(lambda: browser.evaluate("document.querySelector('.panel textarea')"), "a box")
    browser.evaluate("document.querySelector('.panel textarea').select()")
    browser.insert("Checkout is healthy.")
    click_text(browser, "Save")
    shows(browser, "Checkout is healthy.")
    state = httpx.get(f"{own.url}/v1/sessions/incident/ccs").json()
    assert state["version"] == 5
    assert "Checkout is healthy." in str(state["ccs"])


def test_a_memory_is_corrected_and_forgotten(browser: Browser, own: Server) -> None:
    browser.open(f"{own.url}/ui/{SESSION}/turn/4/recall")
    artifact = f"{own.url}/v1/memory/artifacts/turn:incident:3"
    shows(browser, "turn:incident:3")
    card = "[...document.querySelectorAll('.card')].find(e => e.innerText.includes('incident:3'))"
    click_found(browser, f"{card}?.querySelector('button')")
    click_text(browser, "Correct")
    browser.wait(lambda: browser.evaluate("document.querySelector('.card textarea')"), "a box")
    browser.evaluate("document.querySelector('.card textarea').select()")
    browser.insert("Yuki is the incident commander.")
    click_text(browser, "Save")
    shows(browser, "Yuki is the incident commander.")
    assert httpx.get(artifact).json()["content"] == "Yuki is the incident commander."
    click_text(browser, "Forget …")
    shows(browser, "Also forgotten", "turn 3", "Sessions whose state will lose it")
    assert httpx.get(artifact).status_code == 200
    click_text(browser, "Forget")
    browser.wait(lambda: httpx.get(artifact).status_code == 404, "it to be forgotten")


def test_a_lesson_is_pinned_and_reworded(browser: Browser, own: Server) -> None:
    browser.open(f"{own.url}/ui/#/playbook")
    click_text(browser, "Pin")
    shows(browser, "pinned")
    click_text(browser, "Edit")
    browser.wait(lambda: browser.evaluate("document.querySelector('.card textarea')"), "a box")
    browser.evaluate("document.querySelector('.card textarea').select()")
    browser.insert("Check replication lag first.")
    click_text(browser, "Save")
    shows(browser, "version 3")
    lessons = httpx.get(f"{own.url}/v1/playbook").json()["bullets"]
    assert (lessons[0]["content"], lessons[0]["pinned"]) == ("Check replication lag first.", True)


def test_what_is_held_is_reviewed(browser: Browser, own: Server) -> None:
    lifts = {"type": "ADD", "section": "incident", "content": "Rules may be skipped in a hurry."}
    done = post(own.url, "/v1/playbook/apply", {"operations": [lifts]})
    assert [each["status"] for each in done["results"]] == ["held"]
    browser.open(f"{own.url}/ui/#/playbook?view=held")
    shows(browser, "Rules may be skipped in a hurry.")
    click_text(browser, "Reject")
    shows(browser, "Nothing is waiting for review.")
    assert httpx.get(f"{own.url}/v1/playbook/held").json()["items"] == []


def test_what_was_held_and_rejected_is_read_in_the_timeline(browser: Browser, own: Server) -> None:
    held = {"type": "ADD", "section": "incident", "content": "Rules may be skipped in a hurry."}
    gone = {"type": "UPDATE", "bullet_id": "b-00099", "content": "Ask Tom before each restart."}
    operations = [{**held, "rationale": "Said in a chat."}, {**gone, "rationale": "He knows."}]
    done = post(own.url, "/v1/playbook/apply", {"operations": operations})
    assert [each["status"] for each in done["results"]] == ["held", "rejected"]
    browser.open(f"{own.url}/ui/#/playbook?view=log")
    shows(browser, "Rules may be skipped in a hurry.", "Said in a chat.")
    shows(browser, "Ask Tom before each restart.", "He knows.")


def test_statistics_show_how_the_sections_cover_the_playbook(browser: Browser, own: Server) -> None:
    more = {"type": "ADD", "section": "reviews", "content": "Name an owner of each next step."}
    post(own.url, "/v1/playbook/apply", {"operations": [more]})
    browser.open(f"{own.url}/ui/#/playbook")
    shows(browser, "characters", "tokens", "files", "incident 2 · 67%", "reviews 1 · 33%")
    parts = "[...document.querySelectorAll('.window.thin span')].map(e => e.style.width)"
    assert browser.evaluate(parts) == ["67%", "33%"]


def test_text_of_others_is_text_everywhere(browser: Browser, own: Server) -> None:
    attached = {"text": f"Runbook {EVIL.replace('{}', 'attachment')}", "source": "<b>wiki</b>"}
    body = {"input": f"Note this: {EVIL.replace('{}', 'input')}", "attachments": [attached]}
    post(own.url, "/v1/sessions/incident/turns", body)
    post(own.url, "/v1/sessions/incident/rules", {"text": f"Never say {EVIL.replace('{}', 'r')}."})
    post(own.url, "/v1/sessions/incident/turns", {"input": "What does the runbook say?"})
    for tab in ("state", "saw", "rules", "recall", "cost"):
        browser.open(f"{own.url}/ui/{SESSION}/turn/6/{tab}")
        shows(browser, "Note this: <img src=x", "<b>wiki</b>")
        browser.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    browser.open(f"{own.url}/ui/#/playbook?view=log")
    shows(browser, "<img src=x")
    browser.open(f"{own.url}/ui/#/playbook")
    shows(browser, "<img src=x")
    assert browser.evaluate("window.hacked ?? document.querySelectorAll('#app img').length") == 0


def test_a_session_deleted_while_shown_leads_back_to_the_list(
    browser: Browser, own: Server
) -> None:
    browser.open(f"{own.url}/ui/{SESSION}")
    shows(browser, "live", "turn 4 of 4")
    assert httpx.delete(f"{own.url}/v1/sessions/incident").status_code == 204
    shows(browser, "The session incident is gone: it was deleted.", "New session")


def test_a_stream_resumes_after_the_server_was_down(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    env = environment(tmp_path / "data", ACC_ACE_PORT=str(port))
    start: Callable[[], AbstractContextManager[Server]] = partial(
        serving,
        [sys.executable, "main.py"],
        port=port,
        env=env,
        log=tmp_path / "server.log",
        probe="/healthz",
    )
    with start() as server:
        post(server.url, "/v1/sessions/incident/turns", {"input": TURNS[0]})
        browser.open(f"{server.url}/ui/{SESSION}")
        shows(browser, "live")
    shows(browser, "reconnecting")
    with start() as server:
        shows(browser, "live")
        post(server.url, "/v1/sessions/incident/turns", {"input": RULE})
        shows(browser, "turn 2 of 2", RULE)


def test_the_page_is_worked_by_keys_alone(browser: Browser, shared: Server) -> None:
    browser.open(f"{shared.url}/ui/#/sessions")
    shows(browser, "incident")
    browser.press("Tab", number=9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    browser.press("/", code="Slash", number=191)
    assert browser.evaluate("document.activeElement.type") == "search"
    browser.evaluate("document.activeElement.blur()")
    browser.press("?", code="Slash", number=191)
    shows(browser, "Next and previous turn")
    browser.press("Escape", number=27)
    browser.wait(lambda: not browser.evaluate("document.querySelector('dialog')"), "it to close")
    browser.evaluate("document.querySelector('td a').focus()")
    browser.press("\r", code="Enter", number=13)
    shows(browser, "turn 4 of 4")
    browser.evaluate("document.activeElement.blur()")
    browser.press("k", code="KeyK", number=75)
    shows(browser, "turn 3 of 4", "version 3 of 4")
    browser.press("3", code="Digit3", number=51)
    shows(browser, "Keep always")
    browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').focus()")
    browser.press("ArrowLeft", number=37)
    shows(browser, "version 3 of 4")
    browser.evaluate("document.querySelector('.scrubber input').focus()")
    browser.press("ArrowLeft", number=37)
    shows(browser, "version 2 of 4")


def test_japanese_and_dark_colours_are_chosen_and_kept(browser: Browser, shared: Server) -> None:
    browser.open(f"{shared.url}/ui/#/playbook")
    shows(browser, "Playbook")
    click_text(browser, "日本語")
    shows(browser, "プレイブック", "タイムライン")
    for _ in range(2):
        click_found(browser, "document.querySelectorAll('.bar .button')[1]")
    shows(browser, "ダーク")
    browser.open(f"{shared.url}/ui/#/sessions")
    shows(browser, "新しいセッション")
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    assert browser.evaluate("document.documentElement.lang") == "ja"


def test_a_run_file_is_shown_without_any_route(
    browser: Browser, shared: Server, tmp_path: Path
) -> None:
    file = save_run(tmp_path / "mine.jsonl", *ticks(3, run="mine"))
    newer = tmp_path / "newer.jsonl"
    newer.write_text(json.dumps({**json.loads(file.read_text().splitlines()[0]), "version": 9}))
    torn = tmp_path / "torn.jsonl"
    torn.write_text(file.read_text() + '{"version": 1, "run": "mi')
    other = tmp_path / "other.jsonl"
    other.write_text("no run\n")
    browser.open(f"{shared.url}/ui/#/survivor")
    shows(browser, "tick 60 of 60")
    for path, text in (
        (file, "tick 3 of 3"),
        (newer, "its format is 9; this page reads 1"),
        (torn, "1 lines cannot be read."),
        (other, "This is not a survivor run file."),
    ):
        browser.attach("input[type=file]", path)
        shows(browser, text)
    browser.attach("input[type=file]", file)
    shows(browser, "tick 3 of 3")
    click_text(browser, "‹")
    shows(browser, "tick 2 of 3")
    asked = [each["request"] for each in browser.recorded("Network.requestWillBeSent")]
    assert [each["url"] for each in asked if each["method"] != "GET"] == []


@needs("survivor")
def test_lives_stand_side_by_side_and_each_is_replayed_from_a_server_or_a_file(
    browser: Browser, tmp_path: Path
) -> None:
    lesson = {"type": "ADD", "content": "Avoid wolves.", "outcome": "applied"}
    vote = {"type": "TAG", "content": "Eat discs.", "outcome": "applied"}
    killed = tick(3, died_of="wolf", playbook=(lesson, vote), place=(8, 6))
    lives = (*ticks(2), killed, *ticks(4, episode=2))
    file = save_run(runs(tmp_path) / "run-7.jsonl", *lives)
    app = create_app(build_container(Settings(data_dir=tmp_path / "data")))
    with served(app) as url:
        for source in ("server", "file"):
            browser.open(f"{url}/ui/?{source}#/survivor")
            shows(browser, "tick 7 of 7")
            if source == "file":
                browser.attach("input[type=file]", file)
                shows(browser, "run-7.jsonl", "tick 7 of 7")
            shows(browser, "Life 1\n3 ticks\ndied of wolf\nAvoid wolves", "4 ticks\nalive")
            assert "nothing new" in browser.text()
            click_found(browser, "document.querySelector('.lives button')")
            shows(browser, "tick 1 of 7", "Stop the replay")
            shows(browser, "tick 3 of 7", "Replay\n")
            camera = "document.querySelector('.world').getAttribute('viewBox')"
            assert browser.evaluate(camera) == "-6 -4 25 25"


class Loop:
    """A running loop as the server sees it, which only remembers what it is told."""

    def __init__(self, run: str) -> None:
        survival = import_module("acc_ace.ext.survivor.survival")
        self.run, self.settings, self.stepped = run, survival.LoopSettings(), 0

    def take(self) -> Any:
        return self.settings

    def change(self, **fields: Any) -> Any:
        self.settings = self.settings.model_copy(update=fields)
        return self.settings

    def step(self) -> None:
        self.stepped += 1


WOLF = {"kind": "lethal_risk", "text": "A wolf is two steps away."}
HEARD = """
heard = '';
Notification = class extends Notification {
  constructor(title, options) { super(title, options); heard += options.body; }
};
"""


def live(file: Path, snapshot: dict[str, Any]) -> None:
    """One more tick of the run."""
    with file.open("a") as lines:
        lines.write(json.dumps(snapshot) + "\n")


@needs("survivor")
def test_a_live_loop_is_followed_and_steered(browser: Browser, tmp_path: Path) -> None:
    app = create_app(build_container(Settings(data_dir=tmp_path / "data")))
    app.state.acc_ace_run = loop = Loop("run-7")
    file = save_run(runs(tmp_path) / "run-7.jsonl", *ticks(2))
    with served(app) as url:
        browser.grant("notifications", url)
        browser.open(f"{url}/ui/#/survivor")
        shows(browser, "tick 2 of 2", "live", "Lethal risk near")
        browser.evaluate(HEARD)
        browser.evaluate("document.querySelector('.tick').isKept = true")
        live(file, tick(3, died_of="wolf", alerts=(WOLF,)))
        shows(browser, "tick 3 of 3", "died of wolf")
        assert browser.evaluate("document.querySelector('.tick').isKept")
        browser.wait(lambda: browser.evaluate("heard") == WOLF["text"], "a notification")
        click_text(browser, "Pause")
        click_text(browser, "One tick")
        shows(browser, "Resume")
        for name, value in (("danger_threshold", 0.4), ("exploration", 0.85)):
            slider = f"document.querySelector('[name={name}]')"
            change = f"{slider}.dispatchEvent(new Event('change', {{bubbles: true}}))"
            browser.evaluate(f"{slider}.value = {value}, {change}")
            browser.wait(lambda: getattr(loop.settings, name) == value, name)  # noqa: B023
        chosen = "document.querySelector('[name=log_detail]')"
        event = "dispatchEvent(new Event('change', {bubbles: true}))"
        browser.evaluate(f"{chosen}.value = 'brief', {chosen}.{event}")
        browser.wait(lambda: loop.settings.log_detail == "brief", "the log to be brief")
        click_found(browser, "document.querySelector('[name=notifications]')")
        browser.wait(lambda: not loop.settings.notifications, "no notifications")
        live(file, tick(4, alerts=(WOLF,)))
        shows(browser, "tick 4 of 4")
        assert browser.evaluate("heard") == WOLF["text"]
        app.state.acc_ace_run = None
        shows(browser, "a saved run, read-only")
        assert "One tick" not in browser.text()
    assert (loop.settings.paused, loop.stepped) == (True, 1)


CHARTS = "[...document.querySelectorAll('canvas')].map(c => c.toDataURL()).join()"


@needs("survivor")
def test_a_real_run_is_watched_steered_and_still_there_when_it_is_over(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    options = ("--episodes=4", "--ticks=12", "--tick-delay=0.5", "--linger=300", "--seed=3")
    command = [str(BIN / "acc-ace"), "survive", f"--ui={port}", *options]
    env = environment(tmp_path / "data")
    log = tmp_path / "survive.log"
    with serving(command, port=port, env=env, log=log, probe="/healthz") as server:

        def newest() -> dict[str, Any]:
            page = httpx.get(f"{server.url}/snapshots?run=run-3&limit=200", timeout=30).json()
            return {"n": 0} | (page["items"][-1] if page["items"] else {})

        browser.open(f"{server.url}/ui/#/survivor")
        shows(browser, "Episode 1, tick 2", "live")
        click_text(browser, "Pause")
        shows(browser, "Resume")
        threshold = "document.querySelector('[name=danger_threshold]')"
        changed = f"{threshold}.dispatchEvent(new Event('change', {{bubbles: true}}))"
        browser.evaluate(f"{threshold}.value = 0.2, {changed}")
        settings = f"{server.url}/survivor/settings"
        is_set = lambda: httpx.get(settings).json()["danger_threshold"] == 0.2  # noqa: E731
        browser.wait(is_set, "the threshold to be set")
        browser.wait(lambda: browser.evaluate(CHARTS), "charts")
        # A tick that ran when it was paused has been lived by the first step at the latest.
        charts, stepped = browser.evaluate(CHARTS), 0
        while stepped < 2 or not newest()["alerts"]:
            before = newest()["n"]
            click_text(browser, "One tick")
            browser.wait(lambda n=before: newest()["n"] > n, "a tick")  # type: ignore[misc]
            stepped += 1
        lived = newest()
        assert lived["threshold"] == 0.2
        shows(browser, f"tick {lived['n']} of {lived['n']}", "Danger above the threshold")
        browser.wait(lambda: browser.evaluate(CHARTS) != charts, "charts to move")
        click_text(browser, "Resume")
        browser.wait(lambda: httpx.get(settings).status_code == 409, "the run to end")
        last = newest()
        shows(browser, f"tick {last['n']} of {last['n']}")
        shows(browser, "a saved run, read-only")
        assert "One tick" not in browser.text()
        click_text(browser, "‹")
        shows(browser, f"tick {last['n'] - 1} of {last['n']}")


def test_the_demo_keeps_its_promises_before_ones_eyes(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    command = [str(BIN / "acc-ace"), "demo", "--no-browser", "--pace=0", f"--port={port}"]
    env = environment(tmp_path / "data")
    log = tmp_path / "demo.log"
    with serving(command, port=port, env=env, log=log, probe="/healthz") as server:
        browser.open(f"{server.url}/ui/#/demo")
        click_text(browser, "Also playing: a 50-turn conversation")
        shows(browser, "Promises", "turn 50 of 50", "12 kept, 0 broken, 0 pending")
        assert browser.evaluate("document.querySelectorAll('.promises .ok').length") == 12
        click_text(browser, "Rules2")
        shows(browser, "Only Aiko may approve a failover to db-02.", "Promises")


def test_a_demo_that_is_opened_before_its_first_turn_is_shown_as_it_goes_on(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    command = [str(BIN / "acc-ace"), "demo", "--no-browser", "--pace=4", f"--port={port}"]
    env = environment(tmp_path / "data")
    log = tmp_path / "demo.log"
    with serving(command, port=port, env=env, log=log, probe="/healthz") as server:
        browser.open(f"{server.url}/ui/#/demo")
        click_text(browser, "Also playing: a 50-turn conversation")
        shows(browser, "turn 0 of 50")
        shows(browser, "turn 2 of 2", "Undo the last turn")


def test_a_browser_with_a_token_sees_its_own_memory_alone(browser: Browser, tmp_path: Path) -> None:
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS="aiko:aiko-secret,bob:bob-secret") as server:
        for user in ("aiko", "bob"):
            sent = httpx.post(
                f"{server.url}/v1/sessions/{user}s/turns",
                json={"input": f"{user} is here."},
                headers={"Authorization": f"Bearer {user}-secret"},
                timeout=60,
            )
            assert sent.status_code == 200
        browser.open(f"{server.url}/ui/#/sessions")
        browser.type("input[name=token]", "aiko-secret")
        shows(browser, "aikos")
        assert "bobs" not in browser.text()
        browser.open(f"{server.url}/ui/#/session/acc_ace/bob/bobs")
        shows(browser, "This link belongs to another user.")
        browser.open(f"{server.url}/ui/#/session/acc_ace/aiko/aikos")
        shows(browser, "aiko is here.")
        say(browser, "Bob is away.")
        shows(browser, "turn 2 of 2")
        asked = [each["request"] for each in browser.recorded("Network.requestWillBeSent")]
        assert len(asked) > 5
        assert "aiko-secret" not in str([(each["url"], each["headers"]) for each in asked])
        assert "aiko-secret" not in server.output()


PAYS = "Never refund more than 20 euros."


@pytest.mark.parametrize(("word", "paid"), [("Approve", [50]), ("Refuse", [])])
def test_a_guarded_call_is_approved_or_refused_here(
    browser: Browser, tmp_path: Path, word: str, paid: list[float]
) -> None:
    PAID.clear()
    tools = ("tests.fakes.confirmed_tool:refund",)
    settings = Settings(data_dir=tmp_path, learning="off", serve_web_interface=False, tools=tools)
    replies = ({"final_answer": "Noted."}, call("refund", order="A1", amount=50))
    model = (
        ScriptedLlm()
        .on("compressor", _compress)
        .on("generator", *replies, {"final_answer": "Done."})
    )
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, model))
    with served(app) as url:
        post(url, "/v1/sessions/till/turns", {"input": PAYS})
        browser.open(f"{url}/ui/#/session/acc_ace/user/till")
        shows(browser, PAYS)
        say(browser, "Refund A1.")
        shows(browser, "refund(A1, 50)", word)
        assert PAID == []
        if word == "Refuse":  # It waits for whoever opens the page, too.
            browser.open(f"{url}/ui/?again#/session/acc_ace/user/till")
            shows(browser, "Refund A1.", "Approve")
        click_text(browser, word)
        browser.wait(lambda: "refund(" in browser.text() and "Approve" not in browser.text(), "")
        shows(browser, "Done." if paid else PAYS)
    assert paid == PAID


def _compress(request: LlmRequest) -> dict[str, Any]:
    """Propose the rule in the turn that says it."""
    is_said = PAYS in said_in(prompt_text(request))
    return {"rule_changes": [{"kind": "add", "quote": PAYS}] if is_said else []}
