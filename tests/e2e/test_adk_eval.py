"""`adk eval` runs the shipped evalset, as a user of the extra `eval` would."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from google.adk.apps import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.evaluation.eval_config import EvalConfig
from google.adk.evaluation.eval_set import EvalSet

from acc_ace.conversation import APP_NAME
from tests.e2e.processes import BIN, environment
from tests.fakes.extensions import needs

AGENTS: Final = Path(__file__).parents[2] / "agents"
NEEDED: Final = ("agentplatform", "pandas", "rouge_score", "tabulate")
"""What ADK's `eval` imports of its own extra for the criteria of test_config.json."""
PAGE: Final = (AGENTS.parent / "docs/how-to/evaluate.md").read_text("utf-8")
COMMANDS: Final = re.findall(
    r"^ACC_ACE_.* adk eval .*/evalset\.evalset\.json.*$", PAGE, re.MULTILINE
)

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


def test_the_evalset_and_the_criteria_of_the_page_are_ones_of_adk() -> None:
    evalset, criteria = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert EvalSet.model_validate_json(evalset).eval_set_id == "rules"
    assert [*EvalConfig.model_validate_json(criteria).criteria] == ["final_response_match_v2"]
    assert len(COMMANDS) == 3


@pytest.mark.soak
@pytest.mark.skipif(bool(missing), reason=f"the extra 'eval' is not installed: {missing}")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_pass(command: str, tmp_path: Path) -> None:
    run = subprocess.run(  # noqa: S602 - our own page
        command,
        shell=True,
        cwd=AGENTS.parent,
        env=environment(tmp_path / "data", PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4_000:]
    assert "Tests failed: 0" in run.stdout, run.stdout
