"""Cluster duplicate bullets."""

from collections.abc import Sequence
from typing import NamedTuple

from acc_ace.core.playbook.refine.retirement import helpful_share
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.text.duplicates import lesson_of


class Cluster(NamedTuple):
    """Duplicate bullets: the survivor, and the sources merged into it."""

    survivor: Bullet
    sources: list[Bullet]


def clusters(bullets: Sequence[Bullet]) -> list[Cluster]:
    """The duplicates among the bullets, by survivor.

    Pinned bullets survive, then those with better counters, then older ones.
    """
    groups: dict[tuple[str, ...], Cluster] = {}
    for bullet in _by_precedence(bullets):
        terms = lesson_of(bullet.content).terms
        cluster = groups.setdefault(terms, Cluster(bullet, []))
        if terms and cluster.survivor is not bullet and not bullet.pinned:
            cluster.sources.append(bullet)
    return [cluster for cluster in groups.values() if cluster.sources]


def _by_precedence(bullets: Sequence[Bullet]) -> list[Bullet]:
    def rank(position: int) -> tuple[bool, float, int]:
        bullet = bullets[position]
        share = helpful_share(bullet)
        return not bullet.pinned, share.spread - share.mean, position

    return [bullets[position] for position in sorted(range(len(bullets)), key=rank)]
