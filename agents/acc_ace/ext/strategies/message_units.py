"""What a strategy may keep or drop: units of messages that cannot be parted.

A tool call and its result are such a unit; they are paired also where a model gives its calls the
same id.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from acc_ace.core.schemas.interaction import ToolCall, ToolResult
from acc_ace.ext.strategies.memory import CountedMessage, MessageRole


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


def answered_calls(
    calls: Sequence[ToolCall], results: Sequence[ToolResult]
) -> list[tuple[ToolCall, ToolResult]]:
    """The calls of a turn that were answered, each with its own result, in the order of the calls.

    A call with an id of its own has the last result of that id: an earlier one said "pending".
    Calls that share an id are distinguished by their tools and by the model calls that made them.
    Left out are those where that leaves a doubt: no result is ever shown for another call.
    """
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for at, call in enumerate(calls):
        sharing[call.id].append(at)
    of_id: defaultdict[str, list[ToolResult]] = defaultdict(list)
    for result in results:
        of_id[result.tool_call_id].append(result)
    found: dict[int, ToolResult] = {}
    for call_id, places in sharing.items():
        if len(places) > 1:
            found |= _by_position(calls, places, of_id[call_id])
        elif of_id[call_id]:
            found[places[0]] = of_id[call_id][-1]
    return [(calls[at], found[at]) for at in sorted(found)]


def _by_position(
    calls: Sequence[ToolCall], places: Sequence[int], results: Sequence[ToolResult]
) -> dict[int, ToolResult]:
    """Results of calls that share an id: the first of a tool is that of its first call, and so on.

    Parallel calls end in any order, and one lost result moves all others: both are left out.
    """
    by_tool: defaultdict[str, list[int]] = defaultdict(list)
    for at in places:
        by_tool[calls[at].name].append(at)
    found: dict[int, ToolResult] = {}
    for name, own in by_tool.items():
        given = [result for result in results if result.name == name]
        in_a_row = len({calls[at].step for at in own}) == len(own)
        if len(given) == len(own) and in_a_row:
            found |= dict(zip(own, given, strict=True))
    return found
