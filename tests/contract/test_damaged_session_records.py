"""Session records that cannot be read: what else the directory tells."""

import json
import traceback
from collections.abc import AsyncIterator

import pytest

from acc_ace.container import Container
from acc_ace.errors import CorruptStoreError
from tests.contract.test_session_directory import later
from tests.contract.values import KEY
from tests.fakes.clock import START
from tests.fakes.place import Place

SECRET = "walnut"
DAMAGED = ("{", '{"from": "a newer program"}')


@pytest.fixture
async def stores(place: Place) -> AsyncIterator[Container]:
    opened = place.open()
    yield opened
    await opened.close()


async def begin(stores: Container, count: int) -> None:
    for number in range(count):
        key = KEY._replace(session=f"s{number}")
        # Two at a time, so that ties are paged over too.
        await stores.directory.open(key, at=START + later(number // 2))


def damage(place: Place, *sessions: str, body: str = "{") -> None:
    for name in sessions:
        place.execute("UPDATE session_directory SET body = ? WHERE session = ?", body, name)


async def listed(stores: Container, *, limit: int) -> list[str]:
    seen: list[str] = []
    before: str | None = None
    while page := await stores.directory.list(KEY.tenant, limit=limit, before=before):
        assert len(page) <= limit
        seen += [record.session for record in page]
        before = page[-1].session
    return seen


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_more_damaged_records_than_a_page_has_do_not_end_the_list(
    place: Place, stores: Container, limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    await begin(stores, 9)
    damage(place, "s0", "s3", "s4", "s5", "s6", "s8")
    assert await listed(stores, limit=limit) == ["s7", "s2", "s1"]
    assert "session_unreadable user='aiko' session='s5'" in caplog.text
    assert await stores.directory.list(KEY.tenant, limit=0) == []
    assert len(await stores.directory.names(KEY.tenant)) == 9


async def test_hundreds_of_damaged_records_do_not_end_the_list(
    place: Place, stores: Container
) -> None:
    await begin(stores, 230)
    damage(place, *(f"s{number}" for number in range(2, 229)))
    assert await listed(stores, limit=5) == ["s229", "s1", "s0"]


async def test_no_log_nor_trace_of_a_damaged_record_holds_its_words(
    place: Place, stores: Container, caplog: pytest.LogCaptureFixture
) -> None:
    await begin(stores, 2)
    key = KEY._replace(session="s0")
    record = await stores.directory.find(key)
    assert record is not None
    values = {**record.model_dump(mode="json"), "offloaded_through": {"invocation_id": SECRET}}
    damage(place, "s0", body=json.dumps(values))
    assert await listed(stores, limit=50) == ["s1"]
    assert "session 's0' cannot be read (offloaded_through.turn: " in caplog.text
    with pytest.raises(CorruptStoreError, match=r"offloaded_through\.turn: ") as raised:
        await stores.directory.find(key)
    for reported in (caplog.text, *traceback.format_exception(raised.value)):
        assert SECRET not in reported
