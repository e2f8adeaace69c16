"""The playbook: addressable bullets with counters (ACE, arXiv 2510.04618, section 3).

A playbook is a frozen value. Every operation returns a new one; `apply_delta` also returns the
result of each operation. Ids come from a counter stored with the bullets, so an id is never
reused, not even after a removal or a reload.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property, partial
from operator import eq, not_
from typing import Any, NamedTuple, Self

from pydantic import Field, ValidationError, model_validator

from acc_ace.core.schemas.base import SCHEMA_VERSION, StoredValue, Value, trusted
from acc_ace.core.schemas.bullet import (
    DEFAULT_SECTION,
    EPOCH,
    Bullet,
    clean_id,
    id_number,
    one_line,
    prompt_line,
)
from acc_ace.core.schemas.delta import (
    DeltaBatch,
    DeltaKind,
    DeltaOperation,
    DeltaResult,
    DeltaStatus,
    DeltaType,
    Priority,
)
from acc_ace.core.schemas.playbook_draft import PlaybookDraft
from acc_ace.core.schemas.reflection import BulletTag, Tag
from acc_ace.errors import PlaybookError

__all__ = [
    "DEFAULT_SECTION",
    "EPOCH",
    "Added",
    "Applied",
    "Bullet",
    "DeltaRecord",
    "Playbook",
    "StoredPlaybook",
    "one_line",
]


class Added(NamedTuple):
    """A playbook after an addition, and the bullet that was added."""

    playbook: "Playbook"
    bullet: Bullet


class Applied(NamedTuple):
    """A playbook after a batch, and the result of each operation, in order."""

    playbook: "Playbook"
    results: list[DeltaResult]


class Playbook(StoredValue):
    """Bullets in stable order (oldest first), and the id counter."""

    bullets: tuple[Bullet, ...] = ()
    next_id: int = Field(default=1, ge=1, description="Number of the next id; only ever grows.")

    @model_validator(mode="before")
    @classmethod
    def _counter_is_ahead(cls, value: object) -> object:
        """Lift the counter of a playbook stored without one above every id it holds."""
        if not isinstance(value, dict) or "next_id" in value:
            return value
        return {**value, "next_id": _highest(value.get("bullets")) + 1}

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = {bullet.id for bullet in self.bullets}
        if len(ids) != len(self.bullets):
            raise ValueError("two bullets have the same id")
        if any(id_number(bullet_id) >= self.next_id for bullet_id in ids):
            raise ValueError("next_id is not above the ids in use")
        return self

    def get(self, bullet_id: str) -> Bullet | None:
        """Return the bullet, or None. The id is case-insensitive; brackets are ignored."""
        return self.by_id.get(clean_id(bullet_id))

    def shown_to(self, user: str) -> Self:
        """The playbook without lessons of other users that nobody has confirmed."""
        shown = tuple(bullet for bullet in self.bullets if bullet.is_shown_to(user))
        if len(shown) == len(self.bullets):
            return self
        return self.model_copy(update={"bullets": shown})

    @cached_property
    def by_id(self) -> Mapping[str, Bullet]:
        """The bullets by id, in order; made when it is first asked for."""
        return {bullet.id: bullet for bullet in self.bullets}

    def __copy__(self) -> Self:
        """A copy that makes its own `by_id`, since copies are made to have other bullets."""
        copy = super().__copy__()
        copy.__dict__.pop("by_id", None)
        return copy

    def draft(self) -> PlaybookDraft:
        """Return a mutable draft; `with_draft` converts it back."""
        return PlaybookDraft(self.by_id, self.next_id)

    def with_draft(self, draft: PlaybookDraft) -> Self:
        """Return this playbook with the draft's changes."""
        return self.model_copy(update={"bullets": draft.bullets, "next_id": draft.next_id})

    def add_bullet(
        self, section: str, content: str, *, bullet_id: str | None = None, at: datetime = EPOCH
    ) -> Added:
        """Add a bullet at the end; without `bullet_id` the counter names it.

        A given id must be new: its number not below the counter. Raises PlaybookError: 'empty',
        'id_exists', 'id_used' or 'bad_id'.
        """
        draft = self.draft()
        bullet = draft.add(section, content, bullet_id=bullet_id, at=at)
        return Added(self.with_draft(draft), bullet)

    def update_bullet(
        self,
        bullet_id: str,
        *,
        content: str | None = None,
        section: str | None = None,
        at: datetime = EPOCH,
    ) -> Self:
        """Change content or section; raises PlaybookError 'unknown_id' or 'empty'."""
        draft = self.draft()
        draft.update(bullet_id, content=content, section=section, at=at)
        return self.with_draft(draft)

    def remove_bullet(self, bullet_id: str) -> Self:
        """Remove a bullet; raises PlaybookError 'unknown_id'."""
        draft = self.draft()
        draft.remove(bullet_id)
        return self.with_draft(draft)

    def update_bullet_tag(
        self, bullet_id: str, tag: Tag, *, increment: int = 1, at: datetime = EPOCH
    ) -> Self:
        """Count a tag; raises PlaybookError 'unknown_id', 'unknown_tag' or 'negative_count'."""
        draft = self.draft()
        draft.tag(bullet_id, tag, increment=increment, at=at)
        return self.with_draft(draft)

    def apply_tags(self, tags: Iterable[BulletTag], *, at: datetime = EPOCH) -> Self:
        """Count every tag whose bullet exists; skip unknown ids."""
        draft = self.draft()
        for tag in tags:
            if draft.get(tag.id) is not None:
                draft.tag(tag.id, tag.tag, increment=1, at=at)
        return self.with_draft(draft)

    def apply_delta(self, batch: DeltaBatch, *, at: datetime = EPOCH) -> Applied:
        """Apply each operation independently; invalid ones are rejected.

        Never raises. Takes time in proportion to bullets plus operations.
        """
        draft = self.draft()
        results = [_apply(draft, operation, at) for operation in batch.operations]
        return Applied(self.with_draft(draft), results)

    def to_dict(self) -> dict[str, Any]:
        """Return the playbook as a JSON-safe dict."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Self:
        """Parse the output of `to_dict`, of this or an older version.

        Raises PlaybookError for a newer version, or if it is not a playbook.
        """
        version = value.get("schema_version", SCHEMA_VERSION)
        if not isinstance(version, int):
            raise PlaybookError("not a playbook: schema_version is not a number")
        if version > SCHEMA_VERSION:
            raise PlaybookError(
                f"playbook schema_version {version} is newer than {SCHEMA_VERSION}; "
                "upgrade acc-ace to read it"
            )
        try:
            return cls.model_validate({**value, "schema_version": SCHEMA_VERSION})
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, problem["loc"]))
            message = f"{where}: {problem['msg']}" if where else problem["msg"]
            raise PlaybookError(f"not a playbook: {message}") from error

    def dumps(self) -> str:
        """Canonical JSON: the same playbook always gives the same bytes."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> Self:
        """Parse the output of `dumps`; raises PlaybookError if it is invalid."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlaybookError(f"not JSON: {error}") from error
        if not isinstance(value, dict):
            raise PlaybookError("not a playbook: a JSON object is expected")
        return cls.from_dict(value)

    def as_prompt(self, bullets: Iterable[Bullet] | None = None) -> str:
        """Bullets for a prompt, by section: '[b-00001] helpful=2 harmful=0 :: content'."""
        by_section: dict[str, list[str]] = {}
        for bullet in self.bullets if bullets is None else bullets:
            by_section.setdefault(bullet.section, []).append(prompt_line(bullet))
        return "\n".join(
            line for section, lines in by_section.items() for line in (f"## {section}", *lines)
        )

    def stats(self) -> dict[str, int]:
        """Counts: bullets, sections, and tags by kind."""
        return {
            "bullets": len(self.bullets),
            "sections": len({bullet.section for bullet in self.bullets}),
            "helpful": sum(bullet.helpful for bullet in self.bullets),
            "harmful": sum(bullet.harmful for bullet in self.bullets),
            "neutral": sum(bullet.neutral for bullet in self.bullets),
        }


_DONE = DeltaResult(type=DeltaType.ADD, bullet_id=None, status=DeltaStatus.APPLIED, reason="ok")
"""What the result of every operation that was applied is a copy of."""


def _apply(draft: PlaybookDraft, operation: DeltaOperation, at: datetime) -> DeltaResult:
    """Apply one operation to the draft, or say why not."""
    wanted = operation.bullet_id
    try:
        bullet = _change(draft, operation, at)
    except PlaybookError as error:
        return DeltaResult(
            type=operation.type,
            bullet_id=wanted,
            status=DeltaStatus.REJECTED,
            reason=str(error),
        )
    return trusted(
        _DONE,
        {"type": operation.type, "bullet_id": bullet.id, "status": _APPLIED, "reason": "ok"},
    )


# Looked up once: reading a member of an enumeration costs as much as a tenth of an operation.
_ADD, _UPDATE, _REMOVE = DeltaType.ADD, DeltaType.UPDATE, DeltaType.REMOVE
_APPLIED = DeltaStatus.APPLIED


def _change(draft: PlaybookDraft, operation: DeltaOperation, at: datetime) -> Bullet:
    kind, section, content = operation.type, operation.section, operation.content
    if kind is _ADD:
        return draft.add(section, content or "", bullet_id=operation.bullet_id, at=at)
    if kind is _UPDATE:
        return draft.update(
            operation.bullet_id or "", content=content or "", section=section, at=at
        )
    if kind is _REMOVE:
        return draft.remove(operation.bullet_id or "")
    survivor, sources = operation.merging
    return draft.merge(survivor, sources, content=content, section=section, at=at)


def _highest(bullets: object) -> int:
    """The largest number among the ids of stored bullets."""
    if not isinstance(bullets, list | tuple):
        return 0
    ids = (
        item.get("id") if isinstance(item, dict) else getattr(item, "id", "") for item in bullets
    )
    return max((id_number(clean_id(str(item))) for item in ids), default=0)


class StoredPlaybook(Value):
    """A version of a playbook in a store."""

    version: int
    digest: str = Field(
        description="SHA-256 of its content (agents/acc_ace/core/playbook/playbook_versions.py)."
    )
    playbook: Playbook

    def to_state(self) -> dict[str, Any]:
        """The JSON-safe dict kept in session.state['app:playbook'].

        Origins and what one user alone has taught are left out, because every session of the app
        can read this.
        """
        unsaid = {"bullets": {"__all__": {"origin"}}}
        playbook = self.playbook.shown_to("").model_dump(mode="json", exclude=unsaid)
        return {"version": self.version, "digest": self.digest, **playbook}


class DeltaRecord(Value):
    """A row of the delta log: an operation, its result, and the bullet before and after."""

    seq: int = Field(default=0, description="Position in the log, set by the store.")
    version: int = Field(default=0, description="Version that it led to, set by the store.")
    kind: DeltaKind = Field(description="What was done; replay does not need it.")
    bullet_id: str | None
    status: DeltaStatus
    reason: str
    before: Bullet | None = None
    after: Bullet | None = None
    merged_into: str | None = Field(
        default=None, description="The survivor of a merge; this bullet's id resolves to it."
    )
    proposed: str | None = Field(
        default=None, description="Text of a held or rejected operation, redacted."
    )
    operation: DeltaOperation | None = Field(
        default=None, description="A held operation as it can still be applied, redacted."
    )
    rationale: str = Field(
        default="", exclude_if=not_, description="Why the operation was proposed, redacted."
    )
    priority: Priority = Field(
        default="normal",
        exclude_if=partial(eq, "normal"),
        description="How much it mattered to the one who proposed it.",
    )
    resolves: int | None = Field(
        default=None, description="`seq` of the held record that a person decided here."
    )
    next_id: int | None = Field(
        default=None, description="The counter after it where adding alone would not give it."
    )
    order: list[str] | None = Field(
        default=None, description="Ids in order after it where appending alone would not give it."
    )
    user: str = ""
    session: str = ""
    turn: int = 0
    job: str = Field(
        default="", exclude_if=not_, description="Learning job that committed it (idempotency key)."
    )
    created_at: datetime
