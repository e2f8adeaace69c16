"""Sliding window: the oldest exchanges are dropped when a conversation is over its budget."""

from collections.abc import Sequence

from acc_ace.core.schemas.message import Message, MessageRole
from acc_ace.errors import InputTooLargeError
from acc_ace.ext.strategies.tokens import Count, estimated


def sliding_window(
    messages: Sequence[Message], *, budget: int, count: Count = estimated
) -> list[Message]:
    """The system messages and the newest exchanges within `budget` tokens, in order.

    An exchange is what the user said with all that follows it, so no call is parted from its
    results. Never dropped are system messages and the last exchange. Raises InputTooLargeError
    when these alone are over the budget.
    """
    system, earlier, last = parted(messages)
    room = budget - sum(map(count, [*system, *last]))
    if room < 0:
        raise InputTooLargeError(
            f"the system messages and the last input have {budget - room:,} tokens, the window "
            f"{budget:,}; send less, or give it a larger budget"
        )
    start = len(earlier)
    while start and (size := sum(map(count, earlier[start - 1]))) <= room:
        start, room = start - 1, room - size
    return [*system, *flat(earlier[start:]), *last]


def parted(
    messages: Sequence[Message],
) -> tuple[list[Message], list[list[Message]], list[Message]]:
    """System messages, earlier exchanges, and the last exchange; each in order."""
    system: list[Message] = []
    exchanges: list[list[Message]] = []
    for message in messages:
        if message.role is MessageRole.SYSTEM:
            system.append(message)
        elif message.role is MessageRole.USER or not exchanges:
            exchanges.append([message])
        else:
            exchanges[-1].append(message)
    return system, exchanges[:-1], exchanges[-1] if exchanges else []


def flat(exchanges: Sequence[Sequence[Message]]) -> list[Message]:
    """The messages of exchanges, in order."""
    return [message for exchange in exchanges for message in exchange]
