"""What a session's record keeps when the session goes back to other turns, or begins anew."""

from datetime import timedelta

from acc_ace.container import Container
from acc_ace.core.schemas.session import ReadThrough, SessionRecord
from tests.contract.values import KEY
from tests.fakes.clock import START


async def kept(stores: Container) -> SessionRecord:
    record = await stores.directory.find(KEY)
    assert record is not None
    return record


async def restore(stores: Container, turn: int, *, history_from: int | None = None) -> None:
    work = stores.unit_of_work()
    work.add(stores.directory.restored_write(KEY, turn=turn, history_from=history_from, notes=()))
    await work.commit()


async def test_messages_begin_where_they_did_or_after_an_older_reset(stores: Container) -> None:
    await stores.directory.open(KEY, at=START)
    work = stores.unit_of_work()
    work.add(stores.directory.reset_write(KEY, turn=6))
    await work.commit()
    await restore(stores, 8)
    assert (await kept(stores)).history_from == 6
    await restore(stores, 4, history_from=3)
    assert (await kept(stores)).history_from == 3


async def test_turns_that_were_left_are_to_be_offloaded_anew(stores: Container) -> None:
    await stores.directory.open(KEY, at=START)
    through = ReadThrough(turn=5, invocation_id="i-5")
    await stores.directory.offloaded(KEY, at=START, notes=[], through=through)
    await restore(stores, 5)
    assert (await kept(stores)).offloaded_through == through
    since = START + timedelta(seconds=1)
    assert await stores.directory.take_idle(KEY.app, since=since, retry_s=60) == KEY
    await restore(stores, 4)
    assert (await kept(stores)).offloaded_through is None
