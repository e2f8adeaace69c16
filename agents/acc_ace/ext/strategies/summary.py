"""Summary: old turns are replaced by one system message, the newest are kept as they are.

Without a model's summary, one is extracted: rules first, then what was said, the newest most.
"""

from collections.abc import Sequence
from math import ceil

from acc_ace.core.text.rules.rule_detection import detect_rules
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens
from acc_ace.ext.strategies.memory import (
    CountedMessage,
    MemoryContext,
    MemoryInputs,
    Message,
    MessageRole,
    Summary,
)
from acc_ace.ext.strategies.memory_strategy import context_of, room_for, standing
from acc_ace.ext.strategies.message_units import turns, units
from acc_ace.ext.strategies.window import newest

SUMMARY = "summary"
"""Name of the block that holds the summary."""

_BEGIN_AT = 0.5
_KEEP = 0.25


class Summarised:
    """One summary and a window over what came after it.

    The summary is the last one that was finished: a turn never waits for a newer one. While one
    is in the making, the window drops the oldest turns if it must.
    """

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """Raises InputTooLargeError when the system prompt and x_t alone are over the budget."""
        summary = inputs.summary
        if summary is None:
            return context_of(inputs, newest(inputs.messages, room_for(inputs)))
        later = [item for item in inputs.messages if item.message.turn > summary.through_turn]
        block = _block(summary, room_for(inputs))
        if block is None:
            return context_of(inputs, newest(later, room_for(inputs)))
        return context_of(inputs, newest(later, room_for(inputs, block)), block)


def turns_to_summarise(
    messages: Sequence[CountedMessage], summary: Summary | None, *, budget: int
) -> int | None:
    """The turn up to which old turns should be summarised now, or None while there is room.

    Begins when the messages after the last summary take half of `budget`; keeps the newest turns
    that take a quarter of it, and always the last one.
    """
    done = summary.through_turn if summary else 0
    left = turns(units([item for item in messages if item.message.turn > done]))
    costs = [sum(unit.tokens for unit in turn) for turn in left]
    if sum(costs) < ceil(_BEGIN_AT * budget):
        return None
    kept = 0
    for position in reversed(range(len(left) - 1)):
        kept += costs[position + 1]
        if kept + costs[position] > _KEEP * budget:
            return left[position][0].turn
    return None


def _block(summary: Summary, room: int) -> CountedMessage | None:
    """The summary as a system message within the room; None when there is none for it."""
    text = summary.content
    while text:
        counted = standing(
            SUMMARY,
            {"turns": f"{summary.from_turn}-{summary.through_turn}", "text": text},
            at=summary.created_at,
        )
        if counted.tokens <= room:
            return counted
        over = counted.tokens - room
        text = clip_tokens(text, max(0, estimate_tokens(text) - over - 1))
    return None


_SAID_TOKENS = 40
_ANSWER_TOKENS = 20


def extract_summary(previous: str, messages: Sequence[Message], *, max_tokens: int) -> str:
    """Quotes of the messages within `max_tokens`, one a line, in their order.

    The user's rules are kept before anything else, then the newest lines; of the previous
    summary what still fits.
    """
    rules = [
        span.sentence
        for message in messages
        if message.role is MessageRole.USER and message.authority.may_rule
        for span in detect_rules(message.content or "")
    ]
    lines = [*previous.splitlines(), *(line for message in messages for line in _lines(message))]
    kept: list[str] = []
    left = max_tokens
    for line in [*(f"user: {rule}" for rule in rules), *_ruling(previous), *reversed(lines)]:
        cost = estimate_tokens(line)
        if cost <= left and line not in kept:
            kept.append(line)
            left -= cost
    order = {line: at for at, line in enumerate(lines)}
    return "\n".join(sorted(kept, key=lambda line: order.get(line, -1)))


def _lines(message: Message) -> list[str]:
    if message.role is MessageRole.TOOL:
        return [
            f"{result.name}: {clip_tokens(_flat(result.result), _ANSWER_TOKENS)}"
            for result in message.tool_results
        ]
    if not message.content:
        return []
    if message.role is MessageRole.USER:
        return [f"{message.authority}: {clip_tokens(_flat(message.content), _SAID_TOKENS)}"]
    return [f"agent: {clip_tokens(_flat(message.content), _ANSWER_TOKENS)}"]


def _ruling(previous: str) -> list[str]:
    """Lines of the previous summary that hold a rule of the user."""
    return [
        line
        for line in previous.splitlines()
        if line.startswith("user: ") and detect_rules(line.removeprefix("user: "))
    ]


def _flat(text: str) -> str:
    return " ".join(text.split())
