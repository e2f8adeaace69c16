"""Durable jobs in PostgreSQL: each is claimed by one process of however many there are."""

from collections.abc import Sequence
from datetime import datetime

from core.adapters.job_rows import (
    asked_again,
    claimed_for,
    failed,
    finished,
    first_readable,
    is_damaged,
    job_of,
    known_job,
    readable,
)
from core.adapters.json_codec import encode
from core.adapters.postgres_database import PostgresDatabase, page_size
from core.adapters.postgres_schema import Connection
from schemas.job import LONGEST_DELAY, Job
from schemas.tenancy import Tenant


class PostgresJobStore:
    """A JobStore in a PostgresDatabase."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def enqueue(self, job: Job) -> bool:
        """Keep a job; False when it is there already."""
        body = encode(job)
        runs = 0

        def work(connection: Connection) -> bool:
            nonlocal runs
            runs += 1
            row = connection.execute(
                "SELECT given_up, body FROM jobs WHERE id = %s FOR UPDATE", (job.id,)
            ).fetchone()
            if row is None or row[0] or is_damaged(row[1]):
                _write(connection, job)
                return True
            known = readable(job.id, row[1])
            again = asked_again(known, job) if known is not None else None
            if again is not None:
                _write(connection, again)
            # If the answer to an earlier COMMIT was lost, it is this very job.
            return runs > 1 and row[1] == body

        return await self._database.write(work)

    async def replace(self, job: Job) -> None:
        """Keep a job in the place of the one that has its id."""
        await self._database.write(lambda connection: _write(connection, job))

    async def claim(self, *, now: datetime, lease_s: float) -> Job | None:
        """The oldest job that is due. One whose claim was cut off is due again after the lease."""

        def work(connection: Connection) -> Job | None:
            job = first_readable(
                lambda: _first_due(connection, now),
                lambda job_id: connection.execute(
                    "UPDATE jobs SET due_at = %s WHERE id = %s",
                    ((now + LONGEST_DELAY).timestamp(), job_id),
                ),
            )
            if job is None:
                return None
            claimed = claimed_for(job, now=now, lease_s=lease_s)
            _write(connection, claimed)
            return claimed

        return await self._database.write(work)

    async def find(self, job_id: str) -> Job | None:
        """A job that is not done, or None."""

        def work(connection: Connection) -> Job | None:
            row = connection.execute("SELECT body FROM jobs WHERE id = %s", (job_id,)).fetchone()
            return None if row is None else known_job(job_id, row[0])

        return await self._database.read(work)

    async def finish(self, job_id: str) -> None:
        """Forget a job that is done, or let it begin anew."""
        first: str | None = None

        def work(connection: Connection) -> None:
            nonlocal first
            row = connection.execute(
                "SELECT body FROM jobs WHERE id = %s FOR UPDATE", (job_id,)
            ).fetchone()
            if row is None or (first is not None and row[0] != first):
                # If the answer to an earlier COMMIT was lost, this is what was asked for since.
                return
            first = row[0]
            job = readable(job_id, row[0])
            anew = finished(job) if job is not None else None
            if anew is not None:
                _write(connection, anew)
            else:
                connection.execute("DELETE FROM jobs WHERE id = %s", (job_id,))

        await self._database.write(work)

    async def fail(self, job_id: str, *, error: str, due_at: datetime | None) -> None:
        """Note why a try failed."""
        first: Job | None = None

        def work(connection: Connection) -> None:
            nonlocal first
            job = _read(connection, job_id)
            if job is not None and (first is None or job == first):
                first = job
                _write(connection, failed(job, error=error, due_at=due_at))

        await self._database.write(work)

    async def list(self, tenant: Tenant, *, limit: int = 50) -> Sequence[Job]:
        """The user's jobs that are not done, oldest first."""

        def work(connection: Connection) -> Sequence[Job]:
            rows = connection.execute(
                "SELECT id, body FROM jobs WHERE app = %s AND user_id = %s "
                "ORDER BY due_at, id LIMIT %s",
                (*tenant, page_size(limit)),
            ).fetchall()
            return [job for row in rows if (job := readable(*row)) is not None]

        return await self._database.read(work)

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's jobs; how many."""
        return await self._database.write(
            lambda connection: (
                connection.execute(
                    "DELETE FROM jobs WHERE app = %s AND user_id = %s", tenant
                ).rowcount
            )
        )


def _first_due(connection: Connection, now: datetime) -> tuple[str, str] | None:
    """The row of the oldest job that is due and that nobody else is about to claim."""
    return connection.execute(
        "SELECT id, body FROM jobs WHERE NOT given_up AND (due_at <= %s OR due_at > %s) "
        "ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED",
        (now.timestamp(), (now + LONGEST_DELAY).timestamp()),
    ).fetchone()


def _read(connection: Connection, job_id: str) -> Job | None:
    """The job; its row is locked until the transaction ends."""
    row = connection.execute(
        "SELECT id, body FROM jobs WHERE id = %s FOR UPDATE", (job_id,)
    ).fetchone()
    return None if row is None else job_of(*row)


def _write(connection: Connection, job: Job) -> None:
    connection.execute(
        "INSERT INTO jobs (id, app, user_id, due_at, given_up, body) "
        "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET app = excluded.app, "
        "user_id = excluded.user_id, due_at = excluded.due_at, given_up = excluded.given_up, "
        "body = excluded.body",
        (job.id, *job.tenant, job.due_at.timestamp(), job.given_up, encode(job)),
    )
