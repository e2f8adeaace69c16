"""DBOS is imported when background learning is asked for, and not before."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT, environment

_PRINT = "import sys, acc_ace.agent; print([m for m in ('dbos', 'sqlalchemy') if m in sys.modules])"


@pytest.mark.parametrize(("learning", "loaded"), [("inline", "[]"), ("off", "[]")])
def test_the_agent_loads_no_dbos_while_learning_is_not_in_the_background(
    tmp_path: Path, learning: str, loaded: str
) -> None:
    assert _modules(tmp_path, learning) == loaded


def test_the_agent_loads_dbos_for_background_learning(tmp_path: Path) -> None:
    assert "dbos" in _modules(tmp_path, "background")


def _modules(folder: Path, learning: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-W", "ignore", "-c", _PRINT],
        cwd=ROOT,
        env=environment(folder, ACC_ACE_LEARNING=learning),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
