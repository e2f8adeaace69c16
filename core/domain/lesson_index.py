"""What the bullets of a playbook say, for looking up: who says the same, who says the contrary."""

from collections.abc import Collection, Iterable

from core.domain.claim import Claim, claim_of
from core.domain.playbook_size import PlaybookSize
from schemas.bullet import Bullet
from schemas.limits import Limits


class LessonIndex:
    """The claims and the size of all bullets, kept in step by `add` and `discard`."""

    def __init__(self, bullets: Iterable[Bullet]) -> None:
        self._said: dict[str, dict[str, None]] = {}
        self._claims: dict[str, dict[str, Claim]] = {}
        self._size = PlaybookSize()
        for bullet in bullets:
            self.add(bullet)

    def add(self, bullet: Bullet) -> None:
        """Take a bullet in."""
        claim = claim_of(bullet.content)
        self._said.setdefault(claim.fingerprint, {})[bullet.id] = None
        for key in claim.found_by:
            self._claims.setdefault(key, {})[bullet.id] = claim
        self._size.add(bullet)

    def discard(self, bullet: Bullet) -> None:
        """Leave a bullet out, as it was when it was added."""
        claim = claim_of(bullet.content)
        self._said[claim.fingerprint].pop(bullet.id)
        for key in claim.found_by:
            self._claims[key].pop(bullet.id)
        self._size.drop(bullet)

    def same(self, text: str, *, apart_from: Collection[str] = ()) -> str | None:
        """The id of the oldest other bullet, of any section, that says the same."""
        said = self._said.get(claim_of(text).fingerprint, {})
        return next((bullet_id for bullet_id in said if bullet_id not in apart_from), None)

    def contrary(self, text: str, *, apart_from: Collection[str] = ()) -> list[str]:
        """The ids of other bullets that contradict the text."""
        claim = claim_of(text)
        found = {
            bullet_id: None
            for key in claim.found_by
            for bullet_id, other in self._claims.get(key, {}).items()
            if bullet_id not in apart_from and claim.excludes(other)
        }
        return list(found)

    def has_room(
        self, section: str, text: str, limits: Limits, *, leaving: Collection[Bullet] = ()
    ) -> bool:
        """Whether a text may join a section when other bullets leave.

        A change that makes nothing larger is always possible, whatever the limits are now.
        """
        return self._size.has_room(section, text, limits, leaving=leaving)
