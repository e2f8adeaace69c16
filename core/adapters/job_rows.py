"""Jobs as rows: what both databases do with them once they are read."""

import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from core.adapters.json_codec import decode
from core.errors import CorruptStoreError
from schemas.job import Job, JobKind

logger = logging.getLogger(__name__)

MOST_UNREADABLE: Final = 100
"""Rows that one claim passes over before it leaves the rest to the next."""


_ENDS_WHAT_IT_IS_ABOUT: Final = frozenset({JobKind.DELETE, JobKind.ERASE})
"""Never done once more for being asked for twice: it would end what has begun since."""


def job_of(job_id: str, body: str | bytes) -> Job:
    """The job of a row; raises CorruptStoreError that names it."""
    return decode(Job, body, what=f"job {job_id!r}")


def readable(job_id: str, body: str | bytes) -> Job | None:
    """The job of a row, or None when it is damaged or of a newer program, which is logged."""
    try:
        return job_of(job_id, body)
    except CorruptStoreError as error:
        logger.error("job_unreadable id=%s: %s", job_id, error)
        return None


def is_damaged(body: str | bytes) -> bool:
    """Whether no program can read a row, whatever kinds of jobs it knows: it is no JSON."""
    try:
        json.loads(body)
    except ValueError:
        return True
    return False


def known_job(job_id: str, body: str | bytes) -> Job | None:
    """The job of a row, or None when it is damaged, which is logged.

    Raises CorruptStoreError for one of a newer program.
    """
    return readable(job_id, body) if is_damaged(body) else job_of(job_id, body)


def first_readable(
    first_due: Callable[[], tuple[str, str | bytes] | None], put_off: Callable[[str], object]
) -> Job | None:
    """The first job that is due and can be read; those before it are put off."""
    for _ in range(MOST_UNREADABLE):
        row = first_due()
        if row is None:
            break
        job = readable(*row)
        if job is not None:
            return job
        put_off(row[0])
    return None


def claimed_for(job: Job, *, now: datetime, lease_s: float) -> Job:
    """The job as one that is being tried until the lease is over."""
    leased = {
        "due_at": now + timedelta(seconds=lease_s),
        "tries": job.tries + 1,
        "asked_again_at": None,
    }
    return job.model_copy(update=leased)


def asked_again(known: Job, job: Job) -> Job | None:
    """The known job when the same work is asked for; None when it stays as it is.

    A try that is under way may have read its part already, so that it does not do this.
    """
    if known.tries == 0 or known.kind in _ENDS_WHAT_IT_IS_ABOUT:
        return None
    return known.model_copy(update={"asked_again_at": job.created_at})


def finished(job: Job) -> Job | None:
    """What is left of a job that is done: None, or the job anew when it was asked for again."""
    if job.asked_again_at is None:
        return None
    at = job.asked_again_at
    anew = {"created_at": at, "due_at": at, "tries": 0, "error": "", "asked_again_at": None}
    return job.model_copy(update=anew)


def failed(job: Job, *, error: str, due_at: datetime | None) -> Job:
    """A job after a try that failed, due again or given up; anew when it was asked for again."""
    if due_at is not None:
        return job.model_copy(update={"error": error, "due_at": due_at})
    return finished(job) or job.model_copy(update={"error": error, "given_up": True})
