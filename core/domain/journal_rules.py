"""What a journal checks before it appends, whatever it is kept in."""

from core.errors import ConflictError, StoreError
from schemas.commit import JournalEntry
from schemas.tenancy import SessionKey


def check_next_version(key: SessionKey, entry: JournalEntry, expected_version: int) -> None:
    """Raise StoreError unless the entry is the one that follows `expected_version`."""
    if entry.state.version != expected_version + 1:
        raise StoreError(
            f"journal of session {key.session!r}: an entry of version {entry.state.version} cannot "
            f"follow version {expected_version}; build the state from the head"
        )


def check_expected_version(key: SessionKey, newest: int, expected_version: int) -> None:
    """Raise ConflictError unless the newest version is the expected one."""
    if newest != expected_version:
        raise ConflictError(
            f"journal of session {key.session!r} is at version {newest}, not {expected_version}: "
            "another turn committed first; reload the state and repeat the turn"
        )
