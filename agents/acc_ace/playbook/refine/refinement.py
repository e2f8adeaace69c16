"""Refine a playbook in its store: when it is full, every so many turns, or when asked to."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from acc_ace.errors import ConflictError, EmbedderError
from acc_ace.memory.artifact_store import Embedder
from acc_ace.playbook.curation.curation_record import Curated, CurationContext, Refiner
from acc_ace.playbook.playbook_store import PlaybookStore
from acc_ace.playbook.refine.refine_plan import NO_VECTORS, Refined, make_room, refine
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.playbook import Playbook, StoredPlaybook
from acc_ace.text.duplicates import Vector

VECTORS_KEPT = 8_192
"""Vectors of bullets that a process remembers, so that only new texts are embedded."""

SCOPES_COUNTED = 1_024
"""Playbooks whose turns a process counts."""

_BATCH = 64
_TRIES = 5


@dataclass(frozen=True)
class Refinement:
    """A playbook after refinement; `stored` is the version before it when nothing was done."""

    stored: StoredPlaybook
    refined: Refined
    warnings: tuple[str, ...] = ()


def stale_time(days: float) -> timedelta | None:
    """The setting `stale_days` as a time; None for 0, which means never."""
    return timedelta(days=days) if days else None


def room_maker(stale_after: timedelta | None) -> Refiner:
    """What curation calls when a playbook is full: by words alone, since it must not wait."""

    def make(playbook: Playbook, context: CurationContext) -> Curated:
        refined = make_room(playbook, context, stale_after=stale_after)
        return Curated(refined.playbook, [], refined.records)

    return make


class Refinery:
    """Refines the playbooks of one process."""

    def __init__(
        self,
        store: PlaybookStore,
        *,
        interval: int,
        stale_days: float,
        embedder: Embedder | None = None,
    ) -> None:
        self._store = store
        self._interval = interval
        self._stale_after = stale_time(stale_days)
        self._vectors = None if embedder is None else BulletVectors(embedder)
        self._turns: OrderedDict[PlaybookScope, int] = OrderedDict()

    async def after_turn(self, scope: PlaybookScope, context: CurationContext) -> Refinement | None:
        """Count a turn that was learnt from; refine at every `interval`-th, 0 for never.

        None when it was not yet time, or when others keep writing: the next turn tries again.
        Raises StoreError, with nothing changed.
        """
        if not self._interval:
            return None
        turns = self._turns.pop(scope, 0) + 1
        self._turns[scope] = turns % self._interval
        while len(self._turns) > SCOPES_COUNTED:
            self._turns.popitem(last=False)
        if turns < self._interval:
            return None
        try:
            return await self.refine(scope, context)
        except ConflictError:
            self._turns[scope] = self._interval - 1
            return None

    async def refine(
        self, scope: PlaybookScope, context: CurationContext, *, dry_run: bool = False
    ) -> Refinement:
        """Refine whatever version is current; `dry_run` only says what would be done.

        Raises ConflictError when others keep winning, or StoreError; nothing is changed then.
        """
        for attempt in range(_TRIES):
            current = await self._store.load(scope)
            vectors, warnings = await self._vectors_of(current.playbook.bullets)
            # Judging thousands of bullets takes a second, and others are being answered.
            refined = await asyncio.to_thread(
                refine,
                current.playbook,
                context,
                stale_after=self._stale_after,
                vectors=vectors,
            )
            if dry_run or not refined.records:
                return Refinement(current, refined, warnings)
            try:
                stored = await self._store.commit(
                    scope, refined.playbook, refined.records, expected_version=current.version
                )
            except ConflictError:
                if attempt == _TRIES - 1:
                    raise
                continue
            return Refinement(stored, refined, warnings)
        raise AssertionError("unreachable: the last try returns or raises")

    async def _vectors_of(
        self, bullets: Sequence[Bullet]
    ) -> tuple[Mapping[str, Vector], tuple[str, ...]]:
        """Vectors by id; none, with a warning, when the embedder fails."""
        if self._vectors is None:
            return NO_VECTORS, ()
        try:
            return await self._vectors.of(bullets), ()
        except EmbedderError as error:
            return NO_VECTORS, (f"refined by words alone: {error}",)


class BulletVectors:
    """Vectors of bullets; remembers the newest VECTORS_KEPT of them."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[tuple[str, str], Vector] = OrderedDict()

    async def of(self, bullets: Sequence[Bullet]) -> dict[str, Vector]:
        """The vector of each bullet, by id. Raises EmbedderError."""
        keys = {bullet.id: (self._embedder.model, bullet.content) for bullet in bullets}
        found = {key: self._known[key] for key in keys.values() if key in self._known}
        new = [key for key in dict.fromkeys(keys.values()) if key not in found]
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            vectors = await self._embedder.passages([text for _, text in batch])
            found.update(zip(batch, vectors, strict=True))
        self._remember(found)
        return {bullet_id: found[key] for bullet_id, key in keys.items()}

    def _remember(self, found: Mapping[tuple[str, str], Vector]) -> None:
        for key, vector in found.items():
            self._known[key] = vector
            self._known.move_to_end(key)
        while len(self._known) > VECTORS_KEPT:
            self._known.popitem(last=False)
