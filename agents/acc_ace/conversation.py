"""Turns of the app through ADK's Runner: what the terminal and the server talk to."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, suppress
from typing import Any

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.models import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.genai import types

from acc_ace.adk.answer_feedback import FeedbackLearner
from acc_ace.adk.artifact_services import artifact_service, memory_service
from acc_ace.adk.bounded_turn import BoundedTurn, turn_taker
from acc_ace.adk.session_lifecycle import SessionMaintenance
from acc_ace.adk.session_turns import ensure_session, session_deleted_error
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.adk.sessions.session_services import NO_EVENTS
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.adk.turn_report import TurnRepeated, repeated_event, repeated_turn
from acc_ace.adk.user_content import confirmation_content, input_content
from acc_ace.adk.user_data_service import UserDataService
from acc_ace.bootstrap import build_container
from acc_ace.config import Role, Settings, load_settings
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.artifact import Artifact, Erased
from acc_ace.core.schemas.base import Authority, Name, PlaybookScope, SessionKey, Tenant
from acc_ace.core.schemas.commit import CommittedState, ConstraintPin, JournalEntry
from acc_ace.core.schemas.cost import SessionCost
from acc_ace.core.schemas.interaction import Attachment
from acc_ace.core.schemas.playbook import DeltaRecord, StoredPlaybook
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.core.schemas.report import (
    FeedbackReport,
    ReportedCheck,
    TurnDone,
    TurnEvent,
    TurnReport,
)
from acc_ace.core.text.arguments import Count, Seconds, checked_entries
from acc_ace.core.text.input_checks import check_key, check_request_id, take_input
from acc_ace.errors import AccAceError, ConfigError, InputError, NotFoundError
from acc_ace.pipeline import APP_NAME, build_app
from acc_ace.turn.erasing import erase_artifacts
from acc_ace.turn.learning_queue import TurnLearning
from acc_ace.turn.rule_service import RuleService
from acc_ace.turn.session_changes import Rollback, edit_state
from acc_ace.turn.turn_record import TurnOptions

logger = logging.getLogger(__name__)

__all__ = ["APP_NAME", "Conversation"]


@checked_entries
class Conversation:
    """Runs turns, one at a time per session, and maintains their memory."""

    def __init__(
        self,
        container: Container,
        *,
        app: App | None = None,
        session_service: BaseSessionService | None = None,
        models: Mapping[Role, BaseLlm] | None = None,
    ) -> None:
        self._container = container
        self._app = app or build_app(container, models)
        self._sessions = session_service or open_session_service(container)
        self._runner = Runner(
            app=self._app,
            session_service=self._sessions,
            memory_service=memory_service(container),
            artifact_service=artifact_service(container.files),
        )
        self._taker = turn_taker(self._app)
        self._maintenance = (
            self._taker.maintenance
            if self._taker is not None
            else SessionMaintenance(container, models=models)
        )
        self._rollback = Rollback(container)
        self._rules = RuleService(container)
        self._feedback = FeedbackLearner(container, models=models)
        self._users = UserDataService(container, self._sessions, self._app.name)
        self._learns = False

    @classmethod
    def from_settings(cls, chosen: Settings | None = None) -> "Conversation":
        """A conversation over the settings of the environment, or `chosen` ones.

        Raises ConfigError or StoreError.
        """
        return cls(build_container(load_settings() if chosen is None else chosen))

    @property
    def container(self) -> Container:
        """The stores and settings behind this conversation."""
        return self._container

    @property
    def rules(self) -> RuleService:
        """Lists and corrects the rules of a session for its owner, outside of a turn."""
        return self._rules

    async def checks(self, pins: Sequence[ConstraintPin]) -> Mapping[str, list[ReportedCheck]]:
        """What rules do at the tools of the app, in words, by the rule's id."""
        return await self._taker.guard.checks(pins) if self._taker is not None else {}

    async def stream(
        self,
        key: SessionKey,
        text: str,
        *,
        authority: Authority = Authority.USER,
        attachments: Sequence[Attachment] = (),
        judgement: Judgement | None = None,
        idempotency_key: str = "",
    ) -> AsyncIterator[TurnEvent]:
        """Run a turn and yield its events as they happen; creates the session if it is new.

        `attachments` are text by others: they can neither set nor release rules. `judgement`
        is the expected answer or its reward, given in advance: only Reflector and Curator see it.
        Closing the iterator before the answer cancels the turn, which then leaves CCS_{t-1}. A
        turn committed under the same `idempotency_key` is reported again, and runs nothing.
        Raises InputError, also for a session of another app, SpendingCeilingError,
        SessionBusyError, CommitRejected, ModelError or StoreError.
        """
        self._check_own(key)
        check_request_id(idempotency_key)
        limits = self._container.settings.limits
        turn_input = take_input(text, authority, limits, attachments=attachments)
        evidence = self._container.evidence
        if not idempotency_key or await evidence.of_request(key, idempotency_key) is None:
            # The turn asks once more; but what it raises under ADK, ADK logs with a trace.
            await self._container.spending.require_room(key.tenant)
        request = TurnOptions(idempotency_key=idempotency_key, input=turn_input)
        content, state = input_content(turn_input), _state_of(authority, judgement)
        events = self._events(key, request, content, state)
        async with aclosing(events):
            async for event in events:
                yield event

    async def confirm(
        self, key: SessionKey, answers: Mapping[str, bool]
    ) -> AsyncIterator[TurnEvent]:
        """Go on with a paused turn: whether each call of `TurnPaused.calls` may run, by its id.

        Raises as `stream` does, and ConflictError for an answer that was given before.
        """
        self._check_own(key)
        events = self._events(key, TurnOptions(), confirmation_content(answers), {})
        async with aclosing(events):
            async for event in events:
                yield event

    async def turn(
        self,
        key: SessionKey,
        text: str,
        *,
        authority: Authority = Authority.USER,
        attachments: Sequence[Attachment] = (),
        judgement: Judgement | None = None,
        idempotency_key: str = "",
    ) -> TurnReport:
        """Run a turn to its end, learning included; or report it again, as `stream` does."""
        report: TurnReport | None = None
        events = self.stream(
            key,
            text,
            authority=authority,
            attachments=attachments,
            judgement=judgement,
            idempotency_key=idempotency_key,
        )
        async for event in events:
            if isinstance(event, TurnDone):
                report = event.report
        if report is None:
            raise NotFoundError(f"the turn of session '{key.session}' waits for a tool's answer")
        return report

    async def state(self, key: SessionKey) -> CommittedState | None:
        """The session's current state, or None before its first turn."""
        head = await self._container.journal.head(key)
        return head.state if head else None

    async def history(
        self, key: SessionKey, *, limit: Count = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """A page of the journal, newest first."""
        journal = self._container.journal
        return await journal.history(key, limit=limit, before_version=before_version)

    async def cost(self, key: SessionKey, *, limit: Count = 50, before: int) -> SessionCost:
        """What a session cost, by stage and by turn, turns before `before`. Raises NotFoundError.

        A session without a model call is not known.
        """
        return await self._container.spending.session(key, limit=limit, before=before)

    async def edit(
        self, key: SessionKey, fields: Mapping[str, object], *, expected_version: int
    ) -> CommittedState:
        """Rewrite fields of the state as a new version; raises as `edit_state` does."""
        async with self._hold(key):
            return await edit_state(self._container, key, fields, expected_version=expected_version)

    async def rollback(self, key: SessionKey, version: int) -> CommittedState:
        """Go back to a version's content, as a new version. Raises NotFoundError."""
        async with self._hold(key):
            return await self._rollback.to_version(key, version)

    async def undo(self, key: SessionKey, *, turn: int | None = None) -> CommittedState:
        """Undo the last turn, or the rule changes since. Raises NotFoundError for neither.

        With `turn` only if that is the last one, or was already undone, so that a retry is safe;
        raises ConflictError otherwise.
        """
        async with self._hold(key):
            return await self._rollback.before_last_turn(key, turn)

    async def reset(self, key: SessionKey) -> None:
        """Reset the session's state to CCS_0. Evidence and profile stay."""
        await self._maintenance.before_reset(key)
        async with self._hold(key):
            was_there = await self._rollback.to_start(key) is not None
        if was_there:
            await self._maintenance.was_reset(key)

    async def housekeep(self) -> int:
        """Offload due sessions, idle ones included; return how many."""
        return await self._maintenance.run_due(self._app.name)

    def keeping_house(self, *, every_s: Seconds = 30.0) -> AbstractAsyncContextManager[None]:
        """Do background work every `every_s` seconds while the context is open.

        With background learning its jobs are run too, until learning is stopped; also after the
        app of this process that ran them is closed.
        """
        self.start_learning()
        return self._maintenance.ticking(
            self._app.name, every_s=every_s, beside=self._restart_learning
        )

    async def remember(self, tenant: Tenant, documents: Sequence[Artifact]) -> None:
        """Add documents to a user's external memory."""
        await self._container.artifacts.add(
            [document.model_copy(update={"tenant": tenant}) for document in documents]
        )

    async def erase_artifacts(
        self, tenant: Tenant, ids: Sequence[str], *, dry_run: bool = False
    ) -> Erased:
        """Delete artifacts of a user's memory and what rests on them, or only list it.

        Raises NotFoundError, SessionBusyError or StoreError.
        """
        return await erase_artifacts(self._container, tenant, ids, dry_run=dry_run)

    async def erase(self, tenant: Tenant) -> dict[str, int]:
        """Delete all data of a user; return the counts by kind.

        All or nothing, except files. Raises SessionBusyError while a turn of the user runs for too
        long, or StoreError.
        """
        return await self._users.erase_from(tenant)

    def export(self, tenant: Tenant) -> AsyncIterator[dict[str, Any]]:
        """Export all data of a user, record by record, each with its `kind`."""
        return self._users.export_from(tenant)

    async def erase_user(self, user: Name, *, app: Name | None = None) -> dict[str, dict[str, int]]:
        """Delete a user's data in an app, or in every app; return the counts by app and kind.

        Raises StoreError as `erase` does.
        """
        return await self._users.erase(user, app=app)

    def export_user(self, user: Name, *, app: Name | None = None) -> AsyncIterator[dict[str, Any]]:
        """Export a user's data in an app, or in every app; each starts with a record `user`."""
        return self._users.export(user, app=app)

    async def forget_session(self, key: SessionKey, *, keep_notes: bool = False) -> bool:
        """Delete one session with its journal, evidence and artifacts; return whether it existed.

        With `keep_notes`, the user's consent, the notes extracted from it are kept. All or
        nothing, except files.
        """
        async with self._hold(key):
            return await self._maintenance.forget(self._sessions, key, keep_notes=keep_notes)

    async def sessions(
        self, tenant: Tenant, *, limit: Count = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """A page of a user's sessions with their newest journal entry."""
        return await self._container.journal.sessions(tenant, limit=limit, before=before)

    async def playbook(self) -> StoredPlaybook:
        """The app's current playbook."""
        return await self._container.playbooks.load(PlaybookScope(APP_NAME))

    async def deltas(
        self, *, limit: Count = 50, before: int | None = None
    ) -> Sequence[DeltaRecord]:
        """A page of the delta log, newest first."""
        return await self._container.playbooks.deltas(
            PlaybookScope(APP_NAME), limit=limit, before=before
        )

    async def feedback(
        self, key: SessionKey, turn: int, judgement: Judgement, *, given_id: str = ""
    ) -> FeedbackReport:
        """Store feedback on an answered turn and learn from it; `given_id` makes it idempotent.

        Raises NotFoundError, InputError, SessionBusyError, ConflictError or StoreError.
        """
        check_key(key)
        self.start_learning()
        return await self._feedback.take(key, turn, judgement, given_id=given_id)

    def start_learning(self) -> None:
        """With background learning, start the worker; it also runs jobs of earlier processes."""
        if (learning := self._learning) is not None:
            learning.start()
            self._learns = True

    async def stop_learning(self, *, finish_s: float = 0.0) -> int:
        """Stop background learning; return the jobs left for the next start, -1 if unknown.

        First wait at most `finish_s` seconds until no job is left.
        """
        if (learning := self._learning) is None:
            return 0
        self._learns = False
        if finish_s:
            await learning.finish(finish_s)
        return await learning.stop()

    async def close(self) -> None:
        """Close the runner, the models, the sessions and the stores.

        Background work gets a grace period; the next process does the rest.
        """
        # Closed in reverse order; a failure does not leave the others open.
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self._container.close)
            if isinstance(self._sessions, SqlSessionService):
                closing.push_async_callback(self._sessions.close)
            if isinstance(self._app.root_agent, BoundedTurn):
                closing.push_async_callback(self._app.root_agent.close)
            closing.push_async_callback(self._runner.close)
            closing.push_async_callback(self._feedback.close)
            closing.push_async_callback(self._maintenance.close)
            closing.push_async_callback(self.stop_learning)

    def _restart_learning(self) -> None:
        if self._learns:
            # Reported when maintenance started and by each turn; a later attempt may succeed.
            with suppress(ConfigError):
                self.start_learning()

    @property
    def _learning(self) -> TurnLearning | None:
        root = self._app.root_agent
        return root.learning if isinstance(root, BoundedTurn) else None

    def _check_own(self, key: SessionKey) -> None:
        check_key(key)
        if key.app != self._app.name:
            raise InputError(
                f"session '{key.session}' is of the app '{key.app}', and this conversation runs "
                f"'{self._app.name}'; use a session of that app"
            )

    async def _events(
        self,
        key: SessionKey,
        request: TurnOptions,
        message: types.Content,
        state: dict[str, Any],
    ) -> AsyncGenerator[TurnEvent, None]:
        queue: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
        request = request._replace(listener=queue.put_nowait)
        task = asyncio.create_task(self._run(key, request, message, state, queue))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def _run(
        self,
        key: SessionKey,
        request: TurnOptions,
        message: types.Content,
        state: dict[str, Any],
        queue: "asyncio.Queue[TurnEvent | None]",
    ) -> None:
        try:
            if (repeated := await repeated_turn(self._container, key, request)) is not None:
                queue.put_nowait(repeated)
                return
            await ensure_session(self._sessions, key)
            if self._taker is not None:
                self._taker.records.request(key, request)
            is_alone = request.input is not None and isinstance(self._app.root_agent, BoundedTurn)
            async for _ in self._runner.run_async(
                user_id=key.user,
                session_id=key.session,
                new_message=message,
                state_delta=dict(state),
                run_config=_ALONE if is_alone else _AS_BOUNDED,
            ):
                pass
        except SessionNotFoundError as error:
            raise session_deleted_error(key) from error
        except RuntimeError as error:
            # ADK wraps what a plugin raises.
            if isinstance(error.__cause__, TurnRepeated):
                queue.put_nowait(await repeated_event(self._container, key, error.__cause__.kept))
            elif isinstance(error.__cause__, AccAceError):
                raise error.__cause__ from None
            else:
                raise
        finally:
            queue.put_nowait(None)
        if self._taker is None:
            self._maintenance.wake(self._app.name)

    def _hold(self, key: SessionKey) -> AbstractAsyncContextManager[None]:
        return self._container.lock.hold(key, wait_s=self._container.settings.limits.turn_wait_s)


def _state_of(authority: Authority, judgement: Judgement | None) -> dict[str, Any]:
    """The caller's options for a turn, as keys of its state that last for the turn."""
    judged = {} if judgement is None else judgement.judgement()
    return {keys.INPUT_AUTHORITY: authority.value} | {f"temp:{k}": v for k, v in judged.items()}


_ALONE = RunConfig(streaming_mode=StreamingMode.SSE, get_session_config=NO_EVENTS)
"""The pipeline reads no past events, so none are loaded: cost stays flat as the session grows."""

_AS_BOUNDED = RunConfig(streaming_mode=StreamingMode.SSE)
"""ADK looks among the events for the call that a person answers and for who answered last."""
