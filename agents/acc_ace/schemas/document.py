"""Imported documents: their chunks, and the result of an import."""

from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime, Field, field_validator

from acc_ace.schemas.base import Value


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


class DocumentRecord(Value):
    """A line of a JSONL document; unknown fields are ignored."""

    content: str = Field(description="The text.")
    id: str | None = Field(default=None, min_length=1, max_length=256, description="Its own name.")
    source: str | None = Field(default=None, min_length=1, max_length=1_024)
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
