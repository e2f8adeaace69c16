"""Open the queue and worker of background learning. DBOS, an extra, is imported on use."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from acc_ace.adk.learning_jobs import JOBS_FILE
from acc_ace.clock import SystemClock
from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.hooks import how_to_install
from acc_ace.turn.learning_queue import LearningQueue

if TYPE_CHECKING:
    from acc_ace.container import Container
    from acc_ace.ext.background.dbos_worker import DbosWorker, Learn

_MISSING = "ACC_ACE_LEARNING=background needs the extra 'background'; " + how_to_install(
    "background"
)


def open_learning_queue(settings: Settings) -> LearningQueue:
    """The learning queue that belongs to the stores. Does no I/O.

    Raises ConfigError when DBOS is not installed, or the store cannot hold jobs.
    """
    try:
        from acc_ace.ext.background.dbos_database import dbos_database  # noqa: PLC0415 — an extra
        from acc_ace.ext.background.dbos_queue import DbosLearningQueue  # noqa: PLC0415 — an extra
    except ImportError as error:
        raise ConfigError(f"{_MISSING} ({error})") from error
    return DbosLearningQueue(dbos_database(settings), settings.background, SystemClock())


def open_learning_worker(
    container: "Container", learn: "Learn", *, on_stop: Callable[[], Awaitable[None]]
) -> "DbosWorker":
    """A worker for the jobs of the container. Raises ConfigError when it has none."""
    try:
        from acc_ace.ext.background.dbos_database import dbos_database  # noqa: PLC0415 — an extra
        from acc_ace.ext.background.dbos_queue import DbosLearningQueue  # noqa: PLC0415 — an extra
        from acc_ace.ext.background.dbos_worker import DbosWorker  # noqa: PLC0415 — an extra
    except ImportError as error:
        raise ConfigError(f"{_MISSING} ({error})") from error
    queue, settings = container.learning, container.settings
    if not isinstance(queue, DbosLearningQueue):
        raise ConfigError("background learning needs ACC_ACE_LEARNING=background")
    return DbosWorker(
        queue,
        dbos_database(settings),
        settings.background,
        learn=learn,
        lock=container.lock,
        pressure=container.pressure,
        clock=container.clock,
        on_stop=on_stop,
    )


@asynccontextmanager
async def kept_jobs(
    settings: Settings, own: LearningQueue | None = None
) -> AsyncIterator[LearningQueue | None]:
    """The queue of existing jobs, also after background learning was switched off; or None.

    `own` is the queue that the process has open, and stays open. Raises StoreError, or
    ConfigError when jobs are left and DBOS is no longer installed.
    """
    if own is not None:
        yield own
        return
    queue = _leftover_queue(settings)
    if queue is None:
        yield None
        return
    try:
        yield queue if await queue.exists() else None
    finally:
        await queue.close()


def _leftover_queue(settings: Settings) -> LearningQueue | None:
    """The queue that may hold jobs of earlier processes; None if there can be none."""
    if settings.store == "memory":
        return None
    if settings.store == "sqlite" and not (settings.data_dir / JOBS_FILE).exists():
        return None
    try:
        return open_learning_queue(settings)
    except ConfigError:
        if settings.store == "postgres" and settings.learning != "background":
            return None  # Without DBOS no jobs were stored from here.
        raise
