"""Journal entries as rows: what both databases do with them once they are read."""

from core.adapters.json_codec import decode
from core.errors import CorruptStoreError
from schemas.commit import JournalEntry


def entry_of(session: str, version: int, digest: str, body: str) -> JournalEntry:
    """The entry of a row; raises CorruptStoreError when it is not what was stored."""
    what = f"journal of session {session!r}, version {version}"
    entry = decode(JournalEntry, body, what=what)
    if entry.state.digest != digest or entry.state.version != version:
        raise CorruptStoreError(
            f"{what}: the state does not match its digest, it was altered; restore the database "
            "from a copy, or roll back to an earlier version"
        )
    return entry
