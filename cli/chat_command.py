"""Put a chat together from the command line: screen, session, script or prompt."""

import asyncio
import hashlib
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from cli.banner import DEFAULT_USER, ModelUse, banner, resume_command
from cli.chat import Chat, converse, play
from cli.failure import ExitCode
from cli.output import stderr_console, stdout_console
from cli.prompt import history_path, line_history, read_line
from cli.screen import JsonScreen, Screen
from cli.script import STDIN, ScriptedDocument, load_script
from cli.terminal import TerminalScreen
from config import Settings, load_settings
from core.errors import InputError
from core.ports.clock import Clock
from schemas.artifact import Artifact
from schemas.tenancy import SessionKey

if TYPE_CHECKING:
    from cli.opening import Opened

APP_NAME = "acc_ace"
MAX_NAME = 128
"""Characters of a user or session id."""


@dataclass(frozen=True)
class ChatOptions:
    """The options of `acc-ace chat`."""

    session: str | None = None
    user: str = DEFAULT_USER
    script: str | None = None
    as_json: bool = False
    keep_going: bool = False


def chat(
    options: ChatOptions, *, new_id: Callable[[], str] = lambda: f"s-{secrets.token_hex(4)}"
) -> ExitCode:
    """Run the chat. Raises AccAceError before the first turn; later ones are shown."""
    source = options.script or (None if sys.stdin.isatty() else STDIN)
    script = load_script(source, stdin=sys.stdin) if source else None
    key = SessionKey(
        APP_NAME,
        checked_name(options.user, "--user"),
        checked_name(new_id() if options.session is None else options.session, "--session"),
    )
    settings = load_settings()
    with asyncio.Runner() as runner, _started(settings, runner) as app:
        screen = _screen(options, scripted=script is not None)
        talk = Chat(app.turns, key, screen)
        _greet(options, settings, app.models, key, turns=runner.run(talk.completed()))
        if script is None:
            return _at_prompt(talk, key, settings, runner, screen)
        runner.run(talk.remember(documents(script.documents, key, app.clock)))
        return play(talk, script, runner, keep_going=options.keep_going)


def checked_name(name: str, option: str) -> str:
    """A user or session id that can be stored and printed; raises InputError."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InputError(f"{option} must be 1 to {MAX_NAME} printable characters; got {name!r:.40}")
    return name


def documents(items: Sequence[ScriptedDocument], key: SessionKey, clock: Clock) -> list[Artifact]:
    """Artifacts of a script's documents; one without an id is named after its content."""
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
def _started(settings: Settings, runner: asyncio.Runner) -> Iterator["Opened"]:
    with stderr_console().status("starting…"):
        # Imported here, because ADK takes seconds: bad arguments are told before, and a person
        # sees that something happens.
        from cli.opening import open_app  # noqa: PLC0415 — see above

        app = open_app(settings)
    try:
        yield app
    finally:
        runner.run(app.turns.close())


def _screen(options: ChatOptions, *, scripted: bool) -> Screen:
    if options.as_json:
        return JsonScreen(sys.stdout, stderr_console())
    return TerminalScreen(stdout_console(), repeat_inputs=scripted)


def _greet(
    options: ChatOptions,
    settings: Settings,
    models: Sequence[ModelUse],
    key: SessionKey,
    *,
    turns: int,
) -> None:
    console: Console = stderr_console() if options.as_json else stdout_console()
    for line in banner(key, models, turns=turns, forgets=settings.store == "memory"):
        console.print(line, style="dim", soft_wrap=True)


def _at_prompt(
    talk: Chat, key: SessionKey, settings: Settings, runner: asyncio.Runner, screen: Screen
) -> ExitCode:
    kept = settings.store != "memory"
    history = line_history(history_path(settings.data_dir, key.user)) if kept else nullcontext()
    with history:
        code = converse(talk, read_line, runner, screen)
    if kept:
        screen.notice(f"resume: {resume_command(key)}")
    return code
