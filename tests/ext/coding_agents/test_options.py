"""An option that a rule names is looked for as it is written."""

from datetime import UTC, datetime

import pytest

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.ext.coding_agents.client_calls import judged
from tests.fakes.extensions import needs

pytestmark = [needs("coding_agents"), needs("guard")]

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def does(rule: str, line: str) -> str:
    """What becomes of a command line under a rule."""
    pin = ConstraintPin(id="c-0001", text=rule, authority="user", origin_turn=1, quote=rule)
    verdict = judged("Bash", {"command": line}, [pin], NOW)
    return verdict.does if verdict else "run"


@pytest.mark.parametrize(
    ("rule", "breaks", "keeps"),
    [
        ("Never run git push --force.", "git push --force origin main", "git push origin main"),
        ("Never run git reset --hard in this project.", "git reset --hard HEAD~1", "git reset a"),
        ("Never force-push to main.", "git push --force origin main", "git push origin feature"),
        ("Never run rm -rf.", "rm -rf build", "rm notes.txt"),
        ("Never run docker compose down -v.", "docker compose down -v", "docker compose down"),
        ("Never run npm install --legacy-peer-deps.", "npm install --legacy-peer-deps", "npm ci"),
        ("git push --force は禁止です。", "git push --force", "git push"),
    ],
)
def test_a_command_with_the_option_is_refused_and_without_it_runs(
    rule: str, breaks: str, keeps: str
) -> None:
    assert (does(rule, breaks), does(rule, keeps)) == ("deny", "run")


@pytest.mark.parametrize(
    "rule",
    [
        "Don't use git commit --no-verify.",
        "Never use --no-verify.",
        "--no-verify は使わないでください。",
    ],
)
def test_an_option_that_says_no_is_no_denial(rule: str) -> None:
    assert does(rule, "git commit --no-verify -m x") in {"deny", "ask"}
    assert does(rule, "git commit -m x") == "run"
