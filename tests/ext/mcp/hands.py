"""The person themselves, who needs no client."""

from acc_ace.controller import AccController


async def say(*messages: str, user: str = "user") -> None:
    """What the person says with their own hand, in the session that clients use."""
    controller = AccController.from_settings(session="mcp", user=user)
    for message in messages:
        await controller.update_state(message, None)
    await controller.close()
