"""`acc-ace demo`: the cockpit in a browser, with a bundled conversation played live, no key."""

import tempfile
import webbrowser
from contextlib import suppress
from pathlib import Path

from fastapi import FastAPI

from acc_ace.bootstrap import build_container
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
ACC×ACE cockpit: {url}/ui/#/demo
Playing 50 turns of a bundled conversation, one every {pace:g} s, on embedded models (no key, no
network). Nothing is kept: the memory is in a folder that goes with this process. Ctrl-C ends it."""


def run_demo(*, port: int, pace: float, language: str, browser: bool) -> None:
    """Serve the cockpit and play the talk until a signal. Raises ConfigError, InputError."""
    if language not in TALKS:
        raise InputError(f"--language must be one of {', '.join(TALKS)}; got {language!r:.40}")
    with tempfile.TemporaryDirectory(prefix="acc-ace-demo-") as folder:
        container = build_container(_settings(Path(folder), port))
        app, demo = demo_app(container, language=language, pace=pace)
        with process.open_socket(container.settings.host, port, option="--port") as listener:
            url = process.url_of(listener)

            def ready() -> None:
                print(_BANNER.format(url=url, pace=pace), flush=True)
                if browser:
                    webbrowser.open(f"{url}/ui/#/demo")

            with suppress(KeyboardInterrupt):
                process.serve(app, listener, on_ready=ready)
        _report(demo.state)


def demo_app(container: Container, *, language: str, pace: float) -> tuple[FastAPI, Demo]:
    """The server with the route `/demo/checks`, which plays the talk while it runs."""
    demo = Demo(load_talk(language), SessionKey(APP_NAME, DEFAULT_USER, _SESSIONS[language]))

    async def play(context: ServerContext) -> None:
        await demo.play(context.conversation, pace_s=pace)

    app = create_app(container, beside=play)

    @app.get("/demo/checks", tags=["cockpit"], summary="Read the demo's promises")
    async def checks() -> DemoState:
        """Each promise of the demo: pending, ok or failed."""
        return demo.state

    return app, demo


def _settings(folder: Path, port: int) -> Settings:
    """The user's settings, on embedded models, in a folder of its own, on loopback."""
    settings = load_settings()
    values: dict[str, object] = {
        block_name(role): settings.agent(role).model_copy(
            update={"model": EMBEDDED_MODEL, "fallback": ""}
        )
        for role in ROLES
    }
    own = {"data_dir": folder, "store": "sqlite", "host": "127.0.0.1", "port": port}
    return settings.model_copy(update={**values, **own, "auth_tokens": {}})


def _report(state: DemoState) -> None:
    for check in state.checks:
        print(f"{check.status:>7}  {check.title}")
