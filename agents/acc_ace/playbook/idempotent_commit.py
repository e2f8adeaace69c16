"""Commit the lesson of a job once, however often the job is run.

A worker may die between its commit and saying so. The job's name is the name of the commit, which
the store keeps in the same transaction as the playbook: whoever runs the job again finds it, and
two workers with the same job cannot both commit.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from acc_ace.playbook.playbook_store import PlaybookStore
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.playbook import DeltaRecord


@dataclass(frozen=True)
class Once:
    """A job's name."""

    job: str
    gone: Callable[[], Awaitable[bool]] | None = None
    """Whether what the job is about was taken back or erased while the models were asked."""

    async def settled(self, store: PlaybookStore, scope: PlaybookScope) -> bool:
        """Whether there is nothing left to commit. Raises StoreError."""
        if await self.stands(store, scope):
            return True
        return self.gone is not None and await self.gone()

    async def stands(self, store: PlaybookStore, scope: PlaybookScope) -> bool:
        """Whether the job was committed. Raises StoreError."""
        return await store.committed(scope, self.job) is not None

    def signed(self, records: Sequence[DeltaRecord]) -> list[DeltaRecord]:
        """The records with the job's name on them, for whoever reads the log."""
        return [record.model_copy(update={"job": self.job}) for record in records]
