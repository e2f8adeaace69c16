"""Routes that give the playbook as a file, and take one in."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from acc_ace.core.playbook.playbook_form import Form
from acc_ace.ext.playbook_files import forms
from acc_ace.server.routes.playbook_changes import body_text, change_view, text_body
from acc_ace.server.routes.playbook_routes import Asks
from acc_ace.server.routes.playbook_views import ChangeView
from acc_ace.server.server_context import Editor, Expected, Reader, set_etag

router = APIRouter(prefix="/v1/playbook", tags=["playbook"])

_MEDIA_TYPES: Final = {
    Form.MARKDOWN: "text/markdown",
    Form.JSON: "application/json",
    Form.JSONL: "application/x-ndjson",
    Form.ACE: "text/plain",
}


@router.get(
    "/export",
    summary="Export the playbook",
    response_class=Response,
)
async def export(
    onlooker: Asks,
    service: Reader,
    form: Annotated[
        Form, Query(alias="format", description="markdown, json, jsonl or ace.")
    ] = Form.MARKDOWN,
) -> Response:
    """The playbook as a file; Markdown, JSON and JSONL lead back to the same content."""
    stored = await service.store.load(service.scope)
    response = Response(
        forms.write(onlooker.playbook(stored.playbook), form),
        media_type=f"{_MEDIA_TYPES[form]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="playbook.{form}"'},
    )
    set_etag(response, stored)
    return response


@router.post(
    "/import",
    summary="Import a playbook",
    openapi_extra=text_body("The file: Markdown, JSON, JSONL or ACE text.", *_MEDIA_TYPES.values()),
)
async def import_file(
    service: Editor,
    request: Request,
    response: Response,
    expected: Expected,
    form: Annotated[
        Form | None, Query(alias="format", description="File format (default: detect).")
    ] = None,
) -> ChangeView:
    """Take in the lessons of a file, each screened; a broken file changes nothing.

    `passed_over` is how many of its lines are no lesson.
    """
    reading = forms.read(await body_text(request), form)
    return change_view(await service.import_bullets(reading, expected_version=expected), response)
