"""What a session's record keeps when the session goes back to other turns, or begins anew."""

from datetime import timedelta

from acc_ace.container import Container
from acc_ace.core.schemas.session import ReadThrough, SessionRecord
from acc_ace.ext.strategies.memory import Summary
from tests.contract.values import KEY
from tests.fakes.clock import START


def summary(through: int, *, restores: int = 0) -> Summary:
    return Summary(
        content=f"to {through}",
        through_turn=through,
        restores=restores,
        session_started=START,
        created_at=START,
    )


async def kept(stores: Container) -> SessionRecord:
    record = await stores.directory.find(KEY)
    assert record is not None
    return record


async def test_a_summary_of_turns_that_were_left_is_forgotten(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="summary")
    await stores.directory.summarise(KEY, summary(4))
    await stores.directory.restored(KEY, turn=4)
    record = await kept(stores)
    assert record.summary == summary(4)
    await stores.directory.restored(KEY, turn=3)
    assert (await kept(stores)).summary is None


async def test_a_summary_that_was_begun_before_is_late(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="summary")
    await stores.directory.restored(KEY, turn=2)
    await stores.directory.summarise(KEY, summary(4))
    assert (await kept(stores)).summary is None
    started = (await kept(stores)).restores
    await stores.directory.summarise(KEY, summary(4, restores=started))
    record = await kept(stores)
    assert record.summary is not None
    assert record.summary.through_turn == 4


async def test_a_summary_of_a_deleted_session_is_none_of_the_next_one(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="summary")
    await stores.directory.delete(KEY, at=START, keep_notes=False)
    started = START + timedelta(seconds=1)
    await stores.directory.open(KEY, at=started, memory="summary")
    await stores.directory.summarise(KEY, summary(4))
    assert (await kept(stores)).summary is None


async def test_a_summary_is_kept_of_a_session_that_began_while_the_clock_was_ahead(
    stores: Container,
) -> None:
    began = START + timedelta(hours=1)
    await stores.directory.open(KEY, at=began, memory="summary")
    made = summary(4).model_copy(update={"session_started": began})
    await stores.directory.summarise(KEY, made)
    assert (await kept(stores)).summary == made


async def test_messages_begin_where_they_did_or_after_an_older_reset(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="window")
    await stores.directory.reset(KEY, turn=6)
    await stores.directory.restored(KEY, turn=8)
    assert (await kept(stores)).history_from == 6
    await stores.directory.restored(KEY, turn=4, history_from=3)
    assert (await kept(stores)).history_from == 3


async def test_turns_that_were_left_are_to_be_offloaded_anew(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="acc")
    through = ReadThrough(turn=5, invocation_id="i-5")
    await stores.directory.offloaded(KEY, at=START, notes=[], through=through)
    await stores.directory.restored(KEY, turn=5)
    assert (await kept(stores)).offloaded_through == through
    since = START + timedelta(seconds=1)
    assert await stores.directory.take_idle(KEY.app, since=since, retry_s=60) == KEY
    await stores.directory.restored(KEY, turn=4)
    assert (await kept(stores)).offloaded_through is None
