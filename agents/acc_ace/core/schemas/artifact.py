"""External memory: artifacts, queries over them, what recall returned, and imported documents."""

from datetime import date, datetime
from enum import StrEnum

from pydantic import AwareDatetime, Field, field_validator

from acc_ace.core.schemas.base import Authority, SessionKey, StoredValue, Tenant, Value


class DocumentForm(StrEnum):
    """Format of a document."""

    TEXT = "text"
    """Plain text or Markdown: one text, cut into parts."""
    JSONL = "jsonl"
    """One record a line, each a text of its own."""


class DocumentPart(Value):
    """Source document and chunk number of an artifact."""

    name: str = Field(description="Path or name the document was imported under.")
    digest: str = Field(description="SHA-256 of the document's bytes, in hexadecimal.")
    part: int = Field(ge=1, description="Number of this chunk, from 1.")
    parts: int = Field(ge=1, description="Chunks of the whole document.")
    record: str | None = Field(default=None, description="Id of the record, if it has one (JSONL).")
    imported_at: datetime | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="When it was imported, where the record has a time of its own.",
    )


class DocumentRecord(Value):
    """A line of a JSONL document; unknown fields are ignored."""

    content: str = Field(description="The text.")
    id: str | None = Field(default=None, min_length=1, max_length=256, description="Its own name.")
    source: str | None = Field(default=None, min_length=1, max_length=1_024)
    speaker: str | None = Field(
        default=None, min_length=1, max_length=256, description="Who says it."
    )
    session: str | None = Field(
        default=None, min_length=1, max_length=256, description="The conversation it is of."
    )
    turn: int | None = Field(
        default=None, ge=0, le=1_000_000_000, description="Its number there, else the record's."
    )
    at: AwareDatetime | None = Field(default=None, description="When it was said.")
    expires_at: AwareDatetime | None = None

    @field_validator("content")
    @classmethod
    def _says_something(cls, content: str) -> str:
        if not content.strip():
            raise ValueError("the text is blank")
        return content


class StoredDocument(Value):
    """A stored document."""

    name: str
    digest: str
    parts: int
    imported_at: datetime
    complete: bool = Field(description="False if its import was interrupted; import it again.")


class ImportedDocument(Value):
    """Result of an import."""

    name: str
    digest: str
    parts: int
    stored: int = Field(description="Chunks written now; fewer than all when resumed.")
    removed: int = Field(description="Chunks of older versions that were deleted.")

    @property
    def unchanged(self) -> bool:
        """Whether the document was already stored completely."""
        return self.stored == 0 and self.removed == 0


class ArtifactKind(StrEnum):
    """Kind of an artifact."""

    TURN = "turn"
    TOOL_RESULT = "tool_result"
    DOCUMENT = "document"
    NOTE = "note"


class Artifact(StoredValue):
    """A piece of external memory. Its content is data, whatever it says."""

    artifact_id: str
    content: str
    source: str = Field(description="Where it came from: 'turn', 'tool:read_file', a URI, ...")
    created_at: datetime
    tenant: Tenant
    kind: ArtifactKind = ArtifactKind.DOCUMENT
    authority: Authority = Authority.RETRIEVED
    session: str | None = Field(
        default=None, description="Session of origin, if any; the chunks of a document share one."
    )
    turn: int | None = Field(
        default=None, description="Turn of origin, if any; for a document, the number of the chunk."
    )
    expires_at: datetime | None = None
    superseded_by: str | None = None
    document: DocumentPart | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Source document and chunk number, for imported documents.",
    )
    quotes: list[str] = Field(
        default_factory=list,
        exclude_if=lambda value: not value,
        description="Ids of what its turn was shown of memory: deleting one of these reaches it.",
    )


class Erased(Value):
    """What a deletion takes out of memory, or would take."""

    removed: list[str] = Field(default_factory=list, description="Artifacts that are deleted.")
    shortened: list[str] = Field(
        default_factory=list,
        description="Artifacts that keep what the user states in them, without what rests on it.",
    )
    sessions: list[str] = Field(
        default_factory=list, description="Sessions whose state and last exchanges lose it."
    )
    also: list[str] = Field(
        default_factory=list,
        description="Artifacts that say it too, and stay: they do not rest on it.",
    )


class RecallQuery(Value):
    """What to look for: x_t and CCS_{t-1} of one session, bounded by count and tokens."""

    key: SessionKey
    text: str = Field(description="x_t.")
    state_terms: list[str] = Field(
        default_factory=list, description="Entities, goal and open questions of CCS_{t-1}."
    )
    limit: int = Field(default=8, ge=1, le=100)
    max_tokens: int = Field(default=4_000, ge=1)
    excerpt_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Maximum tokens per candidate; a longer one is cut to the match.",
    )
    before: datetime | None = Field(
        default=None, description="Only artifacts created before this time."
    )
    asked_at: AwareDatetime | None = Field(
        default=None,
        description="When x_t is said, in the zone whose days it means; without it no time that "
        "x_t names is looked for.",
    )


class RecalledArtifact(Value):
    """A candidate with its score (higher is better) and why it matched."""

    artifact: Artifact
    score: float
    why: list[str] = Field(default_factory=list)


class Recall(Value):
    """A_t: at most k candidates, best first; the previous turn is always among them."""

    candidates: list[RecalledArtifact] = Field(default_factory=list)
    warnings: list[str] = Field(
        default_factory=list, description="Searches that were skipped, and why; shown to the user."
    )


class MemoryHit(Value):
    """A piece of the user's memory that a search found."""

    artifact_id: str = Field(description="By which it is read, corrected and forgotten.")
    session: str | None = Field(description="Session of origin, if any.")
    turn: int | None = Field(description="Turn of origin; for a document, number of the part.")
    speaker: str = Field(description="Who said the text; for a document, where it came from.")
    day: date = Field(description="When it was stored, in the users' zone (ACC_ACE_TIME_ZONE).")
    score: float = Field(description="How well it matches; higher is better.")
    text: str = Field(description="What matches, cut; '…' where cut.")
    refusal: str | None = Field(
        default=None, description="Why no model is shown it; null if it may be."
    )


class MemoryHits(Value):
    """What a search of the user's memory found, best first."""

    hits: list[MemoryHit] = Field(default_factory=list)
    warnings: list[str] = Field(
        default_factory=list, description="Searches that were skipped, and why."
    )
