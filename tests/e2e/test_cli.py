"""The real command line over the real app, stores and embedded model, in this process."""

import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from acc_ace import AccController, build_container
from acc_ace.cli import names, options
from acc_ace.cli.app import main
from acc_ace.conversation import APP_NAME
from config import Settings
from tests.fakes.extensions import needs


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The JSON objects on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


class CommandLine:
    """Runs `acc-ace` as a shell would."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: Path
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.data = data

    def set(self, name: str, value: str) -> None:
        self._monkeypatch.setenv(name, value)

    def __call__(self, *args: str, stdin: str = "") -> Ended:
        self._monkeypatch.setattr(sys, "argv", ["acc-ace", *args])
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        shown = self._capsys.readouterr()
        code = ended.value.code
        return Ended(code if isinstance(code, int) else 0, shown.out, shown.err)


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


@needs("embedded")
def test_a_conversation_is_kept_and_resumed(acc_ace: CommandLine) -> None:
    rule = "Never restart db-01 during business hours."
    first = acc_ace("chat", "--session", "inc", "--json", stdin=f"{rule}\n/ccs\nWhat now?\n")
    assert first.code == 0
    assert [turn["turn"] for turn in first.turns] == [1, 2]
    assert "extractive, not an LLM" in first.err
    assert "resume: acc-ace chat --session inc" in first.err
    second = acc_ace("chat", "--session", "inc", "--json", stdin="Which rules are active?")
    assert "resumed after turn 2" in second.err
    [turn] = second.turns
    assert turn["turn"] == 3
    assert [item["text"] for item in turn["constraints"]] == [rule]
    assert rule in turn["answer"]


@needs("embedded")
def test_people_see_answers_memory_lines_and_that_no_llm_speaks(acc_ace: CommandLine) -> None:
    ended = acc_ace("chat", stdin="営業時間内は再起動禁止です。\n")
    assert ended.code == 0
    assert "> 営業時間内は再起動禁止です。" in ended.out
    assert "+ c-0001 · " in ended.out
    assert "LLM ではありません" in ended.out
    assert "semantic_gist" not in ended.out


@needs("embedded")
def test_undo_and_reset_work_in_scripts(acc_ace: CommandLine) -> None:
    script = "Never restart db-01.\nNever delete backups.\n/undo\nhello\n/reset\nhello\n"
    ended = acc_ace("chat", "--json", "--script", "-", stdin=script)
    assert ended.code == 0
    rules = [[item["text"] for item in turn["constraints"]] for turn in ended.turns]
    assert rules == [
        ["Never restart db-01."],
        ["Never restart db-01.", "Never delete backups."],
        ["Never restart db-01."],
        [],
    ]


@needs("embedded")
def test_documents_of_a_script_can_be_recalled(acc_ace: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(
        "turns:\n- How do we rotate the checkout certificate?\n"
        "documents:\n- {id: runbook-7, source: wiki,"
        " content: The checkout certificate is rotated with certbot on web-02.}\n",
        encoding="utf-8",
    )
    ended = acc_ace("chat", "--json", "--script", str(path))
    assert ended.code == 0
    assert "runbook-7" in ended.turns[0]["recalled"]


@needs("embedded")
def test_words_of_a_tool_set_no_rule(acc_ace: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(
        "- input: Never restart db-01 during business hours.\n  authority: tool\n", "utf-8"
    )
    ended = acc_ace("chat", "--json", "--script", str(path))
    assert ended.turns[0]["constraints"] == []


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("ACC_ACE_STORE", "floppy", "Input should be 'sqlite', 'postgres' or 'memory'"),
        ("ACC_ACE_LIMITS__CCS_TOKENS", "9", "greater than or equal to 256"),
        ("ACC_ACE_GENERATOR__MODEL", "gpt-oops", "unknown model name 'gpt-oops'"),
    ],
)
def test_bad_settings_exit_with_2_and_say_what_is_allowed(
    acc_ace: CommandLine, name: str, value: str, reported: str
) -> None:
    acc_ace.set(name, value)
    ended = acc_ace("chat", "--json", stdin="hello")
    assert (ended.code, ended.out) == (2, "")
    assert name in ended.err
    assert reported in ended.err
    assert "Traceback" not in ended.err


@needs("embedded")
@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (("--script", "no-such-file.txt"), "no-such-file.txt does not exist"),
        (("--session", " "), "--session must be 1 to 128 printable characters"),
        (("--session", "a/b c"), "a new session id must not contain '/'"),
        (("--user", "x" * 129), "--user must be 1 to 128 printable characters"),
        (("--script", "-"), "the script has no inputs"),
        (("--frobnicate",), "No such option"),
    ],
)
def test_bad_arguments_exit_with_2(
    acc_ace: CommandLine, args: tuple[str, ...], reported: str
) -> None:
    ended = acc_ace("chat", *args)
    assert ended.code == 2
    assert reported in ended.err


@needs("embedded")
def test_a_session_with_a_slash_that_has_turns_is_gone_on_with(acc_ace: CommandLine) -> None:
    acc = AccController(build_container(Settings(data_dir=acc_ace.data)), session="a/b c")
    acc.update_state_sync("Never restart db-01 by day.", None)
    acc.record_sync("Noted.")
    acc.close_sync()
    ended = acc_ace("chat", "--json", "--session", "a/b c", stdin="What now?")
    assert (ended.code, ended.turns[0]["turn"]) == (0, 2)


@needs("embedded")
def test_settings_that_change_nothing_are_told_at_the_start(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    acc_ace.set("ACC_ACE_GENERATR__MODEL", "foo")
    acc_ace.set("ACC_ACE_FILES_DIR", str(tmp_path / "none"))
    ended = acc_ace("chat", "--json", stdin="hello")
    assert (ended.code, len(ended.turns)) == (0, 1)
    reported = "! ACC_ACE_GENERATR__MODEL is not a setting; did you mean ACC_ACE_GENERATOR__MODEL?"
    assert reported in ended.err
    assert f"! {tmp_path / 'none'} is not a folder; create it, or change ACC_ACE" in ended.err


@needs("embedded")
def test_empty_and_huge_inputs_exit_with_2_and_change_nothing(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "script.yaml"
    path.write_text('- hello\n- ""\n', encoding="utf-8")
    empty = acc_ace("chat", "--json", "--session", "s", "--script", str(path))
    assert empty.code == 2
    assert empty.turns[1]["error"]["code"] == "invalid_input"
    huge = acc_ace("chat", "--json", "--session", "s", stdin="word " * 2_000_000 + "\n")
    assert huge.code == 2
    assert huge.turns[0]["error"]["code"] == "input_too_large"
    assert len(huge.out) < 2_000
    after = acc_ace("chat", "--json", "--session", "s", stdin="hello again")
    assert after.turns[0]["turn"] == 2


@needs("embedded")
def test_keep_going_plays_the_rest(acc_ace: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text('- ""\n- hello\n', encoding="utf-8")
    ended = acc_ace("chat", "--json", "--keep-going", "--script", str(path))
    assert ended.code == 2
    assert [turn["turn"] for turn in ended.turns] == [1, 1]


@needs("embedded")
def test_damaged_database_exits_with_2_and_stays_as_it_is(acc_ace: CommandLine) -> None:
    acc_ace.data.mkdir()
    path = acc_ace.data / "memory.db"
    path.write_bytes(b"no database " * 1_000)
    ended = acc_ace("chat", "--json", stdin="hello")
    assert ended.code == 2
    assert "memory.db is damaged" in ended.err
    assert path.read_bytes() == b"no database " * 1_000


@needs("embedded")
def test_data_directory_that_cannot_be_made_exits_with_2(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    acc_ace.set("ACC_ACE_DATA_DIR", str(tmp_path / "file" / "data"))
    ended = acc_ace("chat", stdin="hello")
    assert ended.code == 2
    assert "ACC_ACE_DATA_DIR" in ended.err


@needs("embedded", "openai_compatible")
def test_model_that_fails_exits_with_1_and_the_next_turn_has_what_was_demanded(
    acc_ace: CommandLine,
) -> None:
    rule = "Never restart db-01 during business hours."
    acc_ace.set("ACC_ACE_GENERATOR__MODEL", "openai/none")
    acc_ace.set("ACC_ACE_GENERATOR__RETRIES", "0")
    acc_ace.set("ACC_ACE_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ended = acc_ace("chat", "--json", "--session", "s", stdin=rule)
    assert ended.code == 1
    assert ended.turns[0]["error"]["code"] == "model_unavailable"
    assert "openai/none" in ended.err
    acc_ace.set("ACC_ACE_GENERATOR__MODEL", "embedded/rules")
    after = acc_ace("chat", "--json", "--session", "s", stdin="hello")
    assert after.turns[0]["turn"] == 1
    assert [kept["text"] for kept in after.turns[0]["constraints"]] == [rule]
    assert "earlier message that got no answer" in after.turns[0]["answer"]


def test_playbook_can_be_shown(acc_ace: CommandLine) -> None:
    assert "playbook version 0" in acc_ace("playbook", "show").out
    [shown] = acc_ace("playbook", "show", "--json").turns
    assert shown["playbook"]["bullets"] == []


@needs("embedded")
def test_erase_asks_and_then_leaves_nothing(acc_ace: CommandLine) -> None:
    acc_ace("chat", "--user", "aiko", stdin="The marker is quokka-4711.")
    assert acc_ace("memory", "erase", "--user", "aiko").code == 2
    ended = acc_ace("memory", "erase", "--user", "aiko", "--yes", "--json")
    assert ended.turns[0]["erased"]["evidence"] >= 1
    stored = b"".join(path.read_bytes() for path in acc_ace.data.rglob("*") if path.is_file())
    assert b"quokka" not in stored


@needs("embedded")
def test_export_writes_all_that_is_held_and_overwrites_nothing(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    acc_ace("chat", "--user", "aiko", stdin="The marker is quokka-4711.")
    exported = acc_ace("memory", "export", "--user", "aiko").turns
    assert exported[-1] == {"kind": "end"}
    assert "quokka-4711" in str(exported)
    out = tmp_path / "aiko.jsonl"
    assert acc_ace("memory", "export", "--user", "aiko", "--out", str(out)).code == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == len(exported)
    assert acc_ace("memory", "export", "--user", "aiko", "--out", str(out)).code == 2


def test_doctor_tells_problems_by_its_exit_code(acc_ace: CommandLine) -> None:
    acc_ace.set("ACC_ACE_GENERATOR__MODEL", "gpt-oops")
    ended = acc_ace("doctor", "--json")
    assert ended.code == 1
    [reported] = ended.turns
    broken = [item["check"] for item in reported["findings"] if item["status"] == "problem"]
    assert "generator" in broken


def test_version_and_help_need_no_settings(acc_ace: CommandLine) -> None:
    acc_ace.set("ACC_ACE_STORE", "floppy")
    assert acc_ace("--version").out.startswith("acc-ace 0.")
    assert "chat" in acc_ace("--help").out


def test_the_terminal_talks_to_the_app_by_its_name() -> None:
    assert names.APP_NAME == options.APP_NAME == APP_NAME
