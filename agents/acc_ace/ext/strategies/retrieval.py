"""Retrieval: past messages that a search found, and the last turn as it was."""

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.text.prompt import quote_artifact
from acc_ace.ext.strategies.memory import CountedMessage, MemoryContext, MemoryInputs
from acc_ace.ext.strategies.memory_strategy import context_of, room_for, standing
from acc_ace.ext.strategies.message_units import Unit, flat, turns, units
from acc_ace.ext.strategies.window import newest

RECALLED = "recalled"
"""Name of the block that holds the passages."""

_PASSAGE_TOKENS = 500


class Retrieval:
    """The top k of a search as quoted data, worst left out first, and the last turn."""

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """Raises InputTooLargeError when the system prompt and x_t alone are over the budget."""
        room = room_for(inputs)
        last = newest(flat(_last_turn(inputs.messages)), room)
        room -= sum(counted.tokens for counted in last)
        shown = {counted.message.turn for counted in last}
        found = [item for item in inputs.recalled if not _is_shown(item, shown)]
        block = _block(found, inputs, room)
        return context_of(inputs, last, *([block] if block else []))


def _last_turn(messages: list[CountedMessage]) -> list[Unit]:
    found = turns(units(messages))
    return found[-1] if found else []


def _is_shown(artifact: Artifact, shown: set[int]) -> bool:
    """Whether an artifact only repeats a turn of this session whose messages are there."""
    prefix, _, number = artifact.artifact_id.rpartition(":")
    own = artifact.session is not None and prefix == f"turn:{artifact.session}"
    return own and number.isascii() and number.isdigit() and int(number) in shown


def _block(found: list[Artifact], inputs: MemoryInputs, room: int) -> CountedMessage | None:
    """As many of the best passages as fit into the room."""
    for count in range(len(found), 0, -1):
        quoted = [quote_artifact(item, max_tokens=_PASSAGE_TOKENS) for item in found[:count]]
        block = standing(RECALLED, quoted, at=inputs.incoming.message.timestamp)
        if block.tokens <= room:
            return block
    return None
