"""The cockpit's files: what is served, under which headers, and what its own scripts never do."""

import gzip
import hashlib
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from acc_ace.bootstrap import build_container
from acc_ace.cockpit.pages import MEDIA_TYPES, assets
from acc_ace.config import Settings
from tests.server.asgi import client, scripted_app

STATIC: Final = Path(__file__).parents[2] / "agents/acc_ace/cockpit/static"
FILES: Final = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.*"))
OWN: Final = [name for name in FILES if name.endswith(".js") and not name.startswith("vendor/")]
FORBIDDEN: Final = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write|\beval\(|new Function"
    r"|https?://"
)
LITERAL: Final = re.compile(r'\bt\(\s*"((?:[^"\\]|\\.)*)"')
NAME: Final = re.compile(r"\{\w+\}")
MOST_LINES: Final = {"js": 3_336, "css": 400}


@pytest.mark.parametrize("name", FILES)
async def test_every_file_has_its_type_its_policy_and_its_bytes(
    http: httpx.AsyncClient, name: str
) -> None:
    packed = await http.get(f"/ui/{name}", headers={"Accept-Encoding": "gzip"})
    assert packed.status_code == 200
    assert packed.content == (STATIC / name).read_bytes()
    assert packed.headers["content-encoding"] == "gzip"
    wanted = MEDIA_TYPES[name.rpartition(".")[2]]
    assert packed.headers["content-type"].partition(";")[0] == wanted
    assert packed.headers["content-security-policy"].startswith("default-src 'self';")
    assert "'unsafe" not in packed.headers["content-security-policy"]
    assert packed.headers["x-content-type-options"] == "nosniff"
    plain = await http.get(f"/ui/{name}", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == packed.content


async def test_a_file_that_has_not_changed_is_not_sent_again(http: httpx.AsyncClient) -> None:
    first = await http.get("/ui/")
    again = await http.get("/ui/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/ui"])
async def test_the_root_and_the_page_without_a_slash_lead_to_it_behind_any_prefix(
    http: httpx.AsyncClient, path: str
) -> None:
    assert (await http.get(path)).headers["location"] == "ui/"


@pytest.mark.parametrize("path", ["nothing.js", "../pages.py", "%2e%2e/pages.py", "lib", "vendor/"])
async def test_nothing_but_the_files_is_served(http: httpx.AsyncClient, path: str) -> None:
    response = await http.get(f"/ui/{path}")
    assert response.status_code == 404
    assert "import" not in response.text


@pytest.mark.parametrize("name", OWN)
def test_own_scripts_write_text_alone_and_name_no_other_host(name: str) -> None:
    assert FORBIDDEN.findall((STATIC / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("kind", MOST_LINES)
def test_own_files_keep_their_budget(kind: str) -> None:
    own = [name for name in FILES if name.endswith(f".{kind}") and not name.startswith("vendor/")]
    lines = [len((STATIC / name).read_text(encoding="utf-8").splitlines()) for name in own]
    assert sum(lines) <= MOST_LINES[kind]
    assert max(lines) <= 300


def test_all_words_of_the_page_are_there_in_japanese() -> None:
    words = json.loads((STATIC / "ja.json").read_text(encoding="utf-8"))
    said = {text for name in OWN for text in LITERAL.findall((STATIC / name).read_text("utf-8"))}
    assert said > {"Sessions", "Playbook"}
    assert said - words.keys() == set()
    for english, japanese in words.items():
        assert sorted(NAME.findall(english)) == sorted(NAME.findall(japanese))


def test_vendored_files_are_those_that_are_written_down() -> None:
    table = (STATIC / "vendor/VENDOR.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"\| `([\w.]+)` \|.*`([0-9a-f]{64})`", table))
    code = [path for path in (STATIC / "vendor").iterdir() if path.suffix in {".js", ".css"}]
    assert written == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in code}


def test_the_whole_page_is_small() -> None:
    sent = [asset.packed for name, asset in assets().items() if not name.endswith((".md", ".txt"))]
    assert sum(map(len, sent)) < 115_000
    assert [gzip.decompress(packed) for packed in sent]


@pytest.fixture
async def guarded() -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        store="memory",
        serve_web_interface=False,
        auth_tokens={"aiko": SecretStr("aiko-secret"), "bob": SecretStr("bob-secret")},
        playbook_editors=("bob",),
    )
    app: FastAPI = scripted_app(build_container(settings))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def test_without_a_token_the_page_is_the_sign_in_which_leads_back_to_it(
    guarded: httpx.AsyncClient,
) -> None:
    browser = {"Accept": "text/html"}
    shown = await guarded.get("/ui/", headers=browser)
    assert shown.status_code == 401
    assert '<input type="hidden" name="back" value="/ui/">' in shown.text
    assert (await guarded.get("/ui/main.js")).status_code == 401
    form = {"token": "aiko-secret", "back": "/ui/"}
    signed_in = await guarded.post("/login", data=form)
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/ui/")
    assert (await guarded.get("/ui/", headers=browser)).text.startswith("<!doctype html>")
    me = (await guarded.get("/ui/me")).json()
    can = {"edits_playbook": False, "operates": False, "plays_demo": False}
    assert me == {"user": "aiko", "signed_in": True, **can}


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/ui/../x", "", "/"])
async def test_sign_in_leads_nowhere_else(guarded: httpx.AsyncClient, back: str) -> None:
    signed_in = await guarded.post("/login", data={"token": "bob-secret", "back": back})
    assert signed_in.headers["location"] == "/ui/"


async def test_without_tokens_the_viewer_is_who_they_say(http: httpx.AsyncClient) -> None:
    me = (await http.get("/ui/me", params={"user": "Aiko"})).json()
    can = {"edits_playbook": True, "operates": True, "plays_demo": False}
    assert me == {"user": "Aiko", "signed_in": False, **can}
