"""The deterministic check of tool calls: a set by another hand, and rules one by one."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.gates.guard import ActCall, conflicts, undecided
from acc_ace.schemas.base import Authority
from acc_ace.schemas.commit import ConstraintPin
from bench.guard import items, score

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


@pytest.mark.parametrize(
    ("rule", "tool", "args"),
    [
        ("Never refund more than 20 euros.", "refund", {"amount": 50}),
        ("Never refund more than 20 euros.", "refund", {"amount": "€50"}),
        ("Refunds over 20 euros need my approval.", "refund", {"amount": 50}),
        ("Keep the temperature between 18 and 22 degrees.", "set_temperature", {"target": 25}),
        ("Prices must never drop below 10 euros.", "set_price", {"price": 8}),
        ("Never delete files in /srv/archive.", "delete_file", {"path": "/srv/archive/a"}),
        ("Never delete backups.", "delete_backup", {"id": "b-12"}),
        ("Never run rm -rf.", "shell", {"command": "rm -rf /tmp/x"}),
        ("Do not push to main.", "git_push", {"branch": "main"}),
        ("Never force-push.", "git_push", {"branch": "x", "force": True}),
        ("Always keep backups encrypted.", "create_backup", {"encrypted": False}),
        ("Ask me before you send any email.", "send_email", {"to": "x"}),
        ("Only deploy on Tuesdays.", "deploy", {"service": "x"}),
        ("Don't restart anything between 11:00 and 13:00.", "restart", {"server": "a"}),
        ("C-0002 must not be cancelled.", "cancel_order", {"order": "C-0002"}),
        ("2万円を超える返金は禁止。", "refund_返金", {"amount": 30_000}),
        ("バックアップは削除しないで。", "delete_backup", {"id": "b"}),
    ],
)
def test_a_call_that_breaks_the_rule_is_found(rule: str, tool: str, args: dict[str, Any]) -> None:
    assert broken(rule, tool, args) == ["c-0001"]


@pytest.mark.parametrize(
    ("rule", "tool", "args"),
    [
        ("Never refund more than 20 euros.", "refund", {"amount": 20}),
        ("Never refund more than 20 euros.", "send_email", {"body": "we refund 50 euros"}),
        ("Never transfer more than $1,000 to Bob.", "transfer", {"to": "Alice", "amount": 2000}),
        ("Spend at most 500 dollars.", "buy_item", {"price": 420, "quantity": 600}),
        ("Never delete files in /srv/archive.", "read_file", {"path": "/srv/archive/a"}),
        ("Never delete files in /srv/archive.", "delete_file", {"path": "/srv/archives/a"}),
        ("Never delete backups.", "create_backup", {"id": "b-12"}),
        ("Never delete backups.", "delete_backup", {"id": "b-12", "dry_run": True}),
        ("Do not push to main.", "git_push", {"branch": "feature/main-menu"}),
        ("Never force-push.", "git_push", {"branch": "x", "force": False}),
        ("Always keep backups encrypted.", "create_backup", {"encrypted": True}),
        ("Only deploy on Wednesdays.", "deploy", {"service": "x"}),
        ("No restarts after 22:00.", "restart", {"server": "a"}),
        ("C-0002 must not be cancelled.", "cancel_order", {"order": "C-0003"}),
        ("Answer in French.", "refund", {"amount": 50}),
        ("バックアップは削除しないで。", "create_backup", {"id": "b"}),
    ],
)
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
