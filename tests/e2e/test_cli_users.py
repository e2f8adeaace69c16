"""`acc-ace memory search`, `erase` and `export`: every app that holds anything of a user."""

import asyncio
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent

from acc_ace.config import Settings
from acc_ace.storage.prompt_history import history_path
from tests.e2e.test_cli import CommandLine
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY, Desk


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path / "data"))
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


def talk_at_the_desk(data: Path) -> None:
    """A turn of somebody else's agent under the plugin."""

    async def talk() -> None:
        llm = ScriptedLlm().on("generator", "Hi.")
        desk = Desk(
            LlmAgent(name="helper", model=llm), settings=Settings(store="sqlite", data_dir=data)
        )
        await desk.ask("I prefer walnut bread.")
        await desk.container.close()

    asyncio.run(talk())


@needs("embedded")
def test_words_said_to_an_agent_under_the_plugin_are_exported_and_erased(
    acc_ace: CommandLine,
) -> None:
    talk_at_the_desk(acc_ace.data)
    exported = acc_ace("memory", "export", "--user", KEY.user).turns
    assert [line["app"] for line in exported if line["kind"] == "user"] == ["desk"]
    assert "walnut" in str(exported)
    assert "walnut" not in acc_ace("memory", "export", "--user", KEY.user, "--app", "acc_ace").out
    erased = acc_ace("memory", "erase", "--user", KEY.user, "--yes", "--json").turns[0]
    assert erased["apps"]["desk"]["evidence"] == erased["erased"]["evidence"] == 1
    kept = b"".join(path.read_bytes() for path in acc_ace.data.rglob("*") if path.is_file())
    assert b"walnut" not in kept


@needs("embedded")
def test_an_app_that_is_named_is_the_only_one_that_is_erased(acc_ace: CommandLine) -> None:
    talk_at_the_desk(acc_ace.data)
    acc_ace("chat", "--user", KEY.user, stdin="The marker is quokka-4711.")
    ended = acc_ace("memory", "erase", "--user", KEY.user, "--app", "acc_ace", "--yes")
    assert "from acc_ace: " in ended.out
    assert "desk" not in ended.out
    left = acc_ace("memory", "export", "--user", KEY.user).out
    assert "walnut" in left
    assert "quokka" not in left
    assert acc_ace("memory", "erase", "--user", KEY.user, "--app", " ", "--yes").code == 2


@needs("embedded")
def test_lines_that_were_typed_are_exported_and_erased(acc_ace: CommandLine) -> None:
    typed = history_path(acc_ace.data, "aiko")
    typed.parent.mkdir(parents=True)
    typed.write_text("buy walnuts\n", encoding="utf-8")
    exported = acc_ace("memory", "export", "--user", "aiko").turns
    line, _, end = exported[-3:]
    assert (line, end) == ({"kind": "typed", "value": "buy walnuts"}, {"kind": "end"})
    assert "history_files 1" in acc_ace("memory", "erase", "--user", "aiko", "--yes").out
    assert not typed.exists()
    again = acc_ace("memory", "erase", "--user", "aiko", "--yes").out
    assert f"about user aiko was stored in {acc_ace.data}" in again


@needs("embedded")
def test_an_export_that_holds_nothing_says_so(acc_ace: CommandLine) -> None:
    acc_ace("chat", "--user", KEY.user, stdin="The marker is quokka-4711.")
    assert acc_ace("memory", "export", "--user", KEY.user).err == ""
    none = acc_ace("memory", "export", "--user", KEY.user, "--app", "acc_acce")
    assert none.turns[-1] == {"kind": "end"}
    reported = f"nothing is stored about user {KEY.user} in app acc_acce, in {acc_ace.data}"
    assert none.err.strip() == reported


@needs("embedded")
def test_what_is_known_of_a_user_is_shown_in_the_terminal(acc_ace: CommandLine) -> None:
    acc_ace("chat", "--session", "s1", stdin="I live in Tampere.")
    [fact] = acc_ace("memory", "profile", "--json").turns
    assert (fact["subject"], fact["text"]) == ("home", "I live in Tampere.")
    printed = acc_ace("memory", "profile").out
    assert f"session s1, turn 1 · [{fact['artifact_id']}]\nI live in Tampere." in printed
    acc_ace("memory", "forget", fact["artifact_id"])
    assert "nothing is known of user" in acc_ace("memory", "profile").out


@needs("embedded")
def test_what_was_said_is_searched_for_in_the_terminal(acc_ace: CommandLine) -> None:
    acc_ace("chat", "--session", "s1", stdin="The marker is quokka-4711.")
    [hit] = acc_ace("memory", "search", "quokka", "--json").turns
    assert (hit["session"], hit["turn"], hit["speaker"]) == ("s1", 1, "user")
    assert hit["text"] == "The marker is quokka-4711."
    printed = acc_ace("memory", "search", "quokka").out
    assert "user · session s1, turn 1 · [turn:s1:1]\nThe marker is quokka-4711." in printed
    assert acc_ace("memory", "search", "quokka", "--user", "bob", "--json").turns == []
    assert "nothing in the memory of user bob matches" in (
        acc_ace("memory", "search", "quokka", "--user", "bob").out
    )
