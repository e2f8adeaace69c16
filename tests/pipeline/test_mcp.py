"""MCP servers as tools of the Generator."""

import json
import sys
from pathlib import Path

import pytest
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from acc_ace.adk.mcp_toolsets import mcp_toolsets
from acc_ace.adk.tools import GuardedToolset
from acc_ace.errors import ConfigError
from acc_ace.turn.turn_record import TurnRecords
from schemas.base import SessionKey
from tests.fakes.scripted_llm import call
from tests.pipeline.talk import Talk, seen, settings

SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("greeter")


@server.tool()
def greet(person: str) -> str:
    """Greet somebody."""
    return f"Good day, {person}."


server.run()
'''


def needs_mcp() -> None:
    """Skip without the extra. It brings aiohttp, and google-genai would then use that.

    The suite is about the default installation; run this file again with the extra installed.
    """
    pytest.importorskip("mcp", reason="needs the extra: pip install -e '.[mcp]'")


class Unreachable(BaseToolset):
    """A toolset whose server is gone."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        raise ConnectionError("connection refused")


async def test_a_toolset_that_cannot_be_listed_costs_its_tools_and_a_warning() -> None:
    records = TurnRecords()
    session = Session(app_name="acc_ace", user_id="ops", id="s1")
    record = records.begin(SessionKey("acc_ace", "ops", "s1"), "i-1")
    context = ReadonlyContext(
        InvocationContext(
            session=session, session_service=InMemorySessionService(), invocation_id="i-1"
        )
    )
    tools = await GuardedToolset(Unreachable(), "desk", records).get_tools(context)
    assert tools == []
    assert record.observer.warnings == ["tools of 'desk' cannot be reached; answered without them"]


def test_without_the_extra_mcp_servers_are_refused_with_the_command_that_installs_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"x": {"command": "true"}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"pip install -e '.\[mcp\]'"):
        mcp_toolsets(path, installed=lambda _: None)


def talk_with(folder: Path, servers: object) -> Talk:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return Talk(settings().model_copy(update={"mcp_servers": path}))


async def test_a_tool_of_an_mcp_server_is_called_and_its_result_is_evidence(
    tmp_path: Path,
) -> None:
    needs_mcp()
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    server = {"command": sys.executable, "args": [str(tmp_path / "server.py")]}
    talk = talk_with(tmp_path, {"desk": server})
    talk.llm.on("generator", call("desk_greet", person="Aiko"), {"final_answer": "done"})
    report = await talk.say("Greet Aiko.")
    assert report.warnings == []
    assert "Good day, Aiko." in seen(talk.llm.requests_of("generator")[-1])
    [interaction] = await talk.container.evidence.list(talk.key)
    assert "Good day, Aiko." in interaction.tool_results[0].result
    await talk.conversation.close()


async def test_a_server_that_cannot_be_reached_costs_its_tools_and_a_warning(
    tmp_path: Path,
) -> None:
    needs_mcp()
    talk = talk_with(tmp_path, {"gone": {"url": "http://127.0.0.1:9/mcp", "timeout_s": 2}})
    report = await talk.say("Hello.")
    assert report.answer
    assert any("tools of 'gone' cannot be reached" in warning for warning in report.warnings)
    assert "calculate" in str(talk.llm.requests_of("generator")[-1].config.tools)
    await talk.conversation.close()


@pytest.mark.parametrize(
    ("servers", "complaint"),
    [
        ({"x": {}}, "command.*url"),
        ({"x": {"command": "a", "url": "http://127.0.0.1"}}, "command.*url"),
        ({"x": {"command": "a", "colour": "red"}}, "colour"),
        ([], "mcpServers"),
    ],
)
def test_a_wrong_mcp_file_is_told_what_is_wrong(
    servers: object, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"ACC_ACE_MCP_SERVERS.*{complaint}"):
        talk_with(tmp_path, servers)


def test_a_missing_mcp_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json"):
        Talk(settings().model_copy(update={"mcp_servers": tmp_path / "none.json"}))
