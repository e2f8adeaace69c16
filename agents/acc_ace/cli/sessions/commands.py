"""The options of `acc-ace cost`, `sessions`, `state` and `rules`; what they do is imported late."""

from typing import Annotated, Literal

import typer

from acc_ace.cli.options import APP_NAME, App

app = typer.Typer(rich_markup_mode=None)

_Owner = Annotated[
    str | None,
    typer.Option(help="User of the session (default: 'user'; without a session, the latest's)."),
]
_Session = Annotated[
    str | None, typer.Option("--session", help="Session (default: the latest one).")
]
_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


@app.command()
def cost(
    session: Annotated[
        str | None, typer.Argument(help="Session to explain (default: the latest one).")
    ] = None,
    *,
    app_name: App = APP_NAME,
    user: _Owner = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Newest turns to list.")] = 20,
    as_json: _Json = False,
) -> None:
    """Explain what a session cost, by stage and by turn, and what replay would have cost."""
    from acc_ace.cli.sessions.explain_cost import run_cost  # noqa: PLC0415 — keeps --help quick

    run_cost(session, app=app_name, user=user, limit=limit, as_json=as_json)


@app.command()
def sessions(
    *,
    app_name: App = APP_NAME,
    user: Annotated[str | None, typer.Option(help="Only this user's sessions.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Newest sessions to list.")] = 20,
    as_json: _Json = False,
) -> None:
    """List the sessions of an app, most recently changed first."""
    from acc_ace.cli.sessions.session_commands import run_sessions  # noqa: PLC0415 — keeps --help quick

    run_sessions(app_name, user=user, limit=limit, as_json=as_json)


@app.command()
def state(
    *,
    app_name: App = APP_NAME,
    user: _Owner = None,
    session: _Session = None,
    history: Annotated[
        int | None,
        typer.Option(min=1, max=200, metavar="N", help="List what the last N versions changed."),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Show the compressed state of a session, or what changed it."""
    from acc_ace.cli.sessions.session_commands import run_state  # noqa: PLC0415 — keeps --help quick

    run_state(app_name, user=user, session=session, history=history, as_json=as_json)


@app.command()
def rules(
    *,
    app_name: App = APP_NAME,
    user: _Owner = None,
    session: _Session = None,
    pin: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Make a rule; 'always TEXT' for every session."),
    ] = None,
    scope: Annotated[
        Literal["session", "user"] | None,
        typer.Option(help="With --pin: make TEXT, as it is, a rule of the session or the user."),
    ] = None,
    forget: Annotated[str | None, typer.Option(metavar="ID", help="Lift a rule.")] = None,
    answer: Annotated[
        str | None, typer.Option(metavar="ID=yes|no", help="Answer an open question.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Show and change the rules of a session."""
    from acc_ace.cli.sessions.session_commands import run_rules  # noqa: PLC0415 — keeps --help quick

    run_rules(
        app_name,
        user=user,
        session=session,
        pin=pin,
        scope=scope,
        forget=forget,
        answer=answer,
        as_json=as_json,
    )
