"""Commit the lesson of a job once, however often the job is run.

A worker may die between its commit and saying so. Whoever runs the job again finds its name in
the delta log, which is written in the same transaction as the playbook: looked for after the
playbook was loaded, and committed by compare-and-swap on what was loaded, so two workers with the
same job cannot both commit.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from core.ports.playbook_store import PlaybookStore
from schemas.playbook import DeltaRecord
from schemas.tenancy import PlaybookScope

_PAGE = 200


@dataclass(frozen=True)
class Once:
    """A job's name, and the playbook version before which it cannot have been committed."""

    job: str
    since: int
    gone: Callable[[], Awaitable[bool]] | None = None
    """Whether what the job is about was taken back or erased while the models were asked."""

    async def settled(self, store: PlaybookStore, scope: PlaybookScope) -> bool:
        """Whether there is nothing left to commit. Raises StoreError."""
        if await self.stands(store, scope):
            return True
        return self.gone is not None and await self.gone()

    async def stands(self, store: PlaybookStore, scope: PlaybookScope) -> bool:
        """Whether the log holds a record of the job. Reads no further back than `since`."""
        before: int | None = None
        while page := await store.deltas(scope, limit=_PAGE, before=before):
            for record in page:
                if record.version < self.since:
                    return False
                if record.job == self.job:
                    return True
            before = page[-1].seq
        return False

    def signed(self, records: Sequence[DeltaRecord]) -> list[DeltaRecord]:
        """The records with the job's name on them."""
        return [record.model_copy(update={"job": self.job}) for record in records]
