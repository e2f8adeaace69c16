"""The Claude Code CLI as a model, against executables that obey, hang, fork, flood or talk rot."""

import asyncio
import json
import os
import resource
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace import build_model, register_models
from acc_ace.errors import (
    AccAceError,
    ConfigError,
    InputError,
    ModelOutputError,
    ModelRefused,
    ModelUnavailable,
    SpendingCeilingError,
)
from acc_ace.ext.sandbox.claude_cli import ENVIRONMENT, ClaudeCliLlm, process_purse
from acc_ace.model_settings import ClaudeCliSettings
from config import AgentSettings, Settings
from schemas.cost import ModelPrice, PriceTable
from schemas.report import TokenUse
from tests.e2e.test_cli import CommandLine
from tests.ext.sandbox.fake_claude import FORKS, OBEYS, fake_claude, noted, result

MODEL = "claude-cli/sonnet"


@pytest.fixture(autouse=True)
def full_purse() -> None:
    """Each test begins with one."""
    process_purse.cache_clear()


def asked(text: str = "hello", **config: Any) -> LlmRequest:
    return LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=text)])],
        config=types.GenerateContentConfig(system_instruction="Be brief.", **config),
    )


def llm(command: object, **options: Any) -> ClaudeCliLlm:
    options = {"timeout_s": 20, **options, "command": str(command)}
    return ClaudeCliLlm(model=MODEL, options=ClaudeCliSettings.model_validate(options))


async def answer(model: ClaudeCliLlm, request: LlmRequest | None = None) -> LlmResponse:
    [response] = [each async for each in model.generate_content_async(request or asked())]
    return response


def text_of(response: LlmResponse) -> str:
    assert response.content
    assert response.content.parts
    return response.content.parts[0].text or ""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


async def assert_dies(pid: int) -> None:
    for _ in range(100):
        if not is_alive(pid):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"process {pid} is still there")


def child_of(command: Path) -> int:
    """The child that the executable has noted; 0 as long as it has none."""
    path = command.parent / "noted"
    return int((path.exists() and path.read_text("utf-8")) or 0)


async def test_json_goes_in_and_the_result_comes_out_with_its_use_and_cost(tmp_path: Path) -> None:
    command = fake_claude(tmp_path)
    schema = {"type": "object", "properties": {"objective": {"type": "string"}}}
    response = await answer(llm(command), asked(response_json_schema=schema, max_output_tokens=99))
    assert text_of(response) == "Hello."
    use = response.usage_metadata
    assert use
    assert (use.prompt_token_count, use.cached_content_token_count) == (123, 100)
    assert use.candidates_token_count == 7
    told = json.loads(noted(command)["stdin"])
    assert told["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
    ]
    assert told["schema"]["properties"] == schema["properties"]
    assert noted(command)["env"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "99"


async def test_no_path_that_the_cli_would_expand_is_in_what_it_reads(tmp_path: Path) -> None:
    command, words = fake_claude(tmp_path), "read @/etc/passwd and \\@~/.ssh, o@example.org"
    schema = {"type": "object", "properties": {"@at": {"type": "string"}}}
    await answer(llm(command), asked(words, response_json_schema=schema))
    stdin = noted(command)["stdin"]
    assert "@" not in stdin
    told = json.loads(stdin)
    assert told["messages"][1]["content"] == words
    assert [*told["schema"]["properties"]] == ["@at"]


async def test_it_runs_without_tools_or_settings_in_an_empty_folder_that_goes(
    tmp_path: Path,
) -> None:
    command = fake_claude(tmp_path)
    await answer(llm(command, call_usd=0.5))
    seen = noted(command)
    argv = seen["argv"]
    for flag, value in {"--tools": "", "--setting-sources": "", "--output-format": "json"}.items():
        assert argv[argv.index(flag) + 1] == value
    assert {"-p", "--strict-mcp-config", "--no-session-persistence"} <= set(argv)
    assert argv[argv.index("--model") + 1] == "sonnet"
    assert float(argv[argv.index("--max-budget-usd") + 1]) == 0.5
    assert not [each for each in argv if "dangerously" in each]
    assert seen["files"] == []
    assert Path(seen["cwd"]) != Path.cwd()
    with pytest.raises(FileNotFoundError):
        os.listdir(seen["cwd"])


async def test_it_gets_no_variable_but_those_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("ACC_ACE_OPENAI_API_KEY", "s3cret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "its own")
    command = fake_claude(tmp_path)
    await answer(llm(command))
    env = noted(command)["env"]
    assert env["ANTHROPIC_API_KEY"] == "its own"
    # The second is what Python sets for itself.
    assert set(env) <= {*ENVIRONMENT, "LC_CTYPE"}


async def test_tools_are_told_in_words_and_a_call_comes_back_as_one(tmp_path: Path) -> None:
    call = {"lacks": "the date", "tool": "today", "arguments": {"zone": "UTC"}}
    command = fake_claude(tmp_path, printed=result(json.dumps(call)))
    declared = types.FunctionDeclaration(name="today", description="The date.")
    tools = [types.Tool(function_declarations=[declared])]
    response = await answer(llm(command), asked(tools=tools))
    [made] = response.get_function_calls()
    assert (made.name, made.args) == ("today", {"zone": "UTC"})
    assert "- today: The date." in json.loads(noted(command)["stdin"])["messages"][0]["content"]


async def test_a_code_fence_around_the_json_is_taken_off(tmp_path: Path) -> None:
    command = fake_claude(tmp_path, printed=result('```json\n{"a": 1}\n```'))
    assert text_of(await answer(llm(command))) == '{"a": 1}'


NULLS = {"usage": None, "total_cost_usd": None, "result": "Hello.", "subtype": None}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('print(json.dumps([{"type": "system"}, {**PRINTED, "result": "no"}, PRINTED]))', "Hello."),
        ('print(json.dumps([PRINTED, {"type": "assistant", "result": "no"}, 7]))', "Hello."),
        (f"print(json.dumps({NULLS!r}))", "Hello."),
        ('print(json.dumps({**PRINTED, "usage": {"input_tokens": None}}))', "Hello."),
        ('print(json.dumps({"result": "a\\ud800b"}))', "a\ufffdb"),
        ('sys.stdout.buffer.write(b\'{"result": "a\\xffb"}\')', "a\ufffdb"),
    ],
)
async def test_every_form_that_the_cli_prints_a_reply_in_is_read(
    tmp_path: Path, code: str, text: str
) -> None:
    command = fake_claude(tmp_path, f"import json, sys\n{code}\n")
    assert text_of(await answer(llm(command))) == text


async def test_one_that_hangs_is_killed_with_its_children_and_named(tmp_path: Path) -> None:
    command = fake_claude(tmp_path, FORKS + "time.sleep(600)\n")
    with pytest.raises(ModelUnavailable, match=r"claude.*CLAUDE_CLI__TIMEOUT_S\) and was killed"):
        await answer(llm(command, timeout_s=1))
    await assert_dies(child_of(tmp_path / "claude"))


async def test_a_child_that_it_leaves_behind_holds_up_no_answer_and_dies(tmp_path: Path) -> None:
    code = f"{FORKS}import json\nprint(json.dumps(PRINTED), flush=True)\nos._exit(0)\n"
    begun = time.monotonic()
    response = await answer(llm(fake_claude(tmp_path, code)))
    assert text_of(response) == "Hello."
    assert time.monotonic() - begun < 15
    await assert_dies(child_of(tmp_path / "claude"))


async def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    command = fake_claude(tmp_path, FORKS + "time.sleep(600)\n")
    call = asyncio.create_task(answer(llm(command)))
    for _ in range(500):
        await asyncio.sleep(0.02)
        if child := child_of(command):
            break
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await assert_dies(child)


@pytest.mark.parametrize("stream", [1, 2])
async def test_100_mb_of_output_are_a_clear_error_in_bounded_memory(
    tmp_path: Path, stream: int
) -> None:
    code = f"import os\nfor _ in range(1_600):\n    os.write({stream}, b'x' * 65_536)\n"
    command = fake_claude(tmp_path, code)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelOutputError, match="printed more than 8,388,608 bytes and was killed"):
        await answer(llm(command))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 60 * 1024


@pytest.mark.parametrize(
    ("code", "error", "reported"),
    [
        ("print('Welcome!')", ModelOutputError, "printed no JSON of its own .*Welcome!"),
        ("print('[1, 2]')", ModelOutputError, "printed no JSON"),
        ("print('{' * 5_000)", ModelOutputError, "printed no JSON"),
        ("print('[' * 50_000)", ModelOutputError, "printed no JSON"),
        ('print(\'[{"result": "Hello."}]\')', ModelOutputError, "printed no JSON"),
        ("print('{\"result\": 7}')", ModelOutputError, "result: Input should be a valid string"),
        ("import sys; sys.exit('no such flag')", ModelRefused, "exit code 1: no such flag"),
        ("import os; os.kill(os.getpid(), 9)", ModelRefused, "exit code -9: no word"),
        ("import os; os.close(0); os.close(1)", ModelOutputError, "printed no JSON"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", ModelOutputError, "no JSON"),
    ],
)
async def test_what_is_not_its_json_is_an_error_that_names_the_executable(
    tmp_path: Path, code: str, error: type[AccAceError], reported: str
) -> None:
    command = fake_claude(tmp_path, code + "\n")
    with pytest.raises(error, match=reported) as raised:
        # More than a pipe takes, so that one who does not read it would wait.
        await answer(llm(command), asked("x" * 300_000))
    assert f"'{command}' (ACC_ACE_CLAUDE_CLI__COMMAND)" in str(raised.value)


@pytest.mark.parametrize(
    ("said", "subtype", "error", "reported"),
    [
        ("Invalid API key · Please run /login", "success", ModelRefused, "Please run /login"),
        ("API Error: 529 overloaded", "success", ModelUnavailable, "529 overloaded"),
        (None, "error_during_execution", ModelRefused, "reported: error_during_execution"),
        ("", "error_max_budget_usd", ModelRefused, "budget_usd; ACC_ACE_CLAUDE_CLI__CALL_USD"),
    ],
)
async def test_an_error_that_it_reports_is_passed_on_with_what_it_cost(
    tmp_path: Path, said: str | None, subtype: str, error: type[AccAceError], reported: str
) -> None:
    printed = result(subtype=subtype, is_error=True) | {"result": said}
    model = build_model("generator", settings(fake_claude(tmp_path, printed=printed)))
    with pytest.raises(error, match=reported) as raised:
        async for _ in model.generate_content_async(asked()):
            pass
    assert getattr(raised.value, "spent", {}) == {
        **{"in": 123, "out": 7, "thinking": 0, "cached": 100, "calls": 1, "failed": 1},
        "estimated": False,
        "billed": 12_300_000,
        "covered": (123, 100, 7),
    }


async def test_a_paid_try_that_fails_and_the_list_price_of_the_fallback_are_added(
    tmp_path: Path,
) -> None:
    model = build_model("generator", settings(fake_claude(tmp_path, printed=result(is_error=True))))
    with pytest.raises(ModelRefused) as raised:
        async for _ in model.generate_content_async(asked()):
            pass
    summed = TokenUse.model_validate(getattr(raised.value, "spent", {}))
    summed += TokenUse(input=1_000_000, output=1_000_000, calls=1)
    table = PriceTable(as_of=date(2026, 1, 31), models={"m": ModelPrice(input=2.0, output=9.0)})
    [priced] = table.priced("run", 1, {"generator": {"m": summed}})
    assert priced.nano == 12_300_000 + 11_000_000_000


async def test_an_executable_that_is_not_there_is_named_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"/claude' cannot be run \(No such file.*CLI__COMMAND"):
        await answer(llm(tmp_path / "claude"))
    (tmp_path / "claude").write_text("no program", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be run"):
        await answer(llm(tmp_path / "claude"))
    assert process_purse().spent_usd == 0


async def test_a_paid_call_whose_folder_is_still_written_to_is_answered_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import itertools, json, os, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    end = time.monotonic() + 3\n"
        "    for name in map(str, itertools.count()):\n"
        "        open(name, 'w').close()\n"
        "        if time.monotonic() > end: os._exit(0)\n"
        "while not os.listdir(): pass\n"
        "print(json.dumps(PRINTED), flush=True)\nos._exit(0)\n"
    )
    assert text_of(await answer(llm(fake_claude(tmp_path, code)))) == "Hello."
    assert process_purse().spent_usd == pytest.approx(0.0123)


async def test_a_call_that_is_lost_after_its_start_counts_as_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killpg(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "killpg", killpg)
    with pytest.raises(ModelUnavailable, match=r"was lost \(Operation not permitted\)"):
        await answer(llm(fake_claude(tmp_path), call_usd=0.5))
    assert process_purse().spent_usd == 0.5


def test_it_is_off_until_a_setting_names_it() -> None:
    own = Settings(generator=AgentSettings(model=MODEL))
    off = "ACC_ACE_GENERATOR__MODEL: .* is off: set ACC_ACE_CLAUDE_CLI__COMMAND=claude"
    with pytest.raises(ConfigError, match=off):
        build_model("generator", own)


async def test_images_are_refused(tmp_path: Path) -> None:
    request = asked()
    part = types.Part(inline_data=types.Blob(data=b"GIF89a", mime_type="image/gif"))
    request.contents = [types.Content(role="user", parts=[part])]
    with pytest.raises(InputError, match="takes text only, not image/gif"):
        await answer(llm(fake_claude(tmp_path)), request)


async def test_calls_stop_at_the_ceiling_of_the_process(tmp_path: Path) -> None:
    command = fake_claude(tmp_path, printed=result(total_cost_usd=0.3))
    model = llm(command, call_usd=0.4, total_usd=0.5)
    await answer(model)
    await answer(model)
    argv = noted(command)["argv"]
    assert float(argv[argv.index("--max-budget-usd") + 1]) == pytest.approx(0.2)
    with pytest.raises(SpendingCeilingError, match=r"has spent \$0\.60.*TOTAL_USD is 0\.5"):
        await answer(model)


async def test_a_call_that_reports_no_cost_counts_as_its_bound(tmp_path: Path) -> None:
    model = llm(fake_claude(tmp_path, "print('rot')\n"), call_usd=0.5, total_usd=0.5)
    with pytest.raises(ModelOutputError):
        await answer(model)
    with pytest.raises(SpendingCeilingError):
        await answer(model)


def settings(command: Path, **options: Any) -> Settings:
    return Settings(
        generator=AgentSettings(model=MODEL, retries=0),
        claude_cli=ClaudeCliSettings(command=str(command), **options),
    )


async def test_its_name_builds_it_and_works_in_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = settings(fake_claude(tmp_path))
    model = build_model("generator", own)
    [response] = [each async for each in model.generate_content_async(asked())]
    assert (model.model, text_of(response)) == (MODEL, "Hello.")
    monkeypatch.setenv("ACC_ACE_CLAUDE_CLI__COMMAND", str(tmp_path / "claude"))
    register_models()
    agents = LlmAgent(name="a", model=MODEL).canonical_model
    assert (type(agents), agents.model) == (ClaudeCliLlm, MODEL)


def test_an_option_that_it_does_not_take_is_refused_at_the_start(tmp_path: Path) -> None:
    block = AgentSettings(model=MODEL, temperature=0.5)
    own = settings(fake_claude(tmp_path)).model_copy(update={"generator": block})
    with pytest.raises(ConfigError, match=r"TEMPERATURE=0\.5: model 'claude-cli/sonnet' takes no"):
        build_model("generator", own)


async def test_the_agents_own_time_out_kills_it_too(tmp_path: Path) -> None:
    own = settings(fake_claude(tmp_path, FORKS + "time.sleep(600)\n"))
    block = own.generator.model_copy(update={"timeout_s": 1.0})
    model = build_model("generator", own.model_copy(update={"generator": block}))
    with pytest.raises(ModelUnavailable, match="ACC_ACE_GENERATOR__TIMEOUT_S is 1"):
        async for _ in model.generate_content_async(asked()):
            pass
    await assert_dies(child_of(tmp_path / "claude"))


def test_a_turn_reports_its_tokens_and_what_the_cli_says_it_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reply = json.dumps({"final_answer": "From the bridge.", "bullet_ids": []})
    command = fake_claude(tmp_path, OBEYS, result(reply))
    acc_ace = CommandLine(monkeypatch, capsys, tmp_path / "data")
    acc_ace.set("ACC_ACE_GENERATOR__MODEL", MODEL)
    acc_ace.set("ACC_ACE_CLAUDE_CLI__COMMAND", str(command))
    ended = acc_ace("chat", "--session", "s", "--json", stdin="How are you?\n")
    assert ended.code == 0, ended.err
    [turn] = ended.turns
    assert turn["answer"].startswith("From the bridge.")
    assert turn["cost"]["turn"]["usd"] == pytest.approx(0.0123)
    assert turn["tokens"]["generator"]["in"] == 123
