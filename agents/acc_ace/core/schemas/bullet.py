"""A bullet of the playbook: its identity, its text and its line in a prompt.

Content, section and id pass through here on their way in, so that nothing a model writes can
break a line, open a section or pass for another bullet.
"""

import re
import unicodedata
from datetime import UTC, datetime
from functools import lru_cache

from pydantic import Field, field_validator

from acc_ace.core.schemas.base import Value

DEFAULT_SECTION = "strategies"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECTION_CHARACTERS = 64
"""A section's name is cut to this."""

MOST_COUNTED = 2**53 - 1
"""No counter goes beyond what every reader of JSON keeps exactly."""

_ID = re.compile(r"[^\W_][\w.-]{0,63}", re.ASCII)
_NUMBER = re.compile(r"-([0-9]{1,9})$")
_BRACKETS = str.maketrans("[]", "  ")
_FORGED_HEAD = re.compile(r"\[([^\[\]\s]{1,64})\](?=\s*helpful\s*=)", re.IGNORECASE)


def _is_default(value: object) -> bool:
    """Whether a later field of a bullet holds its default."""
    return value is None or value is False


class Origin(Value):
    """Origin of a lesson: the turn, and a digest of its source text (never the text).

    Erasing the user removes it from the bullet.
    """

    user: str = Field(description="User of the turn.")
    session: str
    turn: int = Field(ge=0)
    quote_digest: str = Field(
        default="", description="SHA-256 (hex) of the source text; '' if none."
    )


class Bullet(Value):
    """One lesson with an id and counters."""

    id: str = Field(description="'b-00001'; never reused.")
    section: str
    content: str = Field(description="The lesson, one line.")
    helpful: int = Field(default=0, ge=0, le=MOST_COUNTED, description="Turns it helped.")
    harmful: int = Field(default=0, ge=0, le=MOST_COUNTED, description="Turns it harmed.")
    neutral: int = Field(
        default=0, ge=0, le=MOST_COUNTED, description="Turns that used it without effect."
    )
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH
    # Later fields are left out of the stored form while they hold their default, so that the
    # digest of a playbook stored before them stays what it was.
    pinned: bool = Field(
        default=False, exclude_if=_is_default, description="Protected from automatic changes."
    )
    origin: Origin | None = Field(
        default=None, exclude_if=_is_default, description="Origin, if known."
    )
    unconfirmed: bool = Field(
        default=False,
        exclude_if=_is_default,
        description="Shown to the user of its origin alone, until the outcome of another user or "
        "an operator confirms it.",
    )

    def is_shown_to(self, user: str) -> bool:
        """Whether a user may be shown it: it is confirmed, or of a turn of the user's."""
        return not self.unconfirmed or (self.origin is not None and self.origin.user == user)

    @field_validator("id")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        bullet_id = clean_id(value)
        if not is_bullet_id(bullet_id):
            raise ValueError(f"{value[:40]!r} is not a bullet id; expected one like 'b-00001'")
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
    if text.isprintable() and "  " not in text and text.strip(" ") == text:
        return text
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def clean_section(name: str) -> str:
    """The name of a section: one line, bounded, no heading marks or brackets; '' if none left."""
    # A playbook has few sections, and every operation names one.
    return _section(name) if len(name) <= SECTION_CHARACTERS else _section.__wrapped__(name)


@lru_cache(maxsize=1_024)
def _section(name: str) -> str:
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
