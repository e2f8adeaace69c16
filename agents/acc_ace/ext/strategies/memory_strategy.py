"""Memory strategies: what the agent sees of the conversation, and the context they share.

A strategy is stateless: it gets the messages, counts them as the target model does, and puts
together a context within its budget. ACC shows the compressed state instead of messages; what a
classic strategy leaves out is named in a system message in its place.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from acc_ace.core.schemas.base import Authority
from acc_ace.core.text.prompt import render_ccs, write_input
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import InputTooLargeError
from acc_ace.ext.strategies.memory import (
    CountedMessage,
    MemoryContext,
    MemoryInputs,
    Message,
    MessageRole,
)
from acc_ace.ext.strategies.transcript import estimate_message


class MemoryStrategy(Protocol):
    """Choose the messages of a request. A pure function of its inputs."""

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """Return the messages: system prompt first, x_t last.

        The system prompt and x_t are never dropped; a call and its results stay together.
        Raises InputTooLargeError if these alone exceed the budget.
        """
        ...


def room_for(inputs: MemoryInputs, *extra: CountedMessage) -> int:
    """Tokens left for earlier messages after the system prompt, x_t and `extra`.

    Raises InputTooLargeError when these alone are over the budget: neither may be dropped.
    """
    fixed = inputs.system.tokens + inputs.incoming.tokens
    room = inputs.budget - fixed - sum(counted.tokens for counted in extra)
    if room < 0:
        raise InputTooLargeError(
            f"the system prompt ({inputs.system.tokens:,} tokens) and the input "
            f"({inputs.incoming.tokens:,}) leave no room in a context of {inputs.budget:,} tokens; "
            "send less, or raise ACC_ACE_LIMITS__HISTORY_TOKENS"
        )
    return room


def context_of(
    inputs: MemoryInputs, earlier: Sequence[CountedMessage], *extra: CountedMessage
) -> MemoryContext:
    """System prompt, `extra` system messages, earlier messages, x_t."""
    chosen = [inputs.system, *extra, *earlier, inputs.incoming]
    return MemoryContext(
        messages=[counted.message for counted in chosen],
        tokens=sum(counted.tokens for counted in chosen),
        dropped=len(inputs.messages) - len(earlier),
    )


class EstimatedTokens:
    """A TokenCounter by estimate, without a call."""

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        """Each message with its estimate."""
        return [CountedMessage(message, estimate_message(message)) for message in messages]


class TokenCounter(Protocol):
    """Count messages before they are added to a context."""

    async def count(self, messages: Sequence[Message]) -> list[CountedMessage]:
        """Return each message with its token count, in order. Estimates if the model fails."""
        ...


def standing(
    name: str, value: object, *, at: datetime, said_by: Authority = Authority.AGENT
) -> CountedMessage:
    """A `system` message that holds `value` as a tagged block of quoted data.

    The role is a position in the request, not an authority: they came from users,
    tools and models, so they are data, with the authority of who wrote them down.
    """
    content = write_input(name, value)
    message = Message(
        id=f"system:{name}",
        timestamp=at,
        role=MessageRole.SYSTEM,
        content=content,
        authority=said_by,
    )
    return CountedMessage(message, estimate_tokens(content))


STATE = "state"
"""Name of the block that holds the state."""


class Acc:
    """The state alone, already updated with x_t: bounded whatever the session's length."""

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """Raises InputTooLargeError when prompt, state and x_t are over the budget."""
        # Its rules were pinned by the commit gate from the user's own words.
        block = standing(
            STATE,
            render_ccs(inputs.state),
            at=inputs.incoming.message.timestamp,
            said_by=Authority.SYSTEM,
        )
        room_for(inputs, block)
        return context_of(inputs, [], block)
