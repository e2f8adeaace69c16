"""`acc-ace doctor`: run every check and suggest a fix for each finding."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from acc_ace.cli.checks.compressor_belief import check_belief
from acc_ace.cli.checks.configuration import (
    check_address,
    check_agent_dir,
    check_files_dir,
    check_mcp,
    check_names,
    check_tools,
)
from acc_ace.cli.checks.installation import (
    CheckResult,
    Status,
    check_adk,
    check_python,
    check_sqlite,
    ok,
    problem,
)
from acc_ace.cli.checks.model_checks import (
    check_embedder,
    check_gemini_answers,
    check_guard,
    check_keys,
    check_models,
    check_tool_calls,
)
from acc_ace.cli.checks.playbook_room import check_playbooks
from acc_ace.cli.checks.price_age import check_prices
from acc_ace.cli.checks.storage import check_data_dir, check_databases, check_disk
from acc_ace.cli.output import ExitCode, Paragraphs, json_line, stdout_console
from acc_ace.clock import SystemClock
from acc_ace.config import Settings, load_settings, names_set
from acc_ace.errors import ConfigError

_STYLE = {Status.OK: "green", Status.NOTE: "yellow", Status.PROBLEM: "red"}


def run_doctor(*, as_json: bool, online: bool) -> ExitCode:
    """Print the findings; exit code 1 if any is a problem (notes are not), else 0."""
    findings = tuple(examine(online=online))
    problems = sum(finding.status is Status.PROBLEM for finding in findings)
    if as_json:
        print(json_line({"ok": not problems, "findings": [asdict(item) for item in findings]}))
    else:
        _print(findings, problems, stdout_console())
    return ExitCode.FAILED if problems else ExitCode.OK


def examine(*, online: bool) -> Iterator[CheckResult]:
    """All findings, in the order in which to fix them."""
    yield check_python()
    yield check_adk()
    yield check_sqlite()
    try:
        yield from check_names(names_set())
        settings = load_settings()
    except ConfigError as error:
        yield problem("settings", str(error), "fix it; checks that need settings were skipped")
        return
    yield ok("settings", "valid")
    yield from _with_settings(settings, online=online)


def _with_settings(settings: Settings, *, online: bool) -> Iterable[CheckResult]:
    yield check_agent_dir(settings)
    yield check_data_dir(settings)
    yield check_disk(settings)
    yield from check_databases(settings)
    yield from check_playbooks(settings)
    yield from check_keys(settings)
    yield from check_models(settings)
    yield from check_belief(settings)
    yield check_guard(settings)
    yield check_embedder(settings)
    yield check_prices(settings, SystemClock())
    if online:
        yield from check_gemini_answers(settings)
        yield check_tool_calls(settings)
    yield check_files_dir(settings)
    yield from check_tools(settings)
    yield check_mcp(settings)
    yield from check_address(settings)


def _print(findings: Sequence[CheckResult], problems: int, console: Console) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for item in findings:
        reported = [(item.detail, "")] + ([(f"fix: {item.fix}", "bold")] if item.fix else [])
        table.add_row(
            Text(item.status.value, style=_STYLE[item.status]), item.check, Paragraphs(*reported)
        )
    console.print(table)
    console.print("no problems found" if not problems else f"{problems} to fix")
