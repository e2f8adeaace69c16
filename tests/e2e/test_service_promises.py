"""Promises of a whole service, as its issue and docs/deploy.md word them, from outside (half A)."""

import contextlib
import json
import random
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from google.adk.agents import LlmAgent

from acc_ace import AccAceError, BoundedMemoryPlugin, Settings
from tests.e2e.browser import Browser, find_chromium
from tests.e2e.processes import BIN, ROOT, ProcessError, Server, environment, our_server
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
    typed,
)
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import fake_gemini, http_error, says
from tests.fakes.fake_openai import fake_openai
from tests.fakes.fake_openai import http_error as openai_error
from tests.fakes.scripted_llm import ScriptedLlm, calls
from tests.pipeline.desk import Desk

pytestmark = needs("embedded")

ANSWER = json.dumps({"reasoning": [], "bullet_ids": [], "final_answer": "at last"})
DATABASES = ROOT / "tests" / "data" / "databases"
RULE = "本番DBは営業時間内に再起動しないでください。"
TOKEN = "alice-0f9d8c7b6a5e4d3c2b1a"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    with open_umask(), our_server(place) as running:
        yield running


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    limits = {"REQUESTS_PER_MINUTE": "30", "STREAMS": "2", "LOGIN_TRIES": "3"}
    settings = {f"ACC_ACE_LIMITS__{name}": value for name, value in limits.items()}
    with our_server(tmp_path_factory.mktemp("limited"), **settings) as running:
        yield running


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of two users, of whom one has two sessions."""
    folder = tmp_path_factory.mktemp("export")
    with our_server(folder, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        report_of(running, RULE, session="事故 42", user="あいこ")
        report_of(running, "I prefer walnut bread.", session="t", user="あいこ")
        report_of(running, "Never delete backups.", user="o'neil; DROP TABLE x")
    assert command(folder / "data", "memory", "export", "--out", "all.jsonl").returncode == 0
    return folder / "all.jsonl"


# --- Part 4: HTTP ---


def test_the_schema_says_that_a_cue_may_be_null(server: Server) -> None:
    """Part 4: nullable `predictive_cue` in the schema."""
    schemas = httpx.get(f"{server.url}/openapi.json", timeout=WAIT_S).json()["components"][
        "schemas"
    ]
    matches = [
        each["properties"]["predictive_cue"]
        for each in schemas.values()
        if "predictive_cue" in each.get("properties", {})
    ]
    assert matches
    assert all('"null"' in json.dumps(each) for each in matches)


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/v1/sessions/s/turns", "GET HEAD POST"), ("/v1/sessions/s", "GET HEAD DELETE")],
)
def test_a_wrong_method_is_told_every_right_one(server: Server, path: str, methods: str) -> None:
    """Part 4: `Allow` with every method."""
    response = httpx.request("TRACE", server.url + path, timeout=WAIT_S)
    assert response.status_code == 405
    allowed = set(re.split(r",\s*", response.headers["allow"]))
    assert allowed >= set(methods.split())


def test_head_works_wherever_get_does(server: Server) -> None:
    """Part 4: HEAD where GET is."""
    paths = httpx.get(f"{server.url}/openapi.json", timeout=WAIT_S).json()["paths"]
    plain = [path for path, each in paths.items() if "get" in each and not re.search("{|sse", path)]
    assert len(plain) > 10
    with httpx.Client(base_url=server.url, timeout=WAIT_S) as http:
        got = {path: http.get(path).status_code for path in plain}
        heads = {path: http.head(path) for path in plain}
    assert {path: head.status_code for path, head in heads.items()} == got
    assert not any(head.content for head in heads.values())


def test_every_refusal_is_in_the_document(server: Server) -> None:
    """Part 4: documented 4xx: 429 of every route, and what malformed JSON gets."""
    paths = httpx.get(f"{server.url}/openapi.json", timeout=WAIT_S).json()["paths"]
    missing = []
    with httpx.Client(base_url=server.url, timeout=WAIT_S) as http:
        for path, methods in paths.items():
            for method, route in methods.items():
                if not path.startswith("/v1/"):
                    continue
                documented = set(route["responses"])
                missing += [] if "429" in documented else [f"{method} {path} 429"]
                if "application/json" in (route.get("requestBody") or {}).get("content", {}):
                    name = re.sub(r"\{\w+\}", "1", path)
                    head = {"content-type": "application/json"}
                    status = http.request(method, name, content=b"{", headers=head).status_code
                    if str(status) not in documented:
                        missing.append(f"{method} {path} {status}")
    assert missing == []


def test_a_user_above_the_limit_waits_while_others_are_served(limited: Server) -> None:
    """Part 4: per-user limits of requests (429 with Retry-After), however the user is named."""
    user = "あいこ"
    with httpx.Client(base_url=limited.url, timeout=WAIT_S) as http:
        got = [http.get("/v1/sessions", params={"user": user}) for _ in range(31)]
        assert [each.status_code for each in got] == [200] * 30 + [429]
        assert int(got[-1].headers["retry-after"]) >= 1
        assert got[-1].headers["content-type"].startswith("application/problem+json")
        header = httpx.Headers([(b"X-User", user.encode())])
        assert http.get("/v1/apps", headers=header).status_code == 429
        assert http.get("/v1/sessions", params={"user": "bob"}).status_code == 200
        assert {http.get(path).status_code for path in ("/healthz", "/readyz")} == {200}


@pytest.mark.soak
def test_who_waits_as_long_as_told_is_served_again(limited: Server) -> None:
    """Part 4: what `Retry-After` says is true."""
    with httpx.Client(base_url=limited.url, params={"user": "tomoko"}, timeout=WAIT_S) as http:
        while (response := http.get("/v1/sessions")).status_code == 200:
            pass
        time.sleep(int(response.headers["retry-after"]))
        assert http.get("/v1/sessions").status_code == 200


def test_streams_of_a_user_are_counted_and_given_back(limited: Server) -> None:
    """Part 4: per-user limits of streams; one user cannot hold them all."""
    report_of(limited, "db-01 is down.", user="stella")
    with httpx.Client(base_url=limited.url, timeout=WAIT_S) as http, ExitStack() as stack:
        streams = [timeline(http, "stella") for _ in range(3)]
        for each in streams:
            stack.callback(each.close)
        assert [each.status_code for each in streams] == [200, 200, 429]
        assert int(streams[-1].headers["retry-after"]) >= 1
        report_of(limited, "db-02 is up.", user="bob")
        streams[0].close()
        deadline = time.monotonic() + 20
        while timeline(http, "stella").status_code != 200:
            assert time.monotonic() < deadline, "a closed stream is counted on"
            time.sleep(2)


@pytest.mark.soak
@pytest.mark.browser
def test_the_eighth_tab_of_a_browser_loads_and_can_talk(server: Server) -> None:
    """Part 4: one stream per browser (today the seventh tab never loads)."""
    if (chromium := find_chromium()) is None:
        pytest.skip("no Chromium is installed")
    report_of(server, "Aiko leads the incident.", user="user")
    with Browser(chromium) as browser:
        browser.open(f"{server.url}/ui/#/session/acc_ace/user/s")
        browser.wait(lambda: "Aiko leads" in browser.text(), "the first tab")
        tabs = [browser.tab() for _ in range(7)]
        for tab in tabs:
            tab.open(f"{server.url}/ui/#/session/acc_ace/user/s")
        for tab in tabs:
            tab.wait(shows(tab, "Aiko leads"), "another tab")
        report_of(server, "Tomoko owns checkout.", user="user")
        for tab in tabs:
            tab.wait(shows(tab, "Tomoko owns"), "news in another tab")


def test_a_stream_that_is_never_read_holds_nobody_up(server: Server) -> None:
    """Bad input: a stream client that never reads."""
    report_of(server, "db-01 is down.", user="mute")
    with httpx.Client(base_url=server.url, timeout=WAIT_S) as http:
        silent = [timeline(http, "mute") for _ in range(5)]
        for number in range(5):
            report_of(server, f"Step {number}: " + "長い説明。" * 2_000, user="mute")
        started = time.monotonic()
        report_of(server, "hello", user="bob")
        assert time.monotonic() - started < 10
        for each in silent:
            each.close()


# --- Part 8: security ---

BOTH = """POST /v1/sessions/smuggled/turns?user=eve HTTP/1.1
Host: 127.0.0.1
Content-Type: application/json
Content-Length: 18
Transfer-Encoding: chunked

12
{"input": "hello"}
0

"""


def test_a_request_of_two_lengths_is_refused(server: Server) -> None:
    """Part 8: both `Content-Length` and `Transfer-Encoding` is 400."""
    port = server.url.rpartition(":")[2]
    answer = raw(server, BOTH.replace("127.0.0.1", f"127.0.0.1:{port}"))
    assert re.match(r"HTTP/1.1 400 ", answer), answer[:200]
    listed = httpx.get(f"{server.url}/v1/sessions", params={"user": "eve"}, timeout=WAIT_S).text
    assert "smuggled" not in listed


@pytest.mark.parametrize("size", ["-1", "abc", "1e3", "99999999999999999999"])
def test_a_length_that_is_none_is_refused(server: Server, size: str) -> None:
    """The same kind: a wrong Content-Length is the client's error."""
    request = BOTH.replace("Transfer-Encoding: chunked\n", "").replace("18", size)
    port = server.url.rpartition(":")[2]
    answer = raw(server, request.replace("127.0.0.1", f"127.0.0.1:{port}"), wait_s=5)
    assert re.match(r"HTTP/1.1 4\d\d ", answer), answer[:200]


def test_the_development_page_may_ask_no_other_host(server: Server) -> None:
    """Part 8: CSP for `/dev-ui/`: no foreign pictures, no foreign fonts."""
    policy = httpx.get(f"{server.url}/dev-ui/", timeout=WAIT_S).headers["content-security-policy"]
    parts = {each.split()[0]: each.split()[1:] for each in policy.split(";") if each.strip()}
    for name in ("img-src", "font-src", "style-src", "connect-src", "media-src", "frame-src"):
        allowed = parts.get(name, parts.get("default-src", ["*"]))
        foreign = [each for each in allowed if re.match(r"\*|https?:|//|wss?:$|\w+\.\w", each)]
        assert foreign == [], (name, allowed)


@pytest.mark.soak
@pytest.mark.browser
def test_a_picture_in_an_answer_tells_nobody_anything(server: Server) -> None:
    """Part 8: an injected answer leaks by `![](http://…)`: not even with the page's own means."""
    if (chromium := find_chromium()) is None:
        pytest.skip("no Chromium is installed")
    with listening(fine) as (url, received), Browser(chromium) as browser:
        browser.watch()
        browser.open(f"{server.url}/dev-ui/?app=acc_ace")
        browser.wait(lambda: browser.text().strip(), "the page")
        browser.evaluate(
            f"document.body.insertAdjacentHTML('beforeend', '<img src=\"{url}/leak?key=1\">')"
        )
        time.sleep(3)
        gone = loaded_by(browser)
        assert received == []
    assert {re.sub(r"^(\w+://[^/]*).*", r"\1", each) for each in gone} == {server.url}


def test_tokens_cannot_be_guessed_for_long(tmp_path: Path) -> None:
    """Part 8: login tries are limited."""
    settings = {"ACC_ACE_AUTH_TOKENS": f"alice:{TOKEN}", "ACC_ACE_LIMITS__LOGIN_TRIES": "3"}
    with (
        our_server(tmp_path, **settings) as running,
        httpx.Client(base_url=running.url, timeout=WAIT_S) as http,
    ):
        got = [http.post("/login", data={"token": f"guess-{n}"}) for n in range(4)]
        assert [each.status_code for each in got] == [401, 401, 401, 429]
        assert int(got[-1].headers["retry-after"]) >= 1
        own = http.get("/v1/sessions", headers={"Authorization": f"Bearer {TOKEN}"})
        assert own.status_code == 200


def test_a_token_of_one_letter_is_refused_off_loopback(tmp_path: Path) -> None:
    """Part 8: a one-letter token is refused off loopback."""
    env = environment(
        tmp_path / "data",
        ACC_ACE_HOST="0.0.0.0",  # noqa: S104 - what is refused
        ACC_ACE_PORT="0",
        ACC_ACE_AUTH_TOKENS=f"alice:{TOKEN},あいこ:q",
        ACC_ACE_TRUSTED_HOSTS="chat.example",
    )
    ended = subprocess.run(
        [sys.executable, "main.py"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "ACC_ACE_AUTH_TOKENS" in refused(ended)
    assert ended.returncode == 2
    assert TOKEN not in ended.stderr


SECRETS = {
    "openai": "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1h",
    "github": "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "google": "AI" + "zaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "aws": "AK" + "IAIOSFODNN7EXAMPLQ",
    "slack": "xo" + "xb-2488126309-2511432167-aBcDeFgHiJkLmNoPqRsTuVwX",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_key_in_a_japanese_sentence_is_stored_nowhere(
    server: Server, place: Path, kind: str
) -> None:
    """Part 8: recognised secrets are masked before they are stored."""
    secret, user = SECRETS[kind], f"mask-{kind}"
    report_of(server, f"決済用のキーは{secret}です。胡桃サーバーで使ってください。", user=user)
    stored = everything(server, place / "data", user)
    assert secret not in stored
    assert "胡桃サーバー" in stored


async def test_a_key_that_a_tool_returns_is_stored_nowhere(tmp_path: Path) -> None:
    """Part 8: tool results too, under the plugin; the tool's own words around it stay."""

    def read_config() -> dict[str, str]:
        """Read the config."""
        return {"note": "walnut config", "deploy_key": SECRETS["github"]}

    model = ScriptedLlm().on("generator", calls(("read_config", {})), "It is set.")
    agent = LlmAgent(name="helper", model=model, tools=[read_config])
    data = tmp_path / "data"
    desk = Desk(agent, settings=Settings(store="sqlite", data_dir=data))
    await desk.ask("Look into the config.")
    output = str(await desk.evidence())
    await desk.container.close()
    files = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert SECRETS["github"] not in output
    assert SECRETS["github"].encode() not in files
    assert b"walnut config" in files


ORDINARY = {
    "commit": "The fix is in commit 8a1bc4efd6f4a76fbdb1e2d4e51b9c0d0e2f3a4b.",
    "uuid": "The ticket is 123e4567-e89b-12d3-a456-426614174000.",
    "policy": "Our password policy: at least twelve characters, a new password every year.",
    "tokens": "The token budget is 8192 tokens, and the secret of good soup is time.",
    "japanese": "パスワードは毎年変えてください。合言葉は要りません。",
    "library": "We use sk-learn-contrib and the api key rotation page of the wiki.",
}


@pytest.mark.parametrize("kind", ORDINARY)
def test_what_is_no_secret_is_kept_word_for_word(server: Server, kind: str) -> None:
    """Part 8: only recognised secrets are masked."""
    report_of(server, ORDINARY[kind], user=f"plain-{kind}")
    query = {"user": f"plain-{kind}"}
    turns = httpx.get(f"{server.url}/v1/sessions/s/turns", params=query, timeout=WAIT_S).json()
    assert ORDINARY[kind] in json.dumps(turns, ensure_ascii=False)


def test_no_route_writes_a_token_into_the_log(tmp_path: Path) -> None:
    """Part 8: tokens in DEBUG logs, tested over every route."""
    settings = {"ACC_ACE_AUTH_TOKENS": f"alice:{TOKEN}", "ACC_ACE_LOG_LEVEL": "DEBUG"}
    with our_server(tmp_path, **settings) as running:
        head = {"Authorization": f"Bearer {TOKEN}", "Cookie": f"acc_ace={TOKEN}"}
        with httpx.Client(base_url=running.url, headers=head, timeout=WAIT_S) as http:
            http.post("/login", data={"token": TOKEN})
            for path, methods in http.get("/openapi.json").json()["paths"].items():
                name = re.sub(r"\{user(_id)?\}", "alice", path)
                for method in methods:
                    if not re.search("deploy|sse", path):
                        http.request(method, re.sub(r"\{\w+\}", "1", name), json={"input": "hi"})
        assert len(running.output()) > 1_000
        assert TOKEN not in running.output()


def test_every_file_is_the_owners_alone(server: Server, place: Path) -> None:
    """Part 8: file modes of every file that is written, even where the umask hides nothing."""
    report_of(server, "Never restart db-01.", user="files")
    with httpx.Client(base_url=server.url, params={"user": "files"}, timeout=WAIT_S) as http:
        base = "/apps/acc_ace/users/files/sessions/s/artifacts"
        body = {"filename": "a.txt", "artifact": {"text": "walnut"}}
        assert http.post(base, json=body).status_code == 200
        query, head = {"user": "files", "name": "w.txt"}, {"content-type": "text/plain"}
        sent = http.put("/v1/memory/documents", params=query, content=b"walnut", headers=head)
        assert sent.status_code == 200, sent.text
    assert open_modes(place / "data") == []


def test_an_export_is_the_owners_alone(place: Path, server: Server) -> None:
    """Part 8: backups and exports included."""
    report_of(server, "hello", user="files")
    with open_umask():
        assert command(place / "data", "memory", "export", "--out", "m.jsonl").returncode == 0
    assert stat.S_IMODE((place / "m.jsonl").stat().st_mode) == 0o600


# --- Part 5: export, restore, upgrade, damage ---


@pytest.mark.soak
@pytest.mark.parametrize("schema", [103, 105])
def test_an_old_database_is_opened_whole_with_a_backup_beside(tmp_path: Path, schema: int) -> None:
    """Part 5: migrations that keep data from 103 on, with a backup file beside SQLite."""
    data = old_database(tmp_path, schema)
    before = dump(data / "memory.db")
    ended = command(data, "memory", "export", "--user", "aiko")
    assert ended.returncode == 0, ended.stderr
    kinds = [json.loads(line)["kind"] for line in ended.stdout.splitlines()]
    assert (kinds.count("session"), kinds.count("turn"), kinds[-1]) == (2, 4, "end")
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        query = {"user": "aiko"}
        listed = httpx.get(f"{running.url}/v1/sessions", params=query, timeout=WAIT_S).json()[
            "items"
        ]
        report_of(running, "What is forbidden?", session=listed[0]["session"])
    if schema == 103:
        backup = data / "memory.db.schema-103.backup"
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        assert dump(backup) == before


@pytest.mark.soak
def test_an_upgrade_that_is_killed_is_done_by_the_next_start(tmp_path: Path) -> None:
    """Bad input: a half-run migration (kill -9 inside)."""
    chance = random.Random(34)
    for number in range(12):
        data = old_database(tmp_path / str(number), 103)
        child = subprocess.Popen(  # noqa: S603 - our own command
            [str(Path(sys.executable).parent / "acc-ace"), "sessions", "--user", "aiko"],
            cwd=tmp_path,
            env=environment(data),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.8 + chance.random() * 1.5)
        child.send_signal(signal.SIGKILL)
        child.wait()
        ended = command(data, "memory", "export", "--user", "aiko")
        assert ended.returncode == 0, ended.stderr
        assert [json.loads(line)["kind"] for line in ended.stdout.splitlines()].count("turn") == 4


def test_whole_users_come_back_as_they_were(export: Path, tmp_path: Path) -> None:
    """Part 5: export ⇄ restore, whole users, all apps, odd names among them."""
    data = tmp_path / "data"
    restored = command(data, "memory", "restore", str(export))
    assert restored.returncode == 0, restored.stderr
    again = command(data, "memory", "export", "--out", "again.jsonl")
    assert again.returncode == 0, again.stderr
    text = (tmp_path / "again.jsonl").read_text(encoding="utf-8")
    assert pairs_of(text) >= {("acc_ace", "あいこ"), ("acc_ace", "o'neil; DROP TABLE x")}
    assert rows(text) == rows(export.read_text(encoding="utf-8"))
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        report = report_of(running, "どんな制約がありますか？", session="事故 42", user="あいこ")
    assert report["ccs"]["constraints"] == [RULE]
    assert report["turn"] == 2


def test_a_user_with_data_is_not_touched(export: Path, tmp_path: Path) -> None:
    """Bad input: a restore into a user that exists."""
    data = tmp_path / "data"
    assert command(data, "chat", "--user", "あいこ", stdin="My own marker.\n").returncode == 0
    before = dump(data / "memory.db")
    message = refused(command(data, "memory", "restore", str(export)))
    assert "あいこ" in message
    assert "erase" in message
    assert dump(data / "memory.db") == before


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_export_cut_anywhere_restores_nothing(export: Path, tmp_path: Path, seed: int) -> None:
    """Bad input: truncated at a random line: a clear error, all or nothing."""
    lines = export.read_text(encoding="utf-8").splitlines(keepends=True)
    cut = random.Random(seed).randrange(1, len(lines))
    partly = tmp_path / "cut.jsonl"
    partly.write_text("".join(lines[:cut]), encoding="utf-8")
    assert "cut.jsonl" in refused(command(tmp_path / "data", "memory", "restore", str(partly)))
    assert pairs_of(command(tmp_path / "data", "memory", "export").stdout) == set()


@pytest.mark.parametrize(("name", "value"), [("schema", 999), ("format", 2)])
def test_an_export_of_another_version_is_refused(
    export: Path, tmp_path: Path, name: str, value: int
) -> None:
    """Bad input: a restore of another version. It says which, and how to use it (deploy.md)."""
    lines = export.read_text(encoding="utf-8").splitlines()
    head = {**json.loads(lines[0]), name: value}
    other = tmp_path / "other.jsonl"
    other.write_text(sealed([json.dumps(head), *lines[1:]]), encoding="utf-8")
    message = refused(command(tmp_path / "data", "memory", "restore", str(other)))
    assert str(value) in message


def test_a_forged_file_is_written_nowhere_else(place: Path, server: Server, tmp_path: Path) -> None:
    """A forged export whose sum is right: a file's name leads out of the data directory."""
    base = f"{server.url}/apps/acc_ace/users/forger/sessions/s/artifacts"
    report_of(server, "hello", user="forger")
    body = {"filename": "walnut.txt", "artifact": {"text": "walnut"}}
    assert httpx.post(base, json=body, timeout=WAIT_S).status_code == 200
    ended = command(place / "data", "memory", "export", "--user", "forger")
    assert "walnut.txt" in ended.stdout
    forged = tmp_path / "forged.jsonl"
    lines = ended.stdout.replace("walnut.txt", "../../../../../../leaked.txt").splitlines()
    forged.write_text(sealed(lines), encoding="utf-8")
    data = tmp_path / "a" / "b" / "data"
    data.parent.mkdir(parents=True)
    ended = command(data, "memory", "restore", str(forged))
    assert "Traceback" not in ended.stderr
    outside = [path for path in tmp_path.rglob("*leaked*") if data not in path.parents]
    assert outside == []
    assert not Path("/leaked.txt").exists()


@pytest.mark.soak
def test_a_restore_while_the_server_runs_is_seen_by_it(export: Path, tmp_path: Path) -> None:
    """A restore beside a running server: its users go on, and the new ones are there."""
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as running:
        report_of(running, "My marker is quokka-4711.", user="bob")
        with ThreadPoolExecutor(2) as pool:
            restored = pool.submit(command, tmp_path / "data", "memory", "restore", str(export))
            for number in range(10):
                report_of(running, f"Step {number}.", user="bob")
            assert restored.result().returncode == 0, restored.result().stderr
        report = report_of(running, "どんな制約がありますか？", session="事故 42", user="あいこ")
    assert report["ccs"]["constraints"] == [RULE]


def old_database(folder: Path, schema: int) -> Path:
    """A data directory with a database of an earlier schema."""
    zlib = pytest.importorskip("zlib")
    packed = DATABASES / f"schema_{schema}.db.z"
    (folder / "data").mkdir(parents=True, mode=0o700)
    (folder / "data" / "memory.db").write_bytes(zlib.decompress(packed.read_bytes()))
    return folder / "data"


def dump(database: Path) -> list[str]:
    """Every row and definition of a SQLite file."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


@pytest.mark.parametrize("byte", [0xFF, 0x00])
@pytest.mark.parametrize("word", [b"CREATE TABLE journal", b"CREATE TABLE adk_events"])
def test_a_flipped_byte_of_the_schema_is_a_clear_error(
    tmp_path: Path, word: bytes, byte: int
) -> None:
    """Part 5: a flipped byte in the schema text is a `UnicodeDecodeError` traceback today."""
    data = old_database(tmp_path, 105)
    content = bytearray((data / "memory.db").read_bytes())
    content[content.index(word) + 9] = byte
    (data / "memory.db").write_bytes(content)
    message = refused(command(data, "memory", "export", "--user", "aiko"))
    assert "memory.db" in message
    assert (data / "memory.db").read_bytes()[:4096] == bytes(content[:4096])


@pytest.mark.parametrize("kind", ["cut", "text"])
def test_a_damaged_database_is_a_clear_error(tmp_path: Path, kind: str) -> None:
    """Part 5: damaged databases get the clear error in all cases."""
    data = old_database(tmp_path, 105)
    content = (data / "memory.db").read_bytes()
    broken = {"cut": content[: len(content) // 3], "text": "これは違います。\n".encode() * 300}
    (data / "memory.db").write_bytes(broken[kind])
    assert "memory.db" in refused(command(data, "memory", "export", "--user", "aiko"))


# --- Part 10: locks, and a database that is gone ---


def test_an_emptied_database_is_said(tmp_path: Path) -> None:
    """Part 10: an emptied `memory.db` beside other data is said, not started anew."""
    data = tmp_path / "data"
    assert command(data, "chat", "--user", "aiko", stdin=f"{RULE}\n").returncode == 0
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (data / name).unlink(missing_ok=True)
    (data / "memory.db").touch(mode=0o600)
    message = refused(command(data, "chat", "--user", "aiko", stdin="hello\n"))
    assert "memory.db" in message
    assert (data / "memory.db").stat().st_size == 0
    data.rename(tmp_path / "moved")
    assert command(data, "chat", "--user", "aiko", stdin="hello\n").returncode == 0


@pytest.mark.soak
def test_a_server_does_not_start_anew_where_its_database_was(tmp_path: Path) -> None:
    """Part 10: a vanished `memory.db` beside other data: turns fail, nothing is made."""
    with our_server(tmp_path) as running:
        report_of(running, RULE)
        base = f"{running.url}/apps/acc_ace/users/aiko/sessions/s/artifacts"
        body = {"filename": "walnut.txt", "artifact": {"text": "walnut"}}
        assert httpx.post(base, json=body, timeout=WAIT_S).status_code == 200
    for path in (tmp_path / "data").glob("memory.db*"):
        path.unlink()
    log = tmp_path / "server.log"
    with contextlib.suppress(ProcessError), our_server(tmp_path) as running:
        response = say(running, "hello")
        assert (response.status_code, response.json()["code"]) == (503, "store_error")
    assert "memory.db" in log.read_text()
    assert "Traceback" not in log.read_text()
    assert not (tmp_path / "data" / "memory.db").exists()


@pytest.mark.soak
def test_a_turn_waits_for_the_lock_of_another_program(server: Server, place: Path) -> None:
    """Part 10: a lock is waited for, not reported."""
    report_of(server, "hello", user="patient")
    with locked(place / "data" / "memory.db", 9):
        started = time.monotonic()
        report = report_of(server, RULE, user="patient")
        assert time.monotonic() - started > 4
    assert report["ccs"]["constraints"] == [RULE]


@pytest.mark.soak
@pytest.mark.parametrize("users", [1, 40])
def test_no_batch_of_deltas_is_refused_while_the_database_is_busy(
    server: Server, place: Path, users: int
) -> None:
    """Part 10: batches of deltas retry a busy database (one of 400 was refused).

    Of one user too: only `If-Match` makes a change conditional (docs/how-to/server.md).
    """
    report_of(server, "hello", user="batch")

    def add(number: int) -> str:
        content = f"Check disk {number} of host-{number}."
        lesson = {"type": "ADD", "section": "ops", "content": content}
        query = {"user": f"batch-{users}-{number % users}", "scope": "user"}
        path = f"{server.url}/v1/playbook/apply"
        sent = httpx.post(path, params=query, json={"operations": [lesson]}, timeout=WAIT_S)
        return "" if sent.status_code == 200 else sent.text

    with locked(place / "data" / "memory.db", 7), ThreadPoolExecutor(24) as pool:
        refusals = [each for each in pool.map(add, range(120)) if each]
    assert refusals == []


# --- Part 9: bounded transport ---


@pytest.mark.soak
def test_an_endless_reply_of_gemini_is_cut(tmp_path: Path) -> None:
    """Part 9: a byte cap for Gemini (an endless reply took 907 MB)."""
    text = {"candidates": [{"content": {"role": "model", "parts": [{"text": "果" * 20_000}]}}]}
    piece = f"data: {json.dumps(text)}\n\n"
    with listening(endless("text/event-stream", "", piece)) as (url, _asked):
        settings = {**KEY_FREE, "ACC_ACE_GENERATOR__RETRIES": "0"}
        with our_server(tmp_path, **gemini_at(url, **settings)) as running:
            before = peak_mb(running)
            started = time.monotonic()
            response = say(running, "hello")
            assert response.status_code in {200, 502, 503}, response.text
            assert time.monotonic() - started < 65
            assert peak_mb(running) - before < 250


@pytest.mark.soak
def test_a_stalled_compressor_has_a_third_of_the_turn(tmp_path: Path) -> None:
    """Part 9: an optional stage gets a third of the turn's time at most, and it is not silent."""
    seconds = {f"ACC_ACE_{role}__TIMEOUT_S": "18" for role in turn_roles()}
    with fake_gemini() as gemini:
        gemini.script("compressor", says("{}", delay_s=25))
        gemini.script("generator", says(ANSWER))
        settings = gemini_at(gemini.base_url, ACC_ACE_LIMITS__TURN_MODEL_S="18", **seconds)
        with our_server(tmp_path, **settings) as running:
            path, query = f"{running.url}/v1/sessions/s/turns", {"user": "aiko", "stream": "true"}
            body, started = {"input": RULE}, time.monotonic()
            stages: dict[str, float] = {}
            with httpx.stream("POST", path, params=query, json=body, timeout=WAIT_S) as stream:
                lines = []
                for line in stream.iter_lines():
                    lines.append(line)
                    if '"compressor"' in line:
                        stages.setdefault(line[:40], time.monotonic() - started)
            took = time.monotonic() - started
    output = "\n".join(lines)
    assert "turn_done" in output, output[-1_000:]
    assert "at last" in output
    assert took < 11, took
    assert min(stages.values()) < 3, "no word of the stage while it was waited for"
    assert "compressor" in json.dumps([line for line in lines if "warnings" in line])


@pytest.mark.soak
def test_a_person_at_a_terminal_sees_what_is_waited_for(tmp_path: Path) -> None:
    """Part 9: progress shown while waiting; docs/how-to/models.md: the stage, and its seconds."""
    with fake_gemini() as gemini:
        gemini.script("compressor", says("{}", delay_s=6))
        gemini.script("generator", says(ANSWER))
        env = environment(tmp_path / "data", **gemini_at(gemini.base_url), TERM="xterm")
        output = typed([str(BIN / "acc-ace"), "chat"], env, "hello\r", until="at last")
    assert "at last" in output, output[-2_000:]
    waited = output.partition("hello")[2]
    assert re.search(r"compress[^\n]*\b[2-9] ?s", waited), waited[-2_000:]


def turn_roles() -> list[str]:
    return ["QUALIFIER", "COMPRESSOR", "GENERATOR", "REFLECTOR", "CURATOR", "GUARD_MODEL"]


@pytest.mark.soak
def test_one_429_does_not_close_a_model_for_an_hour(tmp_path: Path) -> None:
    """Part 9: a 429 with `Retry-After: 3600` probes before it closes a model for the process."""
    with fake_gemini() as gemini:
        busy = http_error(429, "slow down", retry_after="3600")
        gemini.script("generator", busy, says(ANSWER))
        settings = {**KEY_FREE, "ACC_ACE_LIMITS__BREAKER_PAUSE_S": "1"}
        with our_server(tmp_path, **gemini_at(gemini.base_url, **settings)) as running:
            statuses = [say(running, "hello").status_code]
            deadline = time.monotonic() + 100
            while statuses[-1] != 200 and time.monotonic() < deadline:
                time.sleep(2)
                statuses.append(say(running, "hello").status_code)
    assert statuses[-1] == 200, statuses


def test_one_400_does_not_turn_schemas_off(tmp_path: Path) -> None:
    """Part 9: one 400 does not turn schemas off for good."""
    with fake_openai() as fake:
        fake.script(0, openai_error(400, "this model's maximum context length is exceeded"))
        settings = {**KEY_FREE, "ACC_ACE_COMPRESSOR__MODEL": "openai/x", "ACC_ACE_LEARNING": "off"}
        settings |= {"ACC_ACE_GENERATOR__MODEL": "embedded/rules"}
        settings |= {"ACC_ACE_OPENAI_BASE_URL": fake.base_url}
        with our_server(tmp_path, **settings) as running:
            for number in range(3):
                report_of(running, f"Service {number} belongs to team-{number}.")
        received = [each for each in fake.requests if each.role == "compressor" or not each.role]
    assert len(received) >= 3
    assert "json_schema" in str(received[-1].body.get("response_format"))


# --- Part 6: operate ---


def test_operators_alone_read_measures(tmp_path: Path) -> None:
    """Part 6: Prometheus metrics at a path of their own behind a permission; no content in them."""
    tokens = f"alice:{TOKEN},prometheus:p-{TOKEN}"
    settings = {"ACC_ACE_PROMETHEUS": "true", "ACC_ACE_OPERATORS": "prometheus"}
    path = "/v1/operations/metrics"
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS=tokens, **settings) as running:  # noqa: SIM117
        with httpx.Client(base_url=running.url, timeout=WAIT_S) as http:
            alice = {"Authorization": f"Bearer {TOKEN}"}
            turn = {"input": "胡桃サーバー walnut-01 が停止しました。"}
            sent = http.post("/v1/sessions/geheim/turns", json=turn, headers=alice)
            assert sent.status_code == 200, sent.text
            for number in range(30):
                http.get(f"/v1/sessions/zz{number}", headers=alice)
            assert http.get(path).status_code == 401
            assert http.get(path, headers=alice).status_code == 403
            output = http.get(path, headers={"Authorization": f"Bearer p-{TOKEN}"})
            assert http.get("/metrics", headers=alice).json()["sessions"] == 1
    assert output.status_code == 200
    assert output.headers["content-type"].startswith("text/plain")
    assert re.search(r'acc_ace_turns_total\{[^}]*outcome="\w+"[^}]*\} 1', output.text), output.text
    assert not re.search("walnut|胡桃|geheim|zz7|alice", output.text)


def test_traces_leave_for_the_collector_without_what_was_said(tmp_path: Path) -> None:
    """Part 6: `OTEL_EXPORTER_OTLP_ENDPOINT` works, GenAI conventions, no content unless asked."""
    with listening(fine) as (url, received):
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "500"}
        with our_server(tmp_path, **settings) as running:
            report_of(running, "The walnut server 胡桃 is down.")
            deadline = time.monotonic() + 20
            while not any("gen_ai." in each for each in received) and time.monotonic() < deadline:
                time.sleep(0.5)
            running.terminate()
            running.wait()
    traces = "".join(each for each in received if each.startswith("/v1/traces"))
    assert "gen_ai." in traces
    assert "compressor" in traces
    assert "walnut" not in "".join(received)
    assert "胡桃" not in "".join(received)


def test_a_collector_that_is_not_there_stops_no_turn(tmp_path: Path) -> None:
    """docs/deploy.md: a collector that does not answer stops no turn."""
    with our_server(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9") as running:
        started = time.monotonic()
        report_of(running, "hello")
        assert time.monotonic() - started < 15
        running.terminate()
        assert running.wait() == -signal.SIGTERM


def test_each_line_of_the_log_is_a_json_object(tmp_path: Path) -> None:
    """Part 6: JSON logs and an access log by a setting; names make no lines of their own."""
    settings = {"ACC_ACE_LOG_FORMAT": "json", "ACC_ACE_ACCESS_LOG": "true"}
    with our_server(tmp_path, **settings) as running:
        say(running, "hello", user='eve\n{"level": "ERROR"}')
        report_of(running, "hello", user='eve {"level": "ERROR"}')
        httpx.get(f"{running.url}/nowhere%0AERROR%20forged", timeout=WAIT_S)
        lines = [line for line in running.output().splitlines() if line.lstrip().startswith("{")]
        parsed = [json.loads(line) for line in lines]
    assert any("/v1/sessions/s/turns" in each.get("message", "") for each in parsed), parsed
    assert all({"time", "level", "logger", "message"} <= each.keys() for each in parsed)
    assert not [line for line in running.output().splitlines() if line.startswith("ERROR forged")]


def test_a_guard_mode_that_is_none_is_refused() -> None:
    """Part 6: guard modes are checked (`guard="nope"` is accepted today)."""
    with pytest.raises((TypeError, AccAceError), match="guard"):
        BoundedMemoryPlugin(guard="nope")  # type: ignore[arg-type]


@pytest.mark.soak
def test_the_commands_of_the_backup_page_work_as_written(tmp_path: Path, server: Server) -> None:
    """Done when: each command of docs/deploy.md runs as written."""
    report_of(server, "hello", user="page")
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", page.partition("## Back up")[2], re.DOTALL)
    script = next(each for each in blocks if "memory restore" in each)
    assert command(tmp_path / ".acc_ace", "chat", stdin=f"{RULE}\n").returncode == 0
    env = environment(tmp_path / ".acc_ace")
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    shell = shutil.which("bash") or "sh"
    ended = subprocess.run(  # noqa: S603 - the page's own words
        [shell, "-ec", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    output = command(tmp_path / "restored", "memory", "export", "--user", "user").stdout
    assert RULE in output
