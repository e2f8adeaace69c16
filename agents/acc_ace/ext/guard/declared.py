"""The tools of an app as the guard takes them: from ADK's declarations and MCP's hints."""

from collections.abc import Collection, Mapping
from typing import Any

from google.adk.tools.base_tool import BaseTool

from acc_ace.adk.mcp_toolsets import read_mcp_config
from acc_ace.config import Settings
from acc_ace.ext.guard.calls import Tool


def declared(
    tool: BaseTool,
    *,
    acting: Collection[str] = (),
    reading: Collection[str] = (),
    trusted: tuple[str, ...] = (),
) -> Tool:
    """A tool with its arguments; `trusted` are prefixes of the servers whose hints are believed.

    That it acts is believed of any server, that it only reads of trusted ones.
    """
    hints = getattr(getattr(tool, "raw_mcp_tool", None), "annotations", None)
    # MCP's package calls them as the wire does in version 1, in snake case in version 2.
    only_reads = getattr(hints, "readOnlyHint", getattr(hints, "read_only_hint", None))
    destroys = getattr(hints, "destructiveHint", getattr(hints, "destructive_hint", None))
    destroys = bool(destroys) and only_reads is not True
    believed = bool(only_reads) and tool.name.startswith(trusted or ("\0",))
    return Tool(
        tool.name,
        tool.description or "",
        _parameters(tool),
        reads=tool.name in reading or believed,
        acts=tool.name in acting or only_reads is False or destroys,
    )


def trusted_servers(settings: Settings) -> tuple[str, ...]:
    """How the names of tools begin whose server the operator trusts."""
    if settings.mcp_servers is None:
        return ()
    servers = read_mcp_config(settings.mcp_servers).servers
    return tuple(f"{name}_" for name, server in servers.items() if server.trusted)


def _parameters(tool: BaseTool) -> Mapping[str, Any]:
    declaration = tool._get_declaration()
    if declaration is None:
        return {}
    schema = declaration.parameters_json_schema
    if schema is None and declaration.parameters is not None:
        schema = declaration.parameters.model_dump(exclude_none=True)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}
