"""Hold a conversation in ADK's web UI with headless Chromium, and photograph it.

python -m tests.e2e.screenshot_adk_web --url http://127.0.0.1:8000 --out screenshots
"""

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tests.e2e.browser import Browser, BrowserError, find_chromium

INPUT: Final = "textarea.chat-input-box, chat-panel textarea, textarea[placeholder]"
_PATIENCE_S = (15.0, 30.0, 60.0)

MESSAGES: Final = (
    "The checkout service on db-01 is slow. Never restart db-01 during business hours.",
    "Which service is slow?",
)


ANSWERS: Final = ("no c-0001", "In memory about this:")
"""What only the answers to MESSAGES show."""


def converse_in_browser(
    executable: str,
    url: str,
    messages: Sequence[str],
    answers: Sequence[str],
    out: Path,
    *,
    token: str = "",
) -> str:
    """Send each message, wait for a text of its answer, photograph it; the page's final text.

    Raises BrowserError when an answer does not come.
    """
    with Browser(executable) as browser:
        browser.open(f"{url}/dev-ui/?app=acc_ace")
        if token:
            browser.type("input[name=token]", token)
        for number, (message, answer) in enumerate(zip(messages, answers, strict=True), start=1):
            say(browser, message)
            browser.wait(partial(_shows, browser, answer), f"the answer {answer!r}")
            browser.screenshot(out / f"adk_web_{number}.png")
        return browser.text()


def say(browser: Browser, message: str) -> None:
    """Send a message. The page drops what is sent before its session is there; then once more."""
    for patience_s in _PATIENCE_S:
        browser.type(INPUT, message)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if _shows(browser, message):
                return
            time.sleep(0.2)
    raise BrowserError(f"the page never showed the message {message!r}")


def _shows(browser: Browser, text: str) -> bool:
    return text in browser.text()


def main() -> None:
    """Run the script on its own against a server that is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--token", default="", help="bearer token, where the server wants one")
    parser.add_argument("--out", type=Path, default=Path("screenshots"))
    options = parser.parse_args()
    executable = find_chromium()
    if executable is None:
        raise SystemExit("no Chromium found; install it with: apt-get install chromium")
    text = converse_in_browser(
        executable, options.url, MESSAGES, ANSWERS, options.out, token=options.token
    )
    print(text)


if __name__ == "__main__":
    main()
