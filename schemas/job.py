"""Work that outlives the request that caused it."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from pydantic import Field

from schemas.base import StoredValue
from schemas.tenancy import SessionKey, Tenant

LONGEST_DELAY = timedelta(hours=1)
"""No job is put off for longer; a time to begin beyond that was set by a clock that was ahead."""


class JobKind(StrEnum):
    """What is to be done."""

    OFFLOAD = "offload"
    SUMMARISE = "summarise"
    DELETE = "delete"
    ERASE = "erase"


def job_id(kind: JobKind, key: SessionKey, detail: str = "") -> str:
    """The id of some work: its parts, each without a colon of its own, so that no two share it."""
    parts = (part.replace("%", "%25").replace(":", "%3A") for part in (kind, *key, detail))
    return ":".join(part for part in parts if part)


class Job(StoredValue):
    """A piece of durable work. Doing it twice does no more than doing it once."""

    id: str = Field(description="The same work has the same id, so it is kept once.")
    kind: JobKind
    app: str
    user: str
    session: str = Field(default="", description="Empty for work on a whole user.")
    session_began: datetime | None = Field(
        default=None,
        exclude_if=lambda at: at is None,
        description="Which session of that name is meant: the one that its record says began then.",
    )
    created_at: datetime
    due_at: datetime = Field(description="Not to be begun before; moves on with each try.")
    tries: int = Field(default=0, ge=0)
    error: str = Field(default="", description="Why the last try failed.")
    given_up: bool = Field(default=False, description="Tried as often as it will be.")
    asked_again_at: datetime | None = Field(
        default=None,
        exclude_if=lambda at: at is None,
        description="When the same work was asked for while it was done; it then is done again.",
    )

    @classmethod
    def of(cls, kind: JobKind, key: SessionKey, *, at: datetime, detail: str = "") -> Self:
        """A job that is due at once; the same work has the same id."""
        return cls(
            id=job_id(kind, key, detail),
            kind=kind,
            app=key.app,
            user=key.user,
            session=key.session,
            created_at=at,
            due_at=at,
        )

    @property
    def tenant(self) -> Tenant:
        """Whose work it is."""
        return Tenant(self.app, self.user)

    @property
    def key(self) -> SessionKey:
        """The session it is about."""
        return SessionKey(self.app, self.user, self.session)
