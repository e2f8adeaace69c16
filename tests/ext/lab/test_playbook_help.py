"""Whether a playbook helps: measured the same way with any model, Gemini over HTTP included."""

import json
from pathlib import Path

import pytest

from bench.playbook_benefit import Help, interval
from bench.playbook_help import main
from tests.fakes.default_replies import read_tagged
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import fake_gemini, http_error, says_json, wire_text
from tests.fakes.loopback import HttpReply, Received

LESSON = "Every gate has code 2."


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    path = tmp_path / "gates.jsonl"
    lines = [{"question": f"What is the code of gate {n}?", "target": "2"} for n in range(8)]
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def answering(received: Received) -> HttpReply:
    """Knows the code where the playbook in the prompt says it."""
    known = LESSON in read_tagged(wire_text(received.body))["playbook"]
    return says_json({"final_answer": "2" if known else "9", "bullet_ids": []})


def reflecting(received: Received) -> HttpReply:
    truths = [item["ground_truth"] for item in read_tagged(wire_text(received.body))["feedback"]]
    return says_json({"key_insight": f"Every gate has code {truths[0]}." if truths else ""})


def curating(received: Received) -> HttpReply:
    insight = read_tagged(wire_text(received.body))["reflection"]["key_insight"]
    operation = {"type": "ADD", "section": "gates", "content": insight}
    return says_json({"operations": [operation] if insight else []})


def test_gemini_is_measured_over_http_by_the_same_command(
    gates: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_gemini() as gemini:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        gemini.script("generator", answering)
        gemini.script("reflector", reflecting)
        gemini.script("curator", curating)
        arguments = ["--data", str(gates), "--model", "gemini-3.5-flash", "--seeds", "2", "--json"]
        assert main(arguments) == 0
        reported = json.loads(capsys.readouterr().out)
        found = Help.model_validate(reported["data"]["gates.jsonl"])
        assert reported["model"] == "gemini-3.5-flash"
        assert {item.model for item in gemini.requests} == {"gemini-3.5-flash"}
        assert [trial.without for trial in found.trials] == [0.0, 0.0]
        assert [trial.learnt for trial in found.trials] == [1.0, 1.0]
        assert found.difference == (1.0, 1.0, 1.0)
        # Six samples to learn from and two held out, each asked with and without.
        assert len(gemini.requests_of("generator")) == 2 * (6 + 2 * 2)


@needs("embedded")
def test_the_embedded_model_is_measured_with_no_network(
    gates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(gates), "--seeds", "1", "--model", "embedded/rules"]) == 0
    reported = capsys.readouterr().out
    assert "model embedded/rules" in reported
    assert "difference" in reported


def test_a_model_that_is_away_is_told_in_one_line(
    gates: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gates.read_text().splitlines() * 3
    many = [line.replace("gate ", f"gate {at}") for at, line in enumerate(lines)]
    gates.write_text("\n".join(many))
    with fake_gemini() as gemini:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        gemini.script("generator", http_error(400, "no such model"))
        assert main(["--data", str(gates), "--model", "gemini-9", "--seeds", "1"]) == 2
    assert capsys.readouterr().err.startswith("error (model_unavailable): 10 samples in a row")


@needs("embedded")
def test_data_that_cannot_be_scored_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "open.jsonl"
    path.write_text('{"question": "Why?"}\n')
    assert main(["--data", str(path)]) == 2
    assert "no 'target'" in capsys.readouterr().err


def test_an_interval_holds_its_mean_and_is_the_same_every_time() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 0.25, 1.0]
    found = interval(values)
    assert found.low <= found.mean == sum(values) / 6 <= found.high
    assert found == interval(values)
    assert interval([0.5] * 9) == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="no values"):
        interval([])
