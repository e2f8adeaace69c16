"""Public contract: a session's turns as messages. Defined in `acc_ace.core.schemas.message`."""

from acc_ace.core.schemas.message import Message, MessageRole

__all__ = ["Message", "MessageRole"]
