"""Headless Chromium through the DevTools protocol, without a driver or a further dependency."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
    "--remote-debugging-port=0",
)

_STEP_S: Final = 0.1


class BrowserError(Exception):
    """The browser did not start, did not answer, or the page did not come to what was awaited."""


def find_chromium() -> str | None:
    """Path of an installed Chromium, or None."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Browser(AbstractContextManager["Browser"]):
    """One page of a fresh Chromium with an empty profile; closed with the context."""

    def __init__(self, executable: str, *, wait_s: float = 60.0) -> None:
        self._executable = executable
        self._wait_s = wait_s
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: ClientConnection | None = None
        self._tabs: list[Browser] = []
        self._last_id = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        """Start the browser and attach to its page; raises BrowserError."""
        command = [self._executable, *_FLAGS, f"--user-data-dir={self._profile.name}"]
        self._process = subprocess.Popen(  # noqa: S603 - an executable that we looked up
            [*command, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            # No pings: while a test waits for the server, events fill the queue before a pong.
            self._socket = connect(self._page_address(), max_size=None, ping_interval=None)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the browser and forget its profile."""
        for each in (*self._tabs, self):
            if each._socket is not None:
                each._socket.close()
        self._stop()

    def tab(self) -> "Browser":
        """Another tab of this browser, on an empty page; it ends with the browser."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        other = Browser(self._executable, wait_s=self._wait_s)
        other._profile.cleanup()  # It has this one's.
        self._tabs.append(other)
        address = self._page_address().rpartition("/")[0]
        other._socket = connect(f"{address}/{target}", max_size=None, ping_interval=None)
        return other

    def close(self) -> None:
        """Close this page as a person closes a tab."""
        self._call("Page.close")

    def open(self, url: str) -> None:
        """Go to a page."""
        self._call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """The JSON value of a JavaScript expression; raises BrowserError when it throws."""
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise BrowserError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def text(self) -> str:
        """The text of the page, as a reader sees it."""
        return str(self.evaluate("document.body ? document.body.innerText : ''"))

    def type(self, selector: str, text: str) -> None:
        """Put a text into the element, in place of what it holds, and press Enter."""
        self.wait(lambda: self._focus(selector), f"an element {selector}")
        self.evaluate(f"{_found(selector)}.select()")
        self._call("Input.insertText", text=text)
        written = f"{_found(selector)}.value === {json.dumps(text)}"
        self.wait(lambda: self.evaluate(written), "the text to be written")
        for kind in ("keyDown", "keyUp"):
            key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
            self._call("Input.dispatchKeyEvent", type=kind, **key)

    def insert(self, text: str) -> None:
        """Put a text where the focus is, in place of what is selected."""
        self._call("Input.insertText", text=text)

    def attach(self, selector: str, path: Path) -> None:
        """Choose a file in a file input."""
        document = self._call("DOM.getDocument")["root"]["nodeId"]
        found = self._call("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
        self._call("DOM.setFileInputFiles", files=[str(path)], nodeId=found)

    def press(self, key: str, *, code: str = "", number: int = 0) -> None:
        """Press a key, as a person at the page does: a character, or a name such as 'Tab'."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            named = {"key": key, "code": code or key, "windowsVirtualKeyCode": number}
            self._call("Input.dispatchKeyEvent", type=kind, **named, **text)

    def click(self, selector: str) -> None:
        """Click the element once it is there and enabled."""
        self.wait(lambda: self._focus(selector), f"an element {selector}")
        self.evaluate(f"{_found(selector)}.click()")

    def show(self, *, width: int, height: int, dark: bool = False) -> None:
        """Set the size of the page, and whether the system prefers dark colours."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def watch(self) -> None:
        """Have what pages request and what goes wrong in them recorded from now on."""
        for domain in ("Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def grant(self, permission: str, url: str) -> None:
        """Grant the pages of an address a permission, as a person does who is asked."""
        self._call("Browser.grantPermissions", permissions=[permission], origin=url)

    def recorded(self, method: str) -> list[dict[str, Any]]:
        """The parameters of the recorded events of a kind, such as 'Runtime.exceptionThrown'."""
        self.evaluate("0")  # what came before it has been received then
        return [event["params"] for event in self._events if event["method"] == method]

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait until the condition holds; raises BrowserError that shows the page."""
        deadline = time.monotonic() + self._wait_s
        while not condition():
            if time.monotonic() > deadline:
                raise BrowserError(f"waited for {what}; the page shows: {self.text()[:2_000]}")
            time.sleep(_STEP_S)

    def screenshot(self, path: Path) -> None:
        """Save what is visible as PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot")["data"]))

    def _focus(self, selector: str) -> bool:
        found = _found(selector)
        return bool(self.evaluate(f"{found} && ({found}.focus(), !{found}.disabled)"))

    def _page_address(self) -> str:
        port_file = Path(self._profile.name) / "DevToolsActivePort"
        deadline = time.monotonic() + self._wait_s
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                raise BrowserError(f"{self._executable} ended before it was ready")
            lines = port_file.read_text().splitlines() if port_file.exists() else []
            if lines:
                url = f"http://127.0.0.1:{lines[0]}/json/list"
                with urlopen(url) as reply:
                    pages = [page for page in json.load(reply) if page["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
            time.sleep(_STEP_S)
        raise BrowserError(f"{self._executable} did not open its debugging port")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        if self._socket is None:
            raise BrowserError("the browser is not open")
        self._last_id += 1
        self._socket.send(json.dumps({"id": self._last_id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=self._wait_s))
            if message.get("id") != self._last_id:
                self._events += [message] if "method" in message else []
                continue
            if "error" in message:
                raise BrowserError(f"{method}: {message['error']}")
            result: dict[str, Any] = message["result"]
            return result

    def _stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=self._wait_s)
        self._profile.cleanup()


def _found(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})"
