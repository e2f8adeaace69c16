"""What becomes of sessions: deletion, and offloads and summaries in the background.

Where ADK's own runner drives the turns, as in `adk web`, background work goes on after each of
them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from datetime import timedelta
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from google.adk.models import BaseLlm
from google.adk.sessions import BaseSessionService

from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.adk.sessions.session_services import drop_session, is_beside
from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.errors import AccAceError
from acc_ace.models.factory import build_model
from acc_ace.models.resilient import ResilientLlm
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.session import ConversationSummary, SessionMemory, SessionRecord
from acc_ace.turn.history import Past, summarise
from acc_ace.turn.offload import offload, outliving_notes
from acc_ace.turn.session_changes import delete_session
from acc_ace.turn.structured_call import load_prompts

T = TypeVar("T")

_AT_WORK: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, asyncio.Task[Any]]]" = (
    WeakKeyDictionary()
)


def begin_work(
    over: object, work: Callable[[], Coroutine[Any, Any, T]]
) -> "asyncio.Task[T] | None":
    """Begin background work over some stores; None when such work is under way in this loop.

    The task inherits nothing of the turn that begins it, such as who listens to that.
    """
    at_work = _AT_WORK.setdefault(asyncio.get_running_loop(), {})
    if id(over) in at_work:
        return None
    task = asyncio.create_task(work(), context=Context())
    at_work[id(over)] = task

    def ended(_: "asyncio.Task[T]") -> None:
        # Holding on to what the work is over keeps its identity from being used again.
        at_work.pop(id(over), None)

    task.add_done_callback(ended)
    return task


logger = logging.getLogger(__name__)

LEASE_S: Final = 300.0
"""How long an idle session is left to the process that offloads it. One that fails is tried again
after that."""

_BATCH: Final = 50
_PAGES: Final = 4
"""Pages of idle sessions that one sweep looks through; the next one goes on behind them."""


class SessionLife:
    """Over the stores and ADK's sessions of one process. Holds no lock: its callers do."""

    def __init__(
        self,
        container: Container,
        app: str,
        sessions: BaseSessionService,
        *,
        models: Mapping[Role, BaseLlm] | None = None,
    ) -> None:
        settings, chosen = container.settings, models or {}
        self._container, self._app, self._sessions = container, app, sessions
        summarizer = chosen.get("compressor") or build_model("compressor", settings)
        extractor = chosen.get("reflector") or build_model("reflector", settings)
        self._models = (summarizer, extractor)
        self._summarizer = DirectCompletion(summarizer, ConversationSummary, settings.compressor)
        self._extractor = DirectCompletion(extractor, SessionMemory, settings.reflector)
        self._prompts = load_prompts()
        self._swept: tuple[SessionKey, SessionRecord] | None = None
        self._work: asyncio.Task[int] | None = None

    async def was_reset(self, key: SessionKey) -> None:
        """Offload what came before a reset; if that fails, once the session is idle."""
        if self._container.settings.offload:
            await self._tried("offload", self._offload, key)

    async def forget(self, key: SessionKey, *, keep_notes: bool) -> bool:
        """Delete a session; whether anything of it was held.

        With consent, what long-term memory extracts of it stays. Raises StoreError.
        """
        outliving = None
        if keep_notes:
            outliving = await outliving_notes(
                self._container, key, completion=self._extractor, prompt=self._prompts.extractor
            )
        dropped = False
        if not is_beside(self._sessions, self._container.database):
            dropped = await drop_session(self._sessions, key)
        return await delete_session(self._container, key, outliving=outliving) or dropped

    async def housekeep(self) -> int:
        """Summarise and offload what is due; how many sessions.

        What was started after a turn is finished first, and counts. Raises StoreError when the
        sessions cannot be read.
        """
        if (started := self._running()) is None:
            return await self._keep_house()
        await asyncio.wait([started])
        done = 0 if started.cancelled() else started.result()
        return done + await self._keep_house()

    def wake(self) -> None:
        """Let background work go on, unless it does already, for this app or another one."""
        self._work = begin_work(self._container, self._housekeep) or self._work

    async def close(self) -> None:
        """End background work, which gets the time of a shutdown, and close its models."""
        await self.rest(self._container.settings.limits.shutdown_grace_s)
        for model in self._models:
            if isinstance(model, ResilientLlm):
                await model.aclose()

    async def rest(self, grace_s: float) -> None:
        """Wait for background work, then cancel it; what is left is done another time."""
        if (work := self._running()) is None:
            return
        _, late = await asyncio.wait([work], timeout=grace_s)
        for task in late:
            task.cancel()
            await asyncio.wait([task])

    @asynccontextmanager
    async def keeping_house(
        self, *, every_s: float, beside: Callable[[], None]
    ) -> AsyncIterator[None]:
        """Do background work, and what goes `beside` it, every `every_s` seconds while open."""

        async def keep() -> None:
            while True:
                self.wake()
                beside()
                await asyncio.sleep(every_s)

        keeping = asyncio.create_task(keep())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    def _running(self) -> asyncio.Task[int] | None:
        """The background work that runs, and whose loop does: it may be waited for."""
        work = self._work
        if work is None or work.done() or work.get_loop() is not asyncio.get_running_loop():
            return None
        return work

    async def _housekeep(self) -> int:
        try:
            return await self._keep_house()
        except Exception as error:  # noqa: BLE001 - nobody waits for this; it is due again
            _warn("housekeeping_failed", error)
        return 0

    async def _keep_house(self) -> int:
        done = 0
        while self._container.unsummarised:
            key = self._container.unsummarised.pop()
            done += await self._tried("summary", self._summarise, key)
        return done + await self._offload_idle()

    async def _offload_idle(self) -> int:
        settings = self._container.settings
        if not settings.offload or not settings.idle_s:
            return 0
        done = 0
        for _ in range(_PAGES):
            now = self._container.clock.now()
            idle = await self._container.directory.idle(
                self._app,
                since=now - timedelta(seconds=settings.idle_s),
                limit=_BATCH,
                after=self._swept,
            )
            self._swept = idle[-1] if len(idle) == _BATCH else None
            for key, record in idle:
                if await self._container.directory.claim(key, record, now=now, lease_s=LEASE_S):
                    done += await self._tried("offload", self._offload, key)
            if self._swept is None:
                break
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
                Past(
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


class Upkeep:
    """Wakes background work after turns: that of a Conversation, where there is one."""

    def __init__(self, container: Container, models: Mapping[Role, BaseLlm]) -> None:
        """`models` summarise and extract; whoever made them closes them."""
        self._container, self._models = container, models
        self._own: dict[str, SessionLife] = {}
        self._given: dict[str, SessionLife] = {}

    def left_to(self, app: str, life: SessionLife) -> None:
        """From now on, wake that life for the sessions of an app; its owner ends it."""
        self._given[app] = life

    def after_turn(self, app: str) -> None:
        """Let background work go on, in a task of its own, unless it does already."""
        life = self._given.get(app) or self._own.get(app)
        if life is None:
            sessions = open_session_service(self._container)
            life = SessionLife(self._container, app, sessions, models=self._models)
            self._own[app] = life
        life.wake()

    async def close(self) -> None:
        """End background work, which gets the time of a shutdown; the rest is done later."""
        for life in self._own.values():
            await life.rest(self._container.settings.limits.shutdown_grace_s)
