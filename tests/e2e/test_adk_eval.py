"""`adk eval` runs the shipped evalset, as a user of the extra `eval` would."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from google.adk.apps import App
from google.adk.cli.utils.agent_loader import AgentLoader

from acc_ace.conversation import APP_NAME
from tests.fakes.extensions import needs

AGENTS: Final = Path(__file__).parents[2] / "agents"
FOLDER: Final = AGENTS / APP_NAME
NEEDED: Final = ("pandas", "rouge_score", "tabulate")
"""What ADK's `eval` imports of its own extra for the criteria of test_config.json."""

missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]


@needs("embedded")
def test_adks_own_loader_finds_the_app() -> None:
    loaded = AgentLoader(str(AGENTS)).load_agent(APP_NAME)
    assert isinstance(loaded, App)
    assert loaded.name == APP_NAME


@needs("embedded")
def test_the_root_agent_is_a_public_name_of_the_package() -> None:
    code = "from acc_ace import app, root_agent; assert app.root_agent is root_agent"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)  # noqa: S603 - our own


@pytest.mark.soak
@pytest.mark.skipif(bool(missing), reason=f"the extra 'eval' is not installed: {missing}")
def test_the_shipped_evalset_passes(tmp_path: Path) -> None:
    run = subprocess.run(  # noqa: S603 - our own
        [
            *(sys.executable, "-m", "google.adk.cli", "eval"),
            *(FOLDER, FOLDER / "evalset.evalset.json"),
            *("--config_file_path", FOLDER / "test_config.json"),
        ],
        cwd=tmp_path,
        env={**os.environ, "ACC_ACE_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4_000:]
    assert "Tests passed: 2" in run.stdout, run.stdout
    assert "Tests failed: 0" in run.stdout, run.stdout
