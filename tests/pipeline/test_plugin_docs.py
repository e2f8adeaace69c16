"""The how-to of the plugin says what is."""

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App

from acc_ace import BoundedMemoryPlugin, errors
from acc_ace.adk.stages.tool_loop import WHOLE_CHARS
from acc_ace.bootstrap import process_container
from schemas.limits import Limits
from tests.fakes.scripted_llm import ScriptedLlm

HOW_TO = (Path(__file__).parents[2] / "docs" / "how-to" / "plugin.md").read_text(encoding="utf-8")


def table(heading: str) -> list[str]:
    """The names in the first column of a section's table."""
    section = HOW_TO.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


async def test_the_snippet_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    process_container.cache_clear()
    mine = ModuleType("my_project")
    mine.existing_agent = LlmAgent(name="helper", model=ScriptedLlm())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_project", mine)
    names: dict[str, object] = {}
    [snippet] = re.findall(r"```python\n(.*?)```", HOW_TO, re.DOTALL)
    exec(snippet, names)  # noqa: S102 - it is our own document
    app = names["app"]
    assert isinstance(app, App)
    assert [plugin.name for plugin in app.plugins] == ["bounded_memory"]
    await process_container().close()
    process_container.cache_clear()


def test_every_option_is_described() -> None:
    parameters = list(inspect.signature(BoundedMemoryPlugin.__init__).parameters)
    assert table("Options") == parameters[1:]


def test_every_error_named_exists() -> None:
    named = table("Errors")
    assert len(named) > 4
    assert [name for name in named if not hasattr(errors, name)] == []


def test_the_bound_of_a_tool_result_is_the_default() -> None:
    bound = f"`ACC_ACE_LIMITS__TOOL_RESULT_TOKENS` ({Limits().tool_result_tokens:,} tokens)"
    assert bound in HOW_TO
    assert WHOLE_CHARS == 1_000_000
