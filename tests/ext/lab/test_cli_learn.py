"""`acc-ace learn` over the real app and stores, with a model behind HTTP."""

import asyncio
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.ext.lab.run_state import RunState
from tests.e2e.processes import BIN, environment
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.fakes.default_replies import read_tagged
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import FakeGemini, fake_gemini, says_json, wire_text
from tests.fakes.loopback import HttpReply, Received

__all__ = ["acc_ace"]

WORDS = {
    "NetworkOutage": "wifi drops in the meeting room",
    "HardwareRepair": "screen flickers after the update",
    "BillingDispute": "invoice shows an amount twice",
}
LESSON = re.compile(r'\[(b-\d+)\][^\n]*:: "([^"\n]+)" goes to (\w+)\.')
START_S = 60.0


def answering(received: Received) -> HttpReply:
    """Knows the queue where a lesson in the prompt quotes what the ticket says."""
    inputs = read_tagged(wire_text(received.body))
    reported = [
        (queue, bullet_id)
        for bullet_id, words, queue in LESSON.findall(inputs["playbook"])
        if words in inputs["current_input"]["text"]
    ]
    return says_json(
        {
            "final_answer": reported[0][0] if reported else "unknown",
            "bullet_ids": [reported[0][1]] if reported else [],
        }
    )


def reflecting(received: Received) -> HttpReply:
    """Draws a lesson from a wrong answer whose right one is known."""
    inputs = read_tagged(wire_text(received.body))
    truths = [item["ground_truth"] for item in inputs["feedback"] if "ground_truth" in item]
    words = inputs["current_input"]["text"].partition('"')[2].partition('"')[0]
    wrong = truths and truths[0] != inputs["generation"]["final_answer"]
    return says_json({"key_insight": f'"{words}" goes to {truths[0]}.' if wrong else ""})


def curating(received: Received) -> HttpReply:
    insight = read_tagged(wire_text(received.body))["reflection"]["key_insight"]
    operation = {"type": "ADD", "section": "queues", "content": insight}
    return says_json({"operations": [operation] if insight else []})


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    """A Gemini that answers better when its playbook holds the lesson."""
    with fake_gemini() as gemini:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        gemini.script("generator", answering)
        gemini.script("reflector", reflecting)
        gemini.script("curator", curating)
        yield gemini


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    """Questions of three kinds, none of which is asked twice."""
    path = tmp_path / "tickets.jsonl"
    lines = []
    for number in range(30):
        queue = tuple(WORDS)[number % 3]
        text = f'Ticket {number} says "{WORDS[queue]}". Which queue is it for?'
        lines.append(json.dumps({"question": text, "target": queue}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def playbook(data: Path) -> list[tuple[Any, ...]]:
    """What the bullets of a data directory say and count; times of day apart."""

    async def load() -> list[tuple[Any, ...]]:
        container = build_container(Settings(store="sqlite", data_dir=data))
        try:
            stored = await container.playbooks.load(PlaybookScope("acc_ace"))
        finally:
            await container.close()
        return [
            (b.id, b.section, b.content, b.helpful, b.harmful, b.neutral)
            for b in stored.playbook.bullets
        ]

    return asyncio.run(load())


def test_a_model_learns_what_helps_and_it_becomes_the_playbook(
    acc_ace: CommandLine, model: FakeGemini, tickets: Path
) -> None:
    ended = acc_ace("learn", str(tickets), "--epochs", "2", "--heldout", "0.3", "--json")
    assert ended.code == 0, ended.err
    state = RunState.model_validate_json(ended.out)
    scores = [score.score for score in state.scores]
    assert state.outcome == "promoted"
    assert (scores[0], scores[1]) == (0.0, 1.0)
    assert state.failures == 0
    learnt = playbook(acc_ace.data)
    assert {bullet[2] for bullet in learnt} == {
        f'"{words}" goes to {queue}.' for queue, words in WORDS.items()
    }
    assert "epoch" in ended.err
    assert "generator gemini" in ended.err


def test_what_is_not_promoted_can_be_read_and_imported(
    acc_ace: CommandLine, model: FakeGemini, tickets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = acc_ace("learn", str(tickets), "--heldout", "0")
    folder = re.search(r"The lessons are in (\S+)\.", ended.out)
    assert folder, ended.out
    assert Path(folder[1]).is_relative_to(acc_ace.data)
    exported = tickets.with_name("learnt.json")
    with monkeypatch.context() as patch:
        patch.setenv("ACC_ACE_DATA_DIR", folder[1])
        shown = acc_ace("playbook", "show")
        acc_ace("playbook", "export", "--format", "json", "--out", str(exported))
    assert "goes to BillingDispute" in shown.out
    imported = acc_ace("playbook", "import", str(exported))
    assert imported.code == 0, imported.err
    assert len(playbook(acc_ace.data)) == len(WORDS)


def test_a_fifth_is_the_test_set_and_is_reported_beside_the_costs(
    acc_ace: CommandLine, model: FakeGemini, tickets: Path
) -> None:
    ended = acc_ace("learn", str(tickets), "--heldout", "0.3")
    assert (
        "test score before: 0.000 (6 samples; 0 wholly right, 95 % interval 0.000 to" in ended.out
    )
    assert "test score after epoch 1: 1.000 (6 samples; 6 wholly right" in ended.out
    # Nine held out and six of the test set, each twice; fifteen are left to learn from.
    assert re.search(r"- scoring: 30 calls, [\d,]+ tokens in, [\d,]+ out, \S+, [\d.]+ s", ended.out)
    assert "- practice: 15 calls" in ended.out
    assert "- learning: " in ended.out
    none = acc_ace("learn", str(tickets), "--heldout", "0.3", "--test", "0")
    assert "test score" not in none.out


def test_a_file_is_the_test_set(acc_ace: CommandLine, model: FakeGemini, tickets: Path) -> None:
    lines = tickets.read_text(encoding="utf-8").splitlines()
    tickets.write_text("\n".join(lines[:20]), encoding="utf-8")
    test = tickets.with_name("test.jsonl")
    test.write_text("\n".join(lines[20:]), encoding="utf-8")
    ended = acc_ace("learn", str(tickets), "--test", str(test))
    assert "test score before: 0.000 (10 samples" in ended.out
    assert "test score after epoch 1: 1.000 (10 samples; 10 wholly right" in ended.out


def test_online_the_running_score_is_the_result(
    acc_ace: CommandLine, model: FakeGemini, tickets: Path
) -> None:
    lines = tickets.read_text(encoding="utf-8").splitlines()
    tickets.write_text("\n".join(lines[:20]), encoding="utf-8")
    warm_up = tickets.with_name("warm-up.jsonl")
    warm_up.write_text("\n".join(lines[20:]), encoding="utf-8")
    cold = acc_ace("learn", str(tickets), "--online")
    warm = acc_ace("learn", str(tickets), "--online", "--warm-up", str(warm_up))
    assert "online score: 0.850 (20 samples)\nAn online run promotes nothing." in cold.out
    assert "held-out score after epoch 1: 1.000 (2 samples)" in warm.out
    assert "online score: 1.000 (20 samples)" in warm.out
    assert playbook(acc_ace.data) == []


def test_where_nothing_is_learnt_without_truth_the_command_says_so(
    acc_ace: CommandLine, model: FakeGemini, tickets: Path
) -> None:
    ended = acc_ace("learn", str(tickets), "--feedback", "none")
    assert ended.code == 0, ended.err
    assert "no learned version scored better" in ended.out
    assert model.requests_of("reflector")
    assert playbook(acc_ace.data) == []


@needs("embedded")
def test_the_embedded_model_takes_part_with_no_network_and_untold_samples_are_counted(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    data = tmp_path / "open.jsonl"
    data.write_text('{"question": "a"}\n{"question": "b", "target": "B"}\n', encoding="utf-8")
    ended = acc_ace("learn", str(data), "--heldout", "0")
    assert ended.code == 0
    assert "1 of 2 samples have no 'target'" in ended.err
    assert "generator embedded/rules" in ended.err


def test_a_run_that_was_done_is_shown_again_on_resume(
    acc_ace: CommandLine, model: FakeGemini, tickets: Path
) -> None:
    first = acc_ace("learn", str(tickets), "--json")
    refused = acc_ace("learn", str(tickets), "--json")
    again = acc_ace("learn", str(tickets), "--json", "--resume")
    assert refused.code == 2
    assert "--resume to continue" in refused.err
    assert again.out == first.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["absent.jsonl"], "absent.jsonl cannot be read"),
        (["{data}", "--feedback", "praise"], "must be one of truth, reward, none; got 'praise'"),
        (["{data}", "--test", "absent.jsonl"], "--test: absent.jsonl cannot be read"),
        (["{data}", "--test", "{empty}"], "contains no samples"),
        (["{data}", "--test", "{data}"], "--test: 30 of 30 samples are in both files"),
        (["{data}", "--test", "1.5"], "--test must be a file, or a share from 0 to 0.7 beside"),
        (["{data}", "--test", "nan"], "got 'nan'"),
        (["{data}", "--test", "0.5", "--heldout", "0.5"], "a share from 0 to 0.4 beside"),
        (["{data}", "--test", "0.5", "--online"], "leave out --test"),
        (["{data}", "--online", "--warm-up", "absent.jsonl"], "--warm-up: absent.jsonl cannot"),
        (["{data}", "--online", "--warm-up", "{data}"], "--warm-up: 30 of 30 samples are in both"),
        (["{data}", "--warm-up", "{data}"], "--warm-up goes with --online"),
    ],
)
def test_bad_input_is_told_in_one_line(
    acc_ace: CommandLine, tickets: Path, arguments: list[str], complaint: str
) -> None:
    (empty := tickets.with_name("empty.jsonl")).write_text("\n", encoding="utf-8")
    ended = acc_ace("learn", *(item.format(data=tickets, empty=empty) for item in arguments))
    assert ended.code == 2
    assert complaint in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.soak
@pytest.mark.parametrize("options", [["--epochs", "2", "--heldout", "0"], ["--online"]])
def test_a_run_that_was_killed_goes_on_and_ends_as_an_uninterrupted_one(
    model: FakeGemini, tickets: Path, tmp_path: Path, options: list[str]
) -> None:
    whole = _learn(model, tickets, tmp_path / "whole", *options)
    assert whole.wait(timeout=START_S) == 0
    _kill_at(model, tickets, tmp_path / "killed", *options, position=11)
    resumed = _learn(model, tickets, tmp_path / "killed", *options, "--resume")
    assert resumed.wait(timeout=START_S) == 0
    run = _state(tmp_path / "whole").run
    assert _state(tmp_path / "killed").position == 0
    assert _state(tmp_path / "killed").tests == _state(tmp_path / "whole").tests
    expected = playbook(tmp_path / "whole" / "learning" / run)
    assert expected
    assert playbook(tmp_path / "killed" / "learning" / run) == expected


def _learn(model: FakeGemini, data: Path, folder: Path, *more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 (our own command on our own data)
        [BIN / "acc-ace", "learn", str(data), *more],
        env=environment(folder, GOOGLE_API_KEY="test-key", GOOGLE_GEMINI_BASE_URL=model.base_url),
        cwd=data.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kill_at(model: FakeGemini, data: Path, folder: Path, *options: str, position: int) -> None:
    """Kill a run without a warning when it has come so far."""
    process = _learn(model, data, folder, *options)
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        if any(_done(folder) >= position for _ in (folder / "learning").glob("*.json")):
            process.kill()
            break
        time.sleep(0.01)
    assert process.wait(timeout=START_S) == -9, "the run ended before it could be killed"


def _done(folder: Path) -> int:
    state = _state(folder)
    return state.scoring.samples if state.scoring else state.position


def _state(folder: Path) -> RunState:
    file = next((folder / "learning").glob("*.json"))
    return RunState.model_validate_json(file.read_text(encoding="utf-8"))
