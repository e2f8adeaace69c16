"""What the MCP server offers: one command. Needs the extra `mcp`."""

from collections.abc import Sequence
from typing import Final

_COMMANDS: Final = {"": ("acc_ace.ext.mcp.command",)}


class McpEntry:
    """The hook `commands`."""

    def commands(self, group: str) -> Sequence[str]:
        """`mcp`."""
        return _COMMANDS.get(group, ())


ENTRY: Final = McpEntry()
