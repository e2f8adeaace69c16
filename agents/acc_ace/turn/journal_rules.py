"""What a journal checks before it appends, whatever it is kept in."""

from collections.abc import Callable

from acc_ace.errors import ConflictError, CorruptStoreError, StoreError
from acc_ace.schemas.commit import JournalEntry
from acc_ace.schemas.tenancy import SessionKey


def check_next_version(key: SessionKey, entry: JournalEntry, expected_version: int) -> None:
    """Raise StoreError unless the entry is the one that follows `expected_version`."""
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
    newest version only when rows were lost or deleted by hand: CorruptStoreError. Otherwise another
    turn committed first: ConflictError.
    """
    if newest == expected_version:
        return
    last = last_entry()
    if last != newest:
        raise CorruptStoreError(
            f"journal of session {key.session!r} is damaged: its head is at version {newest}, its "
            f"last entry is version {last}; repeating the turn will not help. Restore the database "
            "from a copy, or delete the session and begin a new one"
        )
    raise ConflictError(
        f"journal of session {key.session!r} is at version {newest}, not {expected_version}: "
        "another turn committed first; reload the state and repeat the turn"
    )
