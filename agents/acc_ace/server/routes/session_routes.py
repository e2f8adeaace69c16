"""Routes that read a session's state and take it back."""

from datetime import datetime
from typing import Annotated, Any, Final, Self

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from acc_ace.adk.turn_report import reported_constraints, reported_questions
from acc_ace.core.gates.ccs_budget import ccs_tokens
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    GoalPin,
    JournalEntry,
)
from acc_ace.core.schemas.cost import SessionCost
from acc_ace.core.schemas.report import ReportedConstraint, ReportedQuestion
from acc_ace.errors import NotFoundError
from acc_ace.server.server_context import NAME_LENGTH, Context, CurrentTenant, Key, ServerContext

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

PAGE_LIMIT = 200

MOST_VERSIONS: Final = 2_147_483_647
"""What every database can count to."""

Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT, description="Items per page.")]


class State(BaseModel):
    """A version of a session's state: the nine fields, and what the commit gate keeps by them."""

    session: str
    version: int
    turn: int
    ccs: CompressedCognitiveState
    constraints: list[ReportedConstraint] = Field(description="Active constraints.")
    questions: list[ReportedQuestion] = Field(
        description="What waits for the user's yes or no, oldest first."
    )
    goal: GoalPin | None
    tokens: int = Field(description="Tokens of the nine fields.")
    digest: str = Field(description="SHA-256 of the version.")

    @classmethod
    def of(cls, session: str, state: CommittedState) -> Self:
        """The public view of a committed state."""
        return cls(
            session=session,
            version=state.version,
            turn=state.turn,
            ccs=state.ccs,
            constraints=reported_constraints(state.pins),
            questions=reported_questions(state),
            goal=state.goal_pin,
            tokens=ccs_tokens(state.ccs),
            digest=state.digest,
        )


class Version(BaseModel):
    """A journal entry: what a commit changed, and the state after it."""

    version: int
    turn: int
    kind: CommitKind
    created_at: datetime
    ccs: CompressedCognitiveState
    diff: CcsDiff
    warnings: list[str]
    why_asked: str = Field(
        description="Why the Compressor's model was asked; empty where code carried the state on."
    )

    @classmethod
    def of(cls, entry: JournalEntry) -> Self:
        """The public view of a journal entry."""
        return cls(
            version=entry.state.version,
            turn=entry.state.turn,
            kind=entry.kind,
            created_at=entry.created_at,
            ccs=entry.state.ccs,
            diff=entry.diff,
            warnings=entry.warnings,
            why_asked=entry.why_asked,
        )


class JournalPage(BaseModel):
    """A page of versions, newest first."""

    items: list[Version]
    next_before: int | None = Field(description="`before` of the next page; null on the last one.")


class SessionSummary(BaseModel):
    """A session in a list."""

    session: str
    turn: int
    version: int
    gist: str = Field(description="What the session is about now.")
    updated_at: datetime

    @classmethod
    def of(cls, session: str, entry: JournalEntry) -> "SessionSummary":
        """The public view of a session by its newest journal entry."""
        return SessionSummary(
            session=session,
            turn=entry.state.turn,
            version=entry.state.version,
            gist=entry.state.ccs.semantic_gist,
            updated_at=entry.created_at,
        )


class SessionPage(BaseModel):
    """A page of sessions, most recently changed first."""

    items: list[SessionSummary]
    next_before: str | None = Field(description="`before` of the next page; null on the last one.")


class RollbackRequest(BaseModel):
    """The version to restore."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"version": 3}]})

    version: int = Field(ge=1, le=MOST_VERSIONS, description="A version of the session's history.")


@router.get("", summary="List sessions")
async def list_sessions(
    context: Context,
    tenant: CurrentTenant,
    *,
    limit: Limit = 50,
    before: Annotated[str | None, Query(max_length=NAME_LENGTH)] = None,
) -> SessionPage:
    """List your sessions that have a state, most recently changed first."""
    rows = await context.conversation.sessions(tenant, limit=limit, before=before)
    items = [SessionSummary.of(session, entry) for session, entry in rows]
    return SessionPage(items=items, next_before=items[-1].session if len(items) == limit else None)


@router.get("/{session}/ccs", summary="Read the state")
async def read_state(context: Context, key: Key) -> State:
    """The Compressed Cognitive State after the last turn."""
    return State.of(key.session, await current_state(context, key))


@router.get("/{session}/ccs/history", summary="Read the history")
async def read_history(
    context: Context,
    key: Key,
    *,
    limit: Limit = 50,
    before: Annotated[
        int | None, Query(ge=1, le=MOST_VERSIONS, description="Only older versions.")
    ] = None,
) -> JournalPage:
    """Every version of the state with what it changed, newest first."""
    await current_state(context, key)
    entries = await context.conversation.history(key, limit=limit, before_version=before)
    items = [Version.of(entry) for entry in entries]
    more = len(items) == limit and items[-1].version > 1
    return JournalPage(items=items, next_before=items[-1].version if more else None)


@router.get(
    "/{session}/ccs/versions/{version}",
    summary="Read a version",
)
async def read_version(
    context: Context, key: Key, version: Annotated[int, Path(ge=1, le=MOST_VERSIONS)]
) -> Version:
    """One version of the state with what it changed."""
    entry = await context.container.journal.get(key, version)
    if entry is None:
        raise NotFoundError(f"session '{key.session}' has no version {version}")
    return Version.of(entry)


@router.get("/{session}/cost", summary="Read the cost")
async def read_cost(
    context: Context,
    key: Key,
    *,
    limit: Limit = 50,
    before: Annotated[
        int, Query(ge=1, le=MOST_VERSIONS, description="Only earlier turns.")
    ] = MOST_VERSIONS,
) -> SessionCost:
    """What the session cost by stage and by turn, and what replaying it would have cost.

    Turns come newest first. Prices are list prices of a date; an unknown one is null, never 0.
    """
    return await context.conversation.cost(key, limit=limit, before=before)


class StateEditRequest(BaseModel):
    """New values of fields of the state."""

    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1, le=MOST_VERSIONS, description="The version that was edited.")
    fields: dict[str, Any] = Field(
        description="Any of the nine fields but `constraints`, each as a whole."
    )


@router.patch("/{session}/ccs", summary="Edit the state")
async def edit(context: Context, key: Key, body: StateEditRequest) -> State:
    """Rewrite fields of the state, as a new version by the user; the history is kept.

    Text over a field's budget is refused with `422`, not cut.
    """
    state = await context.conversation.edit(key, body.fields, expected_version=body.version)
    return State.of(key.session, state)


@router.post("/{session}/rollback", summary="Roll back")
async def roll_back(context: Context, key: Key, body: RollbackRequest) -> State:
    """Restore a version, as a new version; the history is kept."""
    return State.of(key.session, await context.conversation.rollback(key, body.version))


@router.post("/{session}/undo", summary="Undo a turn")
async def undo(
    context: Context,
    key: Key,
    *,
    turn: Annotated[
        int | None,
        Query(
            ge=1,
            le=MOST_VERSIONS,
            description="Undo this turn only, which makes the request idempotent.",
        ),
    ] = None,
) -> State:
    """Undo the last turn, or the rules changed since. Name it in `turn` to make a retry safe.

    `409` when `turn` is not the last one.
    """
    return State.of(key.session, await context.conversation.undo(key, turn=turn))


@router.post(
    "/{session}/reset",
    summary="Reset the state",
    status_code=204,
    response_class=Response,
)
async def reset(context: Context, key: Key) -> None:
    """Clear the state, constraints included. History and evidence are kept."""
    await current_state(context, key)
    await context.conversation.reset(key)


@router.delete(
    "/{session}",
    summary="Delete a session",
    status_code=204,
    response_class=Response,
)
async def delete(
    context: Context,
    key: Key,
    *,
    keep_notes: Annotated[
        bool,
        Query(description="With consent, keep the session's entities, preferences and lessons."),
    ] = False,
) -> None:
    """Delete the session with its state, history, evidence and artifacts.

    If that fails half-way, sending it again deletes the rest.
    """
    if not await context.conversation.forget_session(key, keep_notes=keep_notes):
        raise _no_session(key)


async def current_state(context: ServerContext, key: SessionKey) -> CommittedState:
    """The state of a session. Raises NotFoundError for one that this user does not have."""
    state = await context.conversation.state(key)
    if state is None:
        raise _no_session(key)
    return state


def _no_session(key: SessionKey) -> NotFoundError:
    return NotFoundError(f"no session '{key.session}' of this user; its first turn creates it")
