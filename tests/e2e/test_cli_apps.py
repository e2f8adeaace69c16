"""The owner sees and manages a plugin app on the command line exactly as ours: `--app`."""

import asyncio
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent

from acc_ace.config import Settings
from acc_ace.core.playbook.manual_edit import read_batch
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from tests.e2e.test_cli import CommandLine
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY, Desk

RULE = "Never restart db-01 during business hours."
LESSON = "Read the log before a restart."
NAMED = ("--app", KEY.app, "--user", KEY.user, "--session", KEY.session)


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    """The command line beside the data of an app with the plugin: one turn, one lesson."""
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path / "data"))
    asyncio.run(talk_at_the_desk(tmp_path / "data"))
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


async def talk_at_the_desk(data: Path, key: SessionKey = KEY) -> None:
    desk = Desk(
        LlmAgent(name="helper", model=ScriptedLlm()),
        settings=Settings(store="sqlite", data_dir=data),
    )
    await desk.ask(RULE, key=key)
    service = PlaybookService(
        desk.container.playbooks,
        PlaybookScope(key.app),
        person=key.user,
        limits=desk.settings.limits,
        clock=desk.container.clock,
    )
    await service.apply(
        read_batch(f'{{"type": "ADD", "section": "strategies", "content": "{LESSON}"}}')
    )
    await desk.container.close()


SHOWN = [
    (("sessions",), f"user {KEY.user} · turn 1 · 1 rules"),
    (("rules",), f"c-0001  {RULE}"),
    (("state",), "[c-0001] Never restart db-01"),
    (("state", "--history", "5"), "+ constraint"),
    (("cost",), "session s1: unknown"),
    (("playbook", "show"), LESSON),
    (("playbook", "search", "restart"), LESSON),
    (("playbook", "history"), "1"),
    (("playbook", "diff", "0"), f"+ [b-00001] {LESSON}"),
    (("playbook", "why", "b-00001"), LESSON),
    (("playbook", "stats"), "version"),
    (("playbook", "export"), LESSON),
    (("playbook", "review", "--list"), "nothing is pending review"),
    (("jobs", "list"), "no learning jobs"),
    (("memory", "list"), "no documents"),
]


@needs("embedded", "playbook_files")
@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[" ".join(c) for c, _ in SHOWN])
def test_each_command_shows_what_is_stored_for_an_app(
    acc_ace: CommandLine, command: tuple[str, ...], shown: str
) -> None:
    ended = acc_ace(*command, "--app", KEY.app)
    assert ended.code == 0, ended.err
    assert shown in ended.out


@needs("embedded")
@pytest.mark.parametrize("command", [c for c, _ in SHOWN if c[0] != "jobs"])
def test_an_unknown_app_is_named_with_those_that_there_are(
    acc_ace: CommandLine, command: tuple[str, ...]
) -> None:
    ended = acc_ace(*command, "--app", "desc")
    assert ended.code == 2
    said = "error (not_found): nothing is stored here for an app 'desc'; apps known: acc_ace, desk"
    assert ended.err.strip() == said


def test_our_own_playbook_points_at_that_of_the_other_app(acc_ace: CommandLine) -> None:
    shown = acc_ace("playbook", "show").out
    assert "no bullets yet" in shown
    assert "other apps here: desk (--app NAME)" in shown


def test_rules_of_an_app_are_made_lifted_and_answered(acc_ace: CommandLine) -> None:
    made = acc_ace("rules", *NAMED, "--pin", "always No peanuts.")
    assert "+ u-0001 No peanuts. (in every session)" in made.out
    lifted = acc_ace("rules", *NAMED, "--forget", "c-0001")
    assert f"- c-0001 lifted: {RULE}" in lifted.out
    [left] = acc_ace("rules", *NAMED, "--json").turns
    assert [(rule["id"], rule["text"]) for rule in left["constraints"]] == [
        ("u-0001", "No peanuts.")
    ]


def test_an_open_question_of_an_app_is_answered(acc_ace: CommandLine) -> None:
    asyncio.run(ask_of_a_release(acc_ace.data))
    [before] = acc_ace("rules", *NAMED, "--json").turns
    assert [question["id"] for question in before["questions"]] == ["q-0001"]
    ended = acc_ace("rules", *NAMED, "--answer", "q-0001=yes")
    assert (ended.code, "none yet" in ended.out) == (0, True)
    assert acc_ace("rules", *NAMED, "--answer", "q-0001=maybe").code == 2


async def ask_of_a_release(data: Path) -> None:
    release = {"kind": "release", "rule_id": "c-0001", "quote": "You may restart db-01 now"}
    memory = ScriptedLlm().on("compressor", {"rule_changes": [release]})
    desk = Desk(
        LlmAgent(name="helper", model=ScriptedLlm()),
        settings=Settings(store="sqlite", data_dir=data),
        memory=memory,
    )
    await desk.ask("You may restart db-01 now, it is fine.")
    await desk.container.close()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("rules", "--app", "desk", "--session", "s1"), "user 'user' of app 'desk' has no session"),
        (("state", *NAMED[:-1], "s9"), "has no session 's9'"),
        (("rules", "--app", "desk", "--pin", "No peanuts."), "name the session to change"),
        (("rules", *NAMED, "--forget", "c-0009"), "c-0009"),
        (("rules",), "app 'acc_ace' has no session"),
        (("rules", "--app", "desk", "--user", "nobody"), "user 'nobody' of app 'desk' has no"),
        (("sessions", "--app", " "), "--app must be 1 to 128 printable characters"),
    ],
)
def test_what_is_not_there_is_said(acc_ace: CommandLine, args: tuple[str, ...], said: str) -> None:
    ended = acc_ace(*args)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_the_playbook_of_an_app_is_edited_and_rolled_back(acc_ace: CommandLine) -> None:
    assert acc_ace("playbook", "pin", "b-00001", "--app", KEY.app).code == 0
    edited = acc_ace("playbook", "edit", "b-00001", "--content", "Read it.", "--app", KEY.app)
    assert "Read it." in edited.out
    assert acc_ace("playbook", "rollback", "1", "--app", KEY.app).code == 0
    [stored] = acc_ace("playbook", "show", "--app", KEY.app, "--json").turns
    assert [bullet["content"] for bullet in stored["playbook"]["bullets"]] == [LESSON]
    [ours] = acc_ace("playbook", "show", "--json").turns
    assert ours["version"] == 0


@needs("embedded")
def test_documents_go_into_the_memory_of_an_app(acc_ace: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "runbook.md"
    file.write_text("The certificate is rotated with certbot.", encoding="utf-8")
    named = ("--app", KEY.app, "--user", KEY.user)
    assert acc_ace("memory", "import", str(file), *named).code == 0
    assert "runbook.md" in acc_ace("memory", "list", *named).out
    assert "runbook.md" not in acc_ace("memory", "list", "--user", KEY.user).out
    missing = acc_ace("memory", "show", "nothing.md", *named)
    assert "`acc-ace memory list --app desk --user ops`" in missing.err


def test_the_latest_session_of_an_app_is_shown_whoever_talked(acc_ace: CommandLine) -> None:
    asyncio.run(talk_at_the_desk(acc_ace.data, KEY._replace(user="aiko", session="s2")))
    listed = acc_ace("sessions", "--app", KEY.app, "--json").turns
    assert [(each["user"], each["session"]) for each in listed] == [("aiko", "s2"), ("ops", "s1")]
    assert "session s2 · user aiko · app desk" in acc_ace("rules", "--app", KEY.app).out
    one = acc_ace("sessions", "--app", KEY.app, "--user", KEY.user, "--json").turns
    assert [each["session"] for each in one] == ["s1"]
