"""A small MCP server over stdio, for tests: one tool that greets."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("greeter")


@server.tool()
def greet(person: str) -> str:
    """Greet somebody."""
    return f"Good day, {person}."


if __name__ == "__main__":
    server.run()
