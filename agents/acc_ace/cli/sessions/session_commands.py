"""`acc-ace sessions`, `state` and `rules`: the sessions of any app, outside of a chat."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from acc_ace.adk.turn_report import reported_constraints, reported_questions
from acc_ace.bootstrap import build_container
from acc_ace.cli.names import checked_name, find_session, require_app
from acc_ace.cli.output import Paragraphs, json_line, named_values, printable, stdout_console, when
from acc_ace.cli.prompt.rule_commands import (
    added_line,
    lifted_line,
    read_ids,
    read_rule,
    rules_view,
    settled_lines,
)
from acc_ace.cli.slash_commands import ccs_view, diff_view
from acc_ace.config import load_settings
from acc_ace.container import Container
from acc_ace.core.gates.commands import Pin
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.commit import CommittedState, JournalEntry, RuleScope
from acc_ace.errors import InputError, NotFoundError
from acc_ace.turn.rule_service import RuleService

T = TypeVar("T")

Sessions = Sequence[tuple[SessionKey, JournalEntry]]


def run_sessions(app: str, *, user: str | None, limit: int, as_json: bool) -> None:
    """List the sessions. Raises NotFoundError for an unknown app, or StoreError."""

    async def work(container: Container) -> Sessions:
        if user is None:
            return await container.journal.sessions_of_app(app, limit=limit)
        tenant = Tenant(app, checked_name(user, "--user"))
        page = await container.journal.sessions(tenant, limit=limit)
        return [(SessionKey(*tenant, name), entry) for name, entry in page]

    sessions = _with_app(app, work)
    if as_json:
        for key, entry in sessions:
            print(json_line({**key._asdict(), **_of(entry)}))
    else:
        stdout_console().print(_sessions_view(sessions))


def run_state(
    app: str, *, user: str | None, session: str | None, history: int | None, as_json: bool
) -> None:
    """Show the state, or the last versions. Raises NotFoundError or StoreError."""

    async def work(container: Container) -> tuple[SessionKey, Sequence[JournalEntry]]:
        key = await _existing(container, app, user, session)
        return key, await container.journal.history(key, limit=history or 1)

    key, entries = _with_app(app, work)
    if as_json:
        for entry in entries:
            ccs, diff = entry.state.ccs, entry.diff
            shown = {**_of(entry), "ccs": ccs.model_dump(mode="json")}
            print(json_line({**key._asdict(), **shown, "diff": diff.model_dump(mode="json")}))
        return
    views = [ccs_view(entries[0].state)] if history is None else map(diff_view, entries)
    stdout_console().print(Group(_title(key), *views))


def run_rules(
    app: str,
    *,
    user: str | None,
    session: str | None,
    pin: str | None,
    scope: Literal["session", "user"] | None,
    forget: str | None,
    answer: str | None,
    as_json: bool,
) -> None:
    """Show the rules, after the changes if any. Raises what RuleService raises."""
    if session is None and (pin or forget or answer):
        raise InputError("name the session to change: --session ID, and its --user")
    if scope is not None and pin is None:
        raise InputError("--scope goes with --pin TEXT")

    async def work(container: Container) -> tuple[SessionKey, list[str], CommittedState]:
        # A rule may be the first of a session; what is lifted or answered is of one that is there.
        find = _existing if pin is None else _named
        key, service = await find(container, app, user, session), RuleService(container)
        changed = await _changed(service, key, pin=pin, scope=scope, forget=forget, answer=answer)
        return key, changed, await service.state(key)

    key, changed, state = _with_app(app, work)
    if as_json:
        print(json_line({**key._asdict(), **_rules_of(state)}))
    else:
        paragraphs = (Paragraphs((line, "")) for line in changed)
        stdout_console().print(Group(_title(key), *paragraphs, rules_view(state)))


async def _changed(
    service: RuleService,
    key: SessionKey,
    *,
    pin: str | None,
    scope: Literal["session", "user"] | None,
    forget: str | None,
    answer: str | None,
) -> list[str]:
    """Change the rules; a line for each change."""
    lines: list[str] = []
    if pin is not None:
        wanted = read_rule(pin) if scope is None else Pin(pin, RuleScope(scope))
        lines.append(added_line(await service.pin(key, wanted.text, wanted.scope)))
    if forget is not None:
        lines += [lifted_line(await service.forget(key, each)) for each in read_ids(forget)]
    if answer is not None:
        question, _, word = answer.partition("=")
        if word not in {"yes", "no"}:
            raise InputError("answer a question by its id, as in --answer q-0001=yes or =no")
        before = await service.state(key)
        after = await service.answer(key, question.strip().lower(), yes=word == "yes")
        lines += settled_lines(before, after) or [f"{question} is settled; nothing was changed"]
    return lines


async def _named(
    container: Container, app: str, user: str | None, session: str | None
) -> SessionKey:
    return await find_session(container.journal, app, user, session)


async def _existing(
    container: Container, app: str, user: str | None, session: str | None
) -> SessionKey:
    key = await find_session(container.journal, app, user, session)
    if await container.journal.head(key) is None:
        raise NotFoundError(
            f"user '{key.user}' of app '{app}' has no session '{key.session}'; "
            f"`acc-ace sessions --app {app}` lists sessions with their users"
        )
    return key


def _with_app(app: str, work: Callable[[Container], Awaitable[T]]) -> T:
    """Run `work` over the stores, which know the app."""

    async def run() -> T:
        container = build_container(load_settings())
        try:
            await require_app(container.directory, app)
            return await work(container)
        finally:
            await container.close()

    return asyncio.run(run())


def _of(entry: JournalEntry) -> dict[str, Any]:
    """A journal entry in short."""
    state = entry.state
    return {
        "turn": state.turn,
        "version": state.version,
        "rules": len(state.pins),
        "questions": len(state.questions),
        "gist": state.ccs.semantic_gist,
        "updated_at": entry.created_at.isoformat(),
    }


def _rules_of(state: CommittedState) -> dict[str, Any]:
    reported: dict[str, Iterable[Any]] = {
        "constraints": reported_constraints(state.pins),
        "questions": reported_questions(state),
        "not_kept": state.not_kept,
    }
    return {
        name: [each.model_dump(mode="json") for each in all_] for name, all_ in reported.items()
    }


def _sessions_view(sessions: Sessions) -> RenderableType:
    if not sessions:
        return Text("no sessions yet", "dim")
    return named_values(
        (
            printable(key.session),
            Paragraphs(
                (entry.state.ccs.semantic_gist or "-", ""),
                (
                    f"user {key.user} · turn {entry.state.turn} · {len(entry.state.pins)} rules · "
                    f"{when(entry.created_at)}",
                    "dim",
                ),
            ),
        )
        for key, entry in sessions
    )


def _title(key: SessionKey) -> Text:
    return Text(printable(f"session {key.session} · user {key.user} · app {key.app}"), "dim")
