"""A playbook while it is being changed: bullets in a dictionary, one copy at the end.

The draft holds the rules of every operation (what is rejected, which id comes next, what an
update keeps). `Playbook` works through it, for one operation as for a thousand.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import get_args

from core.errors import PlaybookError
from schemas.bullet import (
    DEFAULT_SECTION,
    Bullet,
    clean_id,
    clean_section,
    id_number,
    is_bullet_id,
    one_line,
)
from schemas.reflection import Tag

_TAGS: frozenset[str] = frozenset(get_args(Tag))


class PlaybookDraft:
    """Bullets by id, oldest first, and the counter that names the next one."""

    def __init__(self, bullets: Iterable[Bullet], next_id: int) -> None:
        self._bullets = {bullet.id: bullet for bullet in bullets}
        self._next_id = next_id

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        """The bullets as they stand now."""
        return tuple(self._bullets.values())

    @property
    def next_id(self) -> int:
        """Number of the next id."""
        return self._next_id

    def __len__(self) -> int:
        return len(self._bullets)

    def get(self, bullet_id: str) -> Bullet | None:
        """The bullet, or None; the id in any case, with or without brackets."""
        return self._bullets.get(clean_id(bullet_id))

    def add(self, section: str, content: str, *, bullet_id: str | None, at: datetime) -> Bullet:
        """Add a bullet at the end.

        Raises PlaybookError: 'empty', 'id_exists', 'id_used' (the number was given before) or
        'bad_id'.
        """
        text = one_line(content)
        if not text:
            raise PlaybookError("empty")
        new_id = self._new_id(bullet_id)
        bullet = Bullet(
            id=new_id,
            section=clean_section(section) or DEFAULT_SECTION,
            content=text,
            created_at=at,
            updated_at=at,
        )
        self._bullets[new_id] = bullet
        self._next_id = max(self._next_id, id_number(new_id)) + 1
        return bullet

    def update(
        self, bullet_id: str, *, content: str | None, section: str | None, at: datetime
    ) -> Bullet:
        """Change content or section in place; raises PlaybookError 'unknown_id' or 'empty'."""
        bullet = self._require(bullet_id)
        text = bullet.content if content is None else one_line(content)
        if not text:
            raise PlaybookError("empty")
        name = clean_section(section or "") or bullet.section
        return self._put(bullet, content=text, section=name, updated_at=at)

    def remove(self, bullet_id: str) -> Bullet:
        """Take a bullet out; raises PlaybookError 'unknown_id'."""
        bullet = self._require(bullet_id)
        del self._bullets[bullet.id]
        return bullet

    def tag(self, bullet_id: str, tag: Tag, *, increment: int, at: datetime) -> Bullet:
        """Count a tag; raises PlaybookError 'unknown_id', 'unknown_tag' or 'negative_count'."""
        bullet = self._require(bullet_id)
        if tag not in _TAGS:
            raise PlaybookError("unknown_tag")
        count: int = getattr(bullet, tag) + increment
        if count < 0:
            raise PlaybookError("negative_count")
        return self._put(bullet, **{tag: count, "updated_at": at})

    def _require(self, bullet_id: str) -> Bullet:
        bullet = self.get(bullet_id)
        if bullet is None:
            raise PlaybookError("unknown_id")
        return bullet

    def _put(self, bullet: Bullet, **changes: object) -> Bullet:
        changed = bullet.model_copy(update=changes)
        self._bullets[bullet.id] = changed
        return changed

    def _new_id(self, wanted: str | None) -> str:
        if wanted is None or not wanted.strip():
            return f"b-{self._next_id:05d}"
        new_id = clean_id(wanted)
        if new_id in self._bullets:
            raise PlaybookError("id_exists")
        if not is_bullet_id(new_id) or not id_number(new_id):
            raise PlaybookError("bad_id")
        if id_number(new_id) < self._next_id:
            raise PlaybookError("id_used")
        return new_id
