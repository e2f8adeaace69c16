"""Erase a user from PostgreSQL in one transaction."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from core.adapters.erasing import Erase, at_once, erase_all
from core.adapters.postgres_artifacts import PostgresArtifactStore
from core.adapters.postgres_database import PostgresDatabase
from core.adapters.postgres_evidence import PostgresEvidenceStore
from core.adapters.postgres_jobs import PostgresJobStore
from core.adapters.postgres_journal import PostgresJournal
from core.adapters.postgres_playbook import PostgresPlaybookStore
from core.adapters.postgres_residue import scan_apps, scan_residue
from core.adapters.postgres_schema import Connection
from schemas.job import Job
from schemas.tenancy import Tenant

T = TypeVar("T")


class PostgresErasure:
    """A UserErasure over the stores of one PostgresDatabase."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def erase(self, tenant: Tenant, *, job: Job) -> dict[str, int]:
        """Delete the user's rows in one transaction; which sessions there are stays known."""

        def work(connection: Connection) -> dict[str, int]:
            joined = _JoinedDatabase(connection, self._database)
            erased = erase_all(_erasers(joined), tenant)
            at_once(PostgresJobStore(joined).enqueue(job))
            return erased

        return await self._database.write(work)

    async def apps(self, user: str) -> set[str]:
        """The apps that hold rows of a user."""
        return await self._database.read(lambda connection: scan_apps(connection, user))

    async def residue(self, tenant: Tenant) -> dict[str, int]:
        """Rows that name the user, by table."""
        return await self._database.read(lambda connection: scan_residue(connection, tenant))


def _erasers(database: PostgresDatabase) -> Mapping[str, Erase]:
    return {
        "journal": PostgresJournal(database).erase,
        "evidence": PostgresEvidenceStore(database).erase,
        "artifacts": PostgresArtifactStore(database).erase,
        "playbook": PostgresPlaybookStore(database).erase,
        "jobs": PostgresJobStore(database).erase,
    }


class _JoinedDatabase(PostgresDatabase):
    """The database inside of a transaction that somebody else has begun and will end."""

    def __init__(self, connection: Connection, database: PostgresDatabase) -> None:
        super().__init__(database.url)
        self._joined = connection

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in the transaction."""
        return work(self._joined)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in the transaction."""
        return work(self._joined)
