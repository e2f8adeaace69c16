"""Routes that read the playbook and its log."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from schemas.delta import DeltaStatus
from schemas.playbook import Bullet, DeltaRecord
from server.context import Context, User
from server.problems import documented
from server.sessions import Limit

router = APIRouter(prefix="/v1/playbook", tags=["playbook"])


class PlaybookView(BaseModel):
    """The playbook now."""

    version: int
    digest: str = Field(description="SHA-256 of the playbook.")
    bullets: list[Bullet]
    stats: dict[str, int]


class Delta(BaseModel):
    """One operation on the playbook, and how it ended."""

    seq: int
    version: int
    kind: str
    bullet_id: str | None
    status: DeltaStatus
    reason: str
    before: Bullet | None
    after: Bullet | None
    session: str | None = Field(description="Session it arose in, if that is yours.")
    turn: int | None = Field(description="Turn it arose in, if that is yours.")
    created_at: datetime

    @classmethod
    def of(cls, record: DeltaRecord, *, user: str) -> Self:
        """The view of one user, to whom others stay unnamed."""
        own = record.user == user
        return cls(
            **record.model_dump(exclude={"user", "session", "turn"}),
            session=record.session if own else None,
            turn=record.turn if own else None,
        )


class DeltaPage(BaseModel):
    """A page of the log, newest first."""

    items: list[Delta]
    next_before: int | None = Field(description="`before` of the next page; null on the last one.")


@router.get("", summary="Read the playbook", responses=documented(401, 403, 503))
async def read_playbook(context: Context, _user: User) -> PlaybookView:
    """The lessons that every session of the app uses, with their counters."""
    stored = await context.conversation.playbook()
    return PlaybookView(
        version=stored.version,
        digest=stored.digest,
        bullets=list(stored.playbook.bullets),
        stats=stored.playbook.stats(),
    )


@router.get("/deltas", summary="Read the log", responses=documented(401, 403, 422, 503))
async def read_deltas(
    context: Context,
    user: User,
    *,
    limit: Limit = 50,
    before: Annotated[int | None, Query(ge=1, description="Only older records.")] = None,
) -> DeltaPage:
    """Every operation that was proposed, applied or not, newest first."""
    records = await context.conversation.deltas(limit=limit, before=before)
    items = [Delta.of(record, user=user) for record in records]
    return DeltaPage(items=items, next_before=items[-1].seq if len(items) == limit else None)
