"""Output schema of the Curator, and the result of each operation."""

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from acc_ace.core.schemas.base import PlaybookScope, ReplyValue, Value

UNREADABLE: Final = "UNREADABLE"
"""Stands for the type of an operation that is none of the four."""

MOST_SOURCES = 64
"""Bullets that one MERGE may take into its survivor."""

MOST_READ = 65_536
"""Operations of one batch that are looked at; a model may send millions of empty ones."""

_SHOWN_CHARACTERS = 500
_ALIASES: Final = {
    "type": ("op", "action", "operation"),
    "bullet_id": ("id", "bulletId", "target_id", "skill_id"),
    "source_ids": ("sources", "sourceIds", "source_bullet_ids", "merge_ids"),
}
"""What models and other implementations call these fields."""


Priority = Literal["low", "normal", "high"]


class DeltaType(StrEnum):
    """Kind of operation on a playbook."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    REMOVE = "REMOVE"
    MERGE = "MERGE"


class DeltaKind(StrEnum):
    """Kind of a delta log row: by the Curator, by refine, or by a person."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    REMOVE = "REMOVE"
    MERGE = "MERGE"
    TAG = "TAG"
    ARCHIVE = "ARCHIVE"
    RESTORE = "RESTORE"
    PIN = "PIN"
    UNPIN = "UNPIN"
    EDIT = "EDIT"
    IMPORT = "IMPORT"
    ROLLBACK = "ROLLBACK"
    FORK = "FORK"
    PROMOTE = "PROMOTE"
    ERASE = "ERASE"
    UNREADABLE = "UNREADABLE"


class Merging(NamedTuple):
    """The survivor and the sources of a MERGE, as the model wrote them."""

    survivor: str
    sources: list[str]


class DeltaOperation(ReplyValue):
    """One small change. Never a rewrite of the playbook."""

    type: DeltaType = Field(description="ADD, UPDATE, REMOVE or MERGE.")
    section: str = Field(default="", description="Section of the bullet, e.g. 'strategies'.")
    content: str | None = Field(
        default=None, description="Text of the bullet; ADD and UPDATE, with MERGE if it changes."
    )
    bullet_id: str | None = Field(
        default=None, description="The bullet; UPDATE and REMOVE; with MERGE the one that stays."
    )
    source_ids: list[str] = Field(
        default_factory=list, description="MERGE: the bullets that go into `bullet_id`."
    )
    rationale: str = Field(
        default="",
        exclude_if=lambda rationale: not rationale,
        description="Why this change, in one sentence: what in the turn it rests on.",
    )
    priority: Priority = Field(
        default="normal",
        exclude_if=lambda priority: priority == "normal",
        description="How much it matters: low, normal or high.",
    )

    @property
    def merging(self) -> Merging:
        """Survivor and sources of a MERGE; by default the first bullet survives."""
        return Merging(self.bullet_id or next(iter(self.source_ids), ""), self.source_ids)

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, value: object) -> object:
        """Take a field under another name, unless it is there under its own."""
        if not isinstance(value, Mapping):
            return value
        found = {
            name: value[alias]
            for name, aliases in _ALIASES.items()
            if value.get(name) is None
            for alias in reversed(aliases)
            if alias in value
        }
        return {**value, **found} if found else value

    @field_validator("type", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().upper() if isinstance(value, str) else value

    @field_validator("priority", mode="before")
    @classmethod
    def _known_priority(cls, value: object) -> object:
        """What is no priority is none, since an operation must not fall for it."""
        said = value.strip().lower() if isinstance(value, str) else ""
        return said if said in get_args(Priority) else "normal"

    @field_validator("section", "rationale", mode="before")
    @classmethod
    def _no_section(cls, value: object) -> object:
        return "" if value is None else value

    @field_validator("bullet_id")
    @classmethod
    def _no_blank_id(cls, value: str | None) -> str | None:
        return (value or "").strip() or None

    @field_validator("source_ids", mode="before")
    @classmethod
    def _no_sources(cls, value: object) -> object:
        """One source may come as a text; null is none."""
        if isinstance(value, str):
            return [value]
        return [] if value is None else value


class DeltaBatch(ReplyValue):
    """What the Curator proposes for one turn."""

    reasoning: str = Field(default="", description="Why these changes, in short.")
    operations: list[DeltaOperation] = Field(
        default_factory=list, description="Small changes, in order; empty when nothing was learned."
    )
    unreadable: SkipJsonSchema[list[str]] = Field(
        default_factory=list,
        description="Operations that are none, as text; not part of the model's schema.",
    )

    @model_validator(mode="before")
    @classmethod
    def _set_unreadable_apart(cls, value: object) -> object:
        """One operation of no known form must not cost the batch its good ones."""
        if not isinstance(value, dict):
            return value
        reasoning, given = value.get("reasoning"), value.get("operations")
        # One operation may come without a list around it; null is none.
        given = [given] if isinstance(given, dict) else [] if given is None else given
        if not isinstance(given, list):
            return value
        operations = [(item, _read(item)) for item in given[:MOST_READ]]
        unreadable = [_shown(item) for item, operation in operations if operation is None]
        if len(given) > MOST_READ:
            unreadable.append(f"{len(given) - MOST_READ} more operations")
        known = value.get("unreadable")
        known = [item for item in known if isinstance(item, str)] if isinstance(known, list) else []
        return {
            **value,
            "reasoning": "" if reasoning is None else reasoning,
            "operations": [operation for _, operation in operations if operation is not None],
            "unreadable": [*known, *unreadable],
        }


class DeltaStatus(StrEnum):
    """Status of an operation."""

    APPLIED = "applied"
    HELD = "held"
    REJECTED = "rejected"


class DeltaResult(Value):
    """Result of an operation: its status and a reason code."""

    type: DeltaType | Literal["UNREADABLE"]
    bullet_id: str | None = Field(description="The bullet it changed, or the one it named.")
    status: DeltaStatus
    reason: str = Field(description="'ok', or the reason code of why it was not applied.")


def _read(item: object) -> DeltaOperation | None:
    try:
        return DeltaOperation.model_validate(item)
    except ValidationError:
        return None


def _shown(item: object) -> str:
    """An item as JSON, short."""
    return json.dumps(item, ensure_ascii=False, default=str)[:_SHOWN_CHARACTERS]


class PlaybookVersion(Value):
    """One version of a playbook, without its bullets."""

    version: int = Field(ge=1)
    digest: str | None = Field(
        description="Digest of its content; None if a program wrote it that did not keep digests."
    )
    at: datetime = Field(description="When its last record was made.")
    bullets: int | None = Field(description="How many bullets it has; None as above.")
    counts: dict[str, int] = Field(description="Applied records that led to it, by kind.")


class Branch(Value):
    """A branch: an independent copy of a playbook version."""

    scope: PlaybookScope
    version: int = Field(ge=0, description="Its current version, counted from its own beginning.")
    digest: str
    bullets: int
    parent: str | None = Field(
        description="The branch it was forked from, '' is the main one; None if that is gone."
    )
    parent_version: int


class RefineStep(Value):
    """One step: a merge, or an archived bullet."""

    kind: DeltaKind = Field(description="MERGE or ARCHIVE.")
    bullet_id: str = Field(description="The bullet that stays (MERGE) or leaves (ARCHIVE).")
    content: str = Field(description="Its text.")
    reason: str = Field(
        description="'near_duplicate', 'net_harmful', 'stale', 'over_budget' or 'makes_room'."
    )
    source_ids: list[str] = Field(default_factory=list, description="MERGE: the merged bullets.")
    source_contents: list[str] = Field(default_factory=list, description="MERGE: their texts.")
