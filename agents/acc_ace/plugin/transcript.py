"""Keep earlier turns out of sight while a turn runs.

ADK builds requests from `session.events`: trimmed to the running invocation, no processor, agent
or remote service can put the transcript into one. Nothing is deleted; the events are only absent
from the session object of this run.
"""

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.sessions import Session

from acc_ace.plugin.arriving import turn_events
from core.errors import MemoryBypassedError


class Transcript:
    """The earlier events of one run's session: hidden while agents work, shown to others."""

    def __init__(self, ctx: InvocationContext) -> None:
        self._ctx = ctx
        self._earlier: list[Event] = []

    def hide(self) -> None:
        """Leave only this invocation's events in the session object."""
        session: Session = self._ctx.session
        mine = {id(event) for event in turn_events(self._ctx)}
        earlier = [event for event in session.events if _is_foreign(event, mine)]
        if earlier:
            self._earlier.extend(earlier)
            session.events = [event for event in session.events if not _is_foreign(event, mine)]

    def show(self) -> None:
        """Put the earlier events back, for callbacks and compaction after the agents."""
        if self._earlier:
            self._ctx.session.events = [*self._earlier, *self._ctx.session.events]
            self._earlier = []

    def check(self) -> None:
        """Raise MemoryBypassedError when earlier turns are in sight of the agents."""
        mine = {id(event) for event in turn_events(self._ctx)}
        if any(_is_foreign(event, mine) for event in self._ctx.session.events):
            raise MemoryBypassedError(
                f"session '{self._ctx.session.id}' shows earlier turns to the agent; something "
                "reloaded its events during the turn. No request was sent"
            )


def _is_foreign(event: Event, mine: set[int]) -> bool:
    # ADK hands a workflow node its input in an event without an invocation id.
    return bool(event.invocation_id) and id(event) not in mine
