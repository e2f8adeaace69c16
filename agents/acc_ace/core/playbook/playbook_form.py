"""The formats of playbook files, which an extension reads and writes."""

from enum import StrEnum
from typing import NamedTuple

from acc_ace.core.schemas.playbook import Playbook

MOST_CHARACTERS = 64 * 1024 * 1024
"""Maximum characters of a file."""


class Form(StrEnum):
    """A file format. The first three round-trip exactly."""

    MARKDOWN = "markdown"
    JSON = "json"
    JSONL = "jsonl"
    ACE = "ace"


class Reading(NamedTuple):
    """The playbook of a file."""

    playbook: Playbook
    passed_over: int = 0
    """Lines that are neither a lesson nor its place; in JSON, lessons that are not active."""

    @property
    def note(self) -> str:
        """How much of the file was taken, in words."""
        count = len(self.playbook.bullets)
        return f"read as lessons: {count:,}; passed over, as they are none: {self.passed_over:,}"
