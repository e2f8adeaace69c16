"""The examples of the plugin, run by ADK's own command on the embedded model."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.processes import BIN, ROOT, environment
from tests.fakes.extensions import needs

WAIT_S = 90

RULE = "No restarts of db-01 during business hours."
REFUSAL = f'I will not do that: "{RULE}" stands in the way [c-0001].'


def play(example: str, data: Path, *inputs: str) -> str:
    """What `adk run` prints."""
    ended = subprocess.run(  # noqa: S603 - ADK's own command
        [str(BIN / "adk"), "run", f"examples/{example}"],
        cwd=ROOT,
        env=environment(data),
        input="\n".join([*inputs, "exit", ""]),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@needs("embedded")
@pytest.mark.parametrize(
    ("example", "inputs", "answers"),
    [
        pytest.param(
            "plugin_tools",
            (RULE, "What is 17*3?", "Restart db-01 now."),
            ("(I only quote memory. I cannot reason, calculate", f"[desk]: {REFUSAL}"),
            id="agent-with-tools",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "plugin_transfer",
            (RULE, "Invoice 7 of ACME is open.", "Which invoice is open?", "Restart db-01 now."),
            ('- "Invoice 7 of ACME is open." [', f"[operations]: {REFUSAL}"),
            id="transfer",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "plugin_workflow",
            (RULE, "The disk of db-01 is full.", "Restart db-01 now."),
            (f"[writer]: {REFUSAL}", "-- the report desk"),
            id="workflow",
        ),
    ],
)
def test_a_rule_of_the_first_turn_binds_every_agent_of_the_example(
    example: str, inputs: tuple[str, ...], answers: tuple[str, ...], tmp_path: Path
) -> None:
    said = play(example, tmp_path / "data", *inputs)
    assert [answer for answer in answers if answer not in said] == []
    assert '<input name="' not in said
    assert (tmp_path / "data" / "memory.db").exists()
