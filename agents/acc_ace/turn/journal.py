"""The journal: every committed CCS of a session, with its diff. The authority on state.

Every store applies the same checks before it appends an entry.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.commit import JournalEntry
from acc_ace.errors import ConflictError, CorruptStoreError, StoreError
from acc_ace.unit_of_work import Write


class Journal(Protocol):
    """Append-only log of states, but for what is erased.

    Raises StoreError when it cannot be read or written.
    """

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

    def rewrite_write(self, key: SessionKey, entries: Sequence[JournalEntry]) -> Write:
        """Replace entries by their version: what was erased stands in no version any more."""
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
