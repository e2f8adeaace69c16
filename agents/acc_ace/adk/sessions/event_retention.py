"""Retention of a session's old events: kept, deleted, or offloaded and deleted.

A bounded batch is cut at the start of each turn, so that no turn pays for the whole history. The
unit is an invocation, so a call is never cut from its result; one with a call that still waits for
a person stays, and so does one that may still be running: the message of the next turn is stored
before that turn can wait for it. Offloading comes before deleting and is idempotent: a crash in
between only repeats it.

A rewind deletes the events from the first one of the invocation that it names. ADK would keep them
and leave them out of each request, for which it needs all of the session's events.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from google.adk.events import Event

from acc_ace.adk.sessions.event_rows import (
    delete_events,
    events_of,
    note_all_calls,
    pending_tool_calls,
    read_all,
)
from acc_ace.adk.sessions.stored_state import own_changes, read_base
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.notes import without_notes
from acc_ace.core.schemas.session import PastTurn, Utterance
from acc_ace.errors import AccAceError
from acc_ace.storage.sql_rows import Rows

if TYPE_CHECKING:
    from acc_ace.adk.sessions.sql_sessions import SqlSessionService

_log = logging.getLogger(__name__)

CUT_EVENTS = 200
"""Events that one turn checks for deletion; a long history is cut in many turns."""

RUNS_S = 3_600.0
"""How long, in seconds, a turn without an answer may still be running."""

Offload = Callable[[SessionKey, Sequence[PastTurn]], Awaitable[object]]
"""Writes turns to long-term memory; idempotent."""


@dataclass(frozen=True)
class Retention:
    """Keep the newest `turns` turns (None: all); hand the others to `offload` before."""

    turns: int | None = None
    offload: Offload | None = None


async def cut(
    events: "SqlSessionService",
    key: SessionKey,
    retention: Retention,
    *,
    started: Event,
    is_stored: bool = True,
) -> None:
    """Delete a batch of events beyond the kept turns; on a failure the next turn retries.

    Spares the invocation that `started` opens, which counts even if it is not stored yet, and one
    that may still be running.
    """
    if retention.turns is None:
        return
    stored_turns = retention.turns if is_stored else retention.turns - 1
    try:
        old_events = await events.old_events(
            key, turns=stored_turns, limit=CUT_EVENTS, spare=started.invocation_id
        )
        turns = _turns(old_events).values()
        old = [each for turn in turns if not _may_run(turn, started.timestamp) for each in turn]
        if not old:
            return
        if retention.offload is not None:
            await retention.offload(key, past_turns(old))
        await events.delete_events(key, [event.id for event in old])
    except AccAceError as error:
        # The turn continues: nothing is lost, and the next one retries.
        _log.warning("events_not_cut session=%s code=%s: %s", key.session, error.code, error)


def past_turns(events: Sequence[Event]) -> list[PastTurn]:
    """Events grouped by turn, in the order in which the turns started."""
    return [_past_turn(name, turn) for name, turn in _turns(events).items()]


def _turns(events: Sequence[Event]) -> dict[str, list[Event]]:
    turns: dict[str, list[Event]] = {}
    for event in events:
        turns.setdefault(event.invocation_id or event.id, []).append(event)
    return turns


def _may_run(turn: Sequence[Event], now: float) -> bool:
    """Whether there is a user's message, and the last event is recent and not an answer."""
    own = [event for event in turn if event.content is not None or event.output is not None]
    if not any(event.author == "user" for event in own):
        return False
    return not pending_tool_calls(own[-1]).ends_invocation and abs(now - own[-1].timestamp) < RUNS_S


def _past_turn(name: str, events: Sequence[Event]) -> PastTurn:
    utterances = [utterance for event in events for utterance in _utterances(event)]
    at = datetime.fromtimestamp(events[0].timestamp, UTC)
    return PastTurn(invocation_id=name, at=at, said=utterances)


def _utterances(event: Event) -> list[Utterance]:
    parts = (event.content.parts if event.content else None) or []
    utterances: list[Utterance] = []
    notes = (event.custom_metadata or {}).get("acc_ace", {}).get("notes", ())
    for part in parts:
        if part.text and not part.thought:
            # The notes are no words of the agent.
            if text := without_notes(part.text, notes):
                utterances.append(Utterance(speaker=event.author, text=text))
        elif part.function_call is not None:
            call = part.function_call.model_dump_json(include={"name", "args"}, exclude_none=True)
            utterances.append(Utterance(speaker=event.author, text=f"called {call}"))
        elif part.function_response is not None:
            result = part.function_response.model_dump_json(
                include={"name", "response"}, exclude_none=True
            )
            utterances.append(Utterance(speaker="tool", text=result))
        elif attached := part.inline_data or part.file_data:
            kind = attached.mime_type or "file"
            utterances.append(Utterance(speaker=event.author, text=f"[{kind} attached]"))
    return utterances


def apply_rewind(rows: Rows, session: int, rewind: Event) -> None:
    """Delete the events that a rewind reverts, and put the state before them into its event.

    ADK computes that state from the events that the Runner has loaded. Of ours those are the
    newest few, so it would delete each key that was last written before them. A rewind to an
    invocation without stored events is left unchanged.
    """
    events = events_of(row.body for row in read_all(rows, session))
    invocations = [event.invocation_id for event in events]
    before = rewind.actions.rewind_before_invocation_id
    if before not in invocations:
        return
    begin = invocations.index(before)
    values = {**read_base(rows, session), **own_changes(events[:begin])}
    reverted = events[begin:]
    rewind.actions.state_delta = {name: values.get(name) for name in sorted(own_changes(reverted))}
    delete_events(rows, session, [event.id for event in reverted])
    note_all_calls(rows, session, events[:begin])
