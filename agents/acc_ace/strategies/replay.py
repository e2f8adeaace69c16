"""Replay: the whole transcript, every time. What most agents do until they cannot."""

from acc_ace.errors import InputTooLargeError
from acc_ace.schemas.memory import MemoryContext, MemoryInputs
from acc_ace.strategies.context_window import context_of, room_for
from acc_ace.strategies.message_units import flat, units


class Replay:
    """Nothing is dropped; a transcript beyond the budget is an error, never silently cut."""

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """Raises InputTooLargeError when the transcript does not fit."""
        messages = flat(units(inputs.messages))
        needed = sum(counted.tokens for counted in messages)
        if inputs.more or needed > room_for(inputs):
            size = f"{needed:,} tokens{' and more' if inputs.more else ''}"
            raise InputTooLargeError(
                f"memory 'replay': the transcript has {size}, the whole context may "
                f"have {inputs.budget:,} (ACC_ACE_LIMITS__REPLAY_TOKENS); choose another strategy "
                "(acc, window, summary, retrieval) or start a new session"
            )
        return context_of(inputs, messages)
