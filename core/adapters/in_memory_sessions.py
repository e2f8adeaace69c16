"""The session directory and jobs in memory, for tests and for `store=memory`."""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256

from core.adapters.directory_rows import Idle, place_of
from core.adapters.job_rows import asked_again, claimed_for, failed, finished
from core.adapters.json_codec import encode
from core.adapters.record_changes import RecordChanges
from core.domain import session_record as rules
from schemas.job import LONGEST_DELAY, Job
from schemas.memory_name import MemoryName
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey, Tenant


class InMemorySessionDirectory(RecordChanges):
    """A SessionDirectory that forgets at exit."""

    def __init__(self) -> None:
        self._records: dict[SessionKey, SessionRecord] = {}

    async def open(self, key: SessionKey, *, at: datetime, memory: MemoryName) -> SessionRecord:
        """Find or create the session and note that it is active."""
        record = rules.opened(self._records.get(key), key.session, at=at, memory=memory)
        self._records[key] = record
        return record

    async def renew(self, key: SessionKey, record: SessionRecord) -> None:
        """Put a record in the place of the session's own."""
        self._records[key] = record

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """The session, or None."""
        record = self._records.get(key)
        return None if record is None or record.deleted_at is not None else record

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the record's stored text."""
        record = await self.find(key)
        return None if record is None else sha256(encode(record).encode()).hexdigest()

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """A page of sessions, most recently active first."""
        own = [record for key, record in self._records.items() if key.tenant == tenant]
        own.sort(key=lambda record: (record.active_at, record.session), reverse=True)
        names = [record.session for record in own]
        start = names.index(before) + 1 if before in names else 0
        return own[start : start + max(limit, 0)]

    async def idle(
        self, app: str, *, since: datetime, limit: int = 50, after: Idle | None = None
    ) -> Sequence[Idle]:
        """Sessions not active since then, whose history has not been offloaded."""
        found = [
            item
            for item in self._records.items()
            if item[0].app == app
            and item[1].active_at < since
            and rules.must_be_offloaded(item[1])
            and place_of(item) > place_of(after)
        ]
        return sorted(found, key=place_of)[: max(limit, 0)]

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record, or all of it but the ids of notes that outlive the session."""
        record = self._records.pop(key, None)
        left = rules.deleted(record, at, keep_notes=keep_notes) if record is not None else None
        if left is not None:
            self._records[key] = left

    async def _change(
        self, key: SessionKey, change: Callable[[SessionRecord], SessionRecord]
    ) -> None:
        if key in self._records:
            self._records[key] = change(self._records[key])

    def tenants(self) -> set[Tenant]:
        """The users that something is kept of."""
        return {key.tenant for key in self._records}

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """All sessions of a user that have a record."""
        return [key.session for key in self._records if key.tenant == tenant]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session); how many."""
        doomed = [
            key for key in self._records if key.tenant == tenant and session in {None, key.session}
        ]
        for key in doomed:
            del self._records[key]
        return len(doomed)


class InMemoryJobStore:
    """A JobStore that forgets at exit."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    async def enqueue(self, job: Job) -> bool:
        """Keep a job; False when it is there already."""
        known = self._jobs.get(job.id)
        if known is None or known.given_up:
            self._jobs[job.id] = job
            return True
        self._jobs[job.id] = asked_again(known, job) or known
        return False

    async def replace(self, job: Job) -> None:
        """Keep a job in the place of the one that has its id."""
        self._jobs[job.id] = job

    async def claim(self, *, now: datetime, lease_s: float) -> Job | None:
        """The oldest job that is due."""
        due = [job for job in self._jobs.values() if _is_due(job, now) and not job.given_up]
        if not due:
            return None
        first = min(due, key=lambda job: (job.due_at, job.id))
        self._jobs[first.id] = claimed_for(first, now=now, lease_s=lease_s)
        return self._jobs[first.id]

    async def find(self, job_id: str) -> Job | None:
        """A job that is not done, or None."""
        return self._jobs.get(job_id)

    async def finish(self, job_id: str) -> None:
        """Forget a job that is done, or let it begin anew."""
        job = self._jobs.pop(job_id, None)
        anew = finished(job) if job is not None else None
        if anew is not None:
            self._jobs[job_id] = anew

    async def fail(self, job_id: str, *, error: str, due_at: datetime | None) -> None:
        """Note why a try failed."""
        job = self._jobs.get(job_id)
        if job is not None:
            self._jobs[job_id] = failed(job, error=error, due_at=due_at)

    async def list(self, tenant: Tenant, *, limit: int = 50) -> Sequence[Job]:
        """The user's jobs that are not done, oldest first."""
        own = [job for job in self._jobs.values() if job.tenant == tenant]
        return sorted(own, key=lambda job: (job.due_at, job.id))[: max(limit, 0)]

    def tenants(self) -> set[Tenant]:
        """The users that something is kept of."""
        return {job.tenant for job in self._jobs.values()}

    async def erase(self, tenant: Tenant) -> int:
        """Delete the user's jobs; how many."""
        doomed = [job.id for job in self._jobs.values() if job.tenant == tenant]
        for job_id in doomed:
            del self._jobs[job_id]
        return len(doomed)


def _is_due(job: Job, now: datetime) -> bool:
    return job.due_at <= now or job.due_at > now + LONGEST_DELAY
