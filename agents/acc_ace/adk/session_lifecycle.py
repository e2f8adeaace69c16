"""What becomes of sessions: deletion, and offloads and summaries in the background.

No job table and no process of its own: what is due is done after the next turn of the app, at a
start of the server, or at its half-minute tick.
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
from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.errors import AccAceError
from acc_ace.models.factory import build_model
from acc_ace.models.resilient import ResilientLlm
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.session import ConversationSummary, SessionMemory, SessionRecord
from acc_ace.turn.history import HistorySource, summarise
from acc_ace.turn.offload import offload, outliving_notes
from acc_ace.turn.session_changes import delete_session
from acc_ace.turn.structured_call import load_prompts

logger = logging.getLogger(__name__)

RETRY_S: Final = 300.0
"""An offload that failed, or whose process died, is due again after so many seconds."""


class SessionMaintenance:
    """Over the stores of one process. Holds no lock: its callers do."""

    def __init__(
        self, container: Container, *, models: Mapping[Role, BaseLlm] | None = None
    ) -> None:
        """`models` replaces those of the settings that summarise and extract. Does no I/O."""
        settings, chosen = container.settings, models or {}
        self._container = container
        summarizer = chosen.get("compressor") or build_model("compressor", settings)
        extractor = chosen.get("reflector") or build_model("reflector", settings)
        self._models = (summarizer, extractor)
        self._summarizer = DirectCompletion(summarizer, ConversationSummary, settings.compressor)
        self._extractor = DirectCompletion(extractor, SessionMemory, settings.reflector)
        self._prompts = load_prompts()
        self._work: asyncio.Task[int] | None = None

    async def was_reset(self, key: SessionKey) -> None:
        """Offload what came before a reset; if that fails, once the session is idle."""
        if self._container.settings.offload:
            await self._tried("offload", self._offload, key)

    async def forget(
        self, sessions: BaseSessionService, key: SessionKey, *, keep_notes: bool
    ) -> bool:
        """Delete a session; whether anything of it was held.

        With consent, what long-term memory extracts of it stays. Raises StoreError.
        """
        outliving = None
        if keep_notes:
            outliving = await outliving_notes(
                self._container, key, completion=self._extractor, prompt=self._prompts.extractor
            )
        dropped = False
        if not is_beside(sessions, self._container.database):
            dropped = await drop_session(sessions, key)
        return await delete_session(self._container, key, outliving=outliving) or dropped

    async def run_due(self, app: str) -> int:
        """Summarise and offload what is due of an app; how many sessions.

        What was started after a turn is finished first, and counts. Raises StoreError when the
        sessions cannot be read.
        """
        done = 0
        if (started := self._under_way()) is not None:
            await asyncio.wait([started])
            done = 0 if started.cancelled() else started.result()
        return done + await self._run_due(app)

    def wake(self, app: str) -> None:
        """Do what is due of an app in a task, unless one is under way.

        The task inherits nothing of the turn that starts it, such as who listens to that.
        """
        if self._under_way() is None:
            self._work = asyncio.create_task(self._run_due_or_log(app), context=Context())

    async def close(self) -> None:
        """End background work, which gets the time of a shutdown, and close its models.

        What is left is done another time.
        """
        if (work := self._under_way()) is not None:
            await asyncio.wait([work], timeout=self._container.settings.limits.shutdown_grace_s)
            work.cancel()
            await asyncio.wait([work])
        for model in self._models:
            if isinstance(model, ResilientLlm):
                await model.aclose()

    def _under_way(self) -> "asyncio.Task[int] | None":
        """The work in this event loop; what another loop has started is not ours to wait for.

        `Runner.run` has a loop in a thread, which ends with its run.
        """
        work = self._work
        is_here = work is not None and work.get_loop() is asyncio.get_running_loop()
        return work if is_here and work is not None and not work.done() else None

    @asynccontextmanager
    async def ticking(
        self, app: str, *, every_s: float, beside: Callable[[], None]
    ) -> AsyncIterator[None]:
        """Do what is due, and what goes `beside` it, every `every_s` seconds while open."""

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
        except Exception as error:  # noqa: BLE001 - nobody waits for this; it is due again
            _warn("maintenance_failed", error)
        return 0

    async def _run_due(self, app: str) -> int:
        done = 0
        while self._container.unsummarised:
            key = self._container.unsummarised.pop()
            done += await self._tried("summary", self._summarise, key)
        return done + await self._offload_idle(app)

    async def _offload_idle(self, app: str) -> int:
        settings, directory = self._container.settings, self._container.directory
        if not settings.offload or not settings.idle_s:
            return 0
        since = self._container.clock.now() - timedelta(seconds=settings.idle_s)
        done = 0
        while (key := await directory.take_idle(app, since=since, retry_s=RETRY_S)) is not None:
            done += await self._tried("offload", self._offload, key)
        return done

    async def _tried(
        self, what: str, work: Callable[[SessionKey], Awaitable[None]], key: SessionKey
    ) -> bool:
        """Do some work on a session; one that fails is logged, and due again."""
        try:
            await work(key)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other sessions must go on
            _warn(f"{what}_failed session={key.session!r}", error)
            return False
        return True

    async def _offload(self, key: SessionKey) -> None:
        await offload(
            self._container, key, completion=self._extractor, prompt=self._prompts.extractor
        )

    async def _summarise(self, key: SessionKey) -> None:
        container = self._container
        before: SessionRecord | None = None
        # A record that a summary did not change took it for late, as it would the next one.
        while (record := await container.directory.find(key)) and record != before:
            summary = await summarise(
                HistorySource(
                    key=key,
                    evidence=container.evidence,
                    artifacts=container.artifacts,
                    summary=record.summary,
                    after_turn=record.history_from,
                    restores=record.restores,
                    began=record.created_at,
                ),
                completion=self._summarizer,
                prompt=self._prompts.summarizer,
                limits=container.settings.limits,
                now=container.clock.now(),
            )
            if summary is None:
                return
            await container.directory.summarise(key, summary)
            before = record


def _warn(event: str, error: Exception) -> None:
    """Log what is tried again; with its trace if it is a defect of ours."""
    code, trace = (error.code, None) if isinstance(error, AccAceError) else ("internal", error)
    logger.warning("%s code=%s: %s", event, code, error, exc_info=trace)
