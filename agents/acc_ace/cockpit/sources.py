"""Sources of timeline events: a session's journal, a playbook's log, a user's sessions, a run.

Each is a log with a position `n` that only grows, read from where it is stored.
So a client is nothing but a position: whoever reconnects, to any server, reads on from there.
"""

import asyncio
import json
import re
from array import array
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple
from urllib.parse import quote

from acc_ace.container import Container
from acc_ace.core.schemas.base import PlaybookScope, SessionKey, Tenant, Value
from acc_ace.core.schemas.commit import CommitKind, JournalEntry
from acc_ace.core.schemas.playbook import DeltaRecord
from acc_ace.errors import InputError, NotFoundError

MOST_BEHIND: Final = 1_000
_ID: Final = re.compile(r"[^/]*/\d+/(\d{1,18})", re.ASCII)
_TURNS: Final = (CommitKind.COMMIT, CommitKind.KEPT)
_PRIVATE: Final[dict[str, bool | dict[str, bool]]] = {
    **dict.fromkeys(("user", "session", "proposed", "operation", "rationale"), True),
    **{bullet: {"origin": True} for bullet in ("before", "after")},
}


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


def position_of(event_id: str) -> int:
    """The position in an event's id; raises InputError for any other text."""
    parts = _ID.fullmatch(event_id)
    if parts is None:
        raise InputError(f"no event id: {event_id[:80]!r}; an id is session/turn/n")
    return int(parts[1])


class Source(NamedTuple):
    """A log, as two functions; they raise StoreError, and NotFoundError when it is gone."""

    newest: Callable[[], Awaitable[int]]
    """The position of the newest event, 0 before the first."""
    after: Callable[[int, int], Awaitable[Sequence[TimelineEvent]]]
    """What comes after a position, oldest first, at most so many events."""
    most_behind: int = MOST_BEHIND
    """Positions that a client may be behind; further ones are a gap, and its page is read again."""


def session_source(container: Container, key: SessionKey) -> Source:
    """The journal of a session; `n` is the version of its state."""

    async def newest() -> int:
        head = await container.journal.head(key)
        if head is None:
            raise NotFoundError(f"no session '{key.session}' of this user")
        return head.state.version

    async def after(n: int, limit: int) -> Sequence[TimelineEvent]:
        entries = await container.journal.history(key, limit=limit, before_version=n + limit + 1)
        fresh = [entry for entry in reversed(entries) if entry.state.version > n]
        return [await _session_event(container, key, entry) for entry in fresh]

    return Source(newest, after)


async def _session_event(
    container: Container, key: SessionKey, entry: JournalEntry
) -> TimelineEvent:
    """A new version of the state; a turn's comes with its input and answer."""
    state, is_turn = entry.state, entry.kind in _TURNS
    data = {
        "version": state.version,
        "commit": entry.kind,
        "at": entry.created_at.isoformat(),
        "diff": entry.diff.model_dump(mode="json"),
        "warnings": list(entry.warnings),
    }
    if is_turn and (interaction := await container.evidence.find(key, entry.invocation_id)):
        shown = {"input", "decision", "outcome", "models", "playbook_version"}
        data |= interaction.model_dump(mode="json", include=shown)
    kind = "turn" if is_turn else "state"
    return TimelineEvent(
        session=key.session, turn=state.turn, n=state.version, kind=kind, data=data
    )


def playbook_source(container: Container, scope: PlaybookScope) -> Source:
    """The delta log of a playbook, without who taught it; `n` is the place of a record in it.

    All users of an app follow one log, so it has no text that nobody has confirmed.
    """

    async def newest() -> int:
        records = await container.playbooks.deltas(scope, limit=1)
        return records[0].seq if records else 0

    async def after(n: int, limit: int) -> Sequence[TimelineEvent]:
        records = await container.playbooks.deltas(scope, limit=limit, before=n + limit + 1)
        return [
            TimelineEvent(
                session="@playbook",
                turn=record.version,
                n=record.seq,
                kind="delta",
                data=_confirmed(record, scope).model_dump(mode="json", exclude=_PRIVATE),
            )
            for record in reversed(records)
            if record.seq > n
        ]

    return Source(newest, after)


def _confirmed(record: DeltaRecord, scope: PlaybookScope) -> DeltaRecord:
    bullets = {"before": record.before, "after": record.after}
    hidden = [name for name, bullet in bullets.items() if bullet and bullet.unconfirmed]
    return record if scope.user else record.model_copy(update=dict.fromkeys(hidden))


def tenant_source(container: Container, tenant: Tenant) -> Source:
    """The newest change of each of a user's sessions; `n` is its time in microseconds.

    These are notices to read a list again: one session's notice replaces its last one.
    """

    async def after(n: int, limit: int) -> Sequence[TimelineEvent]:
        heads = await container.journal.sessions(tenant, limit=limit)
        notices = [
            TimelineEvent(
                session=session,
                turn=entry.state.turn,
                n=int(entry.created_at.timestamp() * 1_000_000),
                kind="session",
                data={"version": entry.state.version, "gist": entry.state.ccs.semantic_gist},
            )
            for session, entry in reversed(heads)
        ]
        return [notice for notice in notices if notice.n > n]

    async def newest() -> int:
        notices = await after(0, 1)
        return notices[0].n if notices else 0

    return Source(newest, after, most_behind=2**62)


def run_source(path: Path) -> Source:
    """The snapshots of a survivor's run; `n` is the number of the line in its file."""
    file = _RunFile(path)

    async def newest() -> int:
        return await asyncio.to_thread(file.count)

    async def after(n: int, limit: int) -> Sequence[TimelineEvent]:
        return await asyncio.to_thread(file.read, n, limit)

    return Source(newest, after)


class _RunFile:
    """A file that grows by whole lines; where each ends is kept, so that no line is read twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends = array("Q", [0])

    def count(self) -> int:
        """The whole lines so far. Raises NotFoundError without the file."""
        with self._open() as file:
            if file.seek(0, 2) < self._ends[-1]:  # Another file took its place.
                self._ends = array("Q", [0])
            file.seek(self._ends[-1])
            for line in file:
                if line.endswith(b"\n"):
                    self._ends.append(self._ends[-1] + len(line))
        return len(self._ends) - 1

    def read(self, n: int, limit: int) -> list[TimelineEvent]:
        """The events after a line that was counted."""
        numbers = range(n + 1, min(n + limit + 1, len(self._ends)))
        with self._open() as file:
            file.seek(self._ends[n] if numbers else 0)
            return [self._event(number, file.readline()) for number in numbers]

    def _event(self, number: int, line: bytes) -> TimelineEvent:
        """A line that is no snapshot is a warning."""
        try:
            data: dict[str, Any] = json.loads(line)
            tick, kind = int(data["tick"]), "tick"
        except (ValueError, KeyError, TypeError):
            data, tick, kind = {"warning": f"line {number} of the run is no snapshot"}, 0, "warning"
        session = f"@run:{self._path.stem}"
        return TimelineEvent(session=session, turn=tick, n=number, kind=kind, data=data)

    def _open(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise NotFoundError(f"no run '{self._path.stem}'") from error
