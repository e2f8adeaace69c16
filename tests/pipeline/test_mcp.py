"""MCP servers as tools of the Generator."""

import json
import sys
from pathlib import Path

import pytest

from core.errors import ConfigError
from tests.fakes.scripted_llm import call
from tests.pipeline.talk import Talk, seen, settings

ROOT = Path(__file__).parents[2]


def talk_with(folder: Path, servers: object) -> Talk:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return Talk(settings().model_copy(update={"mcp_servers": path}))


async def test_a_tool_of_an_mcp_server_is_called_and_its_result_is_evidence(
    tmp_path: Path,
) -> None:
    server = {
        "command": sys.executable,
        "args": ["-m", "tests.fakes.mcp_server"],
        "env": {"PYTHONPATH": str(ROOT)},
    }
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
