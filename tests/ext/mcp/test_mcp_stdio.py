"""`acc-ace mcp` as a client starts it: nothing but the protocol on stdout."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from acc_ace.bootstrap import build_container
from acc_ace.turn.rule_service import RuleService
from config import Settings
from schemas.base import SessionKey
from tests.e2e.processes import ROOT, environment
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.mcp.clients import Agent
from tests.fakes.extensions import needs

__all__ = ["acc_ace"]

COMMAND = ("-c", "from acc_ace.cli.app import main; main()", "mcp")
FACT = "The bucket is gs://foo."
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


def message(method: str, id: int | None = None, **params: object) -> str:
    value = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(value if id is None else {**value, "id": id}) + "\n"


@needs("embedded")
async def test_a_client_starts_it_and_remembers(tmp_path: Path) -> None:
    child = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, "--session", "s"], env=environment(tmp_path)
    )
    async with Client(stdio_client(child)) as client:
        agent = Agent(client)
        await agent.told("remember", text=FACT)
        assert FACT in (await agent.told("recall", query="bucket"))["evidence"][0]["text"]


@pytest.mark.soak
@needs("embedded")
async def test_stdout_is_the_protocol_alone_and_what_was_sent_before_the_end_is_kept(
    tmp_path: Path,
) -> None:
    sent = (
        message("initialize", 1, **HELLO)
        + message("notifications/initialized")
        + "no JSON\n"
        + message("tools/call", 2, name=5)
        + message("tools/call", 3, name="remember", arguments={"text": FACT})
    )
    answers: dict[int, Any] = {
        each.get("id"): each for each in map(json.loads, run(tmp_path, sent))
    }
    # The SDK cancels what it is doing when its input ends; what is to be kept outlives that.
    assert "result" not in answers.get(2, {})
    container = build_container(Settings(data_dir=tmp_path))
    state = await RuleService(container).state(SessionKey("acc_ace", "user", "mcp"))
    await container.close()
    assert FACT in state.ccs.semantic_gist


def run(data: Path, sent: str) -> list[str]:
    """The lines on stdout of a server whose client ends as soon as it has sent all."""
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, *COMMAND],
        input=sent,
        env=environment(data),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Traceback" not in ended.stderr
    return ended.stdout.splitlines()


def test_tools_are_listed_before_anything_of_adk_is_imported(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from typer.testing import CliRunner\n"
        "from acc_ace.cli.app import app\n"
        "from mcp.client.client import Client\n"
        "from acc_ace.config import Settings\n"
        "from acc_ace.ext.mcp.lazy_memory import LazyMemory\n"
        "from acc_ace.ext.mcp.tools import build_server\n"
        "memory = LazyMemory(Settings(), app='acc_ace', user='user', session='mcp')\n"
        "assert CliRunner().invoke(app, ['mcp', '--help']).exit_code == 0\n"
        "async def listed():\n"
        "    async with Client(build_server(memory)) as client:\n"
        "        return len((await client.list_tools()).tools)\n"
        "print(asyncio.run(listed()), 'google.adk' in sys.modules)\n"
    )
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["5", "False"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--port", "9000"), "--http"),
        (("--user", ""), "--user must be"),
        (("--session", "a\nb"), "--session must be"),
        (("--app", "\n"), "--app must be"),
    ],
)
def test_an_option_that_cannot_be_is_named(
    acc_ace: CommandLine, words: tuple[str, ...], says: str
) -> None:
    ended = acc_ace("mcp", *words)
    assert (ended.code, says in ended.err) == (2, True)


def test_without_the_sdk_the_extra_is_named(
    acc_ace: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acc_ace.ext.mcp.command.find_spec", lambda _name: None)
    ended = acc_ace("mcp")
    assert ended.code == 2
    assert "[mcp]" in ended.err
