"""The Generator's tools, and the one place to add your own.

Your own tools are plain functions with type hints and a docstring: name them in
`ACC_ACE_TOOLS=package.module:function,…`. MCP servers come from `ACC_ACE_MCP_SERVERS`, a JSON
file of the usual form `{"mcpServers": {"name": {"command": …} | {"url": …}}}`.
"""

import importlib
from collections.abc import Callable
from typing import Any

from acc_ace.adk.builtin_tools import Calculate, CurrentTime, ReadFile, SearchEvidence
from acc_ace.adk.guarded_toolset import GuardedToolset
from acc_ace.adk.mcp_toolsets import mcp_toolsets
from acc_ace.container import Container
from acc_ace.errors import ConfigError
from acc_ace.turn.turn_record import TurnRecords

Tool = Any
"""A callable, an ADK tool or an ADK toolset."""


def build_tools(container: Container, records: TurnRecords) -> list[Tool]:
    """All tools of the Generator; raises ConfigError for one that cannot be loaded."""
    settings = container.settings
    tools: list[Tool] = [
        SearchEvidence(container).search_evidence,
        Calculate().calculate,
        CurrentTime(container.clock).current_time,
    ]
    if settings.files_dir is not None:
        tools.append(ReadFile(settings.files_dir).read_file)
    tools.extend(load_tool(name) for name in settings.tools)
    if settings.mcp_servers is not None:
        tools.extend(
            GuardedToolset(toolset, name, records)
            for name, toolset in mcp_toolsets(settings.mcp_servers).items()
        )
    return tools


def load_tool(name: str) -> Callable[..., object]:
    """A function named 'package.module:function'."""
    module_name, _, attribute = name.partition(":")
    try:
        tool = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"ACC_ACE_TOOLS: '{name}' cannot be loaded ({error}); use 'package.module:function'"
        ) from error
    if not callable(tool):
        raise ConfigError(f"ACC_ACE_TOOLS: '{name}' is not a function")
    function: Callable[..., object] = tool
    return function
