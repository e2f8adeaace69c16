"""Rules of a user: kept in order, lifted without giving their id again, one writer of an id."""

from collections.abc import Sequence

import pytest

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import ConstraintPin, RuleScope
from acc_ace.errors import ConflictError
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, OTHER_USER


def pin(number: int, text: str) -> ConstraintPin:
    return ConstraintPin(
        id=f"u-{number:04d}",
        text=text,
        authority=Authority.USER,
        origin_turn=1,
        quote=text,
        scope=RuleScope.USER,
    )


async def change(
    stores: Stores, *, added: Sequence[ConstraintPin] = (), removed: Sequence[str] = ()
) -> None:
    work = stores.unit_of_work()
    work.add(stores.user_rules.change_write(KEY.tenant, added=added, removed=removed))
    await work.commit()


async def test_rules_are_of_one_user_and_in_the_order_they_were_made(stores: Stores) -> None:
    made = [pin(9_999, "one"), pin(10_000, "two"), pin(10_001, "three")]
    await change(stores, added=made[1:])
    await change(stores, added=made[:1])
    assert (await stores.user_rules.of_user(KEY.tenant))[0] == made
    assert await stores.user_rules.of_user(OTHER_USER.tenant) == ([], 1)


async def test_a_lifted_rule_is_gone_and_its_number_is_not_given_again(stores: Stores) -> None:
    await change(stores, added=[pin(1, "one"), pin(2, "two")])
    await change(stores, removed=["u-0002", "u-0099"])
    assert await stores.user_rules.of_user(KEY.tenant) == ([pin(1, "one")], 3)
    await change(stores, added=[pin(2, "two")])
    assert len((await stores.user_rules.of_user(KEY.tenant))[0]) == 2


async def test_a_commit_may_be_run_again_and_another_rule_of_the_id_is_refused(
    stores: Stores,
) -> None:
    await change(stores, added=[pin(1, "one")])
    await change(stores, added=[pin(1, "one")])
    with pytest.raises(ConflictError, match="made a rule at the same time; send it again"):
        await change(stores, added=[pin(1, "another")])
    assert (await stores.user_rules.of_user(KEY.tenant))[0] == [pin(1, "one")]
