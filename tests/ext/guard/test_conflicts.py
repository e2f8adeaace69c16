"""The deterministic check of tool calls: a set by another hand, and rules one by one."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.ext.guard.guard import ActCall, conflicts, undecided
from bench.guard import items, score
from tests.fakes.tables import each_case

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
"""A Wednesday noon."""

MOST_HELD_UP = 0.1
LEAST_CAUGHT = 0.9


def pin(text: str) -> ConstraintPin:
    """A rule in force."""
    return ConstraintPin(
        id="c-0001", text=text, authority=Authority.USER, origin_turn=1, quote=text
    )


def broken(rule: str, tool: str, args: dict[str, Any], *, at: datetime = NOW) -> list[str]:
    """The ids of the rules that a call breaks."""
    return [found.rule_id for found in conflicts(ActCall(tool, "", args), [pin(rule)], at)]


def test_the_development_set_is_held_against_its_rules() -> None:
    result = score(items("dev"))
    assert result.conflicts == result.harmless == 50
    assert result.right_rule >= LEAST_CAUGHT * result.conflicts, result.missed_ids
    assert result.held_up <= MOST_HELD_UP * result.harmless, result.held_up_ids


@each_case
def test_a_call_that_breaks_the_rule_is_found(rule: str, tool: str, args: dict[str, Any]) -> None:
    assert broken(rule, tool, args) == ["c-0001"]


@each_case
def test_a_harmless_call_is_left_alone(rule: str, tool: str, args: dict[str, Any]) -> None:
    assert broken(rule, tool, args) == []


def test_a_rule_of_hours_holds_in_the_users_zone() -> None:
    rule = "No restarts after 22:00."
    late = NOW.replace(hour=23)
    assert broken(rule, "restart", {"server": "a"}, at=late) == ["c-0001"]
    assert broken(rule, "restart", {"server": "a"}, at=late.astimezone(ZoneInfo("UTC"))) == []


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"a": None, "b": [], "c": {}, "d": float("nan")},
        {"a": [[1, 2], {"b": "x" * 50_000}], "時": "2026-99-99T99:99:99"},
        {"deep": {"er": {"amount": 50}}},
        {"at": "99:99", "when": "2026-11-25T12:00", "n": 10**400},
    ],
)
def test_odd_arguments_raise_nothing(args: dict[str, Any]) -> None:
    rules = ["Never restart after 22:00.", "Never pay more than 20.", "何も消さないで。", "(", ""]
    for rule in rules:
        conflicts(ActCall("restart", "", args), [pin(rule)], NOW)


def test_a_rule_that_is_neither_limit_nor_ban_is_left_open() -> None:
    rules = [pin("Refunds are Dana's."), pin("Never refund more than 20 euros.")]
    left = undecided(ActCall("refund", "", {"amount": 5}), rules, NOW)
    assert [each.text for each in left] == ["Refunds are Dana's."]


PIECES = """
never only more than under between 22:00 and 06:00 20 euros noon before 12 March 2027 business hours
db-01 /srv/a * without 土日 は だけ 2027年3月12日 より前 22時 以降 禁止 しない ではなく 読み取り専用
29 February 99:99 25時 ％ Greg
"""
WORDS = st.lists(st.sampled_from(sorted(PIECES.split())), max_size=12).map(" ".join)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=20)


@given(rule=WORDS | st.text(max_size=60), args=st.dictionaries(st.text(max_size=8), VALUES))
def test_no_rule_and_no_argument_raises(rule: str, args: dict[str, Any]) -> None:
    leap_day = datetime(2028, 2, 29, 23, 59, tzinfo=ZoneInfo("Asia/Tokyo"))
    call = ActCall("restart_server", "Restarts a server.", args)
    assert all(found.rule == rule for found in conflicts(call, [pin(rule)], leap_day))
    assert len(undecided(call, [pin(rule)], leap_day)) <= 1
