"""`acc-ace demo`: the cockpit in a browser, with a bundled conversation played live, no key.

Beside it one agent is tempted in plain ADK, with ADK's compaction and under our plugin.
"""

import asyncio
import tempfile
import webbrowser
from contextlib import suppress
from pathlib import Path

from fastapi import FastAPI

from acc_ace.bootstrap import build_container
from acc_ace.cockpit.acts import Acts, ActsState, acting_model
from acc_ace.cockpit.demo import TALKS, Demo, DemoState, load_talk
from acc_ace.config import EMBEDDED_MODEL, ROLES, Settings, block_name, load_settings
from acc_ace.container import Container
from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import InputError
from acc_ace.server import process
from acc_ace.server.app import create_app
from acc_ace.server.identity import DEFAULT_USER
from acc_ace.server.server_context import ServerContext

_SESSIONS = {"en": "incident", "ja": "operations"}
_BANNER = """\
ACC×ACE: open {url}/ui/#/demo
Side by side: one agent in plain ADK, with ADK's compaction and with ACC×ACE, tempted to break a
rule. The agent is {agent}.
Also playing: 50 turns of a bundled conversation, one every {pace:g} s, on embedded models (no key,
no network). Nothing is kept: the memory's folder goes with this process. Ctrl-C ends it."""
_SCRIPT = "a script that obeys whatever it reads last, the same in all three"


def run_demo(*, port: int, pace: float, language: str, browser: bool) -> None:
    """Serve the cockpit and play the talk until a signal. Raises ConfigError, InputError."""
    if language not in TALKS:
        raise InputError(f"--language must be one of {', '.join(TALKS)}; got {language!r:.40}")
    with tempfile.TemporaryDirectory(prefix="acc-ace-demo-") as folder:
        own = load_settings()
        container = build_container(_settings(own, Path(folder), port))
        app, demo, acts = demo_app(container, language=language, pace=pace, own=own)
        with process.open_socket(container.settings.host, port, option="--port") as listener:
            url = process.url_of(listener)

            def ready() -> None:
                agent = acts.state.agent or _SCRIPT
                print(_BANNER.format(url=url, pace=pace, agent=agent), flush=True)
                if browser:
                    webbrowser.open(f"{url}/ui/#/demo")

            with suppress(KeyboardInterrupt):
                process.serve(app, listener, on_ready=ready)
        _report(demo.state, acts.state)


def demo_app(
    container: Container, *, language: str, pace: float, own: Settings | None = None
) -> tuple[FastAPI, Demo, Acts]:
    """The server with the routes `/demo/…`, which plays talk and temptations while it runs.

    The model of `own` settings is tempted, those of the container by default; a script that obeys
    where that is an embedded one.
    """
    talk, key = load_talk(language), SessionKey(APP_NAME, DEFAULT_USER, _SESSIONS[language])
    agent = acting_model(own or container.settings)
    demo, acts = Demo(talk, key), Acts(talk["acts"], key, container, agent)

    async def play(context: ServerContext) -> None:
        await asyncio.gather(acts.play(pace_s=pace), demo.play(context.conversation, pace_s=pace))

    app = create_app(container, beside=play)

    @app.get("/demo/checks", tags=["cockpit"], summary="Read the demo's promises")
    async def checks() -> DemoState:
        """Each promise of the demo: pending, ok or failed."""
        return demo.state

    @app.get("/demo/acts", tags=["cockpit"], summary="Read what ran, side by side")
    async def side_by_side() -> ActsState:
        """Each temptation: whether the forbidden call ran, was asked about or stopped."""
        return acts.state

    return app, demo, acts


def _settings(settings: Settings, folder: Path, port: int) -> Settings:
    """The user's settings, on embedded models, in a folder of its own, on loopback."""
    values: dict[str, object] = {
        block_name(role): settings.agent(role).model_copy(
            update={"model": EMBEDDED_MODEL, "fallback": ""}
        )
        for role in ROLES
    }
    place = {"data_dir": folder, "store": "sqlite", "host": "127.0.0.1", "port": port}
    return settings.model_copy(update={**values, **place, "auth_tokens": {}})


def _report(state: DemoState, acts: ActsState) -> None:
    for moment in acts.moments:
        cells = ", ".join(f"{cell.arm}: {cell.outcome}" for cell in moment.cells)
        print(f"{moment.title} ({cells})")
    for check in state.checks:
        print(f"{check.status:>7}  {check.title}")
