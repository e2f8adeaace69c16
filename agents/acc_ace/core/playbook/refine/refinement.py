"""Refine a stored playbook: when full, at an interval of turns, or on request."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta

from acc_ace.core.playbook.curation.curation_record import Curated, CurationContext, Refiner
from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.playbook.refine.refine_plan import Refined, make_room, refine
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.playbook import Playbook, StoredPlaybook
from acc_ace.errors import ConflictError

SCOPES_COUNTED = 1_024
"""Maximum playbooks whose turns a process counts."""

_TRIES = 5


@dataclass(frozen=True)
class Refinement:
    """The result of a refinement; `stored` is the unchanged version if nothing was done."""

    stored: StoredPlaybook
    refined: Refined


def stale_time(days: float) -> timedelta | None:
    """The setting `stale_days` as a timedelta; None for 0, which means never."""
    return timedelta(days=days) if days else None


def room_maker(stale_after: timedelta | None) -> Refiner:
    """The refiner that curation calls when a playbook is full."""

    def make(playbook: Playbook, context: CurationContext) -> Curated:
        refined = make_room(playbook, context, stale_after=stale_after)
        return Curated(refined.playbook, [], refined.records)

    return make


class PlaybookRefiner:
    """Refines the playbooks of one process."""

    def __init__(self, store: PlaybookStore, *, interval: int, stale_days: float) -> None:
        self._store = store
        self._interval = interval
        self._stale_after = stale_time(stale_days)
        self._turns: OrderedDict[PlaybookScope, int] = OrderedDict()

    async def after_turn(self, scope: PlaybookScope, context: CurationContext) -> Refinement | None:
        """Count a turn with learning; refine at every `interval`-th, 0 for never.

        None when not yet due, or on write conflicts: the next turn then tries again.
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
        """Refine the current version; `dry_run` only reports the changes.

        Raises ConflictError after repeated write conflicts, or StoreError; nothing is changed.
        """
        for attempt in range(_TRIES):
            current = await self._store.load(scope)
            # Refining thousands of bullets takes a second; do not block the event loop.
            refined = await asyncio.to_thread(
                refine,
                current.playbook,
                context,
                stale_after=self._stale_after,
            )
            if dry_run or not refined.records:
                return Refinement(current, refined)
            try:
                stored = await self._store.commit(
                    scope, refined.playbook, refined.records, expected_version=current.version
                )
            except ConflictError:
                if attempt == _TRIES - 1:
                    raise
                continue
            return Refinement(stored, refined)
        raise AssertionError("unreachable: the last try returns or raises")
