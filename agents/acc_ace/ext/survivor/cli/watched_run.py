"""The cockpit beside a running loop: `acc-ace survive --ui`.

The server has a thread and stores of its own. The run keeps the main thread, so that Ctrl-C, errors
and exit codes stay what they are without a page.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress

from rich.console import Console

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.errors import StoreError
from acc_ace.ext.survivor.snapshots import SettingsPort
from acc_ace.server import process
from acc_ace.server.app import create_app


class WatchedRun(SettingsPort):
    """A run as the server sees it: its name, and the settings that the loop takes up."""

    def __init__(self, run: str, url: str) -> None:
        """`url` is the server's."""
        super().__init__()
        self.run, self.url = run, url


@contextmanager
def watched(
    run: str, settings: Settings, *, port: int, linger: float, people: Console
) -> Iterator[WatchedRun]:
    """Serve the cockpit while the context is open, and `linger` seconds after the run in it.

    Yields what steers the run. What the context raises ends the page at once, Ctrl-C among it; a
    later Ctrl-C ends the page alone. Raises ConfigError for an address that cannot be served, and
    StoreError.
    """
    process.check_exposure(settings)
    with (
        process.open_socket(settings.host, port, option="--ui") as listener,
        ThreadPoolExecutor(max_workers=1) as thread,
    ):
        bound = settings.model_copy(update={"port": listener.getsockname()[1]})
        app = create_app(build_container(bound))
        app.state.acc_ace_run = watched_run = WatchedRun(run, process.url_of(listener))
        ready = threading.Event()
        server = process.server_of(app, on_ready=ready.set)
        serving = thread.submit(server.run, sockets=[listener])
        serving.add_done_callback(lambda _: ready.set())
        try:
            ready.wait()
            if serving.done():
                serving.result()
                raise StoreError("the cockpit did not start; its log says why")
            people.print(f"watch it at {watched_run.url}/ui/#/survivor?run={run}", soft_wrap=True)
            yield watched_run
            app.state.acc_ace_run = None
            _stay(serving, linger, people)
        finally:
            server.should_exit = True
            serving.result()


def _stay(serving: "Future[None]", seconds: float, people: Console) -> None:
    """Wait for the time, Ctrl-C, or the end of the server."""
    if seconds:
        people.print(f"the page stays for {seconds:g} s; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            wait([serving], timeout=seconds)
