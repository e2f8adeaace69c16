"""Refine a playbook: merge duplicates, archive harmful and stale bullets, enforce the budgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from acc_ace.core.playbook.curation.curation_record import (
    MAKES_ROOM,
    OVER_BUDGET,
    CurationContext,
    applied,
)
from acc_ace.core.playbook.playbook_size import exceeded_budgets
from acc_ace.core.playbook.refine.clustering import Cluster, clusters
from acc_ace.core.playbook.refine.retirement import retirement, spare, victims
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.delta import DeltaKind, RefineStep
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.playbook_draft import PlaybookDraft

NEAR_DUPLICATE: Final = "near_duplicate"


@dataclass(frozen=True)
class Refined:
    """A playbook after refinement, the steps taken, and the delta records."""

    playbook: Playbook
    steps: list[RefineStep]
    records: list[DeltaRecord]
    unmet: tuple[str, ...]
    """Budgets that pinned bullets alone exceed, by name; a person must unpin some."""


def refine(
    playbook: Playbook,
    context: CurationContext,
    *,
    stale_after: timedelta | None = None,
) -> Refined:
    """Merge, archive and enforce `context.limits`. Never raises; deterministic and idempotent.

    No budget is exceeded afterwards, unless pinned bullets alone exceed it.
    """
    work = _Work(playbook, context, stale_after)
    # Each removal may enable another, so repeat until nothing changes.
    # It terminates: every round but the last removes a bullet.
    while work.merge() + work.retire() + work.fit():
        pass
    return work.refined()


def make_room(
    playbook: Playbook, context: CurationContext, *, stale_after: timedelta | None = None
) -> Refined:
    """Refine a full playbook so that a batch of new bullets fits.

    In addition to `refine`, archives unproven bullets until there is room for
    `limits.delta_operations` bullets, but for at most a tenth of each budget.
    """
    work = _Work(playbook, context, stale_after)
    while work.merge() + work.retire() + work.fit():
        pass
    work.free()
    return work.refined()


class _Work:
    """Unit of work of one refinement: a draft, its steps and records."""

    def __init__(
        self,
        playbook: Playbook,
        context: CurationContext,
        stale_after: timedelta | None,
    ) -> None:
        self._playbook = playbook
        self._draft: PlaybookDraft = playbook.draft()
        self._context = context
        self._stale_after = stale_after
        self._steps: list[RefineStep] = []
        self._records: list[DeltaRecord] = []

    def merge(self) -> int:
        """Merge duplicates; returns the number of bullets removed."""
        groups = clusters(self._draft.bullets)
        for cluster in groups:
            self._merge_cluster(cluster)
        return sum(len(cluster.sources) for cluster in groups)

    def retire(self) -> int:
        """Archive harmful and stale bullets; returns their number."""
        due = [
            (bullet, reason)
            for bullet in self._draft.bullets
            if (reason := retirement(bullet, at=self._context.at, stale_after=self._stale_after))
        ]
        for bullet, reason in due:
            self._archive(bullet, reason)
        return len(due)

    def fit(self) -> int:
        """Archive bullets over budget; returns their number."""
        leaving = victims(self._draft.bullets, self._context.limits)
        for bullet in leaving:
            self._archive(bullet, OVER_BUDGET)
        return len(leaving)

    def free(self) -> None:
        """Archive unproven bullets to make room for new ones."""
        for bullet in spare(self._draft.bullets, self._context.limits):
            self._archive(bullet, MAKES_ROOM)

    def refined(self) -> Refined:
        """The result so far."""
        return Refined(
            playbook=self._playbook.with_draft(self._draft) if self._steps else self._playbook,
            steps=self._steps,
            records=self._records,
            unmet=exceeded_budgets(self._draft.bullets, self._context.limits),
        )

    def _merge_cluster(self, cluster: Cluster) -> None:
        before, sources = cluster.survivor, cluster.sources
        after = self._draft.merge(
            before.id,
            [source.id for source in sources],
            content=None,
            section=None,
            # The last use of any of them: a merge does not count as use.
            at=max(bullet.updated_at for bullet in (before, *sources)),
        )
        self._note(DeltaKind.MERGE, before, NEAR_DUPLICATE, after=after)
        for source in sources:
            self._note(DeltaKind.MERGE, source, NEAR_DUPLICATE, merged_into=before.id)
        self._steps.append(_step(DeltaKind.MERGE, before, NEAR_DUPLICATE, sources))

    def _archive(self, bullet: Bullet, reason: str) -> None:
        self._draft.remove(bullet.id)
        self._note(DeltaKind.ARCHIVE, bullet, reason)
        self._steps.append(_step(DeltaKind.ARCHIVE, bullet, reason))

    def _note(
        self,
        kind: DeltaKind,
        before: Bullet,
        reason: str,
        *,
        after: Bullet | None = None,
        merged_into: str | None = None,
    ) -> None:
        self._records.append(
            DeltaRecord(
                kind=kind,
                bullet_id=before.id,
                before=before,
                after=after,
                merged_into=merged_into,
                **self._context.stamp(applied(reason)),
            )
        )


def _step(
    kind: DeltaKind, bullet: Bullet, reason: str, sources: Sequence[Bullet] = ()
) -> RefineStep:
    return RefineStep(
        kind=kind,
        bullet_id=bullet.id,
        content=bullet.content,
        reason=reason,
        source_ids=[source.id for source in sources],
        source_contents=[source.content for source in sources],
    )
