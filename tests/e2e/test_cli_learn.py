"""`acc-ace learn` over the real app, stores and embedded model."""

import asyncio
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from core.bootstrap import build_container
from schemas.learning_run import RunState
from schemas.tenancy import PlaybookScope
from tests.e2e.processes import BIN, environment
from tests.e2e.test_cli import CommandLine, acc_ace

__all__ = ["acc_ace"]

QUEUES = ("BillingDispute", "PasswordReset", "NetworkOutage", "HardwareRepair", "AccountClosure")
WORDS = {
    "NetworkOutage": "wifi drops in the meeting room",
    "HardwareRepair": "screen flickers after the update",
    "BillingDispute": "invoice shows an amount twice",
}
START_S = 60.0


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    """Questions whose right option shows in their words and not in its name."""
    path = tmp_path / "tickets.jsonl"
    lines = []
    for number in range(30):
        queue = tuple(WORDS)[number % 3]
        text = (
            f"Queues are the options: {','.join(QUEUES)}. Answer with one.\n"
            f'1. Which queue is best for "ticket {number}" in the ticket: "{WORDS[queue]}"'
        )
        lines.append(json.dumps({"context": text, "target": queue}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def playbook(data: Path, branch: str = "") -> list[tuple[Any, ...]]:
    """What the bullets of a branch say and count; times of day apart."""

    async def load() -> list[tuple[Any, ...]]:
        container = build_container(Settings(store="sqlite", data_dir=data))
        try:
            stored = await container.playbooks.load(PlaybookScope("acc_ace", branch=branch))
        finally:
            await container.close()
        return [
            (b.id, b.section, b.content, b.helpful, b.harmful, b.neutral)
            for b in stored.playbook.bullets
        ]

    return asyncio.run(load())


def test_the_embedded_model_learns_what_helps_and_it_becomes_the_playbook(
    acc_ace: CommandLine, tickets: Path
) -> None:
    ended = acc_ace("learn", str(tickets), "--epochs", "2", "--heldout", "0.3", "--json")
    assert ended.code == 0, ended.err
    state = RunState.model_validate_json(ended.out)
    scores = [score.score for score in state.scores]
    assert state.outcome == "promoted"
    assert scores[1] > scores[0]
    assert state.failures == 0
    learnt = playbook(acc_ace.data)
    assert learnt
    assert not any(char.isdigit() for bullet in learnt for char in str(bullet[2]))
    assert "epoch" in ended.err
    assert "generator embedded/rules" in ended.err


def test_without_truth_the_embedded_model_learns_nothing_and_says_so(
    acc_ace: CommandLine, tickets: Path
) -> None:
    ended = acc_ace("learn", str(tickets), "--feedback", "none")
    assert ended.code == 0, ended.err
    assert "nothing that was learnt answers better" in ended.out
    assert playbook(acc_ace.data) == []


def test_samples_without_a_target_are_learnt_from_and_counted(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    data = tmp_path / "open.jsonl"
    data.write_text('{"question": "a"}\n{"question": "b", "target": "B"}\n', encoding="utf-8")
    ended = acc_ace("learn", str(data), "--heldout", "0")
    assert ended.code == 0
    assert "1 of 2 samples have no 'target'" in ended.err


def test_a_run_that_was_done_is_shown_again_on_resume(acc_ace: CommandLine, tickets: Path) -> None:
    first = acc_ace("learn", str(tickets), "--json")
    refused = acc_ace("learn", str(tickets), "--json")
    again = acc_ace("learn", str(tickets), "--json", "--resume")
    assert refused.code == 2
    assert "--resume to go on" in refused.err
    assert again.out == first.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["absent.jsonl"], "absent.jsonl cannot be read"),
        (["{data}", "--feedback", "praise"], "must be one of truth, reward, none; got 'praise'"),
    ],
)
def test_bad_input_is_told_in_one_line(
    acc_ace: CommandLine, tickets: Path, arguments: list[str], complaint: str
) -> None:
    ended = acc_ace("learn", *(item.format(data=tickets) for item in arguments))
    assert ended.code == 2
    assert complaint in ended.err
    assert ended.err.count("\n") == 1


def test_a_run_that_was_killed_goes_on_and_ends_as_an_uninterrupted_one(
    tickets: Path, tmp_path: Path
) -> None:
    whole = _learn(tickets, tmp_path / "whole")
    assert whole.wait(timeout=START_S) == 0
    _kill_at(tickets, tmp_path / "killed", position=11)
    resumed = _learn(tickets, tmp_path / "killed", "--resume")
    assert resumed.wait(timeout=START_S) == 0
    branch = _state(tmp_path / "whole").branch
    assert _state(tmp_path / "killed").position == 0
    expected = playbook(tmp_path / "whole", branch)
    assert expected
    assert playbook(tmp_path / "killed", branch) == expected


def _learn(data: Path, folder: Path, *more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 (our own command on our own data)
        [BIN / "acc-ace", "learn", str(data), "--epochs", "2", "--heldout", "0", *more],
        env=environment(folder),
        cwd=data.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kill_at(data: Path, folder: Path, *, position: int) -> None:
    """Kill a run without a warning when it has come so far."""
    process = _learn(data, folder)
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        if any(_state(folder).position >= position for _ in (folder / "learning").glob("*.json")):
            process.kill()
            break
        time.sleep(0.01)
    assert process.wait(timeout=START_S) == -9, "the run ended before it could be killed"


def _state(folder: Path) -> RunState:
    file = next((folder / "learning").glob("*.json"))
    return RunState.model_validate_json(file.read_text(encoding="utf-8"))
