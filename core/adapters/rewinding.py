"""What a rewind of ADK's takes back, read from all of a session.

ADK compares with the events that the Runner has loaded. Of ours those are the newest few: it would
delete every key of the state that was last written before them.
"""

from google.adk.events import Event
from google.adk.sessions import Session, State

from core.adapters.bounded_sessions import BoundedSessions
from core.adapters.rewound_calls import RewoundCalls, rewound_calls
from schemas.state import PERSISTED

_ELSEWHERE = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)


async def rewound_turns(sessions: BoundedSessions, session: Session, event: Event) -> RewoundCalls:
    """What an event changes about the calls that wait; nothing if it is no rewind.

    The state that a rewind brings becomes what the turns that it takes back changed, as it was
    before them.
    """
    before = event.actions.rewind_before_invocation_id
    if not before:
        return RewoundCalls()
    whole = await sessions.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id
    )
    events = whole.events if whole is not None else []
    names = [each.invocation_id for each in events]
    if before not in names:
        return RewoundCalls()
    begun = names.index(before)
    held = {key: v for each in events[:begun] for key, v in each.actions.state_delta.items()}
    changed = {key for each in events[begun:] for key in each.actions.state_delta}
    event.actions.state_delta = {
        key: held.get(key)
        for key in sorted(changed)
        if not key.startswith(_ELSEWHERE) and key not in PERSISTED
    }
    return rewound_calls(events, event)
