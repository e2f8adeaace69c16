"""Who must leave when a playbook exceeds its budgets."""

from collections.abc import Sequence
from datetime import datetime

from acc_ace.playbook.playbook_size import PlaybookSize
from acc_ace.playbook.refine.bullet_record import helpful_share, is_judged, is_proven
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.limits import Limits


def victims(bullets: Sequence[Bullet], limits: Limits) -> list[Bullet]:
    """The bullets that must leave for the others to fit; pinned ones never do.

    First those that were judged and are not proven, worst first; then those never judged, oldest
    first; proven ones last, the worst of them first. The same bullets give the same victims.
    """
    return _leaving(bullets, _by_worth(bullets), limits)


def spare(bullets: Sequence[Bullet], limits: Limits) -> list[Bullet]:
    """The bullets that may leave so that a batch of new ones has room, worst first.

    Only bullets that were judged and are not proven; so there may be less room than wanted.
    """
    unproven = [
        bullet for bullet in _by_worth(bullets) if is_judged(bullet) and not is_proven(bullet)
    ]
    return _leaving(bullets, unproven, _with_headroom(limits))


def _leaving(bullets: Sequence[Bullet], ordered: Sequence[Bullet], limits: Limits) -> list[Bullet]:
    """Those of `ordered`, from the first on, that leave until the limits are kept."""
    size = PlaybookSize(bullets)
    leaving: dict[str, Bullet] = {}
    # Sections first: what leaves them need not leave for the whole.
    for bullet in ordered:
        if size.section_exceeded(bullet.section, limits):
            size.drop(bullet)
            leaving[bullet.id] = bullet
    for bullet in ordered:
        if not size.exceeded(limits):
            break
        if bullet.id not in leaving:
            size.drop(bullet)
            leaving[bullet.id] = bullet
    return list(leaving.values())


def _with_headroom(limits: Limits) -> Limits:
    """The limits less room for a batch, of which a tenth of each budget is the most."""

    def less(budget: int, wanted: int) -> int:
        return budget - max(1, min(wanted, budget // 10))

    bullets, tokens = limits.delta_operations, limits.delta_operations * limits.bullet_tokens
    return limits.model_copy(
        update={
            "playbook_bullets": less(limits.playbook_bullets, bullets),
            "section_bullets": less(limits.section_bullets, bullets),
            "playbook_tokens": less(limits.playbook_tokens, tokens),
            "section_tokens": less(limits.section_tokens, tokens),
        }
    )


def _by_worth(bullets: Sequence[Bullet]) -> list[Bullet]:
    def worth(position: int) -> tuple[int, float, datetime, int]:
        bullet = bullets[position]
        share = helpful_share(bullet)
        standing = 2 if is_proven(bullet) else int(not is_judged(bullet))
        return standing, share.mean - share.spread, bullet.updated_at, position

    movable = [at for at, bullet in enumerate(bullets) if not bullet.pinned]
    return [bullets[position] for position in sorted(movable, key=worth)]
