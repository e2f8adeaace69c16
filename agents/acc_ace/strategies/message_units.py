"""What a strategy may keep or drop: units of messages that cannot be parted.

A call and its results belong together, parallel calls included: a model that sees one without the
other refuses the request or invents the rest.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from acc_ace.schemas.memory import CountedMessage
from acc_ace.schemas.message import MessageRole


@dataclass(frozen=True)
class Unit:
    """One message, or an assistant's calls with all of their results."""

    messages: tuple[CountedMessage, ...]

    @property
    def tokens(self) -> int:
        """Tokens of its messages."""
        return sum(counted.tokens for counted in self.messages)

    @property
    def turn(self) -> int:
        """The turn it belongs to."""
        return self.messages[0].message.turn

    @property
    def has_calls(self) -> bool:
        """Whether it is a call with its results."""
        return bool(self.messages[0].message.tool_calls)


def units(messages: Sequence[CountedMessage]) -> list[Unit]:
    """Messages as units, in order.

    Left out is what could never be sent: a call that was not answered (the turn was cut short),
    and a result whose call is not there.
    """
    found: list[Unit] = []
    at = 0
    while at < len(messages):
        head = messages[at]
        at += 1
        if head.message.tool_calls:
            group, at = _with_results(head, messages, at)
            found.extend([Unit(group)] if group else [])
        elif head.message.role is not MessageRole.TOOL:
            found.append(Unit((head,)))
    return found


def turns(found: Sequence[Unit]) -> list[list[Unit]]:
    """Units by turn, in order."""
    grouped: list[list[Unit]] = []
    for unit in found:
        if not grouped or grouped[-1][0].turn != unit.turn:
            grouped.append([])
        grouped[-1].append(unit)
    return grouped


def flat(found: Sequence[Unit]) -> list[CountedMessage]:
    """The messages of units, in order."""
    return [counted for unit in found for counted in unit.messages]


def _with_results(
    head: CountedMessage, messages: Sequence[CountedMessage], at: int
) -> tuple[tuple[CountedMessage, ...], int]:
    """A call and the tool messages after it; nothing when a call has no result. Next position."""
    open_calls = Counter(call.id for call in head.message.tool_calls)
    group = [head]
    while at < len(messages) and messages[at].message.role is MessageRole.TOOL:
        answers = Counter(result.tool_call_id for result in messages[at].message.tool_results)
        if answers <= open_calls:
            open_calls -= answers
            group.append(messages[at])
        at += 1
    return (() if open_calls else tuple(group)), at
