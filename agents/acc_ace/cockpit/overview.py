"""What the page shows of a session at all times: its state, and how full its last request was."""

import re
from typing import Final

from fastapi import APIRouter
from pydantic import BaseModel, Field

from acc_ace.core.schemas.base import SessionKey
from acc_ace.server.routes.session_routes import State
from acc_ace.server.server_context import Context, Key, ServerContext

router = APIRouter(prefix="/ui/sessions", include_in_schema=False)

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


@router.get("/{session}")
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
