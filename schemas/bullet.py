"""Public contract: a bullet of the playbook. Defined in `acc_ace.core.schemas.bullet`."""

from acc_ace.core.schemas.bullet import (
    DEFAULT_SECTION,
    EPOCH,
    MOST_COUNTED,
    SECTION_CHARACTERS,
    Bullet,
    Origin,
    clean_id,
    clean_section,
    id_number,
    is_bullet_id,
    one_line,
    prompt_line,
)

__all__ = [
    "DEFAULT_SECTION",
    "EPOCH",
    "MOST_COUNTED",
    "SECTION_CHARACTERS",
    "Bullet",
    "Origin",
    "clean_id",
    "clean_section",
    "id_number",
    "is_bullet_id",
    "one_line",
    "prompt_line",
]
