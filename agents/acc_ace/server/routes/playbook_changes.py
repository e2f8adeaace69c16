"""Routes that change the playbook. Each is one commit, and can be rolled back."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from acc_ace.core.playbook.manual_edit import read_batch
from acc_ace.core.playbook.playbook_service import PlaybookEdit
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner
from acc_ace.errors import InputError
from acc_ace.server.routes.playbook_routes import MOST_SEQ, MOST_VERSIONS, BulletId, router
from acc_ace.server.routes.playbook_views import ChangeView, RefineView
from acc_ace.server.server_context import Context, Editor, Expected, set_etag

__all__ = ["router"]


Seq = Annotated[int, Path(ge=1, le=MOST_SEQ, description="`seq` of a held operation.")]


class EditRequest(BaseModel):
    """What a bullet is to say, where it is to stand, whether it is pinned."""

    model_config = ConfigDict(extra="forbid")

    content: str | None = Field(default=None, min_length=1, description="New text, on one line.")
    section: str | None = Field(default=None, min_length=1, description="New section.")
    pinned: bool | None = Field(
        default=None, description="Whether to protect the bullet from automatic changes."
    )


class PlaybookRollbackRequest(BaseModel):
    """Where to go back to."""

    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=0, le=MOST_VERSIONS)


def text_body(description: str, *media_types: str) -> dict[str, Any]:
    """What OpenAPI says of a body that is a text."""
    content = {name: {"schema": {"type": "string"}} for name in media_types}
    return {"requestBody": {"required": True, "description": description, "content": content}}


@router.post(
    "/apply",
    summary="Apply a delta batch",
    openapi_extra=text_body("A DeltaBatch, or one operation.", "application/json"),
)
async def apply(
    service: Editor, request: Request, response: Response, expected: Expected
) -> ChangeView:
    """Apply operations as the Curator's are: each ends applied, held or rejected."""
    batch = read_batch(await body_text(request))
    return change_view(await service.apply(batch, expected_version=expected), response)


@router.patch("/bullets/{bullet_id}", summary="Edit or pin a bullet")
async def edit(
    service: Editor,
    response: Response,
    expected: Expected,
    bullet_id: BulletId,
    body: EditRequest,
) -> ChangeView:
    """Reword, move, pin or unpin a bullet; 404 says what became of one that left."""
    if body.content is None and body.section is None and body.pinned is None:
        raise InputError("give content, section or pinned")
    done = await service.edit(
        bullet_id,
        content=body.content,
        section=body.section,
        pinned=body.pinned,
        expected_version=expected,
    )
    return change_view(done, response)


@router.post("/bullets/{bullet_id}/restore", summary="Restore a bullet")
async def restore(service: Editor, response: Response, bullet_id: BulletId) -> ChangeView:
    """Bring back a bullet that was archived, removed or merged."""
    return change_view(await service.restore(bullet_id), response)


@router.post("/rollback", summary="Roll back")
async def rollback(
    service: Editor, response: Response, expected: Expected, body: PlaybookRollbackRequest
) -> ChangeView:
    """Go back to the content of a version, as a new version."""
    return change_view(await service.rollback(body.version, expected_version=expected), response)


@router.post("/refine", summary="Refine the playbook")
async def refine(
    context: Context,
    service: Editor,
    response: Response,
    *,
    dry_run: Annotated[
        bool, Query(description="Show what would change without changing it.")
    ] = False,
) -> RefineView:
    """Merge duplicates, archive stale and harmful bullets, keep the budgets."""
    container = context.container
    refinery = PlaybookRefiner(
        service.store,
        interval=0,
        stale_days=container.settings.stale_days,
    )
    done = await refinery.refine(service.scope, service.context(), dry_run=dry_run)
    set_etag(response, done.stored)
    return RefineView(
        version=done.stored.version,
        dry_run=dry_run,
        steps=done.refined.steps,
        unmet=list(done.refined.unmet),
    )


@router.post("/held/{seq}/apply", summary="Apply a held operation")
async def approve(service: Editor, response: Response, seq: Seq) -> ChangeView:
    """Apply what was held, as your own; it stays held when it cannot be applied."""
    return change_view(await service.approve(seq), response)


@router.post("/held/{seq}/dismiss", summary="Dismiss a held operation")
async def dismiss(service: Editor, response: Response, seq: Seq) -> ChangeView:
    """Turn a held operation down."""
    return change_view(await service.dismiss(seq), response)


def change_view(done: PlaybookEdit, response: Response) -> ChangeView:
    """What a change did; its version becomes the response's ETag."""
    set_etag(response, done.stored)
    return ChangeView(
        version=done.stored.version,
        digest=done.stored.digest,
        results=done.results,
        left=done.left,
        passed_over=done.passed_over,
    )


async def body_text(request: Request) -> str:
    """The body as text. Raises InputError when it is none."""
    try:
        return (await request.body()).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the body is not UTF-8 text: byte {error.start}") from error
