"""The state that a rewind of ADK's brings, read from all of a session.

ADK compares with the events that the Runner has loaded. Of ours those are the newest few: it would
delete every key of the state that was last written before them.
"""

from collections.abc import Sequence

from google.adk.events import Event
from google.adk.sessions import Session

from core.adapters.base_state import own_changes
from core.adapters.bounded_sessions import BoundedSessions
from schemas.tenancy import SessionKey


async def rewound_events(
    sessions: BoundedSessions, session: Session, event: Event
) -> Sequence[Event]:
    """All events before a rewind; none if it is no rewind, or the turn that it names is gone.

    The state that a rewind brings becomes what the turns that it takes back changed, as it was
    before them.
    """
    before = event.actions.rewind_before_invocation_id
    if not before:
        return ()
    whole = await sessions.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id
    )
    events = whole.events if whole is not None else []
    names = [each.invocation_id for each in events]
    if before not in names:
        return ()
    begun = names.index(before)
    key = SessionKey(session.app_name, session.user_id, session.id)
    held = {**await sessions.base_state(key), **own_changes(events[:begun])}
    changed = own_changes(events[begun:])
    event.actions.state_delta = {name: held.get(name) for name in sorted(changed)}
    return events
