"""Doctor: each check finds what is broken, says how to fix it, and shows no secret."""

import json
import socket
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from acc_ace.cli.checks.configuration import (
    check_address,
    check_agent_dir,
    check_files_dir,
    check_mcp,
    check_names,
    check_tools,
    setting_names,
)
from acc_ace.cli.checks.doctor import examine, run_doctor
from acc_ace.cli.checks.installation import (
    ADK_SERIES,
    CheckResult,
    Status,
    check_adk,
    check_python,
    check_sqlite,
)
from acc_ace.cli.checks.model_checks import (
    check_embedder,
    check_gemini_answers,
    check_guard,
    check_keys,
    check_models,
    check_tool_calls,
)
from acc_ace.cli.checks.storage import check_data_dir, check_databases, check_disk
from acc_ace.cli.output import ExitCode
from acc_ace.storage.sql_database import VERSION
from config import ROLES, AgentSettings, EmbedderSettings, GuardModelSettings, Settings, names_set
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import Kind, fake_openai

ROOT = Path(__file__).parents[2]


def _one(findings: Iterator[CheckResult], check: str) -> CheckResult:
    return next(finding for finding in findings if finding.check == check)


def _is_problem(finding: CheckResult, reported: str, fix: str) -> bool:
    return (
        finding.status is Status.PROBLEM
        and reported in finding.detail
        and fix.lower() in finding.fix.lower()
    )


_OURS = f"PRAGMA user_version = {VERSION}; CREATE TABLE t(x);"


def _database(path: Path, script: str = _OURS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


@needs("semantic")
def test_the_embedder_is_shown_and_a_wrong_one_is_found() -> None:
    none, openai, odd = (
        check_embedder(Settings(embedder=EmbedderSettings(model=name)))
        for name in ("", "openai/small", "word2vec")
    )
    assert (none.status, none.detail) == (Status.OK, "none: recall is lexical only")
    assert openai.detail == "openai/small (at http://127.0.0.1:11434/v1)"
    assert _is_problem(odd, "unknown embedder 'word2vec'", "ACC_ACE_EMBEDDER__MODEL")


@needs("embedded", "openai_compatible")
def test_the_guards_mode_and_model_are_shown() -> None:
    off, alone, judged = (
        check_guard(Settings(guard=mode, guard_model=GuardModelSettings(model=name)))
        for mode, name in (("off", ""), ("confirm", "embedded/rules"), ("block", "openai/judge"))
    )
    assert off.status is Status.NOTE
    assert alone.detail == "confirm, by the deterministic check alone"
    assert judged.detail == "block, by the deterministic check and openai/judge"
    shown = check_models(Settings(guard_model=GuardModelSettings(model="openai/judge")))
    assert "openai/judge" in _one(shown, "guard").detail
    odd = check_models(Settings(guard_model=GuardModelSettings(model="word2vec")))
    assert _is_problem(_one(odd, "guard"), "word2vec", "ACC_ACE_GUARD_MODEL__MODEL")
    assert [finding.check for finding in check_models(Settings())] == list(ROLES)


@needs("embedded", "openai_compatible")
def test_a_password_in_the_url_of_an_endpoint_is_not_shown() -> None:
    url = "http://aiko:hunter2-secret@models.example:8080/v1"
    embedder = EmbedderSettings(model="openai/small", base_url=url)
    generator = AgentSettings(model="openai/small")
    findings = [
        check_embedder(Settings(embedder=embedder)),
        *check_models(Settings(generator=generator, openai_base_url=url)),
    ]
    assert not any("hunter2" in finding.detail + finding.fix for finding in findings)
    assert all(finding.status is Status.OK for finding in findings)


def test_old_python_and_other_adk_are_found() -> None:
    assert check_python().status is Status.OK
    assert _is_problem(check_python((3, 10)), "3.10 is too old", "3.11")
    assert check_adk().status is Status.OK
    assert _is_problem(check_adk("1.9.0"), "google-adk 1.9.0", "requirements.lock")
    assert check_sqlite().status is Status.OK


def test_adk_series_is_that_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(f"google-adk>={ADK_SERIES[:-1]}," in each for each in project["dependencies"])


def test_misspelt_setting_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACC_ACE_GENRATOR__MODEL", "x")
    monkeypatch.setenv("ACC_ACE_LIMITS__RECALL_K", "5")
    [finding] = check_names(names_set())
    assert _is_problem(finding, "ACC_ACE_GENRATOR__MODEL", "did you mean ACC_ACE_GENERATOR__MODEL")


def test_what_is_like_no_setting_is_no_setting_and_nothing_is_guessed() -> None:
    [finding] = check_names(["ACC_ACE_USERR"])
    assert _is_problem(finding, "ACC_ACE_USERR is not a setting", "see .env.example")


def test_a_guess_is_a_setting_and_no_block_of_them() -> None:
    for finding in check_names(f"{name}X" for name in setting_names()):
        guess = finding.fix.removeprefix("did you mean ").removesuffix("?")
        assert guess in {*setting_names(), "see .env.example for all names"}
        assert not any(each.startswith(f"{guess}__") for each in setting_names())


def test_misspelt_setting_in_the_env_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = tmp_path / ".env"
    env.write_text("ACC_ACE_STOER=memory\nOTHER=1\n", encoding="utf-8")
    monkeypatch.setitem(Settings.model_config, "env_file", str(env))
    assert "ACC_ACE_STOER" in names_set()
    assert "OTHER" not in names_set()


def test_every_setting_has_a_name() -> None:
    names = setting_names()
    assert {"ACC_ACE_STORE", "ACC_ACE_CURATOR__TIMEOUT_S", "ACC_ACE_LIMITS__CCS_TOKENS"} <= {*names}


def test_invalid_settings_are_one_finding_that_lists_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACC_ACE_STORE", "floppy")
    finding = _one(examine(online=False), "settings")
    allowed = "ACC_ACE_STORE: Input should be 'sqlite', 'postgres' or 'memory'"
    assert _is_problem(finding, allowed, "fix it")


@pytest.mark.parametrize("value", ["99999999999", "1e400", "nan"])
@pytest.mark.parametrize("name", ["ACC_ACE_IDLE_S", "ACC_ACE_BACKGROUND__KEEP_DONE_S"])
def test_a_time_that_no_clock_can_count_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    finding = _one(examine(online=False), "settings")
    assert _is_problem(finding, name, "fix it")


def test_healthy_setup_has_no_problem(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        free = server.getsockname()[1]
    settings = Settings(port=free)
    problems = [item for item in check_models(settings) if item.status is Status.PROBLEM]
    assert problems == []
    assert run_doctor(as_json=True, online=False) in {ExitCode.OK, ExitCode.FAILED}
    reported = json.loads(capsys.readouterr().out)
    assert {item["check"] for item in reported["findings"]} >= {"python", "data_dir", "generator"}
    assert reported["ok"] == all(item["status"] != "problem" for item in reported["findings"])


def test_keys_are_told_but_never_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "AIza-not-a-real-key-123456"
    monkeypatch.setenv("GOOGLE_API_KEY", secret)
    monkeypatch.setenv("ACC_ACE_OPENAI_API_KEY", secret)
    monkeypatch.setenv("ACC_ACE_AUTH_TOKENS", f"aiko:{secret}")
    run_doctor(as_json=False, online=False)
    run_doctor(as_json=True, online=False)
    shown = capsys.readouterr().out
    assert secret not in shown
    assert "present (api_key)" in shown


def test_absent_key_is_a_note_that_names_the_embedded_model() -> None:
    finding = _one(check_keys(Settings()), "google_key")
    assert finding.status is Status.NOTE
    assert "not an LLM" in finding.detail
    assert "GOOGLE_API_KEY" in finding.fix


@pytest.mark.parametrize(
    ("model", "reported", "fix"),
    [
        ("gpt-oops", "unknown model name 'gpt-oops'", "change ACC_ACE_GENERATOR__MODEL"),
        ("gemini-3.5-flash", "needs Google credentials", "GOOGLE_API_KEY"),
        ("embedded/other", "unknown model name", "ACC_ACE_GENERATOR__MODEL"),
    ],
)
def test_unusable_model_is_found(model: str, reported: str, fix: str) -> None:
    settings = Settings.model_validate({"generator": {"model": model}})
    assert _is_problem(_one(check_models(settings), "generator"), reported, fix)


def test_unusable_fallback_is_found() -> None:
    settings = Settings.model_validate({"curator": {"fallback": "nonsense"}})
    finding = _one(check_models(settings), "curator fallback")
    assert _is_problem(finding, "unknown model name", "ACC_ACE_CURATOR__FALLBACK")


def test_online_check_without_gemini_asks_nobody() -> None:
    [finding] = check_gemini_answers(Settings())
    assert finding.detail == "no agent uses it"


def test_unreachable_gemini_is_found_without_showing_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza-not-a-real-key-123456")
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"http://127.0.0.1:{port}")
    [finding] = check_gemini_answers(Settings())
    assert _is_problem(finding, "does not respond", "network")
    assert "AIza" not in finding.detail


@needs("openai_compatible")
@pytest.mark.parametrize(
    ("kind", "tools", "says", "fix"),
    [
        ("openai", "auto", "also beside a JSON schema", ""),
        ("llama-server", "auto", "not beside a JSON schema: never sent both", ""),
        ("llama-server", "with_schema", "not beside", "ACC_ACE_OPENAI_TOOLS=native"),
        ("coder", "auto", "calls no tool by itself", ""),
        ("coder", "native", "calls no tool by itself", "ACC_ACE_OPENAI_TOOLS=written"),
        ("toolless", "auto", "calls no tool by itself", ""),
    ],
)
def test_endpoint_is_asked_whether_it_can_call_a_tool(
    kind: Kind, tools: str, says: str, fix: str
) -> None:
    with fake_openai(kind=kind) as endpoint:
        finding = check_tool_calls(at_endpoint(endpoint.base_url, tools))
    assert says in finding.detail
    assert fix in finding.fix
    assert (finding.status is Status.PROBLEM) is bool(fix)


def at_endpoint(url: str, tools: str = "auto") -> Settings:
    return Settings.model_validate(
        {"generator": {"model": "openai/x"}, "openai_base_url": url, "openai_tools": tools}
    )


@needs("openai_compatible")
def test_endpoint_that_does_not_answer_is_a_problem_with_its_address() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    finding = check_tool_calls(at_endpoint(url))
    assert _is_problem(finding, f"openai/x at {url} does not respond", "ACC_ACE_OPENAI_BASE_URL")


def test_data_directory_that_cannot_be_made_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert check_data_dir(Settings(data_dir=tmp_path / "new" / "data")).status is Status.OK
    assert not (tmp_path / "new").exists()
    finding = check_data_dir(Settings(data_dir=tmp_path / "file" / "data"))
    assert _is_problem(finding, "is not a folder", "ACC_ACE_DATA_DIR")


def test_directories_that_cannot_be_looked_at_are_found(tmp_path: Path) -> None:
    # As for a folder that this user may not enter, but for root too: no system can look at it.
    hidden = tmp_path / ("x" * 300) / "data"
    settings = Settings(data_dir=hidden, files_dir=hidden, agent_dir=hidden)
    assert _is_problem(check_data_dir(settings), "cannot be accessed", "ACC_ACE_DATA_DIR")
    assert check_disk(settings).status is Status.OK
    assert [finding.detail for finding in check_databases(settings)] == ["not created yet"]
    assert _is_problem(check_files_dir(settings), "cannot be accessed", "ACC_ACE_FILES_DIR")
    assert _is_problem(check_agent_dir(settings), "no acc_ace/agent.py", "ACC_ACE_AGENT_DIR")


def test_data_directory_below_a_folder_that_takes_nothing_is_found() -> None:
    finding = check_data_dir(Settings(data_dir=Path("/proc/acc-ace/data")))
    assert finding.status is Status.PROBLEM
    assert "ACC_ACE_DATA_DIR" in finding.fix


def test_looking_at_a_data_directory_leaves_nothing(tmp_path: Path) -> None:
    assert check_data_dir(Settings(data_dir=tmp_path / "data")).status is Status.OK
    assert list(tmp_path.iterdir()) == []


def test_memory_that_is_not_kept_is_noted() -> None:
    assert check_data_dir(Settings(store="memory")).status is Status.NOTE
    assert list(check_databases(Settings(store="memory"))) == []


def test_full_disk_is_found(tmp_path: Path) -> None:
    assert check_disk(Settings(data_dir=tmp_path)).status is Status.OK
    finding = check_disk(Settings(data_dir=tmp_path), enough=1 << 60)
    assert _is_problem(finding, "MiB free", "ACC_ACE_DATA_DIR")


def test_whole_database_is_ok_and_stays_as_it_is(tmp_path: Path) -> None:
    path = _database(tmp_path / "memory.db")
    before = path.read_bytes()
    [finding] = check_databases(Settings(data_dir=tmp_path))
    assert finding.status is Status.OK
    assert path.read_bytes() == before


def test_damaged_locked_and_newer_databases_are_found(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    path = tmp_path / "memory.db"
    path.write_bytes(b"not a database, however long it may be " * 100)
    [damaged] = check_databases(settings)
    assert _is_problem(damaged, "is damaged", "")
    path.unlink()
    _database(path, "PRAGMA user_version = 9999;")
    [newer] = check_databases(settings)
    assert _is_problem(newer, "schema version 9999", "upgrade")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        [locked] = check_databases(settings)
        assert _is_problem(locked, "is locked", "")


def test_a_database_that_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "memory.made").write_text("memory.db was in use here")
    [gone] = check_databases(Settings(data_dir=tmp_path))
    assert _is_problem(gone, "is gone, but was in use", "put it or a copy of it back")


def test_agent_and_files_folders_are_checked(tmp_path: Path) -> None:
    assert check_agent_dir(Settings()).status is Status.OK
    assert check_agent_dir(Settings(agent_dir=None)).status is Status.OK
    assert _is_problem(
        check_agent_dir(Settings(agent_dir=tmp_path)), "acc_ace/agent.py", "ACC_ACE_AGENT_DIR"
    )
    assert check_files_dir(Settings(files_dir=tmp_path)).status is Status.OK
    missing = check_files_dir(Settings(files_dir=tmp_path / "none"))
    assert _is_problem(missing, "is not a folder", "ACC_ACE_FILES_DIR")


@pytest.mark.parametrize(
    ("tool", "reported"),
    [("nonsense", "is not 'package.module:function'"), ("no.such.module:f", "was not found")],
)
def test_tools_that_cannot_be_found_are_told(tool: str, reported: str) -> None:
    [finding] = check_tools(Settings(tools=(tool,)))
    assert _is_problem(finding, reported, "ACC_ACE_TOOLS")


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("nope", "has no attribute 'nope'"),
        ("LIMIT", "is not a function"),
        ("host_status", ""),
    ],
)
def test_tools_are_loaded_as_the_start_loads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reported: str
) -> None:
    code = "LIMIT = 3\ndef host_status() -> str:\n    raise RuntimeError('called')\n"
    (tmp_path / "doctored_tools.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    [finding] = check_tools(Settings(tools=(f"doctored_tools:{name}",)))
    assert _is_problem(finding, reported, "ACC_ACE_TOOLS") is bool(reported)
    assert (finding.status is Status.OK) is not bool(reported)


def test_a_module_of_tools_that_fails_when_imported_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_tools.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    [finding] = check_tools(Settings(tools=("failing_tools:status",)))
    assert _is_problem(finding, "RuntimeError: no licence", "ACC_ACE_TOOLS")


@pytest.mark.parametrize(
    ("content", "reported"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("[]", "mcpServers"), ("{}", "mcpServers")],
)
def test_bad_mcp_files_are_found(tmp_path: Path, content: str | None, reported: str) -> None:
    path = tmp_path / "mcp.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert _is_problem(check_mcp(Settings(mcp_servers=path)), reported, "ACC_ACE_MCP_SERVERS")


def test_busy_port_and_open_address_are_found() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        busy = _one(check_address(Settings(port=server.getsockname()[1])), "port")
        assert _is_problem(busy, "is in use", "ACC_ACE_PORT")
    open_host = _one(check_address(Settings(host=str(IPv4Address(0)), port=0)), "host")
    assert _is_problem(open_host, "not a loopback address", "ACC_ACE_AUTH_TOKENS")
