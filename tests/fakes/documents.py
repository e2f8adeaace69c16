"""A document in memory."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field

from acc_ace.core.schemas.artifact import DocumentForm


@dataclass
class BytesSource:
    """A DocumentSource of bytes, or of blocks that are made anew for every reading."""

    name: str
    data: bytes | Callable[[], Iterable[bytes]]
    form: DocumentForm = DocumentForm.TEXT
    encoding: str = "utf-8"
    lenient: bool = False
    readings: int = field(default=0)

    def blocks(self) -> Generator[bytes, None, None]:
        """The bytes, 4 KiB at a time."""
        self.readings += 1
        if callable(self.data):
            yield from self.data()
            return
        for at in range(0, len(self.data), 4_096):
            yield self.data[at : at + 4_096]
