"""Look up bullets: by words, with their history, and beside a held operation."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import Field

from acc_ace.core.playbook.lesson_index import LessonIndex
from acc_ace.core.playbook.selection_index import bullet_terms, terms_of
from acc_ace.core.schemas.base import Value
from acc_ace.core.schemas.bullet import Bullet, clean_id
from acc_ace.core.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.errors import NotFoundError

_NEAR_IDS = 3


@dataclass(frozen=True)
class BulletHistory:
    """The log records of a bullet, newest first."""

    bullet_id: str
    live: Bullet | None
    """The bullet itself, or the one it was merged into."""
    records: list[DeltaRecord]
    complete: bool
    """False when the history was cut off at the read limit."""


def unknown_bullet(playbook: Playbook, bullet_id: str) -> NotFoundError:
    """The error for an id that no bullet ever had, with similar ids."""
    near = get_close_matches(
        bullet_id, [bullet.id for bullet in playbook.bullets], n=_NEAR_IDS, cutoff=0.6
    )
    hint = f"; near it: {', '.join(near)}" if near else ""
    return NotFoundError(f"no bullet {bullet_id[:64]!r} in this playbook{hint}")


def removed(story: BulletHistory) -> Bullet:
    """The bullet as it was before it was removed. Raises NotFoundError if it is not logged."""
    for record in story.records:
        leaves = record.status is DeltaStatus.APPLIED and record.after is None
        if record.bullet_id == story.bullet_id and leaves and record.before is not None:
            return record.before
    raise NotFoundError(f"the log does not hold bullet {story.bullet_id} as it was")


def why_not_live(story: BulletHistory) -> str:
    """Say why a bullet is not live and how to restore it."""
    if story.live is not None:
        return (
            f"bullet {story.bullet_id} was merged into {story.live.id}; edit that one, or "
            f"'restore {story.bullet_id}' first"
        )
    archived = any(
        record.kind is DeltaKind.ARCHIVE and record.bullet_id == story.bullet_id
        for record in story.records[:1]
    )
    how = "archived" if archived else "removed"
    return f"bullet {story.bullet_id} was {how}; 'restore {story.bullet_id}' brings it back"


MOST_QUERY_CHARACTERS = 2_000


class Hit(Value):
    """A matching bullet with its score, 0 to 1."""

    bullet: Bullet
    score: float = Field(description="Share of the query terms it has, rare words weigh more.")


def search_bullets(playbook: Playbook, text: str, *, limit: int) -> list[Hit]:
    """The bullets that match a text best, at most `limit`, best first, oldest first on a tie.

    If the text is a bullet's id, that bullet comes first.
    """
    query = text[:MOST_QUERY_CHARACTERS]
    wanted = terms_of(query)
    matches = [wanted & bullet_terms(bullet.section, bullet.content) for bullet in playbook.bullets]
    frequency = Counter(term for terms in matches for term in terms)
    weight = {
        term: math.log1p(len(matches) / max(1, frequency.get(term, 0))) for term in sorted(wanted)
    }
    total = math.fsum(weight.values())
    bullet_id = clean_id(query)
    hits = [
        Hit(bullet=bullet, score=1.0 if bullet.id == bullet_id else round(share, 4))
        for bullet, terms in zip(playbook.bullets, matches, strict=True)
        if (share := math.fsum(weight[term] for term in terms) / total if total else 0.0)
        or bullet.id == bullet_id
    ]
    hits.sort(key=lambda hit: -hit.score)
    return hits[:limit]


def contradicted(
    playbook: Playbook, records: Iterable[DeltaRecord]
) -> Mapping[int, Sequence[Bullet]]:
    """By `seq`, the live bullets that a held operation may contradict, repeat or merge."""
    index = LessonIndex(playbook.bullets)
    by_id = playbook.by_id
    beside: dict[int, Sequence[Bullet]] = {}
    for record in records:
        if record.operation is None:
            continue
        own = {record.bullet_id or "", *record.operation.source_ids}
        text = record.operation.content or ""
        names = [*record.operation.source_ids]
        if text:
            names += index.contrary(text, apart_from=own) or index.alike(text, apart_from=own)
        bullets = [by_id[name] for name in names if name in by_id]
        if bullets:
            beside[record.seq] = bullets
    return beside
