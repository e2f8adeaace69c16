"""What becomes of the old events of a session: kept, deleted, or offloaded and deleted.

Done a little at a time, at the start of each turn, so that no turn pays for the whole past. The
unit is an invocation, so a call is never cut from its result; one with a call that still waits for
a person stays, and so does one that may still be running: the words of the next turn are stored
before that turn can wait for it. Offloading comes before deleting and can be repeated: a crash in
between makes it run again and changes nothing.

A rewind deletes what was stored since the first event of the invocation that it names. ADK would
keep it and leave it out of each request, for which it needs all of the session's events.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from google.adk.events import Event

from acc_ace.adk.sessions.event_rows import (
    delete_events,
    note_all_calls,
    pending_tool_calls,
    read_all,
)
from acc_ace.adk.sessions.stored_state import own_changes, read_base
from acc_ace.errors import AccAceError
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.session import PastTurn, Utterance
from acc_ace.storage.sql_rows import Rows

_log = logging.getLogger(__name__)

CUT_EVENTS = 200
"""Events that one turn looks at for deletion; a long past is cut in many turns."""

RUNS_S = 3_600.0
"""How long a turn without an answer may be running; after that it was given up."""

Offload = Callable[[SessionKey, Sequence[PastTurn]], Awaitable[None]]
"""Writes turns to long-term memory; the same ones again change nothing."""


@dataclass(frozen=True)
class Retention:
    """Keep the newest `turns` turns (None: all); hand the others to `offload` before."""

    turns: int | None = None
    offload: Offload | None = None


@runtime_checkable
class OldEvents(Protocol):
    """The stored events of sessions. Raises StoreError."""

    async def old_events(
        self, key: SessionKey, *, turns: int, limit: int, spare: str = ""
    ) -> list[Event]:
        """Whole invocations beyond the newest `turns` that nobody waits for, oldest first.

        The newest are those stored last, whatever a clock said. Never the invocation `spare`.
        About `limit` events; a longer invocation comes whole.
        """
        ...

    async def delete_events(self, key: SessionKey, events: Sequence[str]) -> None:
        """Delete events by id; those that are gone are no error."""
        ...


async def cut(
    events: OldEvents,
    key: SessionKey,
    retention: Retention,
    *,
    started: Event,
    is_stored: bool = True,
) -> None:
    """Delete some of what is beyond the kept turns; a failure leaves it for the next turn.

    Nothing is deleted of the invocation that `started` begins, which counts also when it is not
    stored yet, nor of one that may still be running.
    """
    if retention.turns is None:
        return
    stored_turns = retention.turns if is_stored else retention.turns - 1
    try:
        found = await events.old_events(
            key, turns=stored_turns, limit=CUT_EVENTS, spare=started.invocation_id
        )
        turns = _turns(found).values()
        old = [each for turn in turns if not _may_run(turn, started.timestamp) for each in turn]
        if not old:
            return
        if retention.offload is not None:
            await retention.offload(key, past_turns(old))
        await events.delete_events(key, [event.id for event in old])
    except AccAceError as error:
        # The turn goes on: nothing is lost, and the next one tries again.
        _log.warning("events_not_cut session=%s code=%s: %s", key.session, error.code, error)


def past_turns(events: Sequence[Event]) -> list[PastTurn]:
    """Events as the turns they belong to, in the order in which they began."""
    return [_past_turn(name, turn) for name, turn in _turns(events).items()]


def _turns(events: Sequence[Event]) -> dict[str, list[Event]]:
    turns: dict[str, list[Event]] = {}
    for event in events:
        turns.setdefault(event.invocation_id or event.id, []).append(event)
    return turns


def _may_run(turn: Sequence[Event], now: float) -> bool:
    """Whether somebody has asked lately, and the last word is not yet an answer."""
    said = [event for event in turn if event.content is not None or event.output is not None]
    if not any(event.author == "user" for event in said):
        return False
    return (
        not pending_tool_calls(said[-1]).ends_invocation and abs(now - said[-1].timestamp) < RUNS_S
    )


def _past_turn(name: str, events: Sequence[Event]) -> PastTurn:
    said = [utterance for event in events for utterance in _utterances(event)]
    at = datetime.fromtimestamp(events[0].timestamp, UTC)
    return PastTurn(invocation_id=name, at=at, said=said)


def _utterances(event: Event) -> list[Utterance]:
    parts = (event.content.parts if event.content else None) or []
    said: list[Utterance] = []
    for part in parts:
        if part.text and not part.thought:
            said.append(Utterance(speaker=event.author, text=part.text))
        elif part.function_call is not None:
            call = part.function_call.model_dump_json(include={"name", "args"}, exclude_none=True)
            said.append(Utterance(speaker=event.author, text=f"called {call}"))
        elif part.function_response is not None:
            result = part.function_response.model_dump_json(
                include={"name", "response"}, exclude_none=True
            )
            said.append(Utterance(speaker="tool", text=result))
        elif attached := part.inline_data or part.file_data:
            kind = attached.mime_type or "file"
            said.append(Utterance(speaker=event.author, text=f"[{kind} attached]"))
    return said


def apply_rewind(rows: Rows, session: int, rewind: Event) -> None:
    """Delete what a rewind takes back, and let the rewind bring back the state from before that.

    ADK works the state out from the events that the Runner has loaded. Of ours those are the
    newest few, so it would delete each key that was last written before them. A rewind that names
    an invocation of which nothing is stored stays as it is.
    """
    events = [Event.model_validate_json(row.body) for row in read_all(rows, session)]
    invocations = [event.invocation_id for event in events]
    before = rewind.actions.rewind_before_invocation_id
    if before not in invocations:
        return
    begin = invocations.index(before)
    held = {**read_base(rows, session), **own_changes(events[:begin])}
    taken_back = events[begin:]
    rewind.actions.state_delta = {name: held.get(name) for name in sorted(own_changes(taken_back))}
    delete_events(rows, session, [event.id for event in taken_back])
    note_all_calls(rows, session, events[:begin])
