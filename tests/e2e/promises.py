"""What the tests of the service's promises share: commands, raw HTTP, locks, and hostile peers."""

import contextlib
import hashlib
import json
import os
import select
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx

from tests.e2e.browser import Browser
from tests.e2e.processes import BIN, Server, environment

WAIT_S: Final = 90.0
KEY_FREE: Final = {
    f"ACC_ACE_{role}__MODEL": "embedded/rules"
    for role in ("QUALIFIER", "COMPRESSOR", "REFLECTOR", "CURATOR")
}
"""Settings under which only the Generator asks the model of a test."""


def command(
    data: Path, *args: str, stdin: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    """`acc-ace` as a process over a data directory."""
    return subprocess.run(  # noqa: S603 - our own command
        [str(BIN / "acc-ace"), *args],
        cwd=data.parent,
        env=environment(data, **settings),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def refused(ended: subprocess.CompletedProcess[str]) -> str:
    """What a command said that ended with an error, clearly: without a traceback."""
    assert ended.returncode != 0, ended.stdout[-2_000:]
    assert "Traceback" not in ended.stderr + ended.stdout, ended.stderr[-4_000:]
    assert ended.stderr.strip(), "an error without a word"
    return ended.stderr


def say(
    server: Server, text: str, *, session: str = "s", user: str = "aiko", **headers: str
) -> httpx.Response:
    """The response of a turn of /v1."""
    return httpx.post(
        f"{server.url}/v1/sessions/{quote(session, safe='')}/turns",
        params={"user": user},
        json={"input": text},
        headers=headers,
        timeout=WAIT_S,
    )


def report_of(
    server: Server, text: str, *, session: str = "s", user: str = "aiko"
) -> dict[str, Any]:
    """The report of a turn that was answered."""
    response = say(server, text, session=session, user=user)
    assert response.status_code == 200, response.text
    report: dict[str, Any] = response.json()
    return report


def everything(server: Server, data: Path, user: str = "aiko") -> str:
    """All that is stored of a user: the export, what was sent to models, and each file's bytes."""
    with httpx.Client(base_url=server.url, params={"user": user}, timeout=WAIT_S) as http:
        parts = [http.get(f"/v1/users/{quote(user, safe='')}/export").text]
        for session in http.get("/v1/sessions").json().get("items", ()):
            name = quote(session["session"], safe="")
            parts.append(http.get(f"/v1/sessions/{name}/turns").text)
            parts.append(http.get(f"/v1/sessions/{name}/turns/1/requests").text)
    files = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    return "\n".join(parts) + files.decode("utf-8", errors="replace")


def raw(server: Server, request: str, *, wait_s: float = 10.0) -> str:
    """What the server answers to these very bytes, until it closes or is silent."""
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=wait_s) as client:
        client.sendall(request.replace("\n", "\r\n").encode())
        got = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while piece := client.recv(65_536):
                got += piece
    return got.decode("utf-8", errors="replace")


@contextlib.contextmanager
def locked(database: Path, seconds: float) -> Iterator[threading.Thread]:
    """Another program holds the write lock of a database for some time."""
    holds = threading.Event()

    def hold() -> None:
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("PRAGMA busy_timeout = 20000")
            connection.execute("BEGIN IMMEDIATE")
            holds.set()
            time.sleep(seconds)
            connection.execute("ROLLBACK")

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    assert holds.wait(30), "the lock was not to be had"
    yield thread
    thread.join()


def sealed(lines: list[str]) -> str:
    """An export whose records were changed, with the sum that they should have."""
    body = [line for line in lines if json.loads(line)["kind"] not in {"sum", "end"}]
    digest = hashlib.sha256("".join(f"{line}\n" for line in body).encode()).hexdigest()
    last = [{"kind": "sum", "lines": len(body), "sha256": digest}, {"kind": "end"}]
    return "".join(f"{line}\n" for line in [*body, *map(json.dumps, last)])


def rows(text: str) -> list[str]:
    """The records of an export, in an order of their own, without its sum."""
    remaining = [line for line in text.splitlines() if json.loads(line)["kind"] != "sum"]
    return sorted(remaining)


def pairs_of(text: str) -> set[tuple[str, str]]:
    """The apps and users of an export."""
    parsed = [json.loads(line) for line in text.splitlines()]
    return {(line["app"], line["user"]) for line in parsed if line["kind"] == "user"}


@contextlib.contextmanager
def listening(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, list[str]]]:
    """A peer on loopback that answers every request so; its address, and what it was asked.

    Each request is noted as its path, a space, and its body as text.
    """
    received: list[str] = []

    class Peer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(size).decode("utf-8", errors="replace")
            received.append(f"{self.path} {body}")
            with contextlib.suppress(OSError):
                answer(self)

        do_POST = do_GET  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()


def fine(peer: BaseHTTPRequestHandler) -> None:
    """An empty 200."""
    peer.send_response(200)
    peer.send_header("content-length", "0")
    peer.end_headers()


def endless(kind: str, start: str, piece: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply that goes on for as long as somebody reads it."""

    def answer(peer: BaseHTTPRequestHandler) -> None:
        peer.send_response(200)
        peer.send_header("content-type", kind)
        peer.end_headers()
        peer.wfile.write(start.encode())
        while True:
            peer.wfile.write(piece.encode())

    return answer


def peak_mb(server: Server) -> float:
    """The most memory that the server ever had, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def open_modes(folder: Path) -> list[str]:
    """Files and folders here that others than the owner may read, write or enter."""
    matches = [folder, *folder.rglob("*")]
    return [f"{path} {oct(path.stat().st_mode)}" for path in matches if path.stat().st_mode & 0o077]


@contextlib.contextmanager
def open_umask() -> Iterator[None]:
    """Children start with an umask that hides nothing."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def gemini_at(url: str, **settings: str) -> dict[str, str]:
    """Settings of a server whose `auto` is Gemini at an address."""
    return {
        "GOOGLE_API_KEY": "not-a-key",
        "GOOGLE_GEMINI_BASE_URL": url,
        "ACC_ACE_LEARNING": "off",
        "ACC_ACE_SERVE_WEB_INTERFACE": "false",
        **settings,
    }


def loaded_by(browser: Browser) -> set[str]:
    """The addresses that the page asked over the network, without what its policy blocked."""
    blocked = {
        each["requestId"]
        for each in browser.recorded("Network.loadingFailed")
        if each.get("blockedReason")
    }
    sent = browser.recorded("Network.requestWillBeSent")
    received = {each["request"]["url"] for each in sent if each["requestId"] not in blocked}
    return {each for each in received if each.startswith("http")}


def shows(tab: Browser, text: str) -> Callable[[], bool]:
    """Whether a tab shows a text, asked again and again."""
    return lambda: text in tab.text()


def timeline(http: httpx.Client, user: str) -> httpx.Response:
    """An open stream of news of a user's session; its status is there, its body is not read."""
    query = {"user": user, "session": "s"}
    return http.send(http.build_request("GET", "/sse/timeline", params=query), stream=True)


def typed(command: list[str], env: dict[str, str], text: str, *, until: str) -> str:
    """What a command shows on a terminal where a text is typed, until some words are there."""
    terminal, theirs = os.openpty()
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    output, deadline, sent = "", time.monotonic() + WAIT_S, False
    try:
        while until not in output and time.monotonic() < deadline:
            if not select.select([terminal], [], [], 3)[0]:
                # It is silent: it waits for the words, unless they were sent.
                if not sent:
                    os.write(terminal, text.encode())
                sent = True
                continue
            piece = os.read(terminal, 65_536).decode("utf-8", errors="replace")
            if "\x1b[6n" in piece:
                os.write(terminal, b"\x1b[1;1R")
            output += piece
    except OSError as ended:
        output += f"[the terminal ended: {ended}]"
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    return output
