"""Routes over the documents in a user's memory."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from acc_ace.core.schemas.artifact import DocumentForm, ImportedDocument, StoredDocument
from acc_ace.errors import NotFoundError
from acc_ace.ext.documents.document_catalog import list_documents, read_document, remove_document
from acc_ace.ext.documents.document_files import SUFFIXES
from acc_ace.ext.documents.document_import import import_document
from acc_ace.server.routes.memory_routes import PREFIX
from acc_ace.server.routes.session_routes import Limit
from acc_ace.server.server_context import Context, CurrentTenant

router = APIRouter(prefix=PREFIX, tags=["memory"])

_BLOCK: Final = 64 * 1024
_JSONL: Final = frozenset({"application/x-ndjson", "application/jsonl", "application/x-jsonlines"})

_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The document's bytes. `charset` of the media type names its encoding.",
        "content": {
            media_type: {"schema": {"type": "string", "format": "binary"}}
            for media_type in ("text/plain", "text/markdown", "application/x-ndjson")
        },
    }
}

Name = Annotated[
    str,
    Query(
        min_length=1,
        max_length=1_024,
        description="Name of the document; an existing one is replaced.",
        examples=["ops/runbook.md"],
    ),
]


@dataclass(frozen=True)
class _Body:
    """A DocumentSource in the body of a request."""

    name: str
    data: bytes
    form: DocumentForm
    encoding: str
    lenient: bool

    def blocks(self) -> Generator[bytes, None, None]:
        for at in range(0, len(self.data), _BLOCK):
            yield self.data[at : at + _BLOCK]


class DocumentPage(BaseModel):
    """A page of documents."""

    items: list[StoredDocument]
    next_after: str | None = Field(description="`after` of the next page; null on the last one.")


class DocumentPartView(BaseModel):
    """A chunk of a document, as recall returns it."""

    artifact_id: str
    part: int
    record: str | None = Field(description="Id of the record, if it has one (JSONL).")
    source: str
    content: str


class PartPage(BaseModel):
    """A page of a document's chunks."""

    items: list[DocumentPartView]
    parts: int = Field(description="Chunks of the whole document.")
    next_after: int | None = Field(description="`after` of the next page; null on the last one.")


class DocumentRemoved(BaseModel):
    """What was deleted."""

    removed: int = Field(description="Chunks deleted.")


@router.put(
    "",
    summary="Import a document",
    openapi_extra=_BODY,
)
async def put_document(
    context: Context,
    tenant: CurrentTenant,
    request: Request,
    name: Name,
    *,
    lenient: Annotated[bool, Query(description="Replace undecodable bytes with U+FFFD.")] = False,
) -> ImportedDocument:
    """Import a document in chunks that all your sessions can recall.

    The same document again changes nothing; another one under its name replaces it.
    """
    media_type, encoding = _content_type(request)
    suffix = PurePosixPath(name).suffix.lower()
    form = DocumentForm.JSONL if media_type in _JSONL else SUFFIXES.get(suffix, DocumentForm.TEXT)
    body = _Body(name, await request.body(), form, encoding, lenient)
    return await import_document(context.container, tenant, body)


@router.get("", summary="List documents")
async def get_documents(
    context: Context,
    tenant: CurrentTenant,
    limit: Limit = 50,
    after: Annotated[str | None, Query(max_length=256)] = None,
) -> DocumentPage:
    """List your documents, including those whose import was interrupted."""
    items, behind = await list_documents(context.container, tenant, limit=limit, after=after)
    return DocumentPage(items=list(items), next_after=behind)


@router.get("/parts", summary="Read a document")
async def get_parts(
    context: Context,
    tenant: CurrentTenant,
    name: Name,
    limit: Limit = 50,
    after: Annotated[int, Query(ge=0, le=10_000_000, description="Only later chunks.")] = 0,
) -> PartPage:
    """Show a document, chunk by chunk."""
    with _with_location():
        page = await read_document(context.container, tenant, name, limit=limit, after_part=after)
    places = [(part, part.document) for part in page]
    items = [
        DocumentPartView(
            artifact_id=part.artifact_id,
            part=place.part,
            record=place.record,
            source=part.source,
            content=part.content,
        )
        for part, place in places
        if place is not None
    ]
    parts = next((place.parts for _, place in places if place is not None), after)
    last = items[-1].part if items else parts
    return PartPage(items=items, parts=parts, next_after=last if last < parts else None)


@router.delete("", summary="Delete a document")
async def delete_document(context: Context, tenant: CurrentTenant, name: Name) -> DocumentRemoved:
    """Delete a document with all its chunks. This cannot be undone."""
    with _with_location():
        return DocumentRemoved(removed=await remove_document(context.container, tenant, name))


@contextmanager
def _with_location() -> Generator[None, None, None]:
    """Let an unknown document's error name the route that lists the documents."""
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(f"{error}; list them with GET {PREFIX}") from error


def _content_type(request: Request) -> tuple[str, str]:
    """Media type and charset of the body; UTF-8 where none is named."""
    header = Message()
    header["Content-Type"] = request.headers.get("content-type", "")
    return header.get_content_type(), header.get_content_charset("utf-8")
