"""Attachments of the next message: pasted at the prompt, or read from a file."""

from pathlib import Path
from typing import Final

from acc_ace.core.schemas.interaction import Attachment
from acc_ace.errors import InputError

MAX_BYTES: Final = 64 * 1024 * 1024
"""Maximum file size."""

PASTE_ENDS: Final = "."


class AttachmentDesk:
    """Attachments waiting for the next message, and the open paste."""

    def __init__(self) -> None:
        self._waiting: list[Attachment] = []
        self._pasted: list[str] | None = None

    @property
    def is_pasting(self) -> bool:
        """Whether lines belong to a paste."""
        return self._pasted is not None

    def begin_paste(self) -> None:
        """Start a paste with the next line."""
        self._pasted = []

    def paste(self, line: str) -> str | None:
        """Add a line to the paste; after the last one, returns a message for the user."""
        if self._pasted is None:
            raise InputError("no paste is open; start one with /paste")
        if line.strip() != PASTE_ENDS:
            self._pasted.append(line)
            return None
        text, self._pasted = "\n".join(self._pasted), None
        if not text.strip():
            return "nothing was pasted"
        self._waiting.append(Attachment(text=text, source="pasted"))
        return self.listed()

    def drop_paste(self) -> None:
        """Discard the paste."""
        self._pasted = None

    def attach_file(self, name: str) -> str:
        """Attach a file; returns a message for the user. Raises InputError."""
        self._waiting.append(Attachment(text=_read(Path(name).expanduser()), source=name))
        return self.listed()

    def listed(self) -> str:
        """A message that lists the attachments."""
        if not self._waiting:
            return "nothing is attached; /attach FILE or /paste"
        shown = ", ".join(f"{a.source} ({len(a.text):,} characters)" for a in self._waiting)
        return f"attached to the next message: {shown}; /detach drops it"

    def take(self) -> list[Attachment]:
        """Remove and return all attachments."""
        taken, self._waiting = self._waiting, []
        return taken

    def put_back(self, taken: list[Attachment]) -> None:
        """Put attachments back after a failed turn."""
        self._waiting = [*taken, *self._waiting]


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(
                f"{path} is larger than {MAX_BYTES:,} bytes; import it with 'acc-ace memory "
                "import' and ask about it"
            )
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start:,})") from error
    if "\0" in text:
        raise InputError(f"{path} is a binary file; attach text")
    if not text.strip():
        raise InputError(f"{path} is empty; there is nothing to attach")
    return text
