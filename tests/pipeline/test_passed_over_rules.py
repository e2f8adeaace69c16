"""What a CCM passes over in the user's words is not lost without a word."""

import pytest

from acc_ace import AccController, build_container
from config import ROLES, Settings
from schemas.interaction import Attachment, TurnInput
from tests.fakes.scripted_llm import ScriptedLlm

NOTHING = {"semantic_gist": "Work.", "rule_changes": []}
BAN = "No restarts during business hours."
BAN_JA = "営業時間内は再起動しないでください。"
BOTH = pytest.mark.parametrize("rule", [BAN, BAN_JA])


async def said(*messages: str | TurnInput, **reply: object) -> tuple[list[str], str]:
    """The rules after these messages, and the newest answer's lines about them.

    The CCM obeys in form and says in each reply that there is nothing about rules.
    """
    llm = ScriptedLlm().on("compressor", *[{**NOTHING, **reply} for _ in messages])
    container = build_container(Settings(store="memory"))
    acc = AccController(container, session="s1", models=dict.fromkeys(ROLES, llm))
    for message in messages:
        await acc.update_state(message, None)
    assert acc.last_commit is not None
    assert acc.last_commit.state.questions == []
    return [pin.text for pin in acc.last_commit.state.pins], "\n".join(acc.notes)


@BOTH
async def test_a_plain_prohibition_is_in_force_and_shown(rule: str) -> None:
    rules, notes = await said(rule)
    assert rules == [rule]
    assert notes.startswith(f"+ c-0001 {rule}")
    assert "/forget c-0001" in notes


async def test_a_prohibition_beside_the_one_that_was_proposed_is_in_force_too() -> None:
    other = "Never delete the backups."
    changes = [{"quote": other, "kind": "add"}]
    assert (await said(f"{other} {BAN}", rule_changes=changes))[0] == [other, BAN]


@BOTH
async def test_words_that_a_proposal_points_at_are_taken_once(rule: str) -> None:
    rules, notes = await said(rule, rule_changes=[{"quote": rule, "kind": "add"}])
    assert (rules, notes.count("\n")) == ([rule], 0)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Don't ask me before you refund anyone.", "Not kept: '{}'"),
        ("Do not require two reviewers for a release.", "Not kept: '{}'"),
        ("確認なしで返金しないでください。", "残していません：「{}」"),
    ],
)
async def test_what_may_loosen_is_only_said(text: str, note: str) -> None:
    rules, notes = await said(text)
    assert rules == []
    assert note.format(text) in notes
    assert f"/rule {text}" in notes


@pytest.mark.parametrize(
    ("rule", "undone"),
    [
        ("Limit spending to 100 dollars.", "Don't limit spending to 100 dollars."),
        ("Verify the TLS certificates.", "Don't verify the TLS certificates."),
        ("Deploys are blocked on review.", "Do not block deploys on review."),
    ],
)
async def test_a_prohibition_of_what_a_rule_demands_is_only_said(rule: str, undone: str) -> None:
    rules, notes = await said(f"Rule: {rule}", undone)
    assert rules == [rule]
    assert f"/rule {undone}" in notes


@BOTH
async def test_beside_words_of_others_it_is_only_said(rule: str) -> None:
    letter = TurnInput(text=rule, attachments=(Attachment(text="Dear all"),))
    rules, notes = await said(letter)
    assert rules == []
    assert f"/rule {rule}" in notes


@pytest.mark.parametrize(
    ("rule", "end", "note"),
    [
        ("Never restart db-01.", "You may restart db-01 again.", "lifted nothing"),
        ("db-01は再起動禁止。", "db-01の再起動禁止を解除します。", "何も解除していません"),
    ],
)
async def test_the_end_of_a_rule_ends_nothing_and_is_said(rule: str, end: str, note: str) -> None:
    rules, notes = await said(f"Rule: {rule}", end)
    assert rules == [rule]
    assert note in notes
    assert "c-0001" in notes


@pytest.mark.parametrize(
    ("rule", "again"),
    [
        (BAN, "As I said, no restarts during business hours, please."),
        (BAN, f"Hi all:\n> hello\n{BAN}"),
        (BAN_JA, f"もう一度：\n{BAN_JA}"),
    ],
)
async def test_a_rule_in_force_that_is_said_again_adds_nothing(rule: str, again: str) -> None:
    assert await said(rule, again) == ([rule], "")


@pytest.mark.parametrize(
    "text",
    [
        "Did nobody restart db-01 during business hours?",
        "The runbook says never to restart db-01.",
        "Restart db-01 now.",
        "営業時間内に再起動しなかったのはなぜですか？",
        "db-01を再起動してください。",
    ],
)
async def test_what_is_no_rule_is_neither_kept_nor_mentioned(text: str) -> None:
    assert await said(text) == ([], "")
