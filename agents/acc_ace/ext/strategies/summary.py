"""Summary: the oldest exchanges are replaced by one system message, the newest stay as they are."""

from collections.abc import Awaitable, Callable, Sequence

from acc_ace.core.schemas.message import Message, MessageRole
from acc_ace.core.schemas.session import ConversationSummary
from acc_ace.core.text.prompt import Prompt, write_input
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import ModelError
from acc_ace.ext.strategies.tokens import Count, estimated
from acc_ace.ext.strategies.window import flat, parted
from acc_ace.turn.structured_call import Completion, parser, structured_call
from acc_ace.turn.transcript import message_text

Summarizer = Callable[[str, Sequence[Message]], Awaitable[str]]
"""Extends a summary, '' for none, by the messages that follow it."""

SUMMARY_ID = "system:summary"
"""Id of the message that holds the summary."""

_KEEP = 0.25
_SHOWN_TOKENS = 500
"""Maximum tokens of one message shown to the Summarizer."""


async def summarised(
    messages: Sequence[Message], *, budget: int, summarizer: Summarizer, count: Count = estimated
) -> list[Message]:
    """The messages themselves while they fit; else a summary in place of the oldest ones.

    The newest exchanges that take a quarter of `budget` stay, and always the last one. Keep what
    is returned as the session's messages: the next summary extends this one. Raises what
    `summarizer` raises, and leaves the messages as they are.
    """
    system, earlier, last = parted(messages)
    if not earlier or sum(map(count, messages)) <= budget:
        return list(messages)
    start, tail = len(earlier), sum(map(count, last))
    while start > 1 and (tail := tail + sum(map(count, earlier[start - 1]))) <= _KEEP * budget:
        start -= 1
    old = flat(earlier[:start])
    known = next((item.content or "" for item in system if item.id == SUMMARY_ID), "")
    summary = Message(
        id=SUMMARY_ID,
        timestamp=old[-1].timestamp,
        role=MessageRole.SYSTEM,
        content=write_input("summary", await summarizer(known, old)),
    )
    standing = [item for item in system if item.id != SUMMARY_ID]
    return [*standing, summary, *flat(earlier[start:]), *last]


def model_summarizer(completion: Completion, prompt: Prompt, *, max_tokens: int) -> Summarizer:
    """A Summarizer by a model, in at most `max_tokens`; it raises ModelError without a summary."""

    async def summarize(known: str, messages: Sequence[Message]) -> str:
        inputs = {
            "previous_summary": known or None,
            "messages": list(map(_shown, messages)),
            "max_tokens": max_tokens,
        }
        result = await structured_call(
            completion, prompt, inputs, parser(ConversationSummary), repairs=1
        )
        if result.value is None or not result.value.summary.strip():
            raise ModelError(" ".join(["no summary was written", *result.warnings]))
        return clip_tokens(result.value.summary.strip(), max_tokens)

    return summarize


def _shown(message: Message) -> dict[str, object]:
    said_by = message.authority if message.role is MessageRole.USER else message.role
    text = clip_tokens(message_text(message), _SHOWN_TOKENS)
    return {"turn": message.turn, "role": said_by, "text": text}
