"""Ids of tool calls that no two calls share, whatever ids a model gives."""

from collections.abc import Iterable
from uuid import uuid4

from google.adk.events import Event
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.turn_record import TurnRecord


def keep_calls_apart(response: LlmResponse, record: TurnRecord, earlier: Iterable[Event]) -> None:
    """Give the calls of a reply other ids where theirs are taken.

    ADK, evidence and most models tell results apart by the id of the call alone. Taken are the ids
    of this turn, of the messages that the model is shown, and of `earlier` events, where a call
    may still wait for a person. A call without an id gets one of its own from ADK.
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
    fresh = f"call_{uuid4().hex}" if name in taken else name
    taken.add(fresh)
    if fresh == name:
        return part
    return part.model_copy(update={"function_call": call.model_copy(update={"id": fresh})})


def _shown(record: TurnRecord) -> set[str]:
    messages = record.context.messages if record.context else []
    return {call.id for message in messages for call in message.tool_calls}


def _id(part: types.Part) -> str:
    return (part.function_call.id if part.function_call else None) or ""
