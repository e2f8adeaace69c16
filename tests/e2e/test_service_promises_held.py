"""Promises of a whole service, as its issue and docs/deploy.md word them, from outside (half B)."""

import contextlib
import json
import random
import re
import resource
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from google.adk.agents import LlmAgent

from acc_ace import Settings
from tests.e2e.browser import Browser, find_chromium
from tests.e2e.processes import ROOT, ProcessError, Server, environment, our_server
from tests.e2e.promises import (
    KEY_FREE,
    WAIT_S,
    command,
    endless,
    everything,
    fine,
    gemini_at,
    listening,
    loaded_by,
    locked,
    open_modes,
    open_umask,
    pairs_of,
    peak_mb,
    raw,
    refused,
    report_of,
    rows,
    say,
    sealed,
    shows,
    timeline,
)
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import fake_gemini, says
from tests.fakes.fake_openai import fake_openai, http_error
from tests.fakes.fake_openai import says as openai_says
from tests.fakes.scripted_llm import ScriptedLlm, calls
from tests.pipeline.desk import Desk

pytestmark = needs("embedded")

ANSWER = json.dumps({"reasoning": [], "bullet_ids": [], "final_answer": "at last"})
DATABASES = ROOT / "tests" / "data" / "databases"
NAMES = ("..", "a b%2F&?#", "皆川 😀", "-rf", "x' OR '1'='1")
RULE = "本番DBは営業時間内に再起動しないでください。"
TOKEN = "bob-7e6d5c4b3a29180716f5"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("held")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    with open_umask(), our_server(place, ACC_ACE_LOG_LEVEL="INFO") as running:
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with tokens and a DEBUG log."""
    settings = {"ACC_ACE_AUTH_TOKENS": f"bob:{TOKEN}", "ACC_ACE_LOG_LEVEL": "DEBUG"}
    with our_server(tmp_path_factory.mktemp("guarded"), **settings) as running:
        yield running


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of users with odd names."""
    folder = tmp_path_factory.mktemp("export")
    with our_server(folder, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        for name in NAMES:
            report_of(running, f"My marker is quokka. {RULE}", user=name)
    assert command(folder / "data", "memory", "export", "--out", "all.jsonl").returncode == 0
    return folder / "all.jsonl"


def old_database(folder: Path, schema: int) -> Path:
    """A data directory with a database of an earlier schema."""
    packed = DATABASES / f"schema_{schema}.db.z"
    (folder / "data").mkdir(parents=True, mode=0o700)
    (folder / "data" / "memory.db").write_bytes(zlib.decompress(packed.read_bytes()))
    return folder / "data"


def dump(database: Path) -> list[str]:
    """Every row and definition of a SQLite file."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def new_folder(folder: Path) -> Path:
    """A folder that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def port_of(server: Server) -> str:
    return server.url.rpartition(":")[2]


# --- Part 4: HTTP ---


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_repeated_request_leaves_no_error_in_the_log(tmp_path: Path, accept: str) -> None:
    """Part 4: no ERROR and traceback for an idempotent retry."""
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        key = {"Idempotency-Key": "k-1", "Accept": accept}
        first = say(running, RULE, **key)
        again = [say(running, RULE, **key) for _ in range(3)]
        assert {first.status_code, *(each.status_code for each in again)} == {200}
        assert not re.search("ERROR|Traceback", running.output())
        state = httpx.get(
            f"{running.url}/v1/sessions/s/ccs", params={"user": "aiko"}, timeout=WAIT_S
        ).json()
    assert state["turn"] == 1


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/playbook/bullets/b-1", "GET HEAD PATCH"),
        ("/v1/memory/documents", "GET HEAD PUT DELETE"),
        ("/apps/acc_ace/users/u/sessions/s", "GET DELETE PATCH POST"),
    ],
)
def test_allow_names_all_methods_of_a_path(server: Server, path: str, methods: str) -> None:
    """Part 4: `Allow` with every method."""
    response = httpx.request("TRACE", server.url + path, timeout=WAIT_S)
    assert response.status_code == 405
    assert set(re.split(r",\s*", response.headers["allow"])) >= set(methods.split())


@pytest.mark.parametrize("path", ["/ui/", "/docs", "/dev-ui/", "/healthz", "/list-apps", "/redoc"])
def test_pages_and_probes_answer_head(server: Server, path: str) -> None:
    """Part 4: HEAD where GET is."""
    head = httpx.head(server.url + path, timeout=WAIT_S)
    assert head.status_code == httpx.get(server.url + path, timeout=WAIT_S).status_code == 200
    assert head.content == b""


def test_what_an_unknown_thing_gets_is_documented(server: Server) -> None:
    """Part 4: documented 4xx, of reads with names that nobody has and with odd parameters."""
    paths = httpx.get(f"{server.url}/openapi.json", timeout=WAIT_S).json()["paths"]
    queries = [{}, {"app": "nope"}, {"limit": "-1"}, {"user": ""}, {"cursor": "???", "before": "x"}]
    missing = []
    with httpx.Client(base_url=server.url, timeout=WAIT_S) as http:
        for path, methods in paths.items():
            if "get" not in methods or not path.startswith("/v1/"):
                continue
            documented = set(methods["get"]["responses"])
            for query in queries:
                name = re.sub(r"\{\w+\}", "なし", path)
                status = http.get(name, params=query).status_code
                missing += [] if str(status) in documented else [f"{path} {query} {status}"]
    assert missing == []


@pytest.mark.soak
def test_ten_thousand_requests_of_one_user_hold_up_nobody(server: Server) -> None:
    """Bad input: 10,000 requests of one user, while another is served."""
    with httpx.Client(base_url=server.url, timeout=WAIT_S) as http, ThreadPoolExecutor(8) as pool:
        flood = pool.map(
            lambda _: http.get("/v1/sessions", params={"user": "flood"}).status_code, range(10_000)
        )
        took = []
        for number in range(5):
            started = time.monotonic()
            report_of(server, f"Step {number}.", user="calm")
            took.append(time.monotonic() - started)
        statuses = list(flood)
    assert set(statuses) == {200, 429}
    assert max(took) < 15, took


def test_a_user_of_a_token_is_limited_whatever_is_claimed(tmp_path: Path) -> None:
    """Part 4: per-user limits; with tokens, the token says who it is."""
    tokens = f"bob:{TOKEN},alice:a-{TOKEN}"
    limit = {"ACC_ACE_LIMITS__REQUESTS_PER_MINUTE": "10"}
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS=tokens, **limit) as running:
        bob = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=running.url, timeout=WAIT_S) as http:
            for number in range(14):
                claim = {**bob, "X-User": f"u{number}", "X-Forwarded-For": f"203.0.113.{number}"}
                http.get("/v1/apps", headers=claim)
            refused_now = http.get("/v1/apps", headers=bob)
            assert refused_now.status_code == 429
            assert refused_now.headers["retry-after"].isdigit()
            alice = {"Authorization": f"Bearer a-{TOKEN}"}
            assert http.get("/v1/apps", headers=alice).status_code == 200
            turn = http.post("/run", json={"appName": "acc_ace"}, headers=bob)
            assert turn.status_code == 429


def test_one_user_cannot_hold_every_stream(server: Server) -> None:
    """Part 4: one user can hold all 500 streams today."""
    report_of(server, "hello", user="greedy")
    report_of(server, "hello", user="modest")
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(base_url=server.url, timeout=WAIT_S, limits=limits) as http:  # noqa: SIM117
        with ExitStack() as stack:
            opened = [timeline(http, "greedy") for _ in range(40)]
            for each in opened:
                stack.callback(each.close)
            statuses = [each.status_code for each in opened]
            assert statuses == sorted(statuses)
            assert set(statuses) == {200, 429}
            other = timeline(http, "modest")
            stack.callback(other.close)
            assert other.status_code == 200


@pytest.mark.soak
@pytest.mark.browser
def test_a_chat_beside_many_tabs_is_answered(server: Server) -> None:
    """Part 4: one stream per browser; other requests of the browser are not starved either."""
    if (chromium := find_chromium()) is None:
        pytest.skip("no Chromium is installed")
    report_of(server, "Aiko leads the incident.", user="user")
    with Browser(chromium) as browser:
        tabs = [browser, *(browser.tab() for _ in range(9))]
        for tab in tabs:
            tab.open(f"{server.url}/ui/#/session/acc_ace/user/s")
            tab.wait(shows(tab, "Aiko leads"), "a tab")
        ask = "fetch('/v1/sessions').then(r => { document.title = 'got ' + r.status })"
        tabs[-1].evaluate(f"({ask}, 0)")
        tabs[-1].wait(lambda: "got 200" in tabs[-1].evaluate("document.title"), "an answer")
        assert httpx.get(f"{server.url}/metrics", timeout=WAIT_S).json()["streams"] <= 2


@pytest.mark.soak
def test_an_export_that_is_never_read_is_given_up(tmp_path: Path) -> None:
    """Bad input: a client that never reads; .env.example: cut off after RECEIVE_S."""
    with our_server(tmp_path, ACC_ACE_LIMITS__RECEIVE_S="3") as running:
        text = "".join(f"Line {n}: 監視サーバーの長い記録です。\n\n" for n in range(60_000))
        for name in ("a", "b"):
            query = {"user": "aiko", "name": name}
            head = {"content-type": "text/plain"}
            sent = httpx.put(
                f"{running.url}/v1/memory/documents",
                params=query,
                content=text.encode(),
                headers=head,
                timeout=WAIT_S,
            )
            assert sent.status_code == 200, sent.text
        with httpx.Client(base_url=running.url, timeout=WAIT_S) as http:
            path = "/v1/users/aiko/export"
            request = http.build_request("GET", path, params={"user": "aiko"})
            silent = [http.send(request, stream=True) for _ in range(4)]
            started = time.monotonic()
            report_of(running, "hello", user="bob")
            assert time.monotonic() - started < 10
            time.sleep(12)
            for each in silent:
                got = b""
                with contextlib.suppress(httpx.TransportError):
                    for piece in each.iter_raw():
                        got = (got + piece)[-100:]
                assert b'"kind": "end"' not in got


# --- Part 8: security ---


def test_a_smuggled_second_request_is_not_run(server: Server) -> None:
    """Part 8: both `Content-Length` and `Transfer-Encoding` is 400, and nothing behind it runs."""
    host = f"Host: 127.0.0.1:{port_of(server)}\n"
    inner = f"DELETE /v1/sessions/keep?user=prey HTTP/1.1\n{host}\n"
    report_of(server, "hello", session="keep", user="prey")
    request = (
        f"POST /v1/chat HTTP/1.1\n{host}Content-Type: application/json\n"
        f"Content-Length: {len(inner) + 8}\nTransfer-Encoding: chunked\n\n0\n\n{inner}"
    )
    assert re.match(r"HTTP/1.1 400 ", raw(server, request))
    remaining = httpx.get(f"{server.url}/v1/sessions/keep", params={"user": "prey"}, timeout=WAIT_S)
    assert remaining.status_code == 200


@pytest.mark.parametrize("head", ["Content-Length: 5\nContent-Length: 50", "Content-Length: 5, 50"])
def test_two_different_lengths_are_refused(server: Server, head: str) -> None:
    """The same kind: a request whose length is in doubt is the client's error."""
    host = f"Host: 127.0.0.1:{port_of(server)}"
    request = f"POST /v1/chat HTTP/1.1\n{host}\nContent-Type: application/json\n{head}\n\nabcde"
    assert re.match(r"HTTP/1.1 4\d\d ", raw(server, request, wait_s=5))


def test_a_body_shorter_than_it_says_is_timed_out(tmp_path: Path) -> None:
    """docs/deploy.md: the body must arrive within RECEIVE_S, else 408 and the end."""
    with our_server(tmp_path, ACC_ACE_LIMITS__RECEIVE_S="2") as running:
        host = f"Host: 127.0.0.1:{port_of(running)}"
        head = f"POST /v1/chat HTTP/1.1\n{host}\nContent-Type: application/json\n"
        started = time.monotonic()
        answer = raw(running, head + 'Content-Length: 500\n\n{"input": "short"}', wait_s=15)
        assert re.match(r"HTTP/1.1 408 ", answer), answer[:100]
        assert time.monotonic() - started < 12
        report_of(running, "hello")


@pytest.mark.parametrize("path", ["/dev-ui", "/dev-ui/", "/dev-ui/index.html", "/ui/"])
def test_every_page_says_where_it_may_load_from(server: Server, path: str) -> None:
    """Part 8: CSP for `/dev-ui/` too, on every address of the page."""
    page = httpx.get(server.url + path, follow_redirects=True, timeout=WAIT_S)
    if page.status_code == 404:
        pytest.skip("no page there")
    policy = page.headers["content-security-policy"]
    images = re.search(r"(?:img-src|default-src)([^;]*)", policy)
    assert images
    assert not re.search(r"https?:|\*", images[1])
    assert "object-src 'none'" in policy or "default-src" in policy


@pytest.mark.soak
@pytest.mark.browser
def test_the_development_page_asks_no_font_host(server: Server) -> None:
    """Part 8: the page asked an outside font host; styles and fonts of others stay unasked too."""
    if (chromium := find_chromium()) is None:
        pytest.skip("no Chromium is installed")
    with listening(fine) as (url, received), Browser(chromium) as browser:
        browser.watch()
        browser.open(f"{server.url}/dev-ui/?app=acc_ace")
        browser.wait(lambda: browser.text().strip(), "the page")
        style = f"<style>@import url({url}/a.css); body {{background: url({url}/b.png)}}</style>"
        frame = f"<iframe src='{url}/c'></iframe><video src='{url}/d.mp4'></video>"
        written = json.dumps(style + frame)
        browser.evaluate(f"document.body.insertAdjacentHTML('beforeend', {written})")
        time.sleep(3)
        gone = loaded_by(browser)
        assert received == []
    assert not [each for each in gone if not each.startswith(server.url)]


def test_who_signs_in_rightly_is_not_limited(guarded: Server) -> None:
    """Part 8, .env.example: failed sign-ins are counted, not those that succeed."""
    with httpx.Client(base_url=guarded.url, timeout=WAIT_S) as http:
        got = [http.post("/login", data={"token": TOKEN}).status_code for _ in range(25)]
        assert set(got) == {303}
        wrong = [http.post("/login", data={"token": f"鍵{n}"}).status_code for n in range(15)]
        assert wrong[0] == 401
        assert wrong[-1] == 429
        assert http.get("/healthz").status_code == 200


@pytest.mark.parametrize("token", ["x", "あ"])
def test_serve_refuses_a_guessable_token_off_loopback(tmp_path: Path, token: str) -> None:
    """Part 8: a one-letter token is refused off loopback; the message does not print it."""
    settings = {
        "ACC_ACE_HOST": "0.0.0.0",  # noqa: S104 - what is refused
        "ACC_ACE_PORT": "0",
        "ACC_ACE_AUTH_TOKENS": f"bob:{token}",
        "ACC_ACE_TRUSTED_HOSTS": "chat.example",
    }
    message = refused(command(tmp_path / "data", "serve", **settings))
    assert "ACC_ACE_AUTH_TOKENS" in message
    assert f"bob:{token}" not in message


SECRETS = {
    "anthropic": "sk-ant-api03-" + "hT9kQ2mW7xV4bN8cL1zR6yP3sD5fG0jA-uE2iO4pK6lM8nB1vC3xZ5",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "gitlab": "gl" + "pat-zX9cV8bN7mQ6wE5rT4yU",
    "stripe": "sk_" + "live_51H8xKbLkJhGfDsAqWeRtYuIoP",
    "huggingface": "hf" + "_QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_of_any_provider_is_stored_nowhere(server: Server, place: Path, kind: str) -> None:
    """Part 8: recognised secrets are masked before they are stored; in Japanese without blanks."""
    secret, user = SECRETS[kind], f"hide-{kind}"
    report_of(server, f"次の認証情報「{secret}」を使うこと。担当は胡桃チームです。", user=user)
    stored = everything(server, place / "data", user)
    assert secret not in stored
    assert "胡桃チーム" in stored


LABELLED = {
    "password": ("password: Tr0ub4dor&3xyz", "Tr0ub4dor&3xyz"),
    "japanese": ("パスワード：Kx9vQ2mZ7pLr", "Kx9vQ2mZ7pLr"),
    "url": ("postgres://app:S3cr3tPw99@db-01:5432/app", "S3cr3tPw99"),
    "header": ("Authorization: Bearer 9f8e7d6c5b4a39281706f5e4d3c2b1a0", "9f8e7d6c5b4a39281706f5"),
    "environment": ("DB_PASSWORD=hx72-Plmokn-88", "hx72-Plmokn-88"),
}


def turns_in(export: str) -> int:
    return [json.loads(line)["kind"] for line in export.splitlines()].count("turn")


@pytest.mark.parametrize("kind", LABELLED)
def test_a_password_that_is_called_one_is_stored_nowhere(
    server: Server, place: Path, kind: str
) -> None:
    """Part 8: keys, tokens, passwords are masked, as in logs; the rest of the text is not."""
    message, secret = LABELLED[kind]
    report_of(server, f"The walnut host uses {message} since Monday.", user=f"word-{kind}")
    stored = everything(server, place / "data", f"word-{kind}")
    assert secret not in stored
    assert "walnut host" in stored


@pytest.mark.parametrize("way", ["attachment", "run", "document", "rule"])
def test_a_key_is_masked_whichever_way_it_comes(server: Server, place: Path, way: str) -> None:
    """Part 8: before they are stored, by every way in."""
    secret = "gh" + "p_" + "9A8b7C6d5E4f3G2h1I0jKlMnOpQrStUvWxYz"
    user, text = f"way-{way}", f"Deploy with {secret} on walnut-9."
    body: dict[str, object]
    with httpx.Client(base_url=server.url, params={"user": user}, timeout=WAIT_S) as http:
        report_of(server, "hello", user=user)
        if way == "attachment":
            body = {"input": "Read it.", "attachments": [{"text": text, "source": "mail"}]}
            sent = http.post("/v1/sessions/s/turns", json=body)
        elif way == "run":
            message = {"role": "user", "parts": [{"text": text}]}
            body = {"appName": "acc_ace", "userId": user, "sessionId": "s", "newMessage": message}
            sent = http.post("/run", json=body)
        elif way == "document":
            query = {"user": user, "name": "d"}
            head = {"content-type": "text/plain"}
            sent = http.put("/v1/memory/documents", params=query, content=text, headers=head)
        else:
            sent = http.post("/v1/sessions/s/rules", json={"text": f"Never print {secret}."})
        # A rule with a key in it may be refused as well.
        assert sent.status_code < 300 or way == "rule", sent.text
    assert secret not in everything(server, place / "data", user)


async def test_a_key_in_a_call_and_its_result_is_stored_nowhere(tmp_path: Path) -> None:
    """Part 8: tool calls too: nested results, and arguments that a model wrote."""
    secret = "AK" + "IAQ3EGRIPEXAMPLE78"

    def rotate(old: str) -> dict[str, object]:
        """Rotate a key."""
        return {"steps": [{"walnut": f"置換済み: {old}"}]}

    model = ScriptedLlm().on("generator", calls(("rotate", {"old": secret})), "Done.")
    agent = LlmAgent(name="helper", model=model, tools=[rotate])
    data = tmp_path / "data"
    desk = Desk(agent, settings=Settings(store="sqlite", data_dir=data))
    await desk.ask("Rotate the deploy key.")
    output = str(await desk.evidence())
    await desk.container.close()
    files = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert secret not in output
    assert secret.encode() not in files


ORDINARY = {
    "sha256": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.",
    "ulid": "Order 01ARZ3NDEKTSV4RRFFQ69G5FAV shipped; part AKIA is on page 12.",
    "question": "パスワードを忘れた場合の手順はどこですか？トークン数は8192です。",
    "path": "Look at src/auth/token_store.py:142 and docs/api-keys.md, then v1.2.3-rc.1+8a1bc4e.",
    "words": "The secret: practice. Bearer bonds fell; the key is under the mat; skate-park opens.",
    "address": "Host 2001:db8:85a3:0:0:8a2e:370:7334 answers at https://example.com/a?b=c#d.",
}


@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_words_and_numbers_are_not_masked(server: Server, kind: str) -> None:
    """Part 8: only recognised secrets are masked."""
    report_of(server, ORDINARY[kind], user=f"kept-{kind}")
    query = {"user": f"kept-{kind}"}
    turns = httpx.get(f"{server.url}/v1/sessions/s/turns", params=query, timeout=WAIT_S).json()
    assert ORDINARY[kind] in json.dumps(turns, ensure_ascii=False)


def test_a_token_in_a_wrong_place_is_not_logged_either(guarded: Server) -> None:
    """Part 8: tokens in DEBUG logs: in addresses, bodies, odd headers, and broken requests."""
    with httpx.Client(base_url=guarded.url, timeout=WAIT_S) as http:
        http.get("/v1/sessions", params={"token": TOKEN, "access_token": TOKEN})
        http.get("/sse/timeline", params={"token": TOKEN})
        http.get("/v1/apps", headers={"Authorization": f"bearer  {TOKEN}"})
        http.get("/v1/apps", headers={"Authorization": TOKEN, "X-Api-Key": TOKEN})
        http.post("/login", json={"token": TOKEN})
        http.post("/login", content=f"token={TOKEN}&x=%ZZ")
        signed = http.post("/login", data={"token": TOKEN, "back": f"/ui/?t={TOKEN}"})
        http.get("/v1/apps", headers={"Cookie": signed.headers.get("set-cookie", "")})
    raw(guarded, f"GET /v1/apps HTTP/9.9\nAuthorization: Bearer {TOKEN}\n\n", wait_s=2)
    assert TOKEN not in guarded.output()


def test_files_of_commands_are_the_owners_alone(tmp_path: Path) -> None:
    """Part 8: file modes of every file that is written: playbook files, exports, jobs."""
    data = tmp_path / "data"
    settings = {"ACC_ACE_PLAYBOOK_FILES": "true", "ACC_ACE_LEARN_ON": "every"}
    with open_umask():
        ended = command(data, "chat", "--user", "あいこ", stdin=f"{RULE}\n", **settings)
        assert ended.returncode == 0, ended.stderr
        command(data, "playbook", "export", "--out", str(data / "p.md"), **settings)
        command(data, "memory", "export", "--out", str(data / "m.jsonl"), **settings)
    assert (data / "m.jsonl").exists()
    assert open_modes(data) == []


# --- Part 5: export, restore, upgrade, damage ---


def test_a_database_of_104_keeps_rules_and_lessons(tmp_path: Path) -> None:
    """Part 5: a database of each landed schema >= 103 is opened and complete."""
    data = old_database(tmp_path, 104)
    before = dump(data / "memory.db")
    first = command(data, "memory", "export", "--user", "aiko")
    assert first.returncode == 0, first.stderr
    kinds = [json.loads(line)["kind"] for line in first.stdout.splitlines()]
    assert (kinds.count("session"), kinds.count("turn")) == (2, 4)
    lessons = command(data, "playbook", "show", "--json").stdout
    assert "content" in lessons
    backups = list(data.glob("memory.db.schema-104.backup"))
    assert [dump(path) for path in backups] == [before]
    assert [path.stat().st_mode & 0o777 for path in backups] == [0o600]


@pytest.mark.parametrize("version", [102, 9_999])
def test_a_database_that_cannot_be_upgraded_is_left_alone(tmp_path: Path, version: int) -> None:
    """Part 5: forward only; docs: one of a newer program is refused and left unchanged."""
    data = old_database(tmp_path, 105)
    with contextlib.closing(sqlite3.connect(data / "memory.db")) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = (data / "memory.db").read_bytes()
    message = refused(command(data, "memory", "export", "--user", "aiko"))
    assert str(version) in message
    assert (data / "memory.db").read_bytes() == before
    assert list(data.glob("*.backup")) == []


def test_a_full_disk_leaves_the_old_database(tmp_path: Path) -> None:
    """Bad input: a full disk while migrating; here no file may grow to the database's size."""
    data = old_database(tmp_path, 103)
    before = dump(data / "memory.db")
    size = (data / "memory.db").stat().st_size // 2

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    ended = subprocess.run(  # noqa: S603 - our own command
        [str(Path(sys.executable).parent / "acc-ace"), "sessions", "--user", "aiko"],
        cwd=tmp_path,
        env=environment(data),
        preexec_fn=full,
        capture_output=True,
        text=True,
        check=False,
    )
    refused(ended)
    assert dump(data / "memory.db") == before
    after = command(data, "memory", "export", "--user", "aiko")
    assert after.returncode == 0, after.stderr
    assert turns_in(after.stdout) == 4


def test_odd_names_come_back_and_stay_inside(export: Path, tmp_path: Path) -> None:
    """Part 5: whole users, whatever they are called."""
    data = tmp_path / "inner" / "data"
    data.parent.mkdir()
    restored = command(data, "memory", "restore", str(export))
    assert restored.returncode == 0, restored.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"inner"}
    again = command(data, "memory", "export")
    assert {user for _app, user in pairs_of(again.stdout)} >= set(NAMES)
    assert rows(again.stdout) == rows(export.read_text(encoding="utf-8"))
    one = command(data, "memory", "export", "--user=-rf")
    assert {user for _app, user in pairs_of(one.stdout)} == {"-rf"}


@pytest.mark.soak
def test_one_user_who_exists_stops_the_whole_restore(export: Path, tmp_path: Path) -> None:
    """Bad input: a restore into a user that exists: all or none."""
    data = tmp_path / "data"
    ended = command(data, "chat", "--user", NAMES[-1], stdin="My own marker.\n")
    assert ended.returncode == 0, ended.stderr
    before = dump(data / "memory.db")
    refused(command(data, "memory", "restore", str(export)))
    assert dump(data / "memory.db") == before
    assert command(data, "memory", "erase", "--user", NAMES[-1], "--yes").returncode == 0
    assert command(data, "memory", "restore", str(export)).returncode == 0


@pytest.mark.parametrize("way", ["inside a line", "a line lost", "a line twice", "two swapped"])
def test_an_export_that_is_not_whole_restores_nothing(
    export: Path, tmp_path: Path, way: str
) -> None:
    """Bad input: truncated or changed: docs: a file that was cut or changed is refused."""
    lines = export.read_text(encoding="utf-8").splitlines(keepends=True)
    at = random.Random(way).randrange(2, len(lines) - 4)
    if way == "inside a line":
        lines = [*lines[:at], lines[at][: len(lines[at]) // 2]]
    elif way == "a line lost":
        del lines[at]
    elif way == "a line twice":
        lines.insert(at, lines[at])
    else:
        other = next(n for n in range(at, 0, -1) if lines[n] != lines[at])
        lines[at], lines[other] = lines[other], lines[at]
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(lines), encoding="utf-8")
    refused(command(tmp_path / "data", "memory", "restore", str(broken)))
    assert pairs_of(command(tmp_path / "data", "memory", "export").stdout) == set()


@pytest.mark.parametrize("kind", ["empty", "binary", "folder", "absent", "http", "deep"])
def test_what_is_no_export_is_refused(server: Server, tmp_path: Path, kind: str) -> None:
    """Bad input: a restore of something else: a clear error."""
    path = tmp_path / "x.jsonl"
    if kind == "empty":
        path.touch()
    elif kind == "binary":
        path.write_bytes(bytes(range(256)) * 200)
    elif kind == "folder":
        path.mkdir()
    elif kind == "http":
        report_of(server, "hello", user="web")
        got = httpx.get(f"{server.url}/v1/users/web/export", params={"user": "web"}, timeout=WAIT_S)
        path.write_bytes(got.content)
    elif kind == "deep":
        path.write_text("[" * 100_000)
    refused(command(tmp_path / "data", "memory", "restore", str(path)))


@pytest.mark.parametrize("user", ["", "../x", "x\ny", None, 7])
def test_a_forged_user_is_refused(export: Path, tmp_path: Path, user: object) -> None:
    """A forged export whose sum is right, of a user whose name is none."""
    lines = []
    for line in export.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["kind"] == "user":
            record["user"] = user
        lines.append(json.dumps(record))
    forged = tmp_path / "in" / "forged.jsonl"
    forged.parent.mkdir()
    forged.write_text(sealed(lines), encoding="utf-8")
    data = tmp_path / "in" / "data"
    ended = command(data, "memory", "restore", str(forged))
    assert "Traceback" not in ended.stderr
    assert ended.returncode != 0, "five users became one"
    assert {path.name for path in tmp_path.iterdir()} == {"in"}
    assert pairs_of(command(data, "memory", "export").stdout) == set()


def test_an_export_overwrites_nothing(tmp_path: Path) -> None:
    """--help: a new file to write."""
    data = tmp_path / "data"
    assert command(data, "chat", stdin="hello\n").returncode == 0
    (tmp_path / "m.jsonl").write_text("mine")
    refused(command(data, "memory", "export", "--out", "m.jsonl"))
    assert (tmp_path / "m.jsonl").read_text() == "mine"


@pytest.mark.parametrize("seed", range(6))
def test_a_byte_flipped_anywhere_is_no_traceback(tmp_path: Path, seed: int) -> None:
    """Part 5: damaged databases get the clear error in all cases; or nothing was hit."""
    data = old_database(tmp_path, 105)
    content = bytearray((data / "memory.db").read_bytes())
    end = 100 if seed < 2 else len(content)
    content[random.Random(seed).randrange(end)] ^= 0xA5
    (data / "memory.db").write_bytes(content)
    ended = command(data, "memory", "export", "--user", "aiko")
    assert "Traceback" not in ended.stderr
    if ended.returncode:
        assert ended.stderr.strip()
    else:
        assert turns_in(ended.stdout) == 4


@pytest.mark.soak
def test_a_server_over_a_damaged_database_says_so(tmp_path: Path) -> None:
    """Part 5: the same by HTTP, or at the start: a clear error, no traceback."""
    data = old_database(tmp_path, 105)
    content = bytearray((data / "memory.db").read_bytes())
    content[content.index(b"CREATE TABLE interactions") + 10] = 0xFE
    (data / "memory.db").write_bytes(content)
    with contextlib.suppress(ProcessError), our_server(tmp_path) as running:
        response = say(running, "hello")
        assert response.status_code == 503, response.text
        assert response.json()["code"] in {"corrupt_store", "store_error"}
    log = (tmp_path / "server.log").read_text()
    assert "memory.db" in log
    assert "Traceback" not in log


# --- Part 10: locks, and a database that is gone ---


def test_a_vanished_database_is_missed_by_the_command_line(tmp_path: Path) -> None:
    """Part 10: a vanished `memory.db` beside other data is said; a copy put back works."""
    data = tmp_path / "data"
    assert (
        command(data, "chat", "--user", "aiko", "--session", "s", stdin=f"{RULE}\n").returncode == 0
    )
    (data / "memory.db").rename(tmp_path / "copy.db")
    for path in data.glob("memory.db-*"):
        path.unlink()
    assert "memory.db" in refused(command(data, "memory", "export", "--user", "aiko"))
    assert "memory.db" in refused(command(data, "chat", "--user", "aiko", stdin="hello\n"))
    (tmp_path / "copy.db").rename(data / "memory.db")
    assert RULE in command(data, "memory", "export", "--user", "aiko").stdout


@pytest.mark.soak
def test_a_database_emptied_under_a_running_server_is_said(tmp_path: Path) -> None:
    """Part 10: an emptied `memory.db` is said after a restart, by HTTP too."""
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        report_of(running, RULE)
    for path in (tmp_path / "data").glob("memory.db*"):
        path.write_bytes(b"")
    with contextlib.suppress(ProcessError), our_server(tmp_path) as running:
        response = say(running, "hello")
        assert (response.status_code, response.json()["code"]) == (503, "store_error")
    assert "memory.db" in (tmp_path / "server.log").read_text()
    assert (tmp_path / "data" / "memory.db").stat().st_size == 0


@pytest.mark.soak
def test_a_lock_longer_than_a_turn_is_an_error_in_time(tmp_path: Path) -> None:
    """docs/deploy.md: at most as long as a turn may take; then 503 store_error, nothing half."""
    roles = ("QUALIFIER", "COMPRESSOR", "GENERATOR", "REFLECTOR", "CURATOR", "GUARD_MODEL")
    settings = {f"ACC_ACE_{role}__TIMEOUT_S": "10" for role in roles}
    with our_server(tmp_path, ACC_ACE_LIMITS__TURN_WAIT_S="10", **settings) as running:
        report_of(running, "hello")
        with locked(tmp_path / "data" / "memory.db", 32):
            started = time.monotonic()
            response = say(running, RULE)
            took = time.monotonic() - started
        assert (response.status_code, response.json()["code"]) == (503, "store_error")
        assert 5 < took < 31
        report = report_of(running, "Is there a rule?")
    assert report["turn"] == 2


@pytest.mark.soak
def test_two_servers_add_lessons_beside_each_other(tmp_path: Path) -> None:
    """Part 10: batches of deltas retry a busy database, of another process too."""

    def add(server: Server, number: int) -> str:
        content = f"Check disk {number} of host-{number}."
        body = {"operations": [{"type": "ADD", "section": "ops", "content": content}]}
        query = {"user": f"u{number}", "scope": "user"}
        url = f"{server.url}/v1/playbook/apply"
        sent = httpx.post(url, params=query, json=body, timeout=WAIT_S)
        return "" if sent.status_code == 200 else sent.text

    plain = {"ACC_ACE_SERVE_WEB_INTERFACE": "false"}
    with our_server(tmp_path, **plain) as one, our_server(tmp_path, **plain) as two:  # noqa: SIM117
        with ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda n: add((one, two)[n % 2], n), range(200)))
    assert [each for each in answers if each] == []


# --- Part 9: bounded transport ---


@pytest.mark.soak
@pytest.mark.parametrize("way", ["one line", "one body", "thoughts"])
def test_an_endless_reply_of_any_kind_is_cut(tmp_path: Path, way: str) -> None:
    """Part 9: a byte cap for Gemini as for the others; the Generator streams, a helper does not."""
    start = '{"candidates": [{"content": {"role": "model", "parts": [{"text": "'
    thought = {"parts": [{"text": "思" * 9_000, "thought": True}], "role": "model"}
    event = f"data: {json.dumps({'candidates': [{'content': thought}]})}\n\n"
    answers = {
        "one line": endless("text/event-stream", f"data: {start}", "x" * 65_536),
        "one body": endless("application/json", start, "x" * 65_536),
        "thoughts": endless("text/event-stream", "", event),
    }
    role = "COMPRESSOR" if way == "one body" else "GENERATOR"
    with listening(answers[way]) as (url, received):
        settings = {**KEY_FREE, "ACC_ACE_GENERATOR__MODEL": "embedded/rules"}
        settings |= {f"ACC_ACE_{role}__MODEL": "gemini-3.5-flash", f"ACC_ACE_{role}__RETRIES": "0"}
        with our_server(tmp_path, **gemini_at(url, **settings)) as running:
            before = peak_mb(running)
            started = time.monotonic()
            response = say(running, RULE)
            assert response.status_code in {200, 502, 503}, response.text
            assert received
            assert time.monotonic() - started < 110
            assert peak_mb(running) - before < 250


@pytest.mark.soak
def test_a_stalled_qualifier_does_not_take_the_turn(tmp_path: Path) -> None:
    """Part 9: an optional stage gets a third of the turn's time at most, and says so."""
    roles = ("QUALIFIER", "COMPRESSOR", "GENERATOR", "REFLECTOR", "CURATOR", "GUARD_MODEL")
    seconds = {f"ACC_ACE_{role}__TIMEOUT_S": "18" for role in roles}
    with fake_gemini() as gemini:
        gemini.script("generator", says(ANSWER))
        settings = gemini_at(gemini.base_url, ACC_ACE_LIMITS__TURN_MODEL_S="18", **seconds)
        with our_server(tmp_path, **settings) as running:
            report_of(running, "The walnut server is db-01.")
            gemini.script("qualifier", says("{}", delay_s=25))
            started = time.monotonic()
            report = report_of(running, "Which one is the walnut server?")
            took = time.monotonic() - started
        received = [each for each in gemini.requests if each.role == "qualifier"]
    assert report["answer"].startswith("at last")
    assert took < 12, took
    assert not received or "qualifier" in json.dumps(report["warnings"])


@pytest.mark.soak
def test_a_model_that_stays_busy_is_not_asked_on_and_on(tmp_path: Path) -> None:
    """Part 9: it probes before it closes: few requests, a named time, a turn that is not slow."""
    with fake_openai() as fake:
        busy = http_error(429, "slow down", retry_after="3600")
        fake.script("generator", *[busy] * 50)
        settings = {**KEY_FREE, "ACC_ACE_GENERATOR__MODEL": "openai/x", "ACC_ACE_LEARNING": "off"}
        settings |= {"ACC_ACE_OPENAI_BASE_URL": fake.base_url}
        with our_server(tmp_path, **settings) as running:
            responses = [say(running, f"hello {n}") for n in range(12)]
        received = len(fake.requests)
    assert {each.status_code for each in responses} <= {502, 503}
    assert "429" in responses[-1].text
    assert received < 12 * 4


@pytest.mark.soak
def test_a_model_that_is_free_again_answers(tmp_path: Path) -> None:
    """Part 9: a 429 with Retry-After: 3600, then success, of an OpenAI-compatible endpoint."""
    with fake_openai() as fake:
        busy = http_error(429, "slow down", retry_after="3600")
        fake.script("generator", busy, openai_says(ANSWER))
        settings = {**KEY_FREE, "ACC_ACE_GENERATOR__MODEL": "openai/x", "ACC_ACE_LEARNING": "off"}
        settings |= {"ACC_ACE_OPENAI_BASE_URL": fake.base_url}
        settings |= {"ACC_ACE_LIMITS__BREAKER_PAUSE_S": "1"}
        with our_server(tmp_path, **settings) as running:
            last, deadline = say(running, "hello"), time.monotonic() + 100
            while last.status_code != 200 and time.monotonic() < deadline:
                time.sleep(2)
                last = say(running, "hello", user="other")
    assert last.status_code == 200, last.text


def test_an_endpoint_without_schemas_still_works(tmp_path: Path) -> None:
    """Part 9 and docs/how-to/models.md: who rejects schemas is asked for plain JSON."""
    with fake_openai(knows_schemas=False) as fake:
        settings = {**KEY_FREE, "ACC_ACE_COMPRESSOR__MODEL": "openai/x", "ACC_ACE_LEARNING": "off"}
        settings |= {"ACC_ACE_GENERATOR__MODEL": "embedded/rules"}
        settings |= {"ACC_ACE_OPENAI_BASE_URL": fake.base_url}
        with our_server(tmp_path, **settings) as running:
            reports = [report_of(running, f"Host {n} is owned by team-{n}.") for n in range(6)]
        kinds = [(each.body.get("response_format") or {}).get("type") for each in fake.requests]
    assert all(each["answer"] for each in reports)
    assert kinds.count("json_schema") < len(kinds) / 2, kinds


# --- Part 6: operate ---


def test_measures_are_off_unless_asked_for(server: Server, guarded: Server) -> None:
    """Part 6: Prometheus at a path of its own; the JSON `/metrics` stays."""
    assert httpx.get(f"{server.url}/v1/operations/metrics", timeout=WAIT_S).status_code == 404
    assert isinstance(httpx.get(f"{server.url}/metrics", timeout=WAIT_S).json(), dict)
    assert httpx.get(f"{guarded.url}/v1/operations/metrics", timeout=WAIT_S).status_code in {
        401,
        404,
    }


@pytest.mark.soak
def test_with_tokens_nobody_is_an_operator_by_default(tmp_path: Path) -> None:
    """.env.example: operators empty = no one with tokens; odd paths make no series of their own."""
    settings = {"ACC_ACE_PROMETHEUS": "true"}
    path = "/v1/operations/metrics"
    with our_server(
        new_folder(tmp_path / "a"), ACC_ACE_AUTH_TOKENS=f"bob:{TOKEN}", **settings
    ) as running:
        head = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.get(running.url + path, headers=head, timeout=WAIT_S).status_code == 403
    with our_server(new_folder(tmp_path / "b"), **settings) as running:
        first = httpx.get(running.url + path, timeout=WAIT_S).text
        for number in range(50):
            httpx.get(f"{running.url}/なし/{number}", timeout=WAIT_S)
            httpx.get(f"{running.url}/v1/sessions/秘密{number}", timeout=WAIT_S)
        second = httpx.get(running.url + path, timeout=WAIT_S).text
    assert "秘密" not in second
    assert len(second.splitlines()) - len(first.splitlines()) < 150


def test_what_log_content_says_it_does(tmp_path: Path) -> None:
    """Part 6: `ACC_ACE_LOG_CONTENT` does what it says or goes."""
    if "ACC_ACE_LOG_CONTENT" not in (ROOT / ".env.example").read_text():
        assert "ACC_ACE_LOG_CONTENT" not in (ROOT / "SECURITY.md").read_text()
        return
    with listening(fine) as (url, received):
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "ACC_ACE_LOG_CONTENT": "true"}
        with our_server(tmp_path, **settings) as running:
            report_of(running, "The walnut server is down.")
            running.terminate()
            running.wait()
    assert "walnut" in "".join(received)


def test_the_access_log_has_a_line_for_each_request_and_no_secret(tmp_path: Path) -> None:
    """Part 6: an access log by a setting; off, there is none."""
    tokens = {"ACC_ACE_AUTH_TOKENS": f"bob:{TOKEN}", "ACC_ACE_ACCESS_LOG": "true"}
    with our_server(new_folder(tmp_path / "on"), **tokens) as running:
        for number in range(5):
            httpx.get(f"{running.url}/v1/sessions/n{number}?token={TOKEN}", timeout=WAIT_S)
        assert sum(f"/v1/sessions/n{n}" in running.output() for n in range(5)) == 5
        assert TOKEN not in running.output()
    with our_server(new_folder(tmp_path / "off"), ACC_ACE_ACCESS_LOG="false") as running:
        httpx.get(f"{running.url}/v1/sessions/quiet", timeout=WAIT_S)
        assert "quiet" not in running.output()


@pytest.mark.parametrize("mode", ["nope", "", "CONFIRM!"])
def test_a_guard_of_the_settings_that_is_none_stops_the_start(tmp_path: Path, mode: str) -> None:
    """Part 6: guard modes are checked, and the setting is named."""
    ended = command(tmp_path / "data", "chat", stdin="hello\n", ACC_ACE_GUARD=mode)
    if mode:
        assert "ACC_ACE_GUARD" in refused(ended)
    else:
        assert "Traceback" not in ended.stderr


def test_files_of_sqlite_are_copied_as_the_page_says(tmp_path: Path) -> None:
    """Done when: back up and restore by docs/deploy.md, while the server runs."""
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", page.partition("## Back up")[2], re.DOTALL)
    script = next(each for each in blocks if "VACUUM INTO" in each)
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        report_of(running, RULE)
        env = environment(tmp_path / "data")
        shell = ["/bin/bash", "-ec", script]
        ended = subprocess.run(  # noqa: S603 - the page's own words
            shell, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
    backup = tmp_path / "backup"
    output = command(backup, "memory", "export", "--user", "aiko")
    assert RULE in output.stdout, output.stderr
    assert open_modes(backup) == []


def test_the_image_is_not_root_and_has_a_health_check() -> None:
    """Part 6: the image is small, not root, with a health check."""
    text = (ROOT / "Dockerfile").read_text()
    users = re.findall(r"^USER\s+(\S+)", text, re.MULTILINE)
    assert users
    assert users[-1] not in {"root", "0"}
    assert "HEALTHCHECK" in text
