"""Ids of tool calls that no two calls share, whatever ids a model gives."""

import re
from collections.abc import Iterable
from random import SystemRandom
from typing import Final
from uuid import uuid4

from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.turn.turn_record import TurnRecord

_COUNTED: Final = re.compile(r"((?:.*[^0-9A-Za-z])?)[0-9]{1,6}", re.DOTALL)
"""Ids that a model counts, as in 'call_0': it begins anew with each reply or conversation."""

_NUMBERS: Final = 10**18
"""Of so many numbers one is drawn in place of a counted one."""


def keep_calls_apart(
    response: LlmResponse, record: TurnRecord, ctx: CallbackContext, earlier: Iterable[Event]
) -> None:
    """Give the calls of a reply other ids where theirs are taken, or only counted.

    ADK, evidence and most models tell results apart by the id of the call alone. Taken are the ids
    of this turn, of the messages that the model is shown, and of `earlier` events, where a call
    may still wait for a person. Older events are not at hand, and a person's answer to one of
    their calls, sent again, must not be taken for consent to another one: so a counted id is
    always replaced. What stands before the number stays, because some models name the function
    there and nowhere else. A call has the same id in every part of a reply that is streamed, and
    in the whole of it. A call without an id gets one of its own from ADK.
    """
    parts = (response.content.parts if response.content else None) or []
    # Agents may work side by side in one turn.
    speaker = (ctx.invocation_id, ctx.agent_name)
    streamed = record.streamed_ids.setdefault(speaker, {})
    if response.content is not None and any(_id(part) for part in parts):
        _note_taken(record, earlier)
        own = [_own(part, record.call_ids, streamed, partial=response.partial) for part in parts]
        # A copy: the model may keep what it answered.
        response.content = response.content.model_copy(update={"parts": own})
    if not response.partial:
        del record.streamed_ids[speaker]


def _note_taken(record: TurnRecord, earlier: Iterable[Event]) -> None:
    taken = record.call_ids
    if not taken:
        messages = record.context.messages if record.context else []
        taken |= {call.id for message in messages for call in message.tool_calls}
        taken |= {call.id or "" for e in earlier for call in e.get_function_calls()}
    taken |= {call.id for call in record.tool_calls}


def _own(
    part: types.Part, taken: set[str], streamed: dict[str, str], *, partial: bool | None
) -> types.Part:
    call, name = part.function_call, _id(part)
    if call is None or not name:
        return part
    own = streamed.get(name) if partial else streamed.pop(name, None)
    if own is None:
        own = _free(name, taken)
        taken.add(own)
    if partial:
        streamed[name] = own
    if own == name:
        return part
    return part.model_copy(update={"function_call": call.model_copy(update={"id": own})})


def _free(name: str, taken: set[str]) -> str:
    """The id itself when it is nobody's, or another one like it."""
    if counted := _COUNTED.fullmatch(name):
        return f"{counted[1]}{SystemRandom().randrange(_NUMBERS // 10, _NUMBERS)}"
    return f"call_{uuid4().hex}" if name in taken else name


def _id(part: types.Part) -> str:
    return (part.function_call.id if part.function_call else None) or ""
