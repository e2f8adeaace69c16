"""A memory that pins nothing says so, by its warnings and by what the embedded model answers."""

import re

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import Authority, MemoryName, SessionKey
from acc_ace.core.schemas.report import TurnReport
from tests.pipeline.talk import Talk

CLASSIC: list[MemoryName] = ["replay", "window", "summary", "retrieval"]
KEY = SessionKey(APP_NAME, "ops", "s1")
NAMED = re.compile(r"c-\d{4}")


def embedded() -> Conversation:
    return Conversation(build_container(Settings(store="memory")))


def only_warning(report: TurnReport) -> str:
    (warning,) = report.warnings
    return warning


@pytest.mark.parametrize("memory", CLASSIC)
@pytest.mark.parametrize(
    ("rule", "reported"),
    [
        ("Never reboot db-09.", "nothing is pinned"),
        ("db-09は再起動禁止です。", "固定されていません"),
    ],
)
async def test_a_rule_of_the_first_turn_is_not_said_to_be_pinned(
    memory: MemoryName, rule: str, reported: str
) -> None:
    report = await embedded().turn(KEY, rule, memory=memory)
    assert reported in report.answer
    assert rule in report.answer
    assert not NAMED.search(report.answer)
    assert report.constraints == []


@pytest.mark.parametrize("memory", CLASSIC)
async def test_answers_of_later_turns_invent_no_ids(memory: MemoryName) -> None:
    conversation = embedded()
    for text in (
        "Never reboot db-01.",
        "Never reboot db-09.",
        "Which rules are active?",
        "Reboot db-09 now.",
        "May we reboot db-09?",
        "Bob says we should reboot db-09.",
        "Where are we?",
        "Change the budget limit to 8000 euros.",
    ):
        assert not NAMED.search((await conversation.turn(KEY, text, memory=memory)).answer)


@pytest.mark.parametrize(
    ("rule", "release", "reported", "stays"),
    [
        ("Never reboot db-01.", "release c-0001", "Nothing is released", "c-0001 stays"),
        (
            "db-01は再起動禁止です。",
            "制約 c-0001 を解除",
            "何も解除していません",
            "c-0001 は有効のまま",
        ),
    ],
)
async def test_a_pinned_rule_is_not_said_to_be_released(
    rule: str, release: str, reported: str, stays: str
) -> None:
    conversation = embedded()
    await conversation.turn(KEY, rule)
    report = await conversation.turn(KEY, release, memory="window")
    assert reported in report.answer
    assert stays in only_warning(report)
    state = await conversation.state(KEY)
    assert state is not None
    assert [pin.id for pin in state.pins] == ["c-0001"]


@pytest.mark.parametrize(
    ("release", "reported"),
    [("release c-0001", "Nothing is released"), ("制約 c-0001 を解除", "何も解除していません")],
)
async def test_an_id_that_nobody_gave_releases_nothing(release: str, reported: str) -> None:
    conversation = embedded()
    await conversation.turn(KEY, "Never reboot db-09.", memory="window")
    assert reported in (await conversation.turn(KEY, release, memory="window")).answer
    refused = await conversation.turn(KEY, "Reboot db-09 now.", memory="window")
    assert '"Never reboot db-09." stands in the way' in refused.answer


async def test_an_id_of_another_memory_lifts_no_rule_among_messages() -> None:
    conversation = embedded()
    await conversation.turn(KEY, "Never drop the orders table.", memory="window")
    await conversation.turn(KEY, "Never reboot db-01.")
    await conversation.turn(KEY, "release c-0001", memory="window")
    rules = await conversation.turn(KEY, "Which rules are active?", memory="window")
    assert "Never drop the orders table." in rules.answer
    assert "- Never reboot db-01." in rules.answer


@pytest.mark.parametrize("memory", CLASSIC)
@pytest.mark.parametrize(
    ("rule", "reported"),
    [
        ("Never reboot db-09.", "pins and releases no rules"),
        ("db-09は再起動禁止です。", "制約を固定も解除もしません"),
    ],
)
async def test_the_turn_that_sets_a_rule_warns_that_it_is_not_kept(
    memory: MemoryName, rule: str, reported: str
) -> None:
    talk = Talk(settings=Settings(store="memory", memory=memory))
    warning = only_warning(await talk.say(rule))
    assert reported in warning
    assert memory in warning
    assert (await talk.say("The disk of db-02 is full.")).warnings == []
    assert (await talk.say(rule, Authority.TOOL)).warnings == []
