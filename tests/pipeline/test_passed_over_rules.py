"""What a CCM passes over in the user's words is not lost without a word."""

import pytest

from acc_ace import AccController, build_container
from acc_ace.conversation import APP_NAME
from acc_ace.turn.ports import Ccm
from config import ROLES, Settings
from schemas.base import Tenant
from schemas.commit import CommittedState
from schemas.interaction import Attachment, TurnInput
from tests.fakes.ccm_marks import FOUND, count_marks
from tests.fakes.scripted_llm import ScriptedLlm

MUTE: dict[str, object] = {"semantic_gist": "Work.", "rule_changes": []}
"""Says of each message that there is nothing about rules."""
SILENT: dict[str, object] = {"semantic_gist": "Work."}
"""Says nothing of rules: there is no CCM for them."""
BAN = "Never refund more than 20 euros without asking me first."
BAN_JA = "営業時間内は再起動しないでください。"
BOTH = pytest.mark.parametrize("rule", [BAN, BAN_JA])


async def said(
    *messages: str | TurnInput, reply: dict[str, object] = MUTE, marks: str = FOUND
) -> tuple[CommittedState, str]:
    """The state after these messages, and the newest answer's lines about rules.

    They are read by a CCM that is believed, or by one with other marks.
    """
    llm = ScriptedLlm().on("compressor", *[reply for _ in messages])
    container = build_container(Settings(store="memory"))
    await count_marks(container, Ccm(llm.model), Tenant(APP_NAME, "user"), marks)
    acc = AccController(container, session="s1", models=dict.fromkeys(ROLES, llm))
    for message in messages:
        await acc.update_state(message, None)
    assert acc.last_commit is not None
    return acc.last_commit.state, "\n".join(acc.notes)


def texts(state: CommittedState) -> list[str]:
    return [pin.text for pin in state.pins]


@BOTH
async def test_what_a_believed_ccm_passes_over_is_told_and_not_in_force(rule: str) -> None:
    state, notes = await said(rule)
    assert texts(state) == []
    assert notes.startswith(("Not taken as a standing rule: ", "ルールにはしていません："))
    assert f"/rule {rule}" in notes


SHAPES = pytest.mark.parametrize(
    "text",
    [
        "Never restart db-01.",
        "By the way, never restart db-01.",
        "By the way, keep refunds under 20 euros.",
        "After 6pm: never restart `db-01`.",
        "One more thing - never restart db-01.",
        "Two things.\n- never restart db-01",
        "Also never restart db-01.",
        "And please don't restart db-01.",
        "Then never restart db-01.",
        "From now on never restart db-01.",
        "Thanks, and never restart db-01.",
        "Thanks, that helped. Never restart db-01.",
        "db-01は再起動しないでください。",
        "ちなみに、db-01は再起動しないでください。",
        "お手数ですが、`db-01`は再起動しないでください。",
        "18時以降：db-01は再起動しないでください。",
        "助かりました。db-01は再起動しないでください。",
    ],
)


@SHAPES
async def test_a_plain_rule_in_any_shape_is_told_or_in_force(text: str) -> None:
    state, notes = await said(text)
    assert (texts(state), "/rule " in notes) == ([], True)
    state, notes = await said(text, reply=SILENT)
    assert len(state.pins) == 1
    assert "c-0001" in notes
    state, notes = await said(text, marks="")
    assert ("c-0001" in notes) is bool(state.pins)
    assert state.pins or "/rule " in notes


@BOTH
async def test_without_a_ccm_it_is_in_force_and_provisional(rule: str) -> None:
    state, notes = await said(rule, reply=SILENT)
    assert [(pin.text, pin.tentative) for pin in state.pins] == [(rule, True)]
    assert f"c-0001 {rule}" in notes
    assert "no c-0001" in notes or "c-0001 を取り消し" in notes


@pytest.mark.parametrize(
    "text",
    [
        "lift c-0001. Also never restart web-02.",
        "yes c-0001, and never restart web-02",
        "Yes, lift it, and never restart web-02.",
        "c-0001 を解除。あと、web-02は再起動しないでください。",
        "はい、解除して。それとweb-02は再起動しないでください。",
    ],
)
@pytest.mark.parametrize("reply", [SILENT, MUTE])
async def test_a_rule_beside_a_consent_is_not_lost(text: str, reply: dict[str, object]) -> None:
    state, notes = await said("/rule Never restart db-01.", text, reply=reply)
    assert "Never restart db-01." in texts(state)
    assert "web-02" in notes
    assert (len(state.pins) == 2) is (reply is SILENT)


@BOTH
async def test_the_way_that_is_told_keeps_it(rule: str) -> None:
    state, _ = await said(rule, f"/rule {rule}")
    assert texts(state) == [rule]


async def test_what_stands_beside_the_rule_that_was_proposed_is_told_too() -> None:
    other = "Never delete the backups."
    changes = [{"quote": other, "kind": "restriction"}]
    state, notes = await said(f"{other} {BAN}", reply={**MUTE, "rule_changes": changes})
    assert texts(state) == [other]
    assert f"/rule {BAN}" in notes


@BOTH
async def test_words_that_a_proposal_points_at_are_taken_once(rule: str) -> None:
    changes = [{"sentence": 1, "kind": "restriction"}]
    state, notes = await said(rule, reply={**MUTE, "rule_changes": changes})
    assert (texts(state), notes.count("\n")) == ([rule], 0)


async def test_a_rule_and_a_permission_that_are_pointed_at_by_number_alone_are_both_read() -> None:
    permission = "You may reorder toner on your own."
    kinds = ["restriction", "loosening"]
    changes = [{"sentence": at, "kind": kind} for at, kind in enumerate(kinds, start=1)]
    state, notes = await said(f"{BAN} {permission}", reply={**MUTE, "rule_changes": changes})
    assert texts(state) == [BAN]
    assert permission in notes


LOOSENING = pytest.mark.parametrize(
    "text",
    [
        "Don't ask me before you refund anyone.",
        "Do not require two reviewers for a release.",
        "今後は確認なしで返金してください。",
    ],
)


@LOOSENING
@pytest.mark.parametrize("reply", [MUTE, SILENT], ids=["mute", "silent"])
async def test_what_loosens_is_never_in_force_and_waits_or_is_told(
    text: str, reply: dict[str, object]
) -> None:
    state, notes = await said(text, reply=reply)
    assert texts(state) == []
    assert text in notes


UNDONE = pytest.mark.parametrize(
    ("rule", "undone"),
    [
        ("Limit spending to 100 dollars.", "Don't limit spending to 100 dollars."),
        ("Verify the TLS certificates.", "Don't verify the TLS certificates."),
        ("Deploys are blocked on review.", "Do not block deploys on review."),
    ],
)


@UNDONE
@pytest.mark.parametrize("reply", [MUTE, SILENT], ids=["mute", "silent"])
async def test_a_prohibition_of_what_a_rule_demands_is_never_in_force_and_is_said(
    rule: str, undone: str, reply: dict[str, object]
) -> None:
    state, notes = await said(f"Rule: {rule}", undone, reply=reply)
    assert texts(state) == [rule]
    assert undone in notes


@BOTH
async def test_beside_words_of_others_it_is_only_said(rule: str) -> None:
    letter = TurnInput(text=rule, attachments=(Attachment(text="Dear all"),))
    state, notes = await said(letter)
    assert texts(state) == []
    assert f"/rule {rule}" in notes


END = pytest.mark.parametrize(
    ("rule", "end"),
    [
        ("Never restart db-01.", "You may restart db-01 again."),
        ("db-01は再起動禁止。", "db-01の再起動禁止を解除します。"),
    ],
)


@END
@pytest.mark.parametrize("reply", [MUTE, SILENT], ids=["mute", "silent"])
async def test_the_end_of_a_rule_ends_nothing_and_is_said(
    rule: str, end: str, reply: dict[str, object]
) -> None:
    state, notes = await said(f"Rule: {rule}", end, reply=reply)
    assert texts(state) == [rule]
    assert "c-0001" in notes


@pytest.mark.parametrize(
    ("rule", "again"),
    [
        (BAN, f"As I said: {BAN}"),
        (BAN, f"Hi all:\n> hello\n{BAN}"),
        (BAN_JA, f"もう一度：\n{BAN_JA}"),
    ],
)
@pytest.mark.parametrize("reply", [MUTE, SILENT], ids=["mute", "silent"])
async def test_a_rule_in_force_that_is_said_again_adds_nothing(
    rule: str, again: str, reply: dict[str, object]
) -> None:
    state, notes = await said(f"/rule {rule}", again, reply=reply)
    assert texts(state) == [rule]
    assert state.questions == []
    assert "/rule" not in notes


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
    state, notes = await said(text)
    assert (texts(state), state.questions, notes) == ([], [], "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("The restart ban is lifted.", "lifted nothing, as no rule is in force"),
        ("返金の上限は撤廃します。", "有効なルールがないため"),
    ],
)
async def test_the_end_of_a_rule_that_nobody_set_is_said_to_lift_nothing(
    words: str, told: str
) -> None:
    state, notes = await said(words, reply=SILENT)
    assert (state.pins, state.questions) == ([], [])
    assert told in notes


@pytest.mark.parametrize(
    "rule", ["Starte db-01 niemals neu.", "Никогда не перезапускай db-01.", "不要重启db-01。"]
)
async def test_a_rule_in_a_language_that_is_not_read_is_said_not_kept_unless_it_is_labelled(
    rule: str,
) -> None:
    state, notes = await said(f"Hallo! {rule}", reply=SILENT)
    assert texts(state) == []
    assert "/rule" in notes
    state, notes = await said(f"Rule: {rule}", reply=SILENT)
    assert (texts(state), "/rule" in notes) == ([rule], False)


async def test_every_rule_of_a_long_paste_is_in_force_or_counted_as_not_kept() -> None:
    rules = [f"Never open door {n}." for n in range(900)]
    state, notes = await said(f"Rule: {BAN}", "\n".join(rules), reply=SILENT)
    lines = notes.splitlines()
    shown = sum("no room left" in line for line in lines)
    more = int("".join(filter(str.isdigit, next(x for x in lines if "more sentences" in x))))
    assert texts(state)[0] == BAN
    assert len(state.pins) >= 20
    assert len(state.pins) - 1 + shown + more == len(rules)


PASTED = "The wiki of the team reads:\n- never restart db-01\n- no deployments without a ticket"


@pytest.mark.parametrize("reply", [MUTE, SILENT])
async def test_rules_below_words_that_hand_over_are_said_not_to_be_taken_over(
    reply: dict[str, object],
) -> None:
    state, notes = await said(PASTED, reply=reply)
    assert texts(state) == []
    assert "as these are others' words: 'no deployments without a ticket'" in notes


async def test_what_a_ccm_takes_from_there_is_said_not_to_be_taken_over() -> None:
    quote = "never restart db-01"
    changes = {**MUTE, "rule_changes": [{"kind": "add", "quote": quote}]}
    state, notes = await said(PASTED, reply=changes)
    assert texts(state) == []
    assert f"others' words: '{quote}'" in notes


async def test_a_list_that_the_user_asks_to_be_read_is_the_users_own() -> None:
    state, _ = await said(
        "My list for the month, read it through:\n- never restart db-01", reply=SILENT
    )
    assert texts(state) == ["never restart db-01"]


@pytest.mark.parametrize("mark", ["> never restart db-01", "```\nnever restart db-01\n```"])
async def test_quotations_that_are_marked_as_such_need_no_line(mark: str) -> None:
    assert (await said(f"They sent me this.\n{mark}", reply=SILENT))[1] == ""
