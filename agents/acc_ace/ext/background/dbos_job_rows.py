"""DBOS's rows read as learning jobs."""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from dbos import DBOSClient, WorkflowStatus
from pydantic import ValidationError

from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.learning_job import (
    Attempt,
    JobState,
    LearningJob,
    LearningOutcome,
    QueuedLearning,
)
from acc_ace.errors import NotFoundError

logger = logging.getLogger(__name__)

QUEUE: Final = "learning"
WORKFLOW: Final = "learn"
JOB_VERSION: Final = "1"
"""DBOS's application version: raised when stored jobs become unreadable."""

AT: Final = "at"
ATTEMPTS: Final = "attempts"
SHED: Final = "shed"

STATUSES: Final[dict[JobState, tuple[str, ...]]] = {
    JobState.WAITING: ("ENQUEUED", "DELAYED"),
    JobState.RUNNING: ("PENDING",),
    JobState.DONE: ("SUCCESS",),
    JobState.DEAD: ("ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"),
    JobState.SHED: ("CANCELLED",),
}
_STATE_OF: Final = {status: state for state, of in STATUSES.items() for status in of}
RETRYABLE: Final = (JobState.DEAD, JobState.SHED)


def owner(tenant: Tenant) -> str:
    """A tenant as `authenticated_user` of a row."""
    return f"{tenant.app}/{tenant.user}"


def apps_of(client: DBOSClient, user: str) -> set[str]:
    """The apps in which a user has jobs."""
    rows = client.list_workflows(name=WORKFLOW, load_input=False, load_output=False)
    named = (row.authenticated_user.partition("/") for row in rows if row.authenticated_user)
    return {app for app, _, owner in named if owner == user}


def queued(row: WorkflowStatus) -> QueuedLearning:
    """A row as a job."""
    made = attempts(row.attributes)
    state = _STATE_OF[row.status]
    return QueuedLearning(
        id=row.workflow_id,
        state=state,
        job=_job(row),
        attempts=made,
        error=_error(row, made, state),
        outcome=_outcome(row),
        created_at=submitted_at(row),
        updated_at=_time(row.updated_at),
    )


def attempts(attributes: Mapping[str, Any] | None) -> list[Attempt]:
    """The attempts stored in a row; none if they cannot be read."""
    try:
        return [Attempt.model_validate(item) for item in (attributes or {}).get(ATTEMPTS, ())]
    except ValidationError:
        logger.warning("learning_attempts_unreadable")
        return []


def _job(row: WorkflowStatus) -> LearningJob | None:
    try:
        return LearningJob.model_validate(row.input["args"][0]) if row.input else None
    except (ValidationError, LookupError, TypeError):
        return None


def _error(row: WorkflowStatus, made: Sequence[Attempt], state: JobState) -> str:
    if state is JobState.SHED:
        reason = (row.attributes or {}).get(SHED, "cancelled")
        return f"shed: {reason}"
    if row.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
        return "every worker that ran it died"
    if state is JobState.DONE:
        return ""
    last = made[-1].error if made else ""
    return last or (str(row.error) if row.error else "")


def _outcome(row: WorkflowStatus) -> str:
    if not isinstance(row.output, dict):
        return ""
    return LearningOutcome.model_validate(row.output).outcome


def submitted_at(row: WorkflowStatus) -> datetime:
    """When the job was submitted."""
    try:
        return datetime.fromisoformat((row.attributes or {})[AT])
    except (KeyError, TypeError, ValueError):
        return _time(row.created_at)


def _time(milliseconds: int | None) -> datetime:
    return datetime.fromtimestamp((milliseconds or 0) / 1_000, UTC)


def statuses(states: Sequence[JobState]) -> list[str] | None:
    """DBOS's statuses for these states; None for any."""
    return [status for state in states for status in STATUSES[state]] or None


def row_of(client: DBOSClient, job_id: str) -> WorkflowStatus:
    """The row of a job; raises NotFoundError."""
    rows = client.list_workflows(workflow_ids=[job_id], name=WORKFLOW)
    if not rows:
        raise NotFoundError(f"no learning job '{job_id}'")
    return rows[0]


def ids_of(
    client: DBOSClient,
    *,
    states: Sequence[JobState] = (),
    tenant: Tenant | None = None,
    completed_before: str | None = None,
) -> "list[str]":
    """Ids of the matching jobs, newest first."""
    rows = client.list_workflows(
        name=WORKFLOW,
        status=statuses(states),
        user=owner(tenant) if tenant else None,
        completed_before=completed_before,
        load_input=False,
        load_output=False,
        sort_desc=True,
    )
    return [row.workflow_id for row in rows]


def rows_of(
    client: DBOSClient,
    *,
    states: Sequence[JobState] = (),
    completed_after: str | None = None,
) -> "list[WorkflowStatus]":
    """The matching rows, oldest first; without inputs and outputs."""
    return client.list_workflows(
        name=WORKFLOW,
        status=statuses(states),
        completed_after=completed_after,
        load_input=False,
        load_output=False,
    )
