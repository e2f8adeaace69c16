"""Ids of tool calls that no two calls share, whatever ids a model gives."""

import re
from collections.abc import Iterable
from typing import Final
from uuid import uuid4

from google.adk.events import Event
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.turn_record import TurnRecord

_COUNTED: Final = re.compile(r"(?:.*[^0-9A-Za-z])?[0-9]{1,6}", re.DOTALL)
"""Ids that a model counts, as in 'call_0': it begins anew with each reply or conversation."""


def keep_calls_apart(response: LlmResponse, record: TurnRecord, earlier: Iterable[Event]) -> None:
    """Give the calls of a reply other ids where theirs are taken, or only counted.

    ADK, evidence and most models tell results apart by the id of the call alone. Taken are the ids
    of this turn, of the messages that the model is shown, and of `earlier` events, where a call
    may still wait for a person. Older events are not at hand, and a person's answer to one of
    their calls, sent again, must not be taken for consent to another one: so a counted id is
    always replaced. A call without an id gets one of its own from ADK.
    """
    parts = (response.content.parts if response.content else None) or []
    if response.partial or response.content is None or not any(_id(part) for part in parts):
        return
    taken = record.call_ids
    if not taken:
        taken |= _shown(record) | {
            call.id or "" for e in earlier for call in e.get_function_calls()
        }
    taken |= {call.id for call in record.tool_calls}
    # A copy: the model may keep what it answered.
    own = [_own(part, taken) for part in parts]
    response.content = response.content.model_copy(update={"parts": own})


def _own(part: types.Part, taken: set[str]) -> types.Part:
    call, name = part.function_call, _id(part)
    if call is None or not name:
        return part
    is_own = name not in taken and not _COUNTED.fullmatch(name)
    fresh = name if is_own else f"call_{uuid4().hex}"
    taken.add(fresh)
    if fresh == name:
        return part
    return part.model_copy(update={"function_call": call.model_copy(update={"id": fresh})})


def _shown(record: TurnRecord) -> set[str]:
    messages = record.context.messages if record.context else []
    return {call.id for message in messages for call in message.tool_calls}


def _id(part: types.Part) -> str:
    return (part.function_call.id if part.function_call else None) or ""
