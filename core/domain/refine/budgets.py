"""Who must leave when a playbook exceeds its budgets."""

from collections.abc import Sequence
from datetime import datetime

from core.domain.playbook_size import PlaybookSize
from core.domain.refine.record import helpful_share, is_judged, is_proven
from schemas.bullet import Bullet
from schemas.limits import Limits


def victims(bullets: Sequence[Bullet], limits: Limits) -> list[Bullet]:
    """The bullets that must leave for the others to fit; pinned ones never do.

    First those that were judged and are not proven, worst first; then those never judged, oldest
    first; proven ones last, the worst of them first. The same bullets give the same victims.
    """
    sizes = PlaybookSize(bullets)
    ordered = _by_worth(bullets)
    leaving: dict[str, Bullet] = {}
    # Sections first: what leaves them need not leave for the whole.
    for bullet in ordered:
        if sizes.section_exceeded(bullet.section, limits):
            sizes.drop(bullet)
            leaving[bullet.id] = bullet
    for bullet in ordered:
        if not sizes.exceeded(limits):
            break
        if bullet.id not in leaving:
            sizes.drop(bullet)
            leaving[bullet.id] = bullet
    return list(leaving.values())


def _by_worth(bullets: Sequence[Bullet]) -> list[Bullet]:
    def worth(position: int) -> tuple[int, float, datetime, int]:
        bullet = bullets[position]
        share = helpful_share(bullet)
        standing = 2 if is_proven(bullet) else int(not is_judged(bullet))
        return standing, share.mean - share.spread, bullet.updated_at, position

    movable = [at for at, bullet in enumerate(bullets) if not bullet.pinned]
    return [bullets[position] for position in sorted(movable, key=worth)]
