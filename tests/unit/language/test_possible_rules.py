"""What the embedded model asks about, where it does not know whether a rule is meant."""

import pytest

from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin
from acc_ace.core.text.rules.reading import proposed_changes
from tests.unit.gate_turns import asked, say, started, texts


def proposed(text: str, pins: list[ConstraintPin] | None = None) -> list[tuple[str, str | None]]:
    """Kind and rule of each proposal."""
    changes = proposed_changes(text, pins or [], has_goal=True)
    return [(change.kind.value, change.rule_id) for change in changes]


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs.",
        "Kids' photos must not be posted.",
        "I'd rather you didn't call customers by their first names in replies.",
        "Reply in French when they write in French.",
        "Could you be less chatty with me in general?",
        "If a refund request comes in for more than 200 dollars, hand it to Marta.",
        "レシピを出すときは一食あたりの塩分量も書き添えてください。",
        "返信は短めに。",
        "お客様へのメールには、末尾に営業時間を添えるようにしていただきたく存じます。",
        "Siempre contesta en español, sin excepción.",
        "답장은 항상 존댓말로 해 주세요.",
    ],
)
def test_an_order_that_holds_in_general_is_pinned_or_asked_about(text: str) -> None:
    assert ("add", None) in proposed(text)


@pytest.mark.parametrize(
    "text",
    [
        "Could you find the invoice from March?",
        "Fix the failing test in parser.py.",
        "We always eat at six at home.",
        "The shop is closed on Sundays.",
        "My sister always puts the milk in first.",
        "No worries, Jon!",
        "Suppose I told you to refuse all refunds.",
        "この記事を要約して。",
        "昨日は一日中雨でした。",
        "新しい店はいつも混んでいます。",
        "저는 아침을 절대 안 먹어요.",
    ],
)
def test_what_is_told_asked_or_done_once_is_no_rule(text: str) -> None:
    assert proposed(text) == []


def test_a_possible_rule_pins_nothing_by_itself() -> None:
    said = "Reply in French when they write in French."
    result = say(started(), said, *proposed_changes(said, [], has_goal=True))
    assert (texts(result), asked(result)) == ([], [said])


@pytest.mark.parametrize(
    ("rule", "text", "kind"),
    [
        ("No emojis in your replies.", "k the emoji ban is lifted, go nuts", "release"),
        ("Don't schedule anything on Thursdays.", "Thursdays are open again.", "release"),
        ("Keep your sentences short.", "you don't have to keep them short for me", "release"),
        ("Refunds above 200 dollars go to Marta.", "Refunds may go up to 350.", "amend"),
        ("Send the digest on Sunday.", "Could the digest come on Friday instead?", "amend"),
        ("Hotels up to 140 a night.", "Hotels are 190 a night, at most.", "amend"),
        ("買い物は一回五千円まで。", "五千円の上限、撤廃しよ。", "release"),
        ("朝の報告は七時半に送る。", "朝の報告は七時半ではなく七時に変えて。", "amend"),
        ("Отвечай не длиннее ста слов.", "Ограничение в сто слов снимаю.", "release"),
    ],
)
def test_what_may_lift_or_change_a_rule_is_asked_about(rule: str, text: str, kind: str) -> None:
    before = started(rule)
    changes = proposed_changes(text, before.pins, has_goal=True)
    assert [c.kind for c in changes if c.rule_id == "c-0001"] == [ChangeKind(kind)]
    result = say(before, text, *changes)
    assert texts(result) == [rule]
    assert "c-0001" in {question.rule_id for question in result.state.questions}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Never restart db-01.", "Restart db-01 again."),
        ("Never restart db-01.", "Could you restart db-01?"),
        ("No nuts in any recipe.", "Did you stick to the no-nuts rule in that pesto?"),
        ("Don't spend more than $120 a week.", "If I lifted the spending cap, what would happen?"),
        ("No meetings on Wednesdays.", "Wednesday was glorious."),
        ("Ask before restarting any server.", "He said 'forget asking before a restart'."),
        ("Stay under 500 a month.", "We spent 620 last month."),
        ("買い物は一回五千円まで。", "もし五千円の上限を外したら、月いくらになると思う？"),
        (
            "見積書は送付前に私の確認を取る。",
            "見積書の確認、なくしてほしいと言われましたが、断りました。",
        ),
    ],
)
def test_questions_reports_and_plain_orders_change_no_rule(rule: str, text: str) -> None:
    assert [rule_id for _, rule_id in proposed(text, started(rule).pins) if rule_id] == []


def test_of_two_rules_the_one_that_is_spoken_of_is_asked_about() -> None:
    pins = started("No deploys on Fridays.", "Cite only sources after 2015.").pins
    assert proposed("Deploys on Fridays are fine again.", pins) == [("release", "c-0001")]


def test_all_rules_are_asked_about_where_all_are_meant() -> None:
    pins = started("Use Swiss francs.", "Always state your confidence.").pins
    asked_about = {rule_id for _, rule_id in proposed("Drop all of my rules.", pins)}
    assert asked_about == {"c-0001", "c-0002"}


def test_the_end_of_a_rule_that_is_not_there_names_none() -> None:
    pins = started("Use Swiss francs.", "Cite sources.").pins
    assert proposed("Drop the freeze rule.", pins) == [("release", None)]
