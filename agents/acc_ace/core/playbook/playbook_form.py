"""The formats of playbook files, which an extension reads and writes."""

from enum import StrEnum
from typing import NamedTuple

from acc_ace.core.schemas.playbook import Playbook

MOST_CHARACTERS = 64 * 1024 * 1024
"""Maximum characters of a file."""


class Form(StrEnum):
    """A file format. The first three round-trip exactly; a skill is a folder for each section."""

    MARKDOWN = "markdown"
    JSON = "json"
    JSONL = "jsonl"
    ACE = "ace"
    SKILL = "skill"


class Reading(NamedTuple):
    """The playbook of a file."""

    playbook: Playbook
    passed_over: int = 0
    """Lines that are neither a lesson nor its place; in JSON, lessons that are not active."""
    left_out: tuple[str, ...] = ()
    """The first of them, each with the reason."""
