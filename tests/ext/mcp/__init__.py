"""The MCP server, asked by the SDK's own client."""

import pytest

pytest.importorskip("mcp_types", reason="needs the extra: pip install -e '.[mcp]'")
