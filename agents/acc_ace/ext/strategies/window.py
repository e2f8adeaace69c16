"""Replay and sliding window: the whole transcript, or the newest messages that fit."""

from collections.abc import Sequence

from acc_ace.errors import InputTooLargeError
from acc_ace.ext.strategies.memory import CountedMessage, MemoryContext, MemoryInputs
from acc_ace.ext.strategies.memory_strategy import context_of, room_for
from acc_ace.ext.strategies.message_units import Unit, flat, turns, units


class Window:
    """Drops the oldest turns; never the system prompt, never x_t, never half of a call."""

    def context(self, inputs: MemoryInputs) -> MemoryContext:
        """Raises InputTooLargeError when the system prompt and x_t alone are over the budget."""
        kept = newest(inputs.messages, room_for(inputs))
        return context_of(inputs, kept)


def newest(messages: Sequence[CountedMessage], room: int) -> list[CountedMessage]:
    """The newest messages within `room` tokens, in order: whole turns, as many as fit.

    Of a newest turn that is too long by itself, calls with their results are left out, oldest
    first, then what the user said; so the window never opens with a result.
    """
    kept: list[Unit] = []
    for turn in reversed(turns(units(messages))):
        cost = sum(unit.tokens for unit in turn)
        if cost > room:
            if not kept:
                kept = _rest_of_turn(turn, room)
            break
        kept = [*turn, *kept]
        room -= cost
    return flat(kept)


def _rest_of_turn(turn: list[Unit], room: int) -> list[Unit]:
    """As much of one turn as fits."""
    left = list(turn)
    for unit in [*filter(_has_calls, turn), *turn]:
        if sum(item.tokens for item in left) <= room:
            break
        if unit in left:
            left.remove(unit)
    return left


def _has_calls(unit: Unit) -> bool:
    return unit.has_calls


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
