"""Routes that give the playbook as a file, and take one in."""

from pathlib import PurePath
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from acc_ace.core.playbook.playbook_form import Form
from acc_ace.errors import InputError
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
    Form.SKILL: "text/markdown",
}


class ImportView(ChangeView):
    """What an import did, or would do."""

    dry_run: bool
    left_out: list[str] = Field(description="The first lines that are no lesson, and why.")


@router.get(
    "/export",
    summary="Export the playbook",
    response_class=Response,
)
async def export(
    onlooker: Asks,
    service: Reader,
    form: Annotated[
        Form, Query(alias="format", description="markdown, json, jsonl, ace or skill.")
    ] = Form.MARKDOWN,
    section: Annotated[
        str | None, Query(description="Only this section; a skill is one section.")
    ] = None,
) -> Response:
    """The playbook as a file; Markdown, JSON and JSONL lead back to the same content."""
    stored = await service.store.load(service.scope)
    files = forms.write_files(onlooker.playbook(stored.playbook), form, section)
    if len(files) > 1:
        raise InputError("each section is a skill of its own: name one section")
    [(name, text)] = files.items()
    response = Response(
        text,
        media_type=f"{_MEDIA_TYPES[form]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{PurePath(name).name}"'},
    )
    set_etag(response, stored)
    return response


@router.post(
    "/import",
    summary="Import a playbook",
    openapi_extra=text_body(
        "The file: Markdown, JSON, JSONL, ACE text or a SKILL.md.", *_MEDIA_TYPES.values()
    ),
)
async def import_file(
    service: Editor,
    request: Request,
    response: Response,
    expected: Expected,
    form: Annotated[
        Form | None, Query(alias="format", description="File format (default: detect).")
    ] = None,
    *,
    dry_run: Annotated[bool, Query(description="Show what would happen; change nothing.")] = False,
) -> ImportView:
    """Take in the lessons of a file, each screened; a broken file changes nothing.

    Lists without an id or counters are lessons only if `format` says so. `passed_over` is how many
    lines are no lesson.
    """
    reading = forms.read(await body_text(request), form)
    done = await service.import_bullets(reading, expected_version=expected, dry_run=dry_run)
    view = change_view(done, response)
    return ImportView(**dict(view), dry_run=dry_run, left_out=list(reading.left_out))
