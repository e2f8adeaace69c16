"""Find bullets by their words or their id, for a person."""

import math
from collections import Counter

from pydantic import Field

from acc_ace.playbook.selection_terms import bullet_terms, terms_of
from acc_ace.schemas.base import Value
from acc_ace.schemas.bullet import Bullet, clean_id
from acc_ace.schemas.playbook import Playbook

MOST_QUERY_CHARACTERS = 2_000


class Hit(Value):
    """A bullet that fits, with its score, 0 to 1."""

    bullet: Bullet
    score: float = Field(description="Share of what was asked for, rare words counting more.")


def search_bullets(playbook: Playbook, text: str, *, limit: int) -> list[Hit]:
    """The bullets that fit a text best, at most `limit`, the best first, then the oldest.

    A text that is the id of a bullet finds that bullet first.
    """
    asked = text[:MOST_QUERY_CHARACTERS]
    wanted = terms_of(asked)
    found = [wanted & bullet_terms(bullet.section, bullet.content) for bullet in playbook.bullets]
    frequency = Counter(term for terms in found for term in terms)
    weight = {
        term: math.log1p(len(found) / max(1, frequency.get(term, 0))) for term in sorted(wanted)
    }
    total = math.fsum(weight.values())
    bullet_id = clean_id(asked)
    hits = [
        Hit(bullet=bullet, score=1.0 if bullet.id == bullet_id else round(share, 4))
        for bullet, terms in zip(playbook.bullets, found, strict=True)
        if (share := math.fsum(weight[term] for term in terms) / total if total else 0.0)
        or bullet.id == bullet_id
    ]
    hits.sort(key=lambda hit: -hit.score)
    return hits[:limit]
