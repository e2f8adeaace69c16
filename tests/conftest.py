"""Every test runs without keys, without a user's settings and without a network."""

import gc
import ipaddress
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import certifi
import hypothesis
import pytest

from acc_ace.config import Settings, settings
from tests.fakes.extensions import is_there, require
from tests.fakes.postgres_server import (
    NoServerError,
    OwnPostgresServer,
    PostgresServer,
    running_postgres,
)

_FOREIGN = ("ACC_ACE_", "GOOGLE_", "GEMINI_", "OPENAI_", "ANTHROPIC_", "ADK_", "OTEL_")
"""Prefixes of variables that change what models and ADK do."""

_POSTGRES = "postgres"
"""Under this name a worker is told of the shared server."""

_ADDRESS = pytest.StashKey[dict[str, Any]]()


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl-C works in the tests and their children, wherever they were begun.

    What a shell begins in the background inherits an ignored SIGINT.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One certificate to trust: every client reads its file, and all of `certifi` takes 30 ms."""
    one = tmp_path_factory.mktemp("tls") / "authority.pem"
    end = "-----END CERTIFICATE-----\n"
    one.write_text(Path(certifi.where()).read_text(encoding="utf-8").partition(end)[0] + end)
    return one


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """A command that a test calls in this process changes the mask of no other."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def usual_logging() -> Iterator[None]:
    """A command that a test calls in this process leaves no handler of a stream that is closed."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(autouse=True)
def clean_environment(
    tmp_path: Path, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No key, proxy or setting of the developer reaches a test; data goes to `tmp_path`.

    A project's `.env` is not read either; a test of that passes `_env_file` to Settings.
    """
    if factory := sys.modules.get("acc_ace.models.factory"):
        factory.shared_breaker.cache_clear()  # What a model refused in another test is over.
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setitem(Settings.model_config, "env_file", None)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path / "data"))
    # The mechanics of learning are tested turn by turn; what is evidence has tests of its own.
    monkeypatch.setenv("ACC_ACE_LEARN_ON", "every")
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors: some test always waits for a child or a server."""
    usable = getattr(os, "sched_getaffinity", None)
    return 1 + (len(usable(0)) if usable else os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist which PostgreSQL server the workers share."""
    if is_there("postgres"):
        node.workerinput[_POSTGRES] = _address_of_shared_server(node.config)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """A PostgreSQL server that keeps running, with databases of this worker alone."""
    require("postgres")
    reported = getattr(request.config, "workerinput", None)
    if reported is not None:
        with closing(_server_at(reported[_POSTGRES], worker=reported["workerid"])) as server:
            yield server
        return
    with _own_server() as server:
        yield server


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[OwnPostgresServer]:
    """A PostgreSQL server of one module, for tests that stop it or measure all of it."""
    with _own_server() as server:
        yield server


@pytest.fixture
def running(own_postgres: OwnPostgresServer) -> Iterator[OwnPostgresServer]:
    """A server that a test may stop; it is running again afterwards."""
    yield own_postgres
    own_postgres.stop()
    own_postgres.start()


@contextmanager
def _own_server() -> Iterator[OwnPostgresServer]:
    try:
        with running_postgres() as server:
            yield server
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be started here: {reason}")


def _address_of_shared_server(config: pytest.Config) -> dict[str, Any]:
    """Start the server for the first worker; the run ends it, whatever becomes of the workers."""
    address = config.stash.get(_ADDRESS, None)
    if address is None:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        try:
            server = stack.enter_context(running_postgres())
            address = {"port": server.port, "password": server.password}
        except NoServerError as reason:
            address = {"missing": str(reason)}
        config.stash[_ADDRESS] = address
    return address


def _server_at(address: dict[str, Any], worker: str) -> PostgresServer:
    if "missing" in address:
        pytest.skip(f"PostgreSQL cannot be started here: {address['missing']}")
    return PostgresServer(port=address["port"], password=address["password"], worker=worker)


# Looking for cycles after each 700 new objects, as Python does, is a tenth of the time of a run.
gc.set_threshold(20_000)

# No test fails for being slow on a busy machine. In CI the examples are the same every time, so a
# red run means a change; at a desk every run looks at new ones. `make test-soak` runs the tests
# with examples once more, with many.
_SAME_EXAMPLES = bool(os.environ.get("CI"))
hypothesis.settings.register_profile(
    "fast", deadline=None, derandomize=_SAME_EXAMPLES, max_examples=10
)
hypothesis.settings.register_profile(
    "soak", deadline=None, derandomize=_SAME_EXAMPLES, max_examples=200
)
hypothesis.settings.load_profile("fast")


def _loopback_only(event: str, args: tuple[object, ...]) -> None:
    """Audit hook: a connection to anywhere but this machine fails, models included."""
    if event == "socket.connect":
        address = args[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = args[0]
    else:
        return
    if isinstance(host, str) and not _is_local(host):
        raise RuntimeError(f"tests may not reach the network: {host}")


def _is_local(host: str) -> bool:
    if host in {"", "localhost"}:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


sys.addaudithook(_loopback_only)
