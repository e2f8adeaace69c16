"""ADK's web UI as a person sees it, and ADK's own commands over agents/, offline and keyless."""

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.e2e.browser import find_chromium
from tests.e2e.processes import BIN, ROOT, Server, adk_server, environment, our_server
from tests.e2e.screenshot_adk_web import ANSWERS, MESSAGES, converse_in_browser
from tests.fakes.extensions import needs

RULE = "Never restart db-01 during business hours."
INTERNAL = ("semantic_gist", "final_answer", "focal_entities", "bullet_ids", "episodic_trace")
WAIT_S = 120.0

Start = Callable[[Path], AbstractContextManager[Server]]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where screenshots go; kept when SCREENSHOTS names a folder."""
    return Path(os.environ.get("SCREENSHOTS", tmp_path / "screenshots"))


@pytest.mark.browser
@pytest.mark.soak
@pytest.mark.parametrize(
    "start",
    [
        pytest.param(our_server, id="main.py"),
        pytest.param(partial(adk_server, "web"), id="adk-web"),
    ],
)
def test_two_messages_get_two_answers_and_no_internal_json(
    start: Start, tmp_path: Path, out: Path, request: pytest.FixtureRequest
) -> None:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium is installed; apt-get install chromium")
    folder = out / request.node.callspec.id
    with start(tmp_path) as server:
        page = converse_in_browser(executable, server.url, MESSAGES, ANSWERS, folder)
    for message in MESSAGES:
        assert message in page
    for field in INTERNAL:
        assert field not in page
    assert sorted(path.name for path in folder.iterdir()) == ["adk_web_1.png", "adk_web_2.png"]


@pytest.mark.browser
@pytest.mark.soak
def test_browser_signs_in_with_its_token_and_chats_as_that_user(tmp_path: Path, out: Path) -> None:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium is installed; apt-get install chromium")
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS="alice:alice-secret,bob:bob-secret") as server:
        page = converse_in_browser(
            executable, server.url, MESSAGES, ANSWERS, out / "tokens", token="alice-secret"
        )
        request = Request(  # noqa: S310 - a loopback address
            f"{server.url}/v1/sessions", headers={"Authorization": "Bearer alice-secret"}
        )
        with urlopen(request, timeout=WAIT_S) as reply:  # noqa: S310 - a loopback address
            sessions = json.load(reply)["items"]
    assert "alice-secret" not in page
    assert [session["turn"] for session in sessions] == [2]


def _post(url: str, body: object) -> object:
    request = Request(  # noqa: S310 - a loopback address
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=WAIT_S) as reply:  # noqa: S310 - a loopback address
        return json.load(reply)


@needs("embedded")
def test_adk_api_server_runs_the_app_with_our_session_service(tmp_path: Path) -> None:
    with adk_server("api_server", tmp_path) as server:
        _post(f"{server.url}/apps/acc_ace/users/u/sessions", {"sessionId": "s"})
        message = {"role": "user", "parts": [{"text": RULE}]}
        body = {"appName": "acc_ace", "userId": "u", "sessionId": "s", "newMessage": message}
        events = _post(f"{server.url}/run", body)
        with urlopen(  # noqa: S310 - a loopback address
            f"{server.url}/apps/acc_ace/users/u/sessions/s", timeout=WAIT_S
        ) as reply:
            session = json.load(reply)
    assert RULE in json.dumps(events)
    assert session["state"]["ccs"]["constraints"] == [RULE]
    assert {path.name for path in (tmp_path / "data").iterdir()} >= {"memory.db"}


@needs("embedded")
def test_adk_run_answers_in_the_terminal(tmp_path: Path) -> None:
    ended = subprocess.run(  # noqa: S603 - ADK's own command
        [str(BIN / "adk"), "run", "agents/acc_ace"],
        cwd=ROOT,
        env=environment(tmp_path / "data"),
        input=f"{RULE}\nexit\n",
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "In force: c-0001 " in ended.stdout
    for field in INTERNAL:
        assert field not in ended.stdout


@needs("embedded")
def test_agent_imports_offline_without_a_key_and_without_the_heavy_extras(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.addaudithook(lambda name, args: name in ('socket.connect', 'socket.getaddrinfo')"
        " and sys.exit(f'{name} {args}'))\n"
        "from acc_ace.agent import app, root_agent\n"
        "heavy = {'litellm', 'torch', 'transformers', 'pandas', 'vertexai'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert app.name == 'acc_ace' and app.root_agent is root_agent\n"
    )
    ended = subprocess.run(  # noqa: S603 - our own interpreter
        [str(BIN / "python"), "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path / "data"),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
