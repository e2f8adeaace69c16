"""At DEBUG no line of the log holds a bearer token or a cookie."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from uvicorn.logging import AccessFormatter
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from acc_ace.server.log_redaction import hide_credentials
from tests.e2e.processes import Server, environment, serving
from tests.fakes.ports import free_port

TOKEN = "tok-9f3a1c77e2"
COOKIE = "c00k1e-5d41402abc"
KEY = "key-in-a-query-77"
SECRETS = (TOKEN, COOKIE, KEY)
EVERY_LOGGER = """
import logging
logging.basicConfig(level=logging.DEBUG)
from acc_ace.server.main import main
raise SystemExit(main())
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The server, with every logger of every library at DEBUG."""
    port = free_port()
    settings = {
        "ACC_ACE_PORT": str(port),
        "ACC_ACE_LOG_LEVEL": "DEBUG",
        "ACC_ACE_AUTH_TOKENS": f"alice:{TOKEN}",
    }
    with serving(
        [sys.executable, "-c", EVERY_LOGGER],
        port=port,
        env=environment(tmp_path / "data", **settings),
        log=tmp_path / "server.log",
        probe="/healthz",
    ) as running:
        yield running


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What this process logs at DEBUG, as the formatter of the root writes it."""
    written: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    root, made = logging.getLogger(), logging.getLogRecordFactory()
    level, handler = root.level, Lines()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    hide_credentials()
    yield written
    logging.setLogRecordFactory(made)
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.mark.soak
def test_an_opened_live_session_leaves_no_credential_in_the_log(
    server: Server, lines: list[str]
) -> None:
    with httpx.Client(base_url=server.url) as http:
        signed_in = http.post("/login", data={"token": TOKEN})
        cookie = signed_in.cookies["acc_ace_login"]
        made = {"sessionId": "s"}
        http.post("/apps/acc_ace/users/alice/sessions", json=made, params={"token": KEY})
    live = f"{server.url.replace('http', 'ws')}/run_live?app_name=acc_ace&user_id=alice&session_id="
    for session, headers in (
        ("s", {"Authorization": f"Bearer {TOKEN}"}),
        ("s", {"Cookie": f"acc_ace_login={cookie}; other={COOKIE}"}),
        ("unknown", {"Authorization": f"Bearer {TOKEN}"}),
    ):
        uri = f"{live}{session}&token={KEY}"
        with connect(uri, additional_headers=headers, origin=Origin(server.url)) as socket:
            socket.close()
    with pytest.raises(InvalidStatus):
        connect(f"{live}s", additional_headers={"Authorization": f"Basic {TOKEN}"})
    server.terminate()
    server.wait()
    log = server.output()
    assert "< GET /run_live" in log  # the opening was written
    assert "authorization: [redacted]" in log.lower()
    assert any("set-cookie" in line for line in lines)  # so was the client's side
    for secret in (*SECRETS, cookie):
        assert secret not in log
        assert [line for line in lines if secret in line] == []


@pytest.mark.parametrize(
    ("message", "args", "shown"),
    [
        ("< %s: %s", ("Authorization", f"Bearer {TOKEN}"), "< Authorization: [redacted]"),
        ("< %s: %s", ("cookie", f'a={COOKIE}; b="{KEY}"'), "< cookie: [redacted]"),
        ("> Set-Cookie: a=%s; Path=/", (COOKIE,), "> Set-Cookie: [redacted]"),
        ("sent %s", ({"authorization": f"Bearer {TOKEN}", "n": 1},), None),
        ("headers %r", ([(b"set-cookie", COOKIE.encode()), (b"age", b"1")],), None),
        ("%s", ({"x-goog-api-key": KEY, "API-Key": KEY},), None),
        (
            "POST %s",
            (f"http://h/v1?alt=sse&key={KEY}&n=1",),
            "POST http://h/v1?alt=sse&key=[redacted]&n=1",
        ),
        (f"asked with bearer {TOKEN}, again", (), "asked with bearer [redacted], again"),
        ("%(token)s tokens", {"token": 3}, "3 tokens"),
        ("key=%s in turn %d", ("s-1", 2), "key=s-1 in turn 2"),
    ],
)
def test_a_line_is_written_without_credentials(
    lines: list[str], message: str, args: object, shown: str | None
) -> None:
    logging.getLogger("some.library").debug(
        message, *(args if isinstance(args, tuple) else (args,))
    )
    [line] = lines
    assert shown in (None, line)
    assert not any(secret in line for secret in SECRETS)


def test_access_lines_keep_their_parts_and_tracebacks_lose_credentials(lines: list[str]) -> None:
    log = logging.getLogger("some.access")
    written: list[str] = []

    class Access(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            formatter = AccessFormatter("%(request_line)s %(status_code)s", use_colors=False)
            written.append(formatter.format(record))

    log.addHandler(handler := Access())
    try:
        values = ("127.0.0.1:1", "GET", f"/v1?token={KEY}&a=1", "1.1", 200)
        log.info('%s - "%s %s HTTP/%s" %d', *values)
    finally:
        log.removeHandler(handler)
    assert written == ["GET /v1?token=[redacted]&a=1 HTTP/1.1 200 OK"]
    try:
        raise ValueError(f"refused: Authorization: Bearer {TOKEN}")
    except ValueError:
        logging.getLogger("some.library").exception("failed")
    assert "ValueError: refused: Authorization: [redacted]" in lines[-1]
