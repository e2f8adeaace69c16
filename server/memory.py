"""Routes that add documents to a user's memory, and that erase a user."""

import hashlib
import json
from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from acc_ace.whole_user import total
from schemas.artifact import Artifact, ArtifactKind
from schemas.authority import Authority
from schemas.tenancy import Tenant
from server.context import NAME_LENGTH, NAME_PATTERN, Context, CurrentTenant
from server.problems import documented
from server.text import Text

router = APIRouter(prefix="/v1", tags=["memory"])

_NDJSON: Final = "application/x-ndjson"


class Document(BaseModel):
    """A text to recall from. It is data, whatever it says; it can set no rule."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"content": "Fail over with `pg_ctl promote`.", "source": "runbook.md"}]
        },
    )

    content: Text = Field(min_length=1, description="The text.")
    source: Text = Field(min_length=1, max_length=1_024, description="Where it comes from.")
    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description="Name of yours; the same one again replaces the document.",
    )
    expires_at: AwareDatetime | None = Field(
        default=None, description="When it counts as stale, with time zone."
    )


class DocumentsRequest(BaseModel):
    """Documents to add, all or none."""

    model_config = ConfigDict(extra="forbid")

    documents: list[Document] = Field(min_length=1, max_length=100)


class DocumentsAdded(BaseModel):
    """Ids of the artifacts, in the order of the documents."""

    artifact_ids: list[str]


class Erased(BaseModel):
    """How much was deleted of each store."""

    deleted: dict[str, int] = Field(description="Of all apps together.")
    apps: dict[str, dict[str, int]] = Field(description="By app, for those that held anything.")


_App = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description="Only what this app holds; every app that holds anything otherwise.",
    ),
]


@router.post(
    "/documents",
    status_code=201,
    summary="Add documents",
    responses=documented(400, 401, 403, 413, 422, 503),
)
async def add_documents(
    context: Context, tenant: CurrentTenant, body: DocumentsRequest
) -> DocumentsAdded:
    """Add documents to your external memory; every session of yours may recall them."""
    now = context.container.clock.now()
    artifacts = [_artifact(document, tenant, now) for document in body.documents]
    await context.conversation.remember(tenant, artifacts)
    return DocumentsAdded(artifact_ids=[artifact.artifact_id for artifact in artifacts])


@router.delete("/users/{user}", summary="Erase a user", responses=documented(401, 403, 409, 503))
async def erase_user(
    context: Context,
    user: Annotated[str, Path(max_length=NAME_LENGTH, pattern=NAME_PATTERN)],
    app: _App = None,
) -> Erased:
    """Delete everything kept about a user, in every app. This cannot be undone."""
    # With tokens, the guard has made sure that the user of the path is the token's.
    erased = await context.conversation.erase_user(user, app=app)
    return Erased(deleted=total(erased), apps=erased)


@router.get(
    "/users/{user}/export",
    summary="Export a user",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One JSON record a line, each with its `kind`; the last is `end`.",
            "content": {_NDJSON: {"schema": {"type": "string"}}},
        },
        **documented(401, 403, 503),
    },
)
async def export_user(
    context: Context,
    user: Annotated[str, Path(max_length=NAME_LENGTH, pattern=NAME_PATTERN)],
    app: _App = None,
) -> StreamingResponse:
    """Everything kept about a user, in every app. Without a last record `end` it is incomplete."""
    records = context.conversation.export_user(user, app=app)
    return StreamingResponse(
        (f"{json.dumps(record, ensure_ascii=True)}\n" async for record in records),
        media_type=_NDJSON,
    )


def _artifact(document: Document, tenant: Tenant, now: datetime) -> Artifact:
    # The prefix keeps clients from replacing the artifacts of turns and tools.
    name = document.id or hashlib.sha256(document.content.encode()).hexdigest()[:16]
    return Artifact(
        artifact_id=f"doc:{name}",
        content=document.content,
        source=document.source,
        created_at=now,
        tenant=tenant,
        kind=ArtifactKind.DOCUMENT,
        authority=Authority.RETRIEVED,
        expires_at=document.expires_at,
    )
