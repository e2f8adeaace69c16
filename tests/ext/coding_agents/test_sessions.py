"""A session of a coding agent: its rules hold after a compaction, and decide before calls."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acc_ace.ext.coding_agents.clients import CLIENTS
from tests.ext.coding_agents.fake_client import RECORDED, FakeClient, context_of
from tests.fakes.extensions import needs

pytestmark = needs("embedded")


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> FakeClient:
    """Each client in a repository of its own."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return FakeClient(request.param, project)


def test_a_rule_survives_compaction_and_the_forbidden_call_is_denied_with_the_rule_quoted(
    client: FakeClient,
) -> None:
    said = client.prompt("Never run git push. Please fix the login test.")
    assert "c-0001 Never run git push." in said["systemMessage"]
    assert "no c-0001" in said["systemMessage"]
    for command in ("git status", "pytest -q", "git commit -m 'push it'"):
        assert client.shell(command) == ("", "")
    put_back = client.start("compact") if client.name != "gemini-cli" else context_of(
        client.prompt("Go on.")
    )  # fmt: skip
    assert "- c-0001: Never run git push." in put_back
    does, reason = client.shell("cd src && git push origin main")
    assert does == "deny"
    assert 'c-0001: "Never run git push."' in reason


def test_what_the_person_wants_to_be_asked_about_is_asked_where_the_client_can(
    client: FakeClient,
) -> None:
    client.prompt("Never run git push without my ok.")
    does, reason = client.shell("git push")
    assert does == ("ask" if CLIENTS[client.name].asks else "deny")
    assert "Never run git push without my ok." in reason


def test_the_person_lifts_a_rule_by_its_name(client: FakeClient) -> None:
    client.prompt("Never run git push.")
    assert "Lifted: c-0001" in client.prompt("lift c-0001")["systemMessage"]
    assert client.shell("git push") == ("", "")


def test_a_sentence_that_was_not_taken_becomes_a_rule_by_a_word(client: FakeClient) -> None:
    client.prompt("Rule: Use pnpm, never npm.")
    assert client.shell("npm install left-pad")[0] == "deny"
    assert client.shell("pnpm install left-pad") == ("", "")


def test_prompts_that_no_person_wrote_make_no_rules(client: FakeClient, home: Path) -> None:
    client.prompt("Never run git push.", source="system")
    client.prompt("Never run git push.", agent_id="sub-1")
    client.prompt("<task-notification>\n<result>a</result>\n</task-notification>\nNever git push.")
    assert client.shell("git push") == ("", "")
    assert not list(home.iterdir())


@pytest.mark.parametrize(
    ("rule", "call", "does"),
    [
        ("Do not touch the migrations folder.", ("Write", "db/migrations/1.sql"), "deny"),
        ("Do not touch the migrations folder.", ("Edit", "src/a.py"), ""),
        ("Never modify files under vendor/.", ("Edit", "/home/me/project/vendor/a.go"), "deny"),
        ("Never modify files under vendor/.", ("Bash", "sed -i s/a/b/ vendor/a.go"), "deny"),
        ("Never modify files under vendor/.", ("Bash", "echo x > vendor/a.go"), "deny"),
        ("Never modify files under vendor/.", ("Bash", "cat vendor/a.go"), ""),
        ("Never read .env files.", ("Read", "/p/.env"), "deny"),
        ("Never read .env files.", ("Bash", "cat .env"), "deny"),
        ("Don't delete files.", ("Bash", "find . -name x | xargs rm -rf"), "deny"),
        ("Don't delete files.", ("Bash", "git rm a.py"), "deny"),
        ("Don't delete files.", ("Write", "a.py"), ""),
        ("Never run git push.", ("Bash", "bash -lc 'git push'"), "deny"),
        ("Never run git push.", ("Bash", "for r in a b; do git push $r; done"), "deny"),
        ("Never run git push.", ("Bash", 'x="$(git push 2>&1)"'), "deny"),
        ("Never run git push.", ("Bash", "cat > a.md <<'EOF'\nplease git push\nEOF"), ""),
        ("Never run git push.", ("Bash", "echo git push"), ""),
        ("Never run git push.", ("Bash", "# git push comes later\nls # git push"), ""),
        ("Never run git push.", ("Bash", "git push 'unbalanced"), "deny"),
        ("Never run git push.", ("Bash", "bash <<EOF\ngit push\nEOF"), "deny"),
        ("Never run git push.", ("Bash", "ssh a <<'EOF'\nls\ngit push\nEOF"), "deny"),
        ("Never run git push.", ("Bash", "echo 'git push' | sh"), "deny"),
        ("Never run git push.", ("Bash", "bash <<< 'git push'"), "deny"),
        ("Never run git push.", ("Bash", "eval 'git push'"), "deny"),
        ("Never run git push.", ("Bash", "echo $((1<<x))\ngit push\nx"), "deny"),
        ("Never run git push.", ("Bash", "echo '<<x'\ngit push\nx"), "deny"),
        ("Never run git push.", ("Bash", "# it's\ngit push"), "deny"),
        ("Never run git push.", ("Bash", "ls\ngit push 'x"), "deny"),
        ("Never run git push.", ("Bash", "sudo -u me git push"), "deny"),
        ("Never run git push.", ("Bash", "ssh -p 22 a 'ls; git push'"), "deny"),
        ("Never run git push.", ("Bash", "git push # *** Begin Patch"), "deny"),
        ("Never run git push.", ("Bash", ["bash", "-lc", "git push"]), "deny"),
        ("Never run git push.", ("mcp__os__run", "git push"), "deny"),
        ("Don't delete files.", ("Bash", "find . -name x -delete"), "deny"),
        ("Don't delete files.", ("Bash", "find . -exec rm {} +"), "deny"),
        ("Don't delete files.", ("Bash", "ls | xargs -I {} rm {}"), "deny"),
        ("Don't delete files.", ("Bash", "find . -name x -exec cat {} +"), ""),
        (
            "Do not touch the migrations folder.",
            ("Bash", "cd db/migrations && rm 1.sql"),
            "deny",
        ),
        ("Do not touch the migrations folder.", ("Bash", "cd db/migrations && ls"), ""),
        ("Do not touch the migrations folder.", ("Bash", "cd db/migrations; cd ../; rm a"), ""),
        ("Never restart db-01.", ("Bash", "ssh db-01 sudo systemctl restart nginx"), "deny"),
        ("Never restart db-01.", ("Bash", "ssh db-01 'systemctl restart nginx'"), "deny"),
        ("Never restart db-01.", ("Bash", "ssh db-02 sudo systemctl restart nginx"), ""),
        ("git push は絶対にしないで。", ("Bash", "git push origin main"), "deny"),
        ("Never run git push.", ("TodoWrite", "git push"), ""),
    ],
)
def test_calls_of_shells_and_files(
    tmp_path: Path, rule: str, call: tuple[str, object], does: str
) -> None:
    client = FakeClient("claude-code", tmp_path)
    client.prompt(f"Rule: {rule}")
    field = "file_path" if call[0] in {"Write", "Edit", "Read"} else "command"
    answer = client.call("tool", tool_name=call[0], tool_input={field: call[1]})
    assert answer.get("hookSpecificOutput", {}).get("permissionDecision", "") == does


def test_a_patch_is_a_call_on_each_of_its_files(tmp_path: Path) -> None:
    client = FakeClient("codex", tmp_path)
    client.prompt("Never edit package-lock.json.")
    patch = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch"
    for file, is_denied in (("src/a.py", False), ("web/package-lock.json", True)):
        sent = {"tool_name": "apply_patch", "tool_input": {"command": patch.format(file)}}
        assert bool(client.call("tool", **sent)) is is_denied


def test_a_rule_that_wants_a_deed_first_is_put_before_the_model(tmp_path: Path) -> None:
    client = FakeClient("claude-code", tmp_path)
    client.prompt("Rule: Always run the tests before committing.")
    call = {"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}}
    assert "c-0001" in context_of(client.call("tool", **call))


def test_two_sessions_of_a_project_keep_the_rules_of_both(tmp_path: Path) -> None:
    rules = ["Never run git push.", "Never run terraform apply."]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(FakeClient("codex", tmp_path).prompt, rules))
    shown = FakeClient("claude-code", tmp_path).start("resume")
    assert all(rule in shown for rule in rules)


def test_recorded_inputs_of_the_real_clients_are_answered(tmp_path: Path) -> None:
    for each in RECORDED:
        sent = json.dumps({**each["input"], "cwd": str(tmp_path)}).encode()
        assert "failed" not in str(FakeClient(each["client"], tmp_path).send(sent))
