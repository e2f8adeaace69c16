"""Find the bullets that say the same."""

from collections.abc import Sequence
from typing import NamedTuple

from acc_ace.playbook.refine.retirement import helpful_share
from acc_ace.schemas.bullet import Bullet
from acc_ace.text.duplicates import lesson_of


class Cluster(NamedTuple):
    """Bullets that say the same: the one that stays, and those that go into it."""

    survivor: Bullet
    sources: list[Bullet]


def clusters(bullets: Sequence[Bullet]) -> list[Cluster]:
    """The bullets that say the same as another, by the bullet that stays.

    Pinned bullets stay, then those with the better record, then older ones.
    """
    kept: dict[tuple[str, ...], Cluster] = {}
    for bullet in _by_precedence(bullets):
        terms = lesson_of(bullet.content).terms
        cluster = kept.setdefault(terms, Cluster(bullet, []))
        if terms and cluster.survivor is not bullet and not bullet.pinned:
            cluster.sources.append(bullet)
    return [cluster for cluster in kept.values() if cluster.sources]


def _by_precedence(bullets: Sequence[Bullet]) -> list[Bullet]:
    def rank(position: int) -> tuple[bool, float, int]:
        bullet = bullets[position]
        share = helpful_share(bullet)
        return not bullet.pinned, share.spread - share.mean, position

    return [bullets[position] for position in sorted(range(len(bullets)), key=rank)]
