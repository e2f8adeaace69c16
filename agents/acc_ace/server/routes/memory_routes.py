"""Routes over a user's memory: search, export, erasure."""

import json
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from acc_ace.adk.user_data_service import total
from acc_ace.core.schemas.artifact import MemoryHits
from acc_ace.core.schemas.profile import Profile
from acc_ace.memory.memory_search import HITS, MOST_HITS, search_memory
from acc_ace.memory.profile import user_profile
from acc_ace.server.server_context import NAME_LENGTH, NAME_PATTERN, Context, CurrentTenant

router = APIRouter(prefix="/v1", tags=["memory"])

PREFIX: Final = "/v1/memory/documents"
"""Where documents are put, with an upload's bound on the body."""

_NDJSON: Final = "application/x-ndjson"


class ErasedView(BaseModel):
    """How much was deleted of each store."""

    deleted: dict[str, int] = Field(description="Totals over all apps.")
    apps: dict[str, dict[str, int]] = Field(description="Counts by app, for apps with data.")


_App = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description="Limit to one app (default: all).",
    ),
]


_Query = Annotated[str, Query(min_length=1, max_length=4_000, description="Words to look for.")]
_Limit = Annotated[int, Query(ge=1, le=MOST_HITS, description="Maximum hits.")]


@router.get("/memory/search", summary="Search memory")
async def get_hits(
    context: Context, tenant: CurrentTenant, q: _Query, limit: _Limit = HITS
) -> MemoryHits:
    """What your memory holds about something, best first: also what no model is shown, and why."""
    return await search_memory(context.container, tenant, q, limit=limit)


@router.get("/memory/profile", summary="What is known of you")
async def get_profile(context: Context, tenant: CurrentTenant) -> Profile:
    """What you said of yourself, newest first: corrected and forgotten like any artifact."""
    return await user_profile(context.container, tenant)


@router.delete("/users/{user}", summary="Erase a user")
async def erase_user(
    context: Context,
    user: Annotated[str, Path(max_length=NAME_LENGTH, pattern=NAME_PATTERN)],
    app: _App = None,
) -> ErasedView:
    """Delete everything stored about a user, in every app. This cannot be undone."""
    # With tokens, the guard has made sure that the user of the path is the token's.
    erased = await context.conversation.erase_user(user, app=app)
    return ErasedView(deleted=total(erased), apps=erased)


@router.get(
    "/users/{user}/export",
    summary="Export a user",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One JSON record a line, each with its `kind`; the last is `end`.",
            "content": {_NDJSON: {"schema": {"type": "string"}}},
        },
    },
)
async def export_user(
    context: Context,
    user: Annotated[str, Path(max_length=NAME_LENGTH, pattern=NAME_PATTERN)],
    app: _App = None,
) -> StreamingResponse:
    """Export all data about a user, in every app. Incomplete without a last record `end`."""
    records = context.conversation.export_user(user, app=app)
    return StreamingResponse(
        (f"{json.dumps(record, ensure_ascii=True)}\n" async for record in records),
        media_type=_NDJSON,
    )
