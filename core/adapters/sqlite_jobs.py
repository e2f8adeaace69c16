"""Durable jobs in SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

from core.adapters.json_codec import decode, encode
from core.adapters.sqlite_database import SqliteDatabase
from schemas.job import LONGEST_DELAY, Job
from schemas.tenancy import Tenant


class SqliteJobStore:
    """A JobStore in a SqliteDatabase, shared by all processes that use the file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def enqueue(self, job: Job) -> bool:
        """Keep a job; False when it is there already."""

        def work(connection: sqlite3.Connection) -> bool:
            known = _read(connection, job.id)
            if known is not None and not known.given_up:
                return False
            _write(connection, job)
            return True

        return await self._database.write(work)

    async def claim(self, *, now: datetime, lease_s: float) -> Job | None:
        """The oldest job that is due."""

        def work(connection: sqlite3.Connection) -> Job | None:
            row = connection.execute(
                "SELECT id FROM jobs WHERE given_up = 0 AND (due_at <= ? OR due_at > ?) "
                "ORDER BY due_at, id LIMIT 1",
                (now.timestamp(), (now + LONGEST_DELAY).timestamp()),
            ).fetchone()
            job = _read(connection, row[0]) if row else None
            if job is None:
                return None
            leased = {"due_at": now + timedelta(seconds=lease_s), "tries": job.tries + 1}
            claimed = job.model_copy(update=leased)
            _write(connection, claimed)
            return claimed

        return await self._database.write(work)

    async def finish(self, job_id: str) -> None:
        """Forget a job that is done."""
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM jobs WHERE id = ?", (job_id,))
        )

    async def fail(self, job_id: str, *, error: str, due_at: datetime | None) -> None:
        """Note why a try failed."""

        def work(connection: sqlite3.Connection) -> None:
            job = _read(connection, job_id)
            if job is not None:
                again = {"given_up": True} if due_at is None else {"due_at": due_at}
                _write(connection, job.model_copy(update={"error": error, **again}))

        await self._database.write(work)

    async def list(self, tenant: Tenant, *, limit: int = 50) -> Sequence[Job]:
        """The user's jobs that are not done, oldest first."""

        def work(connection: sqlite3.Connection) -> Sequence[Job]:
            rows = connection.execute(
                "SELECT id, body FROM jobs WHERE app = ? AND user = ? ORDER BY due_at, id LIMIT ?",
                (*tenant, max(limit, 0)),
            ).fetchall()
            return [_job(job_id, body) for job_id, body in rows]

        return await self._database.read(work)

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's jobs; how many."""
        erased = await self._database.write(
            lambda connection: (
                connection.execute("DELETE FROM jobs WHERE app = ? AND user = ?", tenant).rowcount
            )
        )
        await self._database.scrub()
        return erased


def _read(connection: sqlite3.Connection, job_id: str) -> Job | None:
    row = connection.execute("SELECT body FROM jobs WHERE id = ?", (job_id,)).fetchone()
    return None if row is None else _job(job_id, row[0])


def _write(connection: sqlite3.Connection, job: Job) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO jobs (id, app, user, due_at, given_up, body) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (job.id, *job.tenant, job.due_at.timestamp(), int(job.given_up), encode(job)),
    )


def _job(job_id: str, body: str) -> Job:
    return decode(Job, body, what=f"job {job_id!r}")
