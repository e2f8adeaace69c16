"""Refinement in a store: when it happens, and what happens when something fails."""

from dataclasses import replace

import pytest

from acc_ace.core.playbook.curation.curation_record import OK, CurationContext
from acc_ace.core.playbook.curation.delta_guard import curate
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner, room_maker, stale_time
from acc_ace.errors import ConflictError
from acc_ace.turn.learning_step import apply_batch
from schemas.base import PlaybookScope
from schemas.delta import DeltaBatch, DeltaKind, DeltaOperation, DeltaStatus, DeltaType
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from tests.fakes.stores import InMemoryPlaybookStore
from tests.unit.refine.values import context, playbook

SCOPE = PlaybookScope("desk")
DOUBLED = playbook("Drain the queue.", "Always drain the queue.", "Answer in French.")


async def _store(book: Playbook) -> InMemoryPlaybookStore:
    store = InMemoryPlaybookStore()
    await _fill(store, book)
    return store


async def _fill(store: InMemoryPlaybookStore, book: Playbook) -> None:
    records = [
        DeltaRecord(kind=DeltaKind.IMPORT, bullet_id=item.id, after=item, **context().stamp(OK))
        for item in book.bullets
    ]
    records[-1] = records[-1].model_copy(update={"next_id": book.next_id})
    await store.commit(SCOPE, book, records, expected_version=0)


def _refinery(store: InMemoryPlaybookStore, *, interval: int = 3) -> PlaybookRefiner:
    return PlaybookRefiner(store, interval=interval, stale_days=0)


async def test_every_interval_th_turn_refines_and_the_others_do_not() -> None:
    refinery = _refinery(await _store(DOUBLED))

    done = [await refinery.after_turn(SCOPE, context()) for _ in range(4)]

    assert [item is not None for item in done] == [False, False, True, False]
    assert done[2] is not None
    assert done[2].stored.version == 2


async def test_playbooks_are_counted_apart_and_zero_means_never() -> None:
    store = await _store(DOUBLED)
    often, never = _refinery(store, interval=2), _refinery(store, interval=0)

    assert await often.after_turn(SCOPE, context()) is None
    assert await often.after_turn(PlaybookScope("other"), context()) is None
    assert await often.after_turn(SCOPE, context()) is not None
    assert [await never.after_turn(SCOPE, context()) for _ in range(5)] == [None] * 5


async def test_a_dry_run_says_what_would_be_done_and_does_nothing() -> None:
    store = await _store(DOUBLED)

    refinement = await _refinery(store).refine(SCOPE, context(), dry_run=True)

    assert [step.source_ids for step in refinement.refined.steps] == [["b-00002"]]
    assert (await store.load(SCOPE)).playbook == DOUBLED


async def test_an_old_id_still_resolves_after_a_merge() -> None:
    store = await _store(DOUBLED)

    await _refinery(store).refine(SCOPE, context())

    assert await store.resolve(SCOPE, "b-00002") == "b-00001"
    assert await store.replay(SCOPE) == (await store.load(SCOPE)).playbook


async def test_a_refinement_that_changes_nothing_makes_no_version() -> None:
    store = await _store(playbook("Drain the queue.", "Answer in French."))

    refinement = await _refinery(store).refine(SCOPE, context())

    assert refinement.stored.version == 1
    assert (await store.load(SCOPE)).version == 1


class _Contested(InMemoryPlaybookStore):
    """While somebody reads it, somebody else commits, `losses` times."""

    losses = 0

    async def load(self, scope: PlaybookScope, *, version: int | None = None) -> StoredPlaybook:
        current = await super().load(scope, version=version)
        if self.losses:
            left, self.losses = self.losses - 1, 0
            operation = DeltaOperation(
                type=DeltaType.ADD, section="s", content=f"Offer the dish {'x' * left}."
            )
            await apply_batch(self, SCOPE, DeltaBatch(operations=[operation]), context())
            self.losses = left
        return current


async def _contested(losses: int) -> _Contested:
    store = _Contested()
    await _fill(store, DOUBLED)
    store.losses = losses
    return store


async def test_a_lost_race_is_run_again_on_the_newer_version() -> None:
    refinement = await _refinery(await _contested(2)).refine(SCOPE, context())

    assert refinement.stored.version == 4
    assert [item.id for item in refinement.stored.playbook.bullets] == [
        "b-00001", "b-00003", "b-1000000", "b-1000001",
    ]  # fmt: skip


async def test_a_race_that_is_always_lost_is_given_up_with_nothing_changed() -> None:
    store = await _contested(99)

    with pytest.raises(ConflictError):
        await _refinery(store).refine(SCOPE, context())

    assert [item.id for item in (await store.load(SCOPE)).playbook.bullets][:3] == [
        "b-00001", "b-00002", "b-00003",
    ]  # fmt: skip


async def test_a_turn_that_loses_every_race_leaves_refining_to_the_next() -> None:
    refinery = _refinery(await _contested(5), interval=2)

    done = [await refinery.after_turn(SCOPE, context()) for _ in range(3)]

    assert [item is not None for item in done] == [False, False, True]


def test_a_full_playbook_is_refined_before_an_addition_is_held() -> None:
    batch = DeltaBatch(
        operations=[DeltaOperation(type=DeltaType.ADD, section="s", content="Greet the guest.")]
    )
    distinct = playbook("Drain the queue.", "Answer in French.", "Ask twice.")
    proven = [item.model_copy(update={"helpful": 9}) for item in distinct.bullets]
    kept = distinct.model_copy(update={"bullets": tuple(proven)})
    full: CurationContext = replace(context(playbook_bullets=3), refine=room_maker(None))

    added, held = curate(DOUBLED, batch, full), curate(kept, batch, full)

    assert [result.status for result in added.results] == [DeltaStatus.APPLIED]
    assert [item.id for item in added.playbook.bullets][:2] == ["b-00001", "b-00003"]
    assert [(r.status, r.reason) for r in held.results] == [(DeltaStatus.HELD, "over_budget")]


def test_no_days_means_that_nothing_grows_stale() -> None:
    assert stale_time(0) is None
    assert stale_time(1.5) is not None
