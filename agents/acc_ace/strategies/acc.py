"""ACC: the compressed cognitive state instead of messages."""

from acc_ace.schemas.authority import Authority
from acc_ace.schemas.memory import MemoryContext, MemoryInputs
from acc_ace.strategies.context_window import context_of, room_for
from acc_ace.strategies.standing_messages import standing
from acc_ace.text.ccs_text import render_ccs

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
