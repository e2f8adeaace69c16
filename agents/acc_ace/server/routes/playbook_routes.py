"""Routes that read the playbook, its versions and its log."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query, Response

from acc_ace.core.playbook.bullet_lookup import search_bullets
from acc_ace.core.playbook.playbook_diff import diff_playbooks
from acc_ace.server.routes.playbook_views import (
    BulletHistoryView,
    Delta,
    DeltaPage,
    DiffView,
    HeldDelta,
    HeldPage,
    HitView,
    Onlooker,
    PlaybookView,
    VersionPage,
)
from acc_ace.server.routes.session_routes import Limit
from acc_ace.server.server_context import Context, Editor, Reader, User, may_edit, set_etag

router = APIRouter(prefix="/v1/playbook", tags=["playbook"])


def get_onlooker(context: Context, user: User) -> Onlooker:
    """Who asks."""
    return Onlooker(user, may_edit(context.container.settings, user))


Asks = Annotated[Onlooker, Depends(get_onlooker)]

MOST_VERSIONS: Final = 2**31 - 1
MOST_SEQ: Final = 2**53 - 1

Version = Annotated[int, Query(ge=0, le=MOST_VERSIONS)]
Before = Annotated[int | None, Query(ge=1, le=MOST_SEQ, description="Only older items.")]
BulletId = Annotated[str, Path(min_length=1, max_length=64, examples=["b-00007"])]


@router.get("", summary="Read the playbook")
async def read_playbook(
    context: Context,
    onlooker: Asks,
    service: Reader,
    response: Response,
    version: Version | None = None,
) -> PlaybookView:
    """The lessons with their counters, now or in an earlier version.

    Another user's lesson that nobody has confirmed is shown to those who may change the playbook.
    """
    stored = await service.store.load(service.scope, version=version)
    set_etag(response, stored)
    files = await asyncio.to_thread(context.container.playbook_files, service.scope)
    return PlaybookView.of(stored, onlooker, files=files)


@router.get("/deltas", summary="Read the log")
async def read_deltas(
    onlooker: Asks, service: Reader, *, limit: Limit = 50, before: Before = None
) -> DeltaPage:
    """Every operation that was proposed, applied or not, newest first."""
    records = await service.store.deltas(service.scope, limit=limit, before=before)
    items = [Delta.of(record, onlooker) for record in records]
    return DeltaPage(items=items, next_before=items[-1].seq if len(items) == limit else None)


@router.get("/versions", summary="List versions")
async def read_versions(
    service: Reader, *, limit: Limit = 50, before: Before = None
) -> VersionPage:
    """The versions, newest first, with what led to each."""
    items = list(await service.store.versions(service.scope, limit=limit, before=before))
    return VersionPage(items=items, next_before=items[-1].version if len(items) == limit else None)


@router.get("/diff", summary="Compare versions")
async def read_diff(onlooker: Asks, service: Reader, first: Version, second: Version) -> DiffView:
    """What changed from the first version to the second."""
    versions = [await service.store.load(service.scope, version=each) for each in (first, second)]
    diff = diff_playbooks(*(onlooker.playbook(each.playbook) for each in versions))
    changes = [{"before": each.before, "after": each.after} for each in diff.changes]
    return DiffView(first=first, second=second, changes=changes, text="\n".join(diff.lines()))


@router.get("/search", summary="Search bullets")
async def search(
    onlooker: Asks,
    service: Reader,
    q: Annotated[str, Query(min_length=1, max_length=2_000, description="Words or a bullet id.")],
    limit: Limit = 10,
) -> list[HitView]:
    """The bullets that fit best."""
    playbook = onlooker.playbook((await service.store.load(service.scope)).playbook)
    hits = search_bullets(playbook, q, limit=limit)
    return [HitView(score=hit.score, bullet=hit.bullet) for hit in hits]


@router.get(
    "/bullets/{bullet_id}",
    summary="Read a bullet's origin and history",
)
async def read_story(onlooker: Asks, service: Reader, bullet_id: BulletId) -> BulletHistoryView:
    """All that the log knows of a bullet, also of one that left."""
    story = await service.story(bullet_id)
    return BulletHistoryView(
        bullet_id=story.bullet_id,
        live=onlooker.bullet(story.live),
        records=[Delta.of(record, onlooker) for record in story.records],
        complete=story.complete,
    )


@router.get("/held", summary="List pending changes")
async def read_held(
    user: User, service: Editor, *, limit: Limit = 50, before: Before = None
) -> HeldPage:
    """The operations that wait for a person to decide, newest first; for those who may decide."""
    records = await service.held(limit=limit, before=before)
    items = [HeldDelta.of(record, Onlooker(user, decides=True)) for record in records]
    return HeldPage(items=items, next_before=items[-1].seq if len(items) == limit else None)
