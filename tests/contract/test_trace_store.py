"""What models saw is kept of a session's newest turns, once, bounded, and leaves with its owner."""

import random
import string
import zlib

import pytest

from acc_ace.core.schemas.trace import ModelCall, RequestPart, TurnTrace
from acc_ace.errors import CorruptStoreError
from acc_ace.storage.create_stores import Stores
from acc_ace.storage.sql_traces import KEPT_TURNS
from schemas.base import SessionKey
from schemas.report import TokenUse
from tests.contract.values import KEY, OTHER_SESSION, OTHER_USER
from tests.fakes.place import Place


def call(*texts: str, reply: str = "ok") -> ModelCall:
    parts = tuple(RequestPart(kind="role", text=text) for text in texts)
    return ModelCall(
        stage="generator",
        model="m",
        parts=parts,
        reply=reply,
        tokens=TokenUse(input=9),
        seconds=0.5,
    )


def trace(turn: int, *calls: ModelCall, run: str = "", of: str = "") -> TurnTrace:
    return TurnTrace(
        turn=turn, invocation_id=of or f"i-{turn}", run=run or f"r-{turn}", calls=calls
    )


async def keep(stores: Stores, *traces: TurnTrace, key: SessionKey = KEY) -> None:
    work = stores.unit_of_work()
    for each in traces:
        work.add(stores.traces.put_write(key, each))
    await work.commit()


async def test_what_is_kept_is_read_back_with_every_character(stores: Stores) -> None:
    kept = trace(1, call("日本語 \ud800 <&> \x00", "twice", "twice"), call("twice", reply="😀"))
    await keep(stores, kept)
    assert await stores.traces.of_turn(KEY, 1) == [kept]


async def test_a_run_written_again_counts_once_and_later_runs_follow(stores: Stores) -> None:
    first, more, second = trace(1), trace(1, call("a")), trace(1, call("b"), run="r-1/1")
    await keep(stores, first)
    await keep(stores, more)
    await keep(stores, second)
    await keep(stores, second)
    assert await stores.traces.of_turn(KEY, 1) == [more, second]


async def test_another_try_of_a_turn_takes_the_place_of_the_one_before(stores: Stores) -> None:
    again = trace(1, call("b"), run="r-9", of="i-9")
    await keep(stores, trace(1, call("a")))
    await keep(stores, again)
    assert await stores.traces.of_turn(KEY, 1) == [again]


async def test_the_newest_turns_of_each_session_are_kept_also_after_going_back(
    stores: Stores,
) -> None:
    await keep(stores, trace(1), key=OTHER_SESSION)
    await keep(stores, *(trace(turn) for turn in range(1, KEPT_TURNS + 3)))
    assert await stores.traces.turns(KEY) == list(range(3, KEPT_TURNS + 3))
    back = [trace(turn, run=f"again-{turn}", of=f"again-{turn}") for turn in (1, 2)]
    await keep(stores, *back)
    kept = await stores.traces.turns(KEY)
    assert (len(kept), kept[:2]) == (KEPT_TURNS, [1, 2])
    assert await stores.traces.turns(OTHER_SESSION) == [1]


async def test_a_turn_run_without_end_keeps_a_bounded_number_of_rows(stores: Stores) -> None:
    await keep(stores, *(trace(1, run=f"r-{at}", of="i-1") for at in range(4 * KEPT_TURNS + 9)))
    rows = await stores.traces.of_turn(KEY, 1)
    assert (len(rows), rows[-1].run) == (4 * KEPT_TURNS, f"r-{4 * KEPT_TURNS + 8}")


@pytest.mark.parametrize("parts", [1, 40, 4_000])
async def test_a_row_is_bounded_and_a_part_says_what_is_cut(stores: Stores, parts: int) -> None:
    rng = random.Random(7)
    texts = ["".join(rng.choices(string.printable, k=30_000)) for _ in range(min(parts, 40))]
    many = [*texts, *(f"{rng.random()}" for _ in range(parts - len(texts)))]
    write = stores.traces.put_write(KEY, trace(1, *(call(text) for text in many)))
    work = stores.unit_of_work()
    work.add(write)
    await work.commit()
    [(size,)] = await stores.database.read(
        lambda rows: rows.all("SELECT length(body) FROM turn_traces")
    )
    assert size <= 65_536
    [kept] = await stores.traces.of_turn(KEY, 1)
    assert len(kept.calls) == parts
    for found, text in zip(kept.calls, many, strict=True):
        for part in found.parts:
            assert text.startswith(part.text)
            assert len(part.text) + part.cut == len(text)


async def test_sessions_and_users_leave_with_what_their_models_saw(stores: Stores) -> None:
    for key in (KEY, OTHER_SESSION, OTHER_USER):
        await keep(stores, trace(1, call("a")), key=key)
    deleted = await stores.erasure.delete_sessions([KEY])
    assert deleted["requests"] == 1
    assert await stores.traces.of_turn(KEY, 1) == []
    erased = await stores.erasure.erase(KEY.tenant, locked=[])
    assert erased is not None
    assert erased["requests"] == 1
    assert await stores.traces.turns(OTHER_SESSION) == []
    assert await stores.traces.turns(OTHER_USER) == [1]


@pytest.mark.parametrize("body", [b"x", zlib.compress(b"{}"), zlib.compress(b'{"calls": 1}')])
async def test_a_damaged_row_is_named(place: Place, body: bytes) -> None:
    container = place.open()
    work = container.unit_of_work()
    work.add(container.traces.put_write(KEY, trace(1)))
    await work.commit()
    place.execute("UPDATE turn_traces SET body = ?", body)
    with pytest.raises(CorruptStoreError, match="the requests of a turn of session 's-1'"):
        await container.traces.of_turn(KEY, 1)
    await container.close()
