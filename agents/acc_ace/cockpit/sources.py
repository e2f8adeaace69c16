"""Sources of timeline events: a session's journal, a playbook's log, a user's sessions, a run.

Each is an append-only sequence with a position `n` that only grows, read from where it is stored.
So a client is nothing but a position: whoever reconnects, to any server, reads on from there.
"""

import asyncio
import json
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol
from urllib.parse import quote, unquote

from acc_ace.container import Container
from acc_ace.errors import InputError, NotFoundError
from acc_ace.schemas.base import PlaybookScope, SessionKey, Tenant, Value
from acc_ace.schemas.commit import CommitKind, JournalEntry

_PAGE: Final = 100
_STRIDE: Final = 200
MOST_BEHIND: Final = 1_000
_TURNS: Final = (CommitKind.COMMIT, CommitKind.KEPT)
_PRIVATE: Final[dict[str, bool | dict[str, bool]]] = {
    **dict.fromkeys(("user", "session", "proposed", "operation", "rationale"), True),
    **{bullet: {"origin": True} for bullet in ("before", "after")},
}
PLAYBOOK: Final = "@playbook"
RUN: Final = "@run"


class TimelineEvent(Value):
    """One event: what happened where, at which position of its source."""

    session: str
    turn: int
    n: int
    kind: str
    data: dict[str, Any]

    @property
    def id(self) -> str:
        """(session, turn, n) as one token, for Last-Event-ID."""
        return f"{quote(self.session, safe='')}/{self.turn}/{self.n}"


def position_of(event_id: str) -> tuple[str, int]:
    """Session and position of an event's id; raises InputError for any other text."""
    session, _, rest = event_id.partition("/")
    turn, _, n = rest.partition("/")
    if not (turn.isdecimal() and n.isdecimal() and len(n) <= 18):
        raise InputError(f"no event id: {event_id[:80]!r}; an id is session/turn/n")
    return unquote(session), int(n)


class Source(Protocol):
    """A sequence of events. Every method raises StoreError, NotFoundError when it is gone."""

    most_behind: int
    """Positions that a client may be behind; further ones are a gap, and its page is read again."""

    async def newest(self) -> int:
        """The position of the newest event, 0 before the first."""
        ...

    async def after(self, n: int, *, limit: int = _PAGE) -> Sequence[TimelineEvent]:
        """Up to `limit` events after a position, oldest first."""
        ...


class SessionSource:
    """The journal of a session; `n` is the version of its state."""

    most_behind = MOST_BEHIND

    def __init__(self, container: Container, key: SessionKey) -> None:
        self._container, self._key = container, key

    async def newest(self) -> int:
        """The version of the newest entry."""
        head = await self._container.journal.head(self._key)
        if head is None:
            raise NotFoundError(f"no session '{self._key.session}' of this user")
        return head.state.version

    async def after(self, n: int, *, limit: int = _PAGE) -> Sequence[TimelineEvent]:
        """Entries after a version; a turn's come with its input and answer."""
        journal = self._container.journal
        entries = await journal.history(self._key, limit=limit, before_version=n + limit + 1)
        fresh = [entry for entry in entries if entry.state.version > n]
        return [await self._event(entry) for entry in reversed(fresh)]

    async def _event(self, entry: JournalEntry) -> TimelineEvent:
        state = entry.state
        data = {
            "version": state.version,
            "commit": entry.kind,
            "at": entry.created_at.isoformat(),
            "diff": entry.diff.model_dump(mode="json"),
            "warnings": list(entry.warnings),
        }
        if entry.kind in _TURNS and entry.invocation_id:
            kept = await self._container.evidence.find(self._key, entry.invocation_id)
            if kept is not None:
                shown = {"input", "decision", "outcome", "models", "playbook_version"}
                data |= kept.model_dump(mode="json", include=shown)
        kind = "turn" if entry.kind in _TURNS else "state"
        return TimelineEvent(
            session=self._key.session, turn=state.turn, n=state.version, kind=kind, data=data
        )


class PlaybookSource:
    """The delta log of a playbook; `n` is the position of a record in it."""

    most_behind = MOST_BEHIND

    def __init__(self, container: Container, scope: PlaybookScope) -> None:
        self._store, self._scope = container.playbooks, scope

    async def newest(self) -> int:
        """The position of the newest record."""
        records = await self._store.deltas(self._scope, limit=1)
        return records[0].seq if records else 0

    async def after(self, n: int, *, limit: int = _PAGE) -> Sequence[TimelineEvent]:
        """Records after a position, without who taught them, why, and what was not applied."""
        records = await self._store.deltas(self._scope, limit=limit, before=n + limit + 1)
        return [
            TimelineEvent(
                session=PLAYBOOK,
                turn=record.version,
                n=record.seq,
                kind="delta",
                data=record.model_dump(mode="json", exclude=_PRIVATE),
            )
            for record in reversed(records)
            if record.seq > n
        ]


class TenantSource:
    """The newest change of each of a user's sessions; `n` is its time in microseconds.

    These are notices to read a list again: one session's notice replaces its last one.
    """

    most_behind = 2**62

    def __init__(self, container: Container, tenant: Tenant) -> None:
        self._journal, self._tenant = container.journal, tenant

    async def newest(self) -> int:
        """The time of the newest change."""
        heads = await self._journal.sessions(self._tenant, limit=1)
        return _micros(heads[0][1]) if heads else 0

    async def after(self, n: int, *, limit: int = _PAGE) -> Sequence[TimelineEvent]:
        """Sessions changed after a time."""
        heads = await self._journal.sessions(self._tenant, limit=limit)
        fresh = takewhile(lambda head: _micros(head[1]) > n, heads)
        return [
            TimelineEvent(
                session=session,
                turn=entry.state.turn,
                n=_micros(entry),
                kind="session",
                data={"version": entry.state.version, "gist": entry.state.ccs.semantic_gist},
            )
            for session, entry in reversed([*fresh])
        ]


def _micros(entry: JournalEntry) -> int:
    return int(entry.created_at.timestamp() * 1_000_000)


class RunSource:
    """The snapshots of a survivor's run, from its JSONL file; `n` is the number of the line."""

    most_behind = MOST_BEHIND

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends = [0]
        """Offsets of the ends of every _STRIDE lines, from the start of the file."""
        self._lines, self._offset = 0, 0

    async def newest(self) -> int:
        """The number of the last whole line. Raises NotFoundError without the file."""
        return await asyncio.to_thread(self._count)

    async def after(self, n: int, *, limit: int = _PAGE) -> Sequence[TimelineEvent]:
        """Snapshots after a line; a line that is no snapshot is a warning."""
        return await asyncio.to_thread(self._read, n, limit)

    def _count(self) -> int:
        with self._open() as file:
            if file.seek(0, 2) < self._offset:  # Another file took its place.
                self._ends, self._lines, self._offset = [0], 0, 0
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._lines, self._offset = self._lines + 1, self._offset + len(line)
                if not self._lines % _STRIDE:
                    self._ends.append(self._offset)
        return self._lines

    def _read(self, n: int, limit: int) -> list[TimelineEvent]:
        block = min(n // _STRIDE, len(self._ends) - 1)
        found: list[TimelineEvent] = []
        with self._open() as file:
            file.seek(self._ends[block])
            for number, line in enumerate(file, start=block * _STRIDE + 1):
                if not line.endswith(b"\n") or len(found) == limit:
                    break
                if number > n:
                    found.append(self._event(number, line))
        return found

    def _event(self, number: int, line: bytes) -> TimelineEvent:
        try:
            data: dict[str, Any] = json.loads(line)
            tick, kind = int(data["tick"]), "tick"
        except (ValueError, KeyError, TypeError):
            data, tick, kind = {"warning": f"line {number} of the run is no snapshot"}, 0, "warning"
        return TimelineEvent(
            session=f"{RUN}:{self._path.stem}", turn=tick, n=number, kind=kind, data=data
        )

    def _open(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise NotFoundError(f"no run '{self._path.stem}'") from error
