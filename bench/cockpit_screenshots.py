"""Photograph the cockpit over a server with real turns, and measure how fast its page shows.

python -m bench.cockpit_screenshots --out docs [--run RUN.jsonl]
"""

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import yaml

from tests.e2e.browser import Browser, BrowserError, find_chromium
from tests.e2e.processes import BIN, ROOT, environment, our_server, serving
from tests.fakes.ports import free_port

TALK: Final = ROOT / "examples/incident_en.yaml"
SESSION: Final = "#/session/acc_ace/user/incident"
TURNS: Final = 18
LESSONS: Final = (
    ("Check replication lag before a failover.", "The last failover lost two writes."),
    ("Post a status update within 15 minutes of the first alert.", "Support asked for it twice."),
    ("Name the owner of each next step.", "Two steps had none."),
    ("Rules may be skipped in a hurry.", "Said in a chat."),
)
PICTURES: Final = {
    # name: (route, a text that shows when it is ready, dark)
    "sessions": ("#/sessions", "incident", False),
    "state": (f"{SESSION}/turn/11/state", "semantic_gist", False),
    "saw": (f"{SESSION}/turn/12/saw", "reply", False),
    "rules": (f"{SESSION}/turn/11/rules", "Keep always", False),
    "recall": (f"{SESSION}/turn/12/recall", "qualified", True),
    "cost": (f"{SESSION}/turn/12/cost", "Tokens, summed", False),
    "playbook": ("#/playbook", "Name the owner", False),
    "timeline": ("#/playbook?view=log", "about_rules", True),
}
RUN_PICTURES: Final = {"survivor": ("#/survivor", "Survival score", False)}
SIZE: Final = (1440, 900)
DEMO_TURN: Final = 44
PAINTS: Final = 5
DRAWN: Final = (
    "[...document.querySelectorAll('.chart')].every(each => each.querySelector('canvas'))"
)
FIRST_PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


@contextmanager
def filled_server(run: Path | None) -> Iterator[str]:
    """A server with the talk's first turns, lessons and, if given, a run of the survivor."""
    with tempfile.TemporaryDirectory() as folder:
        if run is not None:
            runs = Path(folder) / "data/survivor/runs"
            runs.mkdir(parents=True)
            shutil.copy(run, runs)
        with our_server(Path(folder)) as server:
            _fill(server.url)
            yield server.url


def _fill(url: str) -> None:
    talk = yaml.safe_load(TALK.read_text(encoding="utf-8"))
    for turn in talk["turns"][:TURNS]:
        body = {"input": turn["input"], "source": turn.get("authority", "user")}
        _post(f"{url}/v1/sessions/incident/turns", body)
    _post(f"{url}/v1/sessions/kyoto/turns", {"input": "I plan a trip to Kyoto in autumn."})
    lessons = [
        {"type": "ADD", "section": "incident", "content": content, "rationale": rationale}
        for content, rationale in LESSONS
    ]
    _post(f"{url}/v1/playbook/apply", {"operations": lessons})


def _post(url: str, body: object) -> None:
    httpx.post(url, json=body, timeout=120).raise_for_status()


@contextmanager
def played_demo() -> Iterator[str]:
    """`acc-ace demo`, with every turn played."""
    port = free_port()
    command = [str(BIN / "acc-ace"), "demo", "--no-browser", "--pace=0", f"--port={port}"]
    with tempfile.TemporaryDirectory() as folder:
        env, log = environment(Path(folder) / "data"), Path(folder) / "demo.log"
        with serving(command, port=port, env=env, log=log, probe="/healthz") as server:
            yield server.url


def photograph_demo(browser: Browser, url: str, out: Path) -> None:
    """Write two pictures of the demo: who can stop a call; the rule of turn 3 forty turns later."""
    browser.show(width=SIZE[0], height=SIZE[1])
    browser.open(f"{url}/ui/#/demo")
    browser.wait(lambda: "12 kept, 0 broken, 0 pending" in browser.text(), "the promises")
    browser.screenshot(out / "cockpit-acts.png")
    state = httpx.get(f"{url}/demo/checks").json()
    place = f"{state['app']}/{state['user']}/{state['session']}/turn/{DEMO_TURN}/state"
    browser.open(f"{url}/ui/?demo#/demo/{place}")
    browser.wait(lambda: f"turn {DEMO_TURN} of 50" in browser.text(), "the turn")
    browser.wait(lambda: "semantic_gist" in browser.text(), "the state")
    browser.screenshot(out / "cockpit-demo.png")
    print(out / "cockpit-demo.png")


def photograph(browser: Browser, url: str, out: Path, *, with_run: bool) -> None:
    """Write a picture of each view."""
    for name, (route, text, dark) in {**PICTURES, **(RUN_PICTURES if with_run else {})}.items():
        browser.show(width=SIZE[0], height=SIZE[1], dark=dark)
        browser.open(f"{url}/ui/?{name}{route}")
        browser.wait(lambda text=text: text in browser.text(), text)  # type: ignore[misc]
        browser.wait(lambda: browser.evaluate(DRAWN), "the charts")
        browser.screenshot(out / f"cockpit-{name}.png")
        print(out / f"cockpit-{name}.png")


def measure(executable: str, url: str) -> None:
    """Print the first contentful paint with an empty cache, and what the page transfers."""
    paints, sent, foreign = [], 0, 0
    for _ in range(PAINTS):
        with Browser(executable) as browser:
            browser.watch()
            browser.open(f"{url}/ui/#/sessions")
            browser.wait(lambda: browser.evaluate(FIRST_PAINT), "the first paint")
            browser.wait(lambda: "incident" in browser.text(), "the sessions")
            paints.append(browser.evaluate(FIRST_PAINT))
            asked = browser.recorded("Network.requestWillBeSent")
            foreign += sum(not each["request"]["url"].startswith(url) for each in asked)
            finished = browser.recorded("Network.loadingFinished")
            sent = sum(each["encodedDataLength"] for each in finished)
    shown = ", ".join(f"{each:.0f}" for each in sorted(paints))
    print(f"first contentful paint: median {statistics.median(paints):.0f} ms of {shown}")
    print(f"transferred: {sent / 1_000:.1f} kB; requests to other hosts: {foreign}")


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    parser.add_argument("--only", choices=("demo",), help="the first picture alone")
    parser.add_argument("--run", type=Path, help="a run file of the survivor to show, too")
    options = parser.parse_args()
    executable = find_chromium()
    if executable is None:
        raise BrowserError("no Chromium found; install it with: apt-get install chromium")
    with played_demo() as url, Browser(executable) as browser:
        photograph_demo(browser, url, options.out)
    if options.only:
        return
    with filled_server(options.run) as url:
        measure(executable, url)
        with Browser(executable) as browser:
            photograph(browser, url, options.out, with_run=options.run is not None)


if __name__ == "__main__":
    main()
