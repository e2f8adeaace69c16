"""What axe finds in the cockpit's pages: nothing, at both widths and in both colour schemes.

axe-core comes from the package axe-core-python; AXE_SCRIPT=…/axe.min.js names another version.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.browser import Browser
from tests.e2e.processes import Server
from tests.e2e.test_cockpit import SESSION, VIEWS, browser, chromium, shared, shows
from tests.fakes.extensions import needs

__all__ = ["browser", "chromium", "shared"]

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs("embedded", "survivor")]

PAGES = {SESSION: ("incident", "Our goal is to bring checkout back"), **VIEWS}
FOUND = """
axe.run(document, {resultTypes: ['violations']}).then(({violations}) => { window.found =
  violations.flatMap(({id, impact, nodes}) => nodes.map(({target, failureSummary}) =>
    [impact, id, target.join(' '), failureSummary].join(': '))); })
"""


def axe_script() -> Path | None:
    """axe.min.js of the environment, or None."""
    package = find_spec("axe_core_python")
    named = os.environ.get("AXE_SCRIPT")
    if named or package is None or package.origin is None:
        return Path(named) if named else None
    return Path(package.origin).parent / "axe.min.js"


@pytest.fixture(scope="module")
def axe() -> str:
    script = axe_script()
    if script is None:
        pytest.skip("no axe-core here: pip install axe-core-python, or name it by AXE_SCRIPT")
    return script.read_text("utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_in_any_page(
    browser: Browser, shared: Server, axe: str, width: int, dark: bool
) -> None:
    browser.show(width=width, height=900, dark=dark)
    assert {
        page: found for page in PAGES if (found := violations(browser, shared, axe, page))
    } == {}


def violations(browser: Browser, shared: Server, axe: str, page: str) -> list[str]:
    """What axe finds in a page once it shows its data: impact, rule, element and what to do."""
    browser.open("about:blank")
    browser.open(f"{shared.url}/ui/{page}")
    shows(browser, *PAGES[page])
    browser.evaluate(f"{axe}; window.found = null; {FOUND}; 0")
    browser.wait(lambda: browser.evaluate("window.found !== null"), "axe to end")
    return list(json.loads(browser.evaluate("JSON.stringify(window.found)")))
