"""`acc-ace mcp`: a user's memory for agents that are not ADK's, on the official MCP SDK."""
