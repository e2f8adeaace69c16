"""Session records as rows: what both databases do with them once they are read."""

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from core.adapters.json_codec import decode
from core.errors import CorruptStoreError
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey, Tenant

logger = logging.getLogger(__name__)

MOST_UNREADABLE: Final = 100
"""Rows that one page of idle sessions passes over before it ends."""

_MORE_ROWS: Final = 100
"""Rows that are read at a time behind those that could not be read."""

Idle = tuple[SessionKey, SessionRecord]

Row = tuple[str, str | bytes]
"""Session and body."""


def record_of(session: str, body: str | bytes) -> SessionRecord:
    """The record of a row; raises CorruptStoreError that names the session."""
    return decode(SessionRecord, body, what=f"record of session {session!r}")


def idle_of(app: str, rows: Iterable[tuple[str, str, str | bytes]], *, limit: int) -> list[Idle]:
    """The first `limit` readable sessions of rows (user, session, body); others are logged."""
    keyed = ((SessionKey(app, user, session), body) for user, session, body in rows)
    read = ((key, _readable(key, body)) for key, body in keyed)
    return list(islice(((key, record) for key, record in read if record), max(limit, 0)))


def page_of(
    tenant: Tenant, read: Callable[[int, int], Sequence[Row]], *, limit: int
) -> list[SessionRecord]:
    """The first `limit` readable sessions of rows; others are logged.

    `read` gives so many rows behind so many others. Only where rows end is a page shorter than
    `limit`: one of damaged rows alone would look like the last.
    """
    found: list[SessionRecord] = []
    passed, size = 0, max(limit, 0)
    while len(found) < limit and (rows := read(size, passed)):
        keyed = ((SessionKey(*tenant, session), body) for session, body in rows)
        found += filter(None, (_readable(key, body) for key, body in keyed))
        if len(rows) < size:
            break
        passed, size = passed + size, _MORE_ROWS
    return found[: max(limit, 0)]


def place_of(after: Idle | None) -> tuple[float, str, str]:
    """Where the page behind a session begins, in the order of rows: time, user, session."""
    if after is None:
        return (-1.0, "", "")
    key, record = after
    return (record.active_at.timestamp(), key.user, key.session)


def _readable(key: SessionKey, body: str | bytes) -> SessionRecord | None:
    try:
        return record_of(key.session, body)
    except CorruptStoreError as error:
        logger.error("session_unreadable user=%r session=%r: %s", key.user, key.session, error)
        return None
