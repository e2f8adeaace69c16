"""The MCP server, asked by the SDK's own client."""

import pytest

pytest.importorskip("mcp", reason="needs the extra: pip install -e '.[mcp]'")
