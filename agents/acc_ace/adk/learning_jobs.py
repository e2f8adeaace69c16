"""The jobs of background learning, whichever way this process learns."""

from contextlib import AbstractAsyncContextManager, nullcontext

from acc_ace.config import Settings
from acc_ace.hooks import LEARNING, absent, offering
from acc_ace.turn.learning_queue import LearningQueue

JOBS_FILE = "jobs.db"
"""Name of the SQLite file in the data directory."""


def kept_jobs(
    settings: Settings, own: LearningQueue | None = None
) -> AbstractAsyncContextManager[LearningQueue | None]:
    """The queue of existing jobs, also after background learning was switched off; or None.

    `own` is the queue that the process has open. Raises StoreError, or ConfigError when jobs are
    left and the extension is not there.
    """
    entry = next(offering(LEARNING), None)
    if entry is not None:
        return entry.kept_jobs(settings, own)
    if settings.store == "sqlite" and (settings.data_dir / JOBS_FILE).exists():
        raise absent(LEARNING, f"{JOBS_FILE} in ACC_ACE_DATA_DIR")
    return nullcontext()
