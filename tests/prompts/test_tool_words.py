"""A tool tells a model what it does in words, not by an example: models copy those as calls."""

import ast
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool

from acc_ace import Settings, build_container
from acc_ace.adk.tools import build_tools
from acc_ace.turn.turn_record import TurnRecords
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
EXAMPLE: Final = re.compile(r"""\b(such as|like) ["'`]|\be\.g\.|\bfor (example|instance)\b""", re.I)


def shown(tools: Iterable[Any]) -> dict[str, str]:
    """What a model reads of each tool, by its name."""
    own = [tool if isinstance(tool, BaseTool) else FunctionTool(tool) for tool in tools]
    return {tool.name: tool.description for tool in own}


def with_an_example(words: dict[str, str]) -> list[str]:
    """The tools that show an example."""
    return [name for name, text in words.items() if EXAMPLE.search(text)]


async def test_no_tool_of_the_bundled_agent_shows_an_example(tmp_path: Path) -> None:
    container = build_container(Settings(store="memory", files_dir=tmp_path))
    words = shown(build_tools(container, TurnRecords()))
    assert words.keys() >= {"search_evidence", "calculate", "current_time", "read_file"}
    assert all(words.values())
    assert with_an_example(words) == []
    await container.close()


@needs("survivor")
async def test_no_tool_of_the_survivor_shows_an_example() -> None:
    container = build_container(Settings(store="memory"))
    survivor = import_module("acc_ace.ext.survivor.recent_ticks")
    agent = survivor.build_app(container, ScriptedLlm()).root_agent
    assert isinstance(agent, LlmAgent)
    words = shown(agent.tools)
    assert words.keys() == {"recent_ticks"}
    assert with_an_example(words) == []
    await container.close()


def test_no_tool_of_an_example_app_shows_one() -> None:
    words = {
        f"{path.parent.name}.{node.name}": ast.get_docstring(node) or ""
        for path in EXAMPLES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert "plugin_tools.calculate" in words
    assert with_an_example(words) == []
