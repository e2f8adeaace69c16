"""Durable jobs in SQLite."""

import sqlite3
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
from core.adapters.sqlite_database import SqliteDatabase
from schemas.job import LONGEST_DELAY, Job, JobKind
from schemas.tenancy import Tenant


class SqliteJobStore:
    """A JobStore in a SqliteDatabase, shared by all processes that use the file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def enqueue(self, job: Job) -> bool:
        """Keep a job; False when it is there already."""

        def work(connection: sqlite3.Connection) -> bool:
            row = connection.execute(
                "SELECT given_up, CAST(body AS BLOB) FROM jobs WHERE id = ?", (job.id,)
            ).fetchone()
            if row is None or row[0] or is_damaged(row[1]):
                _write(connection, job)
                return True
            known = readable(job.id, row[1])
            again = asked_again(known, job) if known is not None else None
            if again is not None:
                _write(connection, again)
            return False

        return await self._database.write(work)

    async def replace(self, job: Job) -> None:
        """Keep a job in the place of the one that has its id."""
        await self._database.write(lambda connection: _write(connection, job))

    async def claim(self, *, now: datetime, lease_s: float) -> Job | None:
        """The oldest job that is due."""

        def work(connection: sqlite3.Connection) -> Job | None:
            job = first_readable(
                lambda: _first_due(connection, now),
                lambda job_id: connection.execute(
                    "UPDATE jobs SET due_at = ? WHERE id = ?",
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

        def work(connection: sqlite3.Connection) -> Job | None:
            body = _body(connection, job_id)
            return None if body is None else known_job(job_id, body)

        return await self._database.read(work)

    async def finish(self, job_id: str) -> None:
        """Forget a job that is done, or let it begin anew."""

        def work(connection: sqlite3.Connection) -> bool:
            body = _body(connection, job_id)
            job = readable(job_id, body) if body is not None else None
            anew = finished(job) if job is not None else None
            if anew is not None:
                _write(connection, anew)
            else:
                connection.execute("DELETE FROM jobs WHERE id = ?", (job_id,))
            return job is not None and job.kind is JobKind.ERASE

        if await self._database.write(work):
            # The job itself was the last to name the user.
            await self._database.scrub()

    async def fail(self, job_id: str, *, error: str, due_at: datetime | None) -> None:
        """Note why a try failed."""

        def work(connection: sqlite3.Connection) -> None:
            job = _read(connection, job_id)
            if job is not None:
                _write(connection, failed(job, error=error, due_at=due_at))

        await self._database.write(work)

    async def list(self, tenant: Tenant, *, limit: int = 50) -> Sequence[Job]:
        """The user's jobs that are not done, oldest first."""

        def work(connection: sqlite3.Connection) -> Sequence[Job]:
            rows = connection.execute(
                "SELECT id, CAST(body AS BLOB) FROM jobs WHERE app = ? AND user = ? "
                "ORDER BY due_at, id LIMIT ?",
                (*tenant, max(limit, 0)),
            ).fetchall()
            return [job for row in rows if (job := readable(*row)) is not None]

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


def _first_due(connection: sqlite3.Connection, now: datetime) -> tuple[str, bytes] | None:
    """The row of the oldest job that is due, its text as bytes."""
    row: tuple[str, bytes] | None = connection.execute(
        "SELECT id, CAST(body AS BLOB) FROM jobs "
        "WHERE given_up = 0 AND (due_at <= ? OR due_at > ?) ORDER BY due_at, id LIMIT 1",
        (now.timestamp(), (now + LONGEST_DELAY).timestamp()),
    ).fetchone()
    return row


def _read(connection: sqlite3.Connection, job_id: str) -> Job | None:
    body = _body(connection, job_id)
    return None if body is None else job_of(job_id, body)


def _body(connection: sqlite3.Connection, job_id: str) -> bytes | None:
    """A row's text as bytes: as text, one that is damaged and no UTF-8 fails the whole call."""
    row: tuple[bytes] | None = connection.execute(
        "SELECT CAST(body AS BLOB) FROM jobs WHERE id = ?", (job_id,)
    ).fetchone()
    return row[0] if row else None


def _write(connection: sqlite3.Connection, job: Job) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO jobs (id, app, user, due_at, given_up, body) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (job.id, *job.tenant, job.due_at.timestamp(), int(job.given_up), encode(job)),
    )
