"""MCP servers as toolsets of the Generator (optional extra `mcp`)."""

import json
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from acc_ace.errors import ConfigError
from acc_ace.hooks import how_to_install


class McpServer(BaseModel):
    """One server: a command to start, or a URL to connect to."""

    model_config = ConfigDict(extra="forbid")

    command: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    transport: Literal["http", "sse"] = "http"
    tools: list[str] | None = Field(default=None, description="Only these tools; all if unset.")
    trusted: bool = Field(
        default=False, description="Whether its tools' word that they only read is believed."
    )
    timeout_s: float = Field(default=30, gt=0, le=600)

    @model_validator(mode="after")
    def _command_or_url(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError("needs either 'command' or 'url'")
        return self


class McpConfig(BaseModel):
    """The whole file."""

    servers: dict[str, McpServer] = Field(alias="mcpServers")


def read_mcp_config(path: Path) -> McpConfig:
    """Read the file; raises ConfigError that names what is wrong, never a header or a key."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"ACC_ACE_MCP_SERVERS: '{path}' cannot be read: {error}") from error
    try:
        return McpConfig.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"ACC_ACE_MCP_SERVERS: '{path}': {where}: {first['msg']}") from error


def mcp_toolsets(path: Path, *, installed: Callable[[str], object] = find_spec) -> dict[str, Any]:
    """A toolset for each server of the file, by name. Does not connect yet."""
    config = read_mcp_config(path)
    if installed("mcp") is None:
        raise ConfigError(f"ACC_ACE_MCP_SERVERS needs the MCP client; {how_to_install('mcp')}")
    toolset = import_module("google.adk.tools.mcp_tool").McpToolset
    return {
        name: toolset(
            connection_params=_connection(server),
            tool_filter=server.tools,
            tool_name_prefix=name,
        )
        for name, server in config.servers.items()
    }


def _connection(server: McpServer) -> object:
    """ADK's connection parameters of a server."""
    mcp_tool = import_module("google.adk.tools.mcp_tool")
    if server.command is not None:
        process = import_module("mcp").StdioServerParameters(
            command=server.command, args=server.args, env=server.env or None
        )
        return mcp_tool.StdioConnectionParams(server_params=process, timeout=server.timeout_s)
    remote = (
        mcp_tool.SseConnectionParams
        if server.transport == "sse"
        else mcp_tool.StreamableHTTPConnectionParams
    )
    return remote(url=server.url, headers=server.headers or None, timeout=server.timeout_s)
