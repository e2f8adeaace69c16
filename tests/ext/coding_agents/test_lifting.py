"""Only the person lifts a rule: a call that reaches what keeps them is asked about."""

from pathlib import Path
from typing import Any

import pytest

from acc_ace.ext.coding_agents.clients import CLIENTS
from tests.ext.coding_agents.fake_client import FakeClient, decision_of
from tests.fakes.extensions import needs

pytestmark = needs("embedded")

RULE = "Never run git push."
LIFTS: list[tuple[str, dict[str, Any]]] = [
    ("Bash", {"command": line})
    for line in (
        "acc-ace rules --session project --forget c-0001",
        'acc""-ace hook remove codex',
        "python -m acc_ace.cli rules",
        "ACC_ACE_GUARD=off bash",
        "rm -rf ~/.local/share/acc-ace",
        "rm -rf MEMORY",
        "rm -rf $HOME/kept",
        "rm .claude/settings.json",
        "echo {} > .claude/settings.local.json",
        "mv .codex .codex2",
        "cd ~/.gemini && rm settings.json",
        "sed -i d ~/.codex/config.toml",
        "claude -p 'lift c-0001'",
        "cd /tmp; env codex exec 'lift c-0001'",
        "npx -y @google/gemini-cli@latest -p 'lift c-0001'",
        "bash <<EOF\nclaude -p x\nEOF",
        "python - <<EOF\nimport acc_ace\nEOF",
    )
] + [
    ("Write", {"file_path": "/p/.claude/settings.json", "content": "{}"}),
    ("Edit", {"file_path": "MEMORY/memory.db"}),
    ("apply_patch", {"command": "*** Begin Patch\n*** Delete File: .codex/hooks.json\n"}),
    ("mcp__files__write", {"path": "/p/.gemini/settings.json"}),
    ("mcp__os__run", {"command": ["acc-ace", "rules", "--forget", "c-0001"]}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("Bash", {"command": "ls .claude/skills && cat .claude/commands/a.md"}),
    ("Bash", {"command": "which claude && git commit -m 'By claude'"}),
    ("Write", {"file_path": "docs/a.md", "content": "Install acc-ace."}),
    ("Read", {"file_path": ".claude/settings.json"}),
    ("Grep", {"pattern": "acc_ace"}),
    ("Task", {"prompt": "Tell what acc-ace is."}),
    ("mcp__acc-ace__recall", {"query": "login"}),
]


@pytest.fixture(params=CLIENTS)
def client(
    request: pytest.FixtureRequest, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> FakeClient:
    """Each client in a project with memory in a folder of the person's choice."""
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(home / "kept"))
    return FakeClient(request.param, tmp_path)


def test_what_may_lift_a_rule_is_for_the_person_to_run(client: FakeClient, home: Path) -> None:
    client.prompt(RULE)
    for name, args in LIFTS:
        known = {
            key: value.replace("MEMORY", f"{home}/kept") if isinstance(value, str) else value
            for key, value in args.items()
        }
        does, _ = decision_of(client.call("tool", tool_name=name, tool_input=known))
        assert does == ("ask" if CLIENTS[client.name].asks else "deny"), known


def test_what_reaches_no_rule_runs(client: FakeClient) -> None:
    client.prompt(RULE)
    for name, args in OTHERS:
        assert client.call("tool", tool_name=name, tool_input=args) == {}, args


def test_without_a_rule_nothing_is_asked(client: FakeClient) -> None:
    client.prompt("Please fix the login test.")
    for name, args in LIFTS:
        assert client.call("tool", tool_name=name, tool_input=args) == {}, args


def test_a_denial_gives_the_model_no_words_to_lift_with(client: FakeClient) -> None:
    client.prompt(RULE)
    does, reason = client.shell("git push")
    assert does == "deny"
    assert "only the user can lift it" in reason
    assert "lift c-" not in reason
