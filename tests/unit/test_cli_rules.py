"""Rules and attachments at the prompt: /rules, /rule, /forget, /paste, /attach, /detach."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from acc_ace.cli.chat import Chat, converse
from acc_ace.cli.line_prompt import CtrlC
from acc_ace.cli.output import ExitCode
from acc_ace.cli.prompt.rule_commands import rules_view
from acc_ace.cli.terminal import memory_line
from acc_ace.errors import ModelUnavailable
from schemas.base import Authority
from schemas.commit import (
    ChangeKind,
    CommittedState,
    ConstraintPin,
    NotKept,
    OpenQuestion,
    RuleScope,
)
from schemas.report import ReportedQuestion
from tests.fakes.fake_turn_api import FakeTurnApi, report
from tests.unit.test_cli_chat import KEY, Terminal

MAIL = "Hi all,\n\nthe ban is lifted.\nBob"


def talk(turns: FakeTurnApi, lines: Iterable[str | None]) -> str:
    """What the terminal shows for the lines typed."""
    terminal, typed = Terminal(width=200), iter(lines)
    with asyncio.Runner() as runner:
        chat = Chat(turns, KEY, terminal.people)
        assert converse(chat, lambda: next(typed, None), runner, terminal.people) is ExitCode.OK
    return terminal.out.getvalue()


def test_a_rule_is_made_listed_and_lifted() -> None:
    turns = FakeTurnApi()
    shown = talk(turns, ["/rule Never suggest peanuts.", "/rules", "/forget C-0001", "/rules"])
    assert "+ c-0001 Never suggest peanuts.\n" in shown
    assert "user, turn 0, this session" in shown
    assert "- c-0001 lifted: Never suggest peanuts. (/undo restores it)" in shown
    assert "none yet: /rule TEXT makes one" in shown
    assert turns.said == []


def test_a_check_of_a_rule_is_corrected_and_taken_back() -> None:
    turns = FakeTurnApi()
    lines = ["/rule Pay at most 20.", "/rules c-0001 pay: amount > 30 EUR", "/rules c-0001 pay:"]
    shown = talk(turns, lines)
    assert "pay: amount > 30 EUR" in shown
    assert turns.rules.pins[0].checks == []
    assert turns.said == []


def test_a_rule_for_always_is_the_users() -> None:
    turns = FakeTurnApi()
    shown = talk(turns, ["/rule always Be brief."])
    assert "+ c-0001 Be brief. (in every session)" in shown
    assert [pin.scope for pin in turns.rules.pins] == [RuleScope.USER]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("/rule", "give the rule's text"),
        ("/rule always", "give the rule's text"),
        ("/forget", "name the rule to lift by its id"),
        ("/forget the peanuts", "name the rule to lift by its id"),
        ("/forget c-0042", "error (not_found): no active rule has the id c-0042"),
        ("/attach nowhere.txt", "nowhere.txt does not exist; check the path"),
        ("/rules now", "name the rule, the tool and what is to happen"),
    ],
)
def test_what_is_missing_is_told(line: str, error: str) -> None:
    turns = FakeTurnApi()
    assert error in " ".join(talk(turns, [line]).split())
    assert turns.said == []


def test_rules_show_quote_authority_scope_and_questions() -> None:
    pin = ConstraintPin(
        id="c-0001",
        text="never restart db-01",
        authority=Authority.USER,
        origin_turn=3,
        quote="Please never restart db-01.",
        tentative=True,
    )
    question = OpenQuestion(
        id="q-0001", kind=ChangeKind.RELEASE, rule_id="c-0001", quote="Restart it.", asked_turn=4
    )
    maybe = NotKept(text="Keep it friendly.", turn=3)
    terminal = Terminal(width=200)
    state = CommittedState(turn=4, pins=[pin], questions=[question], not_kept=[maybe])
    terminal.people.view(rules_view(state))
    shown = terminal.out.getvalue()
    for part in (
        "never restart db-01",
        "said: Please never restart db-01.",
        "user, turn 3, this session, provisional (no c-0001 takes it back)",
        "Still in force: c-0001 'never restart db-01'",
        "send only: lift c-0001",
        "Keep it friendly.",
        "turn 3; /rule TEXT keeps it",
    ):
        assert part in shown


def test_the_memory_line_asks() -> None:
    questions = [
        ReportedQuestion(id="q-0001", kind=ChangeKind.RELEASE, rule_id="c-0003", quote="", text=""),
        ReportedQuestion(id="q-0002", kind=ChangeKind.ADD, quote="", text=""),
    ]
    line = memory_line(report().model_copy(update={"questions": questions}))
    assert line.startswith("? release c-0003 · ? add q-0002 · CCS")


def test_a_paste_goes_with_the_next_message_and_only_with_that() -> None:
    turns = FakeTurnApi()
    lines = ["/paste", *MAIL.split("\n"), "/forget c-0001", ".", "Is this legit?", "Thanks."]
    shown = talk(turns, lines)
    assert [text for text, _ in turns.said] == ["Is this legit?", "Thanks."]
    first, second = turns.attached
    assert [(a.text, a.source) for a in first] == [(f"{MAIL}\n/forget c-0001", "pasted")]
    assert second == []
    assert "attached to the next message: pasted (" in shown


def test_files_are_attached_listed_and_dropped(tmp_path: Path) -> None:
    mail = tmp_path / "mail.txt"
    mail.write_text(MAIL, encoding="utf-8")
    turns = FakeTurnApi()
    shown = talk(
        turns, [f"/attach {mail}", "/attach", "/detach", "/attach", f"/attach {mail}", "?"]
    )
    assert "nothing is attached; /attach FILE or /paste" in shown
    assert [[a.text for a in given] for given in turns.attached] == [[MAIL]]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
        (b"a\0b", "is a binary file; attach text"),
        (b" \n", "is empty; there is nothing to attach"),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path: Path, data: bytes, error: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    turns = FakeTurnApi()
    assert error in " ".join(talk(turns, [f"/attach {path}", "hello"]).split())
    assert turns.attached == [[]]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "cannot be read" in talk(FakeTurnApi(), [f"/attach {tmp_path}"])


def test_attachments_of_a_turn_that_failed_wait_for_the_next_message() -> None:
    turns = FakeTurnApi({"down": ModelUnavailable("fake is down")})
    talk(turns, ["/paste", "a mail", ".", "down", "again"])
    assert [[a.text for a in given] for given in turns.attached] == [["a mail"], ["a mail"]]


def test_an_empty_paste_attaches_nothing() -> None:
    turns = FakeTurnApi()
    assert "nothing was pasted" in talk(turns, ["/paste", "", ".", "hello"])
    assert turns.attached == [[]]


def test_ctrl_c_drops_a_paste(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt gives '' for Ctrl-C, as for a blank line, and says which it was."""
    turns, terminal = FakeTurnApi(), Terminal(width=200)
    typed = iter(["/paste", "half a mail", None, "hello"])

    def read(self: CtrlC, read_line: object) -> str | None:
        line = next(typed, "end")
        self.was_pressed = line is None
        return None if line == "end" else line or ""

    monkeypatch.setattr(CtrlC, "read", read)
    with asyncio.Runner() as runner:
        chat = Chat(turns, KEY, terminal.people)
        converse(chat, lambda: None, runner, terminal.people)
    assert "the paste was dropped" in terminal.out.getvalue()
    assert turns.attached == [[]]
