"""The session directory with its records in a cache."""

from collections.abc import Collection, Sequence
from datetime import datetime

from core.adapters.cached_text import read_through
from core.adapters.json_codec import encode
from core.ports.session_directory import SessionDirectory
from core.ports.text_cache import TextCache
from schemas.memory import Summary
from schemas.memory_name import MemoryName
from schemas.session import ReadThrough, SessionRecord
from schemas.tenancy import SessionKey, Tenant

_KIND = "record"


class CachedDirectory:
    """A SessionDirectory before another one, which stays the authority."""

    def __init__(self, directory: SessionDirectory, cache: TextCache) -> None:
        self.inner, self._cache = directory, cache

    async def open(self, key: SessionKey, *, at: datetime, memory: MemoryName) -> SessionRecord:
        """Find or create the session and note that it is active."""
        record = await self.inner.open(key, at=at, memory=memory)
        await self._cache.put(_KIND, key, encode(record))
        return record

    async def renew(self, key: SessionKey, record: SessionRecord) -> None:
        """Put a record in the place of the session's own."""
        await self.inner.renew(key, record)
        await self._cache.drop(_KIND, key)

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """The session, or None."""
        return await read_through(
            self._cache,
            _KIND,
            key,
            SessionRecord,
            stamp=lambda: self.inner.stamp(key),
            load=lambda: self.inner.find(key),
        )

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the session's record as it is stored."""
        return await self.inner.stamp(key)

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """A page of sessions, most recently active first."""
        return await self.inner.list(tenant, limit=limit, before=before)

    async def idle(
        self,
        app: str,
        *,
        since: datetime,
        limit: int = 50,
        after: tuple[SessionKey, SessionRecord] | None = None,
    ) -> Sequence[tuple[SessionKey, SessionRecord]]:
        """Sessions not active since then, whose history has not been offloaded."""
        return await self.inner.idle(app, since=since, limit=limit, after=after)

    async def reset(self, key: SessionKey, *, turn: int) -> None:
        """Let the messages begin after `turn`."""
        await self.inner.reset(key, turn=turn)
        await self._cache.drop(_KIND, key)

    async def restored(
        self, key: SessionKey, *, turn: int, history_from: int | None = None
    ) -> None:
        """Note that the session left its turns later than `turn`."""
        await self.inner.restored(key, turn=turn, history_from=history_from)
        await self._cache.drop(_KIND, key)

    async def summarise(self, key: SessionKey, summary: Summary) -> None:
        """Keep a finished summary."""
        await self.inner.summarise(key, summary)
        await self._cache.drop(_KIND, key)

    async def unsummarise(self, key: SessionKey, *, history_from: int | None = None) -> None:
        """Forget the summary: its turns are deleted."""
        await self.inner.unsummarise(key, history_from=history_from)
        await self._cache.drop(_KIND, key)

    async def offloaded(
        self,
        key: SessionKey,
        *,
        at: datetime,
        notes: Sequence[str],
        through: ReadThrough | None = None,
    ) -> None:
        """Note that the history went to long-term memory up to a turn."""
        await self.inner.offloaded(key, at=at, notes=notes, through=through)
        await self._cache.drop(_KIND, key)

    async def forget_notes(self, key: SessionKey, notes: Collection[str]) -> None:
        """No longer know some of the session's notes."""
        await self.inner.forget_notes(key, notes)
        await self._cache.drop(_KIND, key)

    async def ended(self, key: SessionKey, *, keep_notes: bool) -> None:
        """Note that nothing else of the session is left."""
        await self.inner.ended(key, keep_notes=keep_notes)
        await self._cache.drop(_KIND, key)

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record, or all of it but the ids of notes that outlive the session."""
        await self.inner.delete(key, at=at, keep_notes=keep_notes)
        await self._cache.drop(_KIND, key)

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """All sessions of a user that have a record."""
        return await self.inner.names(tenant)

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session); how many."""
        erased = await self.inner.erase(tenant, session)
        if session is not None:
            await self._cache.drop(_KIND, SessionKey(*tenant, session))
        return erased
