"""Replace old turns by a summary, off the critical path: no turn waits for it."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from acc_ace.schemas.limits import Limits
from acc_ace.schemas.memory import CountedMessage, Summary
from acc_ace.schemas.message import Message
from acc_ace.schemas.session_memory import ConversationSummary
from acc_ace.strategies.extractive_summary import extract_summary
from acc_ace.strategies.summary import turns_to_summarise
from acc_ace.strategies.transcript import estimate_message, message_text
from acc_ace.text.prompt import Prompt
from acc_ace.text.tokens import clip_tokens
from acc_ace.turn.completion import Completion
from acc_ace.turn.history import Past, recent_messages
from acc_ace.turn.reply_parsing import parser
from acc_ace.turn.structured_call import ask

EXTRACTIVE = "extractive"
"""Named as the writer of a summary that no model wrote."""

_SHOWN_TOKENS = 500
"""Of one message, as the Summarizer sees it."""


async def summarise(
    past: Past, *, completion: Completion, prompt: Prompt, limits: Limits, now: datetime
) -> Summary | None:
    """A summary that goes further than the last one, or None while there is room for the turns.

    Takes on at most `limits.history_tokens` of messages at once; call again until None. A model
    that is down or says nothing is replaced by quotes, so that summaries always move on.
    Raises StoreError.
    """
    previous = past.summary
    done = max(past.after_turn, previous.through_turn if previous else 0)
    messages = await recent_messages(past, after_turn=done, tokens=limits.replay_tokens)
    counted = [CountedMessage(message, estimate_message(message)) for message in messages]
    through = turns_to_summarise(counted, previous, budget=limits.history_tokens)
    if through is None:
        return None
    old = _first(counted, through, limits.history_tokens)
    known = previous.content if previous else ""
    inputs = {
        "previous_summary": known or None,
        "messages": [_shown(message) for message in old],
        "max_tokens": limits.summary_tokens,
    }
    asked = await ask(
        completion, prompt, inputs, parser(ConversationSummary), repairs=limits.repairs
    )
    written = asked.value.summary.strip() if asked.value else ""
    quoted = partial(extract_summary, known, old, max_tokens=limits.summary_tokens)
    return Summary(
        content=clip_tokens(written, limits.summary_tokens) or quoted(),
        from_turn=previous.from_turn if previous else old[0].turn,
        through_turn=old[-1].turn,
        model=asked.model if written else EXTRACTIVE,
        restores=past.restores,
        session_began=past.began,
        created_at=now,
    )


def _first(counted: Sequence[CountedMessage], through: int, tokens: int) -> list[Message]:
    """The oldest messages up to a turn: whole turns, within `tokens`, at least one turn."""
    old = [item for item in counted if item.message.turn <= through]
    first, spent = old[0].message.turn, 0
    chosen: list[Message] = []
    for turn in dict.fromkeys(item.message.turn for item in old):
        spent += sum(item.tokens for item in old if item.message.turn == turn)
        if spent > tokens and turn != first:
            break
        chosen += [item.message for item in old if item.message.turn == turn]
    return chosen


def _shown(message: Message) -> dict[str, object]:
    return {
        "turn": message.turn,
        "role": message.authority if message.role == "user" else message.role,
        "text": clip_tokens(message_text(message), _SHOWN_TOKENS),
    }
