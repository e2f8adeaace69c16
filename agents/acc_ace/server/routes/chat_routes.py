"""Routes that show what was said: the apps of a user, a session, and a session's turns."""

import json
from datetime import datetime
from typing import Annotated, Final, Literal, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.cost import CostOfTurn
from acc_ace.core.schemas.interaction import GuardDecision, Interaction, Outcome
from acc_ace.core.schemas.reflection import Feedback
from acc_ace.core.schemas.report import Money
from acc_ace.errors import NotFoundError
from acc_ace.server.routes.session_routes import (
    MOST_VERSIONS,
    PAGE_LIMIT,
    Limit,
    SessionSummary,
    current_state,
)
from acc_ace.server.server_context import NAME_LENGTH, Context, Key, User

apps_router = APIRouter(prefix="/v1/apps", tags=["sessions"])

router = APIRouter(prefix="/v1/sessions/{session}", tags=["sessions"])

TEXT_CHARS: Final = 20_000
"""Characters of an input or answer that are shown."""

TOOL_CHARS: Final = 500
"""Characters of a tool's arguments or result that are shown."""


@apps_router.get("", summary="List the apps")
async def list_apps(context: Context, user: User) -> list[str]:
    """This app, and those with the memory plugin that have anything of yours; for `?app=`."""
    return sorted({APP_NAME, *await context.container.erasure.apps(user)})


class SessionView(SessionSummary):
    """One session."""

    app: str
    created_at: datetime
    rules: int = Field(description="Number of rules in force.")
    questions: int = Field(description="Number of open questions.")
    cost: Money = Field(description="All model calls of the session so far.")
    replay: Money = Field(description="Replaying its transcript, at least.")


@router.get("", summary="Read a session")
async def read_session(context: Context, key: Key) -> SessionView:
    """What the session is about, how far it has come, and what it has cost."""
    await current_state(context, key)
    entry = await context.container.journal.head(key)
    record = await context.container.directory.find(key)
    if entry is None or record is None:
        raise NotFoundError(f"session '{key.session}' was deleted just now")
    rules = await context.conversation.rules.state(key)
    totals = await context.container.spending.store.of_session(key)
    return SessionView(
        **dict(SessionSummary.of(key.session, entry)),
        app=key.app,
        created_at=record.created_at,
        rules=len(rules.pins),
        questions=len(rules.questions),
        cost=totals.spent,
        replay=totals.replay,
    )


class InputView(BaseModel):
    """What arrived before the agent acted."""

    text: str
    authority: Authority
    attachments: list[str] = Field(description="Where each attached text is from.")


class ToolView(BaseModel):
    """A tool call in short."""

    id: str
    name: str
    arguments: str = Field(description="As JSON.")
    result: str | None = Field(description="Null without one.")
    is_error: bool


class TurnView(BaseModel):
    """One turn as it was said. Long texts are cut, with '…' at the end."""

    id: str = Field(description="`cursor` of the turns beyond it.")
    turn: int
    at: datetime
    outcome: Outcome
    input: InputView
    answer: str = Field(description="Without the notes; empty for a turn without an answer.")
    notes: list[str] = Field(description="What the answer said of rules and questions below it.")
    tools: list[ToolView]
    guarded: list[GuardDecision] = Field(description="Tool calls checked against the rules.")
    feedback: list[Feedback]
    ccs_version: int = Field(description="Version of the state that it was answered with.")
    playbook_version: int
    models: dict[str, str]
    cost: CostOfTurn | None = Field(
        description="All runs of a turn of this number; null if no model was called."
    )

    @classmethod
    def of(cls, turn: Interaction, cost: CostOfTurn | None) -> Self:
        """The public view of a turn as it was kept."""
        text = turn.input
        return cls(
            id=turn.invocation_id,
            turn=turn.turn,
            at=turn.created_at,
            outcome=turn.outcome,
            input=InputView(
                text=_cut(text.text, TEXT_CHARS),
                authority=text.authority,
                attachments=[_cut(given.source, TOOL_CHARS) for given in text.attachments],
            ),
            answer=_cut(turn.answer, TEXT_CHARS),
            notes=turn.notes,
            tools=_tools(turn),
            guarded=turn.guarded,
            feedback=list(turn.feedback),
            ccs_version=turn.ccs_version,
            playbook_version=turn.playbook_version,
            models=turn.models,
            cost=cost,
        )


class TurnPage(BaseModel):
    """A page of turns in the order asked for."""

    items: list[TurnView]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last one.")


@router.get("/turns", summary="List the turns")
async def list_turns(
    context: Context,
    key: Key,
    *,
    order: Annotated[
        Literal["newest", "oldest"], Query(description="Which turns come first.")
    ] = "newest",
    limit: Limit = 50,
    cursor: Annotated[
        str | None,
        Query(min_length=1, max_length=4 * NAME_LENGTH, description="Only turns beyond."),
    ] = None,
    before: Annotated[
        int | None, Query(ge=1, le=MOST_VERSIONS, description="Only turns of a smaller number.")
    ] = None,
) -> TurnPage:
    """The turns of a session as they were said, failed and undone ones included.

    `404` for a `cursor` that the session does not have, as after it was deleted.
    """
    await current_state(context, key)
    evidence = context.container.evidence
    if cursor is not None and await evidence.find(key, cursor) is None:
        raise NotFoundError(f"session '{key.session}' has no turn '{cursor}' to go on from")
    if order == "newest":
        turns = await evidence.list(key, limit=limit + 1, before_turn=before, before=cursor)
    else:
        turns = await evidence.list(key, limit=limit + 1, before_turn=before, after=cursor or "")
    shown = turns[:limit]
    numbers = [turn.turn for turn in shown] or [0]
    costs = await context.container.spending.turns(
        key,
        limit=min(max(numbers) - min(numbers) + 1, PAGE_LIMIT),
        before=max(numbers) + 1,
    )
    by_number = {cost.turn: cost for cost in costs}
    return TurnPage(
        items=[TurnView.of(turn, by_number.get(turn.turn)) for turn in shown],
        next_cursor=shown[-1].invocation_id if len(turns) > limit else None,
    )


def _tools(turn: Interaction) -> list[ToolView]:
    results = {result.tool_call_id: result for result in turn.tool_results}
    shown: list[ToolView] = []
    for call in turn.tool_calls:
        result = results.get(call.id)
        arguments = json.dumps(
            to_jsonable_python(call.args, serialize_unknown=True), ensure_ascii=False
        )
        shown.append(
            ToolView(
                id=call.id,
                name=call.name,
                arguments=_cut(arguments, TOOL_CHARS),
                result=None if result is None else _cut(result.result, TOOL_CHARS),
                is_error=result is not None and result.is_error,
            )
        )
    return shown


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"
