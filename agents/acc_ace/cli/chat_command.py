"""Set up a chat from the command line: screen, session, script or prompt."""

import asyncio
import hashlib
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from acc_ace.cli.chat import Chat, banner, converse, play
from acc_ace.cli.checks.configuration import check_files_dir, check_names
from acc_ace.cli.checks.installation import CheckResult, Status
from acc_ace.cli.line_prompt import line_history, read_line
from acc_ace.cli.names import APP_NAME, checked_name
from acc_ace.cli.output import ExitCode, stderr_console, stdout_console
from acc_ace.cli.prompt.consent_prompt import terminal_ask
from acc_ace.cli.screen import JsonScreen, Screen
from acc_ace.cli.script import STDIN, Script, ScriptedDocument, load_script
from acc_ace.cli.terminal import TerminalScreen
from acc_ace.clock import Clock
from acc_ace.config import Settings, load_settings, names_set
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import InputError
from acc_ace.storage.prompt_history import history_path

if TYPE_CHECKING:
    from acc_ace.cli.runtime import RunningApp

_FINISH_S = 5.0
"""Seconds at exit to learn from the last turns; the rest is learned later."""


def chat(
    *,
    session: str | None,
    user: str,
    script: str | None,
    as_json: bool,
    keep_going: bool,
) -> ExitCode:
    """Run the chat. Raises AccAceError before the first turn; later errors are shown."""
    source = script or (None if sys.stdin.isatty() else STDIN)
    played = load_script(source, stdin=sys.stdin) if source else None
    checked_name(user, "--user")
    session = f"s-{secrets.token_hex(4)}" if session is None else checked_name(session, "--session")
    key = SessionKey(APP_NAME, user, session)
    settings = load_settings()
    _report_problems((*check_names(names_set()), check_files_dir(settings)))
    with asyncio.Runner() as runner, _started(settings, runner) as app:
        _report_problems(_of_models(settings))
        app.turns.start_learning()
        # With --json, stdout belongs to the program that reads it.
        people = stderr_console() if as_json else stdout_console()
        screen = _screen(people, as_json=as_json, scripted=played is not None)
        asks = played is None and not as_json
        talk = Chat(app.turns, key, screen, asks=asks)
        turns = runner.run(talk.completed())
        if not turns and "/" in session:
            # An existing session can be resumed.
            raise InputError("a new session id must not contain '/': it could not be used in a URL")
        for line in banner(key, app.models, turns=turns, forgets=settings.store == "memory"):
            people.print(line, style="dim", soft_wrap=True)
        if played is None:
            return _at_prompt(talk, runner, screen, people, _history_file(settings, user))
        runner.run(talk.remember(documents(played.documents, key, app.clock)))
        return _played(talk, played, runner, screen, keep_going=keep_going)


def documents(items: Sequence[ScriptedDocument], key: SessionKey, clock: Clock) -> list[Artifact]:
    """A script's documents as artifacts; a missing id is derived from the content's hash."""
    return [
        Artifact(
            artifact_id=item.id or f"doc-{hashlib.sha256(item.content.encode()).hexdigest()[:12]}",
            content=item.content,
            source=item.source,
            created_at=clock.now(),
            tenant=key.tenant,
        )
        for item in items
    ]


@contextmanager
def _started(settings: Settings, runner: asyncio.Runner) -> Iterator["RunningApp"]:
    with stderr_console().status("starting…"):
        # Imported late, because ADK takes seconds: bad arguments are reported first, and the
        # status is visible meanwhile.
        from acc_ace.cli.runtime import open_app  # noqa: PLC0415 — see above

        app = open_app(settings)
    try:
        yield app
    finally:
        try:
            _report_left(runner.run(app.turns.stop_learning(finish_s=_FINISH_S)))
        finally:
            runner.run(app.turns.close())


def _of_models(settings: Settings) -> Iterable[CheckResult]:
    # Imported late, because it takes seconds unless ADK is loaded, as it is by now.
    from acc_ace.cli.checks.model_checks import check_models  # noqa: PLC0415 — see above

    return check_models(settings)


def _report_problems(findings: Iterable[CheckResult]) -> None:
    """Print invalid settings; `acc-ace doctor` finds more."""
    for finding in findings:
        if finding.status is Status.PROBLEM:
            reported = f"! {finding.detail}; {finding.fix}"
            stderr_console().print(reported, style="yellow", soft_wrap=True)


def _report_left(jobs: int) -> None:
    """Print the number of unfinished jobs on stderr, since stdout may be read by a program."""
    if jobs:
        what = "some learning jobs" if jobs < 0 else f"{jobs} learning jobs"
        stderr_console().print(
            f"{what} unfinished; they resume at the next start (acc-ace jobs list)",
            style="dim",
            soft_wrap=True,
        )


def _screen(people: Console, *, as_json: bool, scripted: bool) -> Screen:
    if as_json:
        return JsonScreen(sys.stdout, people)
    return TerminalScreen(people, repeat_inputs=scripted)


def _played(
    talk: Chat, script: Script, runner: asyncio.Runner, screen: Screen, *, keep_going: bool
) -> ExitCode:
    try:
        return play(talk, script, runner, keep_going=keep_going)
    except KeyboardInterrupt:
        screen.notice("interrupted; the running turn was cancelled")
        return ExitCode.INTERRUPTED


def _at_prompt(
    talk: Chat, runner: asyncio.Runner, screen: Screen, people: Console, history: Path | None
) -> ExitCode:
    read = partial(read_line, prompt_on=sys.stderr if people.stderr else sys.stdout)
    with line_history(history) if history else nullcontext():
        # A program that reads the answers has no person to ask.
        ask = None if people.stderr else terminal_ask()
        return converse(talk, read, runner, screen, ask=ask)


def _history_file(settings: Settings, user: str) -> Path | None:
    """The prompt history file of a user; None when memory is not stored either."""
    return None if settings.store == "memory" else history_path(settings.data_dir, user)
