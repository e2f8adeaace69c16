"""Put a context together and check its size before anything is added to it."""

from collections.abc import Sequence

from acc_ace.errors import InputTooLargeError
from acc_ace.schemas.memory import CountedMessage, MemoryContext, MemoryInputs


def room_for(inputs: MemoryInputs, *extra: CountedMessage) -> int:
    """Tokens left for earlier messages beside the system prompt, x_t and `extra`.

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
