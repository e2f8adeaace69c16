"""Compiled checks of tool calls: a set by another hand, and rules one by one."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.ext.guard.calls import ActCall, Tool
from acc_ace.ext.guard.checks import (
    CallRuling,
    Decision,
    checks_of,
    compile_rule,
    decide,
)
from acc_ace.ext.guard.wording import describe as says
from acc_ace.ext.guard.wording import in_words
from bench.guard import items, score
from schemas.base import Authority
from schemas.commit import ConstraintPin, ToolCheck
from tests.fakes.tables import each_case

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
"""A Wednesday noon."""

MOST_HELD_UP = 0.1
LEAST_CAUGHT = 0.9


def pinned(rule: str, **checks: str) -> ConstraintPin:
    """A rule in force, with what a person has set at tools."""
    own = [ToolCheck(tool=tool, does=does) for tool, does in checks.items()]
    return ConstraintPin(
        id="c-0001", text=rule, authority=Authority.USER, origin_turn=1, quote=rule, checks=own
    )


def decision(
    rule: str,
    tool: str,
    args: dict[str, Any],
    *,
    at: datetime = NOW,
    earlier: tuple[ActCall, ...] = (),
    **declared: Any,
) -> Decision:
    """What the checks of one rule make of a call."""
    tools = (Tool(tool, **declared),)
    return decide(compile_rule(rule, tools), ActCall(tool, args), at, earlier)


def stops(rule: str, tool: str, args: dict[str, Any], **options: Any) -> bool:
    """Whether a call does not run when there is no model to ask."""
    found = decision(rule, tool, args, **options)
    return found.named or found.ruling in {CallRuling.ASK, CallRuling.CONFLICT}


def test_the_development_set_is_held_against_its_rules() -> None:
    result = score(items("dev"))
    assert result.conflicts == result.harmless == 50
    assert result.right_rule >= LEAST_CAUGHT * result.conflicts, result.missed_ids
    assert result.held_up <= MOST_HELD_UP * result.harmless, result.held_up_ids


@each_case
def test_a_call_that_breaks_the_rule_is_found(rule: str, tool: str, args: dict[str, Any]) -> None:
    assert stops(rule, tool, args)


@each_case
def test_a_harmless_call_is_left_alone(rule: str, tool: str, args: dict[str, Any]) -> None:
    assert not stops(rule, tool, args)


def test_a_rule_of_hours_holds_in_the_users_zone() -> None:
    rule = "No restarts after 22:00."
    late = NOW.replace(hour=23)
    assert stops(rule, "restart", {"server": "a"}, at=late)
    assert not stops(rule, "restart", {"server": "a"}, at=late.astimezone(ZoneInfo("UTC")))
    zoned = "No restarts after 22:00, Tokyo time."
    assert stops(zoned, "restart", {"server": "a"}, at=late.astimezone(ZoneInfo("UTC")))


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
        decision(rule, "restart", args)


REFUNDS = "Never refund more than 20 euros."


def test_a_check_that_covers_its_rule_decides_both_ways() -> None:
    assert decision(REFUNDS, "refund", {"amount": 15}).ruling is CallRuling.RUN
    assert decision(REFUNDS, "refund", {"amount": 25}).ruling is CallRuling.CONFLICT


def test_a_check_of_a_part_never_clears() -> None:
    rule = "Never refund more than 20 euros while the audit is on."
    assert decision(rule, "refund", {"amount": 25}).ruling is CallRuling.ASK
    assert decision(rule, "refund", {"amount": 15}).ruling is CallRuling.JUDGE


@each_case
def test_a_ban_with_a_condition_that_no_call_shows_asks(
    rule: str, tool: str, args: dict[str, Any], other: dict[str, Any]
) -> None:
    assert decision(rule, tool, args).ruling is CallRuling.ASK
    assert not stops(rule, tool, other)


@each_case
def test_a_check_that_cannot_tell_leaves_the_call_to_the_judge(
    rule: str, tool: str, args: dict[str, Any]
) -> None:
    assert decision(rule, tool, args).ruling is CallRuling.JUDGE


@each_case
def test_what_a_rule_names_is_stopped_by_its_check(
    rule: str, tool: str, args: dict[str, Any]
) -> None:
    assert decision(rule, tool, args).ruling is CallRuling.CONFLICT


@pytest.mark.parametrize("words", ["today", "during this incident", "until Mika says so"])
def test_what_no_call_shows_asks_until_the_rule_is_lifted(words: str) -> None:
    # A rule has no day of its own, and nothing in force ends without a word.
    rule = f"Never restart db-01 {words}."
    for later in (0, 1, 400):
        at = NOW + timedelta(days=later)
        assert decision(rule, "restart", {"host": "db-01"}, at=at).ruling is CallRuling.ASK
        assert not stops(rule, "restart", {"host": "web-1"}, at=at)


def test_a_command_that_ends_with_the_act_acts_on_what_it_does_not_name() -> None:
    assert stops("Never push to main.", "shell", {"command": "git push -f"})
    assert not stops("Never push to main.", "shell", {"command": "git push origin feature/x"})
    assert not stops("Never restart db-01.", "shell", {"command": "ssh web-1 sudo reboot"})


def test_free_text_goes_to_the_judge_and_asks_without_one() -> None:
    rule = "Never delete anything under /etc."
    found = decision(rule, "shell", {"command": "rm -fr /etc/nginx"})
    assert (found.ruling, found.named) == (CallRuling.JUDGE, True)


def test_an_amount_in_another_currency_is_not_compared() -> None:
    args = {"amount": 15, "currency": "USD"}
    assert decision(REFUNDS, "refund", args).ruling is CallRuling.JUDGE


def test_amounts_add_up_over_the_calls_of_a_turn() -> None:
    once = ActCall("refund", {"amount": 10})
    assert decision(REFUNDS, "refund", {"amount": 10}, earlier=(once,)).ruling is CallRuling.RUN
    twice = (once, once)
    assert decision(REFUNDS, "refund", {"amount": 10}, earlier=twice).ruling is CallRuling.ASK
    each = "Never refund more than 20 euros per order."
    assert decision(each, "refund", {"amount": 10}, earlier=twice).ruling is CallRuling.RUN


def test_a_tool_that_acts_asks_for_each_rule_with_a_word_of_it() -> None:
    rule = "Refunds are Dana's."
    assert not stops(rule, "refund", {"amount": 5})
    assert stops(rule, "refund", {"amount": 5}, acts=True)
    assert not stops("Answer in French.", "refund", {"amount": 5}, acts=True)


def test_a_tool_that_only_reads_breaks_no_rule() -> None:
    assert compile_rule(REFUNDS, (Tool("refund", reads=True),)) == ()


@each_case
def test_a_check_says_in_the_rules_language_what_it_does(rule: str, shown: str) -> None:
    parameters = {"amount": {"type": "number"}, "host": {"type": "string"}}
    tools = (Tool("refund", "返金", parameters), Tool("restart", "再起動", parameters))
    assert [check.text for check in says(pinned(rule), tools)] == [shown]


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
    tool = Tool("restart_server", "Restarts a server.", {key: {} for key in args})
    checks = compile_rule(rule, (tool,))
    assert all(in_words(check, "ja") and in_words(check, "en") for check in checks)
    found = decide(checks, ActCall(tool.name, args), leap_day, (ActCall(tool.name, args),))
    assert found.check is None or found.check.rule == rule


@each_case
def test_what_a_person_sets_at_a_tool_decides_alone(
    does: str, args: dict[str, Any], ruling: str
) -> None:
    tool = Tool("refund", "Pays back.", {"amount": {"type": "number"}, "to": {"type": "string"}})
    checks = checks_of(pinned(REFUNDS, refund=does), tool)
    assert decide(checks, ActCall("refund", args), NOW).ruling == ruling
    assert all(in_words(check, "en") and in_words(check, "ja") for check in checks)


def test_a_rule_is_compiled_again_when_its_tool_has_changed() -> None:
    old, new = (Tool("refund", "Pays.", {name: {"type": "number"}}) for name in ("amount", "sum"))
    found = [says(pinned(REFUNDS), (tool,))[0].text for tool in (old, new)]
    assert found == [f"I will stop `refund` when `{name}` > 20 EUR." for name in ("amount", "sum")]
