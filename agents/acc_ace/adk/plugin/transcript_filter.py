"""Keep earlier turns out of sight while a turn runs.

ADK builds requests from `session.events`: trimmed to the running invocation, no processor, agent
or remote service can put the transcript into one. Nothing is deleted; the events are only absent
from the session object of this run.

What the session held when the turn was opened is earlier unless it is of this invocation, whatever
its id says: events that a client seeded have none. ADK itself adds events without an id while a
turn runs, the inputs of workflow nodes; those stand behind all that the turn was opened with.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.sessions import Session

from acc_ace.adk.plugin.turn_trigger import turn_events
from acc_ace.errors import MemoryBypassedError


class Transcript:
    """The earlier events of one run's session: hidden while agents work, shown to others."""

    def __init__(self, ctx: InvocationContext) -> None:
        """Made when the turn opens: only what comes later can be of it without saying so."""
        self._ctx = ctx
        self._earlier: list[Event] = []
        own = turn_events(ctx)
        self._opened_by = own[-1].id if own else ""
        self._known = {event.id for event in ctx.session.events} - {event.id for event in own}

    def hide(self) -> None:
        """Leave only this invocation's events in the session object."""
        session: Session = self._ctx.session
        foreign = self._foreign()
        if foreign:
            kept = {event.id for event in self._earlier}
            self._earlier.extend(event for event in foreign if event.id not in kept)
            hidden = {id(event) for event in foreign}
            session.events = [event for event in session.events if id(event) not in hidden]

    def show(self) -> None:
        """Put the earlier events back, for callbacks and compaction after the agents."""
        if self._earlier:
            self._ctx.session.events = [*self._earlier, *self._ctx.session.events]
            self._earlier = []

    def check(self) -> None:
        """Raise MemoryBypassedError when earlier turns are in sight of the agents."""
        if self._foreign():
            raise MemoryBypassedError(
                f"session '{self._ctx.session.id}' shows earlier turns to the agent; something "
                "reloaded its events during the turn. No request was sent"
            )

    def events(self) -> Iterator[Event]:
        """All events of the session that were loaded, those that are hidden included."""
        return chain(self._earlier, self._ctx.session.events)

    def _foreign(self) -> Sequence[Event]:
        """The events in sight that are not of this turn.

        What was reloaded are other objects, and may be more than what was loaded at first; ids and
        order stay. Without the event that opened the turn nothing tells late events from seeded
        ones, and none passes.
        """
        events, mine = self._ctx.session.events, self._ctx.invocation_id
        opened = next(
            (at for at, event in enumerate(events) if event.id == self._opened_by), len(events)
        )
        return [
            event
            for at, event in enumerate(events)
            if event.invocation_id != mine
            and (event.invocation_id or at < opened or event.id in self._known)
        ]
