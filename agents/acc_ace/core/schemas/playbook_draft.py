"""A mutable playbook draft: bullets in a dictionary, copied once at the end.

The draft holds the rules of every operation (what is rejected, which id comes next, what an
update keeps). `Playbook` works through it, for one operation as for a thousand.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import get_args

from acc_ace.core.schemas.base import trusted, trusted_copy
from acc_ace.core.schemas.bullet import (
    DEFAULT_SECTION,
    EPOCH,
    MOST_COUNTED,
    Bullet,
    Origin,
    clean_id,
    clean_section,
    id_number,
    is_bullet_id,
    one_line,
)
from acc_ace.core.schemas.reflection import Tag
from acc_ace.errors import PlaybookError

_TAGS: frozenset[str] = frozenset(get_args(Tag))
_BLANK = Bullet(id="b-00000", section=DEFAULT_SECTION, content="", created_at=EPOCH)
"""What a new bullet is a copy of. A copy is not validated again: everything put in is clean."""


class PlaybookDraft:
    """Bullets by id, oldest first, and the id counter."""

    def __init__(self, bullets: Mapping[str, Bullet], next_id: int) -> None:
        self._bullets = dict(bullets)
        self._next_id = next_id

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        """The current bullets."""
        return tuple(self._bullets.values())

    @property
    def next_id(self) -> int:
        """Number of the next id."""
        return self._next_id

    def __len__(self) -> int:
        return len(self._bullets)

    def get(self, bullet_id: str) -> Bullet | None:
        """Return the bullet, or None. The id is case-insensitive; brackets are ignored."""
        # Mostly an id comes as it is stored.
        return self._bullets.get(bullet_id) or self._bullets.get(clean_id(bullet_id))

    def add(
        self,
        section: str,
        content: str,
        *,
        bullet_id: str | None,
        at: datetime,
        origin: Origin | None = None,
        unconfirmed: bool = False,
    ) -> Bullet:
        """Add a bullet at the end.

        Raises PlaybookError: 'empty', 'id_exists', 'id_used' (the number was given before) or
        'bad_id'.
        """
        text = one_line(content)
        if not text:
            raise PlaybookError("empty")
        number, new_id = self._new_id(bullet_id)
        bullet = trusted(
            _BLANK,
            {
                "id": new_id,
                "section": clean_section(section) or DEFAULT_SECTION,
                "content": text,
                "helpful": 0,
                "harmful": 0,
                "neutral": 0,
                "created_at": at,
                "updated_at": at,
                "pinned": False,
                "origin": origin,
                "unconfirmed": unconfirmed,
            },
        )
        self._bullets[new_id] = bullet
        self._next_id = number + 1
        return bullet

    def update(
        self,
        bullet_id: str,
        *,
        content: str | None,
        section: str | None,
        at: datetime,
        origin: Origin | None = None,
        unconfirmed: bool = False,
    ) -> Bullet:
        """Change content or section in place; raises PlaybookError 'unknown_id' or 'empty'.

        Without an `origin` the bullet keeps the one it has.
        """
        bullet = self._require(bullet_id)
        changes = _reworded(bullet, content, section, at, origin)
        return self._put(bullet, {**changes, "unconfirmed": unconfirmed})

    def merge(
        self,
        bullet_id: str,
        source_ids: Iterable[str],
        *,
        content: str | None,
        section: str | None,
        at: datetime,
        origin: Origin | None = None,
    ) -> Bullet:
        """Merge bullets into one: counters are added, the sources are removed.

        All or nothing. What two users taught is confirmed. Raises PlaybookError 'unknown_id',
        'no_sources', 'merge_with_itself' (a
        source is the bullet that stays) or 'empty'.
        """
        survivor = self._require(bullet_id)
        sources = self.sources(survivor, source_ids)
        changes = _reworded(survivor, content, section, at, origin)
        for source in sources:
            del self._bullets[source.id]
        for tag in _TAGS:
            count = sum(getattr(bullet, tag) for bullet in (survivor, *sources))
            changes[tag] = min(count, MOST_COUNTED)
        authors = {bullet.origin and bullet.origin.user for bullet in (survivor, *sources)}
        alone = all(bullet.unconfirmed for bullet in (survivor, *sources)) and len(authors) == 1
        changes["unconfirmed"] = alone
        return self._put(survivor, changes)

    def sources(self, survivor: Bullet, source_ids: Iterable[str]) -> tuple[Bullet, ...]:
        """The bullets that a merge into `survivor` would take in, each once and without itself.

        Raises PlaybookError 'unknown_id', 'no_sources' or 'merge_with_itself'.
        """
        bullets = {bullet.id: bullet for bullet in map(self._require, source_ids)}
        if not bullets:
            raise PlaybookError("no_sources")
        bullets.pop(survivor.id, None)
        if not bullets:
            raise PlaybookError("merge_with_itself")
        return tuple(bullets.values())

    def pin(self, bullet_id: str, *, pinned: bool) -> Bullet:
        """Pin or unpin a bullet, which confirms it; raises PlaybookError 'unknown_id'."""
        return self._put(self._require(bullet_id), {"pinned": pinned, "unconfirmed": False})

    def confirm(self, bullet_id: str) -> Bullet:
        """Let all users of the playbook be shown a bullet; raises PlaybookError 'unknown_id'."""
        return self._put(self._require(bullet_id), {"unconfirmed": False})

    def restore(self, bullet: Bullet) -> Bullet:
        """Restore a removed bullet at the end; raises PlaybookError 'id_exists'."""
        if bullet.id in self._bullets:
            raise PlaybookError("id_exists")
        self._bullets[bullet.id] = bullet
        self._next_id = max(self._next_id, id_number(bullet.id) + 1)
        return bullet

    def remove(self, bullet_id: str) -> Bullet:
        """Remove a bullet; raises PlaybookError 'unknown_id'."""
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
        return self._put(bullet, {tag: min(count, MOST_COUNTED), "updated_at": at})

    def _require(self, bullet_id: str) -> Bullet:
        bullet = self.get(bullet_id)
        if bullet is None:
            raise PlaybookError("unknown_id")
        return bullet

    def _put(self, bullet: Bullet, changes: dict[str, object]) -> Bullet:
        changed = trusted_copy(bullet, changes)
        self._bullets[bullet.id] = changed
        return changed

    def _new_id(self, wanted: str | None) -> tuple[int, str]:
        """The id of a new bullet with the number it ends in, which is not below the counter."""
        if wanted is None or not wanted.strip():
            return self._next_id, f"b-{self._next_id:05d}"
        new_id = clean_id(wanted)
        number = id_number(new_id)
        if new_id in self._bullets:
            raise PlaybookError("id_exists")
        if not is_bullet_id(new_id) or not number:
            raise PlaybookError("bad_id")
        if number < self._next_id:
            raise PlaybookError("id_used")
        return number, new_id


def _reworded(
    bullet: Bullet,
    content: str | None,
    section: str | None,
    at: datetime,
    origin: Origin | None,
) -> dict[str, object]:
    """What an update changes; raises PlaybookError 'empty'."""
    text = bullet.content if content is None else one_line(content)
    if not text:
        raise PlaybookError("empty")
    return {
        "content": text,
        "section": clean_section(section or "") or bullet.section,
        "updated_at": at,
        "origin": origin or bullet.origin,
    }
