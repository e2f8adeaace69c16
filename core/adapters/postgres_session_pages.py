"""ADK's sessions of a user in PostgreSQL, page by page."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from core.adapters.postgres_database import PostgresDatabase
from core.adapters.session_pages import HeldEvent, HeldSession, Place
from schemas.tenancy import SessionKey, Tenant

_SESSIONS = b"""
    SELECT session, created_at, updated_at,
           (SELECT json_object_agg(key, value) FROM session_state AS own
             WHERE (own.app, own.user_id, own.session)
                 = (sessions.app, sessions.user_id, sessions.session))
      FROM sessions WHERE app = %s AND user_id = %s AND session > %s
     ORDER BY session LIMIT %s
"""
_EVENTS = b"""
    SELECT happened_at, seq, body FROM events
     WHERE app = %s AND user_id = %s AND session = %s AND (happened_at, seq) > (%s, %s)
     ORDER BY happened_at, seq LIMIT %s
"""


class PostgresSessionPages:
    """SessionPages of the schema, which is searched for users by another scan."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def apps(self, user: str) -> set[str]:
        """None: the scan of the schema finds them."""
        return set()

    async def sessions(
        self, tenant: Tenant, *, limit: int, after: str | None
    ) -> Sequence[HeldSession]:
        """A page of sessions by name."""
        values = (*tenant, after or "", limit)
        rows = await self._database.read(
            lambda connection: connection.execute(_SESSIONS, values).fetchall()
        )
        return [
            HeldSession(name, begun, active, _decoded(state)) for name, begun, active, state in rows
        ]

    async def events(
        self, key: SessionKey, *, limit: int, after: Place | None
    ) -> Sequence[HeldEvent]:
        """A page of events, oldest first."""
        values = (*key, *(after or (float("-inf"), 0)), limit)
        rows = await self._database.read(
            lambda connection: connection.execute(_EVENTS, values).fetchall()
        )
        return [HeldEvent((at, seq), json.loads(body)) for at, seq, body in rows]


def _decoded(state: Mapping[str, str] | None) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in (state or {}).items()}
