"""Every test runs without keys, without a user's settings and without a network."""

import ipaddress
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from config import Settings, settings
from tests.fakes.postgres_server import NoServerError, PostgresServer, running_postgres

_FOREIGN = ("ACC_ACE_", "GOOGLE_", "GEMINI_", "OPENAI_", "ANTHROPIC_", "ADK_", "OTEL_")
"""Prefixes of variables that change what models and ADK do."""


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl-C works in the tests and their children, wherever they were begun.

    What a shell begins in the background inherits an ignored SIGINT.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No key, proxy or setting of the developer reaches a test; data goes to `tmp_path`.

    A project's `.env` is not read either; a test of that passes `_env_file` to Settings.
    """
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setitem(Settings.model_config, "env_file", None)
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path / "data"))
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server, started by the first test that asks for it."""
    try:
        with running_postgres() as server:
            yield server
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be started here: {reason}")


# No test fails for being slow on a busy machine. In CI the examples are the same every time, so a
# red run means a change; at a desk every run looks at new ones.
hypothesis.settings.register_profile("desk", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "desk")


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
