"""What the page shows at a glance: how full a session's context is, and who uses the server."""

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from acc_ace.core.schemas.base import SessionKey
from acc_ace.server.routes.session_routes import State
from acc_ace.server.server_context import NAME_LENGTH, Context, Key, Operator, ServerContext

router = APIRouter(prefix="/ui", include_in_schema=False)

_WINDOWS: Final = {r"gemini-[23].*": 1_048_576, r"gemma-3.*": 131_072, r"claude-cli/.*": 200_000}
"""Input tokens of models whose window is documented; as of 2026-11."""


class LastRequest(BaseModel):
    """The request that the last turn was answered with."""

    model: str
    tokens: int = Field(description="Tokens read, as the provider counts them.")
    window: int | None = Field(description="Most tokens that the model reads; null if unknown.")


class Overview(BaseModel):
    """A session at a glance. A session that is new has no state, which is no error here."""

    state: State | None
    request: LastRequest | None = Field(description="Null where requests are not kept.")
    budget: int = Field(description="Most tokens of a state.")


@router.get("/sessions/{session}")
async def overview(context: Context, key: Key) -> Overview:
    """The state after the last turn, and the size of its request."""
    state = await context.conversation.state(key)
    return Overview(
        state=None if state is None else State.of(key.session, state),
        request=None if state is None else await _last_request(context, key, state.turn),
        budget=context.container.settings.limits.ccs_tokens,
    )


async def _last_request(context: ServerContext, key: SessionKey, turn: int) -> LastRequest | None:
    traces = await context.container.traces.of_turn(key, turn)
    calls = [call for trace in traces for call in trace.calls if call.stage == "generator"]
    if not calls:
        return None
    model = calls[-1].model
    windows = (size for name, size in _WINDOWS.items() if re.fullmatch(name, model))
    return LastRequest(model=model, tokens=calls[-1].tokens.input, window=next(windows, None))


_USERS: Final = """
    SELECT id, app, user_id,
           (SELECT count(*) FROM session_directory d WHERE d.app = t.app AND d.user_id = t.user_id),
           (SELECT max(active_at) FROM session_directory d
             WHERE d.app = t.app AND d.user_id = t.user_id)
      FROM tenants t
     WHERE id < ? AND (app LIKE ? ESCAPE '!' OR user_id LIKE ? ESCAPE '!')
     ORDER BY id DESC LIMIT ?
"""
_MOST: Final = 2**62


class UserRow(BaseModel):
    """A user of an app: the name, and how much there is; nothing of what was said."""

    id: int
    app: str
    user: str
    sessions: int
    active_at: datetime | None


class UserPage(BaseModel):
    """A page of users, the newest first."""

    items: list[UserRow]
    next_before: int | None = Field(description="`before` of the next page; null on the last one.")


@router.get("/users")
async def users(
    context: Context,
    _operator: Operator,
    *,
    words: Annotated[str, Query(max_length=NAME_LENGTH)] = "",
    before: Annotated[int, Query(ge=1, le=_MOST)] = _MOST,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> UserPage:
    """The users of every app whose name, or the app's, holds the words. For operators."""
    literal = re.sub("([!%_])", r"!\1", words)
    values = (before, f"%{literal}%", f"%{literal}%", limit + 1)
    rows = await context.container.database.read(lambda rows: rows.all(_USERS, values))
    items = [
        UserRow(
            id=number,
            app=app,
            user=user,
            sessions=sessions,
            active_at=None if at is None else datetime.fromtimestamp(at, UTC),
        )
        for number, app, user, sessions, at in rows[:limit]
    ]
    return UserPage(items=items, next_before=items[-1].id if len(rows) > limit else None)
