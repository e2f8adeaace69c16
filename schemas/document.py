"""Documents in external memory: the parts they are kept as, and what an import did."""

from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime, Field, field_validator

from schemas.base import Value


class DocumentForm(StrEnum):
    """How a document is read."""

    TEXT = "text"
    """Plain text or Markdown: one text, cut into parts."""
    JSONL = "jsonl"
    """One record a line, each a text of its own."""


class DocumentPart(Value):
    """Which part of which document an artifact is."""

    name: str = Field(description="Path or name the document was imported under.")
    digest: str = Field(description="SHA-256 of the document's bytes, in hexadecimal.")
    part: int = Field(ge=1, description="Number of this part, from 1.")
    parts: int = Field(ge=1, description="Parts of the whole document.")
    record: str | None = Field(default=None, description="Id of the record, if it has one (JSONL).")


class DocumentRecord(Value):
    """A line of a JSONL document; further fields of it are ignored."""

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
    """A document that memory holds."""

    name: str
    digest: str
    parts: int
    imported_at: datetime
    complete: bool = Field(description="False when its import was cut short; import it again.")


class ImportedDocument(Value):
    """What an import did."""

    name: str
    digest: str
    parts: int
    stored: int = Field(description="Parts written now; fewer than all when it was resumed.")
    removed: int = Field(description="Parts of older versions that were deleted.")

    @property
    def unchanged(self) -> bool:
        """Whether memory held all of it already."""
        return self.stored == 0 and self.removed == 0
