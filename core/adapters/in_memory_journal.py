"""The journal in memory, for tests and for `store=memory`."""

from collections.abc import Sequence
from hashlib import sha256

from core.adapters.json_codec import encode
from core.domain.journal_rules import check_expected_version, check_next_version
from core.errors import NotFoundError
from schemas.commit import JournalEntry
from schemas.tenancy import SessionKey, Tenant


class InMemoryJournal:
    """A Journal that forgets at exit."""

    def __init__(self) -> None:
        # Sessions are kept in the order of their last change, oldest first.
        self._entries: dict[SessionKey, list[JournalEntry]] = {}

    async def head(self, key: SessionKey) -> JournalEntry | None:
        """The newest entry, or None before the first commit."""
        entries = self._entries.get(key)
        return entries[-1] if entries else None

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the newest entry's stored text."""
        entry = await self.head(key)
        return None if entry is None else sha256(encode(entry).encode()).hexdigest()

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        """Append atomically; ConflictError when the newest version is not `expected_version`."""
        check_next_version(key, entry, expected_version)
        entries = self._entries.get(key, [])
        check_expected_version(key, len(entries), expected_version)
        self._entries.pop(key, None)
        self._entries[key] = [*entries, entry]

    async def get(self, key: SessionKey, version: int) -> JournalEntry | None:
        """The entry of a version, or None."""
        entries = self._entries.get(key, [])
        return entries[version - 1] if 1 <= version <= len(entries) else None

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """A page of entries, newest first, at most `limit`."""
        entries = self._entries.get(key, [])
        end = len(entries) if before_version is None else max(before_version - 1, 0)
        return entries[:end][::-1][: max(limit, 0)]

    async def sessions(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """A page of (session, newest entry), most recently changed first."""
        changed = [key for key in reversed(self._entries) if key.tenant == tenant]
        start = 0
        if before is not None:
            start = _position(changed, SessionKey(*tenant, before)) + 1
        return [
            (key.session, self._entries[key][-1]) for key in changed[start : start + max(limit, 0)]
        ]

    def tenants(self) -> set[Tenant]:
        """The users that something is kept of."""
        return {key.tenant for key in self._entries}

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's entries (of one session); how many."""
        doomed = [
            key for key in self._entries if key.tenant == tenant and session in (None, key.session)
        ]
        return sum(len(self._entries.pop(key)) for key in doomed)


def _position(changed: Sequence[SessionKey], key: SessionKey) -> int:
    try:
        return changed.index(key)
    except ValueError:
        raise NotFoundError(f"no session {key.session!r} to page from") from None
