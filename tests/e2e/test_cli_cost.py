"""`acc-ace cost` explains a session; the line below an answer says what it cost."""

from pathlib import Path

import pytest

from tests.e2e.test_cli import CommandLine
from tests.fakes.extensions import needs

PRICES = """
as_of = 2026-01-31
[models."embedded/*"]
input = 100.0
output = 1000.0
"""


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path / "data"))
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


@needs("embedded")
def test_a_session_is_explained_by_stage_and_turn(acc_ace: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(PRICES, encoding="utf-8")
    acc_ace.set("ACC_ACE_PRICES", str(file))
    said = acc_ace("chat", "--session", "s1", stdin="db-01 is down.\nWhich server is down?\n")
    assert "cost $" in said.out
    assert "(session $" in said.out
    shown = acc_ace("cost")
    assert shown.code == 0
    assert "session s1: $" in shown.out
    assert "the price table is of 2026-01-31" in shown.out
    assert shown.out.count("days ago: compare it with") == 1
    assert "compressor" in shown.out
    explained = acc_ace("cost", "s1", "--json").turns[0]
    assert explained["cost"]["usd"] == pytest.approx(
        sum(turn["cost"]["usd"] for turn in explained["turns"])
    )


@needs("embedded")
def test_the_embedded_model_costs_nothing_and_no_money_is_shown_below_its_answers(
    acc_ace: CommandLine,
) -> None:
    assert "cost" not in acc_ace("chat", "--session", "s1", stdin="db-01 is down.\n").out
    assert acc_ace("cost", "s1", "--json").turns[0]["cost"] == {"usd": 0.0, "complete": True}


@needs("embedded")
def test_at_the_ceiling_the_chat_says_so(acc_ace: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(PRICES, encoding="utf-8")
    acc_ace.set("ACC_ACE_PRICES", str(file))
    acc_ace.set("ACC_ACE_MAX_COST", "0.0001")
    ended = acc_ace("chat", "--session", "s1", stdin="db-01 is down.\nAnd now?\n")
    assert ended.code == 2
    assert "error (spending_ceiling): user 'user' has spent $" in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err


def test_a_wrong_price_file_and_an_unknown_session_are_said(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    assert "has no session" in acc_ace("cost").err
    file = tmp_path / "prices.toml"
    file.write_text(PRICES.replace("100.0", "-1"), encoding="utf-8")
    acc_ace.set("ACC_ACE_PRICES", str(file))
    ended = acc_ace("cost")
    assert ended.code == 2
    assert "models.embedded/*.input" in ended.err
