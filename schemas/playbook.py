"""The playbook: addressable bullets with counters (ACE, arXiv 2510.04618, section 3).

A playbook is a frozen value. Every operation returns a new one; `apply_delta` also says how
each operation ended. Ids come from a counter that is stored with the bullets, so an id is
never given twice, not even after a removal or a reload.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from pydantic import Field

from core.errors import PlaybookError
from schemas.base import SCHEMA_VERSION, Value
from schemas.delta import DeltaBatch, DeltaOperation, DeltaResult, DeltaStatus, DeltaType
from schemas.reflection import BulletTag, Tag

DEFAULT_SECTION = "strategies"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Bullet(Value):
    """One lesson, addressable by id, with counters of how it did."""

    id: str
    section: str
    content: str
    helpful: int = Field(default=0, ge=0)
    harmful: int = Field(default=0, ge=0)
    neutral: int = Field(default=0, ge=0)
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH


class Added(NamedTuple):
    """A playbook after an addition, and the bullet that was added."""

    playbook: "Playbook"
    bullet: Bullet


class Applied(NamedTuple):
    """A playbook after a batch, and how each operation ended, in order."""

    playbook: "Playbook"
    results: list[DeltaResult]


class Playbook(Value):
    """Bullets in stable order (oldest first), and the counter that names the next one."""

    schema_version: int = SCHEMA_VERSION
    bullets: tuple[Bullet, ...] = ()
    next_id: int = Field(default=1, ge=1)

    def get(self, bullet_id: str) -> Bullet | None:
        """The bullet, or None."""
        return next((bullet for bullet in self.bullets if bullet.id == bullet_id), None)

    def add_bullet(
        self, section: str, content: str, *, bullet_id: str | None = None, at: datetime = EPOCH
    ) -> Added:
        """Add a bullet; raises PlaybookError for blank content or an id that is taken."""
        text = one_line(content)
        if not text:
            raise PlaybookError("empty")
        new_id = bullet_id or f"b-{self.next_id:05d}"
        if self.get(new_id) is not None:
            raise PlaybookError("id_exists")
        bullet = Bullet(
            id=new_id,
            section=one_line(section) or DEFAULT_SECTION,
            content=text,
            created_at=at,
            updated_at=at,
        )
        grown = self.model_copy(
            update={
                "bullets": (*self.bullets, bullet),
                "next_id": max(self.next_id + 1, _number(new_id) + 1),
            }
        )
        return Added(grown, bullet)

    def update_bullet(
        self,
        bullet_id: str,
        *,
        content: str | None = None,
        section: str | None = None,
        at: datetime = EPOCH,
    ) -> Self:
        """Change content or section; raises PlaybookError for an unknown id or blank content."""
        bullet = self._require(bullet_id)
        text = bullet.content if content is None else one_line(content)
        if not text:
            raise PlaybookError("empty")
        return self._replace(
            bullet.model_copy(
                update={
                    "content": text,
                    "section": one_line(section or "") or bullet.section,
                    "updated_at": at,
                }
            )
        )

    def remove_bullet(self, bullet_id: str) -> Self:
        """Remove a bullet; raises PlaybookError for an unknown id."""
        self._require(bullet_id)
        kept = tuple(bullet for bullet in self.bullets if bullet.id != bullet_id)
        return self.model_copy(update={"bullets": kept})

    def update_bullet_tag(
        self, bullet_id: str, tag: Tag, *, increment: int = 1, at: datetime = EPOCH
    ) -> Self:
        """Count a tag on a bullet; raises PlaybookError for an unknown id."""
        bullet = self._require(bullet_id)
        count = getattr(bullet, tag) + increment
        return self._replace(bullet.model_copy(update={tag: count, "updated_at": at}))

    def apply_tags(self, tags: Iterable[BulletTag], *, at: datetime = EPOCH) -> Self:
        """Count every tag whose bullet exists; unknown ids are left out."""
        playbook = self
        for tag in tags:
            if playbook.get(tag.id) is not None:
                playbook = playbook.update_bullet_tag(tag.id, tag.tag, at=at)
        return playbook

    def apply_delta(self, batch: DeltaBatch, *, at: datetime = EPOCH) -> Applied:
        """Apply each operation on its own: a bad one is rejected, the others still count."""
        playbook, results = self, []
        for operation in batch.operations:
            playbook, result = playbook._apply_one(operation, at)
            results.append(result)
        return Applied(playbook, results)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe dict, with sections as an index and statistics left out."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote, of this version or an older one.

        Raises PlaybookError for a newer version, or for what is no playbook.
        """
        try:
            playbook = cls.model_validate(value)
        except ValueError as error:
            raise PlaybookError(f"not a playbook: {error}") from error
        if playbook.schema_version > SCHEMA_VERSION:
            raise PlaybookError(
                f"playbook schema_version {playbook.schema_version} is newer than {SCHEMA_VERSION}; "
                "upgrade to read it"
            )
        return playbook.model_copy(update={"schema_version": SCHEMA_VERSION})

    def dumps(self) -> str:
        """Canonical JSON: the same playbook always gives the same bytes."""
        return json.dumps(
            self.to_dict(), sort_keys=True, ensure_ascii=False, separators=(",", ":")
        )

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read what `dumps` wrote; raises PlaybookError otherwise."""
        try:
            value = json.loads(text)
        except ValueError as error:
            raise PlaybookError(f"not JSON: {error}") from error
        if not isinstance(value, dict):
            raise PlaybookError("not a playbook: a JSON object is expected")
        return cls.from_dict(value)

    def as_prompt(self, bullets: Iterable[Bullet] | None = None) -> str:
        """Bullets for a prompt, by section: '[b-00001] helpful=2 harmful=0 :: content'."""
        chosen = list(self.bullets if bullets is None else bullets)
        lines: list[str] = []
        for section in dict.fromkeys(bullet.section for bullet in chosen):
            lines.append(f"## {section}")
            lines.extend(_line(bullet) for bullet in chosen if bullet.section == section)
        return "\n".join(lines)

    def stats(self) -> dict[str, int]:
        """Counts: bullets, sections, and tags by kind."""
        return {
            "bullets": len(self.bullets),
            "sections": len({bullet.section for bullet in self.bullets}),
            "helpful": sum(bullet.helpful for bullet in self.bullets),
            "harmful": sum(bullet.harmful for bullet in self.bullets),
            "neutral": sum(bullet.neutral for bullet in self.bullets),
        }

    def _require(self, bullet_id: str) -> Bullet:
        bullet = self.get(bullet_id)
        if bullet is None:
            raise PlaybookError("unknown_id")
        return bullet

    def _replace(self, changed: Bullet) -> Self:
        bullets = tuple(changed if bullet.id == changed.id else bullet for bullet in self.bullets)
        return self.model_copy(update={"bullets": bullets})

    def _apply_one(self, operation: DeltaOperation, at: datetime) -> tuple["Playbook", DeltaResult]:
        bullet_id = operation.bullet_id
        try:
            match operation.type:
                case DeltaType.ADD:
                    added = self.add_bullet(
                        operation.section, operation.content or "", bullet_id=bullet_id, at=at
                    )
                    playbook: Playbook = added.playbook
                    bullet_id = added.bullet.id
                case DeltaType.UPDATE:
                    playbook = self.update_bullet(
                        bullet_id or "",
                        content=operation.content or "",
                        section=operation.section,
                        at=at,
                    )
                case DeltaType.REMOVE:
                    playbook = self.remove_bullet(bullet_id or "")
        except PlaybookError as error:
            return self, DeltaResult(
                type=operation.type,
                bullet_id=bullet_id,
                status=DeltaStatus.REJECTED,
                reason=str(error),
            )
        return playbook, DeltaResult(
            type=operation.type, bullet_id=bullet_id, status=DeltaStatus.APPLIED, reason="ok"
        )


class StoredPlaybook(Value):
    """A version of a playbook in a store."""

    version: int
    digest: str = Field(description="SHA-256 of `playbook.dumps()`.")
    playbook: Playbook

    def to_state(self) -> dict[str, Any]:
        """The JSON-safe dict kept in session.state['app:playbook']."""
        return {"version": self.version, "digest": self.digest, **self.playbook.to_dict()}


class DeltaRecord(Value):
    """A row of the delta log: an operation or a tag, how it ended, and the bullet around it."""

    seq: int = Field(default=0, description="Position in the log, set by the store.")
    version: int = Field(default=0, description="Version that it led to, set by the store.")
    kind: str = Field(description="ADD, UPDATE, REMOVE, TAG, IMPORT or ROLLBACK.")
    bullet_id: str | None
    status: DeltaStatus
    reason: str
    before: Bullet | None = None
    after: Bullet | None = None
    user: str = ""
    session: str = ""
    turn: int = 0
    created_at: datetime


def one_line(text: str) -> str:
    """Text without control characters or line breaks, so that it cannot forge other bullets."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _line(bullet: Bullet) -> str:
    return f"[{bullet.id}] helpful={bullet.helpful} harmful={bullet.harmful} :: {bullet.content}"


def _number(bullet_id: str) -> int:
    tail = bullet_id.rpartition("-")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0
