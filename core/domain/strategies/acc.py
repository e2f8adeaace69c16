"""ACC: the compressed cognitive state instead of messages."""

from core.domain.rendering import render_ccs
from core.domain.strategies.context import context_of, room_for
from core.domain.strategies.standing import standing
from schemas.authority import Authority
from schemas.memory import MemoryContext, MemoryInputs

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
