"""Session maintenance: deletion, and offloads in the background.

No job table and no separate process: due work runs after the next turn of the app, at a start of
the server, or at its half-minute tick.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from datetime import timedelta
from typing import Final

from google.adk.models import BaseLlm
from google.adk.sessions import BaseSessionService

from acc_ace.adk.sessions.session_services import drop_session, is_beside
from acc_ace.adk.structured_agent import DirectCompletion, direct_completions
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.session import SessionMemory
from acc_ace.errors import AccAceError
from acc_ace.models.factory import build_models, close_models
from acc_ace.turn.offload import offload, outliving_notes, read_out
from acc_ace.turn.session_changes import delete_session
from acc_ace.turn.spending import Metered
from acc_ace.turn.structured_call import load_prompts

logger = logging.getLogger(__name__)

RETRY_S: Final = 300.0
"""Seconds until an offload that failed, or whose process died, is due again."""


class SessionMaintenance:
    """Maintains the sessions of one process's stores. Holds no lock: its callers do."""

    def __init__(
        self, container: Container, *, models: Mapping[Role, BaseLlm] | None = None
    ) -> None:
        """`models` overrides the settings' models. Does no I/O."""
        settings = container.settings
        self._container = container
        self._models = build_models(["reflector", "compressor"], settings, models)
        self._extractor = DirectCompletion(
            self._models["reflector"], SessionMemory, settings.reflector
        )
        self._ccm = direct_completions(self._models, settings)["compressor"]
        self._prompts = load_prompts()
        self._work: asyncio.Task[int] | None = None

    async def before_reset(self, key: SessionKey) -> None:
        """Have read what is unread of a session, for the profile; a failure is logged."""
        await self._run_logged("reading", self._read_out, key)

    async def was_reset(self, key: SessionKey) -> None:
        """Offload the turns before a reset; on failure, retried once the session is idle."""
        if self._container.settings.offload:
            await self._run_logged("offload", self._offload, key)

    async def forget(
        self, sessions: BaseSessionService, key: SessionKey, *, keep_notes: bool
    ) -> bool:
        """Delete a session; return whether any data of it existed.

        With consent (`keep_notes`), the notes extracted from it are kept. Raises StoreError.
        """
        outliving, extractor = None, Metered(self._extractor)
        if keep_notes:
            outliving = await outliving_notes(
                self._container, key, completion=extractor, prompt=self._prompts.extractor
            )
        dropped = False
        if not is_beside(sessions, self._container.database):
            dropped = await drop_session(sessions, key)
        deleted = await delete_session(self._container, key, outliving=outliving)
        await self._note(key._replace(session=""), "extractor", extractor)
        return deleted or dropped

    async def run_due(self, app: str) -> int:
        """Offload the due sessions of an app; return how many.

        Work started after a turn is finished first, and counted. Raises StoreError when the
        sessions cannot be read.
        """
        done = 0
        if (started := self._running_task()) is not None:
            await asyncio.wait([started])
            done = 0 if started.cancelled() else started.result()
        return done + await self._run_due(app)

    def wake(self, app: str) -> None:
        """Start a task for the due work of an app, unless one is running.

        The task has an empty context, so that it does not inherit the turn's, such as its listener.
        """
        if self._running_task() is None:
            self._work = asyncio.create_task(self._run_due_or_log(app), context=Context())

    async def close(self) -> None:
        """Stop background work after a grace period, and close its model.

        Unfinished work stays due.
        """
        if (work := self._running_task()) is not None:
            await asyncio.wait([work], timeout=self._container.settings.limits.shutdown_grace_s)
            work.cancel()
            await asyncio.wait([work])
        await close_models(self._models.values())

    def _running_task(self) -> "asyncio.Task[int] | None":
        """The task running in this event loop; a task of another loop cannot be awaited.

        `Runner.run` has its own loop in a thread, which ends with its run.
        """
        work = self._work
        is_here = work is not None and work.get_loop() is asyncio.get_running_loop()
        return work if is_here and work is not None and not work.done() else None

    @asynccontextmanager
    async def ticking(
        self, app: str, *, every_s: float, beside: Callable[[], None]
    ) -> AsyncIterator[None]:
        """Start due work, and call `beside`, every `every_s` seconds while open."""

        async def tick() -> None:
            while True:
                self.wake(app)
                beside()
                await asyncio.sleep(every_s)

        ticks = asyncio.create_task(tick())
        try:
            yield
        finally:
            ticks.cancel()
            await asyncio.wait([ticks])

    async def _run_due_or_log(self, app: str) -> int:
        try:
            return await self._run_due(app)
        except Exception as error:  # noqa: BLE001 - no caller sees it; the work is due again
            _warn("maintenance_failed", error)
        return 0

    async def _run_due(self, app: str) -> int:
        settings, directory = self._container.settings, self._container.directory
        if not settings.offload or not settings.idle_s:
            return 0
        since = self._container.clock.now() - timedelta(seconds=settings.idle_s)
        done = 0
        while (key := await directory.take_idle(app, since=since, retry_s=RETRY_S)) is not None:
            done += await self._run_logged("offload", self._offload, key)
        return done

    async def _run_logged(
        self, what: str, work: Callable[[SessionKey], Awaitable[None]], key: SessionKey
    ) -> bool:
        """Run work on a session; a failure is logged, and the work is due again."""
        try:
            await work(key)
        except Exception as error:  # noqa: BLE001 - the other sessions' work must continue
            _warn(f"{what}_failed session={key.session!r}", error)
            return False
        return True

    async def _offload(self, key: SessionKey) -> None:
        await self._read_out(key)
        extractor = Metered(self._extractor)
        await offload(self._container, key, completion=extractor, prompt=self._prompts.extractor)
        await self._note(key, "extractor", extractor)

    async def _read_out(self, key: SessionKey) -> None:
        ccm = Metered(self._ccm)
        await read_out(self._container, key, ccm)
        await self._note(key, "compressor", ccm)

    async def _note(self, key: SessionKey, stage: str, metered: Metered) -> None:
        """Keep what the calls cost so far, each once."""
        await self._container.spending.note(key, 0, {stage: metered.take()})


def _warn(event: str, error: Exception) -> None:
    """Log a failure that is retried; with its traceback if it is a defect of ours."""
    code, trace = (error.code, None) if isinstance(error, AccAceError) else ("internal", error)
    logger.warning("%s code=%s: %s", event, code, error, exc_info=trace)
