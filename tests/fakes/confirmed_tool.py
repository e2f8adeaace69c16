"""A tool of a user's own that asks a person before it acts."""

from typing import Any

from google.adk.tools.tool_context import ToolContext


def restart_server(server: str, tool_context: ToolContext) -> dict[str, Any]:
    """Restart a server once a person has confirmed it.

    Args:
        server: Which one.
    """
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint=f"Restart {server}?")
        return {"status": "waits for confirmation"}
    return {"restarted": server if tool_context.tool_confirmation.confirmed else ""}


PAID: list[float] = []
"""What `refund` has paid in this process."""


def refund(order: str, amount: float) -> dict[str, float]:
    """Refund an order.

    Args:
        order: Its number.
        amount: How much, in euros.
    """
    PAID.append(amount)
    return {"refunded": amount}
