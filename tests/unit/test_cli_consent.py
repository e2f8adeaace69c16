"""The terminal's own [y/N]: what counts as a yes, what each other answer leaves as it is."""

import asyncio
from collections.abc import Sequence

import pytest

from acc_ace.cli.chat import Chat, converse
from acc_ace.cli.output import ExitCode
from acc_ace.cli.prompt.consent_prompt import change_lines, terminal_ask
from schemas.commit import ChangeKind
from schemas.report import ReportedQuestion
from tests.fakes.fake_turn_api import FakeTurnApi
from tests.unit.test_cli_chat import KEY, Terminal

RULES = ("/rule No restarts.", "/rule No peanuts.")


def talk(turns: FakeTurnApi, lines: Sequence[str], answers: Sequence[str | None]) -> str:
    """What the terminal shows for the lines typed, with the answers to its own questions."""
    terminal, typed, answered = Terminal(width=200), iter(lines), iter(answers)

    def ask() -> str | None:
        answer = next(answered)
        if answer == "^C":
            raise KeyboardInterrupt
        return answer

    with asyncio.Runner() as runner:
        chat = Chat(turns, KEY, terminal.people)
        ended = converse(chat, lambda: next(typed, None), runner, terminal.people, ask=ask)
    assert ended is ExitCode.OK
    assert next(answered, "all asked") == "all asked"
    return terminal.out.getvalue()


def in_force(turns: FakeTurnApi) -> list[str]:
    return [pin.text for pin in turns.rules.pins]


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " はい\n"])
def test_a_yes_settles_the_question_that_was_shown(answer: str) -> None:
    turns = FakeTurnApi()
    shown = talk(turns, [*RULES, "lift 1"], [answer])
    assert turns.rules.answered == [("q-0001", True)]
    assert in_force(turns) == ["No peanuts."]
    assert "Lift c-0001?\n  before: No restarts.\n  after:  (none)\n" in shown
    assert "- c-0001 lifted: No restarts." in shown
    assert "still open" not in shown


@pytest.mark.parametrize("answer", ["", None, "\n", "n\n", "ok\n", "yes please\n", "yy\n", "^C"])
def test_anything_else_leaves_it_open(answer: str | None) -> None:
    turns = FakeTurnApi()
    shown = talk(turns, [*RULES, "lift 1"], [answer])
    assert turns.rules.answered == []
    assert in_force(turns) == ["No restarts.", "No peanuts."]
    assert "still open: q-0001; /rules says how to consent" in shown
    assert turns.said[-1][0] == "lift 1"  # The answer is no message.


def test_each_question_is_asked_by_itself() -> None:
    turns = FakeTurnApi()
    shown = talk(turns, [*RULES, "lift 1 2"], ["n\n", "y\n"])
    assert turns.rules.answered == [("q-0002", True)]
    assert in_force(turns) == ["No restarts."]
    assert "still open: q-0001;" in shown


def test_a_question_is_asked_in_its_own_turn_alone() -> None:
    turns = FakeTurnApi()
    talk(turns, [*RULES, "lift 1", "hello", "/rules", "/rule No nuts."], ["n\n"])
    assert turns.rules.answered == []


def test_a_question_that_was_settled_elsewhere_is_said() -> None:
    turns = FakeTurnApi()
    shown = talk(turns, ["lift 7", "hello"], ["y\n"])
    assert "error (not_found)" in shown
    assert turns.said[-1][0] == "hello"


def test_without_a_terminal_nobody_is_asked() -> None:
    assert terminal_ask() is None


@pytest.mark.parametrize(
    ("kind", "quote", "asked"),
    [
        (ChangeKind.AMEND, "Until 23:50.", "Change c-0001?\n  before: Old.\n  after:  New."),
        (
            ChangeKind.AMEND,
            "23時50分まで。",
            "c-0001 を変更しますか？\n  変更前：Old.\n  変更後：New.",
        ),
        (ChangeKind.PERMIT, "Go.", "Allow this from now on?\n  before: Old.\n  after:  New."),
        (ChangeKind.GOAL, "Go.", "Take this as the goal?\n  before: Old.\n  after:  New."),
    ],
)
def test_a_change_is_shown_before_and_after(kind: ChangeKind, quote: str, asked: str) -> None:
    question = ReportedQuestion(
        id="q-0001",
        kind=kind,
        rule_id="c-0001",
        quote=quote,
        text="",
        before="Old.",
        after=["New."],
    )
    assert change_lines(question) == asked
