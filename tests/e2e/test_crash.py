"""A process that is killed leaves a session at CCS_{t-1} or CCS_t, never between."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import Conversation
from acc_ace.core.schemas.commit import CommittedState
from tests.e2e.crash_child import BAN, KEY
from tests.fakes.scripted_llm import ScriptedLlm


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.soak)])
async def test_a_session_survives_kill_9_at_random_points(kills: int, tmp_path: Path) -> None:
    rng = random.Random(11)
    settings = Settings(data_dir=tmp_path, store="sqlite")
    reported = 0
    for _ in range(kills):
        reported = max(reported, _run_and_kill(tmp_path, after_s=rng.uniform(0.0, 0.5)))
        container = build_container(settings)
        head = await container.journal.head(KEY)
        assert head is not None
        assert head.state.version >= reported
        assert head.state.ccs.constraints == [BAN]
        assert CommittedState.from_state(head.state.to_state()) == head.state
        versions = [entry.state.version for entry in await container.journal.history(KEY)]
        assert versions == sorted(versions, reverse=True)
        assert len(set(versions)) == len(versions)
        await container.close()
    conversation = Conversation(
        build_container(settings), models=dict.fromkeys(ROLES, ScriptedLlm())
    )
    report = await conversation.turn(KEY, "What is the rule?")
    assert [constraint.text for constraint in report.constraints] == [BAN]
    await conversation.close()


def _run_and_kill(folder: Path, *, after_s: float) -> int:
    """Let the child finish a turn or two, kill it, and give the last version it told of."""
    child = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-W", "ignore", "-m", "tests.e2e.crash_child", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert child.stdout is not None
    reported = int(child.stdout.readline())
    time.sleep(after_s)
    child.kill()
    rest, _ = child.communicate()
    return max([reported, *(int(line) for line in rest.split() if line.isdigit())])
