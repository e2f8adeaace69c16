"""Where a document's bytes come from."""

from collections.abc import Generator
from typing import Protocol

from schemas.document import DocumentForm


class DocumentSource(Protocol):
    """A document that can be read from its beginning as often as is needed."""

    @property
    def name(self) -> str:
        """The name it is kept under; the same name again is the same document."""
        ...

    @property
    def form(self) -> DocumentForm:
        """How it is read."""
        ...

    @property
    def encoding(self) -> str:
        """Name of the codec of its text; a byte order mark decides before it."""
        ...

    @property
    def lenient(self) -> bool:
        """Whether bytes that are no text become U+FFFD instead of an error."""
        ...

    def blocks(self) -> Generator[bytes, None, None]:
        """Its bytes from the beginning, in blocks of bounded size.

        Raises InputError that names the document when it cannot be read.
        """
        ...
