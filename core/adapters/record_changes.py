"""The changes of a session's record that are the same in every store."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from core.domain import session_record as rules
from schemas.memory import Summary
from schemas.session import ReadThrough, SessionRecord
from schemas.tenancy import SessionKey


class RecordChanges(ABC):
    """Part of a SessionDirectory, which says how one change is stored."""

    @abstractmethod
    async def _change(
        self, key: SessionKey, change: Callable[[SessionRecord], SessionRecord]
    ) -> None:
        """Replace the record of a session by what `change` makes of it; nothing where none is."""

    async def reset(self, key: SessionKey, *, turn: int) -> None:
        """Let the messages begin after `turn`."""
        await self._change(key, lambda record: rules.reset(record, turn))

    async def restored(
        self, key: SessionKey, *, turn: int, history_from: int | None = None
    ) -> None:
        """Note that the session left its turns later than `turn`."""
        await self._change(key, lambda record: rules.restored(record, turn, history_from))

    async def unsummarise(self, key: SessionKey, *, history_from: int | None = None) -> None:
        """Forget the summary: its turns are deleted."""
        await self._change(key, lambda record: rules.unsummarised(record, history_from))

    async def summarise(self, key: SessionKey, summary: Summary) -> None:
        """Keep a finished summary."""
        await self._change(key, lambda record: rules.summarised(record, summary))

    async def offloaded(
        self,
        key: SessionKey,
        *,
        at: datetime,
        notes: Sequence[str],
        through: ReadThrough | None = None,
    ) -> None:
        """Note that the history went to long-term memory up to a turn."""
        await self._change(key, lambda record: rules.offloaded(record, at, notes, through))

    async def ended(self, key: SessionKey, *, keep_notes: bool) -> None:
        """Note that nothing else of the session is left."""
        await self._change(key, lambda record: rules.ended(record, keep_notes=keep_notes))

    async def forget_notes(self, key: SessionKey, notes: Collection[str]) -> None:
        """No longer know some of the session's notes."""
        await self._change(key, lambda record: rules.without_notes(record, notes))
