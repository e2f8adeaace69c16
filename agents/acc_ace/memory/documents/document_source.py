"""Source of a document's bytes."""

from collections.abc import Generator
from typing import Protocol

from acc_ace.schemas.document import DocumentForm


class DocumentSource(Protocol):
    """A document that can be read repeatedly from the start."""

    @property
    def name(self) -> str:
        """Name of the document, which identifies it."""
        ...

    @property
    def form(self) -> DocumentForm:
        """Format of the document."""
        ...

    @property
    def encoding(self) -> str:
        """Text encoding; a byte order mark takes precedence."""
        ...

    @property
    def lenient(self) -> bool:
        """Whether to replace undecodable bytes with U+FFFD instead of failing."""
        ...

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield the bytes from the start, in blocks of bounded size.

        Raises InputError that names the document when it cannot be read.
        """
        ...
