"""What model calls cost is kept once, summed by day and session, and leaves with its owner."""

from datetime import date
from typing import Any

import pytest

from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.cost import REPLAY, Crossing, ModelUse, Totals
from acc_ace.core.schemas.report import Money, TokenUse
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, OTHER_USER
from tests.fakes.clock import START

DAY, NEXT = date(2026, 1, 5), date(2026, 1, 6)


def use(
    nano: int | None, *, run: str = "r1", turn: int = 1, stage: str = "generator", calls: int = 1
) -> ModelUse:
    tokens = TokenUse(input=10 * calls, cached=4, output=3, thinking=2, calls=calls)
    return ModelUse(run=run, turn=turn, stage=stage, model="m", tokens=tokens, nano=nano)


async def keep(stores: Stores, *uses: ModelUse, day: date = DAY, key: SessionKey = KEY) -> None:
    work = stores.unit_of_work()
    work.add(stores.spending.use_write(key, uses, day=day))
    await work.commit()


async def test_a_run_that_is_kept_again_with_more_counts_once(stores: Stores) -> None:
    await keep(stores, use(5))
    await keep(stores, use(5))
    await keep(stores, use(7, calls=2), use(1, stage="reflector"))
    assert await stores.spending.of_day(KEY.tenant, DAY) == Totals(nano=8)
    assert await stores.spending.of_session(KEY) == Totals(nano=8)


async def test_replay_is_no_part_of_what_was_spent_and_an_unknown_price_no_zero(
    stores: Stores,
) -> None:
    await keep(stores, use(None, calls=3), use(9, stage=REPLAY))
    totals = await stores.spending.of_session(KEY)
    assert totals == Totals(nano=0, unpriced=3, replay_nano=9)
    assert totals.spent == Money(usd=None, complete=False)


async def test_a_day_is_of_one_user_and_of_all_their_sessions(stores: Stores) -> None:
    await keep(stores, use(1))
    await keep(stores, use(2, run="r2"), key=KEY._replace(session="another"))
    await keep(stores, use(4, run="r3"), day=NEXT)
    await keep(stores, use(8, run="r4"), key=OTHER_USER)
    assert await stores.spending.of_day(KEY.tenant, DAY) == Totals(nano=3)
    assert await stores.spending.of_session(KEY) == Totals(nano=5)


async def test_a_deleted_session_leaves_its_money_in_the_day_and_nothing_else(
    stores: Stores,
) -> None:
    await keep(stores, use(1))
    await keep(stores, use(2, run="r2"), key=KEY._replace(session="another"))
    for session in (KEY.session, "another"):
        await stores.erasure.delete_sessions([KEY._replace(session=session)])
    assert await stores.spending.of_day(KEY.tenant, DAY) == Totals(nano=3)
    assert await stores.spending.of_session(KEY) == Totals()
    assert await stores.spending.uses(KEY, turns=9, before=9) == []
    assert [each.session for each in await stores.spending.days(KEY.tenant, limit=9)] == [""]


async def test_an_erased_user_leaves_nothing_and_work_that_ends_later_adds_nothing(
    stores: Stores,
) -> None:
    await keep(stores, use(1))
    await stores.erasure.erase(KEY.tenant, locked=[])
    await stores.spending.add(KEY, [use(1)], day=DAY)
    assert await stores.spending.days(KEY.tenant, limit=9) == []
    assert await stores.erasure.apps(KEY.user) == set()


async def test_work_for_a_session_that_was_deleted_is_kept_without_its_name(
    stores: Stores,
) -> None:
    await stores.directory.open(KEY, at=START)
    await stores.spending.add(KEY, [use(1)], day=DAY)
    await stores.spending.add(KEY._replace(session="gone"), [use(2, run="r2")], day=DAY)
    days = await stores.spending.days(KEY.tenant, limit=9)
    assert [(each.session, each.totals.nano) for each in days] == [("", 2), (KEY.session, 1)]


async def kept_turns(stores: Stores, *turns: tuple[int | None, int]) -> Crossing:
    """What a session with these costs of turns and of their replay crosses."""
    for turn, (nano, replay) in enumerate(turns, start=1):
        of_turn: dict[str, Any] = {"run": f"r{turn}", "turn": turn}
        own = use(nano, **of_turn)
        again = use(replay, stage=REPLAY, calls=replay, **of_turn)
        await keep(stores, own, again)
    return await stores.spending.crossing(KEY)


@pytest.mark.parametrize(
    ("turns", "money"),
    [
        ([], None),
        ([(5, 1), (5, 5)], None),
        ([(5, 1), (5, 8), (5, 6)], None),
        ([(5, 1), (5, 8), (5, 9)], 3),
        ([(5, 9), (20, 1), (5, 30)], 3),
        ([(5, 9), (5, 9)], 1),
        ([(5, 9), (None, 9)], None),
        ([(0, 0)], None),
    ],
)
async def test_a_session_crosses_replay_at_the_turn_from_which_on_it_costs_less(
    stores: Stores, turns: list[tuple[int | None, int]], money: int | None
) -> None:
    assert (await kept_turns(stores, *turns)).money == money


async def test_tokens_cross_where_prices_are_unknown(stores: Stores) -> None:
    crossing = await kept_turns(stores, (None, 1), (None, 1), (None, 3))
    assert crossing == Crossing(money=None, tokens=3)


async def test_pages_hold_each_row_and_each_turn_once(stores: Stores) -> None:
    for turn in range(1, 6):
        uses = [
            use(turn, run=f"r{turn}", turn=turn),
            use(9, run=f"r{turn}", turn=turn, stage=REPLAY),
        ]
        await keep(stores, *uses, day=DAY)
    seen: list[ModelUse] = []
    while page := await stores.spending.uses(KEY, turns=2, before=seen[-1].turn if seen else 9):
        assert len({each.turn for each in page}) <= 2
        seen += page
    assert [(each.turn, each.stage) for each in seen] == [
        (turn, stage) for turn in range(5, 0, -1) for stage in ("generator", REPLAY)
    ]
