"""The journal: every committed CCS of a session, with its diff. The authority on state.

Every store applies the same checks before it appends an entry; the commit gate's invariants can be
verified from the entries alone.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.commit import CcsDiff, CommitKind, CommittedState, JournalEntry
from acc_ace.errors import ConflictError, CorruptStoreError, StoreError
from acc_ace.unit_of_work import Write


class Journal(Protocol):
    """Append-only log of states. Raises StoreError when it cannot be read or written."""

    async def head(self, key: SessionKey) -> JournalEntry | None:
        """Return the newest entry, or None before the first commit."""
        ...

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        """Append by compare-and-swap. `entry.state.version` must be `expected_version + 1`.

        Raises ConflictError when the newest version is not `expected_version` (0 = none yet).
        """
        ...

    def append_write(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> Write:
        """`append` as the first part of a unit of work.

        If the entry was committed already, the rest of the unit is skipped.
        """
        ...

    async def get(self, key: SessionKey, version: int) -> JournalEntry | None:
        """Return the entry of a version, or None."""
        ...

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """Return a page of entries, newest first, at most `limit`."""
        ...

    async def sessions(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """Return a page of (session, newest entry), most recently changed first.

        `before` is the last session id of the previous page.
        """
        ...

    async def sessions_of_app(
        self, app: str, *, limit: int = 50
    ) -> Sequence[tuple[SessionKey, JournalEntry]]:
        """Return the most recently changed sessions of all users of an app, the latest first."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's entries (of one session); return how many."""
        ...


def check_next_version(key: SessionKey, entry: JournalEntry, expected_version: int) -> None:
    """Raise StoreError unless the entry's version follows `expected_version`."""
    if entry.state.version != expected_version + 1:
        raise StoreError(
            f"journal of session {key.session!r}: an entry of version {entry.state.version} cannot "
            f"follow version {expected_version}; build the state from the head"
        )


def check_expected_version(
    key: SessionKey, newest: int, expected_version: int, *, last_entry: Callable[[], int]
) -> None:
    """Raise unless the newest version is the expected one.

    `last_entry` gives the version of the last entry itself (0 without one), which differs from the
    newest version only if rows were lost or deleted by hand: CorruptStoreError. Otherwise another
    turn committed first: ConflictError.
    """
    if newest == expected_version:
        return
    last = last_entry()
    if last != newest:
        raise CorruptStoreError(
            f"journal of session {key.session!r} is damaged: its head is at version {newest}, its "
            f"last entry is version {last}; a retry will not help. Restore the database "
            "from a copy, or delete the session and start a new one"
        )
    raise ConflictError(
        f"journal of session {key.session!r} is at version {newest}, not {expected_version}: "
        "another turn committed first; reload the state and repeat the turn"
    )


_FORWARD = (CommitKind.COMMIT, CommitKind.KEPT)


def journal_problems(entries: Sequence[JournalEntry]) -> list[str]:
    """Problems of a whole journal, oldest entry first; empty if it is consistent."""
    problems = [*_repeated_turns(entries), *_reused_ids(entries)]
    earlier = [CommittedState()]
    for entry in entries:
        problems += [f"version {entry.state.version}: {text}" for text in _broken(entry, earlier)]
        earlier.append(entry.state)
    return problems


def _broken(entry: JournalEntry, earlier: Sequence[CommittedState]) -> Iterator[str]:
    """Violated invariants of one entry; `earlier` are the states before it, CCS_0 first."""
    previous, state = earlier[-1], entry.state
    if state.version != previous.version + 1:
        yield f"follows version {previous.version}"
    if state.next_pin < previous.next_pin:
        yield "gives constraint ids a second time"
    if state.ccs.constraints != [pin.text for pin in state.pins]:
        yield "its constraints are not those of its pins"
    if entry.diff.changes != CcsDiff.between(previous, state).changes:
        yield "its diff is not what changed"
    if entry.kind in _FORWARD:
        if state.turn != previous.turn + 1:
            yield f"turn {state.turn} follows turn {previous.turn}"
        yield from _lost_constraints(entry, previous)
    elif entry.kind in {CommitKind.RULES, CommitKind.EDIT}:
        yield from _lost_constraints(entry, previous)
    elif not any(_same_content(state, other) for other in earlier):
        yield "restores a state that never existed"


def _lost_constraints(entry: JournalEntry, previous: CommittedState) -> Iterator[str]:
    pins = {pin.id: pin for pin in entry.state.pins}
    released = {release.id for release in entry.diff.constraints_released}
    for pin in previous.pins:
        if pin.id in released:
            if pin.id in pins:
                yield f"constraint {pin.id} was released and is still there"
        elif pin.id not in pins:
            yield f"constraint {pin.id} left without a release"
        elif pins[pin.id].text != pin.text:
            yield f"constraint {pin.id} was altered"


def _repeated_turns(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Turns that were committed more than once."""
    seen: set[str] = set()
    for entry in entries:
        if entry.kind not in _FORWARD or not entry.invocation_id:
            continue
        if entry.invocation_id in seen:
            yield f"version {entry.state.version}: its turn was committed before"
        seen.add(entry.invocation_id)


def _reused_ids(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Constraint ids that were used for different rules."""
    texts: dict[str, str] = {}
    for entry in entries:
        for pin in entry.state.pins:
            if texts.setdefault(pin.id, pin.text) != pin.text:
                yield f"version {entry.state.version}: constraint {pin.id} was another rule before"


def _same_content(state: CommittedState, other: CommittedState) -> bool:
    return (state.ccs, state.pins, state.goal_pin, state.turn) == (
        other.ccs,
        other.pins,
        other.goal_pin,
        other.turn,
    )
