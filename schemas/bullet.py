"""A bullet of the playbook: its identity, its text and its line in a prompt.

Content, section and id pass through here on their way in, so that nothing a model writes can
break a line, open a section or pass for another bullet.
"""

import re
import unicodedata
from datetime import UTC, datetime

from pydantic import Field, field_validator

from schemas.base import Value

DEFAULT_SECTION = "strategies"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECTION_CHARACTERS = 64
"""A section's name is cut to this."""

_ID = re.compile(r"[^\W_][\w.-]{0,63}", re.ASCII)
_NUMBER = re.compile(r"-([0-9]{1,9})$")
_BRACKETS = str.maketrans("[]", "  ")
_FORGED_HEAD = re.compile(r"\[([^\[\]\s]{1,64})\](?=\s*helpful\s*=)", re.IGNORECASE)


class Bullet(Value):
    """One lesson, addressable by id, with counters of how it did."""

    id: str = Field(description="'b-00001': given once, never reused.")
    section: str
    content: str = Field(description="The lesson, one line.")
    helpful: int = Field(default=0, ge=0, description="Turns that it helped.")
    harmful: int = Field(default=0, ge=0, description="Turns that it harmed.")
    neutral: int = Field(default=0, ge=0, description="Turns that used it to no effect.")
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH

    @field_validator("id")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        bullet_id = clean_id(value)
        if not is_bullet_id(bullet_id):
            raise ValueError(f"{value[:40]!r} is no bullet id; expected one like 'b-00001'")
        return bullet_id

    @field_validator("section")
    @classmethod
    def _named_section(cls, value: str) -> str:
        return clean_section(value) or DEFAULT_SECTION

    @field_validator("content")
    @classmethod
    def _single_line(cls, value: str) -> str:
        return one_line(value)


def one_line(text: str) -> str:
    """Text without control characters or line breaks, so that it cannot forge other bullets."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def clean_section(name: str) -> str:
    """The name of a section: one line, bounded, no heading marks or brackets; '' if none left."""
    return one_line(name.translate(_BRACKETS)).lstrip("# ")[:SECTION_CHARACTERS].rstrip()


def clean_id(text: str) -> str:
    """An id as a model may write it (' [B-00001] ', full-width) in the form that is stored."""
    if len(text) > 256:
        return ""
    return unicodedata.normalize("NFKC", text).strip().strip("[]").strip().lower()


def is_bullet_id(text: str) -> bool:
    """Whether a text can name a bullet: letters, digits, '.', '_' and '-', at most 64."""
    return _ID.fullmatch(text) is not None


def id_number(bullet_id: str) -> int:
    """The number that an id ends in ('b-00012' is 12), or 0."""
    match = _NUMBER.search(bullet_id)
    return int(match[1]) if match else 0


def prompt_line(bullet: Bullet) -> str:
    """'[b-00001] helpful=2 harmful=0 :: content', the form of ACE's playbook."""
    content = _FORGED_HEAD.sub(r"(\1)", bullet.content)
    return f"[{bullet.id}] helpful={bullet.helpful} harmful={bullet.harmful} :: {content}"
