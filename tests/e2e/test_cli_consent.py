"""`acc-ace chat` at a real terminal asks by itself before a rule is lifted or changed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_cli_terminal import Terminal
from tests.fakes.extensions import require
from tests.fakes.fake_openai import FakeOpenAI, fake_openai, says

RULE = "No restarts of payments-api before the batch ends at 23:30."
LATER = "No restarts of payments-api before the batch ends at 23:50."
SAID = "The batch now ends at 23:50."
ASKED = "[y/N] "


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    """A model that proposes a new wording of the rule and answers slowly."""
    require("openai_compatible")
    change = {"kind": "amend", "sentence": 1, "rule_id": "c-0001", "text": LATER}
    with fake_openai() as endpoint:
        endpoint.script("compressor", says(json.dumps({"rule_changes": [change]})))
        endpoint.script("generator", says('{"final_answer": "I see."}', delay_s=1.0))
        yield endpoint


def _chat(model: FakeOpenAI, tmp_path: Path, *args: str) -> Terminal:
    environment = {
        "ACC_ACE_DATA_DIR": str(tmp_path / "data"),
        "ACC_ACE_COMPRESSOR__MODEL": "openai/fake",
        "ACC_ACE_GENERATOR__MODEL": "openai/fake",
        "ACC_ACE_OPENAI_BASE_URL": model.base_url,
    }
    return Terminal("chat", "--session", "inc", *args, environment=environment)


def _begin(terminal: Terminal) -> None:
    terminal.expect("Ctrl-D exits")
    terminal.send(f"/rule {RULE}\n")
    terminal.expect("+ c-0001")
    terminal.expect("> ")


def _rules(terminal: Terminal) -> str:
    """What /rules says, as one line."""
    terminal.expect("> ")
    terminal.send("/rules\n")
    terminal.expect("after turn")
    shown = terminal.expect("> ")
    return re.sub(r"\s+", " ", shown)


def test_a_yes_at_the_terminal_changes_the_rule_as_shown(model: FakeOpenAI, tmp_path: Path) -> None:
    with _chat(model, tmp_path) as terminal:
        _begin(terminal)
        terminal.send(f"{SAID}\n")
        asked = terminal.expect(ASKED)
        assert f"before: {RULE}" in " ".join(asked.split())
        assert f"after: {LATER}" in " ".join(asked.split())
        terminal.send("y\n")
        terminal.expect("c-0001 lifted")
        terminal.expect("+ c-0002")
        rules = _rules(terminal)
        assert LATER in rules
        assert RULE not in rules
        assert "q-0001" not in rules
        terminal.send("\x10\x10")  # Ctrl-P twice: the answer is no line of the history.
        terminal.expect(SAID)


@pytest.mark.parametrize("keys", ["\n", "n\n", "yes, change it\n", "\x03", "\x04"])
def test_anything_else_leaves_the_question_open(
    model: FakeOpenAI, tmp_path: Path, keys: str
) -> None:
    with _chat(model, tmp_path) as terminal:
        _begin(terminal)
        terminal.send(f"{SAID}\n")
        terminal.expect(ASKED)
        terminal.send(keys)
        terminal.expect("still open: q-0001")
        rules = _rules(terminal)
        assert f"c-0001 {RULE}" in rules
        assert "send only: yes q-0001" in rules


def test_what_was_typed_before_the_question_is_no_answer(model: FakeOpenAI, tmp_path: Path) -> None:
    with _chat(model, tmp_path) as terminal:
        _begin(terminal)
        terminal.send(f"{SAID}\n")
        terminal.send("y\ny\nyes\ny")  # While the turn runs; the last one without its end.
        terminal.expect(ASKED)
        terminal.send("\n")
        terminal.expect("still open: q-0001")
        assert f"c-0001 {RULE}" in _rules(terminal)


def test_a_program_that_reads_the_answers_is_not_asked(model: FakeOpenAI, tmp_path: Path) -> None:
    with _chat(model, tmp_path, "--json") as terminal:
        _begin(terminal)
        terminal.send(f"{SAID}\n")
        terminal.expect('"turn": 1')
        terminal.expect("> ")
        terminal.send("/quit\n")
        assert terminal.ended() == 0
        assert ASKED not in terminal.screen


def test_a_script_at_a_terminal_is_not_asked(model: FakeOpenAI, tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text(f"/rule {RULE}\n{SAID}\ny\n", encoding="utf-8")
    with _chat(model, tmp_path, "--script", str(script)) as terminal:
        assert terminal.ended() == 0
        terminal.expect("? amend c-0001")
        assert ASKED not in terminal.screen
