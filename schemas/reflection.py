"""Public contract: reflection and feedback. Defined in `acc_ace.core.schemas.reflection`."""

from acc_ace.core.schemas.reflection import (
    MAX_FEEDBACK,
    MAX_WORDS,
    BulletTag,
    Feedback,
    Judgement,
    Reflection,
    Tag,
)

__all__ = [
    "MAX_FEEDBACK",
    "MAX_WORDS",
    "BulletTag",
    "Feedback",
    "Judgement",
    "Reflection",
    "Tag",
]
