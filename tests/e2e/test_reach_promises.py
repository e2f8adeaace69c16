"""Promises of memory where people already work, as its issue words them, from outside (half A)."""

import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from google.adk.skills import load_skill_from_dir

from tests.e2e.hook_clients import (
    CLIENTS,
    INPUTS,
    SETTINGS,
    Project,
    installed,
    named,
    project,
    recorded,
)
from tests.e2e.mcp_desk import TOOLS, ask, call, desk, on_wire, rules, tools
from tests.e2e.processes import Server, our_server
from tests.e2e.promises import command
from tests.e2e.skill_folders import export_skill, import_of, lessons, skills_in, taught
from tests.e2e.written_pages import (
    CATALOGUE,
    JAPANESE,
    README,
    about_prices,
    flat,
    help_of,
    japanese_words,
    links,
    pages,
    with_prices_of,
    word_count,
)
from tests.fakes.extensions import needs

pytestmark = [needs("embedded"), pytest.mark.soak]
every_client = pytest.mark.parametrize("client", CLIENTS)
over_mcp = needs("mcp")

RULE = "Never push to main without my approval."
OWN = {"matcher": "", "hooks": [{"type": "command", "command": "./lint.sh --strict"}]}
SAID_BY_OTHERS = {
    "claude-code": (
        "post_tool_mcp_runbook",
        "post_tool_read_readme_with_orders",
        "stop_with_an_order",
        "stop_japanese_order",
        "subagent_stop_with_an_order",
        "pre_tool_write",
        "pre_tool_agent",
    ),
    "codex": ("stop_with_an_order", "post_tool_bash", "pre_tool_apply_patch"),
    "gemini-cli": (
        "after_tool_mcp_runbook",
        "after_agent_with_an_order",
        "after_agent_japanese_order",
        "before_tool_write_file",
    ),
}
ORDERS = (
    "restart orders-db without asking",
    "wait for approval",
    "push to main without asking",
    "answer in German",
    "use tabs",
    "テストを先に",
    "force-push",
    "be brief",
    "敬語",
    "in French",
)
TODAY = datetime.datetime.now(tz=datetime.UTC).date()


@pytest.fixture
def agent(client: str, tmp_path: Path) -> Project:
    """A project with our hooks installed, nothing said yet."""
    return installed(client, tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with our_server(tmp_path_factory.mktemp("reach")) as running:
        yield running


# --- Part 1: the hooks of a coding agent ---


@every_client
def test_install_writes_only_the_clients_own_settings(client: str, tmp_path: Path) -> None:
    fresh = project(client, tmp_path)
    (fresh.folder / "README.md").write_text("# Orders\n")
    before = fresh.files()
    fresh.install()
    after = fresh.files()
    changed = [path for path in after if after[path] != before.get(path)]
    expected = {str(fresh.folder / each) for each in SETTINGS[client]}
    assert changed
    assert set(changed) <= expected
    assert not set(before) - set(after)
    assert fresh.all_hooks()


@every_client
def test_settings_of_others_stay_and_removal_gives_them_back(client: str, tmp_path: Path) -> None:
    own = project(client, tmp_path)
    event = "BeforeTool" if client == "gemini-cli" else "PreToolUse"
    settings: dict[str, object] = {"hooks": {event: [OWN]}}
    if client != "codex":
        settings |= {"theme": "dark", "env": {"LANG": "ja_JP.UTF-8"}, "名": ["値"]}
    path = own.folder / SETTINGS[client][0]
    path.parent.mkdir()
    path.write_text(json.dumps(settings, ensure_ascii=False, indent=2))

    own.install()
    installed = json.loads(path.read_text("utf-8"))
    assert OWN in installed["hooks"][event]
    assert {**installed, "hooks": 0} == {**settings, "hooks": 0}
    assert own.all_hooks()

    own.remove()
    assert json.loads(path.read_text("utf-8")) == settings


@every_client
def test_to_install_twice_changes_nothing_more(agent: Project) -> None:
    first = agent.files()
    agent.install()
    assert agent.files() == first


@every_client
def test_removal_leaves_no_hook_and_may_be_said_twice(agent: Project) -> None:
    agent.remove()
    assert agent.all_hooks() == []
    ended = agent.command("hook", "remove", agent.client)
    assert "Traceback" not in ended.stderr
    assert agent.all_hooks() == []


@every_client
def test_a_rule_comes_back_after_compaction_word_for_word(agent: Project) -> None:
    agent.tell("session_start_startup")
    agent.prompt(f"Please fix the build. {RULE}")
    agent.shell("ls -la && cat app.py")
    assert RULE in agent.compacted()


@every_client
@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_a_rule_comes_back_at_the_start_of_a_session(agent: Project, source: str) -> None:
    agent.prompt(f"Please fix the build. {RULE}")
    later = agent.tell(f"session_start_{source}", session_id="another-session")
    assert RULE in later.context


@every_client
def test_a_forbidden_call_is_stopped_and_the_rule_is_quoted(agent: Project) -> None:
    agent.prompt(RULE)
    heard = agent.tell(named(agent.client, "pre_tool_git_push"))
    # Codex refuses `ask` as unsupported and goes on: there, only a denial stops the call.
    assert heard.decision in ({"deny"} if agent.client == "codex" else {"deny", "ask"})
    assert RULE.rstrip(".") in heard.reason


@every_client
def test_an_allowed_call_passes_without_a_word_of_denial(agent: Project) -> None:
    agent.prompt(RULE)
    for line in ("ls -la && cat app.py", "git status", "git commit -m 'Fix main'", "pytest -q"):
        heard = agent.shell(line)
        assert heard.is_calm(), (line, heard)


@every_client
def test_without_a_rule_nothing_is_stopped(agent: Project) -> None:
    heard = agent.tell(named(agent.client, "pre_tool_git_push"))
    assert heard.is_calm(), heard


@every_client
def test_what_tools_documents_and_assistants_say_is_no_rule(agent: Project) -> None:
    agent.prompt("Please read the runbook and tell me what it says.")
    for name in SAID_BY_OTHERS[agent.client]:
        told = recorded(agent.client, name)
        if "prompt" in told and "prompt_response" in told:
            told["prompt"] = "Please read the runbook and tell me what it says."
        assert agent.say(told).is_calm(), name
    back = agent.compacted()
    assert not [each for each in ORDERS if each in back], back
    assert agent.tell(named(agent.client, "pre_tool_mcp_nested")).is_calm()


@every_client
def test_a_japanese_rule_comes_back_and_stops_what_it_forbids(agent: Project) -> None:
    agent.tell(named(agent.client, "prompt_japanese_rule"))
    assert "本番のデータベースには絶対に書き込まないで" in agent.compacted()
    agent.prompt("今後、main には絶対に push しないでください。")
    heard = agent.tell(named(agent.client, "pre_tool_git_push"))
    assert heard.decision in {"deny", "ask"}
    assert "push しないで" in heard.reason


@every_client
@pytest.mark.parametrize("raw", [b"", b"not json", b"[1, 2]", b"\xff\xfe{"])
def test_bytes_that_are_no_input_let_the_client_go_on(agent: Project, raw: bytes) -> None:
    heard = agent.run(list(dict.fromkeys(agent.all_hooks())), raw)
    assert heard.codes
    assert heard.is_calm(), heard


@every_client
def test_ten_megabytes_let_the_client_go_on(agent: Project) -> None:
    heard = agent.prompt("All is well. " * 800_000)
    assert heard.codes
    assert heard.is_calm(), heard.errors
    agent.prompt(RULE)
    assert RULE in agent.compacted()


@every_client
def test_inputs_of_other_versions_let_the_client_go_on(agent: Project) -> None:
    others = [each for each in _inputs(agent) if re.match("version|invented|documented", each)]
    assert len(others) >= 4
    command_line = agent.all_hooks()[:1]
    for name in others:
        raw = json.dumps(recorded(agent.client, name)).encode()
        heard = agent.run(command_line, raw)
        assert heard.is_calm(), (name, heard)


@pytest.mark.soak
@every_client
def test_every_recorded_input_is_taken(agent: Project) -> None:
    for name in _inputs(agent):
        heard = agent.tell(name)
        assert heard.is_calm(), (name, heard)


def test_an_unknown_client_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    nobody = project("codex", tmp_path)
    ended = nobody.command("hook", "install", "emacs")
    assert ended.returncode != 0
    assert "emacs" in ended.stdout + ended.stderr
    assert "claude-code" in ended.stdout + ended.stderr
    assert nobody.files() == {}


# --- Part 2: the protocol for agents that are not ADK's ---


@over_mcp
async def test_every_tool_is_there_with_annotations(tmp_path: Path) -> None:
    async with desk(tmp_path) as session:
        listed = await tools(session)
        assert set(TOOLS) <= set(listed)
        for tool in listed.values():
            assert tool["description"], tool
            assert "readOnlyHint" in tool["annotations"], tool
        assert listed["recall"]["annotations"]["readOnlyHint"] is True
        assert listed["state"]["annotations"]["readOnlyHint"] is True
        assert listed["remember"]["annotations"]["readOnlyHint"] is False


@over_mcp
async def test_what_one_process_remembers_the_next_recalls(tmp_path: Path) -> None:
    async with desk(tmp_path) as session:
        done = await ask(session, "remember", "The staging cluster is named quokka.")
        assert not done.is_error, done.text
        assert "quokka" in (await ask(session, "recall", "name of the staging cluster")).text
    async with desk(tmp_path) as session:
        assert "quokka" in (await ask(session, "recall", "staging cluster")).text


@over_mcp
async def test_a_proposed_rule_is_put_to_the_person(tmp_path: Path) -> None:
    async with desk(tmp_path) as session:
        done = await ask(session, "rules", RULE, action="propose")
        assert not done.is_error, done.text
        assert f"--pin '{RULE}'" in done.text  # Nobody can be asked here: what to type.
        assert RULE not in await rules(session)


@over_mcp
async def test_state_and_playbook_answer_as_tools_and_as_resources(tmp_path: Path) -> None:
    async with desk(tmp_path) as session:
        for name in ("state", "playbook"):
            assert not (await ask(session, name)).is_error, name
        listed = on_wire(await session.list_resources())["resources"]
        shaped = on_wire(await session.list_resource_templates())["resourceTemplates"]
        plain = [each["uri"] for each in listed]
        addresses = [*plain, *(each["uriTemplate"] for each in shaped)]
        for name in ("state", "playbook"):
            assert [each for each in addresses if name in each], addresses
        for uri in plain:
            assert on_wire(await session.read_resource(uri))["contents"], uri


@over_mcp
@pytest.mark.parametrize("tool", TOOLS)
async def test_wrong_types_are_an_error_and_the_next_call_works(tool: str, tmp_path: Path) -> None:
    async with desk(tmp_path) as session:
        places = (await tools(session))[tool]["inputSchema"].get("properties", {})
        wrong = {name: {"a": [1, None]} for name in places}
        answer = await call(session, tool, wrong)
        assert answer.is_error or not places, answer.text
        assert "Traceback" not in answer.text
        assert not (await ask(session, "state")).is_error


# --- Part 3: playbooks as skills ---


def test_a_section_is_exported_as_a_skill_that_adk_loads(tmp_path: Path) -> None:
    data = taught(tmp_path, restarts=["Drain the node before a restart."])
    out = export_skill(data, tmp_path / "skills", section="restarts")
    (folder,) = skills_in(out)
    text = (folder / "SKILL.md").read_text("utf-8")
    assert "Drain the node before a restart." in text
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", folder.name), folder.name
    skill = load_skill_from_dir(folder)
    assert skill.frontmatter.name == folder.name
    assert 0 < len(skill.frontmatter.description) <= 1_024


def test_an_exported_skill_is_imported_into_an_empty_playbook(tmp_path: Path) -> None:
    sentences = ["Drain the node before a restart.", "再起動の前にログを読む。"]
    data = taught(tmp_path / "one", restarts=sentences)
    (folder,) = skills_in(export_skill(data, tmp_path / "skills", section="restarts"))
    other = tmp_path / "two" / "data"
    ended = import_of(other, folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert sorted(lessons(other)) == sorted(sentences)


def test_a_report_with_lists_is_not_eighty_two_lessons(tmp_path: Path) -> None:
    lines = [f"- {n} requests were answered on day {n}, of which {n % 7} failed" for n in range(82)]
    report = tmp_path / "report.md"
    report.write_text("# Report of November\n\n## Numbers\n\n" + "\n".join(lines) + "\n")
    ended = import_of(tmp_path / "data", report)
    assert "Traceback" not in ended.stderr
    assert len(lessons(tmp_path / "data")) < 5
    assert ended.stdout + ended.stderr, "it does not say what it took and what not"


def test_a_skill_with_scripts_gives_its_lessons_and_runs_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "node-restarts"
    (folder / "scripts").mkdir(parents=True)
    mark = tmp_path / "was-run"
    (folder / "scripts" / "run.sh").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (folder / "scripts" / "run.sh").chmod(0o755)
    (folder / "SKILL.md").write_text(
        "---\nname: node-restarts\ndescription: How nodes are restarted.\n---\n\n"
        "# Node restarts\n\n- Drain the node before a restart.\n- Wait for the replica.\n"
    )
    refused = import_of(tmp_path / "data", folder)
    assert "'--format skill' takes each item" in refused.stderr
    ended = import_of(tmp_path / "data", folder, "--format", "skill")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(lessons(tmp_path / "data")) == 2
    assert "script" in (ended.stdout + ended.stderr).lower(), "it does not say what it left out"
    assert not mark.exists()


def test_an_import_says_what_it_took_and_what_not(tmp_path: Path) -> None:
    mixed = tmp_path / "team.md"
    mixed.write_text(
        "## restarts\n\n- Drain the node before a restart.\n- Drain the node before a restart.\n"
    )
    ended = import_of(tmp_path / "data", mixed, "--format", "markdown")
    assert lessons(tmp_path / "data") == ["Drain the node before a restart."]
    rest = r"duplicate|already|same|known|skipped|left out|not taken|rejected|merged|twice"
    assert re.search(rest, ended.stdout + ended.stderr, re.IGNORECASE)


# --- Part 4: pages, help, prices, and the first screen ---


def test_the_readme_has_eight_hundred_words_at_most() -> None:
    assert word_count(README) <= 800


def test_every_link_of_llms_txt_is_there() -> None:
    places = (README.parent / "llms.txt", README.parent / "docs" / "llms.txt")
    (text,) = [each for each in places if each.exists()]
    targets = links(text)
    assert len(targets) >= 5
    local = [each.partition("#")[0] for each in targets if "://" not in each]
    roots = (text.parent, README.parent, README.parent / "docs")
    assert not [each for each in local if not any((root / each).exists() for root in roots)]


@pytest.mark.parametrize(
    ("page", "passage"),
    [
        ("README.md", "54 … 104 … 157 and 304"),
        ("README.md", "After turn 3 or turn 3,000"),
        ("README.md", "why it did what it did"),
        ("README.md", "take an unmarked sentence of somebody else for yours"),
        ("docs/how-to/plugin.md", "It is asked as the models of the settings are"),
        ("docs/how-to/use-it-in-your-own-agent.md", "as one finds it anywhere"),
        ("docs/how-to/use-it-in-your-own-agent.md", "What the server or a command does beyond"),
        ("docs/how-to/rules.md", "An id in a sentence is business"),
        ("docs/how-to/cockpit.md", "say that it is none"),
        ("docs/playbook.md", "words that only may be the user's"),
        ("docs/playbook.md", "Text that no one may apply"),
        ("docs/survivor.md", "is recalled for"),
        ("docs/survivor.md", "whoever is well and learns nothing new"),
        ("docs/survivor.md", "bounded, or said"),
        ("docs/survivor.md", "cells of mortals flatter the arm"),
    ],
)
def test_no_page_says_it_like_that(page: str, passage: str) -> None:
    pattern = re.escape(passage).replace("…", ".{0,120}")
    assert not re.search(pattern, flat(README.parent / page))


def test_help_texts_are_whole_sentences() -> None:
    assert "ours, or one with" not in help_of("rules")
    assert "a run of it goes on" not in help_of("survive")


def test_the_japanese_of_the_page_and_of_the_readme_is_not_a_calque() -> None:
    text = flat(JAPANESE)
    calques = ("鍵", "文書への注入", "要求", "印のない他人の一文", "答えの下の行")
    assert not [each for each in calques if each in text]
    assert "API キー" in text
    assert not {"読んだ量", "書いた量", "暗い", "節"} & set(japanese_words())


def test_the_page_does_not_say_it_like_that() -> None:
    texts = json.dumps(json.loads(CATALOGUE.read_text("utf-8")), ensure_ascii=False)
    assert "What you say first begins it" not in texts
    assert "its own process takes its turns; they show here" not in texts


def test_every_command_that_reaches_out_has_its_page() -> None:
    texts = [flat(path) for path in pages()]
    for line in ("acc-ace mcp", "acc-ace hook install claude-code", "acc-ace hook remove"):
        assert [each for each in texts if line in each], line
    assert "adk eval" in " ".join(texts)


def test_old_prices_are_said_to_be_old_and_new_ones_are_not(tmp_path: Path) -> None:
    old = about_prices(with_prices_of(TODAY - datetime.timedelta(days=91), tmp_path), tmp_path)
    new = about_prices(with_prices_of(TODAY - datetime.timedelta(days=3), tmp_path), tmp_path)
    warning = re.compile(r"\b9[01] days|days old|older than|out of date", re.IGNORECASE)
    assert warning.search(old), old
    assert not warning.search(new), new


def test_the_models_of_today_have_prices() -> None:
    (table,) = (README.parent / "agents" / "acc_ace").rglob("prices.toml")
    text = table.read_text("utf-8")
    assert re.search(r"(?m)^as_of = \d{4}-\d\d-\d\d$", text)
    for name in ("gemini-3.5-flash-lite", "gemini-3.8-flash"):
        assert f'"{name}"' in text


def test_the_cockpit_comes_in_250_kilobytes(server: Server) -> None:
    sizes: dict[str, int] = {}
    with httpx.Client(base_url=server.url, follow_redirects=True, timeout=30) as http:
        waiting = ["/ui/"]
        while waiting:
            address = waiting.pop()
            if address in sizes:
                continue
            with http.stream("GET", address) as response:
                body = response.read().decode("utf-8", errors="replace")
                sizes[address] = response.num_bytes_downloaded
                base = response.url
            asked = re.findall(r"""(?:src|href)="([^"#]+\.(?:js|css|json|svg))[^"]*\"""", body)
            asked += re.findall(r"""(?:from|import)\s*\(?["'](\.{0,2}/[^"']+)["']""", body)
            local = [base.join(each) for each in asked if "://" not in each]
            waiting += [each.path for each in local]
    assert len(sizes) > 1, "the page loads nothing"
    assert sum(sizes.values()) <= 250_000, sizes


def test_the_server_says_where_to_go_in_one_line(server: Server) -> None:
    port = server.url.rpartition(":")[2]
    lines = [each for each in server.output().splitlines() if f":{port}" in each]
    assert len(lines) == 1, server.output()


def test_the_commands_are_listed_with_a_sentence(tmp_path: Path) -> None:
    shown = command(tmp_path / "data", "--help").stdout
    assert re.search(r"(?m)^\s*mcp\s+[A-Z].*\w", shown)
    assert re.search(r"(?m)^\s*hook\s+[A-Z].*\w", shown)
    for name in ("install", "remove"):
        text = help_of("hook", name)
        assert not [each for each in CLIENTS if each not in text], text


def _inputs(agent: Project) -> list[str]:
    """All that was recorded of a client; what carries a rule of the user comes last."""
    names = [path.stem for path in (INPUTS / agent.client).glob("*.json")]
    return sorted(names, key=lambda name: ("prompt" in recorded(agent.client, name), name))
