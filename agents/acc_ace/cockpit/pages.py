"""Serve the cockpit's page at /ui: its files, read once, and who is looking at it."""

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from acc_ace.errors import NotFoundError
from acc_ace.server.identity import USER
from acc_ace.server.server_context import Context, User, may_edit, may_operate

router = APIRouter(prefix="/ui", include_in_schema=False)

DEMO: Final = "/demo/checks"
"""The route of a process that plays the demo."""

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "object-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Asked for again each time, and answered by 304: an upgrade shows at once.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}

MEDIA_TYPES: Final = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "json": "application/json",
    "svg": "image/svg+xml",
    "md": "text/markdown",
    "txt": "text/plain",
}


class Asset(NamedTuple):
    """A file of the page, plain and packed."""

    body: bytes
    packed: bytes
    media_type: str
    etag: str


class Viewer(BaseModel):
    """Who is looking, and what they may do."""

    user: str
    signed_in: bool = Field(description="Whether a token names the user; no other can be chosen.")
    edits_playbook: bool = Field(description="Whether they may change the app's shared playbook.")
    operates: bool = Field(description="Whether they may list the users of the server.")
    plays_demo: bool = Field(description="Whether this process plays the demo.")


@cache
def assets() -> Mapping[str, Asset]:
    """Every file of the page by its path below /ui/; nothing else is ever served."""
    return dict(_read(files("acc_ace.cockpit") / "static", ""))


@router.get("")
async def to_page() -> RedirectResponse:
    """Relative, so that it holds behind a proxy's prefix."""
    return RedirectResponse("ui/")


@router.get("/me")
async def viewer(request: Request, context: Context, user: User) -> Viewer:
    """Who the page's requests speak for."""
    return Viewer(
        user=user,
        signed_in=request.scope.get(USER) is not None,
        edits_playbook=may_edit(context.container.settings, user),
        operates=may_operate(context.container.settings, user),
        plays_demo=any(getattr(route, "path", "") == DEMO for route in request.app.routes),
    )


@router.api_route("/{path:path}", methods=["GET", "HEAD"])
async def page(request: Request, path: str) -> Response:
    """A file of the page. Raises NotFoundError for what is none."""
    asset = assets().get(path or "index.html")
    if asset is None:
        raise NotFoundError("the cockpit has no such file; its page is at /ui/")
    headers = {**HEADERS, "ETag": asset.etag}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(asset.body, media_type=asset.media_type, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(asset.packed, media_type=asset.media_type, headers=headers)


def _read(folder: Traversable, prefix: str) -> Iterator[tuple[str, Asset]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read(entry, f"{prefix}{entry.name}/")
            continue
        body = entry.read_bytes()
        media_type = MEDIA_TYPES[entry.name.rpartition(".")[2]]
        # Weak: it names the content, whether it travels packed or not.
        etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
        yield f"{prefix}{entry.name}", Asset(body, gzip.compress(body, mtime=0), media_type, etag)
