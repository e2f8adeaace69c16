"""Choose the bullets to archive: harmful, stale, or over budget."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from acc_ace.core.playbook.playbook_size import PlaybookSize
from acc_ace.core.schemas.bullet import EPOCH, Bullet, id_number
from acc_ace.core.schemas.limits import Limits

SURE = 1.645
"""Standard deviations of a one-sided 95 % confidence bound."""


class Share(NamedTuple):
    """Mean and standard deviation of a proportion, 0 to 1."""

    mean: float
    spread: float


def helpful_share(bullet: Bullet) -> Share:
    """Share of helpful among helpful and harmful turns, with a Beta(1, 1) prior."""
    judged = bullet.helpful + bullet.harmful + 2
    mean = (bullet.helpful + 1) / judged
    return Share(mean, math.sqrt(mean * (1 - mean) / (judged + 1)))


def is_judged(bullet: Bullet) -> bool:
    """Whether the bullet was ever tagged."""
    return bool(bullet.helpful or bullet.harmful or bullet.neutral)


def is_proven(bullet: Bullet) -> bool:
    """Whether it helps more often than not, at one standard deviation below the mean."""
    share = helpful_share(bullet)
    return share.mean - share.spread > 0.5


def is_net_harmful(bullet: Bullet) -> bool:
    """Whether it significantly harms more often than not, such as 3 to 0 or 5 to 1."""
    share = helpful_share(bullet)
    return share.mean + SURE * share.spread < 0.5


NET_HARMFUL = "net_harmful"
STALE = "stale"


def retirement(bullet: Bullet, *, at: datetime, stale_after: timedelta | None) -> str | None:
    """The reason to archive a bullet, or None.

    Pinned and never tagged bullets stay. Proven ones never become stale, since some lessons are
    needed once a year. `stale_after` None disables staleness.
    """
    if bullet.pinned or not is_judged(bullet):
        return None
    if is_net_harmful(bullet):
        return NET_HARMFUL
    # Bullets of old releases have no date, so the time since their last use is unknown.
    dated = bullet.updated_at > EPOCH
    unused_for = at - bullet.updated_at
    if stale_after is not None and dated and unused_for > stale_after and not is_proven(bullet):
        return STALE
    return None


PROTECTED = 20
"""Number of newest bullets that are archived late, so that they have time to prove themselves."""


def victims(bullets: Sequence[Bullet], limits: Limits) -> list[Bullet]:
    """The bullets to archive until the others fit; never pinned ones. Deterministic.

    First those never tagged, oldest first; then tagged but unproven ones, worst first; then the
    PROTECTED newest, at most half of all, in that order; proven ones last, the worst of them
    first.
    """
    return _leaving(bullets, _by_worth(bullets), limits)


def spare(bullets: Sequence[Bullet], limits: Limits) -> list[Bullet]:
    """The bullets to archive so that a batch of new ones fits, in the order of `victims`.

    Proven bullets stay, so there may be less room than requested.
    """
    unproven = [bullet for bullet in _by_worth(bullets) if not is_proven(bullet)]
    return _leaving(bullets, unproven, _with_headroom(limits))


def _leaving(bullets: Sequence[Bullet], ordered: Sequence[Bullet], limits: Limits) -> list[Bullet]:
    """Take from the front of `ordered` until the limits are met."""
    size = PlaybookSize(bullets)
    leaving: dict[str, Bullet] = {}
    # Sections first: their removals count for the whole playbook too.
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
    """The limits minus the room for a batch, at most a tenth of each budget."""

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
    # Ids count up, so the highest are the newest, independent of clocks.
    newest = sorted((id_number(bullet.id) for bullet in bullets), reverse=True)
    protected = frozenset(newest[: min(PROTECTED, len(bullets) // 2)])

    def worth(position: int) -> tuple[int, float, datetime, int]:
        bullet = bullets[position]
        share = helpful_share(bullet)
        tier = int(is_judged(bullet))
        if is_proven(bullet):
            tier = 3
        elif id_number(bullet.id) in protected:
            tier = 2
        return tier, share.mean - share.spread, bullet.updated_at, position

    movable = [at for at, bullet in enumerate(bullets) if not bullet.pinned]
    return [bullets[position] for position in sorted(movable, key=worth)]
